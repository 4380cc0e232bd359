/*
 * Finish: ends an attempt and decides the next state of its job.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "core/job/attempt.h"
#include "core/job/job.h"
#include "engine/op.h"

struct engine;

/* What an attempt leaves besides its outcome; empty slices where it leaves nothing. */
struct attempt_gain {
    struct slice set;    /* JSON object */
    struct slice result; /* JSON */
    struct slice steps;  /* JSON array: steps added to its route */
    struct slice limits; /* of the commands in those steps: JSON object */
};

/* Ends the attempt of a running job; `was` is as store_job_load returned it. */
MUST_CHECK enum err_code attempt_end_run(struct engine *e, const struct job *was,
                                         const struct attempt_end *end,
                                         const struct attempt_gain *gain, struct err *err);

/* Runs the finishes of an exchange that finish_plain did not. */
MUST_CHECK enum err_code finish_run(struct engine *e, struct op *op, struct err *err);
