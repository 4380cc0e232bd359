/*
 * Fan-out: how many jobs one commit makes out of what was decided in it.
 *
 * A publication to many queues, or the destinations of all that a batch has ended, may be more than belongs into one
 * commit, by rows or by bytes.  What is beyond becomes durable rows, which the following commits work off.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { FANOUT_ROWS = 1000 };
#define FANOUT_BYTES ((size_t)32 << 20)

/* What one commit may make, or what is left of that; the last job may pass the bytes. */
struct fanout {
    size_t rows, bytes;
};

/* What a commit may make; 0: FANOUT_ROWS, FANOUT_BYTES. */
struct fanout fanout_max(size_t rows, size_t bytes);

bool fanout_is_full(const struct fanout *left);

/* Jobs have been made, which carry so much; less than nothing is never left. */
void fanout_use(struct fanout *left, size_t rows, size_t bytes);

/* How many jobs belong into this commit that by themselves carry `each`: one at least, unless it is full. */
size_t fanout_room(const struct fanout *left, size_t each);

/* How many of n jobs, the same with what they share.  The few of a small publication always do: rows that are worked off
 * later would cost more than they. */
size_t fanout_part(const struct fanout *left, const struct fanout *max, size_t n, size_t each);

/* Work that earlier commits have left gets at least half of what a commit may make, whatever the batch has brought. */
struct fanout fanout_for_rest(const struct fanout *left, const struct fanout *max);
