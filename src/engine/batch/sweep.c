/*
 * What the engine does by itself: leases that ran out, jobs that are due, chunked work, retention.
 *
 * Each pass does a bounded amount in the batch's transaction; what is left is due at once again.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/clock.h"
#include "base/os/log.h"
#include "engine/engine_internal.h"
#include "store/jobs/endings.h"
#include "store/jobs/ready.h"

enum { DUE_ROWS = 500, RETAIN_ROWS = 500, ENDING_JOBS = 500, EXPIRE_JOBS = 1000 };

#define WORK_KEPT_US US_PER_DAY    /* finished chunked work is shown so long */
#define RETAIN_PAUSE_US US_PER_MIN /* retention looks at most so often for what it knows of */
#define RETAIN_LOOK_US US_PER_HOUR /* shared stores: who ended them may be gone */
#define DUE_PAUSE_US (20 * US_PER_MS)
#define RETAIN_SOON_US \
    US_PER_S /* what is kept shorter is removed by the second, not by the batch */

enum { LEFT_ALONE_MAX = 10000 };

/* Whatever number a damaged store tells. */
static int64_t key_of(int64_t id)
{
    return id > 0 ? id : INT64_MAX;
}

static bool is_in(const struct map *left, int64_t id)
{
    return left->count > 0 && map_find(left, key_of(id)) != NULL;
}

static enum err_code leave(struct engine *e, struct map *left, const char *what, int64_t id,
                           const struct err *err)
{
    char text[ID_TEXT_SIZE];

    if (!err->bad_row || is_in(left, id))
        return err->code;
    if (left->count >= LEFT_ALONE_MAX)
        map_deinit(left);
    map_put(left, key_of(id), e->lost_queue);
    e->passes_on = true;
    log_error("%s %s is passed over until the next start: %s", what, id_format(id, text), err->msg);
    return err->code;
}

bool is_left_alone(const struct engine *e, int64_t job)
{
    return is_in(&e->left_alone, job);
}

enum err_code leave_alone(struct engine *e, int64_t job, const struct err *err)
{
    return leave(e, &e->left_alone, "job", job, err);
}

bool fanout_is_left_alone(const struct engine *e, int64_t id)
{
    return is_in(&e->left_fanouts, id);
}

enum err_code fanout_leave_alone(struct engine *e, const char *what, int64_t id,
                                 const struct err *err)
{
    return leave(e, &e->left_fanouts, what, id, err);
}

bool sweep_is_due(const struct engine *e)
{
    const struct live_claim *first = claims_first(&e->claims);

    if (e->now.steady_at < e->resume_at)
        return false;
    return bulk_is_due(e) || sweep_next_wall_at(e) <= e->now.wall_at ||
           (first != NULL && first->check_at <= engine_lease_at(e));
}

int64_t sweep_next_steady_at(const struct engine *e)
{
    const struct live_claim *first = claims_first(&e->claims);

    if (bulk_is_due(e) || e->settling.count > 0 || e->is_unsettled || links_are_due(e))
        return e->now.steady_at;
    int64_t next_at = links_due_at(e);

    if (bulk_due_at(e) < next_at)
        next_at = bulk_due_at(e);
    if (first == NULL || first->check_at == TIME_NEVER)
        return next_at;
    int64_t leases_at = e->now.steady_at + (first->check_at - engine_lease_at(e));

    return next_at < leases_at ? next_at : leases_at;
}

int64_t sweep_next_wall_at(const struct engine *e)
{
    int64_t next_at = e->due_at < e->retain_at ? e->due_at : e->retain_at;

    return e->subscribers_at < next_at ? e->subscribers_at : next_at;
}

/* ---- leases ---- */

/* What a look at a claim finds: the jobs that go on under it. */
struct look {
    size_t open;
    int64_t next_at; /* the earliest end of their leases */
};

/* While the store failed, or we were stopped, nobody could renew a lease.  A lease never ends later than a period
 * from now: then its end is of a clock that was set back since. */
static int64_t lease_end(const struct engine *e, const struct live_claim *claim,
                         const struct job *j)
{
    int64_t outage_at = clocks_outage_at(e, claim->lease_us);
    int64_t since_at = claim->found_at > outage_at ? claim->found_at : outage_at;
    int64_t grace_at = since_at + claim->lease_us;
    bool is_sound = j->lease_until_at <= engine_lease_at(e) + claim->lease_us + LEASE_LATE_MAX_US;
    int64_t until_at = lease_ends_at(claim, j->lease_until_at);

    return is_sound && until_at > grace_at ? until_at : grace_at;
}

/* A worker that runs programs and let a lease run out may be stopped while its claim waits: what it lost must
 * not go back to it, to be lost again.  One that is there asks anew. */
static void send_back_claims(struct engine *e, int64_t worker)
{
    if (worker == 0)
        return;
    for (struct op *op = e->waiting; op != NULL; op = op->next)
        if (op->exchange.commands && worker_number(e, op->exchange.worker.name) == worker) {
            op->hurry = true;
            e->stirred = true;
        }
}

static enum err_code judge_lease(struct engine *e, const struct live_claim *claim, int64_t id,
                                 struct look *look, struct err *err)
{
    struct attempt_end end = {.outcome = JOB_OUT_LOST, .now_at = e->now.wall_at};
    const struct attempt_gain none = {0};
    bool found = false;
    struct job j;

    if (store_job_brief(e->store, id, &e->arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || j.state != JOB_RUNNING || j.token != claim->token)
        return E_OK;
    int64_t until_at = lease_end(e, claim, &j);

    if (until_at <= engine_lease_at(e)) {
        send_back_claims(e, claim->worker);
        return attempt_end_run(e, &j, &end, &none, err);
    }
    look->open++;
    if (until_at < look->next_at)
        look->next_at = until_at;
    return E_OK;
}

/* One that cannot be read may be anybody's: the claim stays, and is looked at now and then. */
static void keep_open(struct engine *e, const struct live_claim *claim, struct look *look)
{
    int64_t next_at = engine_lease_at(e) + claim->lease_us;

    look->open++;
    if (next_at < look->next_at)
        look->next_at = next_at;
}

/* A claim whose time has come: each of its jobs is lost, held on, or not its any more. */
static enum err_code look_at_claim(struct engine *e, struct live_claim *claim, struct err *err)
{
    struct look look = {.next_at = TIME_NEVER};
    size_t place = e->looked_at.count;

    VEC_PUSH(&e->looked_at, ((struct looked){.token = claim->token}));
    for (size_t i = 0; i < claim->n_jobs; i++)
        if (is_left_alone(e, claim->jobs[i]))
            keep_open(e, claim, &look);
        else if (judge_lease(e, claim, claim->jobs[i], &look, err) != E_OK)
            return leave_alone(e, claim->jobs[i], err);
    e->looked_at.items[place].open = look.open;
    claims_set_check(&e->claims, claim, look.next_at);
    return E_OK;
}

static enum err_code expire(struct engine *e, struct err *err)
{
    size_t jobs = 0;

    while (jobs < EXPIRE_JOBS) {
        struct live_claim *first = claims_first(&e->claims);

        if (first == NULL || first->check_at > engine_lease_at(e))
            break;
        jobs += first->n_jobs;
        if (look_at_claim(e, first, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* ---- due jobs ---- */

static enum err_code wake(struct engine *e, int64_t id, struct err *err)
{
    bool found = false;
    bool hit = false;
    struct job was;

    if (store_job_brief(e->store, id, &e->arena, &was, &found, err) != E_OK)
        return err->code;
    if (!found || was.state != JOB_SCHEDULED)
        return store_job_damaged(e->store, id, "it is listed as due and is not", err);
    struct job now = was;

    now.state = job_state_next(was.state, JOB_EV_WAKE);
    now.due_at = now.delay_us = 0;
    if (engine_write(e, err) != E_OK || store_job_update(e->store, &was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, id, "it is not as it was read", err);
    note_move(e, &now, JOB_SCHEDULED, queue_by_id(e, now.queue), "due");
    return E_OK;
}

static enum err_code wake_due(struct engine *e, struct err *err)
{
    int64_t ids[DUE_ROWS];
    size_t n = 0;
    bool rests = e->shared;

    if (store_due_scan(e->store, e->now.wall_at, ids, DUE_ROWS, &n, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (is_left_alone(e, ids[i]))
            rests = true;
        else if (wake(e, ids[i], err) != E_OK)
            return leave_alone(e, ids[i], err);
    if (store_due_next(e->store, &e->due_at, err) != E_OK)
        return err->code;
    if (rests && n < DUE_ROWS && e->due_at < e->now.wall_at + DUE_PAUSE_US)
        e->due_at = e->now.wall_at +
                    DUE_PAUSE_US; /* what is due may be in another server's hands, or left alone */
    return E_OK;
}

/* ---- retention ---- */

static int64_t keep_us(const struct queue *q, enum job_state state)
{
    return state == JOB_FAILED ? q->def.keep_failed_us : q->def.keep_done_us;
}

void retain_note(struct engine *e, const struct queue *q, const struct job *j)
{
    int64_t kept_us = keep_us(q, j->state);
    int64_t at = j->finished_at + (kept_us > RETAIN_SOON_US ? kept_us : RETAIN_SOON_US);

    if (at < e->retain_at)
        e->retain_at = at;
}

static int by_queue_and_state(const void *a, const void *b)
{
    const struct ended_job *x = a;
    const struct ended_job *y = b;

    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* How many from `first` on are of one queue and state and fit one row. */
static size_t run_length(const struct engine *e, size_t first)
{
    const struct ended_job *f = &e->endings.items[first];
    size_t n = 1;

    while (n < ENDING_JOBS && first + n < e->endings.count &&
           e->endings.items[first + n].queue == f->queue &&
           e->endings.items[first + n].state == f->state)
        n++;
    return n;
}

enum err_code endings_write(struct engine *e, struct err *err)
{
    size_t n;

    if (e->endings.count > 1)
        qsort(e->endings.items, e->endings.count, sizeof(e->endings.items[0]), by_queue_and_state);
    for (size_t first = 0; first < e->endings.count; first += n) {
        int64_t jobs[ENDING_JOBS];
        const struct ended_job *f = &e->endings.items[first];

        n = run_length(e, first);
        for (size_t i = 0; i < n; i++)
            jobs[i] = f[i].id;
        struct ending row = {.id = engine_new_id(e),
                             .queue = f->queue,
                             .state = f->state,
                             .finished_at = e->now.wall_at,
                             .jobs = jobs,
                             .n_jobs = n};

        if (store_ending_add(e->store, &row, err) != E_OK)
            return err->code;
    }
    VEC_CLEAR(&e->endings);
    return E_OK;
}

/* Removes a job if it is still the one that ended then. */
static enum err_code remove_old(struct engine *e, const struct ending *ending, int64_t id,
                                struct err *err)
{
    bool found = false;
    struct job j;

    if (shared_hold_job(e, id, err) != E_OK ||
        store_job_outline(e->store, id, &e->arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || j.queue != ending->queue || j.state != ending->state ||
        j.finished_at > ending->finished_at)
        return E_OK;
    if (store_job_remove(e->store, &j, err) != E_OK)
        return err->code;
    counts_add(&e->counts, j.queue, j.state, -1);
    e->tally.retained++;
    e->removed_some = true;
    return E_OK;
}

/* *ret_left: where one of its jobs leads is still to be followed. */
static enum err_code is_followed(struct engine *e, const struct ending *ending, bool *ret_left,
                                 struct err *err)
{
    bool any = e->has_fanouts;

    *ret_left = false;
    if (e->shared && store_fanout_any(e->store, &any, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < ending->n_jobs && any && !*ret_left; i++)
        if (follow_is_left(e, ending->jobs[i], ret_left, err) != E_OK)
            return err->code;
    return E_OK;
}

static enum err_code remove_ending(struct engine *e, const struct ending *ending, struct err *err)
{
    if (engine_write(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < ending->n_jobs; i++)
        if (!is_left_alone(e, ending->jobs[i]) &&
            remove_old(e, ending, ending->jobs[i], err) != E_OK)
            return leave_alone(e, ending->jobs[i], err);
    return store_ending_remove(e->store, ending->id, err);
}

/* Removes what is too old in one queue and state; *next_at becomes the instant the next one will be. */
static enum err_code retain_state(struct engine *e, struct queue *q, enum job_state state,
                                  size_t *room, int64_t *next_at, struct err *err)
{
    for (;;) {
        struct ending oldest;
        bool left = false;

        if (store_ending_oldest(e->store, q->id, state, &e->arena, &oldest, err) != E_OK)
            return err->code;
        if (oldest.id == 0)
            return E_OK;
        int64_t due_at = oldest.finished_at + keep_us(q, state) + 1;

        if (due_at <= e->now.wall_at && is_followed(e, &oldest, &left, err) != E_OK)
            return err->code;
        if (due_at > e->now.wall_at || *room == 0 || left) {
            *next_at = due_at < *next_at ? due_at : *next_at;
            return E_OK;
        }
        if (remove_ending(e, &oldest, err) != E_OK)
            return err->code;
        *room -= oldest.n_jobs < *room ? oldest.n_jobs : *room;
    }
}

/* A queue that was removed: its jobs are gone, their endings follow. */
static enum err_code forget_endings(struct engine *e, int64_t queue, size_t *room, int64_t *next_at,
                                    struct err *err)
{
    size_t n = 0;

    if (engine_write(e, err) != E_OK ||
        store_ending_remove_queue(e->store, queue, *room, &n, err) != E_OK)
        return err->code;
    *room -= n;
    if (*room == 0)
        *next_at = e->now.wall_at;
    return E_OK;
}

static enum err_code retain_queue(struct engine *e, int64_t queue, size_t *room, int64_t *next_at,
                                  struct err *err)
{
    struct queue *q = map_find(&e->queues.by_id, queue);

    if (q == NULL)
        return forget_endings(e, queue, room, next_at, err);
    for (unsigned s = JOB_DONE; s < JOB_STATE_COUNT; s++)
        if (retain_state(e, q, (enum job_state)s, room, next_at, err) != E_OK)
            return err->code;
    return E_OK;
}

static enum err_code retain(struct engine *e, struct err *err)
{
    int64_t next_at = TIME_NEVER;
    size_t room = RETAIN_ROWS;
    int64_t queue = 0;

    if (endings_write(e, err) != E_OK) /* of this very batch: they count for next_at */
        return err->code;
    for (;;) {
        if (store_ending_next_queue(e->store, queue, &queue, err) != E_OK)
            return err->code;
        if (queue == 0)
            break;
        if (retain_queue(e, queue, &room, &next_at, err) != E_OK)
            return err->code;
    }
    if (room > 0 && next_at < e->now.wall_at + RETAIN_PAUSE_US)
        next_at = e->now.wall_at + RETAIN_PAUSE_US;
    if (engine_write(e, err) != E_OK ||
        store_work_remove_old(e->store, e->now.wall_at - WORK_KEPT_US, err) != E_OK ||
        workers_forget_old(e, err) != E_OK)
        return err->code;
    if (e->shared && next_at > e->now.wall_at + RETAIN_LOOK_US)
        next_at = e->now.wall_at + RETAIN_LOOK_US;
    e->retain_at = next_at;
    return E_OK;
}

enum err_code sweep_run(struct engine *e, struct err *err)
{
    if (expire(e, err) != E_OK)
        return err->code;
    if (e->due_at <= e->now.wall_at && wake_due(e, err) != E_OK)
        return err->code;
    if (bulk_is_due(e) && bulk_step(e, err) != E_OK)
        return err->code;
    if (e->retain_at <= e->now.wall_at && retain(e, err) != E_OK)
        return err->code;
    if (e->subscribers_at > e->now.wall_at || (e->shared && !e->alone))
        return E_OK;
    return subscribers_expire(e, err);
}
