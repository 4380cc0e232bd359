/*
 * The target of a request: its path and its parameters, decoded.
 *
 * A plus stands for a space in parameters and for itself in the path.  Bytes that are not UTF-8
 * stay: the user of a text checks it.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"

struct param {
    struct slice name;
    struct slice value; /* empty, not NULL, when none was given */
};

struct target {
    struct slice path;
    struct param *params;
    size_t n_params;
};

/* Splits the text in place: the slices point into it.  E_BAD_REQUEST for a NUL or a malformed
 * escape. */
MUST_CHECK enum err_code target_parse(char *text, size_t size, struct target *ret_target,
                                      struct err *err);
void target_deinit(struct target *t);

/* The first of that name, or NULL. */
const struct param *target_find(const struct target *t, struct slice name);
