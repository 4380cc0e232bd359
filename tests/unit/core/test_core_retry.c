/* SPDX-License-Identifier: MIT */
#include <limits.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/rng.h"
#include "core/job/retry.h"
#include "testing.h"

static struct retry_policy steady(void)
{
    struct retry_policy p = RETRY_POLICY_DEFAULT;

    p.jitter = 0;
    return p;
}

static int64_t delay(const struct retry_policy *p, int n)
{
    struct rng rng;

    rng_init(&rng, 1);
    return retry_delay_us(p, n, &rng);
}

static void pauses_grow_by_the_factor_up_to_the_cap(void **state)
{
    (void)state;
    struct retry_policy p = steady();
    static const int64_t seconds[] = {10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600};

    for (int n = 1; n <= (int)ARRAY_LEN(seconds); n++)
        assert_int_equal(delay(&p, n), seconds[n - 1] * US_PER_S);
}

static void a_factor_of_one_keeps_the_pause(void **state)
{
    (void)state;
    struct retry_policy p = steady();

    p.factor = 1;
    assert_int_equal(delay(&p, 1), 10 * US_PER_S);
    assert_int_equal(delay(&p, 1000), 10 * US_PER_S);
}

static void a_broken_factor_is_exact_to_the_microsecond(void **state)
{
    (void)state;
    struct retry_policy p = steady();

    p.factor = 1.5;
    assert_int_equal(delay(&p, 3), 22500000);
}

static void a_cap_below_the_first_pause_holds_from_the_start(void **state)
{
    (void)state;
    struct retry_policy p = steady();

    p.cap_us = US_PER_S;
    assert_int_equal(delay(&p, 1), US_PER_S);
}

static void the_millionth_pause_is_the_cap(void **state)
{
    (void)state;
    struct retry_policy p = steady();

    assert_int_equal(delay(&p, RETRY_MAX_LIMIT), US_PER_HOUR);
    assert_int_equal(delay(&p, INT_MAX), US_PER_HOUR);
}

static void no_pause_stays_no_pause(void **state)
{
    (void)state;
    struct retry_policy p = steady();

    p.first_us = 0;
    p.factor = 1000;
    assert_int_equal(delay(&p, 1), 0);
    assert_int_equal(delay(&p, RETRY_MAX_LIMIT), 0);
}

static void jitter_varies_within_its_share_on_both_sides(void **state)
{
    (void)state;
    struct retry_policy p = RETRY_POLICY_DEFAULT;
    int64_t least = INT64_MAX;
    int64_t most = 0;
    struct rng rng;

    rng_init(&rng, 42);
    for (int i = 0; i < 10000; i++) {
        int64_t us = retry_delay_us(&p, 1, &rng);

        least = us < least ? us : least;
        most = us > most ? us : most;
    }
    assert_in_range(least, 9000000, 9100000);
    assert_in_range(most, 10900000, 11000000);
}

static void full_jitter_is_never_below_zero(void **state)
{
    (void)state;
    struct retry_policy p = RETRY_POLICY_DEFAULT;
    struct rng rng;

    rng_init(&rng, 7);
    p.jitter = 1;
    for (int i = 0; i < 10000; i++) {
        int64_t us = retry_delay_us(&p, 20, &rng);

        assert_true(us >= 0 && us <= 2 * US_PER_HOUR);
    }
}

static void the_same_seed_gives_the_same_pauses(void **state)
{
    (void)state;
    struct retry_policy p = RETRY_POLICY_DEFAULT;
    struct rng a;
    struct rng b;

    rng_init(&a, 5);
    rng_init(&b, 5);
    for (int n = 1; n < 20; n++)
        assert_int_equal(retry_delay_us(&p, n, &a), retry_delay_us(&p, n, &b));
}

/* ---- verdicts ---- */

static void the_default_is_no_retry(void **state)
{
    (void)state;
    struct retry_policy p = RETRY_POLICY_DEFAULT;

    assert_int_equal(retry_judge(&p, &(struct retry_attempt){.failures = 1}), RETRY_FINAL);
}

static void max_counts_retries_not_attempts(void **state)
{
    (void)state;
    struct retry_policy p = RETRY_POLICY_DEFAULT;

    p.max = 2;
    assert_int_equal(retry_judge(&p, &(struct retry_attempt){.failures = 1}), RETRY_AGAIN);
    assert_int_equal(retry_judge(&p, &(struct retry_attempt){.failures = 2}), RETRY_AGAIN);
    assert_int_equal(retry_judge(&p, &(struct retry_attempt){.failures = 3}), RETRY_FINAL);
}

static void final_is_final_whatever_is_left(void **state)
{
    (void)state;
    struct retry_policy p = RETRY_POLICY_DEFAULT;
    struct retry_attempt a = {.failures = 1, .exited = true, .exit = 75, .final = true};

    p.max = 100;
    p.exits[0] = (struct retry_exit_rule){75, 75, RETRY_EXIT_LATER};
    p.n_exits = 1;
    assert_int_equal(retry_judge(&p, &a), RETRY_FINAL);
}

static struct retry_policy with_rules(void)
{
    struct retry_policy p = RETRY_POLICY_DEFAULT;

    p.max = 3;
    p.exits[0] = (struct retry_exit_rule){64, 74, RETRY_EXIT_NEVER};
    p.exits[1] = (struct retry_exit_rule){75, 75, RETRY_EXIT_LATER};
    p.n_exits = 2;
    return p;
}

static void exit_rules_hold_at_both_ends_of_their_range(void **state)
{
    (void)state;
    struct retry_policy p = with_rules();
    static const struct {
        int exit;
        enum retry_verdict want;
    } cases[] = {
        {1, RETRY_AGAIN},  {63, RETRY_AGAIN}, {64, RETRY_FINAL}, {70, RETRY_FINAL},
        {74, RETRY_FINAL}, {75, RETRY_LATER}, {76, RETRY_AGAIN}, {-75, RETRY_AGAIN},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(retry_judge(&p, &(struct retry_attempt){.failures = 1,
                                                                 .exited = true,
                                                                 .exit = cases[i].exit}),
                         cases[i].want);
}

static void an_attempt_without_an_exit_status_meets_no_exit_rule(void **state)
{
    (void)state;
    struct retry_policy p = with_rules();

    assert_int_equal(retry_judge(&p, &(struct retry_attempt){.failures = 1, .exit = 64}),
                     RETRY_AGAIN);
}

static void later_has_a_budget_of_its_own(void **state)
{
    (void)state;
    struct retry_policy p = with_rules();
    struct retry_attempt a = {.failures = 99, .exited = true, .exit = 75};

    assert_int_equal(retry_judge(&p, &a), RETRY_LATER); /* the failures are not asked */
    a.failures = 1;
    a.laters = 14;
    assert_int_equal(retry_judge(&p, &a), RETRY_LATER);
}

static void the_sixteenth_later_fails(void **state)
{
    (void)state;
    struct retry_policy p = with_rules();
    struct retry_attempt a = {.failures = 1, .exited = true, .exit = 75, .laters = 15};

    assert_int_equal(retry_judge(&p, &a), RETRY_FINAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_grow_by_the_factor_up_to_the_cap),
        cmocka_unit_test(a_factor_of_one_keeps_the_pause),
        cmocka_unit_test(a_broken_factor_is_exact_to_the_microsecond),
        cmocka_unit_test(a_cap_below_the_first_pause_holds_from_the_start),
        cmocka_unit_test(the_millionth_pause_is_the_cap),
        cmocka_unit_test(no_pause_stays_no_pause),
        cmocka_unit_test(jitter_varies_within_its_share_on_both_sides),
        cmocka_unit_test(full_jitter_is_never_below_zero),
        cmocka_unit_test(the_same_seed_gives_the_same_pauses),
        cmocka_unit_test(the_default_is_no_retry),
        cmocka_unit_test(max_counts_retries_not_attempts),
        cmocka_unit_test(final_is_final_whatever_is_left),
        cmocka_unit_test(exit_rules_hold_at_both_ends_of_their_range),
        cmocka_unit_test(an_attempt_without_an_exit_status_meets_no_exit_rule),
        cmocka_unit_test(later_has_a_budget_of_its_own),
        cmocka_unit_test(the_sixteenth_later_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
