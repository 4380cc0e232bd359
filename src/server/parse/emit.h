/*
 * What a running job emits: jobs, and a cursor.
 *
 * As with submit.h the text is checked once and walked in place; slices point into it or into the
 * arena.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "engine/op.h"
#include "server/parse/submit.h"

/* E_BAD_REQUEST when it is no JSON; E_INVALID, E_TOO_LARGE, E_FORBIDDEN otherwise, with `item` for
 * a job. */
MUST_CHECK enum err_code parse_emit(struct slice text, const struct submit_source *source,
                                    struct arena *arena, struct emit *ret_emit, struct err *err);

extern const struct object emit_object;
