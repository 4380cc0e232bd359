/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/err.h"
#include "base/text/utf8.h"
#include "testing.h"

static void an_error_keeps_code_and_message(void **state)
{
    (void)state;
    struct err err = {.item = 3};

    assert_int_equal(err_set(&err, E_CONFLICT, "job %s is not leased by you", "X"), E_CONFLICT);
    assert_int_equal(err.code, E_CONFLICT);
    assert_int_equal(err.item, 0);
    assert_string_equal(err.msg, "job X is not leased by you");
}

static void wrapping_puts_the_doing_before_the_cause(void **state)
{
    (void)state;
    struct err err = ERR_INIT;

    err_set(&err, E_FULL, "database is full");
    err.item = 2;
    assert_int_equal(err_wrap(&err, "finish job %s", "X"), E_FULL);
    assert_int_equal(err_wrap(&err, "batch %d", 7), E_FULL);
    assert_string_equal(err.msg, "batch 7: finish job X: database is full");
    assert_int_equal(err.item, 2);
}

static void an_error_of_the_system_names_its_cause(void **state)
{
    (void)state;
    struct err err = ERR_INIT;

    errno = ENOENT;
    assert_int_equal(err_errno(&err, E_NOT_FOUND, "open %s", "/x"), E_NOT_FOUND);
    assert_string_equal(err.msg, "open /x: No such file or directory");
}

static void a_message_may_be_made_from_itself(void **state)
{
    (void)state;
    struct err err = ERR_INIT;

    err_set(&err, E_INVALID, "cause");
    err_set(&err, E_BAD_REQUEST, "%s (%s)", err.msg, err.msg);
    assert_string_equal(err.msg, "cause (cause)");
    err_wrap(&err, "%s", err.msg);
    assert_string_equal(err.msg, "cause (cause): cause (cause)");
}

/* With one to four bytes a character, shifted by each offset, the cut falls everywhere. */
static void a_long_message_is_cut_between_characters(void **state)
{
    (void)state;
    static const char *const characters[] = {"x", "ä", "€", "😀"};

    for (size_t c = 0; c < ARRAY_LEN(characters); c++)
        for (int shift = 0; shift < 8; shift++) {
            struct err err = ERR_INIT;
            char text[2000] = "";
            size_t width = strlen(characters[c]);

            for (size_t at = 0; at + width < sizeof(text) - 1; at += width)
                memcpy(text + at, characters[c], width);
            err_set(&err, E_INVALID, "%.*s%s", shift, "yyyyyyyy", text);
            assert_true(utf8_valid(slice_of(err.msg)));
            assert_in_range(strlen(err.msg), sizeof(err.msg) - 4, sizeof(err.msg) - 1);
            assert_null(strchr(err.msg, '?'));
            err_wrap(&err, "%.*s", shift, "zzzzzzzz");
            assert_true(utf8_valid(slice_of(err.msg)));
            assert_null(strchr(err.msg, '?'));
            err_wrap(&err, "%s", text);
            assert_true(utf8_valid(slice_of(err.msg)));
        }
}

static void what_is_not_utf8_is_shown_as_question_marks(void **state)
{
    (void)state;
    struct err err = ERR_INIT;

    err_set(&err, E_INVALID, "<%s> is no name, ä is", "a\xFF\xC3 b\xE2\x82");
    assert_string_equal(err.msg, "<a?\? b?\?> is no name, ä is");
    err_set(&err, E_INVALID, "%s", "end\xE2\x82");
    assert_string_equal(err.msg, "end??");
}

static void every_code_has_a_status_and_a_name_of_its_own(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ERR_CODE_COUNT; i++) {
        enum err_code code = (enum err_code)i;

        assert_in_range(err_http_status(code), 200, 599);
        assert_int_equal(err_from_name(err_name(code)), code);
    }
    assert_int_equal(err_http_status(E_STALE_LEASE), 409);
    assert_string_equal(err_name(E_QUEUE_DOWN), "queue_down");
    assert_int_equal(err_from_name("no such"), E_INTERNAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_keeps_code_and_message),
        cmocka_unit_test(wrapping_puts_the_doing_before_the_cause),
        cmocka_unit_test(an_error_of_the_system_names_its_cause),
        cmocka_unit_test(a_message_may_be_made_from_itself),
        cmocka_unit_test(a_long_message_is_cut_between_characters),
        cmocka_unit_test(what_is_not_utf8_is_shown_as_question_marks),
        cmocka_unit_test(every_code_has_a_status_and_a_name_of_its_own),
    };

    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
