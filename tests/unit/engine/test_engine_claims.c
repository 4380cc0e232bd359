/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "engine/claims/claims.h"
#include "testing.h"

static struct live_claim *add(struct claims *c, int64_t token, int64_t check_at)
{
    const int64_t jobs[] = {token * 10, token * 10 + 1};
    struct live_claim *claim = claim_new(token, jobs, 2);

    claim->check_at = check_at;
    claims_add(c, claim);
    return claim;
}

/* Each comes no earlier than its parent, and knows its place. */
static void assert_heap(const struct claims *c)
{
    assert_int_equal(c->by_token.count, c->heap.count);
    for (size_t i = 0; i < c->heap.count; i++) {
        assert_int_equal(c->heap.items[i]->heap_at, i);
        assert_ptr_equal(claims_find(c, c->heap.items[i]->token), c->heap.items[i]);
        if (i > 0)
            assert_true(c->heap.items[(i - 1) / 2]->check_at <= c->heap.items[i]->check_at);
    }
}

static void a_new_claim_has_all_its_jobs_open(void **state)
{
    (void)state;
    struct claims c;

    claims_init(&c);
    assert_null(claims_first(&c));
    struct live_claim *claim = add(&c, 7, 100);

    assert_int_equal(claim->open, 2);
    assert_int_equal(claim->n_jobs, 2);
    assert_int_equal(claim->jobs[0], 70);
    assert_int_equal(claim->jobs[1], 71);
    assert_ptr_equal(claims_first(&c), claim);
    assert_ptr_equal(claims_find(&c, 7), claim);
    assert_null(claims_find(&c, 8));
    claims_deinit(&c);
}

static void the_earliest_is_looked_at_first(void **state)
{
    (void)state;
    static const int64_t checks[] = {50, 20, 70, 20, 10, 90, 60};
    struct claims c;
    int64_t last = 0;

    claims_init(&c);
    for (size_t i = 0; i < ARRAY_LEN(checks); i++)
        add(&c, (int64_t)i + 1, checks[i]);
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        struct live_claim *first = claims_first(&c);

        assert_true(first->check_at >= last);
        last = first->check_at;
        claims_remove(&c, first);
        assert_heap(&c);
    }
    assert_null(claims_first(&c));
    claims_deinit(&c);
}

static void a_claim_that_is_looked_at_later_moves_back(void **state)
{
    (void)state;
    struct claims c;

    claims_init(&c);
    struct live_claim *a = add(&c, 1, 10);
    struct live_claim *b = add(&c, 2, 20);
    struct live_claim *d = add(&c, 3, 30);

    claims_set_check(&c, a, INT64_MAX);
    assert_ptr_equal(claims_first(&c), b);
    claims_set_check(&c, d, 0);
    assert_ptr_equal(claims_first(&c), d);
    claims_set_check(&c, d, 0);
    assert_ptr_equal(claims_first(&c), d);
    assert_heap(&c);
    claims_deinit(&c);
}

enum { TOKENS = 500 };

static int64_t earliest(struct live_claim *const there[TOKENS])
{
    int64_t at = INT64_MAX;

    for (size_t i = 0; i < TOKENS; i++)
        if (there[i] != NULL && there[i]->check_at < at)
            at = there[i]->check_at;
    return at;
}

static void claims_come_move_and_go(void **state)
{
    (void)state;
    struct live_claim *there[TOKENS] = {NULL};
    struct claims c;
    struct rng rng;

    rng_init(&rng, 11);
    claims_init(&c);
    for (int step = 0; step < 20000; step++) {
        size_t i = rng_below(&rng, TOKENS);
        int64_t at = (int64_t)rng_below(&rng, 100);

        if (there[i] == NULL) {
            there[i] = add(&c, (int64_t)i + 1, at);
        } else if (rng_below(&rng, 3) == 0) {
            claims_remove(&c, there[i]);
            there[i] = NULL;
        } else {
            claims_set_check(&c, there[i], at);
        }
        if (step % 50 == 0)
            assert_heap(&c);
        if (claims_first(&c) != NULL)
            assert_int_equal(claims_first(&c)->check_at, earliest(there));
    }
    claims_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_claim_has_all_its_jobs_open),
        cmocka_unit_test(the_earliest_is_looked_at_first),
        cmocka_unit_test(a_claim_that_is_looked_at_later_moves_back),
        cmocka_unit_test(claims_come_move_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
