/*
 * Leases as text: FENCE.TOKEN.PROOF.
 *
 * FENCE is how often the job was granted, in decimal: it grows with each grant, whoever grants.
 *  TOKEN is the id of the claim, 13 characters.  PROOF, 128 bits in 22 characters of base64url, is
 * a hash of job, token and fence under a key that only the store knows: nobody can make the lease
 * of another job out of one's own, or of the next grant.
 *
 * On the wire and in the environment of programs: a change must leave leases valid that are held
 * when a server is replaced, or say that it does not.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/siphash.h"
#include "base/slice.h"

enum { LEASE_TEXT_SIZE = 60, LEASE_TEXT_MAX = LEASE_TEXT_SIZE - 1 };

#define LEASE_FORGED INT64_C(-1) /* a token that no job ever has */

struct lease {
    int64_t job;
    int64_t token;
    int64_t fence;
};

/* As a slice of `text`. */
struct slice lease_format(const struct siphash_key *key, const struct lease *l,
                          char text[static LEASE_TEXT_SIZE]);

/* What a lease says of its claim and its grant, proven or not.  False when it can be none. */
bool lease_parse(struct slice text, int64_t *ret_token, int64_t *ret_fence);

/* The token of a lease of that job; LEASE_FORGED when it is none. */
int64_t lease_prove(const struct siphash_key *key, int64_t job, struct slice text);
