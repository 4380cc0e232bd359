/*
 * A server for the time of a measurement: in a new directory, on a free port, gone afterwards.
 *
 * The measurement runs in a child process; whatever becomes of it, of the server or of us by a
 * signal, both are ended and the directory is removed.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"

/* Called in the child, with the server's TCP and Unix URLs; returns the exit status. */
typedef int bench_fn(void *ctx, const char *url, const char *unix_url);

/* E_INVALID when `dir` is not there, or in memory. */
MUST_CHECK enum err_code bench_check_disk(const char *dir, struct err *err);

/* The exit status of `measure`, or why there was none, in *ret_status.  E_INVALID when no directory
 * can be made in `dir`. */
MUST_CHECK enum err_code bench_with_server(const char *dir, bench_fn *measure, void *ctx,
                                           int *ret_status, struct err *err);
