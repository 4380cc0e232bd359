/* Clocks that are set, and servers that were stopped for a while. */
/* SPDX-License-Identifier: MIT */
#include "base/id.h"
#include "base/id_clock.h"
#include "base/os/fault.h"
#include "engine_fixture.h"
#include "testing.h"

#define YEAR (365 * US_PER_DAY)

static enum err_code try_open(struct fixture *f, bool trust_clock, struct err *err)
{
    struct engine_config config = {
        .seed = 1, .waiting_max = f->waiting_max, .member = &f->member, .trust_clock = trust_clock};

    engine_close(f->engine);
    f->engine = NULL;
    return engine_open(f->store, &config, f->now, &f->engine, err);
}

static void open_again(struct fixture *f, bool trust_clock)
{
    struct err err = ERR_INIT;

    if (try_open(f, trust_clock, &err) != E_OK)
        fail_msg("%s", err.msg);
}

static void a_visit_to_2090_leaves_no_trace_in_ids(void **state)
{
    struct fixture *f = *state;
    int64_t before = submit_one(f, "default");

    f->now.wall_at += 64 * YEAR;
    f->now.steady_at += US_PER_S;
    int64_t in_2090 = submit_one(f, "default");

    assert_true(in_2090 > before);
    assert_true(id_time(in_2090) <= START_AT + 2 * US_PER_S);
    f->now.wall_at += 10 * YEAR; /* beyond all ids */
    f->now.steady_at += US_PER_S;
    int64_t beyond = submit_one(f, "default");

    assert_true(beyond > in_2090);
    f->now.wall_at = START_AT + 3 * US_PER_S;
    f->now.steady_at += US_PER_S;
    int64_t after = submit_one(f, "default");

    assert_true(after > beyond);
    assert_true(id_time(after) <= START_AT + 4 * US_PER_S);
    fixture_crash(f);
    assert_true(id_time(submit_one(f, "default")) <= START_AT + 6 * US_PER_S);
    assert_sound(f);
}

static void a_start_far_ahead_of_the_store_needs_a_word(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    int64_t before = submit_one(f, "default");

    f->now.wall_at += 10 * YEAR;
    assert_int_equal(try_open(f, false, &err), E_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "--trust-clock"));
    open_again(f, true);
    int64_t after = submit_one(f, "default");

    assert_true(after > before && id_time(after) == f->now.wall_at / US_PER_MS * US_PER_MS);
    assert_sound(f);
}

static void a_clock_that_ids_cannot_tell_is_refused_at_start(void **state)
{
    struct fixture *f = *state;
    static const int64_t wrong[] = {0, ID_FIRST_AT - 1, ID_LAST_AT, ID_LAST_AT + YEAR};
    struct now right = f->now;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err err = ERR_INIT;

        f->now.wall_at = wrong[i];
        assert_int_equal(try_open(f, true, &err), E_UNAVAILABLE);
        assert_non_null(strstr(err.msg, "set the clock"));
    }
    f->now = right;
    open_again(f, false);
    (void)submit_one(f, "default");
}

/* The clock of the first start was wrong, and somebody said that it was right. */
static void ids_come_back_from_the_future_when_the_clock_is_trusted(void **state)
{
    struct fixture *f = *state;
    struct now right = f->now;
    int64_t old = submit_one(f, "default");

    f->now.wall_at += 60 * YEAR;
    open_again(f, true);
    int64_t future = submit_one(f, "default");

    f->now = right;
    fixture_pass(f, US_PER_HOUR);
    open_again(f, false);
    assert_true(submit_one(f, "default") > future); /* nobody has said which of the two is wrong */
    open_again(f, true);
    int64_t back = submit_one(f, "default");

    assert_true(back > old && id_time(back) == f->now.wall_at / US_PER_MS * US_PER_MS);
    open_again(f, false); /* and they stay */
    int64_t later = submit_one(f, "default");

    assert_true(later > back && id_time(later) < f->now.wall_at + 3 * US_PER_S);
    assert_int_equal(state_of(f, future), JOB_READY);
    assert_sound(f);
}

static void the_end_of_all_ids_is_a_refusal(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("default");

    f->now.wall_at = ID_LAST_AT - US_PER_S;
    open_again(f, true);
    (void)submit_one(f, "default");
    fixture_pass(f, 2 * US_PER_S);
    (void)submit_one(f, "default");
    struct test_op *t = run_op(f, op_submit(f, &item, 1));

    assert_int_equal(t->op.err.code, E_UNAVAILABLE);
    assert_non_null(strstr(t->op.err.msg, "no ids are left"));
}

/* ---- leases ---- */

static struct granted granted_now(struct fixture *f)
{
    (void)submit_one(f, "default");
    return claim_one(f, "default");
}

static void after_a_pause_every_lease_gets_a_full_period(void **state)
{
    struct fixture *f = *state;
    struct granted g = granted_now(f);

    fixture_pass(f, 2 * LEASE_DEFAULT_US);
    engine_was_away(f->engine, 2 * LEASE_DEFAULT_US);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    fixture_pass(f, LEASE_DEFAULT_US - US_PER_S);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    fixture_pass(f, US_PER_S);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_READY);
    assert_sound(f);
}

static void a_short_pause_is_no_excuse_for_a_long_lease(void **state)
{
    struct fixture *f = *state;
    struct granted g = granted_now(f);

    for (int i = 0; i < 20; i++) {
        fixture_pass(f, LEASE_DEFAULT_US / 20);
        engine_was_away(f->engine, LEASE_DEFAULT_US / 20);
        batch_run(f);
    }
    assert_int_equal(state_of(f, g.id), JOB_READY);
    g = claim_one(f, "default");
    for (int i = 0; i < 20; i++) {
        fixture_pass(f, LEASE_DEFAULT_US / 2);
        engine_was_away(f->engine, LEASE_DEFAULT_US / 2);
        batch_run(f);
    }
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
}

static void a_clock_that_is_set_ends_no_lease_and_keeps_none(void **state)
{
    struct fixture *f = *state;
    struct granted g = granted_now(f);

    f->now.wall_at += 30 * US_PER_DAY;
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    f->now.wall_at -= 300 * US_PER_DAY;
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    fixture_pass(f, LEASE_DEFAULT_US);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_READY);
}

/* ---- delays ---- */

static int64_t submit_delayed(struct fixture *f, int64_t delay_us, int64_t due_at)
{
    struct submit_item item = item_of("default");

    item.delay_us = delay_us;
    item.due_at = due_at;
    struct test_op *t = run_op(f, op_submit(f, &item, 1));
    struct slice id = slice_make(strstr(reply_of(t), "\"id\":\"") + 6, 13);
    int64_t ret = 0;

    assert_true(id_parse(id, &ret));
    return ret;
}

/* Of 5 s, 2 s have passed.  On a shared store each server sees the step for itself: the length
 * begins anew. */
static int64_t left_of_five_seconds(const struct fixture *f)
{
    return store_is_shared(f->store) ? 5 * US_PER_S : 3 * US_PER_S;
}

static void a_clock_set_back_for_years_stretches_no_delay(void **state)
{
    struct fixture *f = *state;
    int64_t delayed = submit_delayed(f, 5 * US_PER_S, 0);
    int64_t dated = submit_delayed(f, 0, START_AT + 5 * US_PER_S);

    fixture_pass(f, 2 * US_PER_S);
    f->now.wall_at -= 10 * YEAR;
    batch_run(f);
    fixture_pass(f, left_of_five_seconds(f) - 1);
    batch_run(f);
    assert_int_equal(state_of(f, delayed), JOB_SCHEDULED);
    fixture_pass(f, 1);
    batch_run(f);
    assert_int_equal(state_of(f, delayed), JOB_READY);
    assert_int_equal(state_of(f, dated), JOB_SCHEDULED); /* people's instants are the wall's */
    f->now.wall_at = START_AT + 5 * US_PER_S;
    batch_run(f);
    assert_int_equal(state_of(f, dated), JOB_READY);
    assert_sound(f);
}

static void a_clock_set_back_stretches_no_retry(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "again", "{\"retry\":{\"max\":2,\"first\":\"5s\",\"factor\":1,\"jitter\":0}}");
    int64_t id = submit_one(f, "again");
    struct granted g = claim_one(f, "again");

    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_FAILED));
    assert_int_equal(state_of(f, id), JOB_SCHEDULED);
    f->now.wall_at -= YEAR;
    batch_run(f);
    fixture_pass(f, 5 * US_PER_S - 1);
    batch_run(f);
    assert_int_equal(state_of(f, id), JOB_SCHEDULED);
    fixture_pass(f, 1);
    batch_run(f);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_sound(f);
}

static void a_clock_set_forward_shortens_no_delay_of_a_lone_server(void **state)
{
    struct fixture *f = *state;

    if (store_is_shared(f->store))
        skip();
    int64_t delayed = submit_delayed(f, US_PER_HOUR, 0);

    f->now.wall_at += 30 * US_PER_DAY;
    batch_run(f);
    fixture_pass(f, US_PER_HOUR - 1);
    batch_run(f);
    assert_int_equal(state_of(f, delayed), JOB_SCHEDULED);
    fixture_pass(f, 1);
    batch_run(f);
    assert_int_equal(state_of(f, delayed), JOB_READY);
}

static void a_clock_set_back_while_nobody_ran_leaves_the_length_at_most(void **state)
{
    struct fixture *f = *state;
    int64_t delayed = submit_delayed(f, 5 * US_PER_S, 0);

    f->now.wall_at -= YEAR;
    fixture_crash(f);
    fixture_pass(f, 5 * US_PER_S - 1);
    batch_run(f);
    assert_int_equal(state_of(f, delayed), JOB_SCHEDULED);
    fixture_pass(f, US_PER_S); /* on a shared store nobody looks again at once */
    batch_run(f);
    assert_int_equal(state_of(f, delayed), JOB_READY);
    assert_sound(f);
}

static void a_step_whose_commit_fails_is_made_up_for(void **state)
{
    struct fixture *f = *state;
    int64_t delayed = submit_delayed(f, 5 * US_PER_S, 0);

    f->now.wall_at -= YEAR;
    assert_true(fault_arm("commit.before:1:fail-all"));
    batch_run(f);
    assert_true(fault_arm(NULL));
    fixture_pass(f, 2 * US_PER_S);
    batch_run(f);
    fixture_pass(f, left_of_five_seconds(f));
    batch_run(f);
    assert_int_equal(state_of(f, delayed), JOB_READY);
    assert_sound(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_visit_to_2090_leaves_no_trace_in_ids),
        ENGINE_TEST(a_start_far_ahead_of_the_store_needs_a_word),
        ENGINE_TEST(a_clock_that_ids_cannot_tell_is_refused_at_start),
        ENGINE_TEST(ids_come_back_from_the_future_when_the_clock_is_trusted),
        ENGINE_TEST(the_end_of_all_ids_is_a_refusal),
        ENGINE_TEST(after_a_pause_every_lease_gets_a_full_period),
        ENGINE_TEST(a_short_pause_is_no_excuse_for_a_long_lease),
        ENGINE_TEST(a_clock_that_is_set_ends_no_lease_and_keeps_none),
        ENGINE_TEST(a_clock_set_back_for_years_stretches_no_delay),
        ENGINE_TEST(a_clock_set_back_stretches_no_retry),
        ENGINE_TEST(a_clock_set_forward_shortens_no_delay_of_a_lone_server),
        ENGINE_TEST(a_clock_set_back_while_nobody_ran_leaves_the_length_at_most),
        ENGINE_TEST(a_step_whose_commit_fails_is_made_up_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
