/*
 * Who may claim under a worker's name.
 *
 * While an instance is present, no other claims under its name: two processes that both believe to
 * be the worker would run its jobs twice.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "engine/op.h"

struct engine;
struct known_worker;

/* Refuses the claims of the batch that may not use their name.  Before anything else of the batch:
 * nothing of a refused request happens. */
MUST_CHECK enum err_code instances_admit(struct engine *e, struct err *err);

/* Notes that the worker of a claim was heard of. */
void instance_heard(struct engine *e, const struct exchange *x);

/* The worker's row was read: sets until when its instance counts as present. */
void instance_found(const struct engine *e, struct known_worker *w);

/* Whether a worker that lists what it holds lists all that was granted to its name. */
bool instance_says_all(const struct engine *e, const struct exchange *x);
