/*
 * Resident programs: started once, fed with jobs line by line (the other way to carry out a task).
 *
 * A resident gets `{"job":…}` on its standard input, one job in hand at a time, and answers on descriptor 3
 * with the job's id before each word; what it prints meanwhile is that job's log.  It is started when
 * there is a job and none is free, and stopped after its queue's idle time.  One that dies costs the job in
 * hand an attempt, and its queue a pause that grows while it keeps dying.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "worker/run/task.h"
#include "worker/talk/served_queues.h"

/* Idle ones: those whose time is over are stopped, and those whose definition has changed.  Returns when
 * to look again. */
int64_t residents_pass(struct worker *w, int64_t now);

/* A queue was changed, restarted or is gone: its free residents are stopped, the others after their job. */
void residents_retire(struct worker *w, const struct served_queue *q);

/* All that are free are stopped; true when none is left. */
bool residents_end(struct worker *w);

/* Their processes have been killed: forgets them. */
void residents_abandon(struct worker *w);
