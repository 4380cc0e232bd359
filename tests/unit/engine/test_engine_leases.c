/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "base/os/fault.h"
#include "engine_fixture.h"
#include "store/jobs/claims.h"
#include "testing.h"

static void count_claim(void *ctx, const struct stored_claim *c)
{
    (void)c;
    ++*(size_t *)ctx;
}

/* Claims that the store would find after a restart; what is removed goes with the next write. */
static size_t stored_claims(struct fixture *f)
{
    struct err err = ERR_INIT;
    size_t n = 0;

    submit_one(f, "default");
    assert_int_equal(store_claims_load(f->store, count_claim, &n, &err), E_OK);
    return n;
}

static void a_lease_that_runs_out_makes_the_job_ready(void **state)
{
    struct fixture *f = *state;

    submit_one(f, "default");
    struct granted g = claim_one(f, "default");

    assert_next_us(f, LEASE_DEFAULT_US);
    fixture_pass(f, LEASE_DEFAULT_US - 1);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    fixture_pass(f, 1);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_READY);
    assert_true(reply_has(run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE)), "stale_lease"));
    assert_true(reply_has(run_op(f, op_touch(f, g.id, g.token)), "\"lost\":[{"));
    assert_int_equal(stored_claims(f), 0);
    assert_sound(f);
}

/* The engine was held up for longer than a lease: what its workers said meanwhile comes first. */
static void what_came_before_the_sweep_counts(void **state)
{
    struct fixture *f = *state;

    for (int i = 0; i < 3; i++)
        submit_one(f, "default");
    struct granted held = claim_one(f, "default");
    struct granted done = claim_one(f, "default");
    struct granted silent = claim_one(f, "default");

    fixture_pass(f, 10 * LEASE_DEFAULT_US);
    struct test_op *touch = op_touch(f, held.id, held.token);
    struct test_op *finish = op_finish(f, done.id, done.token, JOB_OUT_DONE);

    batch_add(f, touch);
    batch_add(f, finish);
    batch_run(f);
    assert_true(reply_has(touch, "\"lost\":[]"));
    assert_true(reply_has(finish, "\"ok\":true"));
    assert_int_equal(state_of(f, held.id), JOB_RUNNING);
    assert_int_equal(state_of(f, done.id), JOB_DONE);
    assert_int_equal(state_of(f, silent.id), JOB_READY);
    assert_int_equal(stored_claims(f), 1);
    fixture_pass(f, LEASE_DEFAULT_US);
    batch_run(f);
    assert_int_equal(state_of(f, held.id), JOB_READY);
    assert_int_equal(stored_claims(f), 0);
    assert_sound(f);
}

/* Three jobs under one lease: one is finished in the batch that looks at it, one touched, one
 * lost. */
static void a_claim_is_watched_until_its_last_job_has_gone(void **state)
{
    struct fixture *f = *state;
    struct granted g[3];

    submit_many(f, "default", 3);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "default", 3)), g, 3), 3);
    fixture_pass(f, LEASE_DEFAULT_US);
    batch_add(f, op_finish(f, g[0].id, g[0].token, JOB_OUT_FAILED));
    batch_add(f, op_touch(f, g[1].id, g[1].token));
    batch_run(f);
    assert_int_equal(state_of(f, g[0].id), JOB_FAILED);
    assert_int_equal(state_of(f, g[1].id), JOB_RUNNING);
    assert_int_equal(state_of(f, g[2].id), JOB_READY);
    assert_int_equal(stored_claims(f), 1);
    assert_sound(f);
    run_op(f, op_finish(f, g[1].id, g[1].token, JOB_OUT_DONE));
    assert_int_equal(state_of(f, g[1].id), JOB_DONE);
    assert_int_equal(stored_claims(f), 0);
}

/* Commits take their time: round trips to a database, a slow disk.  It is not the worker's. */
static void a_lease_lasts_its_period_from_when_its_grant_can_be_told(void **state)
{
    struct fixture *f = *state;
    int64_t id = submit_one(f, "default");
    char until[TIME_TEXT_SIZE];

    f->tick_us = 2 * US_PER_S;
    struct test_op *claim = run_op(f, op_claim(f, "default", 1));

    f->tick_us = 0;
    assert_true(reply_has(claim, time_format(f->now.steady_at + LEASE_DEFAULT_US, until)));
    fixture_pass(f, LEASE_DEFAULT_US - 1);
    batch_run(f);
    assert_int_equal(state_of(f, id), JOB_RUNNING);
    fixture_pass(f, 1);
    batch_run(f);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_sound(f);
}

static void and_from_when_its_touch_can_be_told(void **state)
{
    struct fixture *f = *state;

    submit_one(f, "default");
    struct granted g = claim_one(f, "default");

    f->tick_us = 3 * US_PER_S;
    run_op(f, op_touch(f, g.id, g.token));
    f->tick_us = 0;
    fixture_pass(f, LEASE_DEFAULT_US - 1);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    fixture_pass(f, 1);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_READY);
    assert_sound(f);
}

/* A dead worker is not noticed late for ever because one batch was slow. */
static void a_slow_batch_is_forgotten_with_the_next_touch(void **state)
{
    struct fixture *f = *state;

    if (pg_is_wanted()) /* deadlines are stored later after a slow batch */
        skip();
    submit_one(f, "default");
    struct granted g = claim_one(f, "default");

    f->tick_us = LEASE_DEFAULT_US / 2;
    run_op(f, op_touch(f, g.id, g.token));
    f->tick_us = 0;
    fixture_pass(f, US_PER_S);
    run_op(f, op_touch(f, g.id, g.token));
    fixture_pass(f, LEASE_DEFAULT_US - 1);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    fixture_pass(f, 1);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_READY);
    assert_sound(f);
}

/* Of two jobs of a claim each has its own lease. */
static void a_slow_batch_counts_for_the_job_that_was_not_touched_since(void **state)
{
    struct fixture *f = *state;
    struct granted g[2];

    if (pg_is_wanted()) /* deadlines are stored later after a slow batch */
        skip();
    submit_many(f, "default", 2);
    f->tick_us = US_PER_S;
    assert_int_equal(granted_of(run_op(f, op_claim(f, "default", 2)), g, 2), 2);
    f->tick_us = 0;
    fixture_pass(f, 2 * US_PER_S);
    run_op(f, op_touch(f, g[0].id, g[0].token));
    fixture_pass(f, LEASE_DEFAULT_US - 2 * US_PER_S - 1);
    batch_run(f);
    assert_int_equal(state_of(f, g[1].id), JOB_RUNNING);
    fixture_pass(f, 1);
    batch_run(f);
    assert_int_equal(state_of(f, g[1].id), JOB_READY);
    assert_int_equal(state_of(f, g[0].id), JOB_RUNNING);
    fixture_pass(f, 2 * US_PER_S);
    batch_run(f);
    assert_int_equal(state_of(f, g[0].id), JOB_READY);
}

static void a_lease_found_after_a_crash_gets_a_full_period(void **state)
{
    struct fixture *f = *state;

    submit_one(f, "default");
    struct granted g = claim_one(f, "default");

    fixture_pass(f, 10 * LEASE_DEFAULT_US);
    fixture_crash(f);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    fixture_pass(f, LEASE_DEFAULT_US - 1);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    fixture_pass(f, 1);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_READY);
    assert_int_equal(stored_claims(f), 0);
}

/* A restart finds a claim with all the jobs it ever had: those that ended before are not waited
 * for. */
static void a_claim_found_after_a_crash_is_closed_in_the_end(void **state)
{
    struct fixture *f = *state;
    struct granted g[3];

    submit_many(f, "default", 3);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "default", 3)), g, 3), 3);
    run_op(f, op_finish(f, g[0].id, g[0].token, JOB_OUT_DONE));
    fixture_crash(f);
    run_op(f, op_finish(f, g[1].id, g[1].token, JOB_OUT_DONE));
    run_op(f, op_finish(f, g[2].id, g[2].token, JOB_OUT_DONE));
    fixture_pass(f, LEASE_DEFAULT_US);
    batch_run(f);
    assert_int_equal(stored_claims(f), 0);
    fixture_pass(f, LEASE_DEFAULT_US);
    batch_run(f);
    assert_true(engine_next_us(f->engine, f->now) > 0);
    assert_sound(f);
}

static void after_an_outage_every_lease_gets_a_full_period(void **state)
{
    struct fixture *f = *state;

    submit_one(f, "default");
    struct granted g = claim_one(f, "default");

    assert_true(fault_arm("commit.before:1:fail-all"));
    for (int i = 0; i < 20; i++) {
        fixture_pass(f, LEASE_DEFAULT_US / 4);
        assert_int_not_equal(run_op(f, op_touch(f, g.id, g.token))->op.err.code, E_OK);
    }
    assert_true(fault_arm(NULL));
    fixture_pass(f, 5 * US_PER_S);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    assert_true(reply_has(run_op(f, op_touch(f, g.id, g.token)), "\"lost\":[]"));
    fixture_pass(f, LEASE_DEFAULT_US);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_READY);
    assert_sound(f);
}

/* A failed look at leases leaves them to be looked at. */
static void a_lease_that_could_not_be_judged_is_judged_again(void **state)
{
    struct fixture *f = *state;

    submit_one(f, "default");
    struct granted g = claim_one(f, "default");

    fixture_pass(f, LEASE_DEFAULT_US);
    assert_true(fault_arm("commit.before:1:fail"));
    batch_run(f);
    assert_true(fault_arm(NULL));
    assert_int_equal(state_of(f, g.id), JOB_READY); /* the second try did it */
    assert_int_equal(atomic_load(&engine_get_stats(f->engine)->lost), 1);
    assert_int_equal(stored_claims(f), 0);
    assert_sound(f);
}

static void the_sixth_lost_worker_fails_the_job(void **state)
{
    struct fixture *f = *state;
    int64_t id = submit_one(f, "default");

    for (int i = 1; i <= 6; i++) {
        assert_int_equal(state_of(f, id), JOB_READY);
        assert_int_equal(claim_one(f, "default").id, id);
        fixture_pass(f, LEASE_DEFAULT_US);
        batch_run(f);
    }
    assert_int_equal(state_of(f, id), JOB_FAILED);
    assert_sound(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_lease_that_runs_out_makes_the_job_ready),
        ENGINE_TEST(what_came_before_the_sweep_counts),
        ENGINE_TEST(a_claim_is_watched_until_its_last_job_has_gone),
        ENGINE_TEST(a_lease_lasts_its_period_from_when_its_grant_can_be_told),
        ENGINE_TEST(and_from_when_its_touch_can_be_told),
        ENGINE_TEST(a_slow_batch_is_forgotten_with_the_next_touch),
        ENGINE_TEST(a_slow_batch_counts_for_the_job_that_was_not_touched_since),
        ENGINE_TEST(a_lease_found_after_a_crash_gets_a_full_period),
        ENGINE_TEST(a_claim_found_after_a_crash_is_closed_in_the_end),
        ENGINE_TEST(after_an_outage_every_lease_gets_a_full_period),
        ENGINE_TEST(a_lease_that_could_not_be_judged_is_judged_again),
        ENGINE_TEST(the_sixth_lost_worker_fails_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
