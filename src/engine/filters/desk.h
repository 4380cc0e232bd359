/*
 * The desk: jobs that wait for the verdict of a command, workers that ask for such jobs, verdicts.
 *
 * A job whose queue has a command filter is made held (JOB_HOLD_FILTER), with a row of its own.  A
 * worker that runs the queue's commands asks for such jobs (OP_FILTER) and sends what its program
 * says: keep, with params to merge or without; drop; or that the program failed, and then the job
 * stays held and is tried again later, by any worker.  Who was given a job is known in memory only:
 * a verdict counts once, whoever sends it, and a job whose worker is silent is given again.
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "engine/op.h"

struct engine;
struct job;

struct desk_grant {
    int64_t job;
    int64_t until_at; /* steady */
};

struct desk {
    struct op *askers; /* waiting ones, the oldest first */
    VEC(struct desk_grant) granted;
    int64_t look_at;    /* wall: no job is due for a verdict earlier */
    bool knows_orphans; /* no queue without a command filter has such jobs */
};

/* The job is made held: it waits for the verdict of its queue's command. */
MUST_CHECK enum err_code desk_add(struct engine *e, const struct job *j, struct err *err);

/* A definition has changed: jobs may wait for a filter that is not there any more. */
void desk_redefined(struct engine *e);

/* What the request says. */
MUST_CHECK enum err_code desk_verdicts_run(struct engine *e, struct op *op, struct err *err);

/* Gives jobs to those who ask. */
MUST_CHECK enum err_code desk_grant(struct engine *e, struct err *err);

/* After the commit: answers an asker, or keeps it waiting; answers those that waited. */
bool desk_has_answer(const struct op *op);
void desk_close(struct op *op);

/* Wall: when the next job may be given; TIME_NEVER while nobody asks. */
int64_t desk_next_at(const struct engine *e);

void desk_free(struct engine *e);
