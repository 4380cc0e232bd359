/*
 * What a kind of group is: its finaliser, what a failure does, how long ended groups are kept.
 *
 * Kept in the store as canonical JSON, members in the order of the table.  Pure; slices live in the
 * arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/route/dest.h"

struct object_faults;
struct object_read;

enum group_fail {
    GROUP_FAIL_FINISH, /* the rest goes on */
    GROUP_FAIL_STOP,   /* the rest is cancelled */
};

struct group_def {
    struct slice description;
    struct dest finally; /* DEST_QUEUE or DEST_TOPIC; without a name: none */
    unsigned fail;
    int64_t keep_done_us, keep_failed_us;
};

extern const struct object group_object;
extern const struct object finally_object;

/* Reads a checked JSON object, from outside or from the store.  E_INVALID: "finally.queue: …".
 * With `faults`, which may be NULL, mistakes in members go there. */
MUST_CHECK enum err_code group_def_parse(struct slice json, struct arena *arena,
                                         struct group_def *ret_def, struct object_faults *faults,
                                         const char **fault_at, struct err *err);
MUST_CHECK enum err_code group_def_canonical(struct slice json, struct buf *out, struct err *err);

/* Reads `finally`, which also a job or a request that opens a group may have.  r->copies is set. */
MUST_CHECK enum err_code finally_read(struct object_read *r, struct slice value,
                                      struct dest *ret_finally);
void finally_json(const struct dest *finally, struct buf *out);

/* As for queues; not `root`, which is not a kind. */
MUST_CHECK enum err_code group_kind_check(struct slice name, struct err *err);
