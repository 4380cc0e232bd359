/*
 * Leases as text: FENCE.TOKEN.PROOF.
 *
 * FENCE is how often the job was granted, in decimal: it grows with each grant, at any server.
 * TOKEN is the id of the claim, 13 characters.  PROOF, 128 bits in 22 characters of base64url, is
 * a hash of job, token and fence under a key that only the store knows: nobody can derive the
 * lease of another job, or of the next grant, from one they hold.
 *
 * On the wire and in the environment of programs.  A change must keep leases valid that are held
 * while a server is replaced; otherwise the release notes say so.
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

/* Returns a slice of `text`. */
struct slice lease_format(const struct siphash_key *key, const struct lease *l,
                          char text[static LEASE_TEXT_SIZE]);

/* Reads token and fence without checking the proof.  False when the text is no lease. */
bool lease_parse(struct slice text, int64_t *ret_token, int64_t *ret_fence);

/* The token of a lease of that job; LEASE_FORGED when the text is no valid one. */
int64_t lease_prove(const struct siphash_key *key, int64_t job, struct slice text);
