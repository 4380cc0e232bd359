/*
 * A worker's verdicts on jobs that wait for a filter, and its question for more.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "core/object/object.h"
#include "engine/op.h"

extern const struct object ask_object, answer_object;

/* E_BAD_REQUEST, E_INVALID, E_TOO_LARGE; slices point into the text or into the arena. */
MUST_CHECK enum err_code parse_filter(struct slice text, struct arena *arena,
                                      struct filter_ask *ret_ask, struct err *err);
