/*
 * Resident programs: started once, given many jobs (a carrier).
 *
 * A resident gets `{"job":…}` on its standard input, one job at a time, and answers on descriptor 3
 * with the job's id before each word.  What it prints meanwhile is that job's log.  It is started
 * when a job comes and no resident of the queue is free, and stopped after the queue's idle time.
 * When it dies, its present job loses an attempt, and its queue pauses, longer each time.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "worker/run/task.h"
#include "worker/talk/served_queues.h"

/* Stops idle residents whose time is over.  Returns when to look again. */
int64_t residents_pass(struct worker *w, int64_t now);

/* A queue was redefined or restarted: stops its residents, busy ones after their job. */
void residents_retire(struct worker *w, const struct served_queue *q);

/* Stops all idle residents; true when none is left. */
bool residents_end(struct worker *w);

/* Frees all residents, after their processes were killed. */
void residents_abandon(struct worker *w);
