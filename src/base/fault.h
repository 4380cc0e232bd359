/*
 * Fault points: named places where a test can make the process die or a call fail.
 *
 * WAYBILL_FAULT="NAME:COUNT[:ACTION]" arms one: at the COUNT-th hit of NAME the process is killed with
 * SIGKILL (ACTION `kill`, the default), or fault_hit returns true once (ACTION `fail`), or from then on
 * always (ACTION `fail-all`).  Unarmed, a fault point costs one load and one branch.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

/* Reads WAYBILL_FAULT; call once, before threads start.  False (with a message on stderr) if malformed. */
bool fault_init(void);

/* Arms from a text of the same form, or disarms with NULL: for tests within one process. */
bool fault_arm(const char *plan);

bool fault_hit(const char *name);
