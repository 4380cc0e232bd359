/* SPDX-License-Identifier: MIT */
#include "core/job/lease.h"

#include <string.h>

#include "base/id.h"

enum { TOKEN_SIZE = ID_TEXT_SIZE - 1, PROOF_SIZE = 22, REST_SIZE = TOKEN_SIZE + PROOF_SIZE + 2 };
enum { FENCE_DIGITS = 19 };

_Static_assert(FENCE_DIGITS + REST_SIZE <= LEASE_TEXT_MAX, "the largest fence fits");

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* The last digit holds two bits. */
static void format_proof(const struct siphash_key *key, const struct lease *l,
                         char text[static PROOF_SIZE])
{
    const uint64_t words[] = {(uint64_t)l->job, (uint64_t)l->token, (uint64_t)l->fence};
    struct siphash hash = siphash_words(key, words, 3);
    uint64_t high = hash.v[0];
    uint64_t low = hash.v[1];

    for (int i = 0; i < 10; i++)
        text[i] = digits[high >> (58 - 6 * i) & 63];
    text[10] = digits[(high << 2 | low >> 62) & 63];
    for (int i = 0; i < 10; i++)
        text[11 + i] = digits[low >> (56 - 6 * i) & 63];
    text[21] = digits[low & 3];
}

static size_t format_fence(int64_t fence, char *text)
{
    char reversed[FENCE_DIGITS];
    size_t n = 0;

    do
        reversed[n++] = (char)('0' + fence % 10);
    while ((fence /= 10) > 0);
    for (size_t i = 0; i < n; i++)
        text[i] = reversed[n - 1 - i];
    return n;
}

struct slice lease_format(const struct siphash_key *key, const struct lease *l,
                          char text[static LEASE_TEXT_SIZE])
{
    size_t n = format_fence(l->fence, text);

    text[n] = '.';
    id_format(l->token, text + n + 1);
    text[n + 1 + TOKEN_SIZE] = '.';
    format_proof(key, l, text + n + TOKEN_SIZE + 2);
    text[n + REST_SIZE] = '\0';
    return slice_make(text, n + REST_SIZE);
}

bool lease_parse(struct slice text, int64_t *ret_token, int64_t *ret_fence)
{
    if (text.size <= REST_SIZE || text.size > LEASE_TEXT_MAX)
        return false;
    size_t n = text.size - REST_SIZE;

    return text.data[n] == '.' && text.data[n + 1 + TOKEN_SIZE] == '.' && text.data[0] != '0' &&
           slice_number(slice_make(text.data, n), ret_fence) &&
           id_parse(slice_make(text.data + n + 1, TOKEN_SIZE), ret_token);
}

/* In constant time. */
static bool is_same_proof(const char *a, const char *b)
{
    uint64_t differ = 0;

    for (size_t i = 0; i < PROOF_SIZE; i += sizeof(uint64_t)) {
        size_t at = i + sizeof(uint64_t) <= PROOF_SIZE ? i : PROOF_SIZE - sizeof(uint64_t);
        uint64_t x, y;

        memcpy(&x, a + at, sizeof(x));
        memcpy(&y, b + at, sizeof(y));
        differ |= x ^ y;
    }
    return differ == 0;
}

int64_t lease_prove(const struct siphash_key *key, int64_t job, struct slice text)
{
    struct lease l = {.job = job};
    char proof[PROOF_SIZE];

    if (!lease_parse(text, &l.token, &l.fence))
        return LEASE_FORGED;
    format_proof(key, &l, proof);
    return is_same_proof(proof, slice_end(text) - PROOF_SIZE) ? l.token : LEASE_FORGED;
}
