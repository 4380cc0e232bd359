/*
 * The jobs of `add --job`, merged with the other options of the line.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/*
 * Reads a job, or an array of jobs, as JSON out of `given` (@FILE, -, or the JSON itself).  `line`
 * is the object that the other words and options make: its members replace those of the job, except
 * that params and labels are added to the job's own.  An array is taken as it is, and only with an
 * empty line.  E_INVALID, E_TOO_LARGE.
 */
MUST_CHECK enum err_code job_merge(const char *given, struct slice line, struct buf *out,
                                   bool *ret_many, struct err *err);
