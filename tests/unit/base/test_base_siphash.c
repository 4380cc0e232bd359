/* SPDX-License-Identifier: MIT */
#include "base/siphash.h"

#include "base/compiler.h"
#include "testing.h"

/* SipHash-2-4-128 of the bytes 00 01 02 … under the key 00 01 … 0f: of the reference's vectors
 * those of whole words. */
static void hashes_are_those_of_the_reference(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        uint64_t hash[2];
    } vectors[] = {
        {0, {UINT64_C(0xe6a825ba047f81a3), UINT64_C(0x930255c71472f66d)}},
        {1, {UINT64_C(0x61f55862baa9623b), UINT64_C(0xb49714f364e2830f)}},
        {3, {UINT64_C(0xd850bd78ae79b42d), UINT64_C(0xad32618a178a2a88)}},
    };
    const struct siphash_key key = {{UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}};
    const uint64_t words[] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908),
                              UINT64_C(0x1716151413121110)};

    for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
        struct siphash hash = siphash_words(&key, words, vectors[i].n);

        assert_true(hash.v[0] == vectors[i].hash[0]);
        assert_true(hash.v[1] == vectors[i].hash[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_of_the_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
