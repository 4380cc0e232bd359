/*
 * How much of a fan-out belongs into one commit.
 */
/* SPDX-License-Identifier: MIT */
#include "core/route/fanout.h"

#include "testing.h"

static void a_commit_has_room_for_its_rows_and_its_bytes(void **state)
{
    struct fanout left = fanout_max(0, 0, 0);

    (void)state;
    assert_int_equal(left.rows, FANOUT_ROWS);
    assert_int_equal(left.bytes, FANOUT_BYTES);
    assert_false(fanout_is_full(&left));
    fanout_use(&left, FANOUT_ROWS - 1, 10);
    assert_false(fanout_is_full(&left));
    fanout_use(&left, 5, 0);
    assert_true(fanout_is_full(&left));
    assert_int_equal(left.rows, 0);
    left = fanout_max(7, 100, 0);
    assert_int_equal(left.rows, 7);
    fanout_use(&left, 1, 101);
    assert_true(fanout_is_full(&left));
    assert_int_equal(left.bytes, 0);
}

static void of_a_publication_as_much_is_made_as_there_is_room(void **state)
{
    const struct fanout max = fanout_max(0, 0, 0);
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
    const struct fanout max = fanout_max(0, 0, 0);
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
    const struct fanout max = fanout_max(8, 100, 0);
    struct fanout left = fanout_for_rest(&max, &max, FANOUT_PARTS);

    (void)state;
    assert_int_equal(left.rows, 8);
    assert_int_equal(left.bytes, 100);
    fanout_use(&left, 8, 100);
    left = fanout_for_rest(&left, &max, FANOUT_PARTS);
    assert_int_equal(left.rows, 5);
    assert_int_equal(left.bytes, 51);
    left = fanout_for_rest(&(struct fanout){0, 0, 0}, &(struct fanout){1, 1, 1}, 1);
    assert_false(fanout_is_full(&left));
}

static void round_trips_are_fewer_on_a_slow_link(void **state)
{
    const struct fanout max = fanout_max(0, 0, 0);
    const struct fanout set = fanout_max(0, 0, 5);
    struct fanout left;

    (void)state;
    assert_true(fanout_over_link(&max, 0).rounds == SIZE_MAX);
    assert_true(fanout_over_link(&max, 2000).rounds == SIZE_MAX);
    assert_int_equal(fanout_over_link(&max, 10000).rounds, 50);
    assert_int_equal(fanout_over_link(&max, 300000).rounds, 8);
    assert_int_equal(fanout_over_link(&set, 300000).rounds, 5);
    assert_int_equal(fanout_over_link(&max, 10000).rows, FANOUT_ROWS);
    left = fanout_over_link(&max, 10000);
    fanout_use_rounds(&left, 49);
    assert_false(fanout_is_full(&left));
    fanout_use_rounds(&left, 7);
    assert_true(fanout_is_full(&left));
    left = fanout_for_rest(&left, &set, 1);
    assert_int_equal(left.rounds, 3);
}

static void what_is_worked_off_takes_its_part_of_a_commit(void **state)
{
    const struct fanout max = fanout_max(640, 64 << 20, 0);
    struct fanout left = fanout_for_rest(&max, &max, 16);

    (void)state;
    assert_int_equal(left.rows, 160);
    assert_int_equal(left.bytes, 16 << 20);
    left = fanout_for_rest(&(struct fanout){0, 0, 0}, &max, 16);
    assert_int_equal(left.rows, 81);
    assert_int_equal(left.bytes, (8 << 20) + 1);
    left = fanout_for_rest(&(struct fanout){100, 10 << 20, 1}, &max, 16);
    assert_int_equal(left.rows, 100);
    assert_int_equal(left.bytes, 10 << 20);
}

/* 30 round trips of 20 ms each: the rows are not to blame. */
static void round_trips_of_a_slow_link_do_not_slow_down_the_work(void **state)
{
    unsigned part = FANOUT_PARTS;

    (void)state;
    for (int i = 0; i < 20; i++)
        part = fanout_pace(part, fanout_took_us(630000, 30, 20000), true);
    assert_int_equal(part, FANOUT_PARTS);
    assert_int_equal(fanout_took_us(630000, 0, 20000), 630000);
    assert_int_equal(fanout_took_us(630000, 40, 20000), 0);
    assert_int_equal(fanout_took_us(630000, INT64_MAX, 20000), 0);
}

/* Of the microseconds that a commit took. */
static void a_slow_commit_makes_the_next_ones_smaller_and_quick_ones_make_them_larger(void **state)
{
    (void)state;
    assert_int_equal(fanout_pace(64, 100000, true), 64);
    assert_int_equal(fanout_pace(64, 400000, true), 16);
    assert_int_equal(fanout_pace(64, 400000, false), 16);
    assert_int_equal(fanout_pace(16, 100000, true), 16);
    assert_int_equal(fanout_pace(16, 60000, true), 16);
    assert_int_equal(fanout_pace(16, 50000, true), 32);
    assert_int_equal(fanout_pace(16, 50000, false), 16); /* it says nothing of more work */
    assert_int_equal(fanout_pace(48, 10, true), 64);
    assert_int_equal(fanout_pace(64, INT64_C(3600000000), true), 1);
    assert_int_equal(fanout_pace(1, INT64_C(3600000000), true), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_has_room_for_its_rows_and_its_bytes),
        cmocka_unit_test(of_a_publication_as_much_is_made_as_there_is_room),
        cmocka_unit_test(a_small_publication_is_made_at_once_whatever_else_there_is),
        cmocka_unit_test(what_is_left_by_others_gets_half_at_least),
        cmocka_unit_test(round_trips_are_fewer_on_a_slow_link),
        cmocka_unit_test(what_is_worked_off_takes_its_part_of_a_commit),
        cmocka_unit_test(round_trips_of_a_slow_link_do_not_slow_down_the_work),
        cmocka_unit_test(a_slow_commit_makes_the_next_ones_smaller_and_quick_ones_make_them_larger),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
