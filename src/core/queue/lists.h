/*
 * Lists in a queue's definition: destinations of `on_success` and `on_failure`, topics of `subscribe`.
 *
 * For src/core/queue_values.c alone.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/queue/keys.h"

struct queue_def;
struct queue_read;

/* The message has the key's name already. */
MUST_CHECK enum err_code queue_dests_read(struct queue_read *r, const struct queue_key *key,
                                          struct slice value);
MUST_CHECK enum err_code queue_topics_read(struct queue_read *r, const struct queue_key *key,
                                           struct slice value);
void queue_topics_write(const struct queue_def *def, struct buf *out);
