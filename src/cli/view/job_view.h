/*
 * A job for people: in one line of a list, and as a page.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "cli/view/screen.h"

enum colour state_colour(const char *state);

/* If the job failed because it asked to run later too often, adds that and returns true. */
bool job_add_too_late(const json_t *job, struct buf *b);

/* What there is to say about it right now: why it waits, how far it is, how it ended. */
void job_about(const json_t *job, int64_t now_at, struct buf *out);

/* How far it is by its own word, 0 to 100; -1 when it has not said. */
int job_percent(const json_t *job);

/* ` at step 3, extract` of a route that has failed there; nothing otherwise. */
void job_failed_step(const json_t *job, struct buf *out);

void job_page(const json_t *job, int64_t now_at, const struct screen *s);
