/*
 * Joins that lead to joins: they fire within one commit, so a chain of them must be finite.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/slice.h"
#include "core/route/dest.h"

enum { JOINS_DEEP_MAX = 100 }; /* joins in a chain */

struct join_node {
    struct slice name;
    const struct dest_list *then;
    bool is_under_way; /* the walk is at a join behind it; false at first */
    int deep;          /* length of the longest chain of joins from here; 0: not known yet */
};

/* E_INVALID: "join 'x' leads back to itself by joins alone", or the chain is too long;
 * *ret_bad is then the join that is named. */
MUST_CHECK enum err_code join_chain_check(struct join_node *nodes, size_t n, size_t *ret_bad,
                                          struct err *err);
