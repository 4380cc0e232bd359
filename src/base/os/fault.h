/*
 * Fault points: named places where a test can make the process die or a call fail.
 *
 * WAYBILL_FAULT="NAME:COUNT[:ACTION]" arms one: at the COUNT-th hit of NAME the process is killed
 * with SIGKILL (ACTION `kill`, the default), or fault_hit returns true once (ACTION `fail`), or
 * from then on always (ACTION `fail-all`); that is logged. Unarmed, a fault point costs one load
 * and one branch.
 *
 * Points may be hit from any thread; arming is for the time before threads start.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

/* Reads WAYBILL_FAULT; call once, before threads start.  False (with a message on stderr) if
 * malformed. */
bool fault_init(void);

/* Arms from a text of the same form, or disarms with NULL: for tests within one process. */
bool fault_arm(const char *plan);

extern atomic_bool fault_armed; /* for fault_hit alone */
bool fault_hit_armed(const char *name);

static inline bool fault_hit(const char *name)
{
    return atomic_load_explicit(&fault_armed, memory_order_acquire) && fault_hit_armed(name);
}
