/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/os/fault.h"
#include "engine_fixture.h"
#include "testing.h"

static struct test_op *op_resource_put(struct fixture *f, const char *name, const char *definition)
{
    struct test_op *t = op_make(f, OP_DEFINE);
    struct definition_put *put = arena_array(&t->op.arena, 1, sizeof(*put));

    *put = (struct definition_put){slice_of(name), slice_of(definition)};
    t->op.define.puts[DEFINITION_RESOURCE] = (struct definition_puts){put, 1};
    return t;
}

static void define_resource(struct fixture *f, const char *name, const char *definition)
{
    assert_int_equal(run_op(f, op_resource_put(f, name, definition))->op.err.code, E_OK);
}

static struct test_op *op_shut(struct fixture *f, enum resource_op_kind kind, const char *name,
                               int64_t for_us)
{
    struct test_op *t = op_make(f, OP_RESOURCE);

    t->op.resource = (struct resource_op){.kind = kind, .name = slice_of(name), .for_us = for_us};
    return t;
}

static struct test_op *op_wait_claim(struct fixture *f, const char *queue, int max)
{
    struct test_op *t = op_claim(f, queue, max);

    t->op.exchange.wait_us = 60 * US_PER_S;
    return t;
}

static size_t claim(struct fixture *f, const char *queue, int max, struct granted *got)
{
    return granted_of(run_op(f, op_claim(f, queue, max)), got, (size_t)max);
}

static void finish(struct fixture *f, struct granted g, enum job_outcome outcome)
{
    assert_int_equal(run_op(f, op_finish(f, g.id, g.token, outcome))->op.err.code, E_OK);
}

/* ---- slots ---- */

static void slots_are_never_exceeded_and_come_back(void **state)
{
    struct fixture *f = *state;
    struct granted got[10];

    define_resource(f, "api", "{\"slots\":3}");
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    define_queue(f, "b", "{\"needs\":{\"api\":2}}");
    submit_many(f, "a", 5);
    submit_many(f, "b", 5);
    assert_int_equal(claim(f, "b", 10, got), 1);
    assert_int_equal(claim(f, "a", 10, got + 1), 1);
    assert_int_equal(claim(f, "a", 10, got + 2), 0);
    assert_int_equal(claim(f, "b", 10, got + 2), 0);
    assert_sound(f);
    finish(f, got[1], JOB_OUT_DONE);
    assert_int_equal(claim(f, "b", 10, got + 1), 0);
    assert_int_equal(claim(f, "a", 10, got + 1), 1);
    finish(f, got[0], JOB_OUT_FAILED);
    assert_int_equal(claim(f, "a", 1, got + 2), 1);
    assert_int_equal(claim(f, "a", 10, got + 3), 1);
    assert_int_equal(claim(f, "a", 10, got + 4), 0);
    assert_sound(f);
}

static void a_waiting_claim_gets_a_job_when_a_slot_comes_back(void **state)
{
    struct fixture *f = *state;
    struct granted got[4];

    define_resource(f, "api", "{\"slots\":1}");
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    submit_many(f, "a", 2);
    assert_int_equal(claim(f, "a", 4, got), 1);
    struct test_op *waiting = run_op(f, op_wait_claim(f, "a", 4));

    assert_false(waiting->answered);
    finish(f, got[0], JOB_OUT_DONE);
    assert_true(waiting->answered);
    assert_int_equal(granted_of(waiting, got, 4), 1);
    assert_sound(f);
}

static void slots_survive_a_crash_and_come_back_with_the_lease(void **state)
{
    struct fixture *f = *state;
    struct granted got[4];

    define_resource(f, "api", "{\"slots\":1}");
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    submit_many(f, "a", 2);
    assert_int_equal(claim(f, "a", 4, got), 1);
    fixture_crash(f);
    assert_int_equal(claim(f, "a", 4, got), 0);
    for (int i = 0; i < 4; i++) {
        fixture_pass(f, LEASE_DEFAULT_US);
        batch_run(f);
    }
    assert_int_equal(claim(f, "a", 4, got), 1);
    assert_sound(f);
}

/* Weights are those that were granted. */
static void a_changed_definition_does_not_make_slots_drift(void **state)
{
    struct fixture *f = *state;
    struct granted got[4];

    define_resource(f, "api", "{\"slots\":4}");
    define_queue(f, "a", "{\"needs\":{\"api\":3}}");
    submit_many(f, "a", 4);
    assert_int_equal(claim(f, "a", 4, got), 1);
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    define_resource(f, "api", "{\"slots\":3}");
    assert_int_equal(claim(f, "a", 4, got + 1), 0);
    finish(f, got[0], JOB_OUT_DONE);
    assert_int_equal(claim(f, "a", 4, got + 1), 3);
    define_queue(f, "a", "{}");
    for (int i = 1; i < 4; i++)
        finish(f, got[i], JOB_OUT_DONE);
    define_resource(f, "api", "{\"slots\":1}");
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    submit_many(f, "a", 2);
    assert_int_equal(claim(f, "a", 4, got), 1);
    assert_sound(f);
}

static void a_queue_that_is_defined_again_needs_what_it_says_now(void **state)
{
    struct fixture *f = *state;
    struct granted got[4];

    define_resource(f, "api", "{\"slots\":2}");
    define_queue(f, "a", "{\"needs\":{\"api\":2}}");
    submit_many(f, "a", 4);
    assert_int_equal(claim(f, "a", 4, got), 1);
    finish(f, got[0], JOB_OUT_DONE);
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    assert_int_equal(claim(f, "a", 4, got), 2);
    define_queue(f, "a", "{}");
    assert_int_equal(claim(f, "a", 4, got + 2), 1);
    for (int i = 0; i < 3; i++)
        finish(f, got[i], JOB_OUT_DONE);
    assert_sound(f);
}

static void all_needs_are_granted_or_none(void **state)
{
    struct fixture *f = *state;
    struct granted got[4];

    define_resource(f, "one", "{\"slots\":1}");
    define_resource(f, "two", "{\"slots\":5}");
    define_queue(f, "both", "{\"needs\":{\"one\":1,\"two\":5}}");
    define_queue(f, "first", "{\"needs\":{\"one\":1}}");
    define_queue(f, "second", "{\"needs\":{\"two\":5}}");
    submit_many(f, "both", 2);
    submit_many(f, "first", 1);
    submit_many(f, "second", 1);
    assert_int_equal(claim(f, "first", 1, got), 1);
    assert_int_equal(claim(f, "both", 1, got + 1), 0);
    assert_int_equal(claim(f, "second", 1, got + 1), 1);
    finish(f, got[0], JOB_OUT_DONE);
    assert_int_equal(claim(f, "both", 1, got), 0);
    finish(f, got[1], JOB_OUT_DONE);
    assert_int_equal(claim(f, "both", 2, got), 1);
    assert_sound(f);
}

static void a_failed_batch_books_nothing(void **state)
{
    struct fixture *f = *state;
    struct granted got[4];

    define_resource(f, "api", "{\"slots\":2,\"rate\":[\"2/1h\"]}");
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    submit_many(f, "a", 4);
    assert_true(fault_arm("commit.before:1:fail"));
    assert_int_equal(claim(f, "a", 4, got), 2);
    assert_true(fault_arm(NULL));
    assert_int_equal(kept_count(f, "a", JOB_RUNNING), 2);
    assert_sound(f);
}

/* ---- time ---- */

static void rates_are_exact_and_survive_a_crash(void **state)
{
    struct fixture *f = *state;
    struct granted got[8];

    define_resource(f, "api", "{\"rate\":[\"3/10s\"]}");
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    submit_many(f, "a", 8);
    assert_int_equal(claim(f, "a", 2, got), 2);
    fixture_pass(f, 4 * US_PER_S);
    assert_int_equal(claim(f, "a", 8, got), 1);
    fixture_crash(f);
    assert_int_equal(claim(f, "a", 8, got), 0);
    fixture_pass(f, 5900 * US_PER_MS);
    assert_int_equal(claim(f, "a", 8, got), 0);
    fixture_pass(f, 100 * US_PER_MS);
    assert_int_equal(claim(f, "a", 8, got), 2);
    fixture_pass(f, 4 * US_PER_S);
    assert_int_equal(claim(f, "a", 8, got), 1);
    assert_sound(f);
}

/* Nobody wakes before the instant, and who waits is served at it. */
static void a_claim_waits_for_the_opening_and_costs_nothing_before(void **state)
{
    struct fixture *f = *state;
    struct granted got[4];

    define_resource(f, "api", "{\"open\":[\"00:00-01:00\"]}");
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    fixture_pass(f, 23 * US_PER_HOUR + 59 * US_PER_MIN + 30 * US_PER_S);
    submit_many(f, "a", 2);
    struct test_op *waiting = run_op(f, op_wait_claim(f, "a", 4));
    int64_t statements = store_traffic(f->store).statements;

    assert_false(waiting->answered);
    fixture_pass(f, 29 * US_PER_S);
    batch_run(f);
    assert_false(waiting->answered);
    /* On a shared store the server says that it is alive, as when idle. */
    assert_true(store_traffic(f->store).statements - statements <= store_is_shared(f->store));
    assert_next_us(f, US_PER_S);
    fixture_pass(f, US_PER_S);
    batch_run(f);
    assert_true(waiting->answered);
    assert_int_equal(granted_of(waiting, got, 4), 2);
    /* What runs at closing time goes on. */
    fixture_pass(f, 61 * US_PER_MIN);
    submit_many(f, "a", 1);
    assert_int_equal(claim(f, "a", 4, got + 2), 0);
    assert_sound(f);
}

static void shut_by_hand_until_it_is_opened(void **state)
{
    struct fixture *f = *state;
    struct granted got[4];

    define_resource(f, "api", "{}");
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    submit_many(f, "a", 3);
    assert_int_equal(run_op(f, op_shut(f, RESOURCE_OP_SHUT, "api", 0))->op.err.code, E_OK);
    struct test_op *waiting = run_op(f, op_wait_claim(f, "a", 1));

    assert_false(waiting->answered);
    fixture_crash(f);
    assert_int_equal(claim(f, "a", 1, got), 0);
    waiting = run_op(f, op_wait_claim(f, "a", 1));
    assert_int_equal(run_op(f, op_shut(f, RESOURCE_OP_OPEN, "api", 0))->op.err.code, E_OK);
    assert_true(waiting->answered);
    assert_int_equal(granted_of(waiting, got, 1), 1);
    run_op(f, op_shut(f, RESOURCE_OP_SHUT, "api", 10 * US_PER_S));
    assert_int_equal(claim(f, "a", 1, got), 0);
    fixture_pass(f, 10 * US_PER_S);
    assert_int_equal(claim(f, "a", 1, got), 1);
    assert_int_equal(run_op(f, op_shut(f, RESOURCE_OP_SHUT, "apo", 0))->op.err.code, E_NOT_FOUND);
    assert_sound(f);
}

static struct test_op *op_tell(struct fixture *f, struct granted g, enum job_outcome outcome)
{
    struct test_op *t = op_finish(f, g.id, g.token, outcome);

    return t;
}

static struct finish_item *item_of_finish(struct test_op *t)
{
    struct finish_item *item = arena_array(&t->op.arena, 1, sizeof(*item));

    *item = t->op.exchange.finish[0];
    t->op.exchange.finish = item;
    return item;
}

/* The job goes back uncounted; a shorter pause never shortens a longer one. */
static void busy_shuts_a_resource_for_everybody(void **state)
{
    struct fixture *f = *state;
    struct granted got[4];

    define_resource(f, "api", "{}");
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    define_queue(f, "b", "{\"needs\":{\"api\":1}}");
    submit_many(f, "a", 2);
    submit_many(f, "b", 1);
    assert_int_equal(claim(f, "a", 2, got), 2);
    for (int i = 0; i < 2; i++) {
        struct test_op *t = op_tell(f, got[i], JOB_OUT_RETURNED);

        item_of_finish(t)->busy = (struct busy_item){SLICE("api"), (i == 0 ? 30 : 10) * US_PER_S,
                                                     SLICE("quota")};
        assert_int_equal(run_op(f, t)->op.err.code, E_OK);
    }
    assert_int_equal(state_of(f, got[0].id), JOB_READY);
    assert_int_equal(claim(f, "b", 4, got), 0);
    fixture_pass(f, 20 * US_PER_S);
    assert_int_equal(claim(f, "b", 4, got), 0);
    fixture_pass(f, 10 * US_PER_S);
    assert_int_equal(claim(f, "b", 4, got), 1);
    struct test_op *t = op_tell(f, got[0], JOB_OUT_RETURNED);

    item_of_finish(t)->busy = (struct busy_item){SLICE("apo"), 30 * US_PER_S, SLICE("")};
    assert_int_equal(run_op(f, t)->op.err.code, E_OK);
    assert_int_equal(state_of(f, got[0].id), JOB_FAILED);
    assert_sound(f);
}

static void use_books_what_a_job_really_used(void **state)
{
    struct fixture *f = *state;
    struct granted got[4];
    const struct signal_raise_item used = {SLICE("llm"), 9};

    define_resource(f, "llm", "{\"rate\":[\"10/1m\"]}");
    define_queue(f, "a", "{\"needs\":{\"llm\":2}}");
    submit_many(f, "a", 4);
    assert_int_equal(claim(f, "a", 1, got), 1);
    struct test_op *t = op_tell(f, got[0], JOB_OUT_DONE);
    struct finish_item *item = item_of_finish(t);

    item->uses = &used;
    item->n_uses = 1;
    assert_int_equal(run_op(f, t)->op.err.code, E_OK);
    assert_int_equal(claim(f, "a", 1, got), 0);
    fixture_pass(f, US_PER_MIN);
    assert_int_equal(claim(f, "a", 4, got), 3);
    assert_sound(f);
}

static void a_waiting_job_says_which_gate_is_closed(void **state)
{
    struct fixture *f = *state;
    struct granted got[1];
    struct query q;

    define_resource(f, "api", "{\"open\":[\"22:00-06:00\"],\"slots\":1}");
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    fixture_pass(f, 12 * US_PER_HOUR);
    int64_t id = submit_one(f, "a");

    assert_int_equal(claim(f, "a", 1, got), 0);
    query_init(&q, QUERY_JOB);
    q.id = id;
    q.now_at = f->now.wall_at;
    run_query(f, &q);
    const char *reply = buf_text(&q.reply);

    if (strstr(reply, "\"reason\":{\"code\":\"resource\",\"text\":\"api is closed until 22:00\","
                      "\"until\":\"2026-01-01T22:00:00Z\"}") == NULL)
        fail_msg("%s", reply);
    query_deinit(&q);
}

/* A job without a command is passed over by who runs programs: what was booked for it is free. */
static void what_is_booked_and_put_back_is_free_for_others(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("bare");
    struct test_op *t = op_claim(f, "bare", 4);
    struct claim_queue *queues = arena_array(&t->op.arena, 2, sizeof(*queues));
    struct granted got[4];

    define_resource(f, "api", "{\"slots\":1}");
    define_queue(f, "bare", "{\"own_command\":true,\"needs\":{\"api\":1}}");
    define_queue(f, "full", "{\"command\":[\"true\"],\"needs\":{\"api\":1}}");
    item.priority = 5;
    assert_int_equal(run_op(f, op_submit(f, &item, 1))->op.err.code, E_OK);
    submit_many(f, "full", 1);
    queues[0] = (struct claim_queue){SLICE("bare"), 4};
    queues[1] = (struct claim_queue){SLICE("full"), 4};
    t->op.exchange.queues = queues;
    t->op.exchange.n_queues = 2;
    t->op.exchange.commands = true;
    size_t n = granted_of(run_op(f, t), got, 4);

    if (n == 0)
        n = claim(f, "full", 4, got);
    assert_int_equal(n, 1);
    assert_sound(f);
}

/* ---- order ---- */

static void a_blocked_queue_does_not_hold_back_another(void **state)
{
    struct fixture *f = *state;
    struct test_op *t = op_claim(f, "a", 10);
    struct claim_queue *queues = arena_array(&t->op.arena, 2, sizeof(*queues));
    struct granted got[10];

    define_resource(f, "api", "{\"slots\":1}");
    define_queue(f, "a", "{\"needs\":{\"api\":1}}");
    define_queue(f, "b", "{}");
    submit_many(f, "a", 5);
    submit_many(f, "b", 5);
    queues[0] = (struct claim_queue){SLICE("a"), 10};
    queues[1] = (struct claim_queue){SLICE("b"), 10};
    t->op.exchange.queues = queues;
    t->op.exchange.n_queues = 2;
    assert_int_equal(granted_of(run_op(f, t), got, 10), 6);
    assert_int_equal(kept_count(f, "a", JOB_RUNNING), 1);
    assert_sound(f);
}

/* Both queues are claimed all the time; the small jobs would always fit first. */
static void the_first_that_lacks_slots_is_not_overtaken_for_ever(void **state)
{
    struct fixture *f = *state;
    struct granted small[4];
    struct granted got[4];
    size_t rounds = 0;

    define_resource(f, "api", "{\"slots\":2}");
    define_queue(f, "large", "{\"needs\":{\"api\":2}}");
    define_queue(f, "small", "{\"needs\":{\"api\":1}}");
    submit_many(f, "small", 2);
    assert_int_equal(claim(f, "small", 2, small), 2);
    submit_many(f, "large", 1);
    submit_many(f, "small", 100);
    for (; rounds < 50; rounds++) {
        size_t i = rounds % 2;

        if (small[i].id != 0)
            finish(f, small[i], JOB_OUT_DONE);
        small[i] = (struct granted){0};
        if (claim(f, "large", 1, got) == 1)
            break;
        (void)claim(f, "small", 1, &small[i]);
    }
    assert_true(rounds > 5);
    assert_true(rounds < 20);
    finish(f, got[0], JOB_OUT_DONE);
    assert_int_equal(claim(f, "small", 4, got), 2);
    assert_sound(f);
}

/* ---- definitions ---- */

static void assert_refused(struct test_op *t, enum err_code code, const char *text)
{
    assert_int_equal(t->op.err.code, code);
    if (strstr(t->op.err.msg, text) == NULL)
        fail_msg("'%s' does not say '%s'", t->op.err.msg, text);
}

static void needs_that_cannot_be_are_refused(void **state)
{
    struct fixture *f = *state;
    struct test_op *t = op_make(f, OP_DEFINE);
    struct granted got[1];

    define_resource(f, "api", "{\"slots\":2,\"rate\":[\"5/1s\"]}");
    assert_refused(run_op(f, op_queue_put(f, "a", "{\"needs\":{\"apo\":1}}")), E_INVALID,
                   "there is no resource 'apo', did you mean 'api'?");
    assert_refused(run_op(f, op_queue_put(f, "a", "{\"needs\":{\"api\":3}}")), E_INVALID,
                   "api has 2 slots and can never grant 3");
    define_queue(f, "a", "{\"needs\":{\"api\":2}}");
    assert_refused(run_op(f, op_resource_put(f, "api", "{\"slots\":1}")), E_INVALID,
                   "api has 1 slots and can never grant 2");
    assert_refused(run_op(f, op_resource_put(f, "x", "{\"zone\":\"Europe/Berlon\"}")), E_INVALID,
                   "resource 'x': zone: ");
    t->op.define = (struct define){.removes = true,
                                   .kind = DEFINITION_RESOURCE,
                                   .name = SLICE("api")};
    assert_refused(run_op(f, t), E_CONFLICT, "resource 'api' is in use: queue 'a' names it");
    submit_many(f, "a", 1);
    assert_int_equal(claim(f, "a", 1, got), 1);
    define_queue(f, "a", "{}");
    t = op_make(f, OP_DEFINE);
    t->op.define = (struct define){.removes = true,
                                   .kind = DEFINITION_RESOURCE,
                                   .name = SLICE("api")};
    assert_refused(run_op(f, t), E_CONFLICT, "is used by running jobs");
    assert_sound(f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        ENGINE_TEST(slots_are_never_exceeded_and_come_back),
        ENGINE_TEST(a_waiting_claim_gets_a_job_when_a_slot_comes_back),
        ENGINE_TEST(slots_survive_a_crash_and_come_back_with_the_lease),
        ENGINE_TEST(a_changed_definition_does_not_make_slots_drift),
        ENGINE_TEST(a_queue_that_is_defined_again_needs_what_it_says_now),
        ENGINE_TEST(all_needs_are_granted_or_none),
        ENGINE_TEST(a_failed_batch_books_nothing),
        ENGINE_TEST(rates_are_exact_and_survive_a_crash),
        ENGINE_TEST(a_claim_waits_for_the_opening_and_costs_nothing_before),
        ENGINE_TEST(shut_by_hand_until_it_is_opened),
        ENGINE_TEST(busy_shuts_a_resource_for_everybody),
        ENGINE_TEST(use_books_what_a_job_really_used),
        ENGINE_TEST(a_waiting_job_says_which_gate_is_closed),
        ENGINE_TEST(what_is_booked_and_put_back_is_free_for_others),
        ENGINE_TEST(a_blocked_queue_does_not_hold_back_another),
        ENGINE_TEST(the_first_that_lacks_slots_is_not_overtaken_for_ever),
        ENGINE_TEST(needs_that_cannot_be_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
