/*
 * Fan-out: how many of the jobs that were decided in a commit it creates itself.
 *
 * A publication to many queues, or the destinations of all jobs that a batch has ended, may exceed
 * what belongs into one commit, in rows or in bytes.  The rest becomes durable rows, which the
 * following commits work off.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FANOUT_ROWS = 1000 };
#define FANOUT_BYTES ((size_t)32 << 20)

/* What one commit may create, or the rest of it; the last job may exceed the bytes.  Round trips go
 * to a remote database: over a slow link, a commit with many of them holds its locks for long. */
struct fanout {
    size_t rows, bytes, rounds;
};

/* What a commit may create; 0: FANOUT_ROWS, FANOUT_BYTES, any number of round trips. */
struct fanout fanout_max(size_t rows, size_t bytes, size_t rounds);

/* The same over a link whose round trips take round_us: fewer of them on a slow link, unless their
 * number is set. */
struct fanout fanout_over_link(const struct fanout *max, int64_t round_us);

bool fanout_is_full(const struct fanout *left);

/* Subtracts jobs that were created, and their bytes; stops at 0. */
void fanout_use(struct fanout *left, size_t rows, size_t bytes);
void fanout_use_rounds(struct fanout *left, size_t rounds);

/* How many jobs of `each` bytes belong into this commit: at least one, unless it is full. */
size_t fanout_room(const struct fanout *left, size_t each);

/* How many of n jobs belong into this commit.  A small publication always fits: rows that are
 * worked off later would cost more than its jobs. */
size_t fanout_part(const struct fanout *left, const struct fanout *max, size_t n, size_t each);

/* Share of a commit for the rest of earlier commits.  Nobody waits for that rest, but requests wait
 * behind it: the commit does `part` of its maximum, and at least half of that whatever the size of
 * the batch. */
enum { FANOUT_PARTS = 64 }; /* all of it */
struct fanout fanout_for_rest(const struct fanout *left, const struct fanout *max, unsigned part);

/* The time of a commit without that of its round trips, which fewer rows would not shorten. */
int64_t fanout_took_us(int64_t took_us, int64_t rounds, int64_t round_us);

/* The part for the next commits, after one that took took_us: smaller while the disk or the
 * database is slow, larger after a quick one that was full (is_full: it did all it was allowed). */
unsigned fanout_pace(unsigned part, int64_t took_us, bool is_full);
