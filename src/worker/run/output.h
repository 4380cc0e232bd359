/*
 * What a program prints, on its way to the job's log.
 *
 * Bytes are kept as they come.  Of more than the cap, the head and the tail are kept, with a line between
 * them that says how much was left out: the head goes up as it grows, the rest follows when the program
 * has ended.  A piece is handed out for upload again until the server has it; what it has is forgotten,
 * unless the text is wanted in the end.  Memory is bounded by the cap, and where that is large by
 * OUTPUT_PENDING_MAX and OUTPUT_TAIL_MAX.
 *
 * Offsets are those of the job's log on the server, in which this attempt begins at `base`.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"

#define OUTPUT_PENDING_MAX ((size_t)8 << 20) /* not yet acknowledged; above it the head ends */
#define OUTPUT_TAIL_MAX ((size_t)4 << 20)
#define OUTPUT_TIMES_MAX 1024         /* kept for one log at a time; then every second one goes */
#define OUTPUT_TIME_US INT64_C(10000) /* between two of them */

struct output;

struct output_config {
    int64_t cap;    /* bytes of this attempt that are kept */
    int64_t base;   /* where it begins in the job's log */
    bool keep_text; /* all that is kept stays in memory, for output_text */
};

struct output *output_new(const struct output_config *config);
void output_free(struct output *o); /* NULL is fine */

/* Bytes of the program, at that instant of the wall clock. */
void output_add(struct output *o, struct slice bytes, int64_t now_at);

/* A line of ours: "waybill: " and the text, on a line of its own. */
void output_notice(struct output *o, struct slice text, int64_t now_at);

/* The program has ended: the tail joins what is to be uploaded.  Notices may still follow. */
void output_end(struct output *o, int64_t now_at);

/* More than enough waits for the server: whoever can wait should not add more now. */
bool output_is_full(const struct output *o);

/* Bytes that the server does not have yet, as far as they are settled (the tail is not before the end). */
size_t output_pending(const struct output *o);

/* Adds `{"offset":N,"text":"…" or "base64":"…","times":[…]}` with at most `max` bytes of the log, and
 * returns where they end, for output_ack; -1 and nothing when there are none.  The same bytes come again
 * until they are acknowledged. */
int64_t output_add_piece(struct output *o, struct buf *b, size_t max);

/* The server's log ends at `size`: what comes next begins there.  Less than it had before (it lost what was not
 * on its disk yet) leaves a line that says so. */
void output_ack(struct output *o, int64_t size);

/* The server takes no more (the log is full there, or the job is gone): nothing is pending any more. */
void output_stop(struct output *o);

/* After output_end: what the program wrote to standard error, where that was kept apart.  It stands behind the rest, as
 * far as there is room, and a mark (LOG_MARK_ERRORS, core/log_mark.h) says where it begins. */
void output_add_errors(struct output *o, struct slice errors, int64_t now_at);

/* With keep_text, after output_end: the log of this attempt as it is kept; without standard error where that was
 * added, and that alone. */
struct slice output_text(const struct output *o);
struct slice output_errors(const struct output *o);

/* The last line that the program printed that is not blank, as far as it is in memory; for messages. */
struct slice output_last_line(const struct output *o);
