/*
 * --results DIR: what each line has printed, in files: DIR/NUMBER/stdout and DIR/NUMBER/stderr.
 *
 * They are written when the line is printed, before it is marked so: after a kill they are written
 * again.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "each/order.h"

/* Makes the directory if it is not there.  E_INVALID, E_FORBIDDEN, E_FULL. */
MUST_CHECK enum err_code each_results_open(const char *dir, int *ret_fd, struct err *err);

MUST_CHECK enum err_code each_results_write(int dir_fd, int64_t line,
                                            const struct each_output *output, struct err *err);
