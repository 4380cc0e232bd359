/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include "base/compiler.h"
#include "cli/live/top_page.h"

#define A "05D8K3Q9XW2RA"
#define B "05D8K3Q9XW2RB"

static const char text[] = "head\n"
                           "\033[34m" A "\033[0m  one\n"
                           "05D8K3Q9XW2RAX is no id\n" B "\n"
                           "tail\n";

static void jobs_are_chosen_by_their_lines(void **state)
{
    struct top_page p = {.first = 0};

    (void)state;
    top_page_fit(&p, slice_of(text), 2);
    assert_int_equal(p.lines, 5);
    top_page_choose(&p, slice_of(text), 1);
    assert_string_equal(p.chosen, A);
    top_page_choose(&p, slice_of(text), 1);
    assert_string_equal(p.chosen, B);
    assert_int_equal(p.first, 2); /* it is brought into view */
    top_page_choose(&p, slice_of(text), 1);
    assert_string_equal(p.chosen, B);
    top_page_choose(&p, slice_of(text), -1);
    assert_string_equal(p.chosen, A);
    assert_int_equal(p.first, 1);
    top_page_choose(&p, slice_of(text), -1);
    assert_string_equal(p.chosen, A);
    top_page_fit(&p, slice_of("other\n" B "\n"), 2);
    assert_string_equal(p.chosen, ""); /* it is gone */
    top_page_choose(&p, slice_of(text), -1);
    assert_string_equal(p.chosen, B);
}

static void without_jobs_the_page_is_scrolled(void **state)
{
    struct top_page p = {.first = 0};

    (void)state;
    top_page_fit(&p, slice_of("1\n2\n3\n4\n"), 3);
    top_page_choose(&p, slice_of("1\n2\n3\n4\n"), 1);
    assert_int_equal(p.first, 1);
    top_page_scroll(&p, 100);
    assert_int_equal(p.first, 1);
    top_page_scroll(&p, -100);
    assert_int_equal(p.first, 0);
}

static void lines_are_cut_at_the_edge_and_the_chosen_one_is_marked(void **state)
{
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    struct top_page p = {.first = 0, .chosen = A};

    (void)state;
    top_page_fit(&p, slice_of(text), 3);
    top_page_add(&p, slice_of(text), 15, &out);
    assert_string_equal(buf_text(&out), "head\n\033[7m" A " …\033[0m\n05D8K3Q9XW2RAX…\n");
    buf_clear(&out);
    p.chosen[0] = '\0';
    top_page_add(&p, slice_of(text), 4, &out);
    assert_string_equal(buf_text(&out), "head\n\033[34m05D…\033[0m\n05D…\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_chosen_by_their_lines),
        cmocka_unit_test(without_jobs_the_page_is_scrolled),
        cmocka_unit_test(lines_are_cut_at_the_edge_and_the_chosen_one_is_marked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
