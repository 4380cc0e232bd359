/*
 * The store against the model, and what must hold between its parts.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "sim.h"
#include "store/jobs/claims.h"
#include "store/jobs/jobs.h"
#include "store/jobs/logs.h"
#include "store/jobs/record.h"
#include "store/meta.h"
#include "store/store.h"

static char difference[3000];

#define DIFFER(...) (snprintf(difference, sizeof(difference), __VA_ARGS__), difference)

/* ---- jobs ---- */

/* The server that opened the store found a delay longer than its length: the clock was set back
 * meanwhile. */
static bool is_bounded(const struct sim *s, const struct model_job *j, const struct job *row)
{
    int64_t opened_at = s->at->opened_wall_at;

    return s->just_opened && j->delay_us > 0 && j->due_max > opened_at + j->delay_us &&
           row->due_at >= opened_at && row->due_at <= opened_at + j->delay_us;
}

static const char *differ_job(const struct sim *s, struct model_job *j, const struct job *row)
{
    char text[MODEL_PARAMS];
    long long id = (long long)j->id;

#define SAME(field, want)                                                      \
    if ((int64_t)row->field != (int64_t)(want))                                \
        return DIFFER("%s of job %lld is %lld, it should be %lld", #field, id, \
                      (long long)row->field, (long long)(want));
    if (row->state != j->state)
        return DIFFER(
            "job %lld is %s (%d failures, %d lost, %d later), it should be %s (%d, %d, %d)", id,
            job_state_name(row->state), row->failures, row->lost, row->laters,
            job_state_name(j->state), j->failures, j->lost, j->laters);
    SAME(queue, s->queues[j->queue].number)
    SAME(priority, j->priority)
    SAME(holds, (j->held ? JOB_HOLD_HAND : 0) | (j->waiting ? JOB_HOLD_AFTER : 0) |
                    (j->linked ? JOB_HOLD_FOLLOWUPS : 0))
    SAME(cancelling, j->cancelling)
    SAME(attempt, j->attempt)
    SAME(failures, j->failures)
    SAME(lost, j->lost)
    SAME(laters, j->laters)
    SAME(done, j->done)
    SAME(total, j->total)
    SAME(expected_at, j->expected_at)
    SAME(unit.size, j->unit ? 2 : 0)
    if (j->token != 0)
        SAME(token, j->token)
    if (job_fence(row) < j->fence)
        return DIFFER("the fence of job %lld is %lld, it was %lld", id, (long long)job_fence(row),
                      (long long)j->fence);
    if (job_state_ended(j->state))
        SAME(finished_at, j->finished_at)
#undef SAME
    bool bounded = is_bounded(s, j, row);

    if (!bounded && (row->due_at < j->due_at || row->due_at > j->due_max))
        return DIFFER("job %lld is due at %lld, it should be between %lld and %lld", id,
                      (long long)row->due_at, (long long)j->due_at, (long long)j->due_max);
    /* The batch that may be there is judged by the delay as it was before the store was opened
     * again. */
    if (!bounded || !s->judging_crash)
        j->due_at = j->due_max = row->due_at;
    /* The model knows the longest that jitter allows, and rounds a pause of nothing up to 1. */
    if (j->delay_us == 1 || (row->delay_us > 0 && row->delay_us < j->delay_us))
        j->delay_us = row->delay_us;
    if (!slice_is(row->params, j->params))
        return DIFFER("params of job %lld are %.*s, they should be %s", id, (int)row->params.size,
                      row->params.data, j->params);
    text[0] = '\0';
    if (j->key >= 0)
        snprintf(text, sizeof(text), "key-%d", j->key);
    if (!slice_is(row->key, text))
        return DIFFER("the key of job %lld is %.*s", id, (int)row->key.size, row->key.data);
    text[0] = '\0';
    if (j->label >= 0)
        snprintf(text, sizeof(text), "{\"l\":\"%d\"}", j->label);
    return slice_is(row->labels, text)
               ? NULL
               : DIFFER("labels of job %lld are %.*s", id, (int)row->labels.size, row->labels.data);
}

static const char *differ_queue(const struct sim *s, int q)
{
    const struct model_queue *want = &s->model.queues[q];
    const struct stored *is = &s->queues[q];

    if (want->there != (is->number != 0))
        return DIFFER("queue %s should %sbe there", want->name, want->there ? "" : "not ");
    if (!want->there)
        return NULL;
    if (want->state != is->state)
        return DIFFER("queue %s is %s, it should be %s", want->name, queue_state_name(is->state),
                      queue_state_name(want->state));
    if (want->restarts != is->restarts)
        return DIFFER("queue %s was restarted %lld times, it should be %lld", want->name,
                      (long long)is->restarts, (long long)want->restarts);
    if (model_defs[want->def].stop_after > 0 && want->streak != is->streak)
        return DIFFER("queue %s counts %d failures in a row, there were %d", want->name, is->streak,
                      want->streak);
    return want->def == is->def && want->links == is->links
               ? NULL
               : DIFFER("queue %s has definition %d with links %d, it should be %d with %d",
                        want->name, is->def, is->links, want->def, want->links);
}

static const struct stored_emitter *stored_like(const struct sim *s, const struct model_emitter *e)
{
    for (size_t i = 0; i < s->emitters.count; i++)
        if (s->emitters.items[i].owner == e->owner && s->emitters.items[i].token == e->token)
            return &s->emitters.items[i];
    return NULL;
}

/* The first request of an attempt that is not settled yet; 0: none is left. */
static int64_t first_left(const struct sim *s, const struct stored_emitter *m)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct stored_emit emit = {.seq = 0};
    struct err err = ERR_INIT;

    if (store_emit_first(s->at->store, m, &arena, &emit, &err) != E_OK)
        sim_fail(s, "%s", err.msg);
    return emit.id == 0 ? 0 : emit.seq;
}

static const char *differ_emits(const struct sim *s)
{
    for (size_t i = 0; i < s->model.n_emitters; i++) {
        const struct model_emitter *e = &s->model.emitters[i];
        const struct stored_emitter *is = stored_like(s, e);

        if (is == NULL)
            return DIFFER("the emits of job %lld are gone", (long long)e->owner);
        if (is->seq != e->seq || is->visible_upto != e->upto || (int)is->fate != (int)e->fate ||
            is->staged != (int64_t)model_staged(e))
            return DIFFER("emits of job %lld: seq %lld upto %lld fate %d staged %lld, should be "
                          "%lld %lld %d %zu",
                          (long long)e->owner, (long long)is->seq, (long long)is->visible_upto,
                          (int)is->fate, (long long)is->staged, (long long)e->seq,
                          (long long)e->upto, (int)e->fate, model_staged(e));
        int64_t left = first_left(s, is);
        int64_t should = e->n_emits == 0 ? 0 : e->emits[0].seq;

        if (left != should)
            return DIFFER("emits of job %lld: those from %lld on are left, should be from %lld",
                          (long long)e->owner, (long long)left, (long long)should);
    }
    return s->emitters.count == s->model.n_emitters
               ? NULL
               : DIFFER("%zu attempts have emitted, there should be %zu", s->emitters.count,
                        s->model.n_emitters);
}

const char *check_difference(struct sim *s)
{
    size_t i = 0;

    for (size_t k = 0; k < s->rows.count; k++, i++) {
        const struct job *row = &s->rows.items[k];

        if (i >= s->model.n_jobs || s->model.jobs[i].id > row->id.v)
            return DIFFER("job %lld %.*s is %s and should not be there", (long long)row->id.v,
                          (int)row->params.size, row->params.data, job_state_name(row->state));
        if (s->model.jobs[i].id < row->id.v)
            return DIFFER("job %lld %s should be %s and is gone", (long long)s->model.jobs[i].id,
                          s->model.jobs[i].params, job_state_name(s->model.jobs[i].state));
        const char *differs = differ_job(s, &s->model.jobs[i], row);

        if (differs != NULL)
            return differs;
    }
    if (i < s->model.n_jobs)
        return DIFFER("job %lld %s should be %s and is gone", (long long)s->model.jobs[i].id,
                      s->model.jobs[i].params, job_state_name(s->model.jobs[i].state));
    for (int q = 0; q < MODEL_QUEUES; q++) {
        const char *differs = differ_queue(s, q);

        if (differs != NULL)
            return differs;
    }
    if (s->definitions != s->model.definitions)
        return DIFFER("the definitions have number %lld, it should be %lld",
                      (long long)s->definitions, (long long)s->model.definitions);
    const char *emits = differ_emits(s);
    const char *links = check_links(s);

    if (emits != NULL || links != NULL)
        return emits != NULL ? emits : links;
    if (s->works.count != s->model.n_work)
        return DIFFER("%zu pieces of chunked work, there should be %zu", s->works.count,
                      s->model.n_work);
    for (size_t w = 0; w < s->works.count; w++)
        if (s->works.items[w].id != s->model.work[w].id ||
            (s->works.items[w].phase != 0) != s->model.work[w].ended_phase)
            return DIFFER("chunked work %zu is another one, or elsewhere", w);
    return NULL;
}

/* ---- the record ---- */

struct record {
    const struct sim *s;
    const struct model_job *job;
    int n; /* of the model's record, returned attempts passed over */
};

static int next_in_record(const struct model_job *j, int n)
{
    while (n < j->n_record && j->record[n].outcome == JOB_OUT_RETURNED)
        n++;
    return n;
}

static void take_entry(void *ctx, const struct progress_entry *e)
{
    struct record *r = ctx;

    r->n = next_in_record(r->job, r->n);
    const struct model_attempt *want = &r->job->record[r->n];

    if (r->n >= r->job->n_record || want->token != e->token || want->outcome != e->outcome ||
        want->number != e->number || (r->job->step > 0 && want->nth != e->attempt))
        sim_fail(r->s,
                 "the record of job %lld has step %d, attempt %d with token %lld (%s), which it "
                 "should not",
                 (long long)r->job->id, e->number, e->attempt, (long long)e->token,
                 job_outcome_name(e->outcome));
    r->n++;
}

/* Attempts stand in the record; the last one of an ended job without a route may stand in its own
 * row instead. */
static void check_record(struct sim *s, const struct model_job *j)
{
    struct record r = {.s = s, .job = j};
    struct err err = ERR_INIT;
    int missing = 0;

    if (store_progress_load(s->at->store, j->id, take_entry, &r, &err) != E_OK)
        sim_fail(s, "%s", err.msg);
    for (int n = next_in_record(j, r.n); n < j->n_record; n = next_in_record(j, n + 1))
        missing++;
    if (missing > (job_state_ended(j->state) && j->step == 0 ? 1 : 0))
        sim_fail(s, "the record of job %lld lacks %d attempts", (long long)j->id, missing);
}

static void check_log(struct sim *s, const struct model_job *j)
{
    struct err err = ERR_INIT;
    int64_t size = 0;

    if (store_log_size(s->at->store, j->id, &size, &err) != E_OK)
        sim_fail(s, "%s", err.msg);
    if (size != j->log_size)
        sim_fail(s, "the log of job %lld has %lld bytes, it should have %lld", (long long)j->id,
                 (long long)size, (long long)j->log_size);
}

static void check_cursor(struct sim *s, const struct model_job *j)
{
    struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    struct slice cursor = {0};

    if (store_cursor_find(s->at->store, j->id, &arena, &cursor, &err) != E_OK)
        sim_fail(s, "%s", err.msg);
    if ((cursor.size == 0 ? 0 : jtext_int(cursor)) != j->cursor)
        sim_fail(s, "the cursor of job %lld is %.*s, it should be %lld", (long long)j->id,
                 (int)cursor.size, cursor.data, (long long)j->cursor);
    arena_deinit(&arena);
}

/* ---- counts, claims, keys ---- */

struct counted {
    const struct sim *s;
    int64_t n[MODEL_QUEUES][JOB_STATE_COUNT];
};

static void take_count(void *ctx, const struct store_count *c)
{
    struct counted *k = ctx;

    for (int q = 0; q < MODEL_QUEUES; q++)
        if (k->s->queues[q].number == c->queue) {
            k->n[q][c->state] += c->n;
            return;
        }
    if (c->n != 0)
        sim_fail(k->s, "%lld jobs are counted in queue %lld, which is not there", (long long)c->n,
                 (long long)c->queue);
}

static void check_counts(struct sim *s)
{
    struct counted k = {.s = s};
    struct err err = ERR_INIT;

    if (store_counts_load(s->at->store, take_count, &k, &err) != E_OK)
        sim_fail(s, "%s", err.msg);
    for (size_t i = 0; i < s->model.n_jobs; i++)
        k.n[s->model.jobs[i].queue][s->model.jobs[i].state]--;
    for (int q = 0; q < MODEL_QUEUES; q++)
        for (int st = 0; st < JOB_STATE_COUNT; st++)
            if (k.n[q][st] != 0)
                sim_fail(s, "queue %s: the kept count of %s is off by %lld", model_queue_names[q],
                         job_state_name((enum job_state)st), (long long)k.n[q][st]);
    if (s->model.submitted != (int64_t)s->model.n_jobs + s->model.removed)
        sim_fail(s, "the model lost a job");
}

struct claimed {
    struct sim *s;
    size_t found;
    size_t rows;
};

static void take_claim(void *ctx, const struct stored_claim *c)
{
    struct claimed *k = ctx;

    k->rows++;
    for (size_t i = 0; i < c->n_jobs; i++) {
        const struct model_job *j = model_find(&k->s->model, c->jobs[i]);

        k->found += j != NULL && j->state == JOB_RUNNING && j->token == c->token;
    }
}

static void check_claims(struct sim *s)
{
    struct claimed k = {.s = s};
    struct err err = ERR_INIT;
    size_t running = 0;

    if (store_claims_load(s->at->store, take_claim, &k, &err) != E_OK)
        sim_fail(s, "%s", err.msg);
    for (size_t i = 0; i < s->model.n_jobs; i++)
        running += s->model.jobs[i].state == JOB_RUNNING;
    if (k.found != running)
        sim_fail(s, "%zu jobs run, the claims name %zu of them", running, k.found);
}

static void check_keys(struct sim *s)
{
    for (int k = 0; k < MODEL_KEYS; k++) {
        struct err err = ERR_INIT;
        char text[16];

        snprintf(text, sizeof(text), "key-%d", k);
        struct stored_key key = {.key = slice_of(text)};

        if (store_keys_find(s->at->store, &key, 1, &err) != E_OK)
            sim_fail(s, "%s", err.msg);
        if (key.job != s->model.keys[k].job)
            sim_fail(s, "%s belongs to job %lld, it should belong to %lld", text,
                     (long long)key.job, (long long)s->model.keys[k].job);
    }
}

static void on_finding(void *ctx, const char *finding)
{
    sim_fail(ctx, "the store's own check says: %s", finding);
}

void check_store(struct sim *s, enum check how)
{
    const char *differs = check_difference(s);

    if (differs != NULL)
        sim_fail(s, "%s", differs);
    if (!s->unchanged || how == CHECK_ALL) {
        check_counts(s);
        check_claims(s);
    }
    for (size_t i = 0; i < s->model.n_jobs; i++) {
        struct model_job *j = &s->model.jobs[i];

        if (!j->changed && how == CHECK_CHEAP)
            continue;
        check_record(s, j);
        check_log(s, j);
        check_cursor(s, j);
        if (how == CHECK_ALL || model_is_billed(j))
            check_routing(s, j);
        j->changed = false;
    }
    if (how == CHECK_CHEAP)
        return;
    struct err err = ERR_INIT;

    check_keys(s);
    if (store_verify(s->at->store, STORE_CHECK_FULL, on_finding, s, &err) != E_OK)
        sim_fail(s, "the store cannot be checked: %s", err.msg);
}

/* ---- when the engine wants to be called again ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t next_instant(const struct sim *s)
{
    int64_t us = s->model.n_work > 0 || s->links.left || s->links.n_targets + s->links.n_follows > 0
                     ? 0
                     : TIME_NEVER;
    int64_t pause_us = s->shared ? SIM_DUE_PAUSE_US : 0;

    for (size_t i = 0; i < s->model.n_emitters; i++)
        if (model_is_settling(&s->model.emitters[i]))
            us = 0;

    for (size_t i = 0; i < s->model.n_jobs; i++) {
        const struct model_job *j = &s->model.jobs[i];

        if (j->state == JOB_RUNNING && j->server == sim_at(s))
            us = least(us, j->lease_at - s->now.steady_at);
        if (j->state == JOB_SCHEDULED)
            us = least(us, least(j->due_at + pause_us - s->now.wall_at, US_PER_MIN));
    }
    for (size_t i = 0; i < s->at->waiting.count; i++)
        us = least(us, s->at->waiting.items[i]->deadline_at - s->now.steady_at);
    for (size_t i = 0; i < s->at->waits.count; i++)
        us = least(us, s->at->waits.items[i]->deadline_at - s->now.steady_at);
    return us < 0 ? 0 : us;
}

void check_next(struct sim *s)
{
    int64_t next_us = engine_next_us(s->at->engine, s->now);
    int64_t latest_us = next_instant(s);

    if (s->now.steady_at < s->at->resume_at) /* it rests after a failure, but not longer */
        latest_us = latest_us < s->at->resume_at - s->now.steady_at
                        ? s->at->resume_at - s->now.steady_at
                        : latest_us;
    if (next_us > latest_us)
        sim_fail(s, "the engine wants to sleep %lld us, something is due in %lld us",
                 (long long)next_us, (long long)latest_us);
    s->at->eager = next_us == 0 && latest_us > 0 ? s->at->eager + 1 : 0;
    if (s->at->eager > 2) /* a second look may be needed, not one after the other */
        sim_fail(s, "the engine wants to run again and again and has nothing to do");
}

/* ---- at the end ---- */

void check_empty(struct sim *s)
{
    struct claimed k = {.s = s};
    struct err err = ERR_INIT;

    if (s->rows.count != 0)
        sim_fail(
            s, "%zu jobs are left after all have expired: %lld, which is %s since %lld, and others",
            s->rows.count, (long long)s->rows.items[0].id.v, job_state_name(s->rows.items[0].state),
            (long long)s->rows.items[0].finished_at);
    if (store_claims_load(s->at->store, take_claim, &k, &err) != E_OK)
        sim_fail(s, "%s", err.msg);
    if (k.rows > 0)
        sim_fail(s, "%zu claims are left though nothing runs", k.rows);
    if (s->emitters.count > 0)
        sim_fail(s, "%zu attempts have emits left though nothing runs", s->emitters.count);
    check_keys(s);
    check_links_over(s);
}
