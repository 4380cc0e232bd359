/*
 * Logs of jobs: bytes at offsets, kept in pieces.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

struct store;

/* Bytes in the job's log so far. */
MUST_CHECK enum err_code store_log_size(struct store *s, int64_t job, int64_t *ret_size,
                                        struct err *err);

/* Adds bytes at an offset that must be the log's size; small ones join the last piece. */
MUST_CHECK enum err_code store_log_add(struct store *s, int64_t job, int64_t first,
                                       struct slice data, struct err *err);

typedef void store_log_fn(void *ctx, int64_t first, struct slice data);

/* The pieces that overlap [from, to), in order; the first may begin earlier, the last end later. */
MUST_CHECK enum err_code store_log_read(struct store *s, int64_t job, int64_t from, int64_t to,
                                        store_log_fn *on_piece, void *ctx, struct err *err);
