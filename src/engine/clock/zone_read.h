/*
 * Reads a time zone of the system by its name.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "core/time/zone.h"

/* UTC, or an empty name, needs no file.  E_INVALID: no zone has that name; E_UNAVAILABLE: it
 * cannot be read. */
MUST_CHECK enum err_code zone_read(struct slice name, struct zone *ret_zone, struct err *err);
