/*
 * The exec carrier: a program for a job.
 *
 * start: slot, pipes, arguments, environment, spawn.  end: the tree tells that the program is gone; what it
 * left is killed; when nothing is left the pipes are read to their end and the task is settled.
 */
/* SPDX-License-Identifier: MIT */
#include "worker/run/program.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os/log.h"
#include "core/program/template.h"
#include "worker/internal.h"
#include "worker/process/cgroup.h"
#include "worker/process/stale_processes.h"
#include "worker/run/carrier.h"
#include "worker/run/channel.h"
#include "worker/run/environment.h"
#include "worker/run/line_reader.h"

#define STALE_WAIT_US (2 * US_PER_S)
#define CLEAR_AGAIN_US (5 * US_PER_MS)
#define ERRORS_MAX (INT64_C(4) << 20) /* of standard error, where it is kept apart */

struct program {
    struct carrier carrier;
    struct task *task;
    struct slot *slot;
    struct channel *channel;
    struct line_reader lines;
    struct tree_job job;
    struct cgroup_job cgroup;
    struct program_rights rights;
    struct spawn_user *own_user; /* of a command that was emitted, where it is not the queue's */
    bool in_tree;
    bool ended;         /* the program itself; what it started may be left */
    int64_t timeout_at; /* steady */
    int64_t kill_at;
};

/* ---- what it tells ---- */

static void on_output(void *ctx, struct slice data)
{
    struct program *p = ctx;

    output_add(p->task->output, data, clock_wall_us());
}

static void on_errors(void *ctx, struct slice data)
{
    struct task *t = ((struct program *)ctx)->task;

    if (t->errors == NULL)
        t->errors = output_new(&(struct output_config){.cap = ERRORS_MAX, .keep_text = true});
    output_add(t->errors, data, clock_wall_us());
}

static void take_lines(struct program *p)
{
    CLEANUP(buf) struct buf replies = BUF_INIT(CLIENT_REPLY_MAX);
    CLEANUP(buf) struct buf notices = BUF_INIT(CLIENT_REPLY_MAX);
    struct program_report *report = p->task->report;
    int64_t now = worker_now(p->task->worker);
    struct line line;

    while (line_reader_next(&p->lines, &line)) {
        if (line.skipped > 0)
            program_report_long_line(report, line.skipped, &replies, &notices);
        else
            program_report_line(report, line.text, now, &replies, &notices);
    }
    if (notices.size > 0)
        output_notice(p->task->output, buf_slice(&notices), clock_wall_us());
    channel_reply(p->channel, buf_slice(&replies));
    if (!p->ended)
        channel_pause_words(p->channel, program_report_is_full(report));
}

static void on_words(void *ctx, struct slice data)
{
    struct program *p = ctx;

    line_reader_feed(&p->lines, data);
    take_lines(p);
}

static void program_reply(struct carrier *c, struct slice lines)
{
    struct program *p = (struct program *)c;

    channel_reply(p->channel, lines);
}

static void program_read_on(struct carrier *c)
{
    struct program *p = (struct program *)c;

    if (!p->ended)
        channel_pause_words(p->channel, program_report_is_full(p->task->report));
}

/* ---- what it is started with ---- */

/* The body as a file without a name; -1: there is none. */
static enum err_code open_body(const struct task *t, int *ret_fd, struct err *err)
{
    *ret_fd = -1;
    if (t->body.data == NULL)
        return E_OK;
    int fd = memfd_create("body", MFD_CLOEXEC);

    if (fd < 0)
        return err_errno(err, E_UNAVAILABLE, "cannot keep the job's body");
    for (size_t done = 0; done < t->body.size;) {
        ssize_t n = write(fd, t->body.data + done, t->body.size - done);

        if (n <= 0) {
            close(fd);
            return err_errno(err, E_UNAVAILABLE, "cannot keep the job's body");
        }
        done += (size_t)n;
    }
    lseek(fd, 0, SEEK_SET);
    *ret_fd = fd;
    return E_OK;
}

static enum err_code fill_command(struct task *t, char ***ret_argv, bool *ret_own, struct err *err)
{
    const struct template_command *command = &t->served->command;
    struct template_command own;
    struct template_values values = {
        .objects = &t->params,
        .n_objects = t->params.size > 0,
        .id = t->id,
        .queue = t->queue,
        .attempt = t->attempt,
        .now_at = clock_wall_us(),
    };

    *ret_own = true;
    if (t->command.size > 0) {
        if (template_command_parse(t->command, &t->arena, &own, NULL, err) != E_OK)
            return err->code;
        command = &own;
    } else if (t->served->def.command.size == 0) {
        return err_set(err, E_INVALID, "the job brings no command, and queue '%s' has none",
                       t->served->name);
    }
    return template_command_fill(command, &values, &t->arena, ret_argv, err);
}

enum err_code program_rights_of(struct served_queue *q, struct program_rights *ret_rights,
                                struct err *err)
{
    if (q->def.limits.user.size > 0 && q->user == NULL &&
        spawn_user_find(q->def.limits.user, &q->user, err) != E_OK)
        return err->code;
    *ret_rights = (struct program_rights){.limits = q->def.limits, .user = q->user};
    return E_OK;
}

/* A command that a job has emitted runs under the limits of that job, whatever queue it is in. */
static enum err_code find_rights(struct program *p, bool *ret_own, struct err *err)
{
    struct task *t = p->task;
    const struct queue_limits *queue = &t->served->def.limits;
    struct queue_limits own = {0};

    if (t->limits.size > 0 && queue_limits_parse(t->limits, &t->arena, &own, err) != E_OK) {
        *ret_own = true;
        return err_wrap(err, "the limits that came with the command");
    }
    bool of_queue = own.user.size == 0 || slice_equal(own.user, queue->user);

    if ((of_queue ? program_rights_of(t->served, &p->rights, err)
                  : spawn_user_find(own.user, &p->own_user, err)) != E_OK) {
        *ret_own = !of_queue;
        return err->code;
    }
    if (!of_queue)
        p->rights.user = p->own_user;
    p->rights.limits = queue_limits_for(&own, queue);
    return E_OK;
}

struct spawn program_spawn(const struct worker *w, const struct program_rights *rights,
                           const struct slot *slot)
{
    const struct queue_limits *l = &rights->limits;

    return (struct spawn){
        .dir = w->work_dir != NULL ? w->work_dir : slot->dir,
        .in = -1,
        .cgroup_fd = -1,
        .user = rights->user,
        .limits = {.memory = l->memory,
                   .cpu_us = l->cpu_us,
                   .files = l->files,
                   .nice = l->niced ? l->nice : 0},
        .mask = w->mask,
        .soft_files = w->soft_files,
    };
}

void program_enter_cgroup(struct worker *w, const struct slot *slot, int64_t memory,
                          struct cgroup_job *job)
{
    struct err err = ERR_INIT;

    if (w->cgroup == NULL)
        return;
    if (!cgroup_limits_memory(w->cgroup))
        memory = 0;
    if (memory == 0 && !cgroup_is_for_all(w->cgroup))
        return;
    if (cgroup_job_open(w->cgroup, slot->number, memory, job, &err) != E_OK)
        log_warn("%s; the job runs without a group of its own", err.msg);
}

/* Where it is said to run, by the job or by its queue; NULL: in the slot's directory. */
static const char *workdir_of(struct task *t)
{
    struct slice dir = t->workdir.size > 0 ? t->workdir : t->served->def.workdir;

    return dir.size > 0 ? arena_strdup(&t->arena, dir) : NULL;
}

static enum err_code spawn_it(struct program *p, char **argv, int body, struct err *err)
{
    struct task *t = p->task;
    struct worker *w = t->worker;
    struct channel_ends ends = channel_ends(p->channel);
    CLEANUP(mem) char *path = NULL;
    const char *workdir = workdir_of(t);
    const char *dir = t->workdir.size > 0 ? workdir : arena_strdup(&t->arena, t->served->def.dir);

    if (spawn_find(slice_of(argv[0]), dir, w->path, &path, err) != E_OK)
        return err->code;
    struct spawn s = program_spawn(w, &p->rights, p->slot);

    s.path = path;
    s.argv = argv;
    if (workdir != NULL)
        s.dir = workdir;
    s.envp = environment_make(&(struct environment_of){.base = w->environment,
                                                       .server_url = async_client_server(w->client),
                                                       .job_file = p->slot->job_path,
                                                       .user = p->rights.user,
                                                       .workdir = workdir,
                                                       .queue_env = t->served->def.env,
                                                       .job_env = t->env},
                              t);
    s.in = body;
    s.out = ends.out;
    s.errors = ends.errors;
    s.errors_apart = ends.errors >= 0;
    s.words = ends.words;
    s.replies = ends.replies;
    s.cgroup_fd = p->cgroup.procs_fd;
    if (p->cgroup.limited)
        s.limits.memory = 0; /* the group sees to it */
    return spawn_start(&s, &p->slot->record->process, err);
}

enum err_code program_slot(struct worker *w, const struct program_rights *rights,
                           struct slot_job *job, struct slot **ret_slot, struct err *err)
{
    struct slot *slot = slot_take(w->slots);

    if (slot == NULL)
        return err_set(err, E_UNAVAILABLE, "all directories are in use by programs that end");
    job->user = rights->user;
    if (slot_prepare(w->slots, slot, job, err) != E_OK) {
        slot_release(w->slots, slot);
        return err->code;
    }
    *ret_slot = slot;
    return E_OK;
}

enum err_code program_end_earlier_run(struct task *t, struct err *err)
{
    if (t->lost_before == 0)
        return E_OK;
    struct stale_result left = stale_processes_kill_job(
        t->worker->slots, &(struct stale_job){.id = t->id, .lease = t->lease, .url = t->url},
        STALE_WAIT_US);

    if (left.ended > 0)
        log_info("job %.*s: ended %u process%s of an earlier run", (int)t->id.size, t->id.data,
                 left.ended, left.ended == 1 ? "" : "es");
    if (left.stay > 0)
        return err_set(err, E_UNAVAILABLE, "an earlier run of job %.*s is still there",
                       (int)t->id.size, t->id.data);
    return E_OK;
}

static enum err_code set_up(struct program *p, bool *ret_own, struct err *err)
{
    struct channel_config config = {.on_output = on_output, .on_words = on_words, .ctx = p};
    struct task *t = p->task;

    if (t->worker->config.errors_apart)
        config.on_errors = on_errors;
    struct slot_job job = {.id = t->id, .lease = t->lease, .json = t->json};
    char **argv;
    int body = -1;

    *ret_own = false;
    if (program_end_earlier_run(t, err) != E_OK || find_rights(p, ret_own, err) != E_OK ||
        program_slot(t->worker, &p->rights, &job, &p->slot, err) != E_OK ||
        channel_open(t->worker->channels, &config, &p->channel, err) != E_OK ||
        open_body(t, &body, err) != E_OK)
        return err->code;
    enum err_code code = fill_command(t, &argv, ret_own, err);

    if (code == E_OK) {
        program_enter_cgroup(t->worker, p->slot, p->rights.limits.memory, &p->cgroup);
        code = spawn_it(p, argv, body, err);
        *ret_own = code == E_TOO_LARGE || (t->command.size > 0 && code != E_UNAVAILABLE);
    }
    if (body >= 0)
        close(body);
    return code;
}

/* ---- life ---- */

static void program_free(struct program *p)
{
    struct worker *w = p->task->worker;

    if (p->in_tree)
        tree_remove(w->tree, &p->job);
    if (p->cgroup.procs_fd >= 0)
        (void)cgroup_job_close(w->cgroup, &p->cgroup);
    if (p->slot != NULL)
        slot_release(w->slots, p->slot);
    channel_close(p->channel);
    line_reader_deinit(&p->lines);
    spawn_user_free(p->own_user);
    p->task->carrier = NULL;
    free(p);
}

static void program_abandon(struct carrier *c)
{
    program_free((struct program *)c);
}

static void register_it(struct program *p)
{
    struct task *t = p->task;
    struct worker *w = t->worker;
    int64_t timeout_us = t->timeout_us > 0 ? t->timeout_us : t->served->def.timeout_us;

    p->job = (struct tree_job){.id = arena_strdup(&t->arena, t->id),
                               .lease = arena_strdup(&t->arena, t->lease),
                               .dir = w->work_dir != NULL ? NULL : p->slot->dir,
                               .owner = &p->carrier};
    tree_add(w->tree, &p->job, &p->slot->record->process);
    p->in_tree = true;
    p->timeout_at = timeout_us > 0 ? worker_now(w) + timeout_us : TIME_NEVER;
    p->kill_at = TIME_NEVER;
    t->facts.timeout_us = timeout_us;
    t->facts.memory = p->rights.limits.memory;
    t->facts.strict = t->served->def.strict;
    channel_begin(p->channel);
}

/* ---- the end ---- */

static void clear_up(struct program *p)
{
    struct task *t = p->task;
    struct worker *w = t->worker;

    if (p->cgroup.procs_fd >= 0) {
        t->facts.out_of_memory = cgroup_job_was_full(w->cgroup, &p->cgroup);
        cgroup_job_kill(w->cgroup, &p->cgroup);
    }
    if (tree_end(w->tree, &p->job) > 0)
        return; /* looked at again with the next pass */
    channel_drain(p->channel);
    line_reader_end(&p->lines);
    take_lines(p);
    task_record_end(t);
    program_free(p);
    worker_slot_freed(t);
    task_settle(t);
}

static void program_event(struct carrier *c, const struct tree_event *event)
{
    struct program *p = (struct program *)c;
    struct task *t = p->task;

    if (event->kind == TREE_STOPPED || event->kind == TREE_CONTINUED) {
        task_note_stop(t, event->kind == TREE_STOPPED ? event->status : 0);
        return;
    }
    p->ended = true;
    t->facts.exited = true;
    t->facts.exit = event->kind == TREE_EXITED ? event->status : -event->status;
    t->state = TASK_CLEANUP;
    clear_up(p);
}

static void program_stop(struct carrier *c, int64_t kill_at)
{
    struct program *p = (struct program *)c;
    struct worker *w = p->task->worker;

    if (p->ended)
        return;
    if (kill_at > worker_now(w) && p->kill_at == TIME_NEVER)
        tree_signal(w->tree, &p->job, SIGTERM);
    if (kill_at < p->kill_at)
        p->kill_at = kill_at;
    worker_wake_at(w, p->kill_at);
}

static int64_t program_pass(struct carrier *c, int64_t now)
{
    struct program *p = (struct program *)c;
    struct task *t = p->task;

    if (p->ended) {
        clear_up(p);
        return now + CLEAR_AGAIN_US; /* p may be gone */
    }
    if (now >= p->timeout_at) {
        p->timeout_at = TIME_NEVER;
        task_stop(t, VERDICT_TIMEOUT);
    }
    if (now >= p->kill_at) {
        t->facts.killed_by_us = true;
        (void)tree_end(t->worker->tree, &p->job);
        return now + CLEAR_AGAIN_US;
    }
    return p->timeout_at < p->kill_at ? p->timeout_at : p->kill_at;
}

static const struct carrier_ops program_ops = {
    .event = program_event,
    .stop = program_stop,
    .pass = program_pass,
    .read_on = program_read_on,
    .reply = program_reply,
    .abandon = program_abandon,
};

enum err_code program_start(struct task *t, bool *ret_own, struct err *err)
{
    struct program *p = mem_zalloc(sizeof(*p));

    p->task = t;
    p->cgroup = CGROUP_JOB_INIT;
    p->lines = LINE_READER_INIT(WORD_LINE_MAX);
    p->carrier.ops = &program_ops;
    t->carrier = &p->carrier;
    if (set_up(p, ret_own, err) != E_OK) {
        program_free(p);
        return err->code;
    }
    register_it(p);
    t->state = TASK_RUNNING;
    return E_OK;
}
