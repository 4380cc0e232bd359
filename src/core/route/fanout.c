/* SPDX-License-Identifier: MIT */
#include "core/route/fanout.h"

enum { SMALL_PARTS = 64 }; /* a publication of at most this part of a commit is small */

#define QUICK_US 2000  /* shorter round trips are not counted */
#define LINK_US 500000 /* maximum for all round trips of a commit, on a slower link */
#define COMMIT_US \
    100000 /* what a commit that works something off may take: requests wait behind it */
enum { ROUNDS_MIN = 8 };

struct fanout fanout_max(size_t rows, size_t bytes, size_t rounds)
{
    return (struct fanout){rows == 0 ? FANOUT_ROWS : rows, bytes == 0 ? FANOUT_BYTES : bytes,
                           rounds == 0 ? SIZE_MAX : rounds};
}

struct fanout fanout_over_link(const struct fanout *max, int64_t round_us)
{
    struct fanout all = *max;

    if (round_us <= QUICK_US || all.rounds != SIZE_MAX)
        return all;
    all.rounds = (size_t)(LINK_US / round_us);
    if (all.rounds < ROUNDS_MIN)
        all.rounds = ROUNDS_MIN;
    return all;
}

bool fanout_is_full(const struct fanout *left)
{
    return left->rows == 0 || left->bytes == 0 || left->rounds == 0;
}

void fanout_use(struct fanout *left, size_t rows, size_t bytes)
{
    left->rows -= rows < left->rows ? rows : left->rows;
    left->bytes -= bytes < left->bytes ? bytes : left->bytes;
}

void fanout_use_rounds(struct fanout *left, size_t rounds)
{
    left->rounds -= rounds < left->rounds ? rounds : left->rounds;
}

size_t fanout_room(const struct fanout *left, size_t each)
{
    size_t n = each == 0 ? left->rows : left->bytes / each;

    if (fanout_is_full(left))
        return 0;
    return n == 0 ? 1 : n < left->rows ? n : left->rows;
}

size_t fanout_part(const struct fanout *left, const struct fanout *max, size_t n, size_t each)
{
    size_t room = fanout_room(left, each);

    if (n <= max->rows / SMALL_PARTS && n * each <= max->bytes / SMALL_PARTS)
        return n;
    return n < room ? n : room;
}

static size_t share_of(size_t left, size_t max, unsigned part)
{
    size_t share = max / FANOUT_PARTS * part + max % FANOUT_PARTS * part / FANOUT_PARTS;
    size_t least = share / 2 + 1;

    if (left < least)
        return least;
    return left < share ? left : share == 0 ? 1 : share;
}

struct fanout fanout_for_rest(const struct fanout *left, const struct fanout *max, unsigned part)
{
    return (struct fanout){share_of(left->rows, max->rows, part),
                           share_of(left->bytes, max->bytes, part),
                           share_of(left->rounds, max->rounds, FANOUT_PARTS)};
}

int64_t fanout_took_us(int64_t took_us, int64_t rounds, int64_t round_us)
{
    int64_t link_us = 0;

    if (__builtin_mul_overflow(rounds, round_us, &link_us) || link_us > took_us)
        return 0;
    return took_us - link_us;
}

unsigned fanout_pace(unsigned part, int64_t took_us, bool is_full)
{
    if (took_us > COMMIT_US) {
        unsigned less = (unsigned)(part * COMMIT_US / took_us);

        return less == 0 ? 1 : less;
    }
    if (took_us > COMMIT_US / 2 || !is_full)
        return part;
    return 2 * part < FANOUT_PARTS ? 2 * part : FANOUT_PARTS;
}
