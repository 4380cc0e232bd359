/*
 * What workers say besides finishing: which definitions they know, who they are, when they woke.
 */
/* SPDX-License-Identifier: MIT */
#include "engine_fixture.h"
#include "testing.h"

#define WAIT_US (30 * US_PER_S)

/* The number of the definitions, as GET /v1/queues gives it. */
static int64_t definitions(struct fixture *f)
{
    struct query q;
    int64_t number = 0;

    query_init(&q, QUERY_QUEUES);
    run_query(f, &q);
    assert_int_equal(sscanf(buf_text(&q.reply), "{\"definitions\":%ld", &number), 1);
    query_deinit(&q);
    return number;
}

static bool shows(struct fixture *f, enum query_kind kind, const char *name, const char *text)
{
    struct query q;

    query_init(&q, kind);
    q.name = slice_of(name);
    q.now_at = f->now.wall_at;
    run_query(f, &q);
    assert_int_equal(q.err.code, E_OK);
    bool there = strstr(buf_text(&q.reply), text) != NULL;

    query_deinit(&q);
    return there;
}

static struct test_op *op_claim_knowing(struct fixture *f, int64_t number)
{
    struct test_op *t = op_claim(f, "default", 10);

    t->op.exchange.has_definitions = true;
    t->op.exchange.definitions = number;
    return t;
}

static struct test_op *op_listen(struct fixture *f)
{
    struct test_op *t = op_claim(f, "default", 0);

    t->op.exchange.wait_us = WAIT_US;
    return t;
}

/* ---- definitions ---- */

static void nothing_is_granted_to_who_knows_other_definitions(void **state)
{
    struct fixture *f = *state;
    struct granted g[2];
    int64_t number = definitions(f);

    submit_one(f, "default");
    struct test_op *t = op_claim_knowing(f, number - 1);

    t->op.exchange.wait_us = WAIT_US;
    run_op(f, t);
    assert_true(t->answered);
    assert_int_equal(granted_of(t, g, 2), 0);
    t = run_op(f, op_claim_knowing(f, number));
    assert_int_equal(granted_of(t, g, 2), 1);
    assert_sound(f);
}

/* Both came at the same time: the definitions count first. */
static void a_change_of_the_same_batch_makes_a_claim_outdated(void **state)
{
    struct fixture *f = *state;
    struct granted g[2];
    int64_t number = definitions(f);

    submit_one(f, "default");
    struct test_op *claim = op_claim_knowing(f, number);

    batch_add(f, claim);
    batch_add(f, op_queue_put(f, "fresh", "{}"));
    batch_run(f);
    assert_true(claim->answered);
    assert_int_equal(granted_of(claim, g, 2), 0);
    assert_true(definitions(f) > number);
    assert_int_equal(kept_count(f, "default", JOB_READY), 1);
}

static void who_waits_is_told_of_changed_definitions_and_of_nothing_else(void **state)
{
    struct fixture *f = *state;
    struct test_op *knows = op_claim_knowing(f, definitions(f));
    struct test_op *does_not = op_claim(f, "default", 10);

    knows->op.exchange.wait_us = does_not->op.exchange.wait_us = WAIT_US;
    run_op(f, knows);
    run_op(f, does_not);
    run_op(f, op_queue_state(f, "default", QUEUE_PAUSE));
    assert_false(knows->answered);
    define_queue(f, "fresh", "{}");
    assert_true(knows->answered);
    assert_false(does_not->answered);
}

static void the_number_survives_a_crash(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "fresh", "{}");
    int64_t number = definitions(f);

    fixture_crash(f);
    assert_int_equal(definitions(f), number);
    struct test_op *t = run_op(f, op_claim_knowing(f, number));

    assert_false(t->op.answer_now);
}

/* ---- listening ---- */

static void who_listens_is_not_disturbed_by_work(void **state)
{
    struct fixture *f = *state;
    struct test_op *listener = run_op(f, op_listen(f));
    uint64_t commits = atomic_load(&engine_get_stats(f->engine)->commits);

    submit_many(f, "default", 3);
    batch_run(f);
    assert_false(listener->answered);
    assert_int_equal(atomic_load(&engine_get_stats(f->engine)->commits), commits + 1);
    struct granted g = claim_one(f, "default"); /* by the same worker */

    run_op(f, op_act(f, ACTION_CANCEL, g.id));
    assert_true(listener->answered);
    assert_true(reply_has(listener, "\"cancel\":[{"));
}

static void wake_answers_earlier_claims_of_the_same_worker(void **state)
{
    struct fixture *f = *state;
    struct test_op *before = run_op(f, op_listen(f));
    struct test_op *other = op_listen(f);

    other->op.exchange.worker.name = SLICE("w2");
    run_op(f, other);
    struct test_op *same_time = op_listen(f);
    struct test_op *waker = op_listen(f);
    struct test_op *after = op_listen(f);

    waker->op.exchange.wake = true;
    batch_add(f, same_time);
    batch_add(f, waker);
    batch_add(f, after);
    batch_run(f);
    assert_true(before->answered && same_time->answered);
    assert_false(other->answered || waker->answered || after->answered);
    assert_int_equal(atomic_load(&engine_get_stats(f->engine)->waiting), 3);
    fixture_pass(f, WAIT_US);
    batch_run(f);
    assert_true(other->answered && waker->answered && after->answered);
    assert_int_equal(atomic_load(&engine_get_stats(f->engine)->waiting), 0);
}

/* ---- descriptions ---- */

static struct test_op *op_describe(struct fixture *f, const char *broken)
{
    struct test_op *t = op_claim(f, "default", 0);

    t->op.exchange.worker.pid = 7;
    t->op.exchange.worker.described = true;
    t->op.exchange.worker.queues = SLICE("{\"default\":4,\"fresh\":2}");
    t->op.exchange.worker.slots = 5;
    t->op.exchange.worker.broken = slice_of(broken);
    return t;
}

static void a_description_stays_until_another_process_claims(void **state)
{
    struct fixture *f = *state;
    struct test_op *t = op_claim(f, "default", 1);

    run_op(f, op_describe(f, NULL));
    t->op.exchange.worker.pid = 7;
    run_op(f, t);
    assert_true(shows(f, QUERY_WORKERS, "", "\"queues\":{\"default\":4,\"fresh\":2},\"slots\":5"));
    fixture_crash(f);
    run_op(f, op_claim(f, "default", 1)); /* who tells no pid may be the same */
    assert_true(shows(f, QUERY_WORKERS, "", "\"slots\":5"));
    t = op_claim(f, "default", 1);
    t->op.exchange.worker.pid = 8;
    run_op(f, t);
    assert_true(shows(f, QUERY_WORKERS, "", "\"queues\":{\"default\":1}"));
    assert_false(shows(f, QUERY_WORKERS, "", "slots"));
}

static void a_claim_that_listens_does_not_change_what_a_worker_serves(void **state)
{
    struct fixture *f = *state;

    run_op(f, op_claim(f, "default", 3));
    run_op(f, op_claim(f, "default", 0));
    assert_true(shows(f, QUERY_WORKERS, "", "\"queues\":{\"default\":3}"));
}

static void a_broken_queue_is_shown_and_noted_once(void **state)
{
    struct fixture *f = *state;
    const char *broken = "{\"default\":\"no such file\",\"nowhere\":\"x\"}";

    run_op(f, op_describe(f, broken));
    assert_true(shows(f, QUERY_QUEUE, "default", "\"text\":\"no such file\""));
    assert_true(shows(f, QUERY_QUEUE, "default", "\"served\":false"));
    assert_true(shows(f, QUERY_QUEUE_LOG, "default", "{\"log\":[{\"at\":\"2026-01-01"));
    assert_true(shows(f, QUERY_QUEUE_LOG, "default", "\"what\":\"broken\""));
    fixture_pass(f, US_PER_MIN);
    run_op(f, op_describe(f, broken));
    assert_false(shows(f, QUERY_QUEUE_LOG, "default", "T00:01:00Z"));
    run_op(f, op_describe(f, NULL));
    assert_true(shows(f, QUERY_QUEUE_LOG, "default", "\"what\":\"mended\""));
    assert_true(shows(f, QUERY_QUEUE, "default", "\"served\":true"));
    assert_sound(f);
}

/* ---- logs ---- */

static void a_log_of_a_finish_comes_before_it_also_among_plain_ones(void **state)
{
    struct fixture *f = *state;
    const struct log_append log = {.data = SLICE("printed\n")};
    const struct log_append gap = {.offset = 5, .data = SLICE("x")};

    submit_many(f, "default", 2);
    struct granted one = claim_one(f, "default");
    struct granted two = claim_one(f, "default");
    struct test_op *t = op_finish(f, one.id, one.token, JOB_OUT_DONE);
    struct finish_item *items = arena_array(&t->op.arena, 2, sizeof(*items));

    items[0] = (struct finish_item){.id = one.id,
                                    .token = one.token,
                                    .lease = SLICE("1"),
                                    .outcome = JOB_OUT_DONE,
                                    .log = &log};
    items[1] = (struct finish_item){.id = two.id,
                                    .token = two.token,
                                    .lease = SLICE("2"),
                                    .outcome = JOB_OUT_DONE,
                                    .log = &gap};
    t->op.exchange.finish = items;
    t->op.exchange.n_finish = 2;
    run_op(f, t);
    assert_int_equal(state_of(f, one.id), JOB_DONE);
    assert_int_equal(state_of(f, two.id), JOB_DONE);
    assert_true(reply_has(t, "\"size\":0}]"));
    struct query q;

    query_init(&q, QUERY_LOG);
    q.id = one.id;
    q.length = -1;
    run_query(f, &q);
    assert_string_equal(buf_text(&q.reply), "printed\n");
    query_deinit(&q);
    assert_sound(f);
}

/* ---- instances that come in one batch ---- */

static struct test_op *claim_as(struct fixture *f, const char *instance)
{
    struct test_op *t = op_claim(f, "default", 1);

    t->op.exchange.worker = (struct worker_info){
        .name = SLICE("w"), .host = SLICE("h"), .pid = 7, .instance = slice_of(instance)};
    batch_add(f, t);
    return t;
}

static void of_two_instances_in_one_batch_one_has_the_name(void **state)
{
    struct fixture *f = *state;

    submit_one(f, "default");
    submit_one(f, "default");
    struct test_op *one = claim_as(f, "one");
    struct test_op *two = claim_as(f, "two");
    struct test_op *none = claim_as(f, "");

    batch_run(f);
    assert_int_equal(one->op.err.code, E_OK);
    assert_int_equal(one->op.n_granted, 1);
    assert_int_equal(two->op.err.code, E_CONFLICT);
    assert_non_null(strstr(two->op.err.msg, "on host h, pid 7"));
    assert_int_equal(none->op.err.code, E_CONFLICT);
    assert_sound(f);
}

static void who_is_heard_of_again_in_the_batch_of_its_successor_keeps_the_name(void **state)
{
    struct fixture *f = *state;

    claim_as(f, "one");
    batch_run(f);
    fixture_pass(f, 10 * US_PER_MIN);
    struct test_op *two = claim_as(f, "two");
    struct test_op *one = claim_as(f, "one");

    batch_run(f);
    assert_int_equal(two->op.err.code, E_CONFLICT);
    assert_int_equal(one->op.err.code, E_OK);
    fixture_pass(f, 10 * US_PER_MIN);
    two = claim_as(f, "two");
    batch_run(f);
    assert_int_equal(two->op.err.code, E_OK);
    assert_sound(f);
}

static struct test_op *claim_after(struct fixture *f, const char *instance, const char *boot,
                                   const struct slice previous[static 3])
{
    struct test_op *t = claim_as(f, instance);

    t->op.exchange.worker.boot = slice_of(boot);
    t->op.exchange.worker.previous = previous;
    t->op.exchange.worker.n_previous = 3;
    batch_run(f);
    return t;
}

static void any_of_several_previous_instances_is_succeeded_on_its_own_boot_only(void **state)
{
    const struct slice unheard[] = {SLICE("x"), SLICE("y"), SLICE("z")};
    struct fixture *f = *state;

    assert_int_equal(claim_after(f, "one", "boot", unheard)->op.err.code, E_OK);
    for (size_t i = 0; i < ARRAY_LEN(unheard); i++) {
        struct slice previous[] = {unheard[0], unheard[1], unheard[2]};
        const char *next = (const char *[]){"two", "three", "four"}[i];

        previous[i] = slice_of((const char *[]){"one", "two", "three"}[i]);
        assert_int_equal(claim_after(f, next, "boot", unheard)->op.err.code, E_CONFLICT);
        assert_int_equal(claim_after(f, next, "other", previous)->op.err.code, E_CONFLICT);
        assert_int_equal(claim_after(f, next, "", previous)->op.err.code, E_CONFLICT);
        assert_int_equal(claim_after(f, next, "boot", previous)->op.err.code, E_OK);
    }
    assert_sound(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(nothing_is_granted_to_who_knows_other_definitions),
        ENGINE_TEST(a_change_of_the_same_batch_makes_a_claim_outdated),
        ENGINE_TEST(who_waits_is_told_of_changed_definitions_and_of_nothing_else),
        ENGINE_TEST(the_number_survives_a_crash),
        ENGINE_TEST(who_listens_is_not_disturbed_by_work),
        ENGINE_TEST(wake_answers_earlier_claims_of_the_same_worker),
        ENGINE_TEST(a_description_stays_until_another_process_claims),
        ENGINE_TEST(a_claim_that_listens_does_not_change_what_a_worker_serves),
        ENGINE_TEST(a_broken_queue_is_shown_and_noted_once),
        ENGINE_TEST(a_log_of_a_finish_comes_before_it_also_among_plain_ones),
        ENGINE_TEST(of_two_instances_in_one_batch_one_has_the_name),
        ENGINE_TEST(who_is_heard_of_again_in_the_batch_of_its_successor_keeps_the_name),
        ENGINE_TEST(any_of_several_previous_instances_is_succeeded_on_its_own_boot_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
