/* SPDX-License-Identifier: MIT */
#include "base/rng.h"

#include "base/compiler.h"

void rng_init(struct rng *r, uint64_t seed)
{
    r->state = seed;
}

/* SplitMix64: one addition and a finaliser, all 2^64 states in one cycle. */
uint64_t rng_next(struct rng *r)
{
    uint64_t z = (r->state += 0x9E3779B97F4A7C15u);

    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t rng_below(struct rng *r, uint64_t bound)
{
    ASSERT(bound > 0);
    return rng_next(r) % bound;
}

double rng_unit(struct rng *r)
{
    return (double)(rng_next(r) >> 11) * 0x1.0p-53;
}
