/*
 * News between the servers of one store.  None on an embedded store.
 *
 * Lost news delay others until the next beat; they break nothing.
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "engine/op.h"

struct cancel_note;
struct engine;

/* With the batch's commit. */
void news_add_ended(struct engine *e, int64_t id);
void news_add_cancel(struct engine *e, const struct cancel_note *note);
void news_add_worker(struct engine *e, int64_t number);

/* The batch's last write but one: its news. */
MUST_CHECK enum err_code news_write(struct engine *e, struct err *err);

/* After a commit, or when the time has come: which queues have ready jobs. */
void news_send_ready(struct engine *e);

/* Takes what another server reports. */
MUST_CHECK enum err_code news_run(struct engine *e, struct op *op, struct err *err);
