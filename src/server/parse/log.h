/*
 * A piece of a job's log, as it comes with a finish or a touch.
 *
 * {"offset": N, "text": "…" or "base64": "…", "times": [[OFFSET, MICROSECONDS], …]}
 * For parse_items.c; see there.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "engine/op.h"
#include "server/parse/fields.h"

MUST_CHECK enum err_code parse_log(struct field_reader *r, struct slice value,
                                   const struct log_append **ret_log);
