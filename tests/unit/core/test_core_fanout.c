/*
 * How much of a fan-out belongs into one commit.
 */
/* SPDX-License-Identifier: MIT */
#include "core/route/fanout.h"

#include "testing.h"

static void a_commit_has_room_for_its_rows_and_its_bytes(void **state)
{
    struct fanout left = fanout_max(0, 0);

    (void)state;
    assert_int_equal(left.rows, FANOUT_ROWS);
    assert_int_equal(left.bytes, FANOUT_BYTES);
    assert_false(fanout_is_full(&left));
    fanout_use(&left, FANOUT_ROWS - 1, 10);
    assert_false(fanout_is_full(&left));
    fanout_use(&left, 5, 0);
    assert_true(fanout_is_full(&left));
    assert_int_equal(left.rows, 0);
    left = fanout_max(7, 100);
    assert_int_equal(left.rows, 7);
    fanout_use(&left, 1, 101);
    assert_true(fanout_is_full(&left));
    assert_int_equal(left.bytes, 0);
}

static void of_a_publication_as_much_is_made_as_there_is_room(void **state)
{
    const struct fanout max = fanout_max(0, 0);
    struct fanout left = max;

    (void)state;
    assert_int_equal(fanout_part(&left, &max, 1000, 0), 1000);
    assert_int_equal(fanout_part(&left, &max, 1001, 0), 1000);
    fanout_use(&left, 900, 0);
    assert_int_equal(fanout_part(&left, &max, 100, 0), 100);
    assert_int_equal(fanout_part(&left, &max, 101, 0), 100);
    assert_int_equal(fanout_part(&left, &max, 100, FANOUT_BYTES / 20), 20);
    assert_int_equal(fanout_part(&left, &max, 100, 2 * FANOUT_BYTES), 1);
    fanout_use(&left, 0, FANOUT_BYTES);
    assert_int_equal(fanout_part(&left, &max, 101, 0), 0);
    assert_int_equal(fanout_part(&left, &max, 101, 1), 0);
}

static void a_small_publication_is_made_at_once_whatever_else_there_is(void **state)
{
    const struct fanout max = fanout_max(0, 0);
    const struct fanout left = {0};

    (void)state;
    assert_int_equal(fanout_part(&left, &max, 1, 0), 1);
    assert_int_equal(fanout_part(&left, &max, FANOUT_ROWS / 64, 0), FANOUT_ROWS / 64);
    assert_int_equal(fanout_part(&left, &max, FANOUT_ROWS / 64 + 1, 0), 0);
    assert_int_equal(fanout_part(&left, &max, 2, FANOUT_BYTES / 128), 2);
    assert_int_equal(fanout_part(&left, &max, 2, FANOUT_BYTES / 128 + 1), 0);
}

static void what_is_left_by_others_gets_half_at_least(void **state)
{
    const struct fanout max = fanout_max(8, 100);
    struct fanout left = fanout_for_rest(&max, &max);

    (void)state;
    assert_int_equal(left.rows, 8);
    assert_int_equal(left.bytes, 100);
    fanout_use(&left, 8, 100);
    left = fanout_for_rest(&left, &max);
    assert_int_equal(left.rows, 5);
    assert_int_equal(left.bytes, 51);
    left = fanout_for_rest(&(struct fanout){0, 0}, &(struct fanout){1, 1});
    assert_false(fanout_is_full(&left));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_has_room_for_its_rows_and_its_bytes),
        cmocka_unit_test(of_a_publication_as_much_is_made_as_there_is_room),
        cmocka_unit_test(a_small_publication_is_made_at_once_whatever_else_there_is),
        cmocka_unit_test(what_is_left_by_others_gets_half_at_least),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
