/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "engine/claims/ready.h"
#include "engine_fixture.h"
#include "testing.h"

static void define_resource(struct fixture *f, const char *name, const char *definition)
{
    struct test_op *t = op_make(f, OP_DEFINE);
    struct definition_put *put = arena_array(&t->op.arena, 1, sizeof(*put));

    *put = (struct definition_put){slice_of(name), slice_of(definition)};
    t->op.define.puts[DEFINITION_RESOURCE] = (struct definition_puts){put, 1};
    assert_int_equal(run_op(f, t)->op.err.code, E_OK);
}

static struct test_op *op_add(struct fixture *f, const char *queue, const char *params,
                              const char *options)
{
    struct submit_item item = item_of(queue);

    item.params = slice_of(params);
    if (options != NULL)
        item.options = slice_of(options);
    return op_submit(f, &item, 1);
}

static int64_t add(struct fixture *f, const char *queue, const char *params, const char *options)
{
    struct test_op *t = run_op(f, op_add(f, queue, params, options));

    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
    return t->op.submit.first_id;
}

/* n jobs of one lane, in sets. */
static void add_many(struct fixture *f, const char *queue, const char *params, size_t n)
{
    enum { SET = 1000 };
    struct submit_item items[SET];

    for (size_t done = 0; done < n; done += SET) {
        size_t count = n - done < SET ? n - done : SET;

        for (size_t i = 0; i < count; i++) {
            items[i] = item_of(queue);
            items[i].params = slice_of(params);
        }
        assert_int_equal(run_op(f, op_submit(f, items, count))->op.err.code, E_OK);
    }
}

static size_t claim(struct fixture *f, const char *queue, int max, struct granted *got)
{
    return granted_of(run_op(f, op_claim(f, queue, max)), got, (size_t)max);
}

static void finish(struct fixture *f, struct granted g)
{
    assert_int_equal(run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE))->op.err.code, E_OK);
}

static void a_lane_has_its_own_limit(void **state)
{
    struct fixture *f = *state;
    struct granted got[8];

    define_queue(f, "get", "{\"lane\":{\"key\":\"{host}\",\"limit\":1}}");
    int64_t a = add(f, "get", "{\"host\":\"a\"}", NULL);

    add(f, "get", "{\"host\":\"a\"}", NULL);
    int64_t b = add(f, "get", "{\"host\":\"b\"}", NULL);

    assert_int_equal(claim(f, "get", 8, got), 2);
    assert_int_equal(got[0].id, a);
    assert_int_equal(got[1].id, b);
    assert_int_equal(claim(f, "get", 8, got + 2), 0);
    assert_sound(f);
    finish(f, got[1]);
    assert_int_equal(claim(f, "get", 8, got + 2), 0);
    finish(f, got[0]);
    assert_int_equal(claim(f, "get", 8, got + 2), 1);
    assert_sound(f);
}

static void lanes_survive_a_crash(void **state)
{
    struct fixture *f = *state;
    struct granted got[8];

    define_queue(f, "get", "{\"lane\":{\"key\":\"{host}\",\"limit\":1,\"rate\":\"2/10s\"}}");
    for (int i = 0; i < 4; i++)
        add(f, "get", "{\"host\":\"a\"}", NULL);
    assert_int_equal(claim(f, "get", 8, got), 1);
    fixture_crash(f);
    assert_int_equal(claim(f, "get", 8, got + 1), 0);
    finish(f, got[0]);
    fixture_crash(f);
    assert_int_equal(claim(f, "get", 8, got), 1);
    finish(f, got[0]);
    assert_int_equal(claim(f, "get", 8, got), 0); /* by the rate */
    fixture_crash(f);
    assert_int_equal(claim(f, "get", 8, got), 0);
    fixture_pass(f, 10 * US_PER_S);
    assert_int_equal(claim(f, "get", 8, got), 1);
    assert_sound(f);
}

/* More than all lists of a queue hold are in front. */
static void a_lane_that_cannot_go_is_passed_over(void **state)
{
    struct fixture *f = *state;
    struct granted got[4];

    define_queue(f, "get", "{\"lane\":{\"key\":\"{host}\",\"limit\":1}}");
    add_many(f, "get", "{\"host\":\"large\"}", READY_MAX + 2000);
    int64_t last = add(f, "get", "{\"host\":\"small\"}", NULL);

    assert_int_equal(claim(f, "get", 1, got), 1);
    assert_int_equal(claim(f, "get", 4, got + 1), 1);
    assert_int_equal(got[1].id, last);
    fixture_crash(f);
    last = add(f, "get", "{\"host\":\"other\"}", NULL);
    assert_int_equal(claim(f, "get", 4, got + 2), 1);
    assert_int_equal(got[2].id, last);
    assert_int_equal(kept_count(f, "get", JOB_READY), READY_MAX + 1999);
}

static void lanes_take_turns(void **state)
{
    struct fixture *f = *state;
    struct granted got[8];
    int64_t ids[6];

    define_queue(f, "get", "{\"lane\":{\"key\":\"{host}\"}}");
    for (int i = 0; i < 4; i++)
        ids[i] = add(f, "get", "{\"host\":\"a\"}", NULL);
    ids[4] = add(f, "get", "{\"host\":\"b\"}", NULL);
    ids[5] = add(f, "get", "{\"host\":\"b\"}", NULL);
    assert_int_equal(claim(f, "get", 2, got), 2);
    assert_int_equal(claim(f, "get", 4, got + 2), 4);
    const int64_t order[] = {ids[0], ids[4], ids[1], ids[5], ids[2], ids[3]};

    for (int i = 0; i < 6; i++)
        assert_int_equal(got[i].id, order[i]);
    assert_sound(f);
}

static void priority_comes_before_turns(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("get");
    struct granted got[4];

    define_queue(f, "get", "{\"lane\":{\"key\":\"{host}\"}}");
    add(f, "get", "{\"host\":\"a\"}", NULL);
    add(f, "get", "{\"host\":\"b\"}", NULL);
    assert_int_equal(claim(f, "get", 1, got), 1);
    item.params = SLICE("{\"host\":\"a\"}");
    item.priority = 5;
    struct test_op *t = run_op(f, op_submit(f, &item, 1));

    assert_int_equal(claim(f, "get", 1, got), 1);
    assert_int_equal(got[0].id, t->op.submit.first_id);
}

static void a_rate_of_lanes_spaces_the_starts_of_each(void **state)
{
    struct fixture *f = *state;
    struct granted got[8];

    define_queue(f, "get", "{\"lane\":{\"key\":\"{host}\",\"rate\":\"1/2s\"}}");
    for (int i = 0; i < 3; i++) {
        add(f, "get", "{\"host\":\"a\"}", NULL);
        add(f, "get", "{\"host\":\"b\"}", NULL);
    }
    assert_int_equal(claim(f, "get", 8, got), 2);
    struct test_op *t = op_claim(f, "get", 8);

    t->op.exchange.wait_us = 60 * US_PER_S;
    run_op(f, t);
    assert_false(t->answered);
    assert_next_us(f, 2 * US_PER_S);
    fixture_pass(f, 2 * US_PER_S);
    batch_run(f);
    assert_int_equal(granted_of(t, got, 8), 2);
    assert_sound(f);
}

/* Weights from params, own needs; jobs that cannot start do not hold back those that can. */
static void jobs_of_a_queue_may_need_different_things(void **state)
{
    struct fixture *f = *state;
    struct granted got[8];

    define_resource(f, "llm", "{\"slots\":10}");
    define_resource(f, "gpu", "{\"slots\":1}");
    define_queue(f, "ask", "{\"needs\":{\"llm\":\"{tokens}\"}}");
    int64_t first = add(f, "ask", "{\"tokens\":8}", NULL);

    add(f, "ask", "{\"tokens\":5}", NULL);
    int64_t small = add(f, "ask", "{\"tokens\":2}", NULL);

    assert_int_equal(claim(f, "ask", 8, got), 2);
    assert_int_equal(got[0].id, first);
    assert_int_equal(got[1].id, small);
    finish(f, got[0]);
    add(f, "ask", "{\"tokens\":1}", "{\"needs\":{\"gpu\":1,\"llm\":2}}");
    add(f, "ask", "{\"tokens\":1}", "{\"needs\":{\"gpu\":1}}");
    assert_int_equal(claim(f, "ask", 8, got), 2);
    assert_int_equal(claim(f, "ask", 8, got + 2), 0);
    finish(f, got[1]);
    assert_int_equal(claim(f, "ask", 8, got + 2), 1);
    assert_sound(f);
    fixture_crash(f);
    finish(f, got[0]);
    finish(f, got[2]);
    assert_sound(f);
}

static void assert_refused(struct test_op *t, const char *text)
{
    assert_int_equal(t->op.err.code, E_INVALID);
    if (strstr(t->op.err.msg, text) == NULL)
        fail_msg("'%s' does not say '%s'", t->op.err.msg, text);
}

static void keys_and_needs_that_cannot_be_filled_are_refused(void **state)
{
    struct fixture *f = *state;

    define_resource(f, "llm", "{\"slots\":10}");
    define_queue(f, "get", "{\"lane\":{\"key\":\"{host}\"}}");
    define_queue(f, "ask", "{\"needs\":{\"llm\":\"{tokens}\"}}");
    assert_refused(run_op(f, op_add(f, "get", "{}", NULL)), "host");
    assert_refused(run_op(f, op_add(f, "ask", "{}", NULL)), "tokens");
    assert_refused(run_op(f, op_add(f, "ask", "{\"tokens\":\"many\"}", NULL)),
                   "not a whole number");
    assert_refused(run_op(f, op_add(f, "ask", "{\"tokens\":11}", NULL)),
                   "llm has 10 slots and can never grant 11");
    assert_refused(run_op(f, op_add(f, "ask", "{\"tokens\":1}", "{\"needs\":{\"lln\":1}}")),
                   "there is no resource 'lln'");
    assert_sound(f);
}

/* A job that is moved or changed is in the lane of its new params. */
static void a_changed_job_changes_its_lane(void **state)
{
    struct fixture *f = *state;
    struct granted got[4];

    define_queue(f, "get", "{\"lane\":{\"key\":\"{host}\",\"limit\":1}}");
    define_queue(f, "plain", "{}");
    add(f, "get", "{\"host\":\"a\"}", NULL);
    assert_int_equal(claim(f, "get", 1, got), 1);
    int64_t id = add(f, "get", "{\"host\":\"a\"}", NULL);
    struct test_op *t = op_act(f, ACTION_PATCH, id);

    assert_int_equal(claim(f, "get", 1, got + 1), 0);
    t->op.action.params = SLICE("{\"host\":\"b\"}");
    assert_int_equal(run_op(f, t)->op.err.code, E_OK);
    t = op_act(f, ACTION_MOVE, id);
    t->op.action.queue = SLICE("plain");
    assert_int_equal(run_op(f, t)->op.err.code, E_OK);
    assert_int_equal(claim(f, "get", 1, got + 1), 0);
    t = op_act(f, ACTION_MOVE, id);
    t->op.action.queue = SLICE("get");
    assert_int_equal(run_op(f, t)->op.err.code, E_OK);
    assert_int_equal(claim(f, "get", 1, got + 1), 1);
    assert_int_equal(got[1].id, id);
    finish(f, got[1]);
    assert_int_equal(run_op(f, op_act(f, ACTION_RETRY, id))->op.err.code, E_OK);
    assert_int_equal(claim(f, "get", 1, got + 1), 1);
    assert_sound(f);
}

/* The very claim that finds the lane closed is woken when it opens. */
static void a_waiting_claim_is_woken_when_its_lane_opens(void **state)
{
    struct fixture *f = *state;
    struct test_op *t = op_claim(f, "get", 1);
    struct granted got[2];

    define_queue(f, "get", "{\"lane\":{\"key\":\"{host}\",\"rate\":\"1/2s\"}}");
    add(f, "get", "{\"host\":\"a\"}", NULL);
    assert_int_equal(claim(f, "get", 1, got), 1);
    add(f, "get", "{\"host\":\"a\"}", NULL);
    t->op.exchange.wait_us = 60 * US_PER_S;
    run_op(f, t);
    assert_false(t->answered);
    assert_next_us(f, 2 * US_PER_S);
    fixture_pass(f, 2 * US_PER_S);
    batch_run(f);
    assert_int_equal(granted_of(t, got, 1), 1);
}

/* A claim for one job does not get the place of one that is gone. */
static void a_deleted_job_leaves_its_lane(void **state)
{
    struct fixture *f = *state;
    struct granted got[1];

    define_queue(f, "get", "{\"lane\":{\"key\":\"{host}\",\"limit\":1}}");
    add(f, "get", "{\"host\":\"a\"}", NULL);
    int64_t gone = add(f, "get", "{\"host\":\"a\"}", NULL);
    int64_t held = add(f, "get", "{\"host\":\"a\"}", NULL);
    int64_t next = add(f, "get", "{\"host\":\"a\"}", NULL);

    assert_int_equal(claim(f, "get", 1, got), 1); /* the others are listed from now on */
    finish(f, got[0]);
    assert_int_equal(run_op(f, op_act(f, ACTION_DELETE, gone))->op.err.code, E_OK);
    assert_int_equal(run_op(f, op_act(f, ACTION_HOLD, held))->op.err.code, E_OK);
    assert_int_equal(claim(f, "get", 1, got), 1);
    assert_int_equal(got[0].id, next);
    assert_sound(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_lane_has_its_own_limit),
        ENGINE_TEST(lanes_survive_a_crash),
        ENGINE_TEST(a_lane_that_cannot_go_is_passed_over),
        ENGINE_TEST(lanes_take_turns),
        ENGINE_TEST(priority_comes_before_turns),
        ENGINE_TEST(a_rate_of_lanes_spaces_the_starts_of_each),
        ENGINE_TEST(jobs_of_a_queue_may_need_different_things),
        ENGINE_TEST(keys_and_needs_that_cannot_be_filled_are_refused),
        ENGINE_TEST(a_changed_job_changes_its_lane),
        ENGINE_TEST(a_deleted_job_leaves_its_lane),
        ENGINE_TEST(a_waiting_claim_is_woken_when_its_lane_opens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
