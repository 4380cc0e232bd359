/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "testing.h"

static void quotes_backslashes_and_controls_are_escaped(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1000);

    jtext_add_string(&b, SLICE("a\"b\\c/\b\f\n\r\t\x01\x1F\x7Fä😀"));
    assert_string_equal(buf_text(&b), "\"a\\\"b\\\\c/\\b\\f\\n\\r\\t\\u0001\\u001f\x7Fä😀\"");
}

static void the_empty_string_is_two_quotes(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1000);

    jtext_add_string(&b, (struct slice){NULL, 0});
    assert_string_equal(buf_text(&b), "\"\"");
}

/* Every byte that needs an escape, at every offset of the eight looked at together. */
static void what_is_written_reads_back_the_same(void **state)
{
    (void)state;
    for (size_t length = 1; length < 30; length++)
        for (size_t at = 0; at < length; at++)
            for (int c = 1; c < 128; c++) {
                CLEANUP(buf) struct buf b = BUF_INIT(1000);
                char text[32];

                memset(text, 'x', sizeof(text));
                text[at] = (char)c;
                jtext_add_string(&b, slice_make(text, length));
                json_t *tree = json_loadb(b.data, b.size, JSON_DECODE_ANY, NULL);

                assert_non_null(tree);
                assert_int_equal(json_string_length(tree), length);
                assert_memory_equal(json_string_value(tree), text, length);
                json_decref(tree);
            }
}

static void keys_and_commas_find_their_places(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1000);

    buf_add_char(&b, '{');
    jtext_add_key(&b, "a");
    buf_add_char(&b, '[');
    jtext_add_comma(&b);
    buf_add_int(&b, 1);
    jtext_add_comma(&b);
    buf_add_char(&b, '{');
    jtext_add_key(&b, "b");
    jtext_add_bool(&b, true);
    buf_add_str(&b, "}]");
    jtext_add_key(&b, "q\"");
    jtext_add_bool(&b, false);
    buf_add_char(&b, '}');
    assert_string_equal(buf_text(&b), "{\"a\":[1,{\"b\":true}],\"q\\\"\":false}");
}

static void nothing_stands_before_the_first_thing_in_a_buffer(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1000);

    jtext_add_comma(&b);
    assert_string_equal(buf_text(&b), "");
    jtext_add_key(&b, "a");
    assert_string_equal(buf_text(&b), "\"a\":");
}

static void no_instant_is_null(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1000);

    jtext_add_time(&b, 0);
    jtext_add_comma(&b);
    jtext_add_time(&b, TIME_NEVER);
    jtext_add_comma(&b);
    jtext_add_time(&b, INT64_C(1794778200500000));
    assert_string_equal(buf_text(&b), "null,null,\"2026-11-15T21:30:00.500Z\"");
}

static void a_full_buffer_says_so(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(5);

    jtext_add_string(&b, SLICE("abcdef"));
    assert_true(b.overflowed);
    assert_true(b.size <= 5);
}

static void compact_text_has_no_white_space_between_its_parts(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice value = SLICE("{ \"a \\\" b\" :\t[ 1 ,\n\" \\\\\" , \"\\t \" ]\r\n, \"c\":{ } }");

    assert_slice_is(jtext_compact(value, &arena), "{\"a \\\" b\":[1,\" \\\\\",\"\\t \"],\"c\":{}}");
    assert_slice_is(jtext_compact(SLICE("7"), &arena), "7");
    assert_slice_is(jtext_compact(SLICE("\"\""), &arena), "\"\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_backslashes_and_controls_are_escaped),
        cmocka_unit_test(the_empty_string_is_two_quotes),
        cmocka_unit_test(what_is_written_reads_back_the_same),
        cmocka_unit_test(keys_and_commas_find_their_places),
        cmocka_unit_test(nothing_stands_before_the_first_thing_in_a_buffer),
        cmocka_unit_test(no_instant_is_null),
        cmocka_unit_test(a_full_buffer_says_so),
        cmocka_unit_test(compact_text_has_no_white_space_between_its_parts),
    };

    return cmocka_run_group_tests_name("jtext_write", tests, NULL, NULL);
}
