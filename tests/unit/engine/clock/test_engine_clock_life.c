/*
 * Lives of schedules and expiring jobs against books that are kept beside them: random time, clocks
 * that are set, crashes, commits that fail, people who pause and run, on PostgreSQL two servers.
 *
 * A seed is one life; a failure names it.  WAYBILL_SEEDS changes their number.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/fault.h"
#include "base/rng.h"
#include "core/clock/schedule_def.h"
#include "engine_fixture.h"
#include "store/clock/schedules.h"
#include "store/jobs/jobs.h"
#include "testing.h"

#define JITTER_US (10 * US_PER_S)

enum { STEPS = 150, TIMES = 20000, JOBS = 400 };

/* ---- the books ---- */

static const struct {
    const char *name, *definition, *queue;
    int64_t every_us; /* all times are multiples of it */
} plans[] = {
    {"often", "{\"every\":\"7s\",\"queue\":\"all\",\"overlap\":\"all\"}", "all", 7 * US_PER_S},
    {"each",
     "{\"every\":\"20s\",\"queue\":\"each\",\"overlap\":\"all\",\"catch_up\":\"2m\","
     "\"catch_up_all\":true}",
     "each", 20 * US_PER_S},
    {"late", "{\"cron\":\"* * * * *\",\"queue\":\"late\",\"overlap\":\"all\",\"jitter\":\"10s\"}",
     "late", US_PER_MIN},
};

enum { PLANS = ARRAY_LEN(plans) };

struct book {
    int64_t seen; /* the last entry that was read */
    int64_t jobs; /* that it has made */
    bool settled[TIMES], fired[TIMES];
};

struct guest { /* a job that expires */
    int64_t id, at;
    bool started, loose;
};

struct life {
    struct fixture *f, *other; /* other: NULL on an embedded store */
    struct rng rng;
    uint64_t seed;
    struct book books[PLANS];
    struct guest guests[JOBS];
    size_t n_guests;
};

#define life_assert(l, condition)                                                 \
    do {                                                                          \
        if (!(condition))                                                         \
            fail_msg("seed %llu: %s", (unsigned long long)(l)->seed, #condition); \
    } while (0)

static size_t place_of(struct life *l, size_t plan, int64_t nominal_at)
{
    life_assert(l, nominal_at % plans[plan].every_us == 0);
    int64_t place = (nominal_at - START_AT) / plans[plan].every_us;

    life_assert(l, place >= 0 && place < TIMES);
    return (size_t)place;
}

struct reading {
    struct life *life;
    size_t plan;
    int64_t seen;
};

static void read_entry(void *ctx, const struct stored_firing *e)
{
    struct reading *r = ctx;
    struct life *l = r->life;
    struct book *b = &l->books[r->plan];

    if (e->seq <= b->seen)
        return;
    if (e->seq > r->seen)
        r->seen = e->seq;
    b->jobs += e->state == FIRING_FIRED;
    if (strncmp(e->why.data, "run by hand", strlen("run by hand")) == 0)
        return;
    size_t first = place_of(l, r->plan, e->nominal_at);
    size_t last = place_of(l, r->plan, e->until_at);

    life_assert(l, (int64_t)(last - first) + 1 == e->count);
    for (size_t i = first; i <= last; i++) {
        life_assert(l, e->state != FIRING_FIRED || !b->fired[i]);
        b->settled[i] = true;
        b->fired[i] |= e->state == FIRING_FIRED;
    }
}

static struct stored_schedule row_of(struct life *l, size_t plan)
{
    struct stored_schedule row;
    struct err err = ERR_INIT;

    life_assert(l, store_schedule_find(l->f->store, slice_of(plans[plan].name), &l->f->arena, &row,
                                       &err) == E_OK);
    return row;
}

static int64_t jobs_in(struct life *l, const char *queue)
{
    int64_t n = 0;

    for (enum job_state s = JOB_STAGED; s < JOB_STATE_COUNT; s++)
        n += kept_count(l->f, queue, s);
    return n;
}

static void check_schedules(struct life *l)
{
    for (size_t i = 0; i < PLANS; i++) {
        struct stored_schedule row = row_of(l, i);
        struct reading r = {l, i, l->books[i].seen};
        struct err err = ERR_INIT;

        life_assert(l, store_firings_list(l->f->store, row.id, FIRINGS_KEPT, read_entry, &r,
                                          &err) == E_OK);
        life_assert(l, r.seen == row.entries);
        l->books[i].seen = r.seen;
        for (int64_t at = START_AT + plans[i].every_us; at <= row.last_at; at += plans[i].every_us)
            life_assert(l, l->books[i].settled[place_of(l, i, at)]);
        life_assert(l, row.paused || row.next_at > l->f->now.wall_at);
        life_assert(l, row.paused || (row.last_at / plans[i].every_us + 1) * plans[i].every_us >
                                         l->f->now.wall_at - JITTER_US);
        life_assert(l, jobs_in(l, plans[i].queue) == l->books[i].jobs);
    }
}

static void check_guests(struct life *l)
{
    for (size_t i = 0; i < l->n_guests; i++) {
        struct guest *g = &l->guests[i];
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct job j = job_of(l->f, g->id, &arena);
        bool expired = j.state == JOB_CANCELLED && j.cause == JOB_CAUSE_EXPIRED;

        life_assert(l, !expired || !g->started);
        if (!g->started && !g->loose && g->at <= l->f->now.wall_at)
            life_assert(l, expired);
        g->loose |= expired; /* it stays so when the clock is set back */
        life_assert(l, !expired || g->loose || g->at <= l->f->now.wall_at);
    }
}

/* ---- steps ---- */

static struct fixture *any_server(struct life *l)
{
    return l->other != NULL && rng_below(&l->rng, 2) == 0 ? l->other : l->f;
}

static void pass(struct life *l, int64_t us)
{
    fixture_pass(l->f, us);
    if (l->other != NULL)
        l->other->now = l->f->now;
}

/* Both look, so that nothing is left for the one that does not. */
static void look(struct life *l)
{
    struct fixture *first = any_server(l);

    for (int i = 0; i < 3; i++) {
        batch_run(first);
        if (l->other != NULL)
            batch_run(first == l->f ? l->other : l->f);
        pass(l, 25 * US_PER_MS); /* what was locked is tried again after 20 ms */
    }
    batch_run(first);
}

static void set_clock(struct life *l)
{
    int64_t step_us = (int64_t)rng_below(&l->rng, 20) * US_PER_MIN - 5 * US_PER_MIN;

    if (l->f->now.wall_at + step_us < START_AT + US_PER_MIN)
        step_us = US_PER_HOUR;
    l->f->now.wall_at += step_us;
    pass(l, US_PER_S);
    for (size_t i = 0; i < l->n_guests; i++) /* lengths and instants differ after that */
        l->guests[i].loose = true;
}

static void people(struct life *l)
{
    struct fixture *f = any_server(l);
    struct test_op *t = op_make(f, OP_SCHEDULE);

    t->op.schedule = (struct schedule_op){(enum schedule_op_kind)rng_below(&l->rng, 3),
                                          slice_of(plans[rng_below(&l->rng, PLANS)].name)};
    run_op(f, t);
    life_assert(l, t->op.err.code == E_OK);
}

static void submit_guest(struct life *l)
{
    struct fixture *f = any_server(l);
    struct submit_item item = item_of("guests");

    item.expires.after_us = (int64_t)(1 + rng_below(&l->rng, 300)) * US_PER_S;
    struct test_op *t = run_op(f, op_submit(f, &item, 1));

    life_assert(l, t->op.err.code == E_OK);
    if (l->n_guests < JOBS)
        l->guests[l->n_guests++] = (struct guest){.id = t->op.submit.first_id,
                                                  .at = f->now.wall_at + item.expires.after_us};
}

static void work(struct life *l)
{
    static const enum job_outcome outcomes[] = {JOB_OUT_DONE, JOB_OUT_FAILED, JOB_OUT_RETURNED};
    struct fixture *f = any_server(l);
    struct granted g;

    if (granted_of(run_op(f, op_claim(f, "guests", 1)), &g, 1) == 0)
        return;
    enum job_outcome outcome = outcomes[rng_below(&l->rng, ARRAY_LEN(outcomes))];

    for (size_t i = 0; i < l->n_guests; i++) {
        struct guest *x = &l->guests[i];

        if (x->id != g.id)
            continue;
        life_assert(l, x->started || x->loose || f->now.wall_at < x->at);
        x->started |= outcome != JOB_OUT_RETURNED;
    }
    run_op(f, op_finish(f, g.id, g.token, outcome));
}

static void fail_commits(struct life *l)
{
    bool all = rng_below(&l->rng, 2) == 0;

    fault_arm(all ? "commit.before:1:fail-all" : "commit.before:1:fail");
    batch_run(l->f);
    fault_arm(NULL);
    if (all)
        pass(l, 2 * US_PER_S); /* its own work rests for a second */
}

static void step(struct life *l)
{
    switch (rng_below(&l->rng, 12)) {
    case 0: pass(l, (int64_t)rng_below(&l->rng, 30) * US_PER_MIN); break;
    case 1: set_clock(l); break;
    case 2:
        if (l->other == NULL)
            fixture_crash(l->f);
        break;
    case 3: fail_commits(l); break;
    case 4: people(l); break;
    case 5:
    case 6: submit_guest(l); break;
    case 7:
    case 8: work(l); break;
    default: pass(l, (int64_t)rng_below(&l->rng, 30 * US_PER_S)); break;
    }
    look(l);
    check_schedules(l);
    check_guests(l);
}

static void begin(struct life *l)
{
    define_queue(l->f, "guests", "{\"retry\":{\"max\":9,\"first\":\"5s\",\"jitter\":0}}");
    for (size_t i = 0; i < PLANS; i++) {
        struct test_op *t = op_make(l->f, OP_DEFINE);
        struct definition_put *p = arena_zalloc(&t->op.arena, sizeof(*p));
        CLEANUP(buf) struct buf json = BUF_INIT(10000);
        struct err err = ERR_INIT;

        define_queue(l->f, plans[i].queue, "{}");
        life_assert(l, schedule_def_canonical(slice_of(plans[i].definition), &json, &err) == E_OK);
        *p = (struct definition_put){slice_of(plans[i].name),
                                     arena_copy(&t->op.arena, buf_slice(&json))};
        t->op.define.puts[DEFINITION_SCHEDULE] = (struct definition_puts){p, 1};
        life_assert(l, run_op(l->f, t)->op.err.code == E_OK);
    }
}

static void live(uint64_t seed)
{
    struct life *l = mem_zalloc(sizeof(*l));
    void *state = NULL;

    fixture_setup(&state);
    l->f = state;
    l->seed = seed;
    rng_init(&l->rng, seed);
    begin(l);
    if (pg_is_wanted())
        l->other = fixture_join(l->f);
    pass(l, 0);
    for (int i = 0; i < STEPS; i++)
        step(l);
    assert_sound(l->f);
    if (l->other != NULL)
        fixture_leave(l->other);
    fixture_teardown(&state);
    free(l);
}

static void whatever_happens_each_time_is_settled_once(void **state)
{
    const char *seeds = getenv("WAYBILL_SEEDS");
    uint64_t n = seeds != NULL ? strtoull(seeds, NULL, 10) : pg_is_wanted() ? 2 : 12;

    (void)state;
    for (uint64_t seed = 1; seed <= n; seed++)
        live(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_happens_each_time_is_settled_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
