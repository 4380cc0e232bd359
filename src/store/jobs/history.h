/*
 * The part of a job's row that most jobs do not have: what happened besides running once.
 *
 * One JSON object, NULL for most jobs, so that their rows stay short.  A done job without history
 * succeeded in the first claim that finished it.  Keys are persisted: add keys, never rename them.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/slice.h"
#include "core/job/job.h"

/* The history is empty. */
bool history_is_plain(const struct job *j);

/* Empty for a plain job. */
struct slice history_format(const struct job *j, struct arena *arena);

/* Fills in holds, cancelling, outcome, counters, exit, cause, progress, text and the position on
 * its route; the job's state and attempt must be set.  False: history_format does not write such a
 * text; the job is filled in partly. */
MUST_CHECK bool history_parse(struct slice json, struct arena *arena, struct job *j);

/* Only what the next attempt needs: how often the job was lost and returned, and the position on
 * its route.  False as above. */
MUST_CHECK bool history_parse_claimed(struct slice json, struct job *j);
