/*
 * Firings: what fires, what was missed, and when to look again.
 */
/* SPDX-License-Identifier: MIT */
#include "core/clock/firing.h"

#include "../time/zone_fixture.h"
#include "base/rng.h"
#include "core/clock/schedule_def.h"
#include "json_testing.h"

#define T0 INT64_C(1767225600000000) /* 2026-01-01T00:00:00Z */

static struct schedule_def parse(const char *json)
{
    struct err err = ERR_INIT;
    struct schedule_def def;

    if (schedule_def_parse(checked(json), &arena, &def, NULL, NULL, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    return def;
}

static struct firing_plan plan_of(const char *json, int64_t last_at, int64_t now_at)
{
    struct schedule_def def = parse(json);
    struct zone utc = ZONE_UTC;

    return firing_plan(&def, &utc, SLICE("x"), last_at, now_at);
}

static void before_its_time_nothing_fires(void **state)
{
    (void)state;
    struct firing_plan p = plan_of("{\"every\":60,\"queue\":\"q\"}", T0, T0 + US_PER_MIN - 1);

    assert_int_equal(p.n_fires, 0);
    assert_int_equal(p.missed.count, 0);
    assert_int_equal(p.last_at, T0);
    assert_int_equal(p.next_at, T0 + US_PER_MIN);
}

static void at_its_time_it_fires_once(void **state)
{
    (void)state;
    struct firing_plan p = plan_of("{\"every\":60,\"queue\":\"q\"}", T0, T0 + US_PER_MIN);

    assert_int_equal(p.n_fires, 1);
    assert_int_equal(p.fires[0], T0 + US_PER_MIN);
    assert_int_equal(p.last_at, T0 + US_PER_MIN);
    assert_int_equal(p.next_at, T0 + 2 * US_PER_MIN);
    p = plan_of("{\"every\":60,\"queue\":\"q\"}", p.last_at, T0 + US_PER_MIN);
    assert_int_equal(p.n_fires, 0);
}

static void a_late_look_fires_the_latest_and_misses_the_others(void **state)
{
    (void)state;
    struct firing_plan p = plan_of("{\"every\":600,\"queue\":\"q\"}", T0,
                                   T0 + 30 * US_PER_MIN + 59 * US_PER_S);

    assert_int_equal(p.n_fires, 1);
    assert_int_equal(p.fires[0], T0 + 30 * US_PER_MIN);
    assert_int_equal(p.missed.count, 2);
    assert_int_equal(p.missed.first_at, T0 + 10 * US_PER_MIN);
    assert_int_equal(p.missed.last_at, T0 + 20 * US_PER_MIN);
}

static void beyond_catch_up_even_the_latest_is_missed(void **state)
{
    (void)state;
    struct firing_plan p = plan_of("{\"every\":600,\"queue\":\"q\"}", T0, T0 + 31 * US_PER_MIN + 1);

    assert_int_equal(p.n_fires, 0);
    assert_int_equal(p.missed.count, 3);
    assert_int_equal(p.last_at, T0 + 30 * US_PER_MIN);
    p = plan_of("{\"every\":600,\"queue\":\"q\",\"catch_up\":\"5m\"}", T0, T0 + 35 * US_PER_MIN);
    assert_int_equal(p.n_fires, 1);
    assert_int_equal(p.missed.count, 2);
}

static void catch_up_all_fires_each_within_it(void **state)
{
    (void)state;
    static const char def[] = "{\"every\":600,\"queue\":\"q\",\"catch_up\":\"1h\","
                              "\"catch_up_all\":true}";
    struct firing_plan p = plan_of(def, T0, T0 + 2 * US_PER_HOUR);

    assert_int_equal(p.missed.count, 5);
    assert_int_equal(p.n_fires, 7);
    assert_int_equal(p.fires[0], T0 + US_PER_HOUR);
    assert_int_equal(p.fires[6], T0 + 2 * US_PER_HOUR);
}

static void a_plan_is_bounded_and_goes_on(void **state)
{
    (void)state;
    static const char def[] = "{\"every\":1,\"queue\":\"q\",\"catch_up\":\"1h\","
                              "\"catch_up_all\":true}";
    int64_t now_at = T0 + 130 * US_PER_S;
    int64_t last_at = T0;
    size_t fired = 0;

    for (int i = 0; i < 3; i++) {
        struct firing_plan p = plan_of(def, last_at, now_at);

        assert_int_equal(p.missed.count, 0);
        fired += p.n_fires;
        last_at = p.last_at;
        assert_true(i == 2 ? p.next_at > now_at : p.next_at == now_at);
    }
    assert_int_equal(fired, 130);
}

static void ten_years_are_one_gap(void **state)
{
    (void)state;
    struct firing_plan p = plan_of("{\"every\":1,\"queue\":\"q\"}", T0, T0 + 3650 * US_PER_DAY);

    assert_int_equal(p.n_fires, 1);
    assert_int_equal(p.missed.count, INT64_C(3650) * 86400 - 1);
    p = plan_of("{\"cron\":\"* * * * *\",\"queue\":\"q\"}", T0, T0 + 3650 * US_PER_DAY);
    assert_int_equal(p.n_fires, 1);
    assert_int_equal(p.missed.count, SCHEDULE_COUNT_MAX);
    assert_int_equal(p.missed.last_at, T0 + 3650 * US_PER_DAY - US_PER_MIN);
}

static void a_clock_set_back_fires_nothing_again(void **state)
{
    (void)state;
    struct firing_plan p = plan_of("{\"every\":60,\"queue\":\"q\"}", T0 + US_PER_DAY, T0);

    assert_int_equal(p.n_fires, 0);
    assert_int_equal(p.missed.count, 0);
    assert_int_equal(p.last_at, T0 + US_PER_DAY);
    assert_int_equal(p.next_at, T0 + US_PER_DAY + US_PER_MIN);
}

/* Each nominal time fires once, however the looks are spread. */
static void all_looks_together_settle_each_time_once(void **state)
{
    struct schedule_def def = parse("{\"cron\":\"*/3 * * * *\",\"queue\":\"q\",\"jitter\":\"5m\","
                                    "\"catch_up\":\"10m\",\"catch_up_all\":true}");
    struct zone utc = ZONE_UTC;
    struct rng rng;
    int64_t last_at = T0;
    int64_t now_at = T0;
    int64_t settled = 0;

    (void)state;
    rng_init(&rng, 7);
    for (int i = 0; i < 3000; i++) {
        now_at += (int64_t)(rng_next(&rng) % (uint64_t)(i % 10 == 0 ? US_PER_HOUR : US_PER_MIN));
        struct firing_plan p = firing_plan(&def, &utc, SLICE("x"), last_at, now_at);
        int64_t before = last_at;

        if (p.missed.count > 0)
            assert_int_equal(p.missed.first_at, schedule_next(&def, &utc, before));
        for (size_t k = 0; k < p.n_fires; k++) {
            assert_true(p.fires[k] + schedule_jitter(&def, SLICE("x"), p.fires[k]) <= now_at);
            assert_true(k == 0 || p.fires[k] == schedule_next(&def, &utc, p.fires[k - 1]));
        }
        settled += p.missed.count + (int64_t)p.n_fires;
        last_at = p.last_at;
        assert_true(p.next_at >= now_at);
    }
    assert_int_equal(settled, schedule_count(&def, &utc, T0, last_at));
    assert_true(settled > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_its_time_nothing_fires),
        cmocka_unit_test(at_its_time_it_fires_once),
        cmocka_unit_test(a_late_look_fires_the_latest_and_misses_the_others),
        cmocka_unit_test(beyond_catch_up_even_the_latest_is_missed),
        cmocka_unit_test(catch_up_all_fires_each_within_it),
        cmocka_unit_test(a_plan_is_bounded_and_goes_on),
        cmocka_unit_test(ten_years_are_one_gap),
        cmocka_unit_test(a_clock_set_back_fires_nothing_again),
        cmocka_unit_test(all_looks_together_settle_each_time_once),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
