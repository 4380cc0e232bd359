/* SPDX-License-Identifier: MIT */
#include "core/job/lease.h"

#include <string.h>

#include "base/compiler.h"

#include "testing.h"

static const struct siphash_key key = {{1, 2}};
static const struct lease lease = {.job = INT64_C(0x00546F0054C40000),
                                   .token = INT64_C(0x00546F0055000001),
                                   .fence = 3};

static void a_lease_proves_itself(void **state)
{
    (void)state;
    char text[LEASE_TEXT_SIZE];
    struct slice told = lease_format(&key, &lease, text);
    int64_t token, fence;

    assert_true(lease_parse(told, &token, &fence));
    assert_int_equal(token, lease.token);
    assert_int_equal(fence, 3);
    assert_int_equal(lease_prove(&key, lease.job, told), lease.token);
}

/* Workers hold leases while servers are replaced: the text is written down once. */
static void the_text_stays_what_it_is(void **state)
{
    (void)state;
    const struct lease one = {.job = 0x54C40000, .token = 0x55000001, .fence = 120};
    char text[LEASE_TEXT_SIZE];

    assert_string_equal(lease_format(&key, &one, text).data,
                        "120.0000001AG0001.mZ8L2jMJSGBqbPvWGa20mD");
}

static void no_other_job_grant_or_store_has_the_same_lease(void **state)
{
    (void)state;
    const struct siphash_key other_key = {{1, 3}};
    struct lease other = lease;
    char text[LEASE_TEXT_SIZE];

    assert_int_equal(lease_prove(&key, lease.job + 1, lease_format(&key, &lease, text)),
                     LEASE_FORGED);
    assert_int_equal(lease_prove(&other_key, lease.job, lease_format(&key, &lease, text)),
                     LEASE_FORGED);
    /* The proof of one grant beside the fence of the next. */
    char next[LEASE_TEXT_SIZE];

    other.fence++;
    (void)lease_format(&key, &lease, text);
    (void)lease_format(&key, &other, next);
    memcpy(next + 15, text + 15, sizeof(text) - 15);
    assert_int_equal(lease_prove(&key, lease.job, slice_of(next)), LEASE_FORGED);
}

/* The token is read as ids are, in either case; everything else is one character and no other. */
static void every_character_counts(void **state)
{
    (void)state;
    char text[LEASE_TEXT_SIZE];
    struct slice told = lease_format(&key, &lease, text);
    size_t proof_at = told.size - 22;

    for (size_t i = 0; i < told.size; i++)
        for (int c = 0; c < 256; c++) {
            char was = text[i];
            int64_t token = 0, fence = 0;

            text[i] = (char)c;
            bool is_same = lease_parse(told, &token, &fence) && token == lease.token &&
                           fence == lease.fence && (i < proof_at || (char)c == was);
            assert_int_equal(lease_prove(&key, lease.job, told),
                             is_same ? lease.token : LEASE_FORGED);
            text[i] = was;
        }
    assert_int_equal(lease_prove(&key, lease.job, slice_make(text, told.size - 1)), LEASE_FORGED);
}

static void what_can_be_no_lease_is_forged(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "x",
        "0AHY0AM800001",
        "0.0AHY0AM800001.AAAAAAAAAAAAAAAAAAAAAA",
        "-1.0AHY0AM800001.AAAAAAAAAAAAAAAAAAAAAA",
        ".0AHY0AM800001.AAAAAAAAAAAAAAAAAAAAAA",
        "01.0AHY0AM800001.AAAAAAAAAAAAAAAAAAAAAA",
        "9223372036854775808.0AHY0AM800001.AAAAAAAAAAAAAAAAAAAAAA",
        "99999999999999999999.0AHY0AM800001.AAAAAAAAAAAAAAAAAAAAAA",
        "1.UUUUUUUUUUUUU.AAAAAAAAAAAAAAAAAAAAAA",
        "1-0AHY0AM800001.AAAAAAAAAAAAAAAAAAAAAA",
        "1.0AHY0AM800001-AAAAAAAAAAAAAAAAAAAAAA",
    };
    int64_t token, fence;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_false(lease_parse(slice_of(bad[i]), &token, &fence));
        assert_int_equal(lease_prove(&key, lease.job, slice_of(bad[i])), LEASE_FORGED);
    }
}

/* A worker tells the earlier of two leases by length and bytes. */
static void leases_of_a_job_are_in_order_by_length_then_bytes(void **state)
{
    (void)state;
    char earlier[LEASE_TEXT_SIZE];
    struct lease l = lease;

    for (l.fence = 1; l.fence < 1200; l.fence++) {
        struct lease next = {l.job, l.token - l.fence, l.fence + 1};
        char later[LEASE_TEXT_SIZE];
        struct slice a = lease_format(&key, &l, earlier);
        struct slice b = lease_format(&key, &next, later);

        assert_true(a.size < b.size || (a.size == b.size && memcmp(a.data, b.data, a.size) < 0));
    }
}

static void the_largest_fence_fits(void **state)
{
    (void)state;
    struct lease l = {.job = INT64_MAX, .token = INT64_MAX, .fence = INT64_MAX};
    char text[LEASE_TEXT_SIZE];

    assert_int_equal(lease_prove(&key, l.job, lease_format(&key, &l, text)), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_proves_itself),
        cmocka_unit_test(the_text_stays_what_it_is),
        cmocka_unit_test(no_other_job_grant_or_store_has_the_same_lease),
        cmocka_unit_test(every_character_counts),
        cmocka_unit_test(what_can_be_no_lease_is_forged),
        cmocka_unit_test(leases_of_a_job_are_in_order_by_length_then_bytes),
        cmocka_unit_test(the_largest_fence_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
