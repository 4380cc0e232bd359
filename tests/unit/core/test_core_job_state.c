/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "core/job/state.h"
#include "testing.h"

/* The moves of a job, written down a second time: a state a line, an event a column. */
enum { S_ = JOB_NONE, HELD = JOB_HELD, SCHD = JOB_SCHEDULED, REDY = JOB_READY, RUNS = JOB_RUNNING };
enum { DONE = JOB_DONE, FAIL = JOB_FAILED, CANC = JOB_CANCELLED, RELD = JOB_RELAYED };

/* clang-format off */
static const int moves[JOB_STATE_COUNT][JOB_EVENT_COUNT] = {
    /*                 wake  defer hold  claim retrn lose  done  fail  relay cancl again step */
    /* none      */  { S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_   },
    /* staged    */  { REDY, SCHD, HELD, S_,   S_,   S_,   S_,   S_,   S_,   CANC, S_,   S_   },
    /* held      */  { REDY, SCHD, HELD, S_,   S_,   S_,   S_,   FAIL, S_,   CANC, S_,   S_   },
    /* scheduled */  { REDY, SCHD, HELD, S_,   S_,   S_,   S_,   S_,   S_,   CANC, S_,   S_   },
    /* ready     */  { REDY, SCHD, HELD, RUNS, S_,   S_,   S_,   S_,   S_,   CANC, S_,   S_   },
    /* running   */  { S_,   SCHD, S_,   S_,   REDY, REDY, DONE, FAIL, RELD, CANC, S_,   REDY },
    /* done      */  { S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   REDY, S_   },
    /* failed    */  { S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   REDY, S_   },
    /* cancelled */  { S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   REDY, S_   },
    /* relayed   */  { S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   S_,   REDY, S_   },
};
/* clang-format on */

static void every_event_in_every_state_moves_as_written(void **state)
{
    (void)state;
    for (unsigned s = 0; s < JOB_STATE_COUNT; s++)
        for (unsigned e = 0; e < JOB_EVENT_COUNT; e++) {
            enum job_state got = job_state_next((enum job_state)s, (enum job_event)e);

            if (got != (enum job_state)moves[s][e])
                fail_msg("%s on %s leads to %s", job_event_name((enum job_event)e),
                         job_state_name((enum job_state)s), job_state_name(got));
        }
}

static void every_state_can_be_reached(void **state)
{
    (void)state;
    bool reached[JOB_STATE_COUNT] = {[JOB_STAGED] = true};

    for (int round = 0; round < JOB_STATE_COUNT; round++)
        for (unsigned s = JOB_STAGED; s < JOB_STATE_COUNT; s++)
            for (unsigned e = 0; reached[s] && e < JOB_EVENT_COUNT; e++)
                reached[job_state_next((enum job_state)s, (enum job_event)e)] = true;
    for (unsigned s = JOB_STAGED; s < JOB_STATE_COUNT; s++)
        assert_true(reached[s]);
}

static void only_a_ready_job_is_claimed_and_only_a_running_one_ends_by_itself(void **state)
{
    (void)state;
    static const enum job_event ends[] = {JOB_EV_DONE, JOB_EV_FAIL, JOB_EV_RELAY, JOB_EV_LOSE,
                                          JOB_EV_RETURN};

    for (unsigned s = JOB_STAGED; s < JOB_STATE_COUNT; s++) {
        assert_int_equal(job_state_next((enum job_state)s, JOB_EV_CLAIM) != JOB_NONE,
                         s == JOB_READY);
        for (size_t i = 0; i < ARRAY_LEN(ends); i++)
            assert_int_equal(job_state_next((enum job_state)s, ends[i]) != JOB_NONE,
                             s == JOB_RUNNING || (s == JOB_HELD && ends[i] == JOB_EV_FAIL));
    }
}

static void a_state_waits_runs_or_has_ended(void **state)
{
    (void)state;
    for (unsigned s = JOB_STAGED; s < JOB_STATE_COUNT; s++)
        assert_int_equal(job_state_waits((enum job_state)s) + (s == JOB_RUNNING) +
                             job_state_ended((enum job_state)s),
                         1);
    assert_false(job_state_waits(JOB_NONE));
    assert_false(job_state_ended(JOB_NONE));
    assert_true(job_state_waits(JOB_HELD));
    assert_true(job_state_ended(JOB_RELAYED));
}

static void names_are_those_of_the_design_and_read_back(void **state)
{
    (void)state;
    static const char *const names[] = {"staged", "held",   "scheduled", "ready",  "running",
                                        "done",   "failed", "cancelled", "relayed"};

    assert_int_equal(ARRAY_LEN(names), JOB_STATE_COUNT - 1);
    for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
        assert_string_equal(job_state_name((enum job_state)(i + 1)), names[i]);
        assert_int_equal(job_state_parse(slice_of(names[i])), i + 1);
    }
    for (unsigned e = 0; e < JOB_EVENT_COUNT; e++)
        for (unsigned f = 0; f < e; f++)
            assert_string_not_equal(job_event_name((enum job_event)e),
                                    job_event_name((enum job_event)f));
}

static void what_is_no_state_is_not_read_as_one(void **state)
{
    (void)state;
    static const char *const words[] = {"", "none", "Done", "don", "donee", "running ", "queued"};

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_int_equal(job_state_parse(slice_of(words[i])), JOB_NONE);
    assert_int_equal(job_state_parse(slice_of(NULL)), JOB_NONE);
    assert_int_equal(job_state_parse(slice_make("done\0x", 6)), JOB_NONE);
}

/* What is stored must mean the same after the next release. */
static void persisted_numbers_stay(void **state)
{
    (void)state;
    assert_int_equal(JOB_STAGED, 1);
    assert_int_equal(JOB_HELD, 2);
    assert_int_equal(JOB_SCHEDULED, 3);
    assert_int_equal(JOB_READY, 4);
    assert_int_equal(JOB_RUNNING, 5);
    assert_int_equal(JOB_DONE, 6);
    assert_int_equal(JOB_FAILED, 7);
    assert_int_equal(JOB_CANCELLED, 8);
    assert_int_equal(JOB_RELAYED, 9);
    assert_int_equal(JOB_HOLD_HAND, 1);
    assert_int_equal(JOB_HOLD_AFTER, 2);
    assert_int_equal(JOB_HOLD_GROUP, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_in_every_state_moves_as_written),
        cmocka_unit_test(every_state_can_be_reached),
        cmocka_unit_test(only_a_ready_job_is_claimed_and_only_a_running_one_ends_by_itself),
        cmocka_unit_test(a_state_waits_runs_or_has_ended),
        cmocka_unit_test(names_are_those_of_the_design_and_read_back),
        cmocka_unit_test(what_is_no_state_is_not_read_as_one),
        cmocka_unit_test(persisted_numbers_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
