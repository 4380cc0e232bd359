/*
 * The report of one attempt: everything its program has said on file descriptor 3.
 *
 * The owner passes each line in and gets replies for descriptor 4, notices for the job's log, and
 * request bodies for POST /v1/emit.  Replies are in the order of their lines: a reply that waits
 * for the server holds back those after it.
 *
 * What goes with the finish is in `gains` (gains.h).  When more jobs are emitted than fit into one
 * chunk, chunks go to the server ahead of the finish, staged.  `emit!` and `cursor` are sent at
 * once, in batches; a cursor goes together with the `emit!`s before it.  A cursor is refused after
 * `emit`, `step` or `raise`: if the attempt failed, their effect would be discarded, and the next
 * attempt, which starts behind the cursor, would not repeat it.
 *
 * One batch is under way at a time; after a lost reply the same one is sent again.
 * No I/O and no clock; times are of the steady clock.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/program/word.h"
#include "worker/run/emit_rules.h"

#define PROGRAM_REPORT_BATCH_JOBS 500
#define PROGRAM_REPORT_BATCH_BYTES ((size_t)1 << 20)
#define PROGRAM_REPORT_HELD_MAX ((size_t)4 << 20) /* bytes of jobs held; above: stop reading */
#define PROGRAM_REPORT_CURSOR_US INT64_C(20000)   /* the first emit! waits for a cursor to follow */

struct program_report;

struct program_report_config {
    const char *id;    /* of the job, as text */
    const char *lease; /* as text */
    struct emit_rules rules;
};

struct program_report *program_report_new(const struct program_report_config *config);
void program_report_free(struct program_report *a); /* accepts NULL */

/* One line of the program.  Adds whole lines to both buffers: replies, and refusals as notices. */
void program_report_line(struct program_report *a, struct slice line, int64_t now_at,
                         struct buf *replies, struct buf *notices);

/* A line of that many bytes was too long and was skipped. */
void program_report_long_line(struct program_report *a, uint64_t bytes, struct buf *replies,
                              struct buf *notices);

/* ---- status and end ---- */

/* The first end word; WORD_NONE when there was none. */
const struct word *program_report_end(const struct program_report *a);

bool program_report_has_status(const struct program_report *a); /* a text or a progress */
bool program_report_has_text(const struct program_report *a);
bool program_report_status_changed(const struct program_report *a);

/* Adds "text" (may be empty), and "done", "total", "unit" and "left" as far as they were said.
 * The status counts as sent; program_report_status_again undoes that, when the request was lost. */
void program_report_add_status(struct program_report *a, struct buf *b);
void program_report_status_again(struct program_report *a);

/* Adds the gains to the object of a finish.  Only when program_report_settled. */
void program_report_add_finish(const struct program_report *a, struct buf *b);

/* ---- jobs for the server ---- */

/* When program_report_next_batch has something: an instant, perhaps in the past, or TIME_NEVER. */
int64_t program_report_batch_at(const struct program_report *a);

/* Adds a body for POST /v1/emit, which is under way from then on; false: nothing is due. */
bool program_report_next_batch(struct program_report *a, int64_t now_at, struct buf *body);

/* The server has committed the batch under way; its reply is `{"ids":[…]}`. */
void program_report_batch_done(struct program_report *a, struct slice reply, struct buf *replies);

/* The server has refused the batch.  When the error names an item, only that one is left out and
 * the rest is sent again. */
void program_report_batch_refused(struct program_report *a, const struct err *why,
                                  struct buf *replies, struct buf *notices);

/* It is unknown whether the server has the batch: the same body is due again. */
void program_report_batch_again(struct program_report *a);

/* More than PROGRAM_REPORT_HELD_MAX is held: read no more lines until a batch is through. */
bool program_report_is_full(const struct program_report *a);

/* ---- the end ---- */

/* The program has ended: no cursor is waited for any more. */
void program_report_close(struct program_report *a);

/* The attempt is not done: discards the gains that depend on it. */
void program_report_discard_gains(struct program_report *a);

/* After program_report_close: no batch is under way or due, and the rest fits into the finish. */
bool program_report_settled(const struct program_report *a);

/* Why the attempt cannot succeed any more: the server refused a job that was answered `ok`, or the
 * program asked for something it has no right to.  NULL: no such reason. */
const struct err *program_report_fault(const struct program_report *a);
