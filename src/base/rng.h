/*
 * Seeded random numbers: the same seed gives the same run, so that the engine can be simulated.
 * Not for secrets.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

struct rng {
    uint64_t state;
};

void rng_init(struct rng *r, uint64_t seed);
uint64_t rng_next(struct rng *r);

/* 0 … bound-1; bound must be above 0. */
uint64_t rng_below(struct rng *r, uint64_t bound);

/* 0.0 … below 1.0 */
double rng_unit(struct rng *r);
