/* SPDX-License-Identifier: MIT */
#include "base/siphash.h"

struct state {
    uint64_t a, b, c, d;
};

static inline uint64_t rotate(uint64_t x, int bits)
{
    return x << bits | x >> (64 - bits);
}

static inline void mix(struct state *s)
{
    s->a += s->b;
    s->c += s->d;
    s->b = rotate(s->b, 13) ^ s->a;
    s->d = rotate(s->d, 16) ^ s->c;
    s->a = rotate(s->a, 32);
    s->c += s->b;
    s->a += s->d;
    s->b = rotate(s->b, 17) ^ s->c;
    s->d = rotate(s->d, 21) ^ s->a;
    s->c = rotate(s->c, 32);
}

static inline void take(struct state *s, uint64_t word)
{
    s->d ^= word;
    mix(s);
    mix(s);
    s->a ^= word;
}

static inline uint64_t give(struct state *s)
{
    for (int i = 0; i < 4; i++)
        mix(s);
    return s->a ^ s->b ^ s->c ^ s->d;
}

struct siphash siphash_words(const struct siphash_key *key, const uint64_t *words, size_t n)
{
    struct state s = {
        .a = key->v[0] ^ UINT64_C(0x736f6d6570736575),
        .b = key->v[1] ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
        .c = key->v[0] ^ UINT64_C(0x6c7967656e657261),
        .d = key->v[1] ^ UINT64_C(0x7465646279746573),
    };
    struct siphash hash;

    for (size_t i = 0; i < n; i++)
        take(&s, words[i]);
    take(&s, (uint64_t)(n * sizeof(uint64_t)) << 56); /* the length; no bytes are left over */
    s.c ^= 0xee;
    hash.v[0] = give(&s);
    s.b ^= 0xdd;
    hash.v[1] = give(&s);
    return hash;
}
