/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "base/rng.h"
#include "engine/batch/counts.h"
#include "engine_fixture.h"
#include "testing.h"

enum { QUEUES = 12 };

struct kept {
    int64_t n[QUEUES + 1][JOB_STATE_COUNT];
    int64_t last_queue;
    enum job_state last_state;
};

/* Rows come in key order. */
static void take(void *ctx, const struct store_count *c)
{
    struct kept *k = ctx;

    assert_true(c->queue > k->last_queue ||
                (c->queue == k->last_queue && c->state > k->last_state));
    k->last_queue = c->queue;
    k->last_state = c->state;
    k->n[c->queue][c->state] = c->n;
}

static struct kept kept_now(struct fixture *f)
{
    struct kept k = {0};
    struct err err = ERR_INIT;

    assert_int_equal(store_counts_load(f->store, take, &k, &err), E_OK);
    return k;
}

static void write_all(struct fixture *f, struct counts *c, uint32_t node)
{
    struct err err = ERR_INIT;

    assert_int_equal(store_begin(f->store, &err), E_OK);
    assert_int_equal(counts_write(c, f->store, node, &err), E_OK);
    assert_int_equal(store_commit(f->store, &err), E_OK);
    for (size_t i = 1; i < c->changes.count; i++) { /* in key order: batches cannot deadlock */
        const struct store_count *a = &c->changes.items[i - 1];
        const struct store_count *b = &c->changes.items[i];

        assert_true(a->queue < b->queue || (a->queue == b->queue && a->state < b->state));
    }
    counts_clear(c);
}

static void changes_are_summed_before_they_are_written(void **state)
{
    struct fixture *f = *state;
    struct counts c = {.changes = VEC_INIT};

    counts_add(&c, 2, JOB_READY, 5);
    counts_add(&c, 1, JOB_READY, 1);
    counts_add(&c, 2, JOB_READY, -2);
    counts_add(&c, 2, JOB_RUNNING, 2);
    counts_add(&c, 3, JOB_DONE, 1);
    counts_add(&c, 3, JOB_DONE, -1);
    assert_int_equal(c.changes.count, 4);
    assert_int_equal(counts_of(&c, 2), 5);
    assert_int_equal(counts_of(&c, 4), 0);
    write_all(f, &c, 1);
    assert_int_equal(c.changes.count, 0);
    struct kept k = kept_now(f);

    assert_int_equal(k.n[2][JOB_READY], 3);
    assert_int_equal(k.n[2][JOB_RUNNING], 2);
    assert_int_equal(k.n[1][JOB_READY], 1);
    assert_int_equal(k.n[3][JOB_DONE], 0);
    counts_deinit(&c);
}

static void a_forgotten_queue_is_not_written(void **state)
{
    struct fixture *f = *state;
    struct counts c = {.changes = VEC_INIT};

    counts_add(&c, 1, JOB_READY, 1);
    counts_add(&c, 2, JOB_READY, 2);
    counts_add(&c, 3, JOB_READY, 3);
    counts_forget(&c, 2);
    assert_int_equal(counts_of(&c, 2), 0);
    write_all(f, &c, 1);
    struct kept k = kept_now(f);

    assert_int_equal(k.n[1][JOB_READY], 1);
    assert_int_equal(k.n[2][JOB_READY], 0);
    assert_int_equal(k.n[3][JOB_READY], 3);
    counts_deinit(&c);
}

static void nodes_count_apart_and_are_shown_together(void **state)
{
    struct fixture *f = *state;
    struct counts c = {.changes = VEC_INIT};
    struct err err = ERR_INIT;
    int64_t n = 0;

    counts_add(&c, 4, JOB_READY, 10);
    write_all(f, &c, 1);
    counts_add(&c, 4, JOB_READY, -3);
    counts_add(&c, 4, JOB_RUNNING, 3);
    write_all(f, &c, 2);
    struct kept k = kept_now(f);

    assert_int_equal(k.n[4][JOB_READY], 7);
    assert_int_equal(k.n[4][JOB_RUNNING], 3);
    assert_int_equal(store_counts_queue(f->store, 4, &n, &err), E_OK);
    assert_int_equal(n, 10);
    assert_int_equal(store_counts_queue(f->store, 5, &n, &err), E_OK);
    assert_int_equal(n, 0);
    counts_deinit(&c);
}

static void kept_counts_equal_the_sum_of_all_changes(void **state)
{
    struct fixture *f = *state;
    struct counts c = {.changes = VEC_INIT};
    struct kept want = {0};
    struct rng rng;

    rng_init(&rng, 5);
    for (int batch = 0; batch < 40; batch++) {
        for (int i = 0; i < 200; i++) {
            int64_t queue = 1 + (int64_t)rng_below(&rng, QUEUES);
            enum job_state s = (enum job_state)(1 + rng_below(&rng, JOB_STATE_COUNT - 1));
            int64_t n = (int64_t)rng_below(&rng, 9) - 3;

            counts_add(&c, queue, s, n);
            want.n[queue][s] += n;
        }
        write_all(f, &c, 1 + (uint32_t)rng_below(&rng, 2));
    }
    struct kept k = kept_now(f);

    for (int64_t q = 1; q <= QUEUES; q++)
        for (unsigned s = 1; s < JOB_STATE_COUNT; s++)
            assert_int_equal(k.n[q][s], want.n[q][s]);
    counts_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(changes_are_summed_before_they_are_written),
        ENGINE_TEST(a_forgotten_queue_is_not_written),
        ENGINE_TEST(nodes_count_apart_and_are_shown_together),
        ENGINE_TEST(kept_counts_equal_the_sum_of_all_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
