/*
 * Schedules: definitions, nominal times and what is due, against a walk over every minute.
 */
/* SPDX-License-Identifier: MIT */
#include "core/clock/schedule.h"

#include "base/rng.h"
#include "core/time/zone_fixture.h"
#include "json_testing.h"

static struct schedule_def schedule_of(const char *json)
{
    struct err err = ERR_INIT;
    struct schedule_def def;

    if (schedule_def_parse(checked(json), &arena, &def, NULL, NULL, &err) != E_OK)
        fail_msg("%s: %s", json, err.msg);
    return def;
}

/* ---- definitions ---- */

static void a_schedule_has_times_and_a_target(void **state)
{
    struct schedule_def def = schedule_of(
        "{\"cron\":\"0 2 * * *\",\"zone\":\"Europe/Berlin\",\"topic\":\"night\","
        "\"params\":{\"day\":\"{day}\"},\"overlap\":\"queue\",\"catch_up\":\"1h\"}");

    (void)state;
    assert_int_equal(def.target.kind, DEST_TOPIC);
    assert_slice_is(def.target.name, "night");
    assert_slice_is(def.target.params, "{\"day\":\"{day}\"}");
    assert_int_equal(def.overlap, OVERLAP_QUEUE);
    assert_int_equal(def.catch_up_us, US_PER_HOUR);
    def = schedule_of("{\"every\":\"10m\",\"queue\":\"q\"}");
    assert_int_equal(def.overlap, OVERLAP_SKIP);
    assert_int_equal(def.catch_up_us, 0);
    assert_int_equal(def.zone.size, 0);
    assert_canonical_by(schedule_def_canonical,
                        "{ \"queue\":\"q\", \"params\":{ }, \"jitter\":90, \"every\":3600 }",
                        "{\"every\":\"1h\",\"queue\":\"q\",\"params\":{},\"jitter\":\"90s\"}");
}

static void mistakes_in_schedules_are_told_with_their_place(void **state)
{
    static const struct {
        const char *json, *message;
    } bad[] = {
        {"[]", "a schedule must be an object like {cron: \"0 2 * * *\", queue: report}, not an "
               "array"},
        {"{\"queue\":\"q\"}", "must have one of cron and every"},
        {"{\"queue\":\"q\",\"cron\":\"@daily\",\"every\":60}", "must have one of cron and every"},
        {"{\"every\":60}", "must have one of queue and topic"},
        {"{\"every\":60,\"queue\":\"q\",\"topic\":\"t\"}",
         "topic: must not be given with queue: a schedule has one target"},
        {"{\"every\":60,\"queue\":\"a/b\"}", "queue: a queue's name must not have a '/' in it: "
                                             "'a/b'"},
        {"{\"every\":60,\"queue\":1}", "queue: must be the name of a queue, not 1"},
        {"{\"every\":60,\"workflow\":\"w\"}", "workflow: workflows are not built yet"},
        {"{\"every\":\"10ms\",\"queue\":\"q\"}",
         "every: must be a length of time from 1s to 366d, not '10ms'"},
        {"{\"every\":60,\"queue\":\"q\",\"jitter\":60}", "jitter: must be shorter than every"},
        {"{\"every\":60,\"queue\":\"q\",\"catch_up_all\":true}",
         "catch_up_all: needs catch_up, the time within which they are made up for"},
        {"{\"every\":60,\"queue\":\"q\",\"overlap\":\"skp\"}",
         "overlap: 'skp' is unknown, did you mean 'skip'?"},
        {"{\"every\":60,\"queue\":\"q\",\"zone\":\"/x\"}",
         "zone: '/x' is not the name of a time zone like Europe/Berlin"},
        {"{\"evry\":60}", "unknown key 'evry', did you mean 'every'?"},
        {"{\"every\":60,\"queue\":\"q\",\"params\":[]}", "params: must be an object, not an array"},
    };
    struct err err = ERR_INIT;
    struct schedule_def def;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (schedule_def_parse(checked(bad[i].json), &arena, &def, NULL, NULL, &err) != E_INVALID)
            fail_msg("%s is accepted", bad[i].json);
        assert_string_equal(err.msg, bad[i].message);
    }
    assert_int_equal(schedule_def_parse(checked("{\"cron\":\"0 0 30 2 *\",\"queue\":\"q\"}"),
                                        &arena, &def, NULL, NULL, &err),
                     E_INVALID);
    assert_memory_equal(err.msg, "cron: ", 6);
}

/* ---- nominal times ---- */

static void every_counts_from_its_own_first_time(void **state)
{
    struct schedule_def def = schedule_of("{\"every\":\"10m\",\"queue\":\"q\"}");
    struct schedule_times t = {.def = &def, .first_at = at("2026-11-18T10:03:00Z")};

    (void)state;
    assert_instant(schedule_next(&t, 0), "2026-11-18T10:03:00Z");
    assert_instant(schedule_next(&t, t.first_at - 1), "2026-11-18T10:03:00Z");
    assert_instant(schedule_next(&t, t.first_at), "2026-11-18T10:13:00Z");
    assert_instant(schedule_next(&t, at("2026-11-18T12:00:00Z")), "2026-11-18T12:03:00Z");
    assert_instant(schedule_latest(&t, 0, at("2026-11-18T12:00:00Z")), "2026-11-18T11:53:00Z");
    assert_int_equal(schedule_latest(&t, 0, t.first_at - 1), 0);
    assert_int_equal(schedule_next(&t, TIME_NEVER - 5), TIME_NEVER);
}

/* 02:30 does not exist on 29 March and comes twice on 25 October. */
static void half_past_two_in_berlin_fires_once_a_night(void **state)
{
    CLEANUP(zone) struct zone berlin = zone_named("Europe/Berlin");
    struct schedule_def def = schedule_of("{\"cron\":\"30 2 * * *\",\"queue\":\"q\"}");
    struct schedule_times t = {.def = &def, .zone = &berlin};

    (void)state;
    assert_instant(schedule_next(&t, at("2026-03-28T12:00:00Z")), "2026-03-29T01:00:00Z");
    assert_instant(schedule_next(&t, at("2026-03-29T01:00:00Z")), "2026-03-30T00:30:00Z");
    assert_instant(schedule_next(&t, at("2026-10-24T12:00:00Z")), "2026-10-25T00:30:00Z");
    assert_instant(schedule_next(&t, at("2026-10-25T00:30:00Z")), "2026-10-26T01:30:00Z");
}

/* ---- what is due ---- */

static void a_firing_on_time_is_due_once(void **state)
{
    struct schedule_def def = schedule_of("{\"cron\":\"0 * * * *\",\"queue\":\"q\"}");
    struct schedule_times t = {.def = &def};
    int64_t ten = at("2026-11-18T10:00:00Z");
    struct schedule_due due;

    (void)state;
    schedule_judge(&t, ten - US_PER_HOUR, ten - 1, &due);
    assert_int_equal(due.n_fire, 0);
    assert_int_equal(due.missed.count, 0);
    assert_int_equal(due.next_at, ten);
    schedule_judge(&t, ten - US_PER_HOUR, ten + 5000, &due);
    assert_int_equal(due.n_fire, 1);
    assert_int_equal(due.fire[0], ten);
    assert_int_equal(due.missed.count, 0);
    assert_int_equal(due.next_at, ten + US_PER_HOUR);
    schedule_judge(&t, ten, ten + 6000, &due);
    assert_int_equal(due.n_fire, 0);
    schedule_judge(&t, ten, ten - US_PER_DAY, &due); /* the clock was set back */
    assert_int_equal(due.n_fire, 0);
    assert_int_equal(due.next_at, ten + US_PER_HOUR);
}

static void missed_firings_are_made_up_for_within_catch_up(void **state)
{
    struct schedule_def def = schedule_of("{\"cron\":\"0 * * * *\",\"queue\":\"q\"}");
    struct schedule_times t = {.def = &def};
    int64_t last = at("2026-11-18T10:00:00Z");
    int64_t now = at("2026-11-18T15:30:00Z"); /* after 11, 12, 13, 14 and 15 o'clock */
    struct schedule_due due;

    (void)state;
    schedule_judge(&t, last, now, &due);
    assert_int_equal(due.n_fire, 0);
    assert_int_equal(due.missed.count, 5);
    assert_instant(due.missed.from_at, "2026-11-18T11:00:00Z");
    assert_instant(due.missed.to_at, "2026-11-18T15:00:00Z");
    def.catch_up_us = 3 * US_PER_HOUR;
    schedule_judge(&t, last, now, &due);
    assert_int_equal(due.n_fire, 1);
    assert_instant(due.fire[0], "2026-11-18T15:00:00Z");
    assert_int_equal(due.missed.count, 4);
    assert_instant(due.missed.to_at, "2026-11-18T14:00:00Z");
    def.catch_up_all = true;
    schedule_judge(&t, last, now, &due);
    assert_int_equal(due.n_fire, 3);
    assert_instant(due.fire[0], "2026-11-18T13:00:00Z");
    assert_instant(due.fire[2], "2026-11-18T15:00:00Z");
    assert_int_equal(due.missed.count, 2);
    assert_instant(due.missed.to_at, "2026-11-18T12:00:00Z");
    schedule_judge(&t, last, at("2026-11-18T15:00:00Z"), &due); /* 12 o'clock is just within */
    assert_int_equal(due.n_fire, 4);
    assert_int_equal(due.missed.count, 1);
}

static void ten_years_of_misses_are_one_entry(void **state)
{
    struct schedule_def def = schedule_of("{\"every\":\"1s\",\"queue\":\"q\"}");
    struct schedule_def cron = schedule_of("{\"cron\":\"* * * * *\",\"queue\":\"q\"}");
    struct schedule_times t = {.def = &def, .first_at = at("2026-01-01T00:00:00Z")};
    int64_t now = at("2036-01-01T00:00:00Z");
    struct schedule_due due;

    (void)state;
    schedule_judge(&t, t.first_at, now, &due);
    assert_int_equal(due.n_fire, 1);
    assert_int_equal(due.fire[0], now);
    assert_int_equal(due.missed.count, (now - t.first_at) / US_PER_S - 1);
    assert_false(due.missed.at_least);
    t.def = &cron;
    schedule_judge(&t, t.first_at, now + 90 * US_PER_S, &due);
    assert_int_equal(due.n_fire, 1);
    assert_int_equal(due.fire[0], now + US_PER_MIN);
    assert_int_equal(due.missed.count, SCHEDULE_COUNTED_MAX);
    assert_true(due.missed.at_least);
    assert_int_equal(due.missed.to_at, now);
}

static void many_firings_come_in_several_answers(void **state)
{
    struct schedule_def def = schedule_of(
        "{\"every\":\"1s\",\"queue\":\"q\",\"catch_up\":\"1h\",\"catch_up_all\":true}");
    struct schedule_times t = {.def = &def, .first_at = at("2026-01-01T00:00:00Z")};
    int64_t now = t.first_at + 250 * US_PER_S;
    int64_t last = t.first_at - 1;
    int64_t fired = 0;
    struct schedule_due due;

    (void)state;
    do {
        schedule_judge(&t, last, now, &due);
        for (size_t i = 0; i < due.n_fire; i++)
            assert_int_equal(due.fire[i], t.first_at + fired++ * US_PER_S);
        assert_int_equal(due.missed.count, 0);
        last = due.fire[due.n_fire - 1];
    } while (due.more);
    assert_int_equal(fired, 251);
    assert_int_equal(due.next_at, now + US_PER_S);
}

/* ---- against a walk over every minute ---- */

struct walked {
    int64_t fire[SCHEDULE_FIRINGS_MAX];
    size_t n_fire;
    int64_t missed;
};

static void walk(const struct schedule_times *t, int64_t last, int64_t now, struct walked *w)
{
    const struct schedule_def *def = t->def;
    int64_t within = def->catch_up_us > US_PER_MIN ? def->catch_up_us : US_PER_MIN;

    *w = (struct walked){.n_fire = 0};
    for (int64_t minute = last - last % US_PER_MIN; minute <= now; minute += US_PER_MIN) {
        bool nominal = def->every_us > 0
                           ? minute >= t->first_at && (minute - t->first_at) % def->every_us == 0
                           : cron_next(&def->cron, t->zone, minute - 1) == minute;

        if (!nominal || minute <= last)
            continue;
        if (!def->catch_up_all && w->n_fire > 0) { /* only the latest fires */
            w->n_fire = 0;
            w->missed++;
        }
        if (minute < now - within)
            w->missed++;
        else if (w->n_fire < SCHEDULE_FIRINGS_MAX)
            w->fire[w->n_fire++] = minute;
    }
}

static void what_is_due_is_what_a_walk_over_the_minutes_finds(void **state)
{
    static const char *const schedules[] = {
        "{\"cron\":\"*/7 * * * *\",\"queue\":\"q\"}",
        "{\"cron\":\"30 2 * * *\",\"queue\":\"q\"}",
        "{\"cron\":\"15 1-3 * * Sun\",\"queue\":\"q\"}",
        "{\"every\":\"7m\",\"queue\":\"q\"}",
        "{\"every\":\"11h\",\"queue\":\"q\"}",
    };
    CLEANUP(zone) struct zone berlin = zone_named("Europe/Berlin");
    struct rng rng;

    (void)state;
    rng_init(&rng, 11);
    for (int round = 0; round < 150; round++) {
        struct schedule_def def = schedule_of(schedules[rng_below(&rng, ARRAY_LEN(schedules))]);
        struct schedule_times t = {.def = &def,
                                   .zone = &berlin,
                                   .first_at = at("2026-03-20T05:01:00Z")};
        int64_t last = at("2026-03-27T00:00:00Z") + (int64_t)rng_below(&rng, 3 * US_PER_DAY);
        int64_t now = last + (int64_t)rng_below(&rng, 3 * US_PER_DAY);
        struct schedule_due due;
        struct walked w;

        def.catch_up_us = (int64_t)rng_below(&rng, 2) * (int64_t)rng_below(&rng, US_PER_DAY / 2);
        def.catch_up_all = def.catch_up_us > 0 && rng_below(&rng, 2) == 0;
        schedule_judge(&t, last, now, &due);
        walk(&t, last, now, &w);
        assert_int_equal(due.n_fire, w.n_fire);
        assert_memory_equal(due.fire, w.fire, w.n_fire * sizeof(w.fire[0]));
        assert_int_equal(due.missed.count, w.missed);
        assert_true(due.more || due.next_at > now);
    }
}

/* ---- jitter and overlaps ---- */

static void jitter_is_the_same_for_one_nominal_time(void **state)
{
    struct schedule_def def = schedule_of("{\"every\":60,\"queue\":\"q\",\"jitter\":\"10s\"}");
    int64_t sum = 0;

    (void)state;
    for (int64_t n = 0; n < 1000; n++) {
        int64_t late = schedule_jitter_us(&def, SLICE("nightly"), n * US_PER_MIN);

        assert_int_equal(late, schedule_jitter_us(&def, SLICE("nightly"), n * US_PER_MIN));
        assert_in_range(late, 0, 10 * US_PER_S - 1);
        sum += late;
    }
    assert_in_range(sum / 1000, 4 * US_PER_S, 6 * US_PER_S);
    assert_true(schedule_jitter_us(&def, SLICE("a"), 7) != schedule_jitter_us(&def, SLICE("b"), 7));
    def.jitter_us = 0;
    assert_int_equal(schedule_jitter_us(&def, SLICE("a"), 7), 0);
}

static void a_living_job_decides_what_the_next_firing_does(void **state)
{
    (void)state;
    for (unsigned o = OVERLAP_SKIP; o <= OVERLAP_REPLACE; o++)
        assert_int_equal(schedule_step(o, false), SCHEDULE_FIRE);
    assert_int_equal(schedule_step(OVERLAP_SKIP, true), SCHEDULE_SKIP);
    assert_int_equal(schedule_step(OVERLAP_QUEUE, true), SCHEDULE_FIRE_AFTER);
    assert_int_equal(schedule_step(OVERLAP_ALL, true), SCHEDULE_FIRE);
    assert_int_equal(schedule_step(OVERLAP_REPLACE, true), SCHEDULE_CANCEL_AND_FIRE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schedule_has_times_and_a_target),
        cmocka_unit_test(mistakes_in_schedules_are_told_with_their_place),
        cmocka_unit_test(every_counts_from_its_own_first_time),
        cmocka_unit_test(half_past_two_in_berlin_fires_once_a_night),
        cmocka_unit_test(a_firing_on_time_is_due_once),
        cmocka_unit_test(missed_firings_are_made_up_for_within_catch_up),
        cmocka_unit_test(ten_years_of_misses_are_one_entry),
        cmocka_unit_test(many_firings_come_in_several_answers),
        cmocka_unit_test(what_is_due_is_what_a_walk_over_the_minutes_finds),
        cmocka_unit_test(jitter_is_the_same_for_one_nominal_time),
        cmocka_unit_test(a_living_job_decides_what_the_next_firing_does),
    };

    skip_without_zones();
    return cmocka_run_group_tests(tests, NULL, release_memory);
}
