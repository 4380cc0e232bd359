/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "core/definition/definition.h"
#include "server/request/triggers.h"
#include "testing.h"

static const char definitions_text[] = "triggers:\n"
                                       "  nightly: {from: [10.1.0.0/16, \"fd00::/8\"]}\n"
                                       "  one: {from: 192.0.2.7}\n"
                                       "  v4: {from: [0.0.0.0/0]}\n"
                                       "  all: {from: [\"::/0\"]}\n"
                                       "  odd: {from: [10.1.2.0/23, \"2001:db8::80/121\"]}\n";

static struct definitions definitions;
static struct triggers triggers;

static int setup(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    definitions_init(&definitions);
    triggers_init(&triggers);
    if (definitions_add_from(&definitions, &(struct definition_source){.file = "t.yaml"},
                             slice_of(definitions_text), &err) != E_OK)
        fail_msg("%s", err.msg);
    triggers_add(&triggers, &definitions);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    triggers_deinit(&triggers);
    definitions_deinit(&definitions);
    return 0;
}

static bool is_open(const char *name, const char *from)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    if (inet_pton(AF_INET, from, &v4.sin_addr) == 1)
        return triggers_open(&triggers, slice_of(name), (struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, from, &v6.sin6_addr), 1);
    return triggers_open(&triggers, slice_of(name), (struct sockaddr *)&v6);
}

static void a_trigger_is_open_to_its_nets_alone(void **state)
{
    (void)state;
    assert_true(is_open("nightly", "10.1.2.3"));
    assert_true(is_open("nightly", "fd12::1"));
    assert_false(is_open("nightly", "10.2.0.1"));
    assert_false(is_open("nightly", "fe80::1"));
    assert_false(is_open("other", "10.1.2.3"));
    assert_true(is_open("one", "192.0.2.7"));
    assert_false(is_open("one", "192.0.2.6"));
}

static void an_ipv4_address_in_ipv6_clothes_is_an_ipv4_address(void **state)
{
    (void)state;
    assert_true(is_open("nightly", "::ffff:10.1.2.3"));
    assert_false(is_open("nightly", "::ffff:10.2.2.3"));
    assert_true(is_open("v4", "::ffff:8.8.8.8"));
    assert_false(is_open("v4", "2001:db8::1"));
    assert_true(is_open("all", "2001:db8::1"));
    assert_true(is_open("all", "8.8.8.8"));
}

static void nets_may_end_within_a_byte(void **state)
{
    (void)state;
    assert_true(is_open("odd", "10.1.3.255"));
    assert_false(is_open("odd", "10.1.4.0"));
    assert_true(is_open("odd", "2001:db8::ff"));
    assert_false(is_open("odd", "2001:db8::7f"));
}

static void other_sockets_open_nothing(void **state)
{
    struct sockaddr local = {.sa_family = AF_UNIX};

    (void)state;
    assert_false(triggers_open(&triggers, SLICE("v4"), &local));
    assert_false(triggers_open(&triggers, SLICE("v4"), NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_trigger_is_open_to_its_nets_alone),
        TEST(an_ipv4_address_in_ipv6_clothes_is_an_ipv4_address),
        TEST(nets_may_end_within_a_byte),
        TEST(other_sockets_open_nothing),
#undef TEST
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
