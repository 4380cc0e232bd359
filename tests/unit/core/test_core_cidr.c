/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>

#include "core/definition/cidr.h"
#include "testing.h"

static struct cidr parse(const char *text)
{
    struct err err = ERR_INIT;
    struct cidr c;

    if (cidr_parse(slice_of(text), &c, &err) != E_OK)
        fail_msg("%s", err.msg);
    return c;
}

/* Whether the network has the address, which is written as IPv6. */
static bool has(const char *network, const char *address)
{
    struct cidr c = parse(network);
    unsigned char bytes[CIDR_BYTES];

    assert_int_equal(inet_pton(AF_INET6, address, bytes), 1);
    return cidr_has(&c, bytes);
}

static void a_network_has_the_addresses_that_begin_like_it(void **state)
{
    (void)state;
    assert_true(has("10.0.0.0/8", "::ffff:10.255.0.1"));
    assert_false(has("10.0.0.0/8", "::ffff:11.0.0.1"));
    assert_false(has("10.0.0.0/8", "a00::1"));
    assert_true(has("192.0.2.128/25", "::ffff:192.0.2.200"));
    assert_false(has("192.0.2.128/25", "::ffff:192.0.2.127"));
    assert_true(has("172.16.0.0/12", "::ffff:172.31.255.255"));
    assert_false(has("172.16.0.0/12", "::ffff:172.32.0.0"));
    assert_true(has("fd00::/8", "fdff::1"));
    assert_false(has("fd00::/8", "fc00::1"));
    assert_true(has("2001:db8::/33", "2001:db8:7fff::1"));
    assert_false(has("2001:db8::/33", "2001:db8:8000::1"));
}

static void an_address_is_a_network_of_one(void **state)
{
    (void)state;
    assert_true(has("192.0.2.7", "::ffff:192.0.2.7"));
    assert_false(has("192.0.2.7", "::ffff:192.0.2.6"));
    assert_true(has("::1", "::1"));
    assert_false(has("::1", "::"));
}

static void all_of_one_kind_is_not_all(void **state)
{
    (void)state;
    assert_true(has("0.0.0.0/0", "::ffff:255.255.255.255"));
    assert_false(has("0.0.0.0/0", "::1"));
    assert_true(has("::/0", "2001:db8::1"));
    assert_true(has("::/0", "::ffff:10.0.0.1"));
}

static void what_is_no_network_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "/",
        "/8",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/08",
        "10.0.0.0/-1",
        "10.0.0/8",
        "10.0.0.256",
        "10.0.0.0/8/8",
        "::/129",
        "::g",
        "host",
        "10.0.0.1/8",
        "fd00::1/8",
        " ::1",
        "::1 ",
        "fe80::1%eth0",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc",
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct err err = ERR_INIT;
        struct cidr c;

        if (cidr_parse(slice_of(texts[i]), &c, &err) == E_OK)
            fail_msg("'%s' is accepted", texts[i]);
        assert_int_equal(err.code, E_INVALID);
    }
    struct err err = ERR_INIT;
    struct cidr c;

    assert_int_equal(cidr_parse(slice_make("::1\0x", 5), &c, &err), E_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_has_the_addresses_that_begin_like_it),
        cmocka_unit_test(an_address_is_a_network_of_one),
        cmocka_unit_test(all_of_one_kind_is_not_all),
        cmocka_unit_test(what_is_no_network_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
