/*
 * Finishes and touches: what a worker says about the jobs it holds, an array of each.
 *
 * For exchange.c; see there. An error carries the index of its item. r->with is a struct
 * submit_source, for leases and for the jobs that finishes emit.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "core/object/object.h"
#include "engine/op.h"

MUST_CHECK enum err_code parse_finishes(struct object_read *r, struct slice value,
                                        const struct finish_item **ret_items, size_t *ret_count);
MUST_CHECK enum err_code parse_touches(struct object_read *r, struct slice value,
                                       const struct touch_item **ret_items, size_t *ret_count);

extern const struct object finish_object;
extern const struct object touch_object;
