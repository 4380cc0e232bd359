/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/os/fault.h"
#include "engine_fixture.h"
#include "store/jobs/endings.h"
#include "testing.h"

/* Runs until nothing is left to do at this instant. */
static void settle(struct fixture *f)
{
    int runs = 0;

    do
        batch_run(f);
    while (engine_next_us(f->engine, f->now) == 0 && runs++ < 1000);
    assert_true(runs < 1000);
}

static void end_all(struct fixture *f, const char *queue, enum job_outcome outcome)
{
    struct granted g[1000];
    size_t n;

    while ((n = granted_of(run_op(f, op_claim(f, queue, 1000)), g, 1000)) > 0) {
        for (size_t i = 0; i < n; i++)
            batch_add(f, op_finish(f, g[i].id, g[i].token, outcome));
        batch_run(f);
    }
}

static int64_t queue_with_endings(struct fixture *f)
{
    struct err err = ERR_INIT;
    int64_t queue = 0;

    assert_int_equal(store_ending_next_queue(f->store, 0, &queue, &err), E_OK);
    return queue;
}

/* ---- due ---- */

static void jobs_become_ready_when_they_are_due(void **state)
{
    struct fixture *f = *state;
    struct submit_item items[3] = {item_of("default"), item_of("default"), item_of("default")};

    items[0].delay_us = 10 * US_PER_S;
    items[1].due_at = START_AT + 20 * US_PER_S;
    items[2].due_at = START_AT - US_PER_S; /* past: at once */
    run_op(f, op_submit(f, items, 3));
    assert_int_equal(kept_count(f, "default", JOB_SCHEDULED), 2);
    settle(f);
    assert_next_us(f, 10 * US_PER_S);
    fixture_pass(f, 10 * US_PER_S);
    settle(f);
    assert_int_equal(kept_count(f, "default", JOB_READY), 2);
    assert_next_us(f, 10 * US_PER_S);
    fixture_pass(f, 10 * US_PER_S);
    settle(f);
    assert_int_equal(kept_count(f, "default", JOB_READY), 3);
    assert_sound(f);
}

static void many_due_at_one_instant_are_woken_in_chunks(void **state)
{
    struct fixture *f = *state;
    enum { JOBS = 1700 };
    struct submit_item *items = mem_alloc(JOBS * sizeof(*items));

    for (size_t i = 0; i < JOBS; i++) {
        items[i] = item_of("default");
        items[i].delay_us = US_PER_MIN;
    }
    run_op(f, op_submit(f, items, JOBS));
    settle(f);
    fixture_pass(f, US_PER_MIN);
    batch_run(f);
    assert_in_range(kept_count(f, "default", JOB_READY), 1, 1000);
    assert_next_us(f, 0);
    settle(f);
    assert_int_equal(kept_count(f, "default", JOB_READY), JOBS);
    assert_sound(f);
    free(items);
}

/* ---- retention ---- */

static void ended_jobs_are_removed_when_their_time_has_come(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "short", "{\"keep\":{\"done\":\"1h\",\"failed\":\"2h\"}}");
    submit_many(f, "short", 20);
    end_all(f, "short", JOB_OUT_DONE);
    submit_many(f, "short", 5);
    end_all(f, "short", JOB_OUT_FAILED);
    fixture_pass(f, US_PER_HOUR - US_PER_MIN);
    settle(f);
    assert_int_equal(kept_count(f, "short", JOB_DONE), 20);
    fixture_pass(f, 3 * US_PER_MIN);
    settle(f);
    assert_int_equal(kept_count(f, "short", JOB_DONE), 0);
    assert_int_equal(kept_count(f, "short", JOB_FAILED), 5);
    fixture_pass(f, US_PER_HOUR);
    settle(f);
    assert_int_equal(kept_count(f, "short", JOB_FAILED), 0);
    assert_int_equal(atomic_load(&engine_get_stats(f->engine)->retained), 25);
    assert_int_equal(queue_with_endings(f), 0);
    assert_sound(f);
}

static void a_key_is_free_again_when_its_job_was_removed(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("short");

    define_queue(f, "short", "{\"keep\":{\"done\":\"1h\"}}");
    item.key = SLICE("k");
    item.content = 1;
    int64_t id = run_op(f, op_submit(f, &item, 1))->op.submit.first_id;

    end_all(f, "short", JOB_OUT_DONE);
    assert_int_equal(run_op(f, op_submit(f, &item, 1))->op.status, 200);
    item.content = 2;
    assert_int_equal(run_op(f, op_submit(f, &item, 1))->op.err.code, E_CONFLICT);
    fixture_pass(f, 2 * US_PER_HOUR);
    settle(f);
    assert_int_equal(state_of(f, id), JOB_NONE);
    assert_int_equal(run_op(f, op_submit(f, &item, 1))->op.status, 201);
    assert_sound(f);
}

/* It ended at noon, was run again, and ended later: the later time counts. */
static void a_job_that_ended_again_is_kept_anew(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "short", "{\"keep\":{\"done\":\"1h\"}}");
    int64_t id = submit_one(f, "short");

    end_all(f, "short", JOB_OUT_DONE);
    fixture_pass(f, 30 * US_PER_MIN);
    run_op(f, op_act(f, ACTION_RETRY, id));
    end_all(f, "short", JOB_OUT_DONE);
    fixture_pass(f, 45 * US_PER_MIN);
    settle(f);
    assert_int_equal(state_of(f, id), JOB_DONE);
    fixture_pass(f, 30 * US_PER_MIN);
    settle(f);
    assert_int_equal(state_of(f, id), JOB_NONE);
}

static void retention_removes_in_small_batches(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "short", "{\"keep\":{\"done\":\"0s\"}}");
    submit_many(f, "short", 1800);
    end_all(f, "short", JOB_OUT_DONE);
    fixture_pass(f, 2 * US_PER_MIN);
    batch_run(f);
    assert_in_range(kept_count(f, "short", JOB_DONE), 800, 1799);
    settle(f);
    assert_int_equal(kept_count(f, "short", JOB_DONE), 0);
    assert_sound(f);
}

static void what_retention_knows_of_a_removed_queue_goes(void **state)
{
    struct fixture *f = *state;
    struct test_op *t = op_make(f, OP_DEFINE);
    enum { JOBS = 510 };
    struct granted g[JOBS];

    define_queue(f, "gone", "{}");
    submit_many(f, "gone", JOBS);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "gone", JOBS)), g, JOBS), JOBS);
    for (size_t i = 0; i < JOBS; i++) /* a row each */
        run_op(f, op_finish(f, g[i].id, g[i].token, JOB_OUT_DONE));
    run_op(f, op_bulk(f, ACTION_DELETE, "gone"));
    settle(f);
    t->op.define = (struct define){.removes = true,
                                   .kind = DEFINITION_QUEUE,
                                   .name = SLICE("gone")};
    run_op(f, t);
    assert_int_equal(t->op.err.code, E_OK);
    assert_int_not_equal(queue_with_endings(f), 0); /* not all in that one transaction */
    settle(f);
    assert_int_equal(queue_with_endings(f), 0);
    assert_sound(f);
}

/* ---- chunked work ---- */

static void a_bulk_action_goes_on_after_a_crash(void **state)
{
    struct fixture *f = *state;

    submit_many(f, "default", 1600);
    struct test_op *bulk = run_op(f, op_bulk(f, ACTION_HOLD, "default"));

    assert_int_equal(bulk->op.status, 202);
    submit_many(f, "default", 10); /* came later: not meant; rides with the first chunk */
    assert_in_range(kept_count(f, "default", JOB_HELD), 1, 1000);
    fixture_crash(f);
    settle(f);
    assert_int_equal(kept_count(f, "default", JOB_HELD), 1600);
    assert_int_equal(kept_count(f, "default", JOB_READY), 10);
    assert_sound(f);
}

static void a_chunk_that_failed_is_done_again_once(void **state)
{
    struct fixture *f = *state;
    struct query q;

    submit_many(f, "default", 1200);
    run_op(f, op_bulk(f, ACTION_CANCEL, "default"));
    assert_true(fault_arm("commit.before:2:fail"));
    settle(f);
    assert_true(fault_arm(NULL));
    assert_int_equal(kept_count(f, "default", JOB_CANCELLED), 1200);
    query_init(&q, QUERY_BULKS);
    run_query(f, &q);
    assert_non_null(strstr(buf_text(&q.reply), "\"changed\":1200,\"refused\":0"));
    query_deinit(&q);
    assert_sound(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(jobs_become_ready_when_they_are_due),
        ENGINE_TEST(many_due_at_one_instant_are_woken_in_chunks),
        ENGINE_TEST(ended_jobs_are_removed_when_their_time_has_come),
        ENGINE_TEST(a_key_is_free_again_when_its_job_was_removed),
        ENGINE_TEST(a_job_that_ended_again_is_kept_anew),
        ENGINE_TEST(retention_removes_in_small_batches),
        ENGINE_TEST(what_retention_knows_of_a_removed_queue_goes),
        ENGINE_TEST(a_bulk_action_goes_on_after_a_crash),
        ENGINE_TEST(a_chunk_that_failed_is_done_again_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
