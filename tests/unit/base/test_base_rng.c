/* SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "testing.h"

/* Written down once: a seed in an old bug report must replay for ever. */
static void a_seed_gives_the_same_run_for_ever(void **state)
{
    (void)state;
    struct rng r;

    rng_init(&r, 0);
    assert_true(rng_next(&r) == UINT64_C(0xE220A8397B1DCDAF));
    assert_true(rng_next(&r) == UINT64_C(0x6E789E6AA1B965F4));
    rng_init(&r, 42);
    assert_true(rng_next(&r) == UINT64_C(0xBDD732262FEB6E95));
}

static void numbers_stay_below_their_bound_and_reach_all_of_it(void **state)
{
    (void)state;
    struct rng r;
    unsigned hits[7] = {0};

    rng_init(&r, 1);
    for (int i = 0; i < 70000; i++)
        hits[rng_below(&r, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(hits[i], 9500, 10500);
    assert_true(rng_below(&r, 1) == 0);
}

static void units_lie_between_zero_and_one(void **state)
{
    (void)state;
    struct rng r;
    double sum = 0;

    rng_init(&r, 2);
    for (int i = 0; i < 100000; i++) {
        double x = rng_unit(&r);

        assert_true(x >= 0 && x < 1);
        sum += x;
    }
    assert_true(sum > 49000 && sum < 51000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_gives_the_same_run_for_ever),
        cmocka_unit_test(numbers_stay_below_their_bound_and_reach_all_of_it),
        cmocka_unit_test(units_lie_between_zero_and_one),
    };

    return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
