/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include "base/compiler.h"
#include "core/job/last_line.h"

static const struct {
    const char *tail;
    const char *line;
} cases[] = {
    {"", ""},
    {"\n\n", ""},
    {"one", "one"},
    {"one\ntwo\n", "two"},
    {"one\n\n \t\n", "one"},
    {"one\r\ntwo\r\n", "two"},
    {"10%\r20%\rdone", "done"},
    {"\033[1;31mfatal:\033[0m no route\n", "fatal: no route"},
    {"\033]0;title\007text\n", "text"},
    {"\033]8;;http://x\033\\link\033]8;;\033\\\n", "link"},
    {"real\n\033[0m\n", "real"},
    {"cut \033[", "cut"},
    {"cut \033", "cut"},
    {"  tabs\there  ", "tabs here"},
    {"bell\a and \001", "bell and"},
    {"caf\xe9 \xe2\x82\xac", "caf? \xe2\x82\xac"},
};

static void the_last_line_that_shows_anything_is_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf line = BUF_INIT(LAST_LINE_MAX);

        last_line_add(&line, slice_of(cases[i].tail));
        assert_string_equal(buf_text(&line), cases[i].line);
    }
}

static void a_long_line_is_cut_between_characters(void **state)
{
    CLEANUP(buf) struct buf text = BUF_INIT(LAST_LINE_TAIL);
    CLEANUP(buf) struct buf line = BUF_INIT(LAST_LINE_MAX);

    (void)state;
    buf_add_char(&text, 'x');
    while (text.size + 3 < LAST_LINE_TAIL)
        buf_add_str(&text, "\xe2\x82\xac");
    last_line_add(&line, buf_slice(&text));
    assert_int_equal(line.size, LAST_LINE_MAX - (LAST_LINE_MAX - 1) % 3);
    assert_false(line.overflowed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_line_that_shows_anything_is_kept),
        cmocka_unit_test(a_long_line_is_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
