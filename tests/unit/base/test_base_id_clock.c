/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "base/id.h"
#include "base/id_clock.h"
#include "testing.h"

#define NOW INT64_C(1794778200123456) /* 2026-11-15T21:30:00.123456Z */
#define YEAR (365 * US_PER_DAY)
#define S US_PER_S

/* One clock through all rows: what the wall says and how much the steady clock has counted since
 * the row before. */
static const struct {
    const char *what;
    int64_t wall_us; /* from NOW */
    int64_t passed_us;
    int64_t ids_us; /* from NOW */
} life[] = {
    {"at first", 0, 0, 0},
    {"a second later", 1 * S, 1 * S, 1 * S},
    {"set forward by a day: believed", US_PER_DAY, 1 * S, US_PER_DAY},
    {"and back: ids are the generator's business", 3 * S, 1 * S, 3 * S},
    {"60 years ahead: by the steady clock", 60 * YEAR, 1 * S, US_PER_DAY + 2 * S},
    {"still there an hour later", 60 * YEAR + US_PER_HOUR, US_PER_HOUR,
     US_PER_DAY + US_PER_HOUR + 2 * S},
    {"back again", US_PER_HOUR + 5 * S, 1 * S, US_PER_HOUR + 5 * S},
    {"set back 10 years", -10 * YEAR, 1 * S, -10 * YEAR},
    {"and to now: no leap", US_PER_HOUR + 7 * S, 1 * S, US_PER_HOUR + 7 * S},
    {"idle for two years", 2 * YEAR, 2 * YEAR, 2 * YEAR},
    {"a year to the day: believed", 3 * YEAR, 0, 3 * YEAR},
    {"beyond what ids can tell", 100 * YEAR, 1 * S, 3 * YEAR + 1 * S},
};

static void ids_follow_the_wall_clock_but_for_leaps(void **state)
{
    (void)state;
    struct id_clock c;
    int64_t steady_at = 12345;

    id_clock_init(&c, NOW, steady_at);
    for (size_t i = 0; i < ARRAY_LEN(life); i++) {
        steady_at += life[i].passed_us;
        int64_t at = id_clock_read(&c, NOW + life[i].wall_us, steady_at);

        if (at != NOW + life[i].ids_us)
            fail_msg("%s: off by %lld us", life[i].what, (long long)(at - NOW - life[i].ids_us));
    }
}

static void a_start_tells_which_way_clock_and_mark_differ(void **state)
{
    (void)state;
    static const struct {
        int64_t mark_us, wall_us;
        enum id_start start;
    } rows[] = {
        {0, 0, ID_START_ON},
        {0, YEAR, ID_START_ON},
        {YEAR, 0, ID_START_ON},
        {0, 2 * YEAR, ID_START_AHEAD},
        {2 * YEAR, 0, ID_START_BACK},
        {60 * YEAR, 0, ID_START_BACK},
        {0, 60 * YEAR, ID_START_AHEAD},
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(id_start_judge(id_at_time(NOW + rows[i].mark_us), NOW + rows[i].wall_us),
                         rows[i].start);
    assert_int_equal(id_start_judge(0, NOW), ID_START_ON);
    assert_int_equal(id_start_judge(0, NOW + 15 * YEAR), ID_START_ON);
    assert_int_equal(id_start_judge(0, NOW + 60 * YEAR), ID_START_AHEAD);
    assert_int_equal(id_start_judge(0, ID_FIRST_AT), ID_START_ON);
}

static void clocks_that_ids_cannot_tell_are_refused(void **state)
{
    (void)state;
    static const int64_t wrong[] = {0, ID_FIRST_AT - 1, ID_LAST_AT, NOW + 100 * YEAR};
    struct err err = ERR_INIT;

    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_int_equal(id_clock_check(wrong[i], &err), E_UNAVAILABLE);
        assert_non_null(strstr(err.msg, "set the clock"));
    }
    assert_int_equal(id_clock_check(ID_FIRST_AT, &err), E_OK);
    assert_int_equal(id_clock_check(ID_LAST_AT - 1, &err), E_OK);
}

static void a_generator_says_when_it_nears_its_end(void **state)
{
    (void)state;
    struct id_gen g;

    id_gen_init(&g, 1, id_at_time(ID_LAST_AT - US_PER_S));
    assert_true(id_gen_has_room(&g));
    for (int i = 0; i < 5000000; i++)
        (void)id_gen_next(&g, NOW);
    assert_false(id_gen_has_room(&g));
    (void)id_gen_next(&g, NOW + 100 * YEAR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_follow_the_wall_clock_but_for_leaps),
        cmocka_unit_test(a_start_tells_which_way_clock_and_mark_differ),
        cmocka_unit_test(clocks_that_ids_cannot_tell_are_refused),
        cmocka_unit_test(a_generator_says_when_it_nears_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
