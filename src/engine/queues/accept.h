/*
 * Whether a queue accepts a job: checked for every job that enters it, and when its params change.
 *
 * Params and options are JSON objects or empty.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "base/slice.h"

struct queue;

/* E_QUEUE_DOWN or E_INVALID unless the queue is open, allows the job's own command if there is one,
 * and the params have what the command names. */
enum err_code queue_accepts(const struct queue *q, struct slice params, struct slice options,
                            struct err *refused);

/* Checks only that the params have what the command, the lane and the needs name, and that the
 * needs can be granted. */
enum err_code queue_check_params(const struct queue *q, struct slice params, struct slice options,
                                 struct err *refused);
