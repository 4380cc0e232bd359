/*
 * Cron: fields, both nights on which clocks change, and a slow reference that walks minute by
 * minute.
 */
/* SPDX-License-Identifier: MIT */
#include "core/time/cron.h"

#include "base/civil.h"
#include "base/rng.h"
#include "zone_fixture.h"

static struct cron cron_of(const char *text)
{
    struct cron c = {.minutes = 0};
    struct err err = ERR_INIT;

    if (cron_parse(slice_of(text), &c, &err) != E_OK)
        fail_msg("%s: %s", text, err.msg);
    return c;
}

static const struct {
    const char *cron, *zone, *after, *next[3];
} firings[] = {
    {"0 2 * * *",
     "Etc/UTC",
     "2026-11-18T02:00:00Z",
     {"2026-11-19T02:00:00Z", "2026-11-20T02:00:00Z", "2026-11-21T02:00:00Z"}},
    {"*/20 9-17/4 * * mon-fri",
     "Etc/UTC",
     "2026-11-20T17:39:59Z",
     {"2026-11-20T17:40:00Z", "2026-11-23T09:00:00Z", "2026-11-23T09:20:00Z"}},
    {"@hourly",
     "Etc/UTC",
     "2026-11-18T12:34:56Z",
     {"2026-11-18T13:00:00Z", "2026-11-18T14:00:00Z", "2026-11-18T15:00:00Z"}},
    {"@Weekly",
     "Etc/UTC",
     "2026-11-18T12:34:56Z",
     {"2026-11-22T00:00:00Z", "2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z"}},
    {"@monthly",
     "Europe/Berlin",
     "2026-11-18T12:00:00Z",
     {"2026-11-30T23:00:00Z", "2026-12-31T23:00:00Z", "2027-01-31T23:00:00Z"}},
    {"@annually",
     "Etc/UTC",
     "2026-11-18T12:00:00Z",
     {"2027-01-01T00:00:00Z", "2028-01-01T00:00:00Z", "2029-01-01T00:00:00Z"}},
    /* either day, if both are given */
    {"0 0 13 * fri",
     "Etc/UTC",
     "2026-11-10T00:00:00Z",
     {"2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z", "2026-11-27T00:00:00Z"}},
    /* both, if one of them begins with a star */
    {"0 0 */2 * fri",
     "Etc/UTC",
     "2026-11-10T00:00:00Z",
     {"2026-11-13T00:00:00Z", "2026-11-27T00:00:00Z", "2026-12-11T00:00:00Z"}},
    {"0 0 29 2 *",
     "Etc/UTC",
     "2095-01-01T00:00:00Z",
     {"2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z", "2108-02-29T00:00:00Z"}},
    {"0 0 29 feb */7",
     "Etc/UTC",
     "2080-01-01T00:00:00Z",
     {"2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z", "2156-02-29T00:00:00Z"}},
    {"5,10-12 0 * jan,DEC 7",
     "Etc/UTC",
     "2026-11-18T00:00:00Z",
     {"2026-12-06T00:05:00Z", "2026-12-06T00:10:00Z", "2026-12-06T00:11:00Z"}},
    {"0 0 * * fri-mon",
     "Etc/UTC",
     "2026-11-18T00:00:00Z",
     {"2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"}},
    {"59 * 31 12 *",
     "Etc/UTC",
     "2026-12-31T23:58:00Z",
     {"2026-12-31T23:59:00Z", "2027-12-31T00:59:00Z", "2027-12-31T01:59:00Z"}},
    /* the nights of both changes */
    {"30 2 * * *",
     "Europe/Berlin",
     "2026-03-28T01:30:00Z",
     {"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"}},
    {"30 2 * * *",
     "Europe/Berlin",
     "2026-10-24T00:30:00Z",
     {"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z", "2026-10-27T01:30:00Z"}},
    {"*/20 2,3 * * *",
     "Europe/Berlin",
     "2026-03-28T12:00:00Z",
     {"2026-03-29T01:00:00Z", "2026-03-29T01:20:00Z", "2026-03-29T01:40:00Z"}},
    {"30 * * * *",
     "Europe/Berlin",
     "2026-10-25T00:00:00Z",
     {"2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"}},
    {"30 * * * *",
     "Europe/Berlin",
     "2026-03-29T00:00:00Z",
     {"2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:30:00Z"}},
    {"15 2 * * *",
     "Australia/Lord_Howe",
     "2026-10-03T00:00:00Z",
     {"2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z", "2026-10-05T15:15:00Z"}},
    {"30 1 * * *",
     "Europe/Dublin",
     "2026-03-28T12:00:00Z",
     {"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z", "2026-03-31T00:30:00Z"}},
    /* the date that Samoa left out: once, right after it */
    {"0 12 * * *",
     "Pacific/Apia",
     "2011-12-29T12:00:00Z",
     {"2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"}},
};

static void each_form_fires_at_its_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(firings); i++) {
        CLEANUP(zone) struct zone z = zone_named(firings[i].zone);
        struct cron c = cron_of(firings[i].cron);
        int64_t t = at(firings[i].after);

        for (size_t n = 0; n < 3; n++) {
            t = cron_next(&c, &z, t);
            assert_instant(t, firings[i].next[n]);
        }
    }
}

/* ---- minute by minute ---- */

static bool slow_matches(const struct cron *c, int64_t local)
{
    int64_t days = floor_div(local, US_PER_DAY);
    struct civil date = civil_from_days(days);
    int64_t minute = (local - days * US_PER_DAY) / US_PER_MIN;
    bool day = (c->days >> date.day & 1) != 0;
    bool weekday = (c->weekdays >> civil_weekday(days) & 1) != 0;

    return (c->minutes >> minute % 60 & 1) != 0 && (c->hours >> minute / 60 & 1) != 0 &&
           (c->months >> date.month & 1) != 0 &&
           (c->any_day || c->any_weekday ? day && weekday : day || weekday);
}

/* Whether it fires at that minute, given the latest local time that clocks have shown before. */
static bool slow_fires(const struct cron *c, int64_t local, int64_t shown)
{
    if (c->real_time)
        return slow_matches(c, local);
    for (int64_t l = shown + US_PER_MIN; l <= local; l += US_PER_MIN)
        if (slow_matches(c, l))
            return true;
    return false;
}

static void compare_minutes(const struct cron *c, const struct zone *z, int64_t from,
                            const char *what)
{
    int64_t shown = zone_local(z, from);
    int64_t next = cron_next(c, z, from);
    char text[TIME_TEXT_SIZE];

    for (int64_t t = from + US_PER_MIN; t < from + 14 * US_PER_DAY; t += US_PER_MIN) {
        int64_t local = zone_local(z, t);
        bool fires = slow_fires(c, local, shown);

        if (fires != (next == t))
            fail_msg("%s at %s", what, time_format(t, text));
        if (fires)
            next = cron_next(c, z, t);
        shown = local > shown ? local : shown;
    }
}

static uint64_t random_bits(struct rng *rng, uint64_t min, uint64_t max)
{
    uint64_t bits = 0;

    for (uint64_t n = 1 + rng_below(rng, 4); n > 0; n--)
        bits |= UINT64_C(1) << (min + rng_below(rng, max - min + 1));
    return bits;
}

static struct cron random_cron(struct rng *rng)
{
    struct cron c = {.minutes = random_bits(rng, 0, 59),
                     .hours = (uint32_t)random_bits(rng, 0, 4),
                     .days = 0xFFFFFFFE,
                     .months = 0x1FFE,
                     .weekdays = 0x7F,
                     .any_day = rng_below(rng, 2) == 0,
                     .any_weekday = rng_below(rng, 2) == 0,
                     .real_time = rng_below(rng, 3) == 0};

    if (!c.any_day)
        c.days = (uint32_t)random_bits(rng, 1, 31);
    if (!c.any_weekday)
        c.weekdays = (uint32_t)random_bits(rng, 0, 6);
    if (c.real_time)
        c.hours = 0xFFFFFF;
    return c;
}

static void random_crons_agree_with_a_walk_minute_by_minute(void **state)
{
    static const struct {
        const char *zone, *from;
    } cases[] = {
        {"Europe/Berlin", "2026-03-22T10:00:00Z"},       {"Europe/Berlin", "2026-10-18T10:00:00Z"},
        {"Australia/Lord_Howe", "2026-03-29T10:00:00Z"}, {"Europe/Dublin", "2026-10-18T10:00:00Z"},
        {"Australia/Lord_Howe", "2026-09-27T10:00:00Z"}, {"Pacific/Apia", "2011-12-23T20:00:00Z"},
        {"America/Goose_Bay", "2010-10-31T16:00:00Z"},   {"Asia/Kolkata", "2026-10-18T10:00:00Z"},
        {"America/St_Johns", "2010-03-07T16:00:00Z"},    {"America/Havana", "2026-10-25T16:00:00Z"},
        {"Asia/Beirut", "2026-03-22T10:00:00Z"},         {"Etc/UTC", "2026-02-20T10:00:00Z"},
    };
    struct rng rng;

    (void)state;
    rng_init(&rng, 4);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(zone) struct zone z = zone_named(cases[i].zone);

        for (int n = 0; n < 40; n++) {
            struct cron c = random_cron(&rng);

            compare_minutes(&c, &z, at(cases[i].from), cases[i].zone);
        }
    }
}

/* ---- mistakes ---- */

static void mistakes_are_told(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "'' has 0 fields, not 5: minute, hour, day of month, month, day of week"},
        {"0 0 * *",
         "'0 0 * *' has 4 fields, not 5: minute, hour, day of month, month, day of week"},
        {"0 0 0 * * *",
         "'0 0 0 * * *' has 6 fields, not 5: minute, hour, day of month, month, day of week"},
        {"60 0 * * *", "minute: '60' is not a minute from 0 to 59"},
        {"0 24 * * *", "hour: '24' is not an hour from 0 to 23"},
        {"0 0 0 * *", "day of month: '0' is not a day of month from 1 to 31"},
        {"0 0 * jam *", "month: 'jam' is not a month, did you mean 'Jan'?"},
        {"0 0 * * mno", "day of week: 'mno' is not a day, did you mean 'Mon'?"},
        {"0 0 * * 8", "day of week: '8' is not a day of week from 0 to 7"},
        {"*/0 0 * * *", "minute: '*/0' has a step that is not from 1 to 59"},
        {"*/ 0 * * *", "minute: '*/' has a step that is not from 1 to 59"},
        {"5/10 0 * * *", "minute: '5/10' has a step but no range; write 5-59/10"},
        {"0 22-2 * * *", "hour: '22-2' runs backwards; write 22-23,0-2"},
        {"1,,2 0 * * *", "minute: '' is not a minute from 0 to 59"},
        {"*-5 0 * * *", "minute: '*-5' is not a range"},
        {"-5 0 * * *", "minute: '' is not a minute from 0 to 59"},
        {"0 0 30 2 *", "'0 0 30 2 *' never fires: no such date exists"},
        {"0 0 31 2,4,jun *", "'0 0 31 2,4,jun *' never fires: no such date exists"},
        {"@dayly", "'@dayly' is unknown, did you mean '@daily'?"},
        {"@reboot", "'@reboot' is unknown, the words are @hourly @daily @weekly @monthly @yearly"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        struct cron c;

        if (cron_parse(slice_of(cases[i].text), &c, &err) != E_INVALID)
            fail_msg("'%s' is taken", cases[i].text);
        assert_string_equal(err.msg, cases[i].says);
    }
}

static void the_end_of_time_is_reached(void **state)
{
    static const char *const crons[] = {"0 0 29 2 */7", "* * * * *", "0 2 * * *", "0 * 29 2 */7"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(crons); i++) {
        CLEANUP(zone) struct zone z = zone_named("America/New_York");
        struct cron c = cron_of(crons[i]);
        int64_t t = at("9999-12-25T00:00:00Z");

        for (int n = 0; n < 20000 && t != TIME_NEVER; n++) {
            int64_t next = cron_next(&c, &z, t);

            assert_true(next > t);
            t = next;
        }
        assert_true(t == TIME_NEVER);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_fires_at_its_times),
        cmocka_unit_test(random_crons_agree_with_a_walk_minute_by_minute),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(the_end_of_time_is_reached),
    };

    skip_without_zones();
    return cmocka_run_group_tests_name("cron", tests, NULL, NULL);
}
