/*
 * Answers: returns the ops of a batch to their owners, and keeps those that may wait.
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
    int64_t wake_at;         /* steady: the earliest deadline of a waiting op */
    bool grants_due;         /* the next batch tries to grant jobs to waiting claims */
    bool answers_due;        /* a waiting op may have to be answered */
};

void waiting_init(struct waiting *w);

/* Within the transaction: prepares to wait for the end of a job. */
MUST_CHECK enum err_code wait_run(struct engine *e, struct op *op, struct err *err);

/* Returns the op to its owner. */
void answer(struct op *op);

/* After a commit: answers the ops of the batch, and waiting ops whose time is up or that got what
 * they wait for. */
void answer_all(struct engine *e, struct op **ops, size_t n);
