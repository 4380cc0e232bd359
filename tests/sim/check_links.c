/*
 * What ties jobs together, in the store against the model.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "sim.h"
#include "store/jobs/jobs.h"
#include "store/links/fanout.h"
#include "store/links/links.h"

static char difference[3000];

#define DIFFER(...) (snprintf(difference, sizeof(difference), __VA_ARGS__), difference)

/* ---- reading ---- */

static void take_signal(void *ctx, const struct stored_signal *row)
{
    struct sim *s = ctx;
    int i = model_named(row->name, model_signal_names, MODEL_SIGNALS);

    if (i < 0)
        sim_fail(s, "there is a signal '%.*s'", (int)row->name.size, row->name.data);
    s->links.signals[i] = row->count;
}

struct reading {
    struct sim *sim;
    int64_t ids[MODEL_JOINS];
    int at;
};

static void take_join(void *ctx, const struct stored_join *row)
{
    struct reading *r = ctx;
    int i = model_named(row->name, model_join_names, MODEL_JOINS);

    if (i < 0)
        sim_fail(r->sim, "there is a join '%.*s'", (int)row->name.size, row->name.data);
    r->ids[i] = row->id;
    struct model_join *j = &r->sim->links.joins[i];

    *j = (struct model_join){.there = true, .fired = row->fired};
    for (int n = 2; n <= MODEL_JOIN_COUNT; n++)
        if (slice_is(row->definition, model_join_json(i, n)))
            j->count = n;
}

static void take_arrivals(void *ctx, const struct stored_arrivals *row)
{
    struct reading *r = ctx;
    int k = model_named(row->key, model_join_keys, MODEL_JOIN_KEYS);

    if (k < 0 || row->n_jobs > MODEL_JOIN_COUNT)
        sim_fail(r->sim, "%lld have arrived under '%.*s'", (long long)row->count,
                 (int)row->key.size, row->key.data);
    struct model_arrivals *a = &r->sim->links.joins[r->at].keys[k];

    *a = (struct model_arrivals){.count = row->count, .n_jobs = (int)row->n_jobs};
    for (size_t i = 0; i < row->n_jobs; i++)
        a->jobs[i] = row->jobs[i];
}

static void take_targets(struct sim *s, const struct stored_spread *spread)
{
    struct stored_links *l = &s->links;

    for (size_t i = spread->place; i < spread->n_targets; i++) {
        if (l->n_targets == MODEL_PROMISED)
            sim_fail(s, "too many jobs are still to be made");
        struct stored_target *t = &l->targets[l->n_targets++];

        *t = (struct stored_target){.queue = spread->targets[i].queue,
                                    .id = spread->targets[i].job};
        snprintf(t->params, sizeof(t->params), "%.*s", (int)spread->params.size,
                 spread->params.data);
    }
}

static void read_spreads(struct sim *s)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct stored_spread spread = {.id = 0};
    struct err err = ERR_INIT;

    do {
        if (store_spread_next(s->at->store, spread.id, &arena, &spread, &err) != E_OK)
            sim_fail(s, "the store cannot be read: %s", err.msg);
        if (spread.id != 0)
            take_targets(s, &spread);
    } while (spread.id != 0);
}

static void read_follows(struct sim *s)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct stored_follow f = {.id = 0};
    struct err err = ERR_INIT;

    do {
        if (store_follow_next(s->at->store, f.id, &arena, &f, &err) != E_OK)
            sim_fail(s, "the store cannot be read: %s", err.msg);
        if (s->links.n_follows == MODEL_NOTES)
            sim_fail(s, "too many ends are still to be followed");
        if (f.id != 0)
            s->links.follows[s->links.n_follows++] = (struct model_left){f.job, f.step,
                                                                         (int)f.place};
    } while (f.id != 0);
}

void world_read_links(struct sim *s)
{
    struct reading r = {.sim = s};
    struct stored_release release = {.target = 0};
    struct stored_revival revival = {.target = 0};
    struct err err = ERR_INIT;

    s->links = (struct stored_links){.was_left = s->links.left};
    if (store_signals_list(s->at->store, slice_make(NULL, 0), 100, take_signal, s, &err) != E_OK ||
        store_joins_list(s->at->store, slice_make(NULL, 0), 100, take_join, &r, &err) != E_OK ||
        store_release_next(s->at->store, 0, &release, &err) != E_OK ||
        store_revival_next(s->at->store, &revival, &err) != E_OK)
        sim_fail(s, "the store cannot be read: %s", err.msg);
    for (r.at = 0; r.at < MODEL_JOINS; r.at++)
        if (r.ids[r.at] != 0 && store_arrivals_list(s->at->store, r.ids[r.at], slice_make(NULL, 0),
                                                    100, take_arrivals, &r, &err) != E_OK)
            sim_fail(s, "the store cannot be read: %s", err.msg);
    s->links.left = release.target != 0 || revival.target != 0;
    read_spreads(s);
    read_follows(s);
}

/* ---- comparing ---- */

static const char *differ_join(const struct sim *s, int i)
{
    const struct model_join *want = &s->model.links.joins[i];
    const struct model_join *is = &s->links.joins[i];

    if (want->there != is->there || (want->there && want->count != is->count))
        return DIFFER("join %s is there %d with count %d, should be %d with %d",
                      model_join_names[i], is->there, is->count, want->there, want->count);
    if (want->there && want->fired != is->fired)
        return DIFFER("join %s has fired %lld times, it should be %lld", model_join_names[i],
                      (long long)is->fired, (long long)want->fired);
    for (int k = 0; k < MODEL_JOIN_KEYS; k++) {
        const struct model_arrivals *a = &want->keys[k], *b = &is->keys[k];

        if (a->count != b->count || a->n_jobs != b->n_jobs ||
            memcmp(a->jobs, b->jobs, (size_t)a->n_jobs * sizeof(a->jobs[0])) != 0)
            return DIFFER("at join %s %lld have arrived under '%s', it should be %lld",
                          model_join_names[i], (long long)b->count, model_join_keys[k],
                          (long long)a->count);
    }
    return NULL;
}

/* What is promised is in the store, each job once, until it is made. */
static const char *differ_promises(const struct sim *s)
{
    const struct model_links *want = &s->model.links;

    if (want->n_promised != s->links.n_targets)
        return DIFFER("%zu jobs are still to be made, it should be %zu", s->links.n_targets,
                      want->n_promised);
    for (size_t i = 0; i < want->n_promised; i++) {
        size_t found = 0;

        for (size_t k = 0; k < s->links.n_targets; k++)
            found += s->links.targets[k].id == want->promised[i].id;
        if (found != 1)
            return DIFFER("job %lld is still to be made %zu times", (long long)want->promised[i].id,
                          found);
    }
    return NULL;
}

/* So is where ends lead that are still to be followed. */
static const char *differ_follows(const struct sim *s)
{
    const struct model_links *want = &s->model.links;

    if (want->n_notes != s->links.n_follows)
        return DIFFER("%zu ends are still to be followed, it should be %zu", s->links.n_follows,
                      want->n_notes);
    for (size_t i = 0; i < want->n_notes; i++) {
        const struct model_noted *n = &want->notes[i];
        size_t found = 0;

        for (size_t k = 0; k < s->links.n_follows; k++) {
            const struct model_left *f = &s->links.follows[k];

            found += f->job == n->source.job && f->step == n->step && f->place == n->place;
        }
        if (found != 1)
            return DIFFER("the end of job %lld, step %d, is still to be followed %zu times",
                          (long long)n->source.job, n->step, found);
    }
    return NULL;
}

const char *check_links(const struct sim *s)
{
    for (int i = 0; i < MODEL_SIGNALS; i++)
        if (s->model.links.signals[i] != s->links.signals[i])
            return DIFFER("signal %s has level %lld, it should be %lld", model_signal_names[i],
                          (long long)s->links.signals[i], (long long)s->model.links.signals[i]);
    for (int i = 0; i < MODEL_JOINS; i++) {
        const char *differs = differ_join(s, i);

        if (differs != NULL)
            return differs;
    }
    const char *differs = differ_promises(s);

    return differs != NULL ? differs : differ_follows(s);
}

/* ---- one job ---- */

static bool has_steps(const struct routing *is, const struct model_routing *want)
{
    size_t skipped = 0;

    for (int i = 0; i < want->n_steps && is->n_steps == (size_t)want->n_steps; i++) {
        if (is->steps[i].number != want->steps[i].number ||
            is->steps[i].final != want->steps[i].final ||
            !slice_is(is->steps[i].queue, model_queue_names[want->steps[i].queue]))
            return false;
        skipped += want->steps[i].skipped;
    }
    return is->n_steps == (size_t)want->n_steps && is->n_skip == skipped;
}

static bool is_same_cond(const struct model_cond *a, const struct model_cond *b)
{
    return a->kind == b->kind && a->job == b->job && a->step == b->step && a->on == b->on &&
           a->kind == AFTER_JOB;
}

struct wait_counts {
    int64_t jobs, signals;
};

static void count_wait(void *ctx, const struct stored_wait *wait)
{
    struct wait_counts *n = ctx;

    n->jobs += wait->kind == AFTER_JOB;
    n->signals += wait->kind == AFTER_SIGNAL;
}

/* What a job still waits for is in the store, each thing once. */
static void check_waits(struct sim *s, const struct model_job *j)
{
    bool waits = j->state == JOB_HELD && j->waiting;
    struct wait_counts n = {0};
    struct err err = ERR_INIT;

    if (store_waits_of(s->at->store, j->id, AFTER_MAX, count_wait, &n, &err) != E_OK)
        sim_fail(s, "%s", err.msg);
    if (s->links.left && waits)
        return;
    for (int k = 0; k < j->routing.n_conds && waits; k++) {
        const struct model_cond *c = &j->routing.conds[k];
        bool repeated = false;

        for (int i = 0; i < k; i++)
            repeated = repeated || is_same_cond(&j->routing.conds[i], c);
        n.signals -= c->kind == AFTER_SIGNAL;
        n.jobs -= c->kind == AFTER_JOB && c->now == COND_OPEN && !repeated;
    }
    if (n.jobs != 0 || n.signals != 0)
        sim_fail(s, "job %lld, which is %s, has %lld waits on jobs and %lld on signals too many",
                 (long long)j->id, job_state_name(j->state), (long long)n.jobs,
                 (long long)n.signals);
}

void check_routing(struct sim *s, const struct model_job *j)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    bool found = false;
    struct routing routing;
    struct job row;

    if (store_job_load(s->at->store, j->id, LOAD_PAYLOAD, &arena, &row, &found, &err) != E_OK ||
        !found)
        sim_fail(s, "job %lld cannot be read: %s", (long long)j->id, err.msg);
    routing_parse(row.routing, &arena, &routing);
    if (row.step != j->step || row.failed_step != j->failed_step ||
        row.attempts_before != j->attempts_before)
        sim_fail(s, "job %lld is at step %d, failed %d, before %d; it should be %d, %d, %d",
                 (long long)j->id, row.step, row.failed_step, row.attempts_before, j->step,
                 j->failed_step, j->attempts_before);
    if (!slice_is(row.assigned, j->assigned))
        sim_fail(s, "steps of job %lld have set %.*s, it should be %s", (long long)j->id,
                 (int)row.assigned.size, row.assigned.data, j->assigned);
    if (j->state != JOB_CANCELLED && !slice_is(row.result, j->result))
        sim_fail(s, "the result of job %lld is %.*s, it should be %s", (long long)j->id,
                 (int)row.result.size, row.result.data, j->result);
    if (routing.parent != j->routing.parent || routing.depth != j->routing.depth ||
        !slice_is(routing.topic,
                  j->routing.topic == 0 ? "" : model_topic_names[j->routing.topic - 1]))
        sim_fail(s, "job %lld comes from %lld at depth %d, it should be %lld at %d",
                 (long long)j->id, (long long)routing.parent, routing.depth,
                 (long long)j->routing.parent, j->routing.depth);
    if (!has_steps(&routing, &j->routing))
        sim_fail(s, "the route of job %lld is another one: %.*s", (long long)j->id,
                 (int)row.routing.size, row.routing.data);
    check_waits(s, j);
}

/* ---- at the end ---- */

void check_links_over(struct sim *s)
{
    if (s->links.left)
        sim_fail(s, "releases are left though nobody waits");
    if (s->links.n_targets > 0)
        sim_fail(s, "%zu jobs are still to be made", s->links.n_targets);
    if (s->links.n_follows > 0)
        sim_fail(s, "%zu ends are still to be followed", s->links.n_follows);
}
