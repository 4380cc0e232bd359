/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "base/text/utf8.h"
#include "testing.h"

static void every_character_is_encoded_and_read_back(void **state)
{
    (void)state;
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        char text[4];

        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        size_t n = utf8_encode(code, text);

        if (utf8_step(text, text + n) != n)
            fail_msg("U+%04X is not read back", code);
        for (size_t cut = 0; cut < n; cut++)
            if (utf8_step(text, text + cut) != 0)
                fail_msg("U+%04X is read from %zu bytes", code, cut);
    }
}

/* Of all sequences of three bytes as many are one character as there are characters of that
 * length. */
static void nothing_else_is_a_character(void **state)
{
    (void)state;
    size_t lengths[5] = {0};

    for (uint32_t bytes = 0; bytes < 1 << 24; bytes++) {
        char text[3] = {(char)(bytes >> 16), (char)(bytes >> 8), (char)bytes};

        lengths[utf8_step(text, text + 3)]++;
    }
    assert_int_equal(lengths[1], 0x80u << 16);
    assert_int_equal(lengths[2], (0x800u - 0x80u) << 8);
    assert_int_equal(lengths[3], 0x10000u - 0x800u - 0x800u);
    assert_int_equal(lengths[4], 0);
}

static void malformed_text_is_seen_at_every_offset(void **state)
{
    (void)state;
    static const char *const bad[] = {"\x80", "\xC0\x80", "\xE2\x82", "\xED\xA0\x80",
                                      "\xF4\x90\x80\x80"};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        for (size_t before = 0; before < 20; before++)
            for (size_t after = 0; after < 20; after++) {
                char text[64];
                size_t n = strlen(bad[i]);

                memset(text, 'x', sizeof(text));
                memcpy(text + before, bad[i], n);
                assert_false(utf8_valid(slice_make(text, before + n + after)));
                assert_true(utf8_valid(slice_make(text, before)));
            }
    assert_true(utf8_valid((struct slice){NULL, 0}));
    assert_true(utf8_valid(SLICE("plain, ä, €, 😀 and a NUL \0 too")));
}

static void cutting_keeps_characters_whole(void **state)
{
    (void)state;
    struct slice text = SLICE("aä€😀");

    assert_slice_is(utf8_cut(text, 100), "aä€😀");
    assert_slice_is(utf8_cut(text, 10), "aä€😀");
    assert_slice_is(utf8_cut(text, 9), "aä€");
    assert_slice_is(utf8_cut(text, 6), "aä€");
    assert_slice_is(utf8_cut(text, 5), "aä");
    assert_slice_is(utf8_cut(text, 2), "a");
    assert_slice_is(utf8_cut(text, 0), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_is_encoded_and_read_back),
        cmocka_unit_test(nothing_else_is_a_character),
        cmocka_unit_test(malformed_text_is_seen_at_every_offset),
        cmocka_unit_test(cutting_keeps_characters_whole),
    };

    return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
