/*
 * Conditions and destinations of a job, from the words of a line to JSON.
 *
 *   --after       ID  ID:failure  ID:end  ID/STEP  ID/STEP:end  signal:NAME  signal:NAME:N
 *   --on-success  QUEUE  queue:NAME  topic:NAME  join:NAME  signal:NAME  signal:NAME:N
 *
 * and either as a JSON object.  An id may be a job's URL.  A number at the end of a signal is its
 * count: a signal whose name ends in one is written as JSON.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/table/args.h"

/* Both add one JSON value.  E_INVALID: it has none of the forms. */
MUST_CHECK enum err_code condition_to_json(const char *given, struct buf *out, struct err *err);
MUST_CHECK enum err_code dest_to_json(const char *given, struct buf *out, struct err *err);

/* Adds the members `after`, `on_success` and `on_failure` for the options that the line has. */
MUST_CHECK enum err_code route_add_json(const struct args *a, struct buf *out, struct err *err);
