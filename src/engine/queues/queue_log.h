/*
 * A queue's own log: what happened to it, for people.
 *
 * A line is written in the commit of what it describes.  Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "core/job/job.h"
#include "store/queues.h"

struct engine;
struct queue;

MUST_CHECK enum err_code queue_note(struct engine *e, const struct queue *q, const char *what,
                                    struct slice text, struct err *err);

/* The queue is about to get this definition: names the keys that differ. */
MUST_CHECK enum err_code queue_note_changed(struct engine *e, const struct queue *q,
                                            struct slice definition, struct err *err);

/* An attempt failed or was lost.  At most one line a second, with the number of those left
 * out. */
MUST_CHECK enum err_code queue_note_attempt(struct engine *e, struct queue *q, const struct job *j,
                                            const char *what, struct err *err);

/* A worker reports other queues as broken than it did before (`was`). */
MUST_CHECK enum err_code queue_note_broken(struct engine *e, struct slice was,
                                           const struct stored_worker *w, struct err *err);
