/*
 * Answers: what a batch has decided goes back to those who asked; ops that may wait, wait.
 *
 * Only after the commit.  Claims wait in the order they came.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/op.h"

struct engine;

struct waiting {
    struct op *claims; /* the oldest first */
    struct op **claims_end;
    struct op *end_watchers; /* ops that wait for the end of a job or of a bulk action */
    int64_t wake_at;         /* steady: no waiting op's time is up earlier */
    bool grants_due;         /* a claim that waits may get something: the next batch looks */
    bool answers_due;        /* an op that waits may have to be answered */
};

void waiting_init(struct waiting *w);

/* Within the transaction: a wait is about to begin. */
MUST_CHECK enum err_code wait_run(struct engine *e, struct op *op, struct err *err);

/* Hands the op back.  It is the caller's from then on. */
void answer(struct op *op);

/* After a commit: the ops of the batch, and those that have waited long enough or for this. */
void answer_all(struct engine *e, struct op **ops, size_t n);
