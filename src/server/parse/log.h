/*
 * A piece of a job's log, as it comes with a finish or a touch.
 *
 * {"offset": N, "text": "…" or "base64": "…", "times": [[OFFSET, MICROSECONDS], …]}
 * For items.c; see there.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "core/object/object.h"

/* Into a field that points to a struct log_append. */
field_fn log_read;

extern const struct object log_object;
