/*
 * The program carrier: a process for each job.
 *
 * Start: slot, pipes, arguments, environment, spawn.  End: the process tree tells that the program
 * is gone; what else it started is killed; when nothing is left, the pipes are read to their end
 * and the task is over.  A slot is free after that, not before.
 */
/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/program/template.h"
#include "worker/carriers/carrier.h"
#include "worker/carriers/environment.h"
#include "worker/carriers/launch.h"
#include "worker/internal.h"
#include "worker/run/line_reader.h"

#define LOOK_AGAIN_US (5 * US_PER_MS)
#define ERRORS_MAX (INT64_C(4) << 20) /* of standard error, where it is kept apart */

struct program {
    struct task *task;
    struct slot *slot;
    struct channel *channel;
    struct line_reader lines;
    struct tree_job job;
    struct cgroup_job cgroup;
    bool in_tree;
    bool ended; /* the program itself; what it started may be left */
    struct carrier_end end;
    int64_t kill_at; /* steady */
};

/* ---- what it prints and says ---- */

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

static void program_reply(struct task *t, struct slice lines)
{
    struct program *p = t->carried;

    channel_reply(p->channel, lines);
    if (!p->ended)
        channel_pause_words(p->channel, program_report_is_full(t->report));
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
    program_reply(p->task, buf_slice(&replies));
}

static void on_words(void *ctx, struct slice data)
{
    struct program *p = ctx;

    line_reader_feed(&p->lines, data);
    take_lines(p);
}

/* ---- the end ---- */

static void program_release(struct task *t)
{
    struct program *p = t->carried;
    struct worker *w = t->worker;

    if (p->in_tree)
        tree_remove(w->tree, &p->job);
    if (p->cgroup.procs_fd >= 0)
        cgroup_job_close(w->cgroup, &p->cgroup);
    if (p->slot != NULL)
        slot_release(w->slots, p->slot);
    channel_close(p->channel);
    line_reader_deinit(&p->lines);
    free(p);
    t->carried = NULL;
}

/* Kills what the program started; p is gone when nothing of it was left. */
static void clean_up(struct program *p)
{
    struct worker *w = p->task->worker;

    if (p->cgroup.procs_fd >= 0) {
        p->end.out_of_memory = cgroup_job_was_full(w->cgroup, &p->cgroup);
        cgroup_job_kill(w->cgroup, &p->cgroup);
    }
    if (tree_end(w->tree, &p->job) > 0)
        return; /* the next pass looks again */
    channel_drain(p->channel);
    line_reader_end(&p->lines);
    take_lines(p);
    struct carrier_end end = p->end;

    task_over(p->task, &end);
}

static void on_process(void *owner, const struct tree_event *event)
{
    struct program *p = owner;
    struct task *t = p->task;

    if (event->kind == TREE_STOPPED || event->kind == TREE_CONTINUED) {
        task_note_stop(t, event->kind == TREE_STOPPED ? event->status : 0);
        return;
    }
    p->ended = true;
    p->end.exited = true;
    p->end.exit = event->kind == TREE_EXITED ? event->status : -event->status;
    t->state = TASK_CLEANUP;
    clean_up(p);
}

static void program_cancel(struct task *t, int64_t kill_at)
{
    struct program *p = t->carried;
    struct worker *w = t->worker;

    if (p->ended)
        return;
    if (kill_at > worker_now(w) && p->kill_at == TIME_NEVER)
        tree_signal(w->tree, &p->job, SIGTERM);
    if (kill_at < p->kill_at)
        p->kill_at = kill_at;
    worker_wake_at(w, p->kill_at);
}

static int64_t program_pass(struct task *t, int64_t now)
{
    struct program *p = t->carried;

    if (p->ended) {
        clean_up(p);
        return now + LOOK_AGAIN_US;
    }
    if (now < p->kill_at)
        return p->kill_at;
    p->end.killed = true;
    (void)tree_end(t->worker->tree, &p->job);
    return now + LOOK_AGAIN_US;
}

/* ---- the start ---- */

/* The body as a file without a name, for descriptor 0; -1: the job has none. */
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

static enum err_code start_process(struct program *p, int body, enum carrier_blame *ret_blame,
                                   struct err *err)
{
    struct task *t = p->task;
    struct worker *w = t->worker;
    const struct queue_def *def = &t->served->def;
    struct template_values values = {
        .objects = &t->params,
        .n_objects = t->params.size > 0,
        .id = t->id,
        .queue = t->queue,
        .attempt = t->attempt,
        .now_at = clock_wall_us(),
    };
    struct slice dir = t->workdir.size > 0 ? t->workdir : def->workdir;
    const char *work_dir = dir.size > 0 ? arena_strdup(&t->arena, dir) : NULL;
    struct launch l = {
        .plan = &t->plan,
        .slot = p->slot,
        .channel = p->channel,
        .search_dir = t->workdir.size > 0 ? work_dir : arena_strdup(&t->arena, def->dir),
        .work_dir = work_dir,
        .input = body,
    };

    if (template_command_fill(t->plan.command, &values, &t->arena, &l.argv, err) != E_OK) {
        *ret_blame = BLAME_JOB;
        return err->code;
    }
    l.envp = environment_make(&(struct environment_of){.base = w->environment,
                                                       .server_url = async_client_server(w->client),
                                                       .job_file = p->slot->job_path,
                                                       .user = t->plan.user,
                                                       .workdir = work_dir,
                                                       .queue_env = def->env,
                                                       .job_env = t->env},
                              t);
    enum err_code code = launch_start(w, &l, &p->cgroup, err);

    if (code == E_TOO_LARGE || (t->plan.own_command && code != E_UNAVAILABLE))
        *ret_blame = BLAME_JOB;
    return code;
}

static enum err_code set_up(struct program *p, enum carrier_blame *ret_blame, struct err *err)
{
    struct task *t = p->task;
    struct channel_config config = {
        .on_output = on_output,
        .on_errors = t->worker->config.errors_apart ? on_errors : NULL,
        .on_words = on_words,
        .ctx = p,
    };
    struct slot_job job = {.id = t->id, .lease = t->lease, .json = t->json};
    int body = -1;

    if (launch_slot(t->worker, &t->plan, &job, &p->slot, err) != E_OK ||
        channel_open(t->worker->channels, &config, &p->channel, err) != E_OK ||
        open_body(t, &body, err) != E_OK)
        return err->code;
    enum err_code code = start_process(p, body, ret_blame, err);

    if (body >= 0)
        close(body);
    return code;
}

static enum err_code program_start(struct task *t, enum carrier_blame *ret_blame, struct err *err)
{
    struct worker *w = t->worker;
    struct program *p = mem_zalloc(sizeof(*p));

    p->task = t;
    p->cgroup = CGROUP_JOB_INIT;
    p->lines = LINE_READER_INIT(WORD_LINE_MAX);
    p->kill_at = TIME_NEVER;
    t->carried = p;
    if (set_up(p, ret_blame, err) != E_OK) {
        program_release(t);
        return err->code;
    }
    p->job = (struct tree_job){.id = arena_strdup(&t->arena, t->id),
                               .lease = arena_strdup(&t->arena, t->lease),
                               .dir = w->work_dir != NULL ? NULL : p->slot->dir,
                               .on_event = on_process,
                               .owner = p};
    tree_add(w->tree, &p->job, &p->slot->record->process);
    p->in_tree = true;
    channel_begin(p->channel);
    return E_OK;
}

const struct carrier program_carrier = {
    .start = program_start,
    .cancel = program_cancel,
    .pass = program_pass,
    .reply = program_reply,
    .release = program_release,
};
