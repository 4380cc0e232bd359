/*
 * News between the servers of one store.  None on an embedded store.
 *
 * Lost news delays others until the next beat; nothing else depends on it.
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "engine/op.h"

struct cancel_note;
struct engine;

/* Sent with the batch's commit. */
void news_add_ended(struct engine *e, int64_t id);
void news_add_cancel(struct engine *e, const struct cancel_note *note);
void news_add_worker(struct engine *e, int64_t number);
void news_add_gate(struct engine *e, int64_t id);
void news_add_lane(struct engine *e, int64_t queue, int64_t lane);

/* Writes the news of the batch: its last write but one. */
MUST_CHECK enum err_code news_write(struct engine *e, struct err *err);

/* After a commit, or when it is due: sends which queues have ready jobs. */
void news_send_ready(struct engine *e);

/* Applies the news of another server. */
MUST_CHECK enum err_code news_run(struct engine *e, struct op *op, struct err *err);
