/*
 * Firing: makes the job of a schedule and keeps an entry about it.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "core/clock/firing.h"
#include "core/clock/schedule_def.h"
#include "store/clock/schedules.h"

struct engine;

/* A schedule while it is settled: `row` is changed, and written in the end. */
struct firing {
    struct stored_schedule row;
    struct schedule_def def;
    const struct zone *zone;
};

/* Reads definition and zone.  A refusal (a zone that is gone) is in `refused`. */
void firing_open(struct engine *e, const struct stored_schedule *row, struct firing *ret,
                 struct err *refused);

/* Fires for a nominal time, or keeps in an entry why not; *ret_entry is that entry. */
MUST_CHECK enum err_code firing_make(struct engine *e, struct firing *f, int64_t nominal_at,
                                     const char *why, struct stored_firing *ret_entry,
                                     struct err *err);

/* Keeps an entry about times in a row that did not fire. */
MUST_CHECK enum err_code firing_note_gap(struct engine *e, struct firing *f,
                                         enum firing_state state, const struct firing_gap *gap,
                                         const char *why, struct err *err);

/* Writes the row; gives way when another server has changed it. */
MUST_CHECK enum err_code firing_write(struct engine *e, const struct stored_schedule *was,
                                      const struct stored_schedule *now, struct err *err);

/* Adds an event about the schedule. */
void firing_event(struct engine *e, struct slice name, const char *what,
                  const struct stored_firing *entry);

extern const char *const firing_state_names[FIRING_STATE_COUNT];
