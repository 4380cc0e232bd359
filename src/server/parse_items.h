/*
 * Finishes and touches: what a worker says about the jobs it holds, an array of each.
 *
 * For parse_exchange.c; see there.  A fault carries the place of its item in the array.  The reader's `with` is
 * a struct submit_source, for what finishes emit.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "engine/op.h"
#include "server/fields.h"

MUST_CHECK enum err_code parse_finishes(struct field_reader *r, struct slice value,
                                        const struct finish_item **ret_items, size_t *ret_count);
MUST_CHECK enum err_code parse_touches(struct field_reader *r, struct slice value,
                                       const struct touch_item **ret_items, size_t *ret_count);

MUST_CHECK enum err_code field_lease(struct field_reader *r, struct slice value,
                                     int64_t *ret_token);

/* A lease's token as it is shown: false when it can be none. */
MUST_CHECK bool lease_parse(struct slice text, int64_t *ret_token);
