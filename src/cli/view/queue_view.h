/*
 * Queues for people: what their list, their page and the overview share.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "cli/view/screen.h"

/* The count of a queue's jobs in that state. */
int64_t queue_count(const json_t *queue, const char *state);

/* When its next ready job was created; 0 when none is ready. */
int64_t queue_next_at(const json_t *queue);

/* A member that `top` adds to each queue: jobs ended a second, a real number.  With it there is a
 * column for it. */
#define QUEUE_RATE "ended_per_s"

/* Where its program cannot be started, and why: a line for each place. */
void queue_print_broken(const json_t *queue, const char *before, const struct screen *s);

/* `by request, 5m ago`: what has brought it into a state other than up; else nothing. */
void queue_add_why(const json_t *queue, int64_t now_at, struct buf *out);
