/*
 * Gates: whether something may start now, and else why not and from when on.
 *
 * A gate has slots, rates, opening hours and two ways to be shut.  A resource is one gate, a lane
 * is one for each key (limit as slots, no hours).  All servers and tests judge by this one
 * function.
 *
 * What depends on time alone is put together: the instant that is answered is the first at which
 * shut, probe, hours and rates all allow a start, if nothing else starts until then.  Slots come
 * last, so a gate that is blocked by slots lacks slots only.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/gate/rate.h"

struct hours;
struct window;
struct zone;

enum { GATE_SLOTS_MAX = 10000, GATE_NAME_MAX = 200, GATE_WHY_MAX = 500 };

struct gate_rules {
    int64_t slots; /* 0: any number */
    struct rates rates;
    const struct hours *hours; /* settled; NULL: always open */
    const struct zone *zone;   /* of the hours and of times in texts; NULL: UTC */
};

/* Shut by hand or by the line `busy`, or by a probe. */
struct gate_shut {
    int64_t until_at; /* 0: not shut; TIME_NEVER: until it is opened */
    struct slice why; /* may be empty */
};

struct gate_state {
    int64_t in_use;              /* weights of live leases */
    const struct window *window; /* settled; NULL: no start is remembered */
    struct gate_shut shut;
    struct gate_shut probe;
};

/* In the order in which they are told when two end at one instant. */
enum gate_block {
    GATE_OK,
    GATE_BLOCKED_SHUT,
    GATE_BLOCKED_PROBE,
    GATE_BLOCKED_HOURS,
    GATE_BLOCKED_RATE,
    GATE_BLOCKED_SLOTS,
};

struct gate_verdict {
    enum gate_block by;
    int64_t until_at;        /* TIME_NEVER: unknown; it is news, not time, that changes it */
    const struct rate *rate; /* GATE_BLOCKED_RATE: which one */
};

/* The weight is one that gate_check_weight accepts. */
struct gate_verdict gate_judge(const struct gate_rules *rules, const struct gate_state *state,
                               int64_t now, int64_t weight);

/* Refuses weights that the gate can never grant.  E_INVALID: "search-api has 2 slots, but …". */
MUST_CHECK enum err_code gate_check_weight(const struct gate_rules *rules, struct slice name,
                                           int64_t weight, struct err *err);

/* Adds the reason for people: "search-api is closed until 22:00".  Times are those of the gate's
 * zone, with their date if it is not that of `now`. */
void gate_reason(const struct gate_rules *rules, const struct gate_state *state,
                 const struct gate_verdict *verdict, struct slice name, int64_t now, int64_t weight,
                 struct buf *out);

struct gate_opening {
    bool open;        /* neither shut nor outside of its hours */
    int64_t until_at; /* when that changes; TIME_NEVER: unknown */
};

struct gate_opening gate_open_at(const struct gate_rules *rules, const struct gate_state *state,
                                 int64_t at);

/* A shorter pause never shortens a longer one; returns whether `shut` has changed. */
bool gate_shut_longer(struct gate_shut *shut, int64_t until_at, struct slice why);
