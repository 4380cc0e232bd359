/*
 * Names of days and months, as people write them in opening hours and schedules.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "base/slice.h"

/* Sun is 0, Sat 6; Jan is 1.  Short names or whole ones, in any case.  E_INVALID names the nearest
 * word. */
MUST_CHECK enum err_code day_name_parse(struct slice text, int *ret_day, struct err *err);
MUST_CHECK enum err_code month_name_parse(struct slice text, int *ret_month, struct err *err);
