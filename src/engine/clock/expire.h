/*
 * Expiry: jobs that must have started by an instant are cancelled after it.
 *
 * Within the batch's transaction.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct engine;
struct queue;
struct submit_item;

/* Refuses a new job that has expired already, or will before it may start. */
void expire_judge(struct engine *e, const struct submit_item *item, struct err *refused);

/* A job is created: notes its expiry, its own or its queue's. */
void expire_note(struct engine *e, const struct submit_item *item, const struct queue *q,
                 int64_t job);

/* Writes what was noted. */
MUST_CHECK enum err_code expire_flush(struct engine *e, struct err *err);

/* Cancels jobs whose time has come, a bounded number. */
MUST_CHECK enum err_code expire_run(struct engine *e, struct err *err);

/* More jobs have expired than one pass cancels: which of the jobs that are about to be claimed
 * have. */
MUST_CHECK enum err_code expire_find(struct engine *e, const int64_t *ids, size_t n,
                                     bool *ret_expired, struct err *err);

/* Takes one of them out of the list of ready jobs; a later pass cancels it. */
MUST_CHECK enum err_code expire_hide(struct engine *e, struct queue *q, int64_t id,
                                     struct err *err);

/* Staged jobs were released: cancels those that were to have started by now. */
MUST_CHECK enum err_code expire_released(struct engine *e, const int64_t *ids, size_t n,
                                         struct err *err);
