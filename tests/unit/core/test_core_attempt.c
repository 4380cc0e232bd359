/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/compiler.h"
#include "base/rng.h"
#include "core/job/attempt.h"
#include "testing.h"

#define NOW (INT64_C(1800000000) * US_PER_S)

static struct job running(void)
{
    return (struct job){.state = JOB_RUNNING, .attempt = 1, .token = 1, .text = SLICE("before")};
}

static struct retry_policy policy_of(int max)
{
    struct retry_policy p = RETRY_POLICY_DEFAULT;

    p.max = max;
    p.jitter = 0;
    p.exits[0] = (struct retry_exit_rule){64, 74, RETRY_EXIT_NEVER};
    p.exits[1] = (struct retry_exit_rule){75, 75, RETRY_EXIT_LATER};
    p.n_exits = 2;
    return p;
}

static enum job_event apply(struct job *j, struct attempt_end end, int max)
{
    struct retry_policy policy = policy_of(max);
    struct rng rng;

    rng_init(&rng, 1);
    end.now_at = NOW;
    return attempt_apply(j, &end, &policy, &rng);
}

static void done_is_done(void **state)
{
    (void)state;
    struct job j = running();

    assert_int_equal(
        apply(&j, (struct attempt_end){.outcome = JOB_OUT_DONE, .exited = true, .exit = 0}, 5),
        JOB_EV_DONE);
    assert_int_equal(j.state, JOB_DONE);
    assert_int_equal(j.outcome, JOB_OUT_DONE);
    assert_int_equal(j.cause, JOB_CAUSE_NONE);
    assert_true(j.exited);
    assert_int_equal(j.finished_at, NOW);
    assert_int_equal(j.failures + j.laters + j.lost, 0);
    assert_slice_is(j.text, "before");
}

static void the_status_text_changes_only_when_one_is_given(void **state)
{
    (void)state;
    struct job j = running();

    apply(&j, (struct attempt_end){.outcome = JOB_OUT_DONE, .text = SLICE("new")}, 0);
    assert_slice_is(j.text, "new");
    j = running();
    apply(&j, (struct attempt_end){.outcome = JOB_OUT_DONE, .text = SLICE("")}, 0);
    assert_slice_is(j.text, "");
}

static void a_failure_is_tried_again_until_the_budget_is_used_up(void **state)
{
    (void)state;
    struct job j = running();
    struct attempt_end end = {.outcome = JOB_OUT_FAILED, .exited = true, .exit = 1};

    assert_int_equal(apply(&j, end, 2), JOB_EV_DEFER);
    assert_int_equal(j.state, JOB_SCHEDULED);
    assert_int_equal(j.due_at, NOW + 10 * US_PER_S);
    j.state = JOB_RUNNING;
    assert_int_equal(apply(&j, end, 2), JOB_EV_DEFER);
    assert_int_equal(j.due_at, NOW + 20 * US_PER_S);
    j.state = JOB_RUNNING;
    assert_int_equal(apply(&j, end, 2), JOB_EV_FAIL);
    assert_int_equal(j.state, JOB_FAILED);
    assert_int_equal(j.failures, 3);
    assert_int_equal(j.cause, JOB_CAUSE_EXIT);
    assert_int_equal(j.due_at, 0);
}

static void a_delay_of_the_worker_replaces_the_pause(void **state)
{
    (void)state;
    struct job j = running();
    struct attempt_end end = {.outcome = JOB_OUT_FAILED, .delayed = true, .delay_us = 3 * US_PER_S};

    apply(&j, end, 1);
    assert_int_equal(j.due_at, NOW + 3 * US_PER_S);
    j = running();
    end.delay_us = 0;
    apply(&j, end, 1);
    assert_int_equal(j.due_at, NOW);
}

static void a_final_failure_is_not_tried_again(void **state)
{
    (void)state;
    struct job j = running();

    assert_int_equal(apply(&j, (struct attempt_end){.outcome = JOB_OUT_FAILED, .final = true}, 9),
                     JOB_EV_FAIL);
    j = running();
    assert_int_equal(
        apply(&j, (struct attempt_end){.outcome = JOB_OUT_FAILED, .exited = true, .exit = 70}, 9),
        JOB_EV_FAIL);
    assert_int_equal(j.failures, 1);
}

static void the_cause_that_was_told_stays(void **state)
{
    (void)state;
    struct job j = running();

    apply(&j, (struct attempt_end){.outcome = JOB_OUT_FAILED, .cause = JOB_CAUSE_MEMORY}, 0);
    assert_int_equal(j.cause, JOB_CAUSE_MEMORY);
}

static void an_exit_status_that_means_later_counts_no_failure(void **state)
{
    (void)state;
    struct job j = running();

    assert_int_equal(
        apply(&j, (struct attempt_end){.outcome = JOB_OUT_FAILED, .exited = true, .exit = 75}, 0),
        JOB_EV_DEFER);
    assert_int_equal(j.failures, 0);
    assert_int_equal(j.laters, 1);
    assert_int_equal(j.due_at, NOW + 10 * US_PER_S);
}

static void fifteen_laters_wait_and_the_sixteenth_fails(void **state)
{
    (void)state;
    struct job j = running();
    struct attempt_end end = {.outcome = JOB_OUT_LATER, .delayed = true, .delay_us = US_PER_S};

    for (int i = 1; i <= 15; i++) {
        j.state = JOB_RUNNING;
        assert_int_equal(apply(&j, end, 0), JOB_EV_DEFER);
        assert_int_equal(j.laters, i);
        assert_int_equal(j.due_at, NOW + US_PER_S);
    }
    j.state = JOB_RUNNING;
    assert_int_equal(apply(&j, end, 100), JOB_EV_FAIL);
    assert_int_equal(j.cause, JOB_CAUSE_PROTOCOL);
    assert_int_equal(j.laters, 16);
    assert_int_equal(j.failures, 0);
}

static void a_returned_job_is_ready_as_if_it_had_never_been_claimed(void **state)
{
    (void)state;
    struct job j = running();

    assert_int_equal(apply(&j, (struct attempt_end){.outcome = JOB_OUT_RETURNED}, 0),
                     JOB_EV_RETURN);
    assert_int_equal(j.state, JOB_READY);
    assert_int_equal(j.attempt, 0);
    assert_int_equal(job_fence(&j), 1); /* it was granted all the same */
    assert_int_equal(j.failures + j.laters + j.lost, 0);
}

static void five_lost_workers_are_borne_and_the_sixth_fails_the_job(void **state)
{
    (void)state;
    struct job j = running();

    for (int i = 1; i <= 5; i++) {
        j.state = JOB_RUNNING;
        assert_int_equal(apply(&j, (struct attempt_end){.outcome = JOB_OUT_LOST}, 0), JOB_EV_LOSE);
        assert_int_equal(j.state, JOB_READY);
        assert_int_equal(j.lost, i);
        assert_int_equal(j.cause, JOB_CAUSE_LOST);
    }
    j.state = JOB_RUNNING;
    assert_int_equal(apply(&j, (struct attempt_end){.outcome = JOB_OUT_LOST}, 100), JOB_EV_FAIL);
    assert_int_equal(j.lost, 6);
    assert_int_equal(j.failures, 0);
}

static void a_cancel_that_was_asked_for_wins_over_all_but_done(void **state)
{
    (void)state;
    static const enum job_outcome outcomes[] = {JOB_OUT_FAILED, JOB_OUT_LATER, JOB_OUT_RETURNED,
                                                JOB_OUT_CANCELLED, JOB_OUT_LOST};

    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
        struct job j = running();

        j.cancelling = true;
        assert_int_equal(apply(&j, (struct attempt_end){.outcome = outcomes[i]}, 9), JOB_EV_CANCEL);
        assert_int_equal(j.state, JOB_CANCELLED);
        assert_int_equal(j.cause, JOB_CAUSE_CANCELLED);
        assert_int_equal(j.due_at, 0);
    }
    struct job j = running();

    j.cancelling = true;
    assert_int_equal(apply(&j, (struct attempt_end){.outcome = JOB_OUT_DONE}, 9), JOB_EV_DONE);
}

static void a_worker_may_cancel_what_nobody_asked_it_to(void **state)
{
    (void)state;
    struct job j = running();

    assert_int_equal(apply(&j, (struct attempt_end){.outcome = JOB_OUT_CANCELLED}, 9),
                     JOB_EV_CANCEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(done_is_done),
        cmocka_unit_test(the_status_text_changes_only_when_one_is_given),
        cmocka_unit_test(a_failure_is_tried_again_until_the_budget_is_used_up),
        cmocka_unit_test(a_delay_of_the_worker_replaces_the_pause),
        cmocka_unit_test(a_final_failure_is_not_tried_again),
        cmocka_unit_test(the_cause_that_was_told_stays),
        cmocka_unit_test(an_exit_status_that_means_later_counts_no_failure),
        cmocka_unit_test(fifteen_laters_wait_and_the_sixteenth_fails),
        cmocka_unit_test(a_returned_job_is_ready_as_if_it_had_never_been_claimed),
        cmocka_unit_test(five_lost_workers_are_borne_and_the_sixth_fails_the_job),
        cmocka_unit_test(a_cancel_that_was_asked_for_wins_over_all_but_done),
        cmocka_unit_test(a_worker_may_cancel_what_nobody_asked_it_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
