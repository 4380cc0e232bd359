/*
 * The output of a program, on its way to the job's log.
 *
 * Bytes are kept unchanged.  If there are more than the cap, head and tail are kept, with a line
 * between them that says how much is missing: the head is sent as it grows, the tail when the
 * program has ended.  A piece is handed out again until the server has it; then it is freed, unless
 * `keep_text` is set.  Memory is bounded by the cap, and for a large cap by OUTPUT_PENDING_MAX and
 * OUTPUT_TAIL_MAX.
 *
 * Offsets are those of the job's log on the server, in which this attempt begins at `base`.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"

#define OUTPUT_PENDING_MAX \
    ((size_t)8 << 20) /* not acknowledged yet; when it is reached, the head ends */
#define OUTPUT_TAIL_MAX ((size_t)4 << 20)
#define OUTPUT_TIMES_MAX \
    1024 /* times held for one log; when reached, every second one is dropped */
#define OUTPUT_TIME_US INT64_C(10000) /* minimum between two times */

struct output;

struct output_config {
    int64_t cap;    /* maximum bytes of this attempt */
    int64_t base;   /* where the attempt begins in the job's log */
    bool keep_text; /* keeps everything in memory, for output_text */
};

struct output *output_new(const struct output_config *config);
void output_free(struct output *o); /* accepts NULL */

/* Bytes of the program; now_at is of the wall clock. */
void output_add(struct output *o, struct slice bytes, int64_t now_at);

/* Adds a line of the worker: "waybill: " and the text. */
void output_notice(struct output *o, struct slice text, int64_t now_at);

/* The program has ended: the tail can be sent.  Notices may still follow. */
void output_end(struct output *o, int64_t now_at);

/* Bytes that can be sent and are not acknowledged (before output_end without the tail). */
size_t output_pending(const struct output *o);

/* Adds `{"offset":N,"text":"…" or "base64":"…","times":[…]}` with at most `max` bytes of the
 * log, and returns their end, for output_ack; -1 if there are none.  The same bytes are added
 * again until they are acknowledged. */
int64_t output_add_piece(struct output *o, struct buf *b, size_t max);

/* The server's log ends at `size`, where the next piece begins.  If that is less than before
 * (the server lost what was not on its disk yet), a line in the log says so. */
void output_ack(struct output *o, int64_t size);

/* The server accepts no more (the log is full, or the job is gone): nothing is pending any more. */
void output_stop(struct output *o);

/* After output_end: adds standard error, if it was kept apart, behind the rest as far as it
 * fits, after a mark (LOG_MARK_ERRORS, core/job/log_mark.h). */
void output_add_errors(struct output *o, struct slice errors, int64_t now_at);

/* With keep_text, after output_end: the log of this attempt without standard error, and standard
 * error alone. */
struct slice output_text(const struct output *o);
struct slice output_errors(const struct output *o);
