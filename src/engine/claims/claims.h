/*
 * Live claims in memory: which jobs were granted together, and when to check their leases.
 *
 * A claim is registered after the commit that granted it and closed when no job runs under its
 * token.  `open` may be too high after a restart, until the next check of the leases corrects it,
 * but never too low.  Deadlines are on the leases' clock.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"

struct live_claim {
    int64_t token;
    int64_t worker;
    /* Of all its jobs, none of which is in a group or lane; 0: unknown, or they differ. */
    int64_t queue;
    int64_t lease_us;
    int64_t found_at; /* steady: when it was adopted from the store; 0: it was granted here */
    /* How much later than stored its leases end (leases.c): extra_us if the stored deadline is not
     * after extra_upto_at, next_extra_us otherwise. */
    int64_t extra_us, extra_upto_at;
    int64_t next_extra_us, next_upto_at;
    int64_t check_at; /* no lease of it ends earlier */
    size_t heap_at;   /* its place in the heap */
    size_t open;      /* jobs that may still run under it */
    size_t n_jobs;
    int64_t jobs[];
};

/* An attempt that has ended. */
struct attempt_ref {
    int64_t job, token;
};

/* A claim whose leases were checked, and how many of its jobs still run. */
struct judged_claim {
    int64_t token;
    size_t open;
};

struct claims {
    struct map by_token;
    VEC(struct live_claim *) heap; /* the earliest check_at first */
    VEC(int64_t) dead;             /* tokens of rows to remove with the next write */
};

void claims_init(struct claims *c);
void claims_deinit(struct claims *c);

struct live_claim *claim_new(int64_t token, const int64_t *jobs, size_t n);

/* Takes ownership. */
void claims_add(struct claims *c, struct live_claim *claim);
struct live_claim *claims_find(const struct claims *c, int64_t token);

/* Unregisters and frees. */
void claims_remove(struct claims *c, struct live_claim *claim);

/* The claim with the earliest check_at, or NULL. */
struct live_claim *claims_first(const struct claims *c);
void claims_set_check(struct claims *c, struct live_claim *claim, int64_t check_at);
