/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/buf.h"
#include "testing.h"

static void it_grows_up_to_its_ceiling_and_not_a_byte_further(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1000);

    for (int i = 0; i < 1000; i++)
        buf_add_char(&b, 'x');
    assert_int_equal(b.size, 1000);
    assert_false(b.overflowed);
    assert_in_range(b.capacity, 1001, 1001);
    buf_add_char(&b, 'y');
    assert_int_equal(b.size, 1000);
    assert_true(b.overflowed);
    assert_int_equal(strlen(buf_text(&b)), 1000);
}

static void what_does_not_fit_is_dropped_whole(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(5);

    buf_add_str(&b, "abc");
    buf_add_str(&b, "def");
    assert_true(b.overflowed);
    assert_string_equal(buf_text(&b), "abc");
    buf_addf(&b, "%d", 12345);
    assert_string_equal(buf_text(&b), "abc");
    assert_null(buf_reserve(&b, 3));
    assert_null(buf_reserve(&b, SIZE_MAX));
}

static void an_overflow_is_remembered_until_it_is_cleared(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(3);

    buf_add_str(&b, "long");
    buf_add_str(&b, "abc");
    assert_true(b.overflowed);
    assert_string_equal(buf_text(&b), "abc");
    buf_clear(&b);
    assert_false(b.overflowed);
    assert_string_equal(buf_text(&b), "");
    buf_add_str(&b, "xyz");
    assert_false(b.overflowed);
}

static void a_ceiling_of_nothing_takes_nothing(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(0);

    buf_add_str(&b, "");
    assert_false(b.overflowed);
    buf_add_char(&b, 'x');
    assert_true(b.overflowed);
    assert_string_equal(buf_text(&b), "");
}

static void the_highest_ceiling_works_too(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(SIZE_MAX);

    for (int i = 0; i < 1000; i++)
        buf_add_str(&b, "0123456789");
    assert_int_equal(b.size, 10000);
    assert_false(b.overflowed);
}

static void whole_numbers_are_written_to_their_ends(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {7, "7"},
        {-7, "-7"},
        {1000000, "1000000"},
        {INT64_MAX, "9223372036854775807"},
        {INT64_MIN, "-9223372036854775808"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf b = BUF_INIT(100);

        buf_add_int(&b, cases[i].value);
        assert_string_equal(buf_text(&b), cases[i].text);
    }
}

static void formatted_text_of_any_length_fits(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(10000);

    buf_addf(&b, "%s", "");
    assert_string_equal(buf_text(&b), "");
    buf_addf(&b, "%05000d|%s", 7, "end");
    assert_int_equal(b.size, 5004);
    assert_string_equal(buf_text(&b) + 4999, "7|end");
}

static void reserved_room_is_written_by_hand(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(1000);
    char *room = buf_reserve(&b, 500);

    assert_non_null(room);
    assert_string_equal(buf_text(&b), "");
    memset(room, 'x', 500);
    b.size += 500;
    buf_add_char(&b, 'y');
    assert_int_equal(b.size, 501);
    assert_string_equal(buf_text(&b) + 499, "xy");
}

static void taking_leaves_it_empty_and_usable(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf b = BUF_INIT(10);

    char *nothing = buf_take(&b);

    assert_string_equal(nothing, "");
    free(nothing);
    buf_add_str(&b, "abc");
    char *text = buf_take(&b);

    assert_string_equal(text, "abc");
    free(text);
    assert_int_equal(b.size, 0);
    assert_int_equal(b.limit, 10);
    buf_add_str(&b, "de");
    assert_slice_is(buf_slice(&b), "de");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_grows_up_to_its_ceiling_and_not_a_byte_further),
        cmocka_unit_test(what_does_not_fit_is_dropped_whole),
        cmocka_unit_test(an_overflow_is_remembered_until_it_is_cleared),
        cmocka_unit_test(a_ceiling_of_nothing_takes_nothing),
        cmocka_unit_test(the_highest_ceiling_works_too),
        cmocka_unit_test(whole_numbers_are_written_to_their_ends),
        cmocka_unit_test(formatted_text_of_any_length_fits),
        cmocka_unit_test(reserved_room_is_written_by_hand),
        cmocka_unit_test(taking_leaves_it_empty_and_usable),
    };

    return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
