/*
 * The files of time zones: TZif of RFC 8536 and 9636, versions 1 to 4, and the POSIX-TZ text at
 * their end.
 *
 * Whatever the bytes are, the result is a zone or an error.  Names of zones, marks of summer time
 * and of standard time are not kept.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "core/time/zone.h"

enum { TZIF_CHANGES_MAX = 4000 };

/* E_INVALID for bytes that are no zone, and for zones that count leap seconds ("right/…"). */
MUST_CHECK enum err_code tzif_parse(struct slice bytes, struct zone *ret_zone, struct err *err);

/* The rule of a POSIX-TZ text like "CET-1CEST,M3.5.0,M10.5.0/3".  False when it is none. */
MUST_CHECK bool posix_tz_parse(struct slice text, struct zone_rule *ret_rule);
