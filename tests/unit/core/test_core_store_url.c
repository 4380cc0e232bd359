/* SPDX-License-Identifier: MIT */
#include "core/definition/store_url.h"

#include "testing.h"

static const struct {
    const char *url;
    const char *shown;
} cases[] = {
    {"postgresql://host/db", "postgresql://host/db"},
    {"postgresql://host:5432/db", "postgresql://host:5432/db"},
    {"postgresql://me@host/db", "postgresql://me@host/db"},
    {"postgresql://me:secret@host/db", "postgresql://me:***@host/db"},
    {"postgresql://me:secret@/db?host=/run", "postgresql://me:***@/db?host=/run"},
    {"postgresql://me:se@cr/et@host:1,other:2/db", "postgresql://me:***@host:1,other:2/db"},
    {"postgresql://me:pa?secret@/db?host=/run", "postgresql://me:***@/db?host=/run"},
    {"postgresql://me:pa?secret@host/db", "postgresql://me:***@host/db"},
    {"postgresql://me:?secret@host", "postgresql://me:***@host"},
    {"postgresql://me:pa/secret@host/db", "postgresql://me:***@host/db"},
    {"postgresql://me:pa@secret@host/db", "postgresql://me:***@host/db"},
    {"postgresql://me:pa?s/secret@host/db?a=b", "postgresql://me:***@host/db?a=b"},
    {"postgresql://me:pa/s?secret@host/db?a=b", "postgresql://me:***@host/db?a=b"},
    {"postgresql://me:pa@?x/secret@host/db", "postgresql://me:***@host/db"},
    {"postgresql://me:pa?x=y&secret@host/db", "postgresql://me:***@host/db"},
    {"postgresql://me:pa?secret@/db?user=a@b", "postgresql://me:***@b"},
    {"postgresql://me:pa?x=y@/db?password=secret", "postgresql://me:***@/db?password=***"},
    {"postgresql://me@[::1]:5432/db", "postgresql://me@[::1]:5432/db"},
    {"postgresql:///db?user=me@there", "postgresql:///db?user=me@there"},
    {"postgresql:///db?password=se@secret?/", "postgresql:///db?password=***"},
    {"postgresql://host:1/db?password=pa@secret&a=b", "postgresql://host:***&a=b"},
    {"postgresql://host?password=secret&a:secret@b", "postgresql://host?password=***&a:***@b"},
    {"postgresql:///db?user=me&password=secret", "postgresql:///db?user=me&password=***"},
    {"postgresql:///db?password=a&sslpassword=b&sslmode=require",
     "postgresql:///db?password=***&sslpassword=***&sslmode=require"},
    {"postgres://a:b@h/d?password=c", "postgres://a:***@h/d?password=***"},
    {"postgresql://me:@host/db", "postgresql://me:@host/db"},
    {"postgresql:///db?passwordless=1", "postgresql:///db?passwordless=1"},
    {"postgresql:///db?password", "postgresql:///db?password"},
    {"postgresql:///db?&&", "postgresql:///db?&&"},
    {"postgresql://", "postgresql://"},
    {"", ""},
    {"me:secret@host", "me:***@host"},
    {"me:pa://secret@host", "me:***@host"},
    {"host=here password=secret", "host=here password=***"},
};

static void a_url_is_shown_without_its_passwords(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf out = BUF_INIT(1000);

        store_url_show(slice_of(cases[i].url), &out);
        assert_string_equal(buf_text(&out), cases[i].shown);
    }
}

static void passwords_are_overwritten_in_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *url = mem_strdup(cases[i].url);

        store_url_hide(url);
        assert_int_equal(strlen(url), strlen(cases[i].url));
        assert_null(strstr(url, "secret"));
        assert_int_equal(strchr(url, '*') != NULL, strchr(cases[i].shown, '*') != NULL);
        free(url);
    }
}

static void a_kind_of_store_that_there_is_not_is_refused(void **state)
{
    static const char *const bad[] = {
        "", "sqlite:x", "postgresql:db", "mysql://a/b", "/var/lib/waybill", "POSTGRESQL://a"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = ERR_INIT;

        assert_int_equal(store_url_check(slice_of(bad[i]), &err), E_INVALID);
        assert_non_null(strstr(err.msg, "postgresql://user@host/database"));
    }
}

static void a_refusal_shows_no_password(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(store_url_check(SLICE("mysql://me:secret@h/d"), &err), E_INVALID);
    assert_null(strstr(err.msg, "secret"));
    assert_non_null(strstr(err.msg, "'mysql://me:***@h/d'"));
}

static void a_url_that_is_too_long_is_refused(void **state)
{
    CLEANUP(buf) struct buf url = BUF_INIT(2 * STORE_URL_MAX);
    struct err err = ERR_INIT;

    (void)state;
    buf_add_str(&url, "postgresql://h/");
    while (url.size <= STORE_URL_MAX)
        buf_add_char(&url, 'd');
    assert_int_equal(store_url_check(buf_slice(&url), &err), E_INVALID);
    url.size--;
    assert_int_equal(store_url_check(buf_slice(&url), &err), E_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_url_is_shown_without_its_passwords),
        cmocka_unit_test(passwords_are_overwritten_in_place),
        cmocka_unit_test(a_kind_of_store_that_there_is_not_is_refused),
        cmocka_unit_test(a_refusal_shows_no_password),
        cmocka_unit_test(a_url_that_is_too_long_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
