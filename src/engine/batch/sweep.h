/*
 * The engine's own work: expired leases, due jobs, bulk actions, retention, absent subscribers.
 *
 * Each pass does a bounded amount in the batch's transaction; the rest is due at once again.
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct engine;

struct sweep {
    int64_t due_at;         /* wall: no scheduled job is due earlier */
    int64_t retain_at;      /* wall: no job is removed earlier */
    int64_t subscribers_at; /* wall: when to look for subscribers whose worker is absent */
    int64_t uniques_at;     /* wall: when to look for keys that are not kept any longer */
    int64_t resume_at;      /* steady: after a failed batch, own work rests until then */
};

bool sweep_is_due(const struct engine *e);

/* Does what is due. */
MUST_CHECK enum err_code sweep_run(struct engine *e, struct err *err);

/* When it is due next: by the steady clock, and by the wall clock. */
int64_t sweep_next_steady_at(const struct engine *e);
int64_t sweep_next_wall_at(const struct engine *e);

/* Whether own work rests, after a failed batch. */
bool sweep_rests(const struct engine *e);
