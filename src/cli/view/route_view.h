/*
 * Routes for people: conditions and destinations in the words of a line, the steps of a job.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "cli/view/screen.h"
#include "cli/view/view_field.h"

/* `parse, topic:alarm, join:report, signal:dump:3`; from JSON as the server shows it. */
void dests_add(struct buf *out, const json_t *dests);
view_field_fn view_dests;

/* `05D8…:failure, 05D8…/4, signal:dump:10`; the first of them when they are many. */
void conditions_add(struct buf *out, const json_t *conditions);

/* The steps of a job with their states. */
void steps_print(const json_t *job, const struct screen *s);
