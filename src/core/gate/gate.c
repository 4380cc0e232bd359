/* SPDX-License-Identifier: MIT */
#include "core/gate/gate.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/civil.h"
#include "base/compiler.h"
#include "core/gate/window.h"
#include "core/time/hours.h"
#include "core/time/zone.h"

static const struct zone utc = {.changes = NULL};

static const struct zone *zone_of(const struct gate_rules *rules)
{
    return rules->zone == NULL ? &utc : rules->zone;
}

/* ---- judging ---- */

static void wait_for(struct gate_verdict *v, enum gate_block by, int64_t until_at)
{
    if (until_at <= v->until_at)
        return;
    v->by = by;
    v->until_at = until_at;
}

/* Hours are looked at last: what else blocks never begins to block later, hours may. */
static void wait_for_hours(struct gate_verdict *v, const struct gate_rules *rules)
{
    if (rules->hours == NULL || v->until_at == TIME_NEVER)
        return;
    struct hours_state s = hours_at(rules->hours, zone_of(rules), v->until_at);

    if (!s.open)
        wait_for(v, GATE_BLOCKED_HOURS, s.until_at);
}

struct gate_verdict gate_judge(const struct gate_rules *rules, const struct gate_state *state,
                               int64_t now, int64_t weight)
{
    struct gate_verdict v = {.by = GATE_OK, .until_at = now};

    wait_for(&v, GATE_BLOCKED_SHUT, state->shut.until_at);
    wait_for(&v, GATE_BLOCKED_PROBE, state->probe.until_at);
    if (state->window != NULL) {
        struct window_verdict next = window_next(state->window, &rules->rates, now, weight);

        wait_for(&v, GATE_BLOCKED_RATE, next.at);
        v.rate = v.by == GATE_BLOCKED_RATE ? next.by : NULL;
    }
    wait_for_hours(&v, rules);
    if (v.by == GATE_BLOCKED_HOURS)
        v.rate = NULL;
    if (v.by == GATE_OK && rules->slots > 0 && weight > rules->slots - state->in_use)
        return (struct gate_verdict){.by = GATE_BLOCKED_SLOTS, .until_at = TIME_NEVER};
    return v;
}

enum err_code gate_check_weight(const struct gate_rules *rules, struct slice name, int64_t weight,
                                struct err *err)
{
    char text[RATE_TEXT_SIZE];

    if (rules->slots > 0 && weight > rules->slots)
        return err_set(err, E_INVALID,
                       "%.*s has %" PRId64 " slots and can never grant %" PRId64 " at once",
                       (int)name.size, name.data, rules->slots, weight);
    for (size_t i = 0; i < rules->rates.count; i++)
        if (weight > rules->rates.items[i].starts)
            return err_set(err, E_INVALID,
                           "%.*s has a rate of %s and can never grant %" PRId64 " at once",
                           (int)name.size, name.data, rate_format(&rules->rates.items[i], text),
                           weight);
    return E_OK;
}

struct gate_opening gate_open_at(const struct gate_rules *rules, const struct gate_state *state,
                                 int64_t at)
{
    struct gate_verdict v = {.by = GATE_OK, .until_at = at};

    wait_for(&v, GATE_BLOCKED_SHUT, state->shut.until_at);
    wait_for(&v, GATE_BLOCKED_PROBE, state->probe.until_at);
    wait_for_hours(&v, rules);
    if (v.by != GATE_OK)
        return (struct gate_opening){.open = false, .until_at = v.until_at};
    return (struct gate_opening){
        .open = true,
        .until_at = rules->hours == NULL ? TIME_NEVER
                                         : hours_at(rules->hours, zone_of(rules), at).until_at};
}

bool gate_shut_longer(struct gate_shut *shut, int64_t until_at, struct slice why)
{
    if (until_at <= shut->until_at)
        return false;
    *shut = (struct gate_shut){.until_at = until_at, .why = why};
    return true;
}

/* ---- telling ---- */

/* "22:00", "22:00:30", "2026-12-27 00:00" */
static void add_time(const struct zone *z, int64_t now, int64_t at, struct buf *out)
{
    int64_t second = floor_div(zone_local(z, at) + US_PER_S - 1, US_PER_S); /* not too early */
    int64_t date = floor_div(second, 24 * 3600);
    int of_day = (int)(second - date * 24 * 3600);
    struct civil day = civil_from_days(date);

    if (date != floor_div(zone_local(z, now), US_PER_DAY))
        buf_addf(out, "%04" PRId64 "-%02d-%02d ", day.year, day.month, day.day);
    buf_addf(out, "%02d:%02d", of_day / 3600, of_day / 60 % 60);
    if (of_day % 60 > 0)
        buf_addf(out, ":%02d", of_day % 60);
}

static void add_until(const struct gate_rules *rules, int64_t now, int64_t at, struct buf *out)
{
    if (at == TIME_NEVER)
        return;
    buf_add_str(out, " until ");
    add_time(zone_of(rules), now, at, out);
}

static void add_why(struct slice why, struct buf *out)
{
    if (why.size == 0)
        return;
    buf_add_str(out, ": ");
    buf_add_slice(out, why);
}

void gate_reason(const struct gate_rules *rules, const struct gate_state *state,
                 const struct gate_verdict *verdict, struct slice name, int64_t now, int64_t weight,
                 struct buf *out)
{
    char length[DURATION_TEXT_SIZE];

    buf_add_slice(out, name);
    switch (verdict->by) {
    case GATE_OK: buf_add_str(out, " is open"); break;
    case GATE_BLOCKED_SHUT:
        buf_add_str(out, " is shut");
        add_until(rules, now, verdict->until_at, out);
        add_why(state->shut.why, out);
        break;
    case GATE_BLOCKED_PROBE:
        buf_add_str(out, " is shut by its probe");
        add_until(rules, now, verdict->until_at, out);
        add_why(state->probe.why, out);
        break;
    case GATE_BLOCKED_HOURS:
        buf_add_str(out, " is closed");
        add_until(rules, now, verdict->until_at, out);
        break;
    case GATE_BLOCKED_RATE:
        buf_addf(out, " allows %" PRId64 " start%s in %s", verdict->rate->starts,
                 verdict->rate->starts == 1 ? "" : "s",
                 duration_format(verdict->rate->length_us, length));
        break;
    case GATE_BLOCKED_SLOTS:
        buf_addf(out, " has %" PRId64 " of %" PRId64 " slots in use", state->in_use, rules->slots);
        if (weight > 1)
            buf_addf(out, ", %" PRId64 " are needed", weight);
        break;
    }
}
