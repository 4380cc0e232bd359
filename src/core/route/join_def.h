/*
 * What a join is: {key: "{date}", count: 10, then: [summary]}. After `count` arrivals with the
 * same key it leads to `then`, and begins again.
 *
 * Kept in the store as canonical JSON, members in the order above.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/program/template.h"
#include "core/route/dest.h"

enum {
    JOIN_COUNT_MAX = 1000000,
    JOIN_KEY_MAX = 1000,   /* bytes of a key with its names filled in */
    JOIN_JOBS_KEPT = 1000, /* jobs of one firing whose ids are kept and shown */
};

struct join_def {
    struct template_text key; /* absent: all share the key "" */
    struct slice key_text;
    int64_t count;
    struct dest_list then;
};

extern const struct object join_object;

/* Reads a checked JSON object, from outside or from the store.  E_INVALID: "count: …". */
MUST_CHECK enum err_code join_def_parse(struct slice json, struct arena *arena,
                                        struct join_def *ret_def, const char **fault_at,
                                        struct err *err);
MUST_CHECK enum err_code join_def_canonical(struct slice json, struct buf *out, struct err *err);
