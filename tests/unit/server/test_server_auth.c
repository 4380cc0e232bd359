/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include <arpa/inet.h>

#include "server/request/auth.h"
#include "server/request/auth_guard.h"
#include "testing.h"

#define TOKEN "0123456789abcdef"

static struct slice names[] = {SLICE("whatever.com"), SLICE("proxy.example:8443")};

static struct auth_settings loopback(void)
{
    struct auth_settings s = {.listen_host = SLICE("127.0.0.1"), .port = 6769};

    s.names.items = names;
    s.names.count = ARRAY_LEN(names);
    return s;
}

static struct auth_settings beyond(void)
{
    struct auth_settings s = loopback();

    s.listen_host = SLICE("0.0.0.0");
    s.any_address = true;
    s.beyond_loopback = true;
    s.token = SLICE(TOKEN);
    return s;
}

/* The code of the answer, E_OK when it may. */
static enum err_code judge(const struct auth_settings *s, struct auth_request r, enum right needed,
                           enum right *ret_right)
{
    struct err err = ERR_INIT;
    enum right right = RIGHT_OPEN;
    enum err_code code = auth_judge(s, &r, needed, &right, &err);

    if (code != E_OK)
        assert_true(strlen(err.msg) > 10);
    if (ret_right != NULL)
        *ret_right = right;
    return code;
}

static void a_program_on_this_machine_is_a_user(void **state)
{
    (void)state;
    struct auth_settings s = loopback();
    struct auth_request r = {.host = SLICE("localhost:6769")};
    enum right right;

    assert_int_equal(judge(&s, r, RIGHT_USER, &right), E_OK);
    assert_int_equal(right, RIGHT_USER);
    assert_int_equal(judge(&s, r, RIGHT_ADMIN, NULL), E_FORBIDDEN);
}

static void the_unix_socket_is_the_administrator_whatever_its_host(void **state)
{
    (void)state;
    struct auth_settings s = loopback();
    struct auth_request r = {.local = true, .host = SLICE("anything")};
    enum right right;

    assert_int_equal(judge(&s, r, RIGHT_ADMIN, &right), E_OK);
    assert_int_equal(right, RIGHT_ADMIN);
}

static void the_token_is_the_administrator(void **state)
{
    (void)state;
    struct auth_settings s = loopback();
    struct auth_request r = {.host = SLICE("127.0.0.1"), .authorization = SLICE("Bearer " TOKEN)};

    assert_int_equal(judge(&s, r, RIGHT_ADMIN, NULL), E_FORBIDDEN);
    s.token = SLICE(TOKEN);
    assert_int_equal(judge(&s, r, RIGHT_ADMIN, NULL), E_OK);
    r.authorization = SLICE("bearer " TOKEN);
    assert_int_equal(judge(&s, r, RIGHT_ADMIN, NULL), E_OK);
}

static void a_wrong_token_is_refused_on_every_route(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "Bearer 0123456789abcde",
        "Bearer 0123456789abcdeF",
        "Bearer 0123456789abcdef0",
        "Bearer ",
        "Basic 0123456789abcdef",
        "0123456789abcdef",
        "Bearer 0123456789abcdef0123456789abcdef",
    };
    struct auth_settings s = loopback();
    struct auth_settings wide = beyond();

    s.token = SLICE(TOKEN);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct auth_request r = {.host = SLICE("127.0.0.1"), .authorization = slice_of(wrong[i])};

        for (enum right needed = RIGHT_OPEN; needed <= RIGHT_ADMIN; needed++) {
            assert_int_equal(judge(&s, r, needed, NULL), E_UNAUTHORIZED);
            assert_int_equal(judge(&wide, r, needed, NULL), E_UNAUTHORIZED);
        }
        r.opened = true;
        assert_int_equal(judge(&wide, r, RIGHT_USER, NULL), E_UNAUTHORIZED);
        r.local = true;
        assert_int_equal(judge(&s, r, RIGHT_ADMIN, NULL), E_OK);
    }
}

static void the_right_token_may_stand_behind_several_spaces(void **state)
{
    (void)state;
    static const char *const right[] = {"Bearer " TOKEN, "bearer " TOKEN, "BEARER   " TOKEN};
    struct auth_settings s = beyond();

    for (size_t i = 0; i < ARRAY_LEN(right); i++) {
        struct auth_request r = {.host = SLICE("127.0.0.1"), .authorization = slice_of(right[i])};

        assert_int_equal(auth_token_seen(&s, &r), TOKEN_RIGHT);
        assert_int_equal(judge(&s, r, RIGHT_ADMIN, NULL), E_OK);
    }
}

static void no_token_equals_none(void **state)
{
    (void)state;
    assert_false(auth_token_equal(SLICE(""), SLICE("")));
    assert_false(auth_token_equal(SLICE("x"), SLICE("")));
    assert_true(auth_token_equal(SLICE("xy"), SLICE("xy")));
    assert_false(auth_token_equal(SLICE("xyxy"), SLICE("xy")));
    assert_false(auth_token_equal(SLICE("x"), SLICE("xx")));
    char often[17 * 16];

    for (size_t i = 0; i < sizeof(often); i++)
        often[i] = TOKEN[i % 16];
    assert_true(auth_token_equal(slice_make(often, 16), SLICE(TOKEN)));
    assert_false(auth_token_equal(slice_make(often, sizeof(often)), SLICE(TOKEN)));
}

static void beyond_this_machine_only_health_is_open(void **state)
{
    (void)state;
    struct auth_settings s = beyond();
    struct auth_request r = {.host = SLICE("192.168.1.5:6769")};

    assert_int_equal(judge(&s, r, RIGHT_OPEN, NULL), E_OK);
    assert_int_equal(judge(&s, r, RIGHT_USER, NULL), E_UNAUTHORIZED);
    r.authorization = SLICE("Bearer " TOKEN);
    assert_int_equal(judge(&s, r, RIGHT_USER, NULL), E_OK);
}

static const struct {
    const char *host;
    bool known; /* on a loopback address */
    bool known_beyond;
} hosts[] = {
    {"localhost", true, true},
    {"LocalHost:1", true, true},
    {"x.localhost:6769", true, true},
    {"127.0.0.1", true, true},
    {"127.99.1.2:80", true, true},
    {"[::1]:6769", true, true},
    {"whatever.com", true, true},
    {"WHATEVER.com:80", true, true},
    {"proxy.example", true, true},
    {"192.168.1.5:6769", false, true},
    {"[fe80::1]:6769", false, true},
    {"127.0.0.1.evil.com", false, false},
    {"127.evil.com", false, false},
    {"evil.com", false, false},
    {"xlocalhost", false, false},
    {"whatever.com.evil.com", false, false},
    {"localhost:", false, false},
    {"localhost:x", false, false},
    {"localhost:99999", false, false},
    {"[::1", false, false},
    {"", false, false},
};

static void a_host_that_is_not_ours_is_refused(void **state)
{
    (void)state;
    struct auth_settings near = loopback();
    struct auth_settings far = beyond();

    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        struct auth_request r = {.host = slice_of(hosts[i].host),
                                 .authorization = SLICE("Bearer " TOKEN)};

        if ((judge(&near, r, RIGHT_USER, NULL) == E_OK) != hosts[i].known ||
            (judge(&far, r, RIGHT_USER, NULL) == E_OK) != hosts[i].known_beyond)
            fail_msg("Host: %s", hosts[i].host);
    }
}

static void a_request_without_host_comes_from_a_program(void **state)
{
    (void)state;
    struct auth_settings s = loopback();

    assert_int_equal(judge(&s, (struct auth_request){.local = false}, RIGHT_USER, NULL), E_OK);
}

static const struct {
    const char *origin;
    const char *host;
    bool ours;
} origins[] = {
    {"http://localhost:6769", "localhost:6769", true},
    {"http://127.0.0.1:6769", "localhost:6769", true},
    {"http://[::1]:6769", "[::1]:6769", true},
    {"http://whatever.com:6769", "whatever.com:6769", true},
    {"https://proxy.example:8443", "127.0.0.1:6769", true},
    {"http://localhost", "localhost", true},           /* port 80, both */
    {"http://localhost:9000", "localhost:9000", true}, /* forwarded */
    {"https://base.example", "127.0.0.1:6769", true},  /* server.url */
    {"http://localhost:8080", "localhost:6769", false},
    {"http://localhost", "localhost:6769", false},
    {"http://evil.com", "localhost:6769", false},
    {"http://evil.com:6769", "localhost:6769", false},
    {"http://localhost.evil.com:6769", "localhost:6769", false},
    {"https://proxy.example", "127.0.0.1:6769", false},
    {"http://base.example", "127.0.0.1:6769", false},
    {"null", "localhost:6769", false},
    {"", "localhost:6769", false},
    {"http://", "localhost:6769", false},
    {"file:///etc/passwd", "localhost:6769", false},
};

static void a_page_of_another_origin_is_refused(void **state)
{
    (void)state;
    struct auth_settings s = loopback();

    s.url = SLICE("https://base.example/waybill");
    for (size_t i = 0; i < ARRAY_LEN(origins); i++) {
        struct auth_request by_origin = {.host = slice_of(origins[i].host),
                                         .origin = slice_of(origins[i].origin)};
        struct auth_request by_referer = {.host = slice_of(origins[i].host)};
        char referer[100];

        snprintf(referer, sizeof(referer), "%s/page?x#y", origins[i].origin);
        by_referer.referer = slice_of(referer);
        if ((judge(&s, by_origin, RIGHT_USER, NULL) == E_OK) != origins[i].ours ||
            (judge(&s, by_referer, RIGHT_USER, NULL) == E_OK) != origins[i].ours)
            fail_msg("Origin: %s, Host: %s", origins[i].origin, origins[i].host);
    }
}

static void a_foreign_page_gets_nothing_with_the_token_either(void **state)
{
    (void)state;
    struct auth_settings s = beyond();
    struct auth_request r = {.host = SLICE("127.0.0.1:6769"),
                             .origin = SLICE("http://evil.com"),
                             .authorization = SLICE("Bearer " TOKEN)};
    struct auth_request local = {.local = true, .origin = SLICE("http://evil.com")};

    assert_int_equal(judge(&s, r, RIGHT_USER, NULL), E_FORBIDDEN);
    assert_int_equal(judge(&s, local, RIGHT_USER, NULL), E_FORBIDDEN);
}

static void what_a_browser_says_about_the_site_counts(void **state)
{
    (void)state;
    struct auth_settings s = loopback();
    struct auth_request r = {.host = SLICE("localhost:6769"), .fetch_site = SLICE("cross-site")};

    assert_int_equal(judge(&s, r, RIGHT_USER, NULL), E_FORBIDDEN);
    r.fetch_site = SLICE("same-site");
    assert_int_equal(judge(&s, r, RIGHT_USER, NULL), E_FORBIDDEN);
    r.fetch_site = SLICE("same-origin");
    assert_int_equal(judge(&s, r, RIGHT_USER, NULL), E_OK);
    r.fetch_site = SLICE("none");
    assert_int_equal(judge(&s, r, RIGHT_USER, NULL), E_OK);
}

static void the_token_is_seen_whatever_else_is_wrong(void **state)
{
    (void)state;
    struct auth_settings s = beyond();
    struct auth_request r = {.host = SLICE("elsewhere.example"),
                             .fetch_site = SLICE("cross-site"),
                             .authorization = SLICE("Bearer " TOKEN)};

    assert_int_equal(judge(&s, r, RIGHT_USER, NULL), E_FORBIDDEN);
    assert_int_equal(auth_token_seen(&s, &r), TOKEN_RIGHT);
    r.authorization = SLICE("Bearer " TOKEN "x");
    assert_int_equal(auth_token_seen(&s, &r), TOKEN_WRONG);
    r.authorization = SLICE("Basic " TOKEN);
    assert_int_equal(auth_token_seen(&s, &r), TOKEN_WRONG);
    r.authorization = slice_make(NULL, 0);
    assert_int_equal(auth_token_seen(&s, &r), TOKEN_NONE);
    s = loopback();
    r.authorization = SLICE("Bearer " TOKEN);
    assert_int_equal(auth_token_seen(&s, &r), TOKEN_NONE);
}

/* The delay after many failures of `first`, when `second` fails once. */
static int64_t delay_between(const char *first, const char *second)
{
    struct auth_guard guard = {.told_at = 1};
    struct sockaddr_in6 a = {.sin6_family = AF_INET6};
    struct sockaddr_in6 b = {.sin6_family = AF_INET6};

    assert_int_equal(inet_pton(AF_INET6, first, &a.sin6_addr), 1);
    assert_int_equal(inet_pton(AF_INET6, second, &b.sin6_addr), 1);
    for (int i = 0; i < 10; i++)
        (void)auth_guard_failed(&guard, (struct sockaddr *)&a, 2);
    return auth_guard_failed(&guard, (struct sockaddr *)&b, 2);
}

static void failures_count_for_an_ipv4_address_or_an_ipv6_network(void **state)
{
    (void)state;
    assert_int_equal(delay_between("::ffff:192.0.2.1", "::ffff:192.0.2.2"), 0);
    assert_true(delay_between("::ffff:192.0.2.1", "::ffff:192.0.2.1") > 0);
    assert_int_equal(delay_between("2001:db8::1", "2001:db8:0:1::1"), 0);
    assert_true(delay_between("2001:db8::1", "2001:db8::2") > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_on_this_machine_is_a_user),
        cmocka_unit_test(the_unix_socket_is_the_administrator_whatever_its_host),
        cmocka_unit_test(the_token_is_the_administrator),
        cmocka_unit_test(a_wrong_token_is_refused_on_every_route),
        cmocka_unit_test(the_right_token_may_stand_behind_several_spaces),
        cmocka_unit_test(no_token_equals_none),
        cmocka_unit_test(beyond_this_machine_only_health_is_open),
        cmocka_unit_test(a_host_that_is_not_ours_is_refused),
        cmocka_unit_test(a_request_without_host_comes_from_a_program),
        cmocka_unit_test(a_page_of_another_origin_is_refused),
        cmocka_unit_test(a_foreign_page_gets_nothing_with_the_token_either),
        cmocka_unit_test(what_a_browser_says_about_the_site_counts),
        cmocka_unit_test(the_token_is_seen_whatever_else_is_wrong),
        cmocka_unit_test(failures_count_for_an_ipv4_address_or_an_ipv6_network),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
