/*
 * Rights that belong to jobs: what a running job may emit, and what of a job's own command a client
 * may change.
 *
 * A command that comes with a job is the administrator's.  A job emits one only where its queue
 * says `may_emit: {command: true}`, whatever connection brought it, and the command carries the
 * limits of the job that emitted it: its user above all.  A client that may not bring a command may
 * not change either what such a command is run with.
 *
 * Within the batch's transaction.  A refusal is E_FORBIDDEN.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "engine/op.h"

struct engine;

/* Whether the job, loaded with what it carries, or one of its steps brings its own command. */
bool rights_has_command(struct engine *e, const struct job *j);

/* What the running job emits.  Items with commands are replaced by copies that carry its limits;
 * *ret_bad is the place of the first that is refused. */
MUST_CHECK enum err_code rights_judge_emits(struct engine *e, const struct job *j,
                                            const struct submit_item **items, size_t n,
                                            size_t *ret_bad, struct err *refused, struct err *err);

/* Steps that it adds to its route; *ret_limits are those of their commands, JSON or empty. */
MUST_CHECK enum err_code rights_judge_steps(struct engine *e, const struct job *j,
                                            struct slice steps, struct slice *ret_limits,
                                            struct err *refused, struct err *err);

/* Gives them to the steps that bring commands. */
void rights_limit_steps(struct route_step *steps, size_t n, struct slice limits);

/* Somebody without the right to bring commands is about to change what the job is run with; `what`
 * is what. */
void rights_judge_change(struct engine *e, const struct job *j, const char *what,
                         struct err *refused);

/* The same of a job that is not loaded. */
MUST_CHECK enum err_code rights_judge_change_of(struct engine *e, int64_t id, const char *what,
                                                struct err *refused, struct err *err);
