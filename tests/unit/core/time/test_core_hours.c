/*
 * Opening hours: nights around the changes of clocks, closed dates, and a slow reference that looks
 * at every minute.
 */
/* SPDX-License-Identifier: MIT */
#include "core/time/hours.h"

#include "base/civil.h"
#include "base/rng.h"
#include "zone_fixture.h"

static struct hours hours_of(const char *const *open, const char *const *closed)
{
    struct hours h = {.n_ranges = 0};
    struct err err = ERR_INIT;

    for (; *open != NULL; open++)
        if (hours_add_open(&h, slice_of(*open), &err) != E_OK)
            fail_msg("%s: %s", *open, err.msg);
    for (; *closed != NULL; closed++)
        if (hours_add_closed(&h, slice_of(*closed), &err) != E_OK)
            fail_msg("%s: %s", *closed, err.msg);
    if (hours_settle(&h, h.n_ranges > 0 ? HOURS_OPEN_GIVEN : HOURS_OPEN_ALWAYS, &err) != E_OK)
        fail_msg("%s", err.msg);
    return h;
}

static const char *const none[] = {NULL};

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Every night of 2026: it opens at 22:00 and closes at 06:00 on the clocks of Berlin. */
static void nights_in_berlin_last_seven_eight_or_nine_hours(void **state)
{
    CLEANUP(zone) struct zone z = zone_named("Europe/Berlin");
    struct hours h = hours_of(LIST("22:00-06:00"), none);
    int nights[10] = {0};

    (void)state;
    for (int64_t t = at("2026-01-01T12:00:00Z"); t < at("2027-01-01T00:00:00Z");) {
        struct hours_state day = hours_at(&h, &z, t);
        struct hours_state night = hours_at(&h, &z, day.until_at);

        assert_false(day.open);
        assert_true(night.open);
        assert_int_equal(zone_local(&z, day.until_at) % US_PER_DAY, 22 * US_PER_HOUR);
        assert_int_equal(zone_local(&z, night.until_at) % US_PER_DAY, 6 * US_PER_HOUR);
        assert_true(hours_at(&h, &z, night.until_at - 1).open);
        assert_false(hours_at(&h, &z, day.until_at - 1).open);
        nights[(night.until_at - day.until_at) / US_PER_HOUR]++;
        t = night.until_at;
    }
    assert_int_equal(nights[7], 1);
    assert_int_equal(nights[9], 1);
    assert_int_equal(nights[8], 363);
}

struct moment {
    const char *zone, *at;
    bool open;
    const char *until; /* NULL: never */
};

static void check_moments(const struct hours *h, const struct moment *m, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        CLEANUP(zone) struct zone z = zone_named(m[i].zone);
        struct hours_state s = hours_at(h, &z, at(m[i].at));

        if (s.open != m[i].open)
            fail_msg("%s is %s", m[i].at, s.open ? "open" : "closed");
        if (m[i].until == NULL)
            assert_true(s.until_at == TIME_NEVER);
        else
            assert_instant(s.until_at, m[i].until);
    }
}

static void the_hours_of_the_contract_open_and_close(void **state)
{
    static const struct moment moments[] = {
        {"Europe/Berlin", "2026-11-18T12:00:00Z", false, "2026-11-18T21:00:00Z"},
        {"Europe/Berlin", "2026-11-18T21:00:00Z", true, "2026-11-19T05:00:00Z"},
        /* Friday night runs into Saturday, which is open like Sunday */
        {"Europe/Berlin", "2026-11-20T21:30:00Z", true, "2026-11-22T23:00:00Z"},
        {"Europe/Berlin", "2026-11-22T23:00:00Z", false, "2026-11-23T21:00:00Z"},
        /* the night before the closed dates is cut, the next opening is on Sunday */
        {"Europe/Berlin", "2026-12-23T21:30:00Z", true, "2026-12-23T23:00:00Z"},
        {"Europe/Berlin", "2026-12-23T23:00:00Z", false, "2026-12-26T23:00:00Z"},
        {"Europe/Berlin", "2026-12-26T23:00:00Z", true, "2026-12-27T23:00:00Z"},
        /* the nights of both changes */
        {"Europe/Berlin", "2026-03-27T21:00:00Z", true, "2026-03-29T22:00:00Z"},
        {"Europe/Berlin", "2026-10-23T20:00:00Z", true, "2026-10-25T23:00:00Z"},
    };
    struct hours h = hours_of(LIST("22:00-06:00 Mon-Fri", "00:00-24:00 Sat,Sun"),
                              LIST("2026-12-24..2026-12-26", "2026-12-24"));

    (void)state;
    check_moments(&h, moments, ARRAY_LEN(moments));
}

static void hours_without_ranges_are_open_but_for_closed_dates(void **state)
{
    static const struct moment moments[] = {
        {"Europe/Berlin", "2026-11-18T12:00:00Z", true, "2098-12-31T23:00:00Z"},
        {"Europe/Berlin", "2099-01-01T12:00:00Z", false, "2099-01-02T23:00:00Z"},
        {"Europe/Berlin", "2099-01-03T12:00:00Z", true, NULL},
        {"Asia/Kolkata", "2099-01-01T12:00:00Z", false, "2099-01-02T18:30:00Z"},
    };
    static const struct moment for_ever[] = {
        {"Europe/Berlin", "2026-11-18T12:00:00Z", true, "2029-12-31T23:00:00Z"},
        {"Europe/Berlin", "2030-01-01T00:00:00Z", false, NULL},
    };
    struct hours h = hours_of(none, LIST("2099-01-02", "2099-01-01"));

    (void)state;
    check_moments(&h, moments, ARRAY_LEN(moments));
    h = hours_of(none, LIST("2030-01-01..9999-12-31"));
    check_moments(&h, for_ever, ARRAY_LEN(for_ever));
}

/* Date line: 30 December 2011 did not exist in Samoa. */
static void odd_changes_of_clocks_are_followed(void **state)
{
    static const struct moment moments[] = {
        {"Pacific/Apia", "2011-12-29T20:00:00Z", true, "2011-12-30T04:00:00Z"},
        {"Pacific/Apia", "2011-12-30T04:00:00Z", false, "2011-12-30T18:00:00Z"},
        {"Australia/Lord_Howe", "2026-10-03T14:00:00Z", false, "2026-10-03T21:00:00Z"},
        {"Europe/Dublin", "2026-10-24T20:00:00Z", false, "2026-10-25T08:00:00Z"},
        {"Europe/Dublin", "2026-10-23T20:00:00Z", false, "2026-10-24T07:00:00Z"},
    };
    struct hours h = hours_of(LIST("08:00-18:00"), none);

    (void)state;
    check_moments(&h, moments, ARRAY_LEN(moments));
}

/* ---- every minute ---- */

/* The first minute at which clocks show that time, or the first at which they show a later one. */
static int64_t slow_instant(const struct zone *z, int64_t local)
{
    int64_t later = -1;

    for (int64_t t = local - 27 * US_PER_HOUR; t <= local + 27 * US_PER_HOUR;
         t += 15 * US_PER_MIN) {
        for (int64_t u = t; u < t + 15 * US_PER_MIN; u += US_PER_MIN) {
            if (zone_local(z, u) == local)
                return u;
            if (zone_local(z, u) > local && later < 0)
                later = u;
        }
        if (later >= 0 && t > later + 26 * US_PER_HOUR)
            break;
    }
    return later;
}

enum { SLOW_DAYS = 16, SLOW_MIN = SLOW_DAYS * 24 * 60 };

static bool slow_closed(const struct hours *h, int64_t date)
{
    for (size_t i = 0; i < h->n_closed; i++)
        if (date >= h->closed[i].first && date <= h->closed[i].last)
            return true;
    return false;
}

/* Marks the minutes that are open, range by range. */
static void slow_fill(const struct hours *h, const struct zone *z, int64_t from, bool *open)
{
    int64_t first = floor_div(from, US_PER_DAY);

    memset(open, 0, SLOW_MIN);
    for (int64_t date = first - 4; date < first + SLOW_DAYS + 4; date++)
        for (size_t i = 0; i < h->n_ranges; i++) {
            const struct hours_range *r = &h->ranges[i];

            if ((r->days >> civil_weekday(date) & 1) == 0 || slow_closed(h, date))
                continue;
            int64_t a = slow_instant(z, date * US_PER_DAY + r->from_min * US_PER_MIN);
            int64_t b = slow_instant(z, date * US_PER_DAY + r->to_min * US_PER_MIN);

            if (slow_closed(h, date + 1) && r->to_min > 24 * 60)
                b = slow_instant(z, (date + 1) * US_PER_DAY);
            for (int64_t t = a; t < b; t += US_PER_MIN)
                if (t >= from && t < from + SLOW_MIN * US_PER_MIN)
                    open[(t - from) / US_PER_MIN] = true;
        }
}

static void compare_minutes(const struct hours *h, const struct zone *z, int64_t from,
                            const char *what)
{
    static bool open[SLOW_MIN];
    char text[TIME_TEXT_SIZE];

    slow_fill(h, z, from, open);
    for (size_t i = 0; i < SLOW_MIN; i += 37) {
        struct hours_state s = hours_at(h, z, from + (int64_t)i * US_PER_MIN);
        size_t change = i;

        while (change < SLOW_MIN && open[change] == open[i])
            change++;
        int64_t until = from + (int64_t)change * US_PER_MIN;

        if (s.open != open[i] || (change < SLOW_MIN ? s.until_at != until : s.until_at < until))
            fail_msg("%s at %s", what, time_format(from + (int64_t)i * US_PER_MIN, text));
    }
}

static struct hours random_hours(struct rng *rng, int64_t from)
{
    struct hours h = {.n_ranges = 1 + rng_below(rng, 3), .n_closed = rng_below(rng, 3)};
    struct err err = ERR_INIT;

    for (size_t i = 0; i < h.n_ranges; i++) {
        int start = (int)rng_below(rng, 1440);

        if (rng_below(rng, 2) == 0)
            start = (int)rng_below(rng, 9) * 30; /* where clocks change */
        h.ranges[i] = (struct hours_range){.from_min = start,
                                           .to_min = start + 1 + (int)rng_below(rng, 1439),
                                           .days = 1 + (unsigned)rng_below(rng, 127)};
        if (h.ranges[i].to_min - start > 600 && rng_below(rng, 2) == 0)
            h.ranges[i].to_min = start + 30;
    }
    for (size_t i = 0; i < h.n_closed; i++) {
        h.closed[i].first = floor_div(from, US_PER_DAY) + (int64_t)rng_below(rng, SLOW_DAYS);
        h.closed[i].last = h.closed[i].first + (int64_t)rng_below(rng, 3);
    }
    assert_int_equal(hours_settle(&h, HOURS_OPEN_GIVEN, &err), E_OK);
    return h;
}

/* Goose Bay and St. John's moved their clocks at one minute past midnight. */
static void random_hours_agree_with_a_look_at_every_minute(void **state)
{
    static const struct {
        const char *zone, *from;
    } cases[] = {
        {"Europe/Berlin", "2026-03-20T00:00:00Z"},       {"Europe/Berlin", "2026-10-17T00:00:00Z"},
        {"Australia/Lord_Howe", "2026-03-28T00:00:00Z"}, {"Europe/Dublin", "2026-10-17T00:00:00Z"},
        {"Australia/Lord_Howe", "2026-09-26T00:00:00Z"}, {"Pacific/Apia", "2011-12-22T00:00:00Z"},
        {"America/Goose_Bay", "2010-10-30T00:00:00Z"},   {"Asia/Kolkata", "2026-10-17T00:00:00Z"},
        {"America/St_Johns", "2010-03-06T00:00:00Z"},    {"America/Havana", "2026-10-24T00:00:00Z"},
        {"Asia/Beirut", "2026-03-20T00:00:00Z"},         {"Etc/UTC", "2026-03-20T00:00:00Z"},
    };
    struct rng rng;

    (void)state;
    rng_init(&rng, 3);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(zone) struct zone z = zone_named(cases[i].zone);

        for (int n = 0; n < 12; n++) {
            struct hours h = random_hours(&rng, at(cases[i].from));

            compare_minutes(&h, &z, at(cases[i].from), cases[i].zone);
        }
    }
}

/* ---- mistakes ---- */

static void mistakes_are_told(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"25:00-06:00", "'25:00' is not a time of day: they go from 00:00 to 24:00"},
        {"22:60-06:00", "'22:60' is not a time of day: they go from 00:00 to 24:00"},
        {"24:01-06:00", "'24:01' is not a time of day: they go from 00:00 to 24:00"},
        {"22:00-22:00", "'22:00-22:00' is empty; write 00:00-24:00 for the whole day"},
        {"24:00-06:00", "a range cannot begin at 24:00; write 00:00 of the next day"},
        {"8:00-18:00", "'8:00' is not a time like 06:00"},
        {"", "'' is not a range like '22:00-06:00 Mon-Fri'"},
        {"22:00", "'22:00' is not a range like '22:00-06:00 Mon-Fri'"},
        {"22:00-06:00 Mno", "'Mno' is not a day, did you mean 'Mon'?"},
        {"22:00-06:00 Mon-Satuday", "'Satuday' is not a day, did you mean 'Saturday'?"},
        {"22:00-06:00 weekdays", "'weekdays' is not a day: Mon Tue Wed Thu Fri Sat Sun"},
        {"22:00-06:00 ", "'' is not a day: Mon Tue Wed Thu Fri Sat Sun"},
        {"22:00-06:00 Mon,", "'' is not a day: Mon Tue Wed Thu Fri Sat Sun"},
        {"2026-02-29", "the date '2026-02-29' does not exist"},
        {"2026-13-01", "the date '2026-13-01' does not exist"},
        {"24.12.2026", "'24.12.2026' is not a date like 2026-12-24"},
        {"2026-12-26..2026-12-24", "'2026-12-26..2026-12-24' ends before it begins"},
        {"2026-12-26..", "'' is not a date like 2026-12-24"},
        {"1969-12-31", "the date '1969-12-31' is before 1970"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct hours h = {.n_ranges = 0};
        struct slice text = slice_of(cases[i].text);
        struct err err = ERR_INIT;
        enum err_code code = i < 13 ? hours_add_open(&h, text, &err)
                                    : hours_add_closed(&h, text, &err);

        assert_int_equal(code, E_INVALID);
        assert_string_equal(err.msg, cases[i].says);
    }
}

static void hours_that_never_open_are_refused(void **state)
{
    struct hours h = {.n_ranges = 0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(hours_settle(&h, HOURS_OPEN_GIVEN, &err), E_INVALID);
    assert_string_equal(err.msg, "never opens: no range is given");
    assert_int_equal(hours_add_closed(&h, SLICE("1970-01-01..2026-01-01"), &err), E_OK);
    assert_int_equal(hours_add_closed(&h, SLICE("2026-01-02..9999-12-31"), &err), E_OK);
    assert_int_equal(hours_settle(&h, HOURS_OPEN_ALWAYS, &err), E_INVALID);
    assert_string_equal(err.msg, "never opens: all dates are closed");
}

static void days_may_go_over_the_end_of_the_week(void **state)
{
    struct hours h = {.n_ranges = 0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(hours_add_open(&h, SLICE("22:00-06:00 fri-MON,Wednesday"), &err), E_OK);
    assert_int_equal(h.ranges[0].days, 0x6B);
    assert_int_equal(h.ranges[0].to_min, 30 * 60);
    assert_int_equal(hours_add_open(&h, SLICE("22:00-00:00"), &err), E_OK);
    assert_int_equal(h.ranges[1].to_min, 24 * 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nights_in_berlin_last_seven_eight_or_nine_hours),
        cmocka_unit_test(the_hours_of_the_contract_open_and_close),
        cmocka_unit_test(hours_without_ranges_are_open_but_for_closed_dates),
        cmocka_unit_test(odd_changes_of_clocks_are_followed),
        cmocka_unit_test(random_hours_agree_with_a_look_at_every_minute),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(hours_that_never_open_are_refused),
        cmocka_unit_test(days_may_go_over_the_end_of_the_week),
    };

    skip_without_zones();
    return cmocka_run_group_tests_name("hours", tests, NULL, NULL);
}
