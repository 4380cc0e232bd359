/*
 * Jobs as they are handed in: checked, and taken apart into what the engine wants.
 *
 * The text is checked once and walked in place: params, labels and the rest stay slices of it, so
 * it must outlive the op. What is made anew (decoded texts, options) is in the arena. Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/submit/job.h"
#include "engine/op.h"
#include "server/request/auth.h"

#define COMMANDS_REFUSED                                                                      \
    "a job that brings its own command is for the administrator: use the Unix socket in the " \
    "data directory, or send the token (Authorization: Bearer TOKEN)"

static inline const char *no_commands(enum right right)
{
    return right == RIGHT_ADMIN ? NULL : COMMANDS_REFUSED;
}

/* An object or an array of objects: fills mode, items and n_items. `text` is the whole body.
 * E_BAD_REQUEST when it is no JSON; E_INVALID, E_TOO_LARGE, E_FORBIDDEN for a job, with `item` in
 * an array. */
MUST_CHECK enum err_code parse_submit(struct slice text, const struct submit_source *source,
                                      struct arena *arena, struct submit *ret_submit,
                                      struct err *err);

/* Jobs that a running job emits, as a member of an object: an array of at most OP_EMIT_MAX, which
 * may be empty. r->with is a struct submit_source. A fault carries the place of its job. */
MUST_CHECK enum err_code parse_jobs(struct object_read *r, struct slice value,
                                    const struct submit_item **ret_items, size_t *ret_count);

/* One line of NDJSON, into an item that is all zeros. What is wrong with it becomes
 * item->parse_err. */
void parse_submit_line(struct slice line, const struct submit_source *source, struct arena *arena,
                       struct submit_item *item);
