/*
 * The group that a new job goes into: an open one, or one that is opened with it.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/object/object.h"
#include "core/route/dest.h"

struct group_choice {
    int64_t id;           /* joins it; 0: opens one, GROUP_ROOT: none */
    struct slice kind;    /* of `groups:`; empty: none */
    struct slice name;    /* or empty */
    struct slice data;    /* JSON object, or empty */
    struct slice finally; /* canonical JSON that overrides the kind's; or empty */
    bool unsealed;        /* it stays open until somebody seals it */
};

extern const struct object group_open_object;

/* `group` of a submitted job, for its table: an id or an object; fills a
 * `const struct group_choice *`. */
field_fn group_choice_read;

/* Reads an id of a group, or `root`. */
MUST_CHECK enum err_code group_id_parse(struct slice text, int64_t *ret_id, struct err *err);

/* Rows of a table whose struct begins with a struct group_choice: `open`, `name`, `data` and
 * `finally`. */
field_fn group_check_kind, group_check_data, group_read_finally;

/* Reads a stored `finally`. */
MUST_CHECK enum err_code group_finally_parse(struct slice json, struct arena *arena,
                                             struct dest *ret, struct err *err);
