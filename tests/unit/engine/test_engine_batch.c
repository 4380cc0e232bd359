/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "base/os/fault.h"
#include "engine_fixture.h"
#include "testing.h"

static struct test_op *add(struct fixture *f, struct test_op *t)
{
    batch_add(f, t);
    return t;
}

static struct test_op *op_wait_claim(struct fixture *f, const char *queue, int64_t wait_us)
{
    struct test_op *t = op_claim(f, queue, 10);

    t->op.exchange.wait_us = wait_us;
    return t;
}

static struct test_op *op_submit_one(struct fixture *f, const char *queue)
{
    struct submit_item item = item_of(queue);

    return op_submit(f, &item, 1);
}

static struct test_op *op_queue_delete(struct fixture *f, const char *name)
{
    struct test_op *t = op_make(f, OP_DEFINE);

    t->op.define = (struct define){.removes = true,
                                   .kind = DEFINITION_QUEUE,
                                   .name = slice_of(name)};
    return t;
}

static size_t granted_count(const struct test_op *t)
{
    struct granted g[1000];

    return granted_of(t, g, 1000);
}

/* Everything hangs on what stands behind it in the list. */
static void a_batch_runs_by_kind_whatever_the_order_of_its_ops(void **state)
{
    struct fixture *f = *state;

    submit_one(f, "default");
    struct granted g = claim_one(f, "default");
    struct test_op *claim = add(f, op_claim(f, "new", 10));
    struct test_op *submit = add(f, op_submit_one(f, "new"));
    struct test_op *again = add(f, op_act(f, ACTION_RETRY, g.id));
    struct test_op *touch = add(f, op_touch(f, g.id, g.token));
    struct test_op *finish = add(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    struct test_op *put = add(f, op_queue_put(f, "new", "{}"));

    batch_run(f);
    assert_true(reply_has(put, "\"added\""));
    assert_true(reply_has(finish, "\"ok\":true"));
    assert_true(reply_has(touch, "\"lost\":[{"));
    assert_int_equal(again->op.err.code, E_OK);
    assert_int_equal(state_of(f, g.id), JOB_READY);
    assert_int_equal(submit->op.status, 201);
    assert_int_equal(granted_count(claim), 1);
    assert_int_equal(state_of(f, submit->op.submit.first_id), JOB_RUNNING);
    assert_int_equal(atomic_load(&engine_get_stats(f->engine)->rollbacks), 0);
    assert_sound(f);
}

static void a_refused_op_does_not_spoil_the_others(void **state)
{
    struct fixture *f = *state;
    struct submit_item items[2] = {item_of("default"), item_of("defualt")};
    struct test_op *bad_array = add(f, op_submit(f, items, 2));
    struct test_op *good = add(f, op_submit_one(f, "default"));
    struct test_op *bad_act = add(f, op_act(f, ACTION_CANCEL, 12345));
    struct test_op *bad_put = add(f, op_queue_delete(f, "default"));
    struct test_op *bad_claim = add(f, op_claim(f, "nowhere", 1));
    struct test_op *bad_state = add(f, op_queue_state(f, "nowhere", QUEUE_PAUSE));

    batch_run(f);
    assert_int_equal(bad_array->op.err.code, E_INVALID);
    assert_int_equal(bad_array->op.err.item, 2);
    assert_int_equal(good->op.err.code, E_OK);
    assert_int_equal(bad_act->op.err.code, E_NOT_FOUND);
    assert_int_equal(bad_put->op.err.code, E_CONFLICT);
    assert_int_equal(bad_claim->op.err.code, E_INVALID);
    assert_int_equal(bad_state->op.err.code, E_NOT_FOUND);
    assert_int_equal(kept_count(f, "default", JOB_READY), 1);
    assert_sound(f);
}

/* ---- a commit that fails once: the second try does it ---- */

static void a_batch_that_failed_once_happens_once(void **state)
{
    struct fixture *f = *state;
    struct granted g[10];

    submit_many(f, "default", 5);
    assert_true(fault_arm("commit.before:1:fail"));
    struct test_op *claim = add(f, op_claim(f, "default", 3));
    struct test_op *submit = add(f, op_submit_one(f, "default"));

    batch_run(f);
    assert_true(fault_arm(NULL));
    assert_int_equal(atomic_load(&engine_get_stats(f->engine)->rollbacks), 1);
    assert_int_equal(granted_of(claim, g, 10), 3);
    assert_int_equal(submit->op.err.code, E_OK);
    assert_int_equal(atomic_load(&engine_get_stats(f->engine)->claimed), 3);
    assert_int_equal(granted_count(run_op(f, op_claim(f, "default", 10))), 3);
    assert_int_equal(kept_count(f, "default", JOB_RUNNING), 6);
    assert_sound(f);
}

static void a_waiting_claim_is_granted_by_the_second_try(void **state)
{
    struct fixture *f = *state;
    struct test_op *waiting = run_op(f, op_wait_claim(f, "default", 30 * US_PER_S));

    assert_false(waiting->answered);
    assert_true(fault_arm("commit.before:1:fail"));
    run_op(f, op_submit_one(f, "default"));
    assert_true(fault_arm(NULL));
    assert_int_equal(granted_count(waiting), 1);
    assert_sound(f);
}

/* ---- a store that fails ---- */

static void nothing_of_a_failed_batch_stays(void **state)
{
    struct fixture *f = *state;
    struct granted g[10];

    define_queue(f, "old", "{\"timeout\":\"5s\"}");
    define_queue(f, "spare", "{}");
    submit_many(f, "default", 5);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "default", 2)), g, 10), 2);
    struct test_op *waiting = run_op(f, op_wait_claim(f, "old", 60 * US_PER_S));

    assert_true(fault_arm("commit.before:1:fail-all"));
    struct test_op *ops[] = {
        add(f, op_queue_put(f, "new", "{}")),
        add(f, op_queue_put(f, "old", "{\"timeout\":\"9s\"}")),
        add(f, op_queue_delete(f, "spare")),
        add(f, op_queue_state(f, "default", QUEUE_DOWN)),
        add(f, op_finish(f, g[0].id, g[0].token, JOB_OUT_FAILED)),
        add(f, op_submit_one(f, "old")),
        add(f, op_bulk(f, ACTION_CANCEL, "default")),
        add(f, op_claim(f, "default", 10)),
    };

    batch_run(f);
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        assert_true(ops[i]->answered);
        assert_int_equal(ops[i]->op.err.code, E_UNAVAILABLE);
    }
    assert_true(fault_arm(NULL));
    assert_false(waiting->answered);
    assert_int_equal(run_op(f, op_submit_one(f, "new"))->op.err.code, E_INVALID);
    assert_true(reply_has(run_op(f, op_queue_put(f, "old", "{\"timeout\":\"5s\"}")), "\"same\""));
    assert_int_equal(run_op(f, op_submit_one(f, "spare"))->op.err.code, E_OK);
    assert_int_equal(granted_count(run_op(f, op_claim(f, "default", 10))), 3);
    assert_int_equal(state_of(f, g[0].id), JOB_RUNNING);
    assert_true(
        reply_has(run_op(f, op_finish(f, g[0].id, g[0].token, JOB_OUT_DONE)), "\"ok\":true"));
    fixture_pass(f, 2 * US_PER_S);
    batch_run(f);
    assert_int_equal(kept_count(f, "default", JOB_CANCELLED), 0);
    run_op(f, op_submit_one(f, "old"));
    assert_int_equal(granted_count(waiting), 1);
    assert_sound(f);
}

static void heal(struct op *op)
{
    ((struct test_op *)op)->answered = true;
    fault_arm(NULL);
}

/* The store is well again when the first op has been refused: the others are not. */
static void after_two_failures_each_op_runs_for_itself(void **state)
{
    struct fixture *f = *state;
    struct test_op *ops[4];

    for (size_t i = 0; i < ARRAY_LEN(ops); i++)
        ops[i] = add(f, op_submit_one(f, "default"));
    ops[0]->op.done = heal;
    assert_true(fault_arm("commit.before:1:fail-all"));
    batch_run(f);
    assert_int_equal(ops[0]->op.err.code, E_UNAVAILABLE);
    for (size_t i = 1; i < ARRAY_LEN(ops); i++)
        assert_int_equal(ops[i]->op.err.code, E_OK);
    assert_int_equal(kept_count(f, "default", JOB_READY), 3);
    assert_sound(f);
}

static void who_waits_is_answered_in_time_though_the_store_fails(void **state)
{
    struct fixture *f = *state;
    int64_t id = submit_one(f, "default");
    struct test_op *wait = run_op(f, op_wait(f, id, 5 * US_PER_S));

    claim_one(f, "default");
    struct test_op *brief = run_op(f, op_wait_claim(f, "default", 10 * US_PER_S));
    struct test_op *patient = run_op(f, op_wait_claim(f, "default", 60 * US_PER_S));

    assert_true(fault_arm("commit.before:1:fail-all"));
    fixture_pass(f, 9 * US_PER_S);
    run_op(f, op_submit_one(f, "default"));
    assert_true(wait->answered);
    assert_false(brief->answered);
    fixture_pass(f, 1 * US_PER_S);
    run_op(f, op_submit_one(f, "default"));
    assert_true(brief->answered);
    assert_int_equal(granted_count(brief), 0);
    assert_false(patient->answered);
    assert_true(fault_arm(NULL));
    run_op(f, op_submit_one(f, "default"));
    assert_int_equal(granted_count(patient), 1);
}

/* ---- waiting for an end ---- */

static void who_waits_for_a_job_is_answered_when_it_ends(void **state)
{
    struct fixture *f = *state;
    enum { JOBS = 6 };
    struct granted g[JOBS];
    struct test_op *waits[JOBS];

    submit_many(f, "default", JOBS);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "default", JOBS)), g, JOBS), JOBS);
    for (size_t i = 0; i < JOBS; i++)
        waits[i] = add(f, op_wait(f, g[i].id, 60 * US_PER_S));
    batch_run(f);
    add(f, op_finish(f, g[4].id, g[4].token, JOB_OUT_DONE));
    add(f, op_finish(f, g[1].id, g[1].token, JOB_OUT_FAILED));
    add(f, op_finish(f, g[3].id, g[3].token, JOB_OUT_RETURNED));
    batch_run(f);
    for (size_t i = 0; i < JOBS; i++)
        assert_int_equal(waits[i]->answered, i == 1 || i == 4);
    run_op(f, op_act(f, ACTION_DELETE, g[3].id));
    assert_true(waits[3]->answered);
    assert_true(run_op(f, op_wait(f, g[3].id, US_PER_S))->answered); /* it is gone */
    assert_true(run_op(f, op_wait(f, g[4].id, US_PER_S))->answered); /* it has ended */
    fixture_pass(f, 60 * US_PER_S);
    batch_run(f);
    for (size_t i = 0; i < JOBS; i++)
        assert_true(waits[i]->answered);
}

static void who_waits_for_a_bulk_action_is_answered_when_it_is_done(void **state)
{
    struct fixture *f = *state;

    submit_many(f, "default", 600);
    struct test_op *bulk = run_op(f, op_bulk(f, ACTION_HOLD, "default"));
    struct slice value;
    int64_t id;

    assert_true(jtext_find(buf_slice(&bulk->op.reply), "id", &value));
    assert_true(id_parse(slice_make(value.data + 1, value.size - 2), &id));
    struct test_op *wait = run_op(f, op_wait(f, id, 60 * US_PER_S));

    for (int i = 0; i < 10 && !wait->answered; i++) {
        assert_int_equal(engine_next_us(f->engine, f->now), 0);
        batch_run(f);
    }
    assert_true(wait->answered);
    assert_int_equal(kept_count(f, "default", JOB_HELD), 600);
}

/* ---- many at once ---- */

static void a_long_list_of_ops_is_not_one_transaction(void **state)
{
    struct fixture *f = *state;
    enum { OPS = 6, JOBS = 5000 };
    struct submit_item *items = mem_alloc(JOBS * sizeof(*items));
    struct test_op *ops[OPS];
    uint64_t before = atomic_load(&engine_get_stats(f->engine)->commits);

    for (size_t i = 0; i < JOBS; i++)
        items[i] = item_of("default");
    for (size_t i = 0; i < OPS; i++)
        ops[i] = add(f, op_submit(f, items, JOBS));
    batch_run(f);
    for (size_t i = 0; i < OPS; i++)
        assert_int_equal(ops[i]->op.err.code, E_OK);
    assert_true(atomic_load(&engine_get_stats(f->engine)->commits) - before >= 3);
    assert_int_equal(kept_count(f, "default", JOB_READY), OPS * JOBS);
    free(items);
}

static void a_finish_is_answered_though_too_many_wait(void **state)
{
    struct fixture *f = *state;

    submit_one(f, "default");
    struct granted g = claim_one(f, "default");

    for (uint32_t i = 0; i < f->waiting_max; i++)
        add(f, op_wait_claim(f, "default", 30 * US_PER_S));
    batch_run(f);
    assert_int_equal(run_op(f, op_wait_claim(f, "default", US_PER_S))->op.err.code, E_TOO_MANY);
    struct test_op *t = op_wait_claim(f, "default", US_PER_S);
    struct finish_item item = {.id = g.id, .token = g.token, .outcome = JOB_OUT_DONE};

    t->op.exchange.finish = &item;
    t->op.exchange.n_finish = 1;
    run_op(f, t);
    assert_true(t->answered);
    assert_int_equal(t->op.err.code, E_OK);
    assert_true(reply_has(t, "\"ok\":true"));
    assert_int_equal(state_of(f, g.id), JOB_DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_batch_runs_by_kind_whatever_the_order_of_its_ops),
        ENGINE_TEST(a_refused_op_does_not_spoil_the_others),
        ENGINE_TEST(a_batch_that_failed_once_happens_once),
        ENGINE_TEST(a_waiting_claim_is_granted_by_the_second_try),
        ENGINE_TEST(nothing_of_a_failed_batch_stays),
        ENGINE_TEST(after_two_failures_each_op_runs_for_itself),
        ENGINE_TEST(who_waits_is_answered_in_time_though_the_store_fails),
        ENGINE_TEST(who_waits_for_a_job_is_answered_when_it_ends),
        ENGINE_TEST(who_waits_for_a_bulk_action_is_answered_when_it_is_done),
        ENGINE_TEST(a_long_list_of_ops_is_not_one_transaction),
        ENGINE_TEST(a_finish_is_answered_though_too_many_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
