/*
 * Schedules: definitions, nominal times, params.
 */
/* SPDX-License-Identifier: MIT */
#include "core/clock/schedule_def.h"

#include "../time/zone_fixture.h"
#include "core/clock/schedule_params.h"
#include "json_testing.h"

static struct schedule_def parse(const char *json)
{
    struct err err = ERR_INIT;
    struct schedule_def def;

    if (schedule_def_parse(checked(json), &arena, &def, NULL, NULL, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    return def;
}

static void a_schedule_has_defaults(void **state)
{
    (void)state;
    struct schedule_def def = parse("{\"cron\":\"0 2 * * *\",\"queue\":\"report\"}");

    assert_slice_is(def.zone, "UTC");
    assert_slice_is(def.queue, "report");
    assert_int_equal(def.overlap, OVERLAP_SKIP);
    assert_int_equal(def.catch_up_us, 0);
    assert_int_equal(def.jitter_us, 0);
    def = parse("{\"every\":\"10m\",\"topic\":\"t\"}");
    assert_int_equal(def.every_us, 10 * US_PER_MIN);
    assert_int_equal(def.overlap, OVERLAP_ALL);
}

static void its_canonical_form_keeps_what_was_given(void **state)
{
    (void)state;
    assert_canonical_by(schedule_def_canonical,
                        "{\"queue\":\"q\", \"every\":600, \"params\":{\"a\": [1, \"{day}\"]},"
                        "\"overlap\":\"all\", \"catch_up\":\"60m\"}",
                        "{\"every\":\"10m\",\"queue\":\"q\",\"params\":{\"a\":[1,\"{day}\"]},"
                        "\"overlap\":\"all\",\"catch_up\":\"1h\"}");
}

static void mistakes_are_named(void **state)
{
    static const struct {
        const char *json, *message;
    } bad[] = {
        {"{\"queue\":\"q\"}", "a schedule needs 'cron' or 'every'"},
        {"{\"cron\":\"0 2 * * *\",\"every\":60,\"queue\":\"q\"}",
         "cron and every exclude each other"},
        {"{\"every\":60}", "a schedule needs a 'queue' or a 'topic'"},
        {"{\"every\":60,\"queue\":\"q\",\"topic\":\"t\"}", "queue and topic exclude each other"},
        {"{\"every\":0.5,\"queue\":\"q\"}", "every: must be a length of time from 1s to 10000d"},
        {"{\"every\":60,\"queue\":\"q\",\"workflow\":\"w\"}", "workflow: workflows are not built"},
        {"{\"every\":60,\"queue\":\"q\",\"zone\":\"../etc\"}", "zone: '../etc' is not the name"},
        {"{\"cron\":\"0 0 30 2 *\",\"queue\":\"q\"}", "cron: "},
        {"{\"cron\":\"61 * * * *\",\"queue\":\"q\"}", "cron: "},
        {"{\"every\":60,\"queue\":\"q\",\"params\":{\"a\":\"{name}\"}}",
         "params: a schedule has {day}, {now} and {schedule}, not 'name'"},
        {"{\"every\":60,\"queue\":\"q\",\"overlap\":\"both\"}", "overlap: must be"},
        {"{\"every\":60,\"topic\":\"t\",\"overlap\":\"skip\"}",
         "overlap: a publication makes any number of jobs: only 'all' is possible"},
        {"{\"every\":60,\"queue\":\"q\",\"jitter\":\"61s\"}",
         "jitter: must not be longer than 'every'"},
        {"{\"every\":60,\"queue\":\"q\",\"catch_up_all\":true}", "catch_up_all: needs 'catch_up'"},
        {"{\"every\":60,\"queue\":\"q\",\"crom\":1}", "unknown key 'crom', did you mean 'cron'?"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct schedule_def def;
        struct err err = ERR_INIT;

        assert_int_equal(schedule_def_parse(checked(bad[i].json), &arena, &def, NULL, NULL, &err),
                         E_INVALID);
        if (strncmp(err.msg, bad[i].message, strlen(bad[i].message)) != 0)
            fail_msg("%s: '%s' instead of '%s'", bad[i].json, err.msg, bad[i].message);
    }
}

static void times_of_every_are_multiples_since_1970(void **state)
{
    (void)state;
    struct schedule_def def = parse("{\"every\":\"10m\",\"queue\":\"q\"}");
    struct zone utc = ZONE_UTC;

    assert_instant(schedule_next(&def, &utc, at("2026-11-18T12:34:56Z")), "2026-11-18T12:40:00Z");
    assert_instant(schedule_next(&def, &utc, at("2026-11-18T12:40:00Z")), "2026-11-18T12:50:00Z");
    assert_instant(schedule_latest(&def, &utc, 0, at("2026-11-18T12:39:59Z")),
                   "2026-11-18T12:30:00Z");
    assert_int_equal(
        schedule_latest(&def, &utc, at("2026-11-18T12:30:00Z"), at("2026-11-18T12:39:59Z")), 0);
    assert_int_equal(schedule_next(&def, &utc, INT64_MAX - 5), TIME_NEVER);
}

static void the_latest_time_and_their_count_agree_with_a_walk(void **state)
{
    static const char *const defs[] = {
        "{\"cron\":\"*/7 9-11 * * mon-fri\",\"queue\":\"q\",\"zone\":\"Europe/Berlin\"}",
        "{\"cron\":\"30 2 * * *\",\"queue\":\"q\",\"zone\":\"Europe/Berlin\"}",
        "{\"every\":\"17m\",\"queue\":\"q\"}",
    };
    CLEANUP(zone) struct zone z = zone_named("Europe/Berlin");
    int64_t from = at("2026-03-26T12:00:00Z");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(defs); i++) {
        struct schedule_def def = parse(defs[i]);
        int64_t latest = 0;
        int64_t n = 0;

        for (int64_t until = from; until < from + 5 * US_PER_DAY; until += 13 * US_PER_MIN) {
            for (int64_t next; (next = schedule_next(&def, &z, n == 0 ? from : latest)) <= until;
                 n++)
                latest = next;
            assert_int_equal(schedule_latest(&def, &z, from, until), latest);
            assert_int_equal(schedule_count(&def, &z, from, until), n);
        }
        assert_true(n > 3);
    }
}

static void counting_a_cron_is_bounded(void **state)
{
    (void)state;
    struct schedule_def def = parse("{\"cron\":\"* * * * *\",\"queue\":\"q\"}");
    struct zone utc = ZONE_UTC;

    assert_int_equal(schedule_count(&def, &utc, 0, 100 * 365 * US_PER_DAY), SCHEDULE_COUNT_MAX);
    def = parse("{\"every\":1,\"queue\":\"q\"}");
    assert_int_equal(schedule_count(&def, &utc, 0, 100 * 365 * US_PER_DAY),
                     INT64_C(100) * 365 * 86400);
}

static void jitter_follows_from_schedule_and_time(void **state)
{
    (void)state;
    struct schedule_def def = parse("{\"every\":60,\"jitter\":30,\"queue\":\"q\"}");
    int64_t least = INT64_MAX;
    int64_t most = 0;

    for (int64_t i = 1; i <= 1000; i++) {
        int64_t us = schedule_jitter(&def, SLICE("a"), i * US_PER_MIN);

        assert_int_equal(us, schedule_jitter(&def, SLICE("a"), i * US_PER_MIN));
        assert_int_not_equal(us, schedule_jitter(&def, SLICE("b"), i * US_PER_MIN));
        least = us < least ? us : least;
        most = us > most ? us : most;
    }
    assert_true(least < US_PER_S && most > 29 * US_PER_S && most < 30 * US_PER_S);
}

static void params_get_the_nominal_time(void **state)
{
    (void)state;
    CLEANUP(zone) struct zone z = zone_named("Europe/Berlin");
    int64_t nominal_at = at("2026-11-17T23:30:00Z");
    struct schedule_moment moment = {SLICE("ni\"ght"), nominal_at, zone_local(&z, nominal_at)};
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    struct err err = ERR_INIT;

    assert_int_equal(
        schedule_params_fill(
            SLICE("{\"{day}\":\"{day}\",\"a\":[\"x{now}y\",1,true,\"{{q}\"],\"s\":{\"t\":"
                  "\"\\\"{schedule}\\\"\"}}"),
            &moment, &out, &err),
        E_OK);
    assert_string_equal(buf_text(&out),
                        "{\"{day}\":\"2026-11-18\",\"a\":[\"x2026-11-17T23:30:00Zy\",1,true,"
                        "\"{q}\"],\"s\":{\"t\":\"\\\"ni\\\"ght\\\"\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schedule_has_defaults),
        cmocka_unit_test(its_canonical_form_keeps_what_was_given),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(times_of_every_are_multiples_since_1970),
        cmocka_unit_test(the_latest_time_and_their_count_agree_with_a_walk),
        cmocka_unit_test(counting_a_cron_is_bounded),
        cmocka_unit_test(jitter_follows_from_schedule_and_time),
        cmocka_unit_test(params_get_the_nominal_time),
    };

    skip_without_zones();
    return cmocka_run_group_tests(tests, NULL, release_memory);
}
