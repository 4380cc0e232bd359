/* SPDX-License-Identifier: MIT */
#include "core/job/job.h"
#include "testing.h"

static void outcomes_have_the_names_of_the_design(void **state)
{
    (void)state;
    static const char *const names[JOB_OUT_COUNT] = {"none",     "done",      "failed", "later",
                                                     "returned", "cancelled", "lost"};

    for (unsigned o = 0; o < JOB_OUT_COUNT; o++)
        assert_string_equal(job_outcome_name((enum job_outcome)o), names[o]);
}

static void causes_have_the_names_of_the_design(void **state)
{
    (void)state;
    static const char *const names[JOB_CAUSE_COUNT] = {"none",       "exit",     "signal",
                                                       "timeout",    "memory",   "lost",
                                                       "start",      "protocol", "cancelled",
                                                       "dependency", "expired",  "dropped"};

    for (unsigned c = 0; c < JOB_CAUSE_COUNT; c++)
        assert_string_equal(job_cause_name((enum job_cause)c), names[c]);
}

/* What is stored must mean the same after the next release. */
static void persisted_numbers_stay(void **state)
{
    (void)state;
    assert_int_equal(JOB_OUT_DONE, 1);
    assert_int_equal(JOB_OUT_FAILED, 2);
    assert_int_equal(JOB_OUT_LATER, 3);
    assert_int_equal(JOB_OUT_RETURNED, 4);
    assert_int_equal(JOB_OUT_CANCELLED, 5);
    assert_int_equal(JOB_OUT_LOST, 6);
    assert_int_equal(JOB_CAUSE_EXIT, 1);
    assert_int_equal(JOB_CAUSE_SIGNAL, 2);
    assert_int_equal(JOB_CAUSE_TIMEOUT, 3);
    assert_int_equal(JOB_CAUSE_MEMORY, 4);
    assert_int_equal(JOB_CAUSE_LOST, 5);
    assert_int_equal(JOB_CAUSE_START, 6);
    assert_int_equal(JOB_CAUSE_PROTOCOL, 7);
    assert_int_equal(JOB_CAUSE_CANCELLED, 8);
    assert_int_equal(JOB_CAUSE_DEPENDENCY, 9);
    assert_int_equal(JOB_CAUSE_EXPIRED, 10);
}

static void the_last_entry_is_read_off_the_row(void **state)
{
    (void)state;
    struct job j = {
        .queue = 3,
        .started_at = 100,
        .finished_at = 200,
        .token = 7,
        .prev_token = 6,
        .outcome = JOB_OUT_FAILED,
        .attempt = 4,
        .failures = 2,
        .worker = 9,
        .exited = true,
        .exit = -9,
        .cause = JOB_CAUSE_SIGNAL,
        .text = SLICE("killed"),
    };
    struct progress_entry e = job_last_entry(&j);

    assert_int_equal(e.number, 1);
    assert_int_equal(e.attempt, 4);
    assert_int_equal(e.token, 7);
    assert_int_equal(e.outcome, JOB_OUT_FAILED);
    assert_int_equal(e.cause, JOB_CAUSE_SIGNAL);
    assert_true(e.exited);
    assert_int_equal(e.exit, -9);
    assert_int_equal(e.queue, 3);
    assert_int_equal(e.worker, 9);
    assert_int_equal(e.started_at, 100);
    assert_int_equal(e.ended_at, 200);
    assert_slice_is(e.text, "killed");
    assert_int_equal(e.set.size, 0);
}

static void an_id_tells_when_the_job_was_made(void **state)
{
    (void)state;
    int64_t at = INT64_C(1794778200123000); /* 2026-11-15T21:30:00.123Z */
    struct job j = {.id = {id_at_time(at)}};

    assert_int_equal(job_created_at(&j), at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes_have_the_names_of_the_design),
        cmocka_unit_test(causes_have_the_names_of_the_design),
        cmocka_unit_test(persisted_numbers_stay),
        cmocka_unit_test(the_last_entry_is_read_off_the_row),
        cmocka_unit_test(an_id_tells_when_the_job_was_made),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
