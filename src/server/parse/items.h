/*
 * Finishes and touches: what a worker says about the jobs it holds, an array of each.
 *
 * For parse_exchange.c; see there.  A fault carries the place of its item in the array.  The reader's `with` is
 * a struct submit_source, for leases and what finishes emit.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "engine/op.h"
#include "server/parse/fields.h"

MUST_CHECK enum err_code parse_finishes(struct field_reader *r, struct slice value,
                                        const struct finish_item **ret_items, size_t *ret_count);
MUST_CHECK enum err_code parse_touches(struct field_reader *r, struct slice value,
                                       const struct touch_item **ret_items, size_t *ret_count);

/* A lease as it is told.  Whether it is one of its job is found out when both are known: lease_prove. */
MUST_CHECK enum err_code field_lease(struct field_reader *r, struct slice value,
                                     struct slice *ret_lease);
