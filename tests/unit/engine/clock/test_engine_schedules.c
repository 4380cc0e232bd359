/*
 * Schedules: each nominal time fires once, whatever happens to clocks and servers.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "core/clock/schedule_def.h"
#include "engine_fixture.h"
#include "store/clock/schedules.h"
#include "store/jobs/jobs.h"
#include "testing.h"

/* ---- words ---- */

static struct test_op *put(struct fixture *f, const char *name, const char *definition)
{
    struct test_op *t = op_make(f, OP_DEFINE);
    struct definition_put *p = arena_zalloc(&t->op.arena, sizeof(*p));
    CLEANUP(buf) struct buf json = BUF_INIT(10000);
    struct err err = ERR_INIT;

    if (schedule_def_canonical(slice_of(definition), &json, &err) != E_OK)
        fail_msg("%s", err.msg);
    *p = (struct definition_put){slice_of(name), arena_copy(&t->op.arena, buf_slice(&json))};
    t->op.define.puts[DEFINITION_SCHEDULE] = (struct definition_puts){p, 1};
    return run_op(f, t);
}

static void define(struct fixture *f, const char *name, const char *definition)
{
    struct test_op *t = put(f, name, definition);

    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
}

static struct test_op *act(struct fixture *f, enum schedule_op_kind kind, const char *name)
{
    struct test_op *t = op_make(f, OP_SCHEDULE);

    t->op.schedule = (struct schedule_op){kind, slice_of(name)};
    return run_op(f, t);
}

static struct stored_schedule row_of(struct fixture *f, const char *name)
{
    struct stored_schedule row;
    struct err err = ERR_INIT;

    if (store_schedule_find(f->store, slice_of(name), &f->arena, &row, &err) != E_OK)
        fail_msg("%s", err.msg);
    return row;
}

struct entries {
    struct stored_firing items[FIRINGS_KEPT];
    size_t n;
    struct arena *arena;
};

static void take(void *ctx, const struct stored_firing *firing)
{
    struct entries *x = ctx;

    x->items[x->n] = *firing;
    x->items[x->n++].why = arena_copy(x->arena, firing->why);
}

/* The newest first. */
static struct entries entries_of(struct fixture *f, const char *name)
{
    struct entries x = {.n = 0, .arena = &f->arena};
    struct err err = ERR_INIT;

    if (store_firings_list(f->store, row_of(f, name).id, FIRINGS_KEPT, take, &x, &err) != E_OK)
        fail_msg("%s", err.msg);
    return x;
}

/* Time passes, in steps as long as the engine asks for. */
static void live(struct fixture *f, int64_t us)
{
    int64_t end_at = f->now.wall_at + us;

    while (f->now.wall_at < end_at) {
        int64_t next_us = engine_next_us(f->engine, f->now);
        int64_t left_us = end_at - f->now.wall_at;

        fixture_pass(f, next_us < 1 ? 1 : next_us < left_us ? next_us : left_us);
        batch_run(f);
    }
}

static int64_t jobs_of(struct fixture *f, const char *queue)
{
    int64_t n = 0;

    for (enum job_state s = JOB_STAGED; s < JOB_STATE_COUNT; s++)
        n += kept_count(f, queue, s);
    return n;
}

static void assert_entry(const struct stored_firing *e, enum firing_state state, const char *why)
{
    assert_int_equal(e->state, state);
    if (strstr(e->why.data, why) == NULL)
        fail_msg("'%.*s' does not say '%s'", (int)e->why.size, e->why.data, why);
}

static void end_job(struct fixture *f, const char *queue)
{
    struct granted g = claim_one(f, queue);

    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
}

#define EVERY(more) "{\"every\":\"10m\",\"queue\":\"default\"" more "}"
#define EVERY_US (10 * US_PER_MIN)

/* ---- firing ---- */

static void each_nominal_time_makes_one_job(void **state)
{
    struct fixture *f = *state;
    struct arena *a = &f->arena;

    define(f, "tick",
           EVERY(",\"overlap\":\"all\",\"params\":{\"at\":\"{now}\",\"of\":\"{schedule}\"}"));
    live(f, US_PER_HOUR + US_PER_S);
    assert_int_equal(jobs_of(f, "default"), 6);
    struct stored_schedule row = row_of(f, "tick");
    struct job j = job_of(f, row.job, a);

    assert_int_equal(row.fired, 6);
    assert_int_equal(row.last_at, START_AT + US_PER_HOUR);
    assert_int_equal(row.next_at, START_AT + US_PER_HOUR + EVERY_US);
    assert_slice_is(j.params, "{\"at\":\"2026-01-01T01:00:00Z\",\"of\":\"tick\"}");
    assert_slice_is(j.labels, "{\"schedule\":\"tick\",\"nominal\":\"2026-01-01T01:00:00Z\"}");
    assert_sound(f);
}

static void a_crash_and_the_same_definition_fire_nothing_again(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", EVERY(",\"overlap\":\"all\""));
    live(f, EVERY_US);
    for (int i = 0; i < 3; i++) {
        fixture_crash(f);
        define(f, "tick", EVERY(",\"overlap\":\"all\""));
        live(f, US_PER_S);
    }
    assert_int_equal(jobs_of(f, "default"), 1);
    live(f, EVERY_US);
    assert_int_equal(jobs_of(f, "default"), 2);
}

static void two_schedules_of_one_minute_do_not_disturb_each_other(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "one", "{}");
    define_queue(f, "two", "{}");
    define(f, "a", "{\"cron\":\"*/5 * * * *\",\"queue\":\"one\",\"overlap\":\"all\"}");
    define(f, "b", "{\"cron\":\"*/5 * * * *\",\"queue\":\"two\",\"overlap\":\"all\"}");
    live(f, US_PER_HOUR);
    assert_int_equal(jobs_of(f, "one"), 12);
    assert_int_equal(jobs_of(f, "two"), 12);
}

static void jitter_puts_it_off(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", EVERY(",\"jitter\":\"5m\",\"overlap\":\"all\""));
    int64_t next_at = row_of(f, "tick").next_at;

    assert_true(next_at > START_AT + EVERY_US && next_at < START_AT + EVERY_US * 3 / 2);
    live(f, next_at - f->now.wall_at - 1);
    assert_int_equal(jobs_of(f, "default"), 0);
    live(f, 1);
    assert_int_equal(jobs_of(f, "default"), 1);
    assert_int_equal(entries_of(f, "tick").items[0].nominal_at, START_AT + EVERY_US);
}

static void a_topic_gets_a_job_for_each_subscriber(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "one", "{\"subscribe\":\"news\"}");
    define_queue(f, "two", "{\"subscribe\":\"news\"}");
    define(f, "tick", "{\"every\":\"10m\",\"topic\":\"news\",\"params\":{\"d\":\"{day}\"}}");
    define(f, "lost", "{\"every\":\"10m\",\"topic\":\"nobody\"}");
    live(f, EVERY_US);
    assert_int_equal(jobs_of(f, "one"), 1);
    assert_int_equal(jobs_of(f, "two"), 1);
    struct entries x = entries_of(f, "tick");

    assert_entry(&x.items[0], FIRING_FIRED, "published to 2 queues");
    x = entries_of(f, "lost");
    assert_entry(&x.items[0], FIRING_REFUSED, "nobody is subscribed");
}

static void a_queue_that_takes_none_refuses_the_firing(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "shut", "{}");
    run_op(f, op_queue_state(f, "shut", QUEUE_DOWN));
    define(f, "tick", "{\"every\":\"10m\",\"queue\":\"shut\"}");
    live(f, EVERY_US);
    struct entries x = entries_of(f, "tick");

    assert_int_equal(jobs_of(f, "shut"), 0);
    assert_entry(&x.items[0], FIRING_REFUSED, "shut");
}

/* ---- overlap ---- */

static void skip_makes_none_while_the_last_lives(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", EVERY(""));
    live(f, 3 * EVERY_US);
    struct entries x = entries_of(f, "tick");

    assert_int_equal(jobs_of(f, "default"), 1);
    assert_entry(&x.items[0], FIRING_SKIPPED, "is ready");
    assert_int_equal(row_of(f, "tick").skipped, 2);
    end_job(f, "default");
    live(f, EVERY_US);
    assert_int_equal(jobs_of(f, "default"), 2);
}

static void queue_waits_for_the_end_of_the_last(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", EVERY(",\"overlap\":\"queue\""));
    live(f, 3 * EVERY_US);
    assert_int_equal(kept_count(f, "default", JOB_READY), 1);
    assert_int_equal(kept_count(f, "default", JOB_HELD), 2);
    end_job(f, "default");
    assert_int_equal(kept_count(f, "default", JOB_READY), 1);
    assert_int_equal(kept_count(f, "default", JOB_HELD), 1);
    assert_sound(f);
}

static void replace_cancels_the_last(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", EVERY(",\"overlap\":\"replace\""));
    live(f, 2 * EVERY_US);
    assert_int_equal(kept_count(f, "default", JOB_CANCELLED), 1);
    struct granted g = claim_one(f, "default");

    fixture_pass(f, 1);
    assert_int_equal(act(f, SCHEDULE_OP_RUN, "tick")->op.err.code, E_OK);
    assert_true(job_of(f, g.id, &f->arena).cancelling);
    assert_int_equal(kept_count(f, "default", JOB_HELD), 1);
    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_CANCELLED));
    assert_int_equal(kept_count(f, "default", JOB_READY), 1);
    assert_sound(f);
}

static void catching_up_heeds_the_overlap(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", EVERY(",\"catch_up\":\"1h\",\"catch_up_all\":true"));
    fixture_pass(f, 3 * EVERY_US);
    batch_run(f);
    assert_int_equal(jobs_of(f, "default"), 1);
    assert_int_equal(row_of(f, "tick").skipped, 2);
}

/* ---- missed ---- */

static void what_nobody_looked_at_is_missed(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", EVERY(",\"overlap\":\"all\""));
    fixture_pass(f, 5 * EVERY_US + 2 * US_PER_MIN);
    fixture_crash(f);
    batch_run(f);
    struct entries x = entries_of(f, "tick");

    assert_int_equal(jobs_of(f, "default"), 0);
    assert_int_equal(x.n, 1);
    assert_entry(&x.items[0], FIRING_MISSED, "no server looked in time");
    assert_int_equal(x.items[0].count, 5);
    assert_int_equal(x.items[0].until_at, START_AT + 5 * EVERY_US);
    live(f, EVERY_US);
    assert_int_equal(jobs_of(f, "default"), 1);
}

static void the_latest_is_made_up_for_within_catch_up(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", EVERY(",\"overlap\":\"all\",\"catch_up\":\"5m\""));
    fixture_pass(f, 3 * EVERY_US + 2 * US_PER_MIN);
    fixture_crash(f);
    batch_run(f);
    struct entries x = entries_of(f, "tick");

    assert_int_equal(jobs_of(f, "default"), 1);
    assert_int_equal(x.n, 2);
    assert_entry(&x.items[0], FIRING_FIRED, "2m late");
    assert_int_equal(x.items[0].nominal_at, START_AT + 3 * EVERY_US);
    assert_int_equal(x.items[1].count, 2);
}

static void set_clock(struct fixture *f, int64_t step_us)
{
    f->now.wall_at += step_us;
    f->now.steady_at += US_PER_S;
    batch_run(f);
}

static void ten_years_ahead_are_one_entry_and_no_silence_after(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", "{\"every\":\"1s\",\"queue\":\"default\",\"overlap\":\"all\"}");
    live(f, 3 * US_PER_S);
    set_clock(f, 3650 * US_PER_DAY);
    struct entries x = entries_of(f, "tick");

    assert_int_equal(x.n, 5);
    assert_entry(&x.items[1], FIRING_MISSED, "");
    assert_int_equal(x.items[1].count, INT64_C(3650) * 86400 - 1);
    assert_int_equal(row_of(f, "tick").fired, 4);
    set_clock(f, -3650 * US_PER_DAY);
    live(f, 5 * US_PER_S);
    assert_int_equal(row_of(f, "tick").fired, 9);
    assert_sound(f);
}

static void no_time_fires_twice_when_the_clock_is_set_back(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", EVERY(",\"overlap\":\"all\""));
    live(f, 2 * EVERY_US);
    set_clock(f, -2 * EVERY_US); /* it has fired twice in the time that comes again */
    live(f, 2 * EVERY_US - US_PER_S);
    assert_int_equal(row_of(f, "tick").fired, 2);
    live(f, EVERY_US + US_PER_S);
    assert_int_equal(row_of(f, "tick").fired, 3);
    set_clock(f, 5 * EVERY_US); /* four are missed, the fifth fires */
    assert_int_equal(row_of(f, "tick").fired, 4);
    set_clock(f, -5 * EVERY_US); /* those four may fire now, the fifth must not again */
    live(f, 6 * EVERY_US);
    assert_int_equal(row_of(f, "tick").fired, 9);
    assert_int_equal(jobs_of(f, "default"), 9);
}

/* ---- people ---- */

static void a_paused_one_fires_nothing_and_makes_up_for_nothing(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", EVERY(",\"catch_up\":\"1h\",\"overlap\":\"all\""));
    assert_true(reply_has(act(f, SCHEDULE_OP_PAUSE, "tick"), "\"paused\":true"));
    act(f, SCHEDULE_OP_PAUSE, "tick");
    live(f, 3 * EVERY_US);
    assert_int_equal(jobs_of(f, "default"), 0);
    assert_true(reply_has(act(f, SCHEDULE_OP_RESUME, "tick"), "\"paused\":false"));
    struct entries x = entries_of(f, "tick");

    assert_entry(&x.items[0], FIRING_SKIPPED, "it was paused");
    assert_int_equal(x.items[0].count, 3);
    live(f, EVERY_US);
    assert_int_equal(jobs_of(f, "default"), 1);
}

static void run_makes_a_job_now(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", EVERY(""));
    act(f, SCHEDULE_OP_PAUSE, "tick");
    assert_int_equal(act(f, SCHEDULE_OP_RUN, "tick")->op.status, 201);
    assert_int_equal(jobs_of(f, "default"), 1);
    struct test_op *again = act(f, SCHEDULE_OP_RUN, "tick");

    assert_int_equal(again->op.err.code, E_CONFLICT);
    assert_non_null(strstr(again->op.err.msg, "is ready"));
    assert_int_equal(act(f, SCHEDULE_OP_RUN, "none")->op.err.code, E_NOT_FOUND);
    struct entries x = entries_of(f, "tick");

    assert_entry(&x.items[1], FIRING_FIRED, "run by hand");
}

static void a_changed_definition_begins_anew(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", "{\"every\":\"1h\",\"queue\":\"default\",\"catch_up\":\"1d\"}");
    fixture_pass(f, 25 * US_PER_MIN);
    define(f, "tick", EVERY(",\"catch_up\":\"1d\""));
    live(f, 1);
    assert_int_equal(jobs_of(f, "default"), 0);
    assert_int_equal(row_of(f, "tick").next_at, START_AT + 3 * EVERY_US);
    live(f, EVERY_US);
    assert_int_equal(jobs_of(f, "default"), 1);
}

static void what_cannot_be_is_refused(void **state)
{
    struct fixture *f = *state;
    struct test_op *t = put(f, "tick", "{\"every\":\"1h\",\"queue\":\"nowhere\"}");

    assert_string_equal(t->op.err.msg, "schedule 'tick': queue: there is no queue 'nowhere': "
                                       "define it, or see 'waybill queue list'");
    t = put(f, "tick", "{\"cron\":\"@daily\",\"queue\":\"default\",\"zone\":\"Europe/Berlim\"}");
    assert_int_equal(t->op.err.code, E_INVALID);
    assert_non_null(strstr(t->op.err.msg, "Europe/Berlin"));
    define_queue(f, "used", "{}");
    define(f, "tick", "{\"every\":\"1h\",\"queue\":\"used\"}");
    t = op_make(f, OP_DEFINE);
    t->op.define = (struct define){.removes = true,
                                   .kind = DEFINITION_QUEUE,
                                   .name = SLICE("used")};
    run_op(f, t);
    assert_string_equal(t->op.err.msg,
                        "queue 'used' is in use: schedule 'tick' names it in 'queue'");
}

static void a_hundred_entries_are_kept(void **state)
{
    struct fixture *f = *state;

    define(f, "tick", "{\"every\":\"1s\",\"queue\":\"default\",\"overlap\":\"all\"}");
    live(f, 150 * US_PER_S);
    struct entries x = entries_of(f, "tick");

    assert_int_equal(x.n, FIRINGS_KEPT);
    assert_int_equal(x.items[0].seq, 150);
    assert_int_equal(row_of(f, "tick").fired, 150);
}

static void two_servers_fire_once(void **state)
{
    struct fixture *f = *state;

    if (!pg_is_wanted())
        return;
    struct fixture *other = fixture_join(f);

    define(f, "tick", "{\"every\":\"1s\",\"queue\":\"default\",\"overlap\":\"all\"}");
    for (int i = 0; i < 30; i++) {
        fixture_pass(f, US_PER_S);
        other->now = f->now;
        batch_run(i % 2 == 0 ? f : other);
        batch_run(i % 2 == 0 ? other : f);
    }
    assert_int_equal(row_of(f, "tick").fired, 30);
    assert_int_equal(jobs_of(f, "default"), 30);
    fixture_leave(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(each_nominal_time_makes_one_job),
        ENGINE_TEST(a_crash_and_the_same_definition_fire_nothing_again),
        ENGINE_TEST(two_schedules_of_one_minute_do_not_disturb_each_other),
        ENGINE_TEST(jitter_puts_it_off),
        ENGINE_TEST(a_topic_gets_a_job_for_each_subscriber),
        ENGINE_TEST(a_queue_that_takes_none_refuses_the_firing),
        ENGINE_TEST(skip_makes_none_while_the_last_lives),
        ENGINE_TEST(queue_waits_for_the_end_of_the_last),
        ENGINE_TEST(replace_cancels_the_last),
        ENGINE_TEST(catching_up_heeds_the_overlap),
        ENGINE_TEST(what_nobody_looked_at_is_missed),
        ENGINE_TEST(the_latest_is_made_up_for_within_catch_up),
        ENGINE_TEST(ten_years_ahead_are_one_entry_and_no_silence_after),
        ENGINE_TEST(no_time_fires_twice_when_the_clock_is_set_back),
        ENGINE_TEST(a_paused_one_fires_nothing_and_makes_up_for_nothing),
        ENGINE_TEST(run_makes_a_job_now),
        ENGINE_TEST(a_changed_definition_begins_anew),
        ENGINE_TEST(what_cannot_be_is_refused),
        ENGINE_TEST(a_hundred_entries_are_kept),
        ENGINE_TEST(two_servers_fire_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
