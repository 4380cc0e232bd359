/*
 * The report of one attempt: all that its program has told on file descriptor 3.
 *
 * A line goes in, and out come replies for file descriptor 4, notices for the log, and bodies for
 * POST /v1/emit.  Replies are in the order of the lines they answer: one that has to wait for the server
 * holds those after it.  `emit`s are spooled and go with the finish; when more than a chunk has gathered,
 * chunks go ahead, staged.  `emit!` and `cursor` are sent at once, in batches, a cursor together with the
 * emits before it.  A cursor after an `emit` is refused: should the attempt fail, the emitted job would be
 * gone, and the next attempt would not make it again.  So it is with `step` and `raise`, which go with the
 * finish alone.  One batch is under way at a time; after a lost reply the same one goes again.
 *
 * No I/O and no clock: the owner sends what program_report_next_batch gives and tells what came of it.  Times are
 * of the steady clock.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/program/word.h"

#define PROGRAM_REPORT_BATCH_JOBS 500
#define PROGRAM_REPORT_BATCH_BYTES ((size_t)1 << 20)
#define PROGRAM_REPORT_HELD_MAX \
    ((size_t)4 << 20) /* bytes of emits that wait; above it reading should wait */
#define PROGRAM_REPORT_SET_MAX ((size_t)1 << 20)
#define PROGRAM_REPORT_SET_NAMES 1000
#define PROGRAM_REPORT_STEPS_MAX ((size_t)1 << 20) /* bytes of all steps together */
#define PROGRAM_REPORT_SIGNALS_MAX 1000            /* names */
#define PROGRAM_REPORT_CURSOR_US \
    INT64_C(20000) /* the first emit! waits so long for a cursor to follow */

struct program_report;

/* E_INVALID when there is no such queue, with the nearest name. */
typedef enum err_code program_report_queue_fn(void *ctx, struct slice name, struct err *err);

/* What the job knows of a route of its own. */
enum program_report_route {
    PROGRAM_REPORT_NO_ROUTE,
    PROGRAM_REPORT_ROUTE,
    PROGRAM_REPORT_ROUTE_FINAL, /* it has come to its final steps */
};

struct program_report_config {
    const char *id;    /* the job's, as text */
    const char *lease; /* as text */
    enum program_report_route route;
    bool may_command; /* what it emits may bring a command */
    program_report_queue_fn *knows_queue;
    program_report_queue_fn *knows_topic; /* the same for one that somebody is subscribed to */
    void *ctx;
};

struct program_report *program_report_new(const struct program_report_config *config);
void program_report_free(struct program_report *a); /* NULL is fine */

/* One line of the program.  Adds whole lines to both: replies to `replies`, complaints to `notices`. */
void program_report_line(struct program_report *a, struct slice line, int64_t now_at,
                         struct buf *replies, struct buf *notices);

/* A line of so many bytes was too long, and skipped. */
void program_report_long_line(struct program_report *a, uint64_t bytes, struct buf *replies,
                              struct buf *notices);

/* ---- what it has told ---- */

/* The first end word; WORD_NONE when there was none. */
const struct word *program_report_end(const struct program_report *a);

bool program_report_has_status(const struct program_report *a); /* a text or counts */
bool program_report_has_text(const struct program_report *a);
bool program_report_status_changed(const struct program_report *a);

/* Adds "text" (perhaps empty), and "done", "total", "unit", "left" as far as told, and notes that they were;
 * program_report_status_again undoes the latter, when the touch was lost. */
void program_report_add_status(struct program_report *a, struct buf *b);
void program_report_status_again(struct program_report *a);

/* Adds "set", "emit", "steps" and "raise" for a finish, as far as there are any.  Only when program_report_settled. */
void program_report_add_finish(const struct program_report *a, struct buf *b);

/* ---- jobs for the server ---- */

/* When program_report_next_batch has something: an instant that may have passed, or TIME_NEVER. */
int64_t program_report_batch_at(const struct program_report *a);

/* Adds a body for POST /v1/emit and considers it under way; false: nothing is due. */
bool program_report_next_batch(struct program_report *a, int64_t now_at, struct buf *body);

/* The batch under way: taken by the server, whose reply is `{"ids":[…]}`. */
void program_report_batch_done(struct program_report *a, struct slice reply, struct buf *replies);

/* Refused by the server.  An error that names an item leaves that one out of the next try. */
void program_report_batch_refused(struct program_report *a, const struct err *why,
                                  struct buf *replies, struct buf *notices);

/* Nobody knows: the same body is due again. */
void program_report_batch_again(struct program_report *a);

/* Above PROGRAM_REPORT_HELD_MAX: read no more lines until a batch is through. */
bool program_report_is_full(const struct program_report *a);

/* The program has ended: nothing waits for a cursor any more. */
void program_report_close(struct program_report *a);

/* The attempt has not succeeded: what `emit`, `step` and `raise` have left is forgotten. */
void program_report_drop_emits(struct program_report *a);

/* After program_report_close: nothing is under way nor due, the rest fits into the finish. */
bool program_report_settled(const struct program_report *a);

/* A job that was answered `ok` was refused by the server afterwards, or something that it asked for is beyond its
 * rights: the attempt cannot succeed.  NULL: all is well. */
const struct err *program_report_fault(const struct program_report *a);
