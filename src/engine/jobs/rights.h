/*
 * Rights of jobs and clients with commands: what a running job may emit, and who may change a job
 * that has its own command.
 *
 * Only the administrator may submit a job with its own command.  A job may emit a command only if
 * its queue is defined with `may_emit: {command: true}`, whatever connection is used; the emitted
 * command gets the limits of the emitting job, above all its user.  A client that may not submit
 * commands may not change how such a command runs either.
 *
 * Within the batch's transaction.  A refusal is E_FORBIDDEN.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "engine/op.h"

struct engine;

/* Whether the job, loaded with its payload, or one of its steps has its own command. */
bool rights_has_command(struct engine *e, const struct job *j);

/* Judges what the running job emits.  Items with commands are replaced by copies with its limits;
 * *ret_bad is the index of the first refused one. */
MUST_CHECK enum err_code rights_judge_emits(struct engine *e, const struct job *j,
                                            const struct submit_item **items, size_t n,
                                            size_t *ret_bad, struct err *refused, struct err *err);

/* Judges steps that the job adds to its route; *ret_limits: of their commands, JSON or empty. */
MUST_CHECK enum err_code rights_judge_steps(struct engine *e, const struct job *j,
                                            struct slice steps, struct slice *ret_limits,
                                            struct err *refused, struct err *err);

/* Sets the limits of the steps that have commands. */
void rights_limit_steps(struct route_step *steps, size_t n, struct slice limits);

/* Judges whether a client that may not submit commands may change how the job runs; `what` names
 * the changed field. */
void rights_judge_change(struct engine *e, const struct job *j, const char *what,
                         struct err *refused);

/* The same for a job that is not loaded. */
MUST_CHECK enum err_code rights_judge_change_of(struct engine *e, int64_t id, const char *what,
                                                struct err *refused, struct err *err);
