/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "engine/claims/ready.h"
#include "engine_fixture.h"
#include "testing.h"

static int by_id(const void *a, const void *b)
{
    const struct granted *x = a;
    const struct granted *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* A claim larger than what is left of the list in memory: the list is filled again in its
 * middle. */
static void no_job_is_granted_twice_when_the_ready_list_is_filled_again(void **state)
{
    struct fixture *f = *state;
    enum { JOBS = READY_FILL + 500, MAX = 130 };
    struct granted *all = mem_zalloc(sizeof(*all) * 2 * JOBS);
    size_t n = 0;

    submit_many(f, "default", JOBS);
    fixture_crash(f);
    for (;;) {
        size_t got = granted_of(run_op(f, op_claim(f, "default", MAX)), all + n, MAX);

        if (got == 0)
            break;
        n += got;
        assert_true(n <= JOBS);
    }
    assert_int_equal(n, JOBS);
    qsort(all, n, sizeof(*all), by_id);
    for (size_t i = 1; i < n; i++)
        assert_true(all[i - 1].id < all[i].id);
    assert_int_equal(kept_count(f, "default", JOB_RUNNING), JOBS);
    assert_int_equal(kept_count(f, "default", JOB_READY), 0);
    assert_sound(f);
    free(all);
}

static struct granted claim_to_run(struct fixture *f, size_t *ret_n)
{
    struct granted got[4] = {{0}};
    struct test_op *a = op_claim(f, "default", 4);

    a->op.exchange.commands = true;
    *ret_n = granted_of(run_op(f, a), got, 4);
    return got[0];
}

/* Also when they are many, and come first. */
static void a_claimer_that_runs_programs_gets_only_jobs_with_a_command(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("default");
    enum { OTHERS = 700 };
    struct granted got[OTHERS];
    size_t n = 0;

    submit_many(f, "default", OTHERS);
    claim_to_run(f, &n);
    assert_int_equal(n, 0);
    item.options = SLICE("{\"command\":[\"true\"]}");
    assert_int_equal(run_op(f, op_submit(f, &item, 1))->op.err.code, E_OK);
    claim_to_run(f, &n);
    assert_int_equal(n, 1);
    assert_int_equal(kept_count(f, "default", JOB_READY), OTHERS);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "default", OTHERS)), got, OTHERS), OTHERS);
    assert_sound(f);
}

/* One job has body bytes that triple, and more, as a JSON string. */
static void a_claim_of_large_jobs_gets_as_many_as_fit_a_reply(void **state)
{
    struct fixture *f = *state;
    enum { JOBS = 12, BYTES = 7 << 20 };
    char *body = mem_alloc(BYTES);
    size_t granted = 0;
    size_t claims = 0;

    for (int i = 0; i < JOBS; i++) {
        struct submit_item item = item_of("default");

        memset(body, i % 3 == 0 ? 1 : i % 3 == 1 ? '"' : 'x', BYTES);
        item.body = slice_make(body, BYTES);
        assert_int_equal(run_op(f, op_submit(f, &item, 1))->op.err.code, E_OK);
    }
    while (granted < JOBS && claims++ < JOBS) {
        struct granted g[JOBS];
        struct test_op *t = run_op(f, op_claim(f, "default", JOBS));

        assert_false(t->op.reply.overflowed);
        size_t n = granted_of(t, g, JOBS);

        assert_true(n >= 1);
        granted += n;
        buf_deinit(&t->op.reply);
    }
    assert_int_equal(granted, JOBS);
    assert_int_equal(kept_count(f, "default", JOB_RUNNING), JOBS);
    assert_sound(f);
    free(body);
}

/* Much and little, a body, a past, nothing at all. */
static void submit_kinds(struct fixture *f, char much[static 3000])
{
    struct submit_item items[4] = {item_of("default"), item_of("default"), item_of("default"),
                                   item_of("default")};

    items[0].params = SLICE("{\"n\":1}");
    items[0].labels = SLICE("{\"who\":\"me\"}");
    items[0].options = SLICE("{\"command\":[\"true\"]}");
    items[0].priority = 3;
    snprintf(much, 3000, "{\"long\":\"%0*d\"}", 2900, 7);
    items[1].params = slice_of(much);
    items[2].params = SLICE("{\"n\":3}");
    items[2].body = SLICE("words");
    assert_int_equal(run_op(f, op_submit(f, items, 4))->op.err.code, E_OK);
}

static void a_claim_tells_what_its_jobs_carry(void **state)
{
    struct fixture *f = *state;
    char much[3000];
    struct granted g;

    submit_kinds(f, much);
    struct test_op *t = run_op(f, op_claim(f, "default", 1));

    assert_true(reply_has(t, "\"params\":{\"n\":1}") && reply_has(t, "{\"who\":\"me\"}") &&
                reply_has(t, "[\"true\"]") && reply_has(t, "\"attempt\":1") &&
                reply_has(t, "\"priority\":3"));
    assert_int_equal(granted_of(t, &g, 1), 1);
    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_RETURNED));
    assert_true(reply_has(run_op(f, op_claim(f, "default", 1)), "{\"who\":\"me\"}"));
    assert_true(reply_has(run_op(f, op_claim(f, "default", 1)), much));
    assert_true(reply_has(run_op(f, op_claim(f, "default", 1)), "\"body\":\"words\""));
    assert_int_equal(granted_of(run_op(f, op_claim(f, "default", 1)), &g, 1), 1);
    submit_kinds(f, much);
    t = run_op(f, op_claim(f, "default", 4));
    assert_true(reply_has(t, "\"params\":{\"n\":1}") && reply_has(t, much) &&
                reply_has(t, "\"body\":\"words\""));
    assert_sound(f);
}

/* ---- who gets what ---- */

static struct test_op *op_claim_two(struct fixture *f, int max_a, int max_b, int max)
{
    struct test_op *t = op_claim(f, "default", max);
    struct claim_queue *queues = arena_array(&t->op.arena, 2, sizeof(*queues));

    queues[0] = (struct claim_queue){SLICE("default"), max_a};
    queues[1] = (struct claim_queue){SLICE("other"), max_b};
    t->op.exchange.queues = queues;
    t->op.exchange.n_queues = 2;
    return t;
}

static int64_t submit_prior(struct fixture *f, const char *queue, int priority)
{
    struct submit_item item = item_of(queue);

    item.priority = priority;
    return run_op(f, op_submit(f, &item, 1))->op.submit.first_id;
}

static void across_queues_the_highest_priority_goes_first_then_the_oldest(void **state)
{
    struct fixture *f = *state;
    struct granted g[10];
    int64_t want[5];

    define_queue(f, "other", "{}");
    want[2] = submit_prior(f, "other", 0);
    want[3] = submit_prior(f, "default", 0);
    want[0] = submit_prior(f, "default", 9);
    want[1] = submit_prior(f, "other", 5);
    want[4] = submit_prior(f, "other", -1);
    assert_int_equal(granted_of(run_op(f, op_claim_two(f, 10, 10, 10)), g, 10), 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(g[i].id, want[i]);
}

static void a_claim_gets_no_more_than_it_asked_for_of_each_queue(void **state)
{
    struct fixture *f = *state;
    struct granted g[10];

    define_queue(f, "other", "{}");
    submit_many(f, "default", 5);
    submit_many(f, "other", 5);
    assert_int_equal(granted_of(run_op(f, op_claim_two(f, 2, 0, 10)), g, 10), 2);
    assert_int_equal(granted_of(run_op(f, op_claim_two(f, 10, 10, 4)), g, 10), 4);
    assert_int_equal(granted_of(run_op(f, op_claim_two(f, 10, 1, 10)), g, 10), 1);
    assert_int_equal(granted_of(run_op(f, op_claim_two(f, 10, 10, 0)), g, 10), 0);
    assert_sound(f);
}

static struct test_op *wait_for(struct fixture *f, const char *queue, int max)
{
    struct test_op *t = op_claim(f, queue, max);

    t->op.exchange.wait_us = 30 * US_PER_S;
    return run_op(f, t);
}

static void who_waits_longest_is_served_first(void **state)
{
    struct fixture *f = *state;
    struct granted g[10];
    struct test_op *first = wait_for(f, "default", 2);
    struct test_op *second = wait_for(f, "default", 2);
    struct test_op *gone = wait_for(f, "default", 2);
    struct test_op *fourth = wait_for(f, "default", 2);

    gone->client_left = true;
    submit_many(f, "default", 3);
    assert_int_equal(granted_of(first, g, 10), 2);
    assert_int_equal(granted_of(second, g, 10), 1);
    assert_false(fourth->answered);
    submit_many(f, "default", 1);
    assert_int_equal(granted_of(gone, g, 10), 0); /* its client has left: nothing is lost with it */
    assert_int_equal(granted_of(fourth, g, 10), 1);
    assert_int_equal(kept_count(f, "default", JOB_RUNNING), 4);
}

static void a_waiting_claim_wakes_when_its_queue_starts_again(void **state)
{
    struct fixture *f = *state;
    struct granted g[10];

    run_op(f, op_queue_state(f, "default", QUEUE_PAUSE));
    submit_many(f, "default", 2);
    struct test_op *t = wait_for(f, "default", 10);

    assert_false(t->answered);
    run_op(f, op_queue_state(f, "default", QUEUE_UP));
    assert_int_equal(granted_of(t, g, 10), 2);
}

static void a_waiting_claim_ends_when_its_queue_goes_and_at_its_time(void **state)
{
    struct fixture *f = *state;
    struct granted g[1];
    struct test_op *del = op_make(f, OP_DEFINE);

    define_queue(f, "other", "{}");
    struct test_op *t = wait_for(f, "other", 1);
    struct test_op *late = wait_for(f, "default", 1);

    del->op.define = (struct define){.removes = true,
                                     .kind = DEFINITION_QUEUE,
                                     .name = SLICE("other")};
    run_op(f, del);
    assert_int_equal(granted_of(t, g, 1), 0);
    assert_false(late->answered);
    assert_true(engine_next_us(f->engine, f->now) <= 30 * US_PER_S);
    fixture_pass(f, 30 * US_PER_S);
    batch_run(f);
    assert_int_equal(granted_of(late, g, 1), 0);
}

/* ---- what a worker holds, and what it is told ---- */

static void what_a_worker_does_not_know_of_comes_back_uncounted(void **state)
{
    struct fixture *f = *state;
    struct granted g[4];
    struct test_op *t = op_claim(f, "default", 0);
    struct touch_item touch[2];

    submit_many(f, "default", 4);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "default", 4)), g, 4), 4);
    touch[0] = (struct touch_item){.id = g[3].id, .token = g[3].token};
    touch[1] = (struct touch_item){.id = g[1].id, .token = g[1].token};
    t->op.exchange.touch = touch;
    t->op.exchange.n_touch = 2;
    t->op.exchange.all = true;
    run_op(f, t);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(state_of(f, g[i].id), i % 2 == 1 ? JOB_RUNNING : JOB_READY);
    assert_int_equal(claim_one(f, "default").id, g[0].id);
    assert_sound(f);
}

static void a_worker_is_told_of_a_cancel_once_when_it_asks(void **state)
{
    struct fixture *f = *state;

    submit_many(f, "default", 2);
    struct granted g = claim_one(f, "default");
    struct granted other = claim_one(f, "default");
    struct test_op *waiting = wait_for(f, "default", 1);

    run_op(f, op_act(f, ACTION_CANCEL, g.id));
    assert_true(waiting->answered);
    assert_true(reply_has(waiting, "\"cancel\":[{"));
    assert_true(reply_has(run_op(f, op_claim(f, "default", 1)), "\"cancel\":[]"));
    run_op(f, op_act(f, ACTION_CANCEL, other.id));
    assert_true(reply_has(run_op(f, op_touch(f, other.id, other.token)), "\"cancel\":[{"));
    assert_true(reply_has(run_op(f, op_claim(f, "default", 1)), "\"cancel\":[]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_claimer_that_runs_programs_gets_only_jobs_with_a_command),
        ENGINE_TEST(no_job_is_granted_twice_when_the_ready_list_is_filled_again),
        ENGINE_TEST(a_claim_of_large_jobs_gets_as_many_as_fit_a_reply),
        ENGINE_TEST(a_claim_tells_what_its_jobs_carry),
        ENGINE_TEST(across_queues_the_highest_priority_goes_first_then_the_oldest),
        ENGINE_TEST(a_claim_gets_no_more_than_it_asked_for_of_each_queue),
        ENGINE_TEST(who_waits_longest_is_served_first),
        ENGINE_TEST(a_waiting_claim_wakes_when_its_queue_starts_again),
        ENGINE_TEST(a_waiting_claim_ends_when_its_queue_goes_and_at_its_time),
        ENGINE_TEST(what_a_worker_does_not_know_of_comes_back_uncounted),
        ENGINE_TEST(a_worker_is_told_of_a_cancel_once_when_it_asks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
