/*
 * Time zones against the C library, which reads the same files in its own way.
 */
/* SPDX-License-Identifier: MIT */
#include <ftw.h>
#include <time.h>

#include "base/rng.h"
#include "base/vec.h"
#include "zone_fixture.h"

enum { SAMPLES = 300, ZONES_MIN = 300 };

static VEC(char *) names = VEC_INIT;

static int add_zone(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    const char *name = path + strlen("/usr/share/zoneinfo/");

    (void)st;
    (void)ftw;
    if (kind == FTW_F && name[0] >= 'A' && name[0] <= 'Z' && zone_name_is_valid(slice_of(name)))
        VEC_PUSH(&names, mem_strdup(name));
    return 0;
}

static int64_t offset_by_libc(int64_t second)
{
    time_t when = (time_t)second;
    struct tm tm;

    localtime_r(&when, &tm);
    return tm.tm_gmtoff;
}

static void use_in_libc(const char *name)
{
    char tz[ZONE_NAME_MAX + 2];

    snprintf(tz, sizeof(tz), ":%s", name);
    setenv("TZ", tz, 1);
    tzset();
}

static void check_instant(const char *name, const struct zone *z, int64_t second)
{
    int64_t ours = zone_offset_us(z, second * US_PER_S) / US_PER_S;

    if (ours != offset_by_libc(second))
        fail_msg("%s at %lld: %lld instead of %lld", name, (long long)second, (long long)ours,
                 (long long)offset_by_libc(second));
}

/* Random instants from 1900 to 2400, and both sides of every change up to then. */
static void every_zone_has_the_offsets_of_the_c_library(void **state)
{
    struct rng rng;
    size_t changes = 0;

    (void)state;
    rng_init(&rng, 1);
    assert_true(names.count >= ZONES_MIN);
    for (size_t i = 0; i < names.count; i++) {
        CLEANUP(zone) struct zone z = zone_named(names.items[i]);

        use_in_libc(names.items[i]);
        for (int n = 0; n < SAMPLES; n++)
            check_instant(names.items[i], &z,
                          INT64_C(-2208988800) + (int64_t)rng_below(&rng, 15778463000u));
        for (int64_t t = at("1970-01-01T00:00:00Z"); t < at("2100-01-01T00:00:00Z"); changes++) {
            t = zone_next_change(&z, t);
            if (t == TIME_NEVER)
                break;
            check_instant(names.items[i], &z, t / US_PER_S - 1);
            check_instant(names.items[i], &z, t / US_PER_S);
        }
    }
    printf("%zu zones, %zu changes\n", names.count, changes);
}

/* The first second at which the C library shows that time, or the first at which it shows a later
 * one. */
static int64_t instant_by_libc(int64_t local)
{
    for (int64_t t = local - 27 * 3600; t <= local + 27 * 3600; t += 60)
        if (t + offset_by_libc(t) >= local) {
            for (int64_t u = t; u <= local + 27 * 3600 && u <= t + 26 * 3600; u += 60)
                if (u + offset_by_libc(u) == local)
                    return u;
            return t;
        }
    fail_msg("the C library never shows %lld", (long long)local);
    return 0;
}

/* Local times around changes of the last fifty years and of the next twenty, by the minute. */
static void local_times_are_found_as_a_search_through_all_instants_finds_them(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 2);
    for (size_t i = 0; i < names.count; i += 3) {
        CLEANUP(zone) struct zone z = zone_named(names.items[i]);
        int64_t t = at("1976-01-01T00:00:00Z") + (int64_t)rng_below(&rng, 70 * 365) * US_PER_DAY;

        use_in_libc(names.items[i]);
        t = zone_next_change(&z, t);
        if (t == TIME_NEVER)
            continue;
        for (int n = 0; n < 6; n++) {
            int64_t local = (t / US_PER_S + offset_by_libc(t / US_PER_S)) / 60 * 60 +
                            ((int64_t)rng_below(&rng, 300) - 150) * 60;
            int64_t ours = zone_instant(&z, local * US_PER_S) / US_PER_S;

            if (ours != instant_by_libc(local))
                fail_msg("%s, local %lld: %lld instead of %lld", names.items[i], (long long)local,
                         (long long)ours, (long long)instant_by_libc(local));
        }
    }
}

static void gaps_lead_behind_them_and_times_that_come_twice_to_their_first(void **state)
{
    static const struct {
        const char *zone, *local, *instant;
    } cases[] = {
        {"Europe/Berlin", "2026-03-29T01:59:59Z", "2026-03-29T00:59:59Z"},
        {"Europe/Berlin", "2026-03-29T02:00:00Z", "2026-03-29T01:00:00Z"},
        {"Europe/Berlin", "2026-03-29T02:30:00Z", "2026-03-29T01:00:00Z"},
        {"Europe/Berlin", "2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z"},
        {"Europe/Berlin", "2026-10-25T01:59:59Z", "2026-10-24T23:59:59Z"},
        {"Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z"},
        {"Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z"},
        {"Europe/Berlin", "2326-03-27T02:30:00Z", "2326-03-27T01:30:00Z"},
        {"Australia/Lord_Howe", "2026-10-04T02:15:00Z", "2026-10-03T15:30:00Z"},
        {"Australia/Lord_Howe", "2026-04-05T01:45:00Z", "2026-04-04T14:45:00Z"},
        {"Europe/Dublin", "2026-03-29T01:30:00Z", "2026-03-29T01:00:00Z"},
        {"Europe/Dublin", "2026-10-25T01:30:00Z", "2026-10-25T00:30:00Z"},
        {"Pacific/Apia", "2011-12-29T23:59:59Z", "2011-12-30T09:59:59Z"},
        {"Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z"},
        {"Pacific/Apia", "2011-12-31T00:00:00Z", "2011-12-30T10:00:00Z"},
        {"Asia/Kolkata", "2026-03-29T02:30:00Z", "2026-03-28T21:00:00Z"},
        {"Etc/UTC", "2026-03-29T02:30:00Z", "2026-03-29T02:30:00Z"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(zone) struct zone z = zone_named(cases[i].zone);

        assert_instant(zone_instant(&z, at(cases[i].local)), cases[i].instant);
    }
}

static void rules_are_read_and_anything_else_is_refused(void **state)
{
    static const struct {
        const char *text;
        bool is_rule;
    } cases[] = {
        {"UTC0", true},
        {"CET-1CEST,M3.5.0,M10.5.0/3", true},
        {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", true},
        {"IST-1GMT0,M10.5.0,M3.5.0/1", true},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", true},
        {"XXX3EDT4,0/0,J365/23", true},
        {"", false},
        {"CE-1", false},
        {"CET", false},
        {"CET-25", false},
        {"CET-1CEST", false},
        {"CET-1CEST,M3.5.0", false},
        {"CET-1CEST,M13.5.0,M10.5.0", false},
        {"CET-1CEST,M3.6.0,M10.5.0", false},
        {"CET-1CEST,M3.5.7,M10.5.0", false},
        {"CET-1CEST,M3.5.0/168,M10.5.0", false},
        {"CET-1CEST,J0,J365", false},
        {"CET-1CEST,366,1", false},
        {"CET-1:60", false},
        {"<CET-1", false},
        {"UTC0 ", false},
    };
    struct zone_rule rule;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (posix_tz_parse(slice_of(cases[i].text), &rule) != cases[i].is_rule)
            fail_msg("%s", cases[i].text);
}

/* RFC 9636: a summer time that ends as the next begins never ends. */
static void a_summer_time_may_last_for_ever(void **state)
{
    struct zone z = {.has_rule = true};

    (void)state;
    assert_true(posix_tz_parse(SLICE("XXX3EDT4,0/0,J365/23"), &z.rule));
    for (int64_t t = at("2027-01-01T00:30:00Z"); t < at("2033-01-01T00:00:00Z"); t += US_PER_HOUR)
        assert_int_equal(zone_offset_us(&z, t), -4 * US_PER_HOUR);
}

static void damaged_files_are_refused(void **state)
{
    CLEANUP(buf) struct buf bytes = BUF_INIT(ZONE_FILE_MAX);
    struct err err = ERR_INIT;
    struct zone z = ZONE_UTC;

    (void)state;
    assert_int_equal(zone_file_read("/usr/share/zoneinfo", SLICE("Europe/Berlin"), &bytes, &err),
                     E_OK);
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(tzif_parse(slice_make(bytes.data, size), &z, &err), E_INVALID);
    bytes.data[4] = '9';
    assert_int_equal(tzif_parse(buf_slice(&bytes), &z, &err), E_INVALID);
    assert_null(z.changes);
}

static void the_first_version_has_no_rule(void **state)
{
    static const char file[] = "TZif\0"
                               "000000000000000" /* reserved */
                               "\0\0\0\0"
                               "\0\0\0\0"
                               "\0\0\0\0"
                               "\0\0\0\1"
                               "\0\0\0\2"
                               "\0\0\0\4"
                               "\x40\0\0\0"
                               "\1"
                               "\0\0\x0e\x10\0\0"
                               "\0\0\x1c\x20\1\0"
                               "AAA";
    struct err err = ERR_INIT;
    CLEANUP(zone) struct zone z = ZONE_UTC;

    (void)state;
    assert_int_equal(tzif_parse(slice_make(file, sizeof(file)), &z, &err), E_OK);
    assert_false(z.has_rule);
    assert_int_equal(zone_offset_us(&z, 0), US_PER_HOUR);
    assert_int_equal(zone_next_change(&z, 0), INT64_C(0x40000000) * US_PER_S);
    assert_int_equal(zone_offset_us(&z, INT64_C(0x40000000) * US_PER_S), 2 * US_PER_HOUR);
    assert_true(zone_next_change(&z, INT64_C(0x40000000) * US_PER_S) == TIME_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_zone_has_the_offsets_of_the_c_library),
        cmocka_unit_test(local_times_are_found_as_a_search_through_all_instants_finds_them),
        cmocka_unit_test(gaps_lead_behind_them_and_times_that_come_twice_to_their_first),
        cmocka_unit_test(rules_are_read_and_anything_else_is_refused),
        cmocka_unit_test(a_summer_time_may_last_for_ever),
        cmocka_unit_test(damaged_files_are_refused),
        cmocka_unit_test(the_first_version_has_no_rule),
    };

    skip_without_zones();
    nftw("/usr/share/zoneinfo", add_zone, 16, 0);
    int status = cmocka_run_group_tests_name("zone", tests, NULL, NULL);

    for (size_t i = 0; i < names.count; i++)
        free(names.items[i]);
    VEC_DEINIT(&names);
    return status;
}
