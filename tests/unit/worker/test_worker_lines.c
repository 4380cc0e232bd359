/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "testing.h"
#include "worker/run/line_reader.h"

enum { LIMIT = 10 };

/* All lines as text: each in brackets, skipped ones as a number. */
static void read_all(struct line_reader *r, struct buf *out)
{
    struct line line;

    while (line_reader_next(r, &line)) {
        buf_add_char(out, '[');
        if (line.skipped > 0)
            buf_addf(out, "-%d", (int)line.skipped);
        buf_add_slice(out, line.text);
        buf_add_char(out, ']');
    }
}

/* The same, whatever pieces the text comes in. */
static void assert_lines(struct slice text, const char *want)
{
    for (size_t size = 1; size <= text.size + 1; size++) {
        struct line_reader r = LINE_READER_INIT(LIMIT);
        CLEANUP(buf) struct buf out = BUF_INIT(10000);

        for (size_t at = 0; at < text.size; at += size) {
            size_t left = text.size - at;

            line_reader_feed(&r, slice_make(text.data + at, left < size ? left : size));
            read_all(&r, &out);
        }
        line_reader_end(&r);
        read_all(&r, &out);
        assert_string_equal(buf_text(&out), want);
        line_reader_deinit(&r);
    }
}

static void lines_are_the_same_in_whatever_pieces_they_come(void **state)
{
    (void)state;
    assert_lines(SLICE("a\nbc\n\nd\n"), "[a][bc][][d]");
    assert_lines(SLICE(""), "");
    assert_lines(SLICE("\n"), "[]");
}

static void a_last_line_without_an_end_is_a_line(void **state)
{
    (void)state;
    assert_lines(SLICE("a\nbc"), "[a][bc]");
    assert_lines(SLICE("bc\r"), "[bc]");
}

static void carriage_returns_at_the_end_are_taken_off(void **state)
{
    (void)state;
    assert_lines(SLICE("a\r\nb\r\r\n\r\nc\rd\n"), "[a][b\r][][c\rd]");
}

static void a_line_too_long_is_told_of_once_and_skipped(void **state)
{
    (void)state;
    assert_lines(SLICE("0123456789\nb\n"), "[0123456789][b]");
    assert_lines(SLICE("0123456789\r\nb\n"), "[0123456789][b]");
    assert_lines(SLICE("01234567890\nb\n"), "[-11][b]");
    assert_lines(SLICE("a\n01234567890123456789\n0123456789x\nb"), "[a][-20][-11][b]");
    assert_lines(SLICE("0123456789012345"), "[-16]");
}

static void any_byte_may_be_in_a_line(void **state)
{
    (void)state;
    struct line_reader r = LINE_READER_INIT(LIMIT);
    struct line line;

    line_reader_feed(&r, slice_make("a\0b\xFF\n", 5));
    assert_true(line_reader_next(&r, &line));
    assert_int_equal(line.text.size, 4);
    assert_memory_equal(line.text.data, "a\0b\xFF", 4);
    assert_false(line_reader_next(&r, &line));
    line_reader_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_same_in_whatever_pieces_they_come),
        cmocka_unit_test(a_last_line_without_an_end_is_a_line),
        cmocka_unit_test(carriage_returns_at_the_end_are_taken_off),
        cmocka_unit_test(a_line_too_long_is_told_of_once_and_skipped),
        cmocka_unit_test(any_byte_may_be_in_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
