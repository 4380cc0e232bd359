/*
 * SipHash-2-4 with 128 bits of output: a keyed hash of short messages.  Who does not know the key
 * can neither make the hash of a message nor learn anything of the key from the hashes of others.
 *
 * Messages here are whole words, as bytes in little-endian order.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct siphash_key {
    uint64_t v[2];
};

struct siphash {
    uint64_t v[2];
};

struct siphash siphash_words(const struct siphash_key *key, const uint64_t *words, size_t n);
