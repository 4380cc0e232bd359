/*
 * Until when a job must have started.
 */
/* SPDX-License-Identifier: MIT */
#include "core/clock/expires.h"

#include "base/clock.h"
#include "json_testing.h"

static const struct field field = FIELD_ROW("expires", FIELD_T_CUSTOM, .read = expires_read);

static enum err_code read(const char *json, struct expires *ret, struct err *err)
{
    struct object_read r = {.to = ret, .arena = &arena, .err = err};

    return expires_read(&r, &field, checked(json));
}

static void a_length_counts_from_now(void **state)
{
    struct expires x = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(read("\"2h\"", &x, &err), E_OK);
    assert_int_equal(expires_at(&x, 1000), 1000 + 2 * US_PER_HOUR);
    assert_int_equal(read("90", &x, &err), E_OK);
    assert_int_equal(expires_at(&x, 1000), 1000 + 90 * US_PER_S);
}

static void an_instant_is_itself(void **state)
{
    struct expires x = {0};
    struct err err = ERR_INIT;
    CLEANUP(buf) struct buf out = BUF_INIT(100);

    (void)state;
    assert_int_equal(read("\"2026-11-15T21:30:00+01:00\"", &x, &err), E_OK);
    assert_int_equal(expires_at(&x, 1000), expires_at(&x, 5000));
    expires_write(&x, &field, &out);
    assert_string_equal(buf_text(&out), "\"2026-11-15T20:30:00Z\"");
    assert_int_equal(expires_parse(buf_slice(&out)).at, x.at);
}

static void others_are_refused(void **state)
{
    static const char *const bad[] = {"\"soon\"", "\"\"", "0", "-1", "true", "[]", "\"-2h\""};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct expires x = {.at = 77};
        struct err err = ERR_INIT;

        if (read(bad[i], &x, &err) != E_INVALID)
            fail_msg("%s is accepted", bad[i]);
        assert_memory_equal(err.msg, "must be", 7);
        assert_int_equal(x.at, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_length_counts_from_now),
        cmocka_unit_test(an_instant_is_itself),
        cmocka_unit_test(others_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, release_memory);
}
