/*
 * Groups as other queries need them: each is read once a query.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "store/groups/groups.h"

struct query_view;

/* (*ret)->id 0: it is gone. */
MUST_CHECK enum err_code view_group(struct query_view *v, int64_t id,
                                    const struct stored_group **ret, struct err *err);

/* The flags of the groups that hold it, from it up to the root, and the first of these groups. */
MUST_CHECK enum err_code view_group_flags(struct query_view *v, int64_t id, unsigned *ret_flags,
                                          const struct stored_group **ret_by, struct err *err);

/* Adds "group" of a job; nothing for one outside of all groups. */
MUST_CHECK enum err_code view_add_group(struct query_view *v, struct buf *b, int64_t id,
                                        struct err *err);
