/*
 * How a resident program is started, and which one gets a job.
 */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "worker/carriers/environment.h"
#include "worker/carriers/launch.h"
#include "worker/carriers/resident.h"
#include "worker/carriers/resident_internal.h"

static enum err_code start_process(struct resident *r, const struct task *t, int input,
                                   struct err *err)
{
    struct worker *w = r->worker;
    const struct queue_def *def = &t->served->def;
    struct template_values values = {.queue = slice_of(r->queue), .now_at = clock_wall_us()};
    const char *work_dir = def->workdir.size > 0 ? arena_strdup(&r->arena, def->workdir) : NULL;
    struct launch l = {
        .plan = &t->plan,
        .slot = r->slot,
        .channel = r->channel,
        .search_dir = arena_strdup(&r->arena, def->dir),
        .work_dir = work_dir,
        .input = input,
    };

    if (template_command_fill(t->plan.command, &values, &r->arena, &l.argv, err) != E_OK)
        return err->code;
    l.envp = environment_of_resident(
        &(struct environment_of){.base = w->environment,
                                 .server_url = async_client_server(w->client),
                                 .user = t->plan.user,
                                 .workdir = work_dir,
                                 .queue_env = def->env},
        slice_of(r->queue), slice_of(r->mark), &r->arena);
    return launch_start(w, &l, &r->cgroup, err);
}

static enum err_code set_up(struct resident *r, const struct task *t, struct err *err)
{
    struct channel_config config = {.on_output = resident_output,
                                    .on_words = resident_words,
                                    .ctx = r};
    struct slot_job job = {.lease = slice_of(r->mark), .json = SLICE("{}")};
    int input = -1;

    if (launch_slot(r->worker, &t->plan, &job, &r->slot, err) != E_OK ||
        channel_open(r->worker->channels, &config, &r->channel, err) != E_OK)
        return err->code;
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0)
        return err_errno(err, E_UNAVAILABLE, "cannot make a pipe");
    input = fds[0];
    r->input_fd = fds[1];
    ASSERT(uv_poll_init(r->worker->loop, &r->input, r->input_fd) == 0);
    r->input.data = r;
    r->closing = true;
    enum err_code code = start_process(r, t, input, err);

    close(input);
    return code;
}

/* A resident of the task's queue, which runs by the task's plan. */
static enum err_code resident_new(const struct task *t, struct resident **ret_resident,
                                  struct err *err)
{
    struct worker *w = t->worker;
    struct resident *r = mem_zalloc(sizeof(*r));

    r->worker = w;
    r->queue = mem_strdup(t->served->name);
    r->json = mem_strdup(t->served->json);
    r->input_fd = -1;
    r->cgroup = CGROUP_JOB_INIT;
    r->lines = LINE_READER_INIT(WORD_LINE_MAX);
    r->line = BUF_INIT(2 * JOB_BYTES_MAX + JOB_LINE_MAX);
    r->kill_at = TIME_NEVER;
    r->idle_at = worker_now(w);
    snprintf(r->mark, sizeof(r->mark), "resident-%d-%lld-%llu", (int)getpid(),
             (long long)clock_boot_us(), (unsigned long long)++w->residents_made);
    r->next = w->residents;
    if (r->next != NULL)
        r->next->prev = r;
    w->residents = r;
    if (set_up(r, t, err) != E_OK) {
        resident_free(r);
        return err->code;
    }
    r->job = (struct tree_job){
        .lease = r->mark, .dir = r->slot->dir, .on_event = resident_process, .owner = r};
    tree_add(w->tree, &r->job, &r->slot->record->process);
    channel_begin(r->channel);
    *ret_resident = r;
    return E_OK;
}

/* The one that became free last, so that the others reach their idle time. */
static struct resident *find_free(struct worker *w, const struct served_queue *q)
{
    struct resident *best = NULL;

    for (struct resident *r = w->residents; r != NULL; r = r->next)
        if (r->task == NULL && !r->retired && !r->ended && strcmp(r->queue, q->name) == 0 &&
            strcmp(r->json, q->json) == 0 && (best == NULL || r->idle_at > best->idle_at))
            best = r;
    return best;
}

/* At most as many free residents as slots: the one idle for longest is retired. */
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

enum err_code resident_start(struct task *t, enum carrier_blame *ret_blame, struct err *err)
{
    struct resident *r = find_free(t->worker, t->served);

    if (t->json.size + sizeof("{\"job\":}") > JOB_LINE_MAX) {
        *ret_blame = BLAME_JOB;
        return err_set(err, E_TOO_LARGE, "the job is larger than %zu MiB: no resident takes it",
                       JOB_LINE_MAX >> 20);
    }
    if (r == NULL && resident_new(t, &r, err) != E_OK)
        return err->code;
    resident_hand_over(r, t);
    limit_free(t->worker);
    return E_OK;
}
