/*
 * How a resident program is started, and who gets a job.
 */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "worker/run/environment.h"
#include "worker/run/program.h"
#include "worker/run/resident.h"
#include "worker/run/resident_internal.h"

static enum err_code open_input(struct resident *r, int *ret_theirs, struct err *err)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0)
        return err_errno(err, E_UNAVAILABLE, "cannot make a pipe");
    *ret_theirs = fds[0];
    r->input_fd = fds[1];
    ASSERT(uv_poll_init(r->worker->loop, &r->input, r->input_fd) == 0);
    r->input.data = r;
    r->closing = true;
    return E_OK;
}

static enum err_code fill_command(struct resident *r, const struct served_queue *q,
                                  char ***ret_argv, struct err *err)
{
    struct template_values values = {.queue = slice_of(q->name), .now_at = clock_wall_us()};

    return template_command_fill(&q->command, &values, &r->arena, ret_argv, err);
}

static enum err_code spawn_it(struct resident *r, const struct served_queue *q,
                              const struct program_rights *rights, int input, struct err *err)
{
    struct worker *w = r->worker;
    struct channel_ends ends = channel_ends(r->channel);
    CLEANUP(mem) char *path = NULL;
    char **argv;

    if (fill_command(r, q, &argv, err) != E_OK ||
        spawn_find(slice_of(argv[0]), arena_strdup(&r->arena, q->def.dir), w->path, &path, err) !=
            E_OK)
        return err->code;
    const char *workdir = q->def.workdir.size > 0 ? arena_strdup(&r->arena, q->def.workdir) : NULL;
    struct spawn s = program_spawn(w, rights, r->slot);

    s.path = path;
    s.argv = argv;
    if (workdir != NULL)
        s.dir = workdir;
    s.envp = environment_of_resident(
        &(struct environment_of){.base = w->environment,
                                 .server_url = async_client_server(w->client),
                                 .user = rights->user,
                                 .workdir = workdir,
                                 .queue_env = q->def.env},
        slice_of(q->name), slice_of(r->mark), &r->arena);
    s.in = input;
    s.out = ends.out;
    s.words = ends.words;
    s.replies = ends.replies;
    program_enter_cgroup(w, r->slot, rights->limits.memory, &r->cgroup);
    s.cgroup_fd = r->cgroup.procs_fd;
    if (r->cgroup.limited)
        s.limits.memory = 0;
    return spawn_start(&s, &r->slot->record->process, err);
}

static enum err_code set_up(struct resident *r, struct served_queue *q, struct err *err)
{
    struct channel_config config = {.on_output = resident_output,
                                    .on_words = resident_words,
                                    .ctx = r};
    struct slot_job job = {.lease = slice_of(r->mark), .json = SLICE("{}")};
    struct program_rights rights;
    int input = -1;

    if (program_rights_of(q, &rights, err) != E_OK ||
        program_slot(r->worker, &rights, &job, &r->slot, err) != E_OK ||
        channel_open(r->worker->channels, &config, &r->channel, err) != E_OK ||
        open_input(r, &input, err) != E_OK)
        return err->code;
    enum err_code code = spawn_it(r, q, &rights, input, err);

    close(input);
    return code;
}

static enum err_code resident_new(struct worker *w, struct served_queue *q,
                                  struct resident **ret_resident, struct err *err)
{
    struct resident *r = mem_zalloc(sizeof(*r));

    r->carrier.ops = &resident_ops;
    r->worker = w;
    r->queue = mem_strdup(q->name);
    r->json = mem_strdup(q->json);
    r->input_fd = -1;
    r->cgroup = CGROUP_JOB_INIT;
    r->lines = LINE_READER_INIT(WORD_LINE_MAX);
    r->line = BUF_INIT(2 * JOB_BYTES_MAX + JOB_LINE_MAX);
    r->timeout_at = r->kill_at = TIME_NEVER;
    r->idle_at = worker_now(w);
    snprintf(r->mark, sizeof(r->mark), "resident-%d-%lld-%llu", (int)getpid(),
             (long long)clock_boot_us(), (unsigned long long)++w->residents_made);
    r->next = w->residents;
    if (r->next != NULL)
        r->next->prev = r;
    w->residents = r;
    if (set_up(r, q, err) != E_OK) {
        resident_free(r);
        return err->code;
    }
    r->job = (struct tree_job){.lease = r->mark, .dir = r->slot->dir, .owner = &r->carrier};
    tree_add(w->tree, &r->job, &r->slot->record->process);
    channel_begin(r->channel);
    *ret_resident = r;
    return E_OK;
}

/* The one that was free last: the others may reach their idle time. */
static struct resident *find_free(struct worker *w, const struct served_queue *q)
{
    struct resident *best = NULL;

    for (struct resident *r = w->residents; r != NULL; r = r->next)
        if (r->task == NULL && !r->retired && !r->ended && strcmp(r->queue, q->name) == 0 &&
            strcmp(r->json, q->json) == 0 && (best == NULL || r->idle_at > best->idle_at))
            best = r;
    return best;
}

/* Free ones of other queues make room when there are too many. */
static void limit_free(struct worker *w)
{
    struct resident *oldest = NULL;
    int n = 0;

    for (struct resident *r = w->residents; r != NULL; r = r->next) {
        if (r->task != NULL || r->retired || r->ended)
            continue;
        n++;
        if (oldest == NULL || r->idle_at < oldest->idle_at)
            oldest = r;
    }
    if (n > w->config.slots)
        resident_retire(oldest);
}

enum err_code resident_start(struct task *t, bool *ret_own, struct err *err)
{
    struct worker *w = t->worker;
    struct resident *r = find_free(w, t->served);

    *ret_own = false;
    if (program_end_earlier_run(t, err) != E_OK)
        return err->code;
    if (t->json.size + sizeof("{\"job\":}") > JOB_LINE_MAX) {
        *ret_own = true;
        return err_set(err, E_TOO_LARGE, "the job is larger than %zu MiB: no resident takes it",
                       JOB_LINE_MAX >> 20);
    }
    if (r == NULL && resident_new(w, t->served, &r, err) != E_OK)
        return err->code;
    resident_hand_over(r, t);
    limit_free(w);
    return E_OK;
}
