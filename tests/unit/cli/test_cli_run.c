/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "run/look.h"
#include "run/show/progress.h"

static struct look_wait by_itself = {.text = "a: waits for a free worker", .goes_by_itself = true};
static struct look_wait at_noon = {.text = "a: not due yet", .until_at = 500};
static struct look_wait at_ten = {.text = "b: search-api is closed", .until_at = 300};
static struct look_wait for_ever = {.text = "c: signal dump 0/1"};

static struct look look_with(const struct look_wait *const *waits)
{
    struct look l = {.waiting = 0};

    for (; *waits != NULL; waits++) {
        VEC_PUSH(&l.waits, **waits);
        l.waiting++;
    }
    return l;
}

static void assert_verdict(const struct look_wait *const *waits, enum look_verdict want,
                           int64_t next_at)
{
    struct look l = look_with(waits);

    assert_int_equal(look_judge(&l), want);
    assert_int_equal(look_next_at(&l), next_at);
    VEC_DEINIT(&l.waits);
}

static void what_goes_by_itself_keeps_a_run_moving(void **state)
{
    (void)state;
    assert_verdict((const struct look_wait *const[]){&for_ever, &by_itself, NULL}, LOOK_MOVES, 0);
    assert_verdict((const struct look_wait *const[]){&at_noon, &by_itself, NULL}, LOOK_MOVES, 500);
}

static void a_known_instant_is_waited_for(void **state)
{
    (void)state;
    assert_verdict((const struct look_wait *const[]){&at_noon, &at_ten, &for_ever, NULL},
                   LOOK_WAITS, 300);
}

static void a_run_is_stuck_when_nothing_can_go_on(void **state)
{
    struct look unsealed = {.open_groups = 1, .unsealed = true};

    (void)state;
    assert_verdict((const struct look_wait *const[]){&for_ever, NULL}, LOOK_IS_STUCK, 0);
    assert_int_equal(look_judge(&unsealed), LOOK_IS_STUCK);
}

static void a_run_is_done_when_neither_jobs_nor_groups_are_left(void **state)
{
    struct look none = {.done = 7};
    struct look group = {.open_groups = 1};
    struct look running = {.running = 1};

    (void)state;
    assert_int_equal(look_judge(&none), LOOK_DONE);
    assert_int_equal(look_judge(&group), LOOK_MOVES);
    assert_int_equal(look_judge(&running), LOOK_MOVES);
}

static void a_wait_is_told_with_its_number_and_its_time(void **state)
{
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    char text[] = "fetch: search-api is closed until 22:00";
    struct look_wait w = {.text = text, .n = 1234, .until_at = 3 * US_PER_HOUR};

    (void)state;
    wait_line_add(&out, &w, 0);
    assert_string_equal(buf_text(&out),
                        " 1,234 jobs of fetch: search-api is closed until 22:00 (3h)");
}

static json_t *group(const char *id, const char *parent, const char *name, int made)
{
    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:{s:i,s:i,s:i}}", "id", id, "parent", parent, "kind",
                     "site", "name", name, "state", "open", "counts", "made", made, "done", 1,
                     "running", 2);
}

static void groups_are_drawn_as_a_tree(void **state)
{
    CLEANUP(buf) struct buf out = BUF_INIT(4000);
    json_t *groups = json_pack("[o,o,o]", group("C", "B", "leaf\033[2J", 4),
                               group("B", "root", "x.org", 2), group("D", "root", "y.org", 1));

    (void)state;
    group_tree_add(&out, groups, 10);
    const char *first = strstr(buf_text(&out), "  site x.org");
    const char *second = strstr(buf_text(&out), "    site leaf\\x1b[2J");
    const char *third = strstr(buf_text(&out), "  site y.org");

    assert_true(first != NULL && second > first && third > second);
    assert_non_null(strstr(first, " 1/2, 2 running\n"));
    buf_clear(&out);
    group_tree_add(&out, groups, 1);
    assert_non_null(strstr(buf_text(&out), "and 2 more open groups\n"));
    json_decref(groups);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_by_itself_keeps_a_run_moving),
        cmocka_unit_test(a_known_instant_is_waited_for),
        cmocka_unit_test(a_run_is_stuck_when_nothing_can_go_on),
        cmocka_unit_test(a_run_is_done_when_neither_jobs_nor_groups_are_left),
        cmocka_unit_test(a_wait_is_told_with_its_number_and_its_time),
        cmocka_unit_test(groups_are_drawn_as_a_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
