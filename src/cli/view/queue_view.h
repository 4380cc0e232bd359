/*
 * Queues for people: the fields of their table and page.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "cli/view/screen.h"
#include "cli/view/view_field.h"

enum colour queue_state_colour(const char *state);

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

/* Fields of a queue. */
view_field_fn queue_write_state;
view_field_fn queue_write_count;   /* jobs in the state that the member names; 0 is dim */
view_field_fn queue_write_nonzero; /* the same; 0 is empty */
view_field_fn queue_write_next;
view_field_fn queue_write_why;
view_field_fn queue_write_rate;
bool queue_has_count(const struct view_field *f, const json_t *queue);
bool queue_has_rate(const struct view_field *f, const json_t *queue);

/* The end of its page: broken programs and the definition. */
void queue_print_more(const json_t *queue, const struct screen *s);
