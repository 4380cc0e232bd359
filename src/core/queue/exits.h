/*
 * retry.exits: what exit statuses mean, `{75: later, 64-74: never}`.
 *
 * No status may be named twice; rules are kept in the order of their statuses.
 * For src/core/queue_values.c alone.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/job/retry.h"
#include "core/queue/keys.h"

struct queue_read;

/* Replaces the rules of r->def->retry. */
MUST_CHECK enum err_code queue_exits_read(struct queue_read *r, const struct queue_key *key,
                                          struct slice value);

void queue_exits_write(const struct retry_policy *p, struct buf *out);
