/*
 * Fan-out: how many jobs one commit makes out of what was decided in it.
 *
 * A publication to many queues, or the destinations of all that a batch has ended, may be more than
 * belongs into one commit, by rows or by bytes.  What is beyond becomes durable rows, which the
 * following commits work off.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FANOUT_ROWS = 1000 };
#define FANOUT_BYTES ((size_t)32 << 20)

/* What one commit may make, or what is left of that; the last job may pass the bytes.  Round trips
 * are those to a database elsewhere: a commit that asks much of it over a slow link holds what it
 * has locked for long. */
struct fanout {
    size_t rows, bytes, rounds;
};

/* What a commit may make; 0: FANOUT_ROWS, FANOUT_BYTES, any number of round trips. */
struct fanout fanout_max(size_t rows, size_t bytes, size_t rounds);

/* The same where a round trip takes so long: on a slow link they are fewer, unless their number is
 * set. */
struct fanout fanout_over_link(const struct fanout *max, int64_t round_us);

bool fanout_is_full(const struct fanout *left);

/* Jobs have been made, which carry so much; less than nothing is never left. */
void fanout_use(struct fanout *left, size_t rows, size_t bytes);
void fanout_use_rounds(struct fanout *left, size_t rounds);

/* How many jobs belong into this commit that by themselves carry `each`: one at least, unless it is
 * full. */
size_t fanout_room(const struct fanout *left, size_t each);

/* How many of n jobs, the same with what they share.  The few of a small publication always do:
 * rows that are worked off later would cost more than they. */
size_t fanout_part(const struct fanout *left, const struct fanout *max, size_t n, size_t each);

/* Nobody waits for work that earlier commits have left, and others wait behind it: one commit does
 * `part` of what it might, and at least half of that, whatever the batch has brought. */
enum { FANOUT_PARTS = 64 }; /* all of it */
struct fanout fanout_for_rest(const struct fanout *left, const struct fanout *max, unsigned part);

/* What fewer rows could have shortened of a commit: without the time that its round trips took. */
int64_t fanout_took_us(int64_t took_us, int64_t rounds, int64_t round_us);

/* The part for the next commits, after one that took so long: fewer while the disk or the database
 * is slow; more when it was quick and `is_full`, that is it did all that it was allowed to. */
unsigned fanout_pace(unsigned part, int64_t took_us, bool is_full);
