/*
 * Changes of the kept counts, summed over a batch and written last, in key order.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "core/job/state.h"
#include "store/meta.h"

struct store;

struct counts {
    VEC(struct store_count) changes;
};

void counts_deinit(struct counts *c);
void counts_clear(struct counts *c);
void counts_add(struct counts *c, int64_t queue, enum job_state state, int64_t n);

/* The sum of a queue's changes. */
int64_t counts_of(const struct counts *c, int64_t queue);

/* The queue is removed with its counts: none of its changes is written. */
void counts_forget(struct counts *c, int64_t queue);
MUST_CHECK enum err_code counts_write(struct counts *c, struct store *s, uint32_t node,
                                      struct err *err);
