/*
 * What the lanes of a queue are: `{key: "{host}", limit: 1, rate: 1/2s}`.
 *
 * Each key is a lane, with its own gate: at most `limit` of its jobs at once, and the rates.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/gate/gate.h"
#include "core/program/template.h"

struct object_read;

enum {
    LANE_TEMPLATE_MAX = 4096,
    LANE_KEY_MAX = 1000, /* bytes of a key with its names filled in */
};

struct lane_def {
    struct template_text key;
    struct slice key_text;
    int64_t limit; /* 0: any number */
    struct rates rates;
};

extern const struct object lane_object;

/* Reads the member of `r`; r->copies is set. */
MUST_CHECK enum err_code lane_def_read(struct object_read *r, struct slice value,
                                       struct lane_def *ret_def);
void lane_def_json(const struct lane_def *def, struct buf *out);

/* The lane of a job.  E_INVALID: a name that cannot be filled, or a key that is too long. */
MUST_CHECK enum err_code lane_key(const struct lane_def *def, const struct template_values *values,
                                  struct arena *arena, struct slice *ret_key, struct err *err);

/* The gate of each lane. */
struct gate_rules lane_rules(const struct lane_def *def);
