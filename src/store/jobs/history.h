/*
 * The part of a job's row that most jobs never have: what happened to it besides running once.
 *
 * Kept as one JSON object, NULL when there is nothing to say, so that an ordinary job's row stays short.
 * A done job without one ended well at the first claim that finished it.  Keys are persisted: add, never
 * rename.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/slice.h"
#include "core/job/job.h"

/* There is nothing to say. */
bool history_is_plain(const struct job *j);

/* Empty when there is nothing to say. */
struct slice history_format(const struct job *j, struct arena *arena);

/* Fills holds, cancelling, outcome, counters, exit, cause, progress, text and the place on its route of a job
 * whose state and attempt are set.  False: it is not what history_format writes, and the job is as far as it got. */
MUST_CHECK bool history_parse(struct slice json, struct arena *arena, struct job *j);

/* Only what the next attempt goes on from: how often it was lost and returned, and the place on its route.
 * False as above. */
MUST_CHECK bool history_parse_claimed(struct slice json, struct job *j);
