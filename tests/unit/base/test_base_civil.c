/* SPDX-License-Identifier: MIT */
#include "base/civil.h"

#include "base/compiler.h"
#include "testing.h"

static void dates_and_days_lead_to_each_other(void **state)
{
    static const struct {
        struct civil date;
        int64_t days;
        int weekday;
    } cases[] = {
        {{1970, 1, 1}, 0, 4},       {{1969, 12, 31}, -1, 3}, {{2000, 2, 29}, 11016, 2},
        {{2026, 11, 18}, 20775, 3}, {{0, 3, 1}, -719468, 3}, {{-1, 12, 31}, -719529, 5},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct civil back = civil_from_days(cases[i].days);

        assert_int_equal(civil_days(cases[i].date), cases[i].days);
        assert_int_equal(back.year, cases[i].date.year);
        assert_int_equal(back.month, cases[i].date.month);
        assert_int_equal(back.day, cases[i].date.day);
        assert_int_equal(civil_weekday(cases[i].days), cases[i].weekday);
    }
}

/* A day after the other, through the years around 0 and 2000. */
static void each_day_follows_the_one_before(void **state)
{
    struct civil date = {-5, 1, 1};

    (void)state;
    for (int64_t days = civil_days(date); date.year < 2105; days++) {
        struct civil got = civil_from_days(days);

        if (got.year != date.year || got.month != date.month || got.day != date.day ||
            civil_days(date) != days)
            fail_msg("day %lld", (long long)days);
        if (++date.day > civil_month_days(date.year, date.month)) {
            date.day = 1;
            date.year += date.month == 12;
            date.month = date.month % 12 + 1;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_and_days_lead_to_each_other),
        cmocka_unit_test(each_day_follows_the_one_before),
    };

    return cmocka_run_group_tests_name("civil", tests, NULL, NULL);
}
