/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "base/rng.h"
#include "store/jobs/history.h"
#include "testing.h"

/* What the row itself keeps, for a job read back. */
static struct job row_of(const struct job *j)
{
    return (struct job){.state = j->state, .attempt = j->attempt};
}

static struct job round_trip(const struct job *j, struct arena *arena)
{
    struct job back = row_of(j);
    struct slice text = history_format(j, arena);
    struct err err = ERR_INIT;
    struct slice value;

    if (text.size > 0 && jtext_check(text, &value, &err) != E_OK)
        fail_msg("%s: %.*s", err.msg, (int)text.size, text.data);
    assert_true(history_parse(text, arena, &back));
    return back;
}

static void assert_same(const struct job *a, const struct job *b)
{
    assert_int_equal(a->holds, b->holds);
    assert_int_equal(a->cancelling, b->cancelling);
    assert_int_equal(a->outcome, b->outcome);
    assert_int_equal(a->failures, b->failures);
    assert_int_equal(a->lost, b->lost);
    assert_int_equal(a->laters, b->laters);
    assert_int_equal(a->returned, b->returned);
    assert_int_equal(a->exited, b->exited);
    assert_int_equal(a->exit, b->exit);
    assert_int_equal(a->cause, b->cause);
    assert_int_equal(a->done, b->done);
    assert_int_equal(a->total, b->total);
    assert_true(slice_equal(a->text, b->text));
}

static void an_ordinary_job_has_none(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    for (unsigned s = JOB_STAGED; s <= JOB_RUNNING; s++) {
        struct job j = {.state = (enum job_state)s, .attempt = s == JOB_RUNNING};

        assert_int_equal(history_format(&j, &arena).size, 0);
        struct job back = round_trip(&j, &arena);

        assert_same(&j, &back);
    }
    struct job cancelled = {.state = JOB_CANCELLED, .cause = JOB_CAUSE_CANCELLED};

    assert_true(history_format(&cancelled, &arena).size > 0);
}

/* Done, with exit 0 told or not: both are read as exit 0. */
static void a_job_that_ended_well_has_none(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct job j = {.state = JOB_DONE, .outcome = JOB_OUT_DONE, .attempt = 3};

    assert_int_equal(history_format(&j, &arena).size, 0);
    j.exited = true;
    assert_int_equal(history_format(&j, &arena).size, 0);
    struct job back = round_trip(&j, &arena);

    assert_same(&j, &back);
}

static void whatever_else_there_is_to_tell_is_told(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct job well = {
        .state = JOB_DONE, .outcome = JOB_OUT_DONE, .attempt = 2, .exited = true};
    struct job cases[13];
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        cases[i] = well;
    cases[n++].holds = JOB_HOLD_HAND | JOB_HOLD_GROUP;
    cases[n++].cancelling = true;
    cases[n++].outcome = JOB_OUT_LOST;
    cases[n++].failures = 1;
    cases[n++].lost = 1;
    cases[n++].laters = 1;
    cases[n++].returned = 1;
    cases[n++].exit = -9;
    cases[n++].cause = JOB_CAUSE_MEMORY;
    cases[n++].done = 5;
    cases[n++].total = INT64_MAX;
    cases[n++].text = SLICE("x");
    cases[n++].state = JOB_FAILED;
    assert_int_equal(n, ARRAY_LEN(cases));
    for (size_t i = 0; i < n; i++) {
        if (history_format(&cases[i], &arena).size == 0)
            fail_msg("case %zu is not told", i);
        struct job back = round_trip(&cases[i], &arena);

        assert_same(&cases[i], &back);
    }
}

static void how_the_last_attempt_ended_is_told(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    static const struct job cases[] = {
        {.state = JOB_READY, .outcome = JOB_OUT_RETURNED},
        {.state = JOB_READY, .outcome = JOB_OUT_DONE, .attempt = 1},   /* run again */
        {.state = JOB_RUNNING, .outcome = JOB_OUT_DONE, .attempt = 2}, /* and claimed */
        {.state = JOB_FAILED, .outcome = JOB_OUT_FAILED, .attempt = 1},
        {.state = JOB_CANCELLED, .outcome = JOB_OUT_CANCELLED, .attempt = 1},
        {.state = JOB_SCHEDULED, .outcome = JOB_OUT_LATER, .attempt = 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job back = round_trip(&cases[i], &arena);

        assert_same(&cases[i], &back);
    }
}

static struct job random_job(struct rng *rng)
{
    static const char *const texts[] = {
        "", "a", "\"quoted\" \\ back", "line\nbreak\t\x01", "gr\xc3\xbc\xc3\x9f", "{\"at\":99}"};
    struct job j = {
        .state = (enum job_state)(1 + rng_below(rng, JOB_STATE_COUNT - 1)),
        .attempt = (int)rng_below(rng, 4),
        .holds = (unsigned)rng_below(rng, 8),
        .cancelling = rng_below(rng, 3) == 0,
        .outcome = (enum job_outcome)rng_below(rng, JOB_OUT_COUNT),
        .failures = (int)rng_below(rng, 3),
        .lost = (int)rng_below(rng, 3),
        .laters = (int)rng_below(rng, 3),
        .returned = (int)rng_below(rng, 3),
        .cause = (enum job_cause)rng_below(rng, JOB_CAUSE_COUNT),
        .done = (int64_t)rng_below(rng, 3) * INT64_C(1000000000000),
        .total = (int64_t)rng_below(rng, 2),
        .text = slice_of(texts[rng_below(rng, ARRAY_LEN(texts))]),
    };

    j.exited = rng_below(rng, 2) == 0;
    j.exit = j.exited ? (int)rng_below(rng, 512) - 255 : 0;
    return j;
}

static void every_field_comes_back(void **state)
{
    (void)state;
    struct rng rng;

    rng_init(&rng, 9);
    for (int i = 0; i < 20000; i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct job j = random_job(&rng);

        if (history_format(&j, &arena).size == 0)
            continue; /* the plain ones are above */
        struct job back = round_trip(&j, &arena);

        assert_same(&j, &back);
    }
}

/* A claim changes the attempt and leaves the history: it must not tell of the one before. */
static void what_belongs_to_an_attempt_vanishes_with_the_next(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct job j = {.state = JOB_SCHEDULED,
                    .attempt = 2,
                    .outcome = JOB_OUT_FAILED,
                    .failures = 2,
                    .lost = 1,
                    .laters = 3,
                    .exited = true,
                    .exit = 75,
                    .cause = JOB_CAUSE_EXIT,
                    .done = 4,
                    .total = 8,
                    .text = SLICE("nearly")};
    struct job next = {.state = JOB_RUNNING, .attempt = 3};
    struct slice text = history_format(&j, &arena);

    assert_true(history_parse(text, &arena, &next));
    assert_int_equal(next.outcome, JOB_OUT_FAILED); /* its finish may be repeated */
    assert_int_equal(next.failures, 2);
    assert_int_equal(next.lost, 1);
    assert_int_equal(next.laters, 3);
    assert_false(next.exited);
    assert_int_equal(next.exit, 0);
    assert_int_equal(next.cause, JOB_CAUSE_NONE);
    assert_int_equal(next.done, 0);
    assert_int_equal(next.total, 0);
    assert_int_equal(next.text.size, 0);
    struct job same = row_of(&j);

    assert_true(history_parse(text, &arena, &same));
    assert_same(&same, &j);
}

/* A returned attempt is not counted: the row goes back to the attempt before. */
static void an_attempt_that_was_returned_tells_nothing_of_the_one_before(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct job touched = {.state = JOB_RUNNING, .attempt = 1, .done = 7, .text = SLICE("begun")};
    struct job returned = {.state = JOB_READY, .attempt = 0};

    assert_true(history_parse(history_format(&touched, &arena), &arena, &returned));
    assert_int_equal(returned.done, 0);
    assert_int_equal(returned.text.size, 0);
}

static void what_was_never_written_is_refused(void **state)
{
    static const char *const bad[] = {
        "x",
        "[]",
        "{",
        "{]}",
        "null",
        "{\"holds\":-5}",
        "{\"outcome\":99}",
        "{\"cause\":4711}",
        "{\"failures\":-1}",
        "{\"lost\":99999999999}",
        "{\"step\":\"x\"}",
        "{\"text\":\"\\u",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct job j = {.state = JOB_READY};

        if (history_parse(slice_of(bad[i]), &arena, &j))
            fail_msg("taken: %s", bad[i]);
    }
    struct job claimed = {.state = JOB_READY};

    assert_false(history_parse_claimed(SLICE("[]"), &claimed));
    assert_false(history_parse_claimed(SLICE("{\"step\":-1}"), &claimed));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordinary_job_has_none),
        cmocka_unit_test(a_job_that_ended_well_has_none),
        cmocka_unit_test(whatever_else_there_is_to_tell_is_told),
        cmocka_unit_test(how_the_last_attempt_ended_is_told),
        cmocka_unit_test(every_field_comes_back),
        cmocka_unit_test(what_belongs_to_an_attempt_vanishes_with_the_next),
        cmocka_unit_test(an_attempt_that_was_returned_tells_nothing_of_the_one_before),
        cmocka_unit_test(what_was_never_written_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
