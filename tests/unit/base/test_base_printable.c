/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"
#include "testing.h"

static bool is_printable(uint32_t code)
{
    char text[4];

    return printable(text, utf8_encode(code, text));
}

/* Counted over all of Unicode: what is not listed is printed as it is. */
static void what_a_terminal_would_obey_is_not_printable(void **state)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0, 0x1F},        {0x7F, 0x9F},     {0x61C, 0x61C},   {0x200E, 0x200F},
        {0x2028, 0x202E}, {0x2066, 0x2069}, {0xFEFF, 0xFEFF}, {0xE0000, 0xE007F},
    };
    size_t listed = 0;
    size_t found = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++)
        for (uint32_t code = ranges[i].first; code <= ranges[i].last; code++, listed++)
            if (is_printable(code))
                fail_msg("U+%04X is printed", code);
    for (uint32_t code = 0; code <= 0x10FFFF; code++)
        if (code < 0xD800 || code > 0xDFFF)
            found += !is_printable(code);
    assert_int_equal(found, listed);
    assert_false(printable("\xFF", 0));
}

static void what_is_not_printable_has_a_visible_form(void **state)
{
    static const struct {
        struct slice text;
        const char *want;
    } cases[] = {
        {SLICE("\x1B"), "\\x1b"},
        {SLICE("\xD8\x9C"), "\\u061c"},
        {SLICE("\xE2\x80\x8F"), "\\u200f"},
        {SLICE("\xEF\xBB\xBF"), "\\ufeff"},
        {SLICE("\xF3\xA0\x80\x80"), "\\udb40\\udc00"},
        {SLICE("\xF3\xA0\x81\xBF"), "\\udb40\\udc7f"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf out = BUF_INIT(100);

        printable_escape(&out, cases[i].text.data, cases[i].text.size);
        assert_string_equal(buf_text(&out), cases[i].want);
    }
}

/* Names may have what is shown escaped, but no controls. */
static void a_mark_of_direction_is_no_control(void **state)
{
    (void)state;
    assert_true(is_control("\n", 1));
    assert_true(is_control("\xC2\x9B", 2));
    assert_false(is_control("\xD8\x9C", 2));
    assert_false(is_control("\xE2\x80\x8F", 3));
    assert_false(is_control("\xFF", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_terminal_would_obey_is_not_printable),
        cmocka_unit_test(what_is_not_printable_has_a_visible_form),
        cmocka_unit_test(a_mark_of_direction_is_no_control),
    };

    return cmocka_run_group_tests_name("printable", tests, NULL, NULL);
}
