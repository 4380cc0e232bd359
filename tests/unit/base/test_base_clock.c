/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "base/clock.h"
#include "base/rng.h"
#include "testing.h"

static void clocks_go_forward(void **state)
{
    (void)state;
    int64_t mono = clock_mono_us();

    assert_true(clock_mono_us() >= mono);
    assert_true(clock_wall_us() > INT64_C(1704067200000000)); /* 2024 */
}

static void instants_are_shown_in_utc_with_the_fraction_they_have(void **state)
{
    (void)state;
    static const struct {
        int64_t at;
        const char *text;
    } cases[] = {
        {0, "1970-01-01T00:00:00Z"},
        {1, "1970-01-01T00:00:00.000001Z"},
        {INT64_C(951782400000000), "2000-02-29T00:00:00Z"},
        {INT64_C(951868799999000), "2000-02-29T23:59:59.999Z"},
        {INT64_C(951868800000000), "2000-03-01T00:00:00Z"},
        {INT64_C(1794778200000000), "2026-11-15T21:30:00Z"},
        {INT64_C(1794778200020000), "2026-11-15T21:30:00.020Z"},
        {INT64_C(1794778200000020), "2026-11-15T21:30:00.000020Z"},
        {INT64_C(4107542399000000), "2100-02-28T23:59:59Z"},
        {INT64_C(4107542400000000), "2100-03-01T00:00:00Z"},
        {INT64_C(253402300799999999), "9999-12-31T23:59:59.999999Z"},
        {TIME_NEVER, "9999-12-31T23:59:59.999999Z"},
        {-1, "1970-01-01T00:00:00Z"},
    };
    char text[TIME_TEXT_SIZE];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(time_format(cases[i].at, text), cases[i].text);
}

/* Noon of every day of 8,030 years, against the C library. */
static void every_day_is_shown_as_the_c_library_shows_it(void **state)
{
    (void)state;
    for (int64_t day = 0; day < 2932897; day++) {
        int64_t at = day * US_PER_DAY + 12 * US_PER_HOUR;
        time_t seconds = (time_t)(at / US_PER_S);
        char text[TIME_TEXT_SIZE];
        char want[32];
        struct tm tm;
        int64_t back;
        struct err err = ERR_INIT;

        gmtime_r(&seconds, &tm);
        strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%SZ", &tm);
        if (strcmp(time_format(at, text), want) != 0)
            fail_msg("%s instead of %s", text, want);
        if (time_parse(slice_of(text), &back, &err) != E_OK || back != at)
            fail_msg("%s is read as %lld instead of %lld", text, (long long)back, (long long)at);
    }
}

static void shown_instants_are_read_back_exactly(void **state)
{
    (void)state;
    struct rng rng;

    rng_init(&rng, 1);
    for (int i = 0; i < 100000; i++) {
        int64_t at = (int64_t)rng_below(&rng, UINT64_C(253402300800000000));
        int64_t back;
        char text[TIME_TEXT_SIZE];
        struct err err = ERR_INIT;

        at -= rng_below(&rng, 2) ? at % US_PER_MS : 0;
        assert_int_equal(time_parse(slice_of(time_format(at, text)), &back, &err), E_OK);
        assert_true(back == at);
    }
}

static void times_are_read_with_offsets_and_fractions(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *same;
    } cases[] = {
        {"2026-11-15T21:30:00Z", "2026-11-15T21:30:00Z"},
        {"2026-11-15t21:30:00z", "2026-11-15T21:30:00Z"},
        {"2026-11-15 21:30:00Z", "2026-11-15T21:30:00Z"},
        {"2026-11-15T22:30:00+01:00", "2026-11-15T21:30:00Z"},
        {"2026-11-15T16:00:00-05:30", "2026-11-15T21:30:00Z"},
        {"2026-11-16T00:00:00+02:30", "2026-11-15T21:30:00Z"},
        {"2026-11-15T21:30:00-00:00", "2026-11-15T21:30:00Z"},
        {"2026-11-15T21:30:00.5Z", "2026-11-15T21:30:00.500Z"},
        {"2026-11-15T21:30:00.123456789+00:00", "2026-11-15T21:30:00.123456Z"},
        {"2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
        {"2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},
        {"1970-01-01T01:00:00+01:00", "1970-01-01T00:00:00Z"},
        {"1969-12-31T23:00:00-01:00", "1970-01-01T00:00:00Z"},
        {"9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t at;
        char text[TIME_TEXT_SIZE];
        struct err err = ERR_INIT;

        if (time_parse(slice_of(cases[i].text), &at, &err) != E_OK)
            fail_msg("%s", err.msg);
        assert_string_equal(time_format(at, text), cases[i].same);
    }
}

static void bad_times_are_refused_and_quoted(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "now",
        "2026-11-15",
        "2026-11-15T21:30:00",
        "2026-11-15T21:30Z",
        "2026-11-15T21:30:00.Z",
        "2026-11-15T21:30:00Zx",
        "2026-11-15T21:30:00 Z",
        "2026-11-15T24:00:00Z",
        "2026-11-15T21:60:00Z",
        "2026-11-15T21:30:61Z",
        "2026-11-15T21:30:00+24:00",
        "2026-11-15T21:30:00+01:60",
        "2026-11-15T21:30:00+0100",
        "2026-00-15T21:30:00Z",
        "2026-13-15T21:30:00Z",
        "2026-11-00T21:30:00Z",
        "2026-11-31T21:30:00Z",
        "2025-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "1970-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "26-11-15T21:30:00Z",
        "-026-11-15T21:30:00Z",
        "+2026-11-15T21:30:00Z",
        "ääääääääääääääääääääääääääääääääää",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int64_t at = -7;
        struct err err = ERR_INIT;

        if (time_parse(slice_of(bad[i]), &at, &err) != E_INVALID)
            fail_msg("taken: %s", bad[i]);
        assert_true(at == -7);
        assert_non_null(strstr(err.msg, "is not a time like"));
        assert_null(strchr(err.msg, '?'));
    }
}

static void nothing_at_all_is_refused(void **state)
{
    (void)state;
    int64_t value = -7;
    struct err err = ERR_INIT;

    assert_int_equal(time_parse((struct slice){NULL, 0}, &value, &err), E_INVALID);
    assert_int_equal(duration_parse((struct slice){NULL, 0}, &value, &err), E_INVALID);
    assert_true(value == -7);
}

static void lengths_are_read_in_every_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {
        {"500ms", 500 * US_PER_MS},
        {"10s", 10 * US_PER_S},
        {"5m", 5 * US_PER_MIN},
        {"2h", 2 * US_PER_HOUR},
        {"30d", 30 * US_PER_DAY},
        {"90", 90 * US_PER_S},
        {"1.5", 1500 * US_PER_MS},
        {"0", 0},
        {"0s", 0},
        {"-0s", 0},
        {".5h", 30 * US_PER_MIN},
        {"1.5h", 90 * US_PER_MIN},
        {"0.001ms", 1},
        {"0.1s", 100 * US_PER_MS},
        {"10000d", 10000 * US_PER_DAY},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t us;
        struct err err = ERR_INIT;

        if (duration_parse(slice_of(cases[i].text), &us, &err) != E_OK)
            fail_msg("%s", err.msg);
        assert_true(us == cases[i].us);
    }
}

static void bad_lengths_are_refused_and_quoted(void **state)
{
    (void)state;
    static const char *const malformed[] = {
        "",      "s",      "soon", "5 m",
        " 5m",   "5m ",    "5M",   "5min",
        "1h30m", "+5s",    "--5s", "1e3s",
        "1e3",   "0x10s",  "nan",  "-nan",
        "inf",   "-inf",   ".",    "-",
        ".s",    "1.2.3s", "1,5s", "5\xC3s",
        "5µs",   "5sec",   "1_0s", "99999999999999999999999999999999999999999999s",
    };

    for (size_t i = 0; i < ARRAY_LEN(malformed); i++) {
        int64_t us = -7;
        struct err err = ERR_INIT;

        if (duration_parse(slice_of(malformed[i]), &us, &err) != E_INVALID)
            fail_msg("taken: %s", malformed[i]);
        assert_true(us == -7);
        assert_non_null(strstr(err.msg, "is not a length of time like"));
    }
    int64_t us = -7;
    struct err err = ERR_INIT;

    assert_int_equal(duration_parse(slice_make("5s\0", 3), &us, &err), E_INVALID);
    assert_int_equal(duration_parse(SLICE("-5s"), &us, &err), E_INVALID);
    assert_string_equal(err.msg, "a length of time cannot be negative");
    assert_int_equal(duration_parse(SLICE("10000.1d"), &us, &err), E_INVALID);
    assert_string_equal(err.msg, "a length of time is at most 10000d");
    assert_true(us == -7);
}

static void seconds_as_numbers_have_the_same_bounds(void **state)
{
    (void)state;
    int64_t us = -7;
    struct err err = ERR_INIT;

    assert_int_equal(duration_from_seconds(-0.5, &us, &err), E_INVALID);
    assert_int_equal(duration_from_seconds(1e300, &us, &err), E_INVALID);
    assert_int_equal(duration_from_seconds(__builtin_inf(), &us, &err), E_INVALID);
    assert_int_equal(duration_from_seconds(__builtin_nan(""), &us, &err), E_INVALID);
    assert_true(us == -7);
    assert_int_equal(duration_from_seconds(0.25, &us, &err), E_OK);
    assert_true(us == 250 * US_PER_MS);
}

static void lengths_are_shown_in_the_largest_unit_that_fits(void **state)
{
    (void)state;
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {90 * US_PER_S, "90s"},
        {5 * US_PER_MIN, "5m"},
        {2 * US_PER_HOUR, "2h"},
        {30 * US_PER_DAY, "30d"},
        {500 * US_PER_MS, "500ms"},
        {1500 * US_PER_MS, "1500ms"},
        {12, "0.000012s"},
        {1234567890, "1234.56789s"},
        {-5 * US_PER_S, "-5s"},
        {-1, "-0.000001s"},
        {INT64_MAX, "9223372036854.775807s"},
        {INT64_MIN, "-9223372036854.775808s"},
    };
    char text[DURATION_TEXT_SIZE];

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(duration_format(cases[i].us, text), cases[i].text);
}

static void shown_lengths_are_read_back_exactly(void **state)
{
    (void)state;
    static const int64_t units[] = {1, US_PER_MS, US_PER_S, US_PER_MIN, US_PER_HOUR, US_PER_DAY};
    struct rng rng;

    rng_init(&rng, 2);
    for (int i = 0; i < 100000; i++) {
        int64_t unit = units[rng_below(&rng, ARRAY_LEN(units))];
        int64_t us = (int64_t)rng_below(&rng, (uint64_t)(10000 * US_PER_DAY / unit)) * unit;
        int64_t back;
        char text[DURATION_TEXT_SIZE];
        struct err err = ERR_INIT;

        assert_int_equal(duration_parse(slice_of(duration_format(us, text)), &back, &err), E_OK);
        if (back != us)
            fail_msg("%s is read as %lld", text, (long long)back);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocks_go_forward),
        cmocka_unit_test(instants_are_shown_in_utc_with_the_fraction_they_have),
        cmocka_unit_test(every_day_is_shown_as_the_c_library_shows_it),
        cmocka_unit_test(shown_instants_are_read_back_exactly),
        cmocka_unit_test(times_are_read_with_offsets_and_fractions),
        cmocka_unit_test(bad_times_are_refused_and_quoted),
        cmocka_unit_test(nothing_at_all_is_refused),
        cmocka_unit_test(lengths_are_read_in_every_unit),
        cmocka_unit_test(bad_lengths_are_refused_and_quoted),
        cmocka_unit_test(seconds_as_numbers_have_the_same_bounds),
        cmocka_unit_test(lengths_are_shown_in_the_largest_unit_that_fits),
        cmocka_unit_test(shown_lengths_are_read_back_exactly),
    };

    return cmocka_run_group_tests_name("clock", tests, NULL, NULL);
}
