/*
 * The params of a finaliser: those of `finally`, with names in braces filled in.
 *
 * Every text in them is a template (core/program/template.h).  A text that is one name and nothing
 * else becomes the value itself: "{made}" is a number.  Names are {group} {kind} {name} {made}
 * {done} {failed} {cancelled} {dropped}, then the members of the group's data.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/group/row.h"

struct finaliser_values {
    struct slice id, kind, name;
    struct slice data; /* JSON object, or empty */
    const struct group_counts *counts;
    int64_t now_at;
};

/* Checks the templates in a checked JSON object.  E_INVALID: which, and what is wrong with it. */
MUST_CHECK enum err_code finaliser_check_params(struct slice params, struct arena *arena,
                                                struct err *err);

/* Adds the filled object.  E_INVALID: a name without a value. */
MUST_CHECK enum err_code finaliser_fill_params(struct slice params,
                                               const struct finaliser_values *values,
                                               struct arena *arena, struct buf *out,
                                               struct err *err);
