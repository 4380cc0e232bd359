/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "engine/claims/ready.h"
#include "engine_fixture.h"
#include "store/jobs/jobs.h"
#include "testing.h"

enum { QUEUE = 77, ALL_MAX = 3 * READY_MAX };

/* What is ready in the store, in claiming order: the list must be a prefix of it. */
struct world {
    struct fixture *f;
    struct ready ready;
    struct ready_ref *all;
    size_t n;
    int64_t next_id;
};

static struct world world_open(struct fixture *f)
{
    struct world w = {.f = f, .all = mem_alloc(ALL_MAX * sizeof(*w.all)), .next_id = 1};
    struct err err = ERR_INIT;

    ready_init(&w.ready);
    assert_int_equal(store_begin(f->store, &err), E_OK);
    return w;
}

static void world_close(struct world *w)
{
    store_rollback(w->f->store);
    ready_deinit(&w->ready);
    free(w->all);
}

static size_t place_in_all(const struct world *w, struct ready_ref ref)
{
    size_t low = 0;
    size_t high = w->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (ready_comes_before(w->all[middle], ref))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct world *w, struct ready_ref ref)
{
    struct job j = {.id = {ref.id}, .queue = QUEUE, .state = JOB_READY, .priority = ref.priority};
    struct err err = ERR_INIT;
    size_t place = place_in_all(w, ref);

    assert_true(w->n < ALL_MAX);
    assert_int_equal(store_jobs_insert(w->f->store, &j, 1, &err), E_OK);
    memmove(&w->all[place + 1], &w->all[place], (w->n - place) * sizeof(*w->all));
    w->all[place] = ref;
    w->n++;
}

static void drop(struct world *w, size_t place)
{
    struct job j = {.id = {w->all[place].id}, .state = JOB_READY};
    struct err err = ERR_INIT;

    assert_int_equal(store_job_remove(w->f->store, &j, &err), E_OK);
    memmove(&w->all[place], &w->all[place + 1], (w->n - place - 1) * sizeof(*w->all));
    w->n--;
}

static struct ready_ref new_ref(struct world *w, int priority)
{
    return (struct ready_ref){priority, w->next_id++};
}

static void add(struct world *w, int priority)
{
    struct ready_ref ref = new_ref(w, priority);

    insert(w, ref);
    ready_add(&w->ready, ref);
}

static void assert_prefix(const struct world *w)
{
    assert_true(w->ready.count <= READY_MAX);
    assert_true(w->ready.count <= w->n);
    if (w->ready.complete)
        assert_int_equal(w->ready.count, w->n);
    for (size_t i = 0; i < w->ready.count; i++)
        if (w->ready.refs[w->ready.head + i].id != w->all[i].id)
            fail_msg("place %zu: %lld is there, %lld should be", i,
                     (long long)w->ready.refs[w->ready.head + i].id, (long long)w->all[i].id);
}

/* Takes the next one as a claim does: it must be the first of all. */
static void take(struct world *w)
{
    struct err err = ERR_INIT;

    assert_int_equal(ready_fill(&w->ready, w->f->store, QUEUE, &err), E_OK);
    const struct ready_ref *first = ready_first(&w->ready);

    if (w->n == 0) {
        assert_null(first);
        assert_true(w->ready.complete);
        return;
    }
    assert_non_null(first);
    assert_int_equal(first->id, w->all[0].id);
    ready_take(&w->ready);
    drop(w, 0);
}

static void an_empty_list_asks_the_store_once(void **state)
{
    struct world w = world_open(*state);

    assert_null(ready_first(&w.ready));
    assert_false(w.ready.complete);
    take(&w);
    add(&w, 0);
    assert_prefix(&w);
    assert_int_equal(w.ready.count, 1);
    take(&w);
    take(&w);
    world_close(&w);
}

static void higher_priorities_go_first_then_older_ids(void **state)
{
    struct world w = world_open(*state);
    static const int priorities[] = {0, 5, -1000, 5, 1000, 0, -1000, 1000};

    take(&w);
    for (size_t i = 0; i < ARRAY_LEN(priorities); i++)
        add(&w, priorities[i]);
    assert_prefix(&w);
    static const int64_t order[] = {5, 8, 2, 4, 1, 6, 3, 7};

    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        assert_int_equal(ready_first(&w.ready)->id, order[i]);
        take(&w);
    }
    world_close(&w);
}

static void the_same_job_is_kept_once(void **state)
{
    struct world w = world_open(*state);

    take(&w);
    add(&w, 3);
    ready_add(&w.ready, w.all[0]);
    assert_int_equal(w.ready.count, 1);
    ready_remove(&w.ready, (struct ready_ref){3, 4711});
    ready_remove(&w.ready, (struct ready_ref){5, 4711});
    ready_remove(&w.ready, (struct ready_ref){-3, w.all[0].id});
    assert_int_equal(w.ready.count, 1);
    world_close(&w);
}

static void the_list_does_not_grow_with_the_backlog(void **state)
{
    struct world w = world_open(*state);

    take(&w);
    for (int i = 0; i < READY_MAX + 300; i++)
        add(&w, 0);
    assert_int_equal(w.ready.count, READY_MAX);
    assert_false(w.ready.complete);
    assert_prefix(&w);
    for (int i = 0; i < 200; i++)
        add(&w, 1 + i % 3); /* pushes others out */
    assert_int_equal(w.ready.count, READY_MAX);
    assert_prefix(&w);
    assert_true(w.ready.capacity <= 4 * READY_MAX);
    while (w.n > 0)
        take(&w);
    take(&w);
    world_close(&w);
}

/* A list that lost its end does not know what comes behind it. */
static void what_comes_behind_an_incomplete_list_is_left_to_the_store(void **state)
{
    struct world w = world_open(*state);

    for (int i = 0; i < READY_FILL + 10; i++)
        insert(&w, new_ref(&w, 0));
    take(&w);
    assert_false(w.ready.complete);
    assert_int_equal(w.ready.count, READY_FILL - 1);
    add(&w, 0);
    add(&w, -1);
    assert_int_equal(w.ready.count, READY_FILL - 1);
    add(&w, 1);
    assert_int_equal(w.ready.count, READY_FILL);
    assert_prefix(&w);
    while (w.n > 0)
        take(&w);
    world_close(&w);
}

/* The store is not asked again before the claim is written: it would name what was taken. */
static void what_was_taken_and_is_not_granted_comes_back(void **state)
{
    struct world w = world_open(*state);
    struct ready_ref taken[READY_FILL];
    struct err err = ERR_INIT;

    for (int i = 0; i < READY_FILL + 10; i++)
        insert(&w, new_ref(&w, 0));
    assert_int_equal(ready_fill(&w.ready, w.f->store, QUEUE, &err), E_OK);
    for (int i = 0; i < READY_FILL; i++) {
        taken[i] = *ready_first(&w.ready);
        ready_take(&w.ready);
    }
    for (int i = 0; i < 3; i++)
        ready_put_back(&w.ready, taken[i]);
    assert_int_equal(w.ready.count, 3);
    assert_false(w.ready.complete);
    assert_prefix(&w);
    world_close(&w);
}

static void step(struct world *w, struct rng *rng)
{
    unsigned dice = (unsigned)rng_below(rng, 100);

    if (dice < 35) {
        add(w, (int)rng_below(rng, 7) - 3);
    } else if (dice < 75) {
        take(w);
    } else if (dice < 90 && w->n > 0) {
        size_t place = rng_below(rng, w->n);

        ready_remove(&w->ready, w->all[place]);
        drop(w, place);
    } else if (dice < 95 && w->n > 0) { /* a changed priority */
        struct ready_ref ref = w->all[rng_below(rng, w->n)];

        ready_remove(&w->ready, ref);
        drop(w, place_in_all(w, ref));
        ref.priority = (int)rng_below(rng, 7) - 3;
        insert(w, ref);
        ready_add(&w->ready, ref);
    } else if (dice == 95) {
        ready_reset(&w->ready);
    }
}

static void the_list_is_a_prefix_whatever_happens(void **state)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct world w = world_open(*state);
        struct rng rng;

        rng_init(&rng, seed);
        for (uint64_t i = 0; i < seed * READY_FILL * 2 / 3; i++)
            insert(&w, new_ref(&w, (int)rng_below(&rng, 5) - 2));
        for (int i = 0; i < 6000; i++) {
            step(&w, &rng);
            assert_prefix(&w);
        }
        while (w.n > 0)
            take(&w);
        take(&w);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(an_empty_list_asks_the_store_once),
        ENGINE_TEST(higher_priorities_go_first_then_older_ids),
        ENGINE_TEST(the_same_job_is_kept_once),
        ENGINE_TEST(the_list_does_not_grow_with_the_backlog),
        ENGINE_TEST(what_comes_behind_an_incomplete_list_is_left_to_the_store),
        ENGINE_TEST(what_was_taken_and_is_not_granted_comes_back),
        ENGINE_TEST(the_list_is_a_prefix_whatever_happens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
