/*
 * Gates: what blocks, until when, and how it is told.
 */
/* SPDX-License-Identifier: MIT */
#include "core/gate/gate.h"

#include "core/gate/window.h"
#include "core/time/hours.h"
#include "core/time/zone_fixture.h"

static struct hours hours_of(const char *open)
{
    struct hours h = {.n_ranges = 0};
    struct err err = ERR_INIT;

    assert_int_equal(hours_add_open(&h, slice_of(open), &err), E_OK);
    assert_int_equal(hours_settle(&h, HOURS_OPEN_GIVEN, &err), E_OK);
    return h;
}

static void assert_reason(const struct gate_rules *rules, const struct gate_state *gate,
                          int64_t now, int64_t weight, const char *want)
{
    CLEANUP(buf) struct buf text = BUF_INIT(1000);
    struct gate_verdict v = gate_judge(rules, gate, now, weight);

    gate_reason(rules, gate, &v, SLICE("search-api"), now, weight, &text);
    assert_string_equal(buf_text(&text), want);
}

static void a_gate_without_limits_lets_all_pass(void **state)
{
    struct gate_rules rules = {.slots = 0};
    struct gate_state gate = {.in_use = 1000000};

    (void)state;
    assert_int_equal(gate_judge(&rules, &gate, 5, 1000).by, GATE_OK);
    assert_true(gate_open_at(&rules, &gate, 5).open);
    assert_true(gate_open_at(&rules, &gate, 5).until_at == TIME_NEVER);
}

static void a_weight_passes_when_its_slots_are_free(void **state)
{
    struct gate_rules rules = {.slots = 4};
    struct gate_state gate = {.in_use = 2};

    (void)state;
    assert_int_equal(gate_judge(&rules, &gate, 5, 2).by, GATE_OK);
    struct gate_verdict v = gate_judge(&rules, &gate, 5, 3);

    assert_int_equal(v.by, GATE_BLOCKED_SLOTS);
    assert_true(v.until_at == TIME_NEVER);
    assert_reason(&rules, &gate, 5, 3, "search-api has 2 of 4 slots in use, 3 are needed");
    gate.in_use = 5; /* a definition with fewer slots than are in use */
    assert_reason(&rules, &gate, 5, 1, "search-api has 5 of 4 slots in use");
}

static void closed_is_told_in_the_zone_of_the_gate(void **state)
{
    CLEANUP(zone) struct zone berlin = zone_named("Europe/Berlin");
    struct hours hours = hours_of("22:00-06:00 Mon-Fri");
    struct gate_rules rules = {.hours = &hours, .zone = &berlin};
    struct gate_state gate = {.in_use = 0};
    int64_t noon = at("2026-11-18T11:00:00Z");
    struct gate_verdict v = gate_judge(&rules, &gate, noon, 1);

    (void)state;
    assert_int_equal(v.by, GATE_BLOCKED_HOURS);
    assert_instant(v.until_at, "2026-11-18T21:00:00Z");
    assert_reason(&rules, &gate, noon, 1, "search-api is closed until 22:00");
    assert_reason(&rules, &gate, at("2026-11-21T05:00:00Z"), 1,
                  "search-api is closed until 2026-11-23 22:00");
    assert_int_equal(gate_judge(&rules, &gate, at("2026-11-18T21:00:00Z"), 1).by, GATE_OK);
    assert_false(gate_open_at(&rules, &gate, noon).open);
    struct gate_opening night = gate_open_at(&rules, &gate, at("2026-11-18T22:00:00Z"));

    assert_true(night.open);
    assert_instant(night.until_at, "2026-11-19T05:00:00Z");
}

static void shut_is_told_with_its_reason(void **state)
{
    struct gate_rules rules = {.slots = 1};
    struct gate_state gate = {.in_use = 1,
                              .shut = {at("2026-11-18T12:30:05Z"), SLICE("too many requests")}};
    int64_t now = at("2026-11-18T12:00:00Z");

    (void)state;
    assert_reason(&rules, &gate, now, 1, "search-api is shut until 12:30:05: too many requests");
    gate.shut = (struct gate_shut){.until_at = TIME_NEVER};
    assert_reason(&rules, &gate, now, 1, "search-api is shut");
    gate.shut.until_at = now; /* over */
    assert_reason(&rules, &gate, now, 1, "search-api has 1 of 1 slots in use");
    gate.probe = (struct gate_shut){now + 1, SLICE("exit status 75")};
    assert_reason(&rules, &gate, now, 1,
                  "search-api is shut by its probe until 12:00:01: exit status 75");
}

static void the_instant_is_the_first_at_which_all_allow_a_start(void **state)
{
    struct hours hours = hours_of("10:00-12:00");
    CLEANUP(window) struct window w = WINDOW_INIT;
    struct gate_rules rules = {.hours = &hours,
                               .rates = {.items = {{1, 90 * US_PER_MIN}}, .count = 1}};
    struct gate_state gate = {.window = &w};
    int64_t now = at("2026-11-18T11:00:00Z");

    (void)state;
    window_add(&w, now, 1); /* the next at 12:30, which is closed */
    struct gate_verdict v = gate_judge(&rules, &gate, now, 1);

    assert_int_equal(v.by, GATE_BLOCKED_HOURS);
    assert_instant(v.until_at, "2026-11-19T10:00:00Z");
    assert_null(v.rate);
    gate.shut.until_at = at("2026-11-19T11:00:00Z");
    v = gate_judge(&rules, &gate, now, 1);
    assert_int_equal(v.by, GATE_BLOCKED_SHUT);
    assert_instant(v.until_at, "2026-11-19T11:00:00Z");
    gate.shut.until_at = at("2026-11-19T12:00:00Z");
    assert_instant(gate_judge(&rules, &gate, now, 1).until_at, "2026-11-20T10:00:00Z");
    assert_instant(gate_open_at(&rules, &gate, now).until_at, "2026-11-20T10:00:00Z");
    gate.shut.until_at = 0;
    now = at("2026-11-18T09:30:00Z");
    window_deinit(&w);
    window_add(&w, now, 1); /* the next at 11:00, closed until 10:00 */
    v = gate_judge(&rules, &gate, now, 1);
    assert_int_equal(v.by, GATE_BLOCKED_RATE);
    assert_reason(&rules, &gate, now, 1, "search-api allows 1 start in 90m");
}

static void what_can_never_be_granted_is_refused(void **state)
{
    struct gate_rules rules = {.slots = 2, .rates = {.items = {{1, US_PER_S}}, .count = 1}};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(gate_check_weight(&rules, SLICE("api"), 1, &err), E_OK);
    assert_int_equal(gate_check_weight(&rules, SLICE("api"), 3, &err), E_INVALID);
    assert_string_equal(err.msg, "api has 2 slots and can never grant 3 at once");
    assert_int_equal(gate_check_weight(&rules, SLICE("api"), 2, &err), E_INVALID);
    assert_string_equal(err.msg, "api has a rate of 1/1s and can never grant 2 at once");
}

static void a_shorter_pause_never_shortens_a_longer_one(void **state)
{
    struct gate_shut shut = {.until_at = 0};

    (void)state;
    assert_true(gate_shut_longer(&shut, 100, SLICE("a")));
    assert_false(gate_shut_longer(&shut, 100, SLICE("b")));
    assert_false(gate_shut_longer(&shut, 50, SLICE("c")));
    assert_int_equal(shut.until_at, 100);
    assert_slice_is(shut.why, "a");
    assert_true(gate_shut_longer(&shut, TIME_NEVER, SLICE("d")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gate_without_limits_lets_all_pass),
        cmocka_unit_test(a_weight_passes_when_its_slots_are_free),
        cmocka_unit_test(closed_is_told_in_the_zone_of_the_gate),
        cmocka_unit_test(shut_is_told_with_its_reason),
        cmocka_unit_test(the_instant_is_the_first_at_which_all_allow_a_start),
        cmocka_unit_test(what_can_never_be_granted_is_refused),
        cmocka_unit_test(a_shorter_pause_never_shortens_a_longer_one),
    };

    skip_without_zones();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
