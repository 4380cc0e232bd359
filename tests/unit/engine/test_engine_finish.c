/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "engine_fixture.h"
#include "testing.h"

static struct finish_item *item_in(struct test_op *t)
{
    return (struct finish_item *)(uintptr_t)t->op.exchange.finish;
}

static void assert_ok(struct fixture *f, struct granted g, enum job_outcome outcome)
{
    struct test_op *t = op_finish(f, g.id, g.token, outcome);

    item_in(t)->delayed = outcome == JOB_OUT_LATER;
    run_op(f, t);
    if (!reply_has(t, "\"ok\":true") || reply_has(t, "again"))
        fail_msg("%s", reply_of(t));
}

static void assert_again(struct fixture *f, struct granted g, enum job_outcome outcome)
{
    struct test_op *t = op_finish(f, g.id, g.token, outcome);

    item_in(t)->delayed = outcome == JOB_OUT_LATER;
    run_op(f, t);
    if (!reply_has(t, "\"again\":true"))
        fail_msg("%s", reply_of(t));
}

static void assert_stale(struct fixture *f, struct granted g, enum job_outcome outcome)
{
    struct test_op *t = run_op(f, op_finish(f, g.id, g.token, outcome));

    if (!reply_has(t, "stale_lease"))
        fail_msg("%s", reply_of(t));
}

static struct granted begin(struct fixture *f)
{
    submit_one(f, "default");
    return claim_one(f, "default");
}

/* ---- the same finish again ---- */

static void the_same_finish_again_is_ok_in_every_state(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    assert_ok(f, g, JOB_OUT_FAILED);
    assert_again(f, g, JOB_OUT_FAILED);
    assert_stale(f, g, JOB_OUT_DONE);
    run_op(f, op_act(f, ACTION_RETRY, g.id));
    assert_again(f, g, JOB_OUT_FAILED); /* while it is ready */
    struct granted second = claim_one(f, "default");

    assert_int_equal(second.id, g.id);
    assert_again(f, g, JOB_OUT_FAILED); /* while it runs again */
    assert_stale(f, g, JOB_OUT_DONE);
    assert_ok(f, second, JOB_OUT_DONE);
    assert_again(f, g, JOB_OUT_FAILED); /* out of the record */
    assert_again(f, second, JOB_OUT_DONE);
    run_op(f, op_act(f, ACTION_RETRY, g.id));
    struct granted third = claim_one(f, "default");

    assert_again(f, second, JOB_OUT_DONE);
    assert_again(f, g, JOB_OUT_FAILED);
    assert_ok(f, third, JOB_OUT_CANCELLED);
    assert_again(f, third, JOB_OUT_CANCELLED);
    assert_again(f, second, JOB_OUT_DONE);
    assert_sound(f);
}

static void a_returned_attempt_may_be_returned_again_until_the_next_ends(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    assert_ok(f, g, JOB_OUT_RETURNED);
    assert_again(f, g, JOB_OUT_RETURNED);
    assert_stale(f, g, JOB_OUT_DONE);
    struct granted second = claim_one(f, "default");

    assert_again(f, g, JOB_OUT_RETURNED);
    assert_ok(f, second, JOB_OUT_DONE);
    assert_again(f, second, JOB_OUT_DONE);
    assert_stale(f, g, JOB_OUT_DONE);
    assert_sound(f);
}

static void a_lost_attempt_is_stale_whatever_it_says(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    fixture_pass(f, LEASE_DEFAULT_US);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_READY);
    for (unsigned o = JOB_OUT_DONE; o < JOB_OUT_LOST; o++)
        if (o != JOB_OUT_LATER)
            assert_stale(f, g, (enum job_outcome)o);
    struct granted second = claim_one(f, "default");

    assert_stale(f, g, JOB_OUT_DONE);
    assert_ok(f, second, JOB_OUT_DONE);
    assert_stale(f, g, JOB_OUT_DONE);
}

static void a_token_of_nobody_finishes_nothing(void **state)
{
    struct fixture *f = *state;
    int64_t id = submit_one(f, "default");

    assert_stale(f, (struct granted){.id = id, .token = id},
                 JOB_OUT_DONE); /* what an unclaimed row holds */
    assert_stale(f, (struct granted){.id = id, .token = INT64_MAX}, JOB_OUT_DONE);
    assert_stale(f, (struct granted){.id = id, .token = 0}, JOB_OUT_DONE);
    assert_int_equal(state_of(f, id), JOB_READY);
    struct granted g = claim_one(f, "default");

    assert_stale(f, (struct granted){.id = id, .token = id}, JOB_OUT_DONE);
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    assert_true(reply_has(run_op(f, op_finish(f, 4711, g.token, JOB_OUT_DONE)), "not_found"));
}

/* Plain ones are ended as a set: one that is said twice counts once. */
static void a_finish_said_twice_in_one_batch_counts_once(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct test_op *ops[3];

    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        ops[i] = op_finish(f, g.id, g.token, i == 2 ? JOB_OUT_FAILED : JOB_OUT_DONE);
        batch_add(f, ops[i]);
    }
    batch_run(f);
    assert_true(reply_has(ops[0], "\"ok\":true") && !reply_has(ops[0], "again"));
    assert_true(reply_has(ops[1], "\"again\":true"));
    assert_true(reply_has(ops[2], "stale_lease"));
    assert_int_equal(atomic_load(&engine_get_stats(f->engine)->done), 1);
    assert_int_equal(kept_count(f, "default", JOB_DONE), 1);
    assert_sound(f);
}

/* ---- what a finish leaves ---- */

/* A member of a job's, or of an entry of its record. */
static struct slice shown(struct fixture *f, struct query *q, int64_t id, int entry,
                          const char *name)
{
    struct slice value;
    struct slice item;
    int i = 0;

    query_init(q, QUERY_JOB);
    q->id = id;
    run_query(f, q);
    assert_int_equal(q->err.code, E_OK);
    struct slice object = buf_slice(&q->reply);

    if (entry >= 0) {
        assert_true(jtext_find(object, "progress", &value));
        for (struct jtext_iter it = jtext_items(value); jtext_next_item(&it, &item); i++)
            if (i == entry)
                object = item;
        assert_true(i > entry);
    }
    return jtext_find(object, name, &value) ? value : SLICE("absent");
}

static void assert_shown(struct fixture *f, int64_t id, int entry, const char *name,
                         const char *want)
{
    struct query q;

    assert_slice_is(shown(f, &q, id, entry, name), want);
    query_deinit(&q);
}

static void what_was_set_stands_in_the_record(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);

    item_in(t)->set = SLICE("{\"a\":1}");
    run_op(f, t);
    assert_shown(f, g.id, -1, "result", "{\"a\":1}");
    assert_shown(f, g.id, 0, "set", "{\"a\":1}");
    run_op(f, op_act(f, ACTION_RETRY, g.id));
    assert_shown(f, g.id, -1, "result", "absent");
    assert_shown(f, g.id, 0, "set", "{\"a\":1}");
    g = claim_one(f, "default");
    t = op_finish(f, g.id, g.token, JOB_OUT_DONE);
    item_in(t)->set = SLICE("{\"b\":2}");
    item_in(t)->result = SLICE("[3]");
    run_op(f, t);
    assert_shown(f, g.id, -1, "result", "[3]");
    assert_shown(f, g.id, 0, "set", "{\"a\":1}");
    assert_shown(f, g.id, 1, "set", "{\"b\":2}");
    assert_shown(f, g.id, 1, "attempt", "2");
    assert_sound(f);
}

static void every_attempt_but_the_returned_has_an_entry(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct query q;

    assert_ok(f, g, JOB_OUT_RETURNED);
    assert_shown(f, g.id, -1, "progress", "[]");
    g = claim_one(f, "default");
    assert_ok(f, g, JOB_OUT_LATER);
    batch_run(f);
    g = claim_one(f, "default");
    fixture_pass(f, LEASE_DEFAULT_US);
    batch_run(f);
    g = claim_one(f, "default");
    assert_ok(f, g, JOB_OUT_DONE);
    assert_shown(f, g.id, 0, "state", "\"later\"");
    assert_shown(f, g.id, 1, "state", "\"lost\"");
    assert_shown(f, g.id, 1, "status", "null");
    assert_shown(f, g.id, 2, "state", "\"done\"");
    assert_shown(f, g.id, 2, "attempt", "3");
    assert_shown(f, g.id, -1, "attempt", "3");
    assert_shown(f, g.id, -1, "lost", "1");
    assert_slice_is(shown(f, &q, g.id, 2, "status"), "0");
    query_deinit(&q);
}

static void a_result_larger_than_a_job_is_refused(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);
    char *text = mem_alloc(JOB_BYTES_MAX + 1);

    memset(text, 'x', JOB_BYTES_MAX + 1);
    text[0] = text[JOB_BYTES_MAX] = '"';
    item_in(t)->result = slice_make(text, JOB_BYTES_MAX + 1);
    run_op(f, t);
    assert_true(reply_has(t, "too_large"));
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    free(text);
    assert_ok(f, g, JOB_OUT_DONE);
}

static void a_cancelled_attempt_is_counted_as_cancelled(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    assert_int_equal(run_op(f, op_act(f, ACTION_CANCEL, g.id))->op.status, 202);
    assert_ok(f, g, JOB_OUT_FAILED);
    assert_int_equal(state_of(f, g.id), JOB_CANCELLED);
    assert_int_equal(atomic_load(&engine_get_stats(f->engine)->cancelled), 1);
    assert_int_equal(atomic_load(&engine_get_stats(f->engine)->failed), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(the_same_finish_again_is_ok_in_every_state),
        ENGINE_TEST(a_returned_attempt_may_be_returned_again_until_the_next_ends),
        ENGINE_TEST(a_lost_attempt_is_stale_whatever_it_says),
        ENGINE_TEST(a_token_of_nobody_finishes_nothing),
        ENGINE_TEST(a_finish_said_twice_in_one_batch_counts_once),
        ENGINE_TEST(what_was_set_stands_in_the_record),
        ENGINE_TEST(every_attempt_but_the_returned_has_an_entry),
        ENGINE_TEST(a_result_larger_than_a_job_is_refused),
        ENGINE_TEST(a_cancelled_attempt_is_counted_as_cancelled),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
