/*
 * Shapes of tables for job lives by plain SQL, and the three statements of a life in each.
 *
 * Each statement is a transaction of its own.  Arguments:
 *   submit  $1 ids, $2 params, as arrays
 *   claim   $1 how many, $2 token, $3 now, $4 worker; gives id and params of each
 *   finish  $1 ids, $2 token, $3 now
 * What a finish touches is guarded by the token, as a queue must that takes a job back from a
 * worker that is late.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/compiler.h"

struct postgres_shape {
    const char *name;
    const char *schema;
    const char *submit;
    const char *claim;
    const char *finish;
};

extern const struct postgres_shape postgres_shapes[];
extern const size_t postgres_shape_count;
