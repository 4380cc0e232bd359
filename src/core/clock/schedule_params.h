/*
 * The params of a schedule's jobs: `{day}`, `{now}` and `{schedule}` in their texts are filled in,
 * as core/program/template.h describes.  {now} is the nominal time in UTC, {day} its date in the
 * zone of the schedule.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* `params` is a checked JSON object without white space.  E_INVALID: names that a schedule does
 * not have. */
MUST_CHECK enum err_code schedule_params_check(struct slice params, struct err *err);

struct schedule_moment {
    struct slice schedule; /* its name */
    int64_t nominal_at;
    int64_t local_at; /* the same on the clocks of its zone */
};

/* Adds the params with all names filled in. */
MUST_CHECK enum err_code schedule_params_fill(struct slice params,
                                              const struct schedule_moment *moment, struct buf *out,
                                              struct err *err);
