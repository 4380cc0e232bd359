/*
 * Jobs that have not started in time are cancelled, in whatever state they wait.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/job/job.h"
#include "engine_fixture.h"
#include "store/clock/expiries.h"
#include "testing.h"

#define HOUR US_PER_HOUR

static struct submit_item expiring(int64_t us)
{
    struct submit_item item = item_of("default");

    item.expires.after_us = us;
    return item;
}

static int64_t submit(struct fixture *f, const struct submit_item *item)
{
    struct test_op *t = run_op(f, op_submit(f, item, 1));

    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
    return t->op.submit.first_id;
}

static void pass(struct fixture *f, int64_t us)
{
    fixture_pass(f, us);
    batch_run(f);
}

static void assert_expired(struct fixture *f, int64_t id)
{
    struct job j = job_of(f, id, &f->arena);

    assert_int_equal(j.state, JOB_CANCELLED);
    assert_int_equal(j.cause, JOB_CAUSE_EXPIRED);
    assert_slice_is(j.text, "it did not start in time");
}

static int64_t expiry_of(struct fixture *f, int64_t id)
{
    struct err err = ERR_INIT;
    int64_t at = 0;

    assert_int_equal(store_expiry_of(f->store, id, &at, &err), E_OK);
    return at;
}

static void a_ready_job_expires_at_its_time(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = expiring(HOUR);
    int64_t id = submit(f, &item);

    assert_next_us(f, US_PER_MIN); /* it looks at the clock of the wall now and then */
    pass(f, HOUR - 1);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_next_us(f, 1);
    pass(f, 1);
    assert_expired(f, id);
    assert_int_equal(expiry_of(f, id), 0);
    assert_int_equal(kept_count(f, "default", JOB_CANCELLED), 1);
    assert_sound(f);
}

static void an_instant_counts_as_it_is(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("default");

    item.expires.at = START_AT + HOUR;
    int64_t id = submit(f, &item);

    pass(f, HOUR);
    assert_expired(f, id);
}

static void the_own_expiry_overrides_the_queues(void **state)
{
    struct fixture *f = *state;
    struct submit_item own = expiring(3 * HOUR);

    define_queue(f, "short", "{\"expires\":\"1h\"}");
    own.queue = SLICE("short");
    int64_t plain = submit_one(f, "short");
    int64_t longer = submit(f, &own);

    pass(f, HOUR);
    assert_expired(f, plain);
    assert_int_equal(state_of(f, longer), JOB_READY);
    pass(f, 2 * HOUR);
    assert_expired(f, longer);
}

static void held_and_scheduled_jobs_expire(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = expiring(HOUR);
    int64_t held = submit(f, &item);

    run_op(f, op_act(f, ACTION_HOLD, held));
    item.delay_us = HOUR / 2;
    int64_t late = submit(f, &item);
    struct test_op *later = op_act(f, ACTION_PATCH, late);

    later->op.action.has_due = true;
    later->op.action.due_at = START_AT + 5 * HOUR;
    run_op(f, later);
    pass(f, HOUR);
    assert_expired(f, held);
    assert_expired(f, late);
    assert_sound(f);
}

static void a_staged_job_is_not_started_after_its_time(void **state)
{
    struct fixture *f = *state;
    struct submit_item items[2] = {expiring(HOUR), item_of("other")};
    struct test_op *t = op_make(f, OP_EMIT);

    define_queue(f, "other", "{}");
    define_queue(f, "maker", "{}");
    submit_one(f, "maker");
    struct test_op *claim = op_claim(f, "maker", 1);
    struct granted g;

    claim->op.exchange.lease_us = 5 * HOUR;
    assert_int_equal(granted_of(run_op(f, claim), &g, 1), 1);
    t->op.emit = (struct emit){.id = g.id, .token = g.token, .seq = 1, .jobs = items, .n_jobs = 2};
    run_op(f, t);
    assert_int_equal(kept_count(f, "default", JOB_STAGED), 1);
    pass(f, HOUR);
    assert_int_equal(kept_count(f, "default", JOB_STAGED), 1);
    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    batch_run(f);
    assert_int_equal(kept_count(f, "default", JOB_CANCELLED), 1);
    assert_int_equal(kept_count(f, "other", JOB_READY), 1);
    assert_sound(f);
}

static void a_job_that_has_started_once_does_not(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = expiring(HOUR);

    define_queue(f, "again",
                 "{\"retry\":{\"max\":3,\"first\":\"2h\",\"cap\":\"3h\",\"jitter\":0}}");
    item.queue = SLICE("again");
    int64_t id = submit(f, &item);
    struct granted g = claim_one(f, "again");

    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_FAILED));
    assert_int_equal(state_of(f, id), JOB_SCHEDULED);
    pass(f, HOUR + 1);
    assert_int_equal(state_of(f, id), JOB_SCHEDULED);
    assert_int_equal(expiry_of(f, id), 0);
    pass(f, HOUR);
    assert_int_equal(state_of(f, id), JOB_READY);
}

static void one_handed_back_unbegun_still_expires(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = expiring(30 * US_PER_S);
    int64_t id = submit(f, &item);
    struct granted g = claim_one(f, "default");

    pass(f, 31 * US_PER_S);
    assert_int_equal(state_of(f, id), JOB_RUNNING);
    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_RETURNED));
    assert_int_equal(state_of(f, id), JOB_READY);
    pass(f, 10 * US_PER_MIN);
    assert_expired(f, id);
}

static void an_expired_job_can_be_run_again(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = expiring(HOUR);
    int64_t id = submit(f, &item);

    pass(f, HOUR);
    run_op(f, op_act(f, ACTION_RETRY, id));
    assert_int_equal(state_of(f, id), JOB_READY);
    pass(f, 10 * HOUR);
    assert_int_equal(state_of(f, id), JOB_READY);
}

static void what_cannot_start_in_time_is_refused(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("default");

    item.expires.at = START_AT - 1;
    struct test_op *t = run_op(f, op_submit(f, &item, 1));

    assert_int_equal(t->op.err.code, E_INVALID);
    assert_non_null(strstr(t->op.err.msg, "has passed"));
    item = expiring(HOUR);
    item.delay_us = 2 * HOUR;
    t = run_op(f, op_submit(f, &item, 1));
    assert_int_equal(t->op.err.code, E_INVALID);
    assert_non_null(strstr(t->op.err.msg, "before it may start"));
}

enum { MANY = 1300 };

static void submit_expiring(struct fixture *f)
{
    struct submit_item items[MANY];

    for (size_t i = 0; i < MANY; i++)
        items[i] = expiring(HOUR);
    run_op(f, op_submit(f, items, MANY));
}

static void many_expire_in_chunks(void **state)
{
    struct fixture *f = *state;

    submit_expiring(f);
    fixture_pass(f, HOUR);
    for (int i = 0; i < 3; i++) {
        batch_run(f);
        assert_int_equal(kept_count(f, "default", JOB_CANCELLED), i < 2 ? 500 * (i + 1) : MANY);
    }
    assert_sound(f);
}

static void none_of_them_is_started_meanwhile(void **state)
{
    struct fixture *f = *state;

    submit_expiring(f);
    struct submit_item last = expiring(HOUR);
    struct after_cond end = {.kind = AFTER_JOB, .on = AFTER_END, .job = submit(f, &last)};
    struct submit_item waiter = item_of("default");

    waiter.after = &end;
    waiter.n_after = 1;
    int64_t waits = submit(f, &waiter);
    int64_t fresh = submit_one(f, "default");

    fixture_pass(f, HOUR);
    struct test_op *t = run_op(f, op_claim(f, "default", 10));
    struct granted got[10];

    assert_int_equal(granted_of(t, got, 10), 1);
    assert_int_equal(got[0].id, fresh);
    for (int i = 0; i < 5; i++)
        batch_run(f);
    assert_int_equal(kept_count(f, "default", JOB_CANCELLED), MANY + 1);
    assert_int_equal(state_of(f, waits),
                     JOB_READY); /* the claim has not ended what it passed over */
    assert_sound(f);
}

static void a_crash_loses_no_expiry(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = expiring(HOUR);
    int64_t id = submit(f, &item);

    fixture_crash(f);
    fixture_pass(f, 2 * HOUR);
    fixture_crash(f);
    batch_run(f);
    assert_expired(f, id);
}

static void two_servers_expire_each_job_once(void **state)
{
    struct fixture *f = *state;

    if (!pg_is_wanted())
        return;
    struct fixture *other = fixture_join(f);

    submit_expiring(f);
    for (int i = 0; i < 6; i++) {
        fixture_pass(f, i == 0 ? HOUR : 20 * US_PER_MS);
        other->now = f->now;
        batch_run(i % 2 == 0 ? other : f);
    }
    assert_int_equal(kept_count(f, "default", JOB_CANCELLED), MANY);
    assert_sound(f);
    fixture_leave(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_ready_job_expires_at_its_time),
        ENGINE_TEST(an_instant_counts_as_it_is),
        ENGINE_TEST(the_own_expiry_overrides_the_queues),
        ENGINE_TEST(held_and_scheduled_jobs_expire),
        ENGINE_TEST(a_staged_job_is_not_started_after_its_time),
        ENGINE_TEST(a_job_that_has_started_once_does_not),
        ENGINE_TEST(one_handed_back_unbegun_still_expires),
        ENGINE_TEST(an_expired_job_can_be_run_again),
        ENGINE_TEST(what_cannot_start_in_time_is_refused),
        ENGINE_TEST(many_expire_in_chunks),
        ENGINE_TEST(none_of_them_is_started_meanwhile),
        ENGINE_TEST(a_crash_loses_no_expiry),
        ENGINE_TEST(two_servers_expire_each_job_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
