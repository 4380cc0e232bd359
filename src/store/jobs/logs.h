/*
 * Logs of jobs: bytes at offsets, kept in pieces.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/job/log_mark.h"

struct store;

/* Size of the job's log in bytes. */
MUST_CHECK enum err_code store_log_size(struct store *s, int64_t job, int64_t *ret_size,
                                        struct err *err);

/* Appends; `first` must be the size of the log.  Small data is added to the last piece. */
MUST_CHECK enum err_code store_log_add(struct store *s, int64_t job, int64_t first,
                                       struct slice data, struct err *err);

/* Adds marks.  The number of marks of a job is limited; more are ignored. */
MUST_CHECK enum err_code store_log_mark(struct store *s, int64_t job, const struct log_mark *marks,
                                        size_t n, struct err *err);

/* The end of the job's log, at most `max` bytes; empty: no log.  It may be shorter than `max`,
 * because it is read from the last piece only. */
MUST_CHECK enum err_code store_log_tail(struct store *s, int64_t job, int max, struct arena *arena,
                                        struct slice *ret_tail, struct err *err);

typedef void store_log_mark_fn(void *ctx, const struct log_mark *mark);

/* All marks, in the order of their offsets. */
MUST_CHECK enum err_code store_log_marks(struct store *s, int64_t job, store_log_mark_fn *on_mark,
                                         void *ctx, struct err *err);

typedef void store_log_fn(void *ctx, int64_t first, struct slice data);

/* The pieces that overlap [from, to), in order; the first may begin earlier, the last end later. */
MUST_CHECK enum err_code store_log_read(struct store *s, int64_t job, int64_t from, int64_t to,
                                        store_log_fn *on_piece, void *ctx, struct err *err);
