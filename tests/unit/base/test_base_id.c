/* SPDX-License-Identifier: MIT */
#include <ctype.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/id.h"
#include "base/rng.h"
#include "testing.h"

#define NOW INT64_C(1794778200123456) /* 2026-11-15T21:30:00.123456Z */

static uint32_t node_of(int64_t id)
{
    return (uint32_t)(id >> 12 & ID_NODE_MAX);
}

static void ids_grow_and_carry_their_millisecond_and_node(void **state)
{
    (void)state;
    struct id_gen g;
    int64_t last = 0;

    id_gen_init(&g, 7, 0);
    for (int i = 0; i < 100; i++) {
        int64_t id = id_gen_next(&g, NOW + i * 300);

        assert_true(id > last);
        assert_int_equal(node_of(id), 7);
        assert_true(id_time(id) == (NOW + i * 300) / US_PER_MS * US_PER_MS);
        last = id;
    }
}

static void a_full_millisecond_borrows_from_the_next(void **state)
{
    (void)state;
    struct id_gen g;
    int64_t last = 0;

    id_gen_init(&g, ID_NODE_MAX, 0);
    for (int i = 0; i < 10000; i++) {
        int64_t id = id_gen_next(&g, NOW);

        assert_true(id > last);
        assert_int_equal(node_of(id), ID_NODE_MAX);
        assert_true(id_time(id) == (NOW / US_PER_MS + i / 4096) * US_PER_MS);
        last = id;
    }
}

static void a_clock_that_goes_back_does_no_harm(void **state)
{
    (void)state;
    struct id_gen g;
    struct rng rng;
    int64_t last = 0;

    rng_init(&rng, 3);
    id_gen_init(&g, 1, 0);
    for (int i = 0; i < 100000; i++) {
        int64_t id = id_gen_next(&g, NOW - (int64_t)rng_below(&rng, 1000) * US_PER_MS);

        assert_true(id > last);
        last = id;
    }
    assert_true(id_gen_next(&g, 0) > last);
    assert_true(id_gen_next(&g, -5) > last + 1);
}

/* Whatever node the mark came from, and even if its sequence is used up. */
static void no_id_is_at_or_below_the_floor(void **state)
{
    (void)state;
    static const uint32_t nodes[] = {0, 5, ID_NODE_MAX};
    const int64_t ms = id_at_time(NOW + US_PER_HOUR);

    for (size_t i = 0; i < ARRAY_LEN(nodes); i++)
        for (size_t j = 0; j < ARRAY_LEN(nodes); j++)
            for (int64_t sequence = 0; sequence < 4096; sequence += 4095) {
                int64_t floor = ms | (int64_t)nodes[j] << 12 | sequence;
                struct id_gen g;

                id_gen_init(&g, nodes[i], floor);
                int64_t id = id_gen_next(&g, NOW);

                assert_true(id > floor);
                assert_int_equal(node_of(id), nodes[i]);
                assert_true(id_gen_next(&g, NOW) > id);
            }
}

static void instants_outside_the_range_stay_in_it(void **state)
{
    (void)state;
    assert_true(id_at_time(0) == 0);
    assert_true(id_at_time(-1) == 0);
    assert_true(id_at_time(TIME_NEVER) > id_at_time(NOW));
    assert_true(id_time(id_at_time(NOW)) == NOW / US_PER_MS * US_PER_MS);
}

static void text_is_thirteen_characters_that_sort_like_the_ids(void **state)
{
    (void)state;
    struct rng rng;
    char before[ID_TEXT_SIZE];
    char text[ID_TEXT_SIZE];

    rng_init(&rng, 5);
    for (int i = 0; i < 10000; i++) {
        int64_t a = (int64_t)(rng_next(&rng) >> 1);
        int64_t b = (int64_t)(rng_next(&rng) >> 1);

        id_format(a, before);
        id_format(b, text);
        assert_int_equal(strlen(text), 13);
        assert_true((strcmp(before, text) < 0) == (a < b));
    }
    assert_string_equal(id_format(1, text), "0000000000001");
    assert_string_equal(id_format(INT64_MAX, text), "7ZZZZZZZZZZZZ");
}

static void text_is_read_back_in_either_case(void **state)
{
    (void)state;
    struct rng rng;

    rng_init(&rng, 6);
    for (int i = 0; i < 10000; i++) {
        int64_t id = (int64_t)(rng_next(&rng) >> 1);
        int64_t back = -1;
        char text[ID_TEXT_SIZE];

        id_format(id, text);
        assert_true(id_parse(slice_of(text), &back));
        assert_true(back == id);
        for (char *p = text; *p != '\0'; p++)
            *p = (char)(rng_below(&rng, 2) ? tolower((unsigned char)*p) : *p);
        assert_true(id_parse(slice_of(text), &back));
        assert_true(back == id);
    }
}

static void letters_that_look_like_digits_are_read_as_them(void **state)
{
    (void)state;
    int64_t id;

    assert_true(id_parse(SLICE("OoOoOoOoOoIiL"), &id));
    assert_true(id == (1 << 10 | 1 << 5 | 1));
    assert_true(id_parse(SLICE("000000000000l"), &id));
    assert_true(id == 1);
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "0",
        "000000000000",
        "00000000000000",
        "8000000000000",
        "Z000000000000",
        "00000000000U0",
        "000000000000u",
        "00000-0000000",
        "000000000000 ",
        "000000000000\xC3",
    };
    int64_t id = -1;

    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(id_parse(slice_of(bad[i]), &id));
    assert_false(id_parse(slice_make("000000\0"
                                     "000000",
                                     13),
                          &id));
    assert_true(id == -1);
}

static void a_beginning_names_a_range(void **state)
{
    int64_t first = 0;
    int64_t last = 0;
    int64_t id = 0;

    (void)state;
    assert_true(id_prefix(slice_of("05d8"), &first, &last));
    assert_true(id_parse(slice_of("05D8000000000"), &id) && id == first);
    assert_true(id_parse(slice_of("05D8ZZZZZZZZZ"), &id) && id == last);
    assert_true(id_prefix(slice_of("05D8K3Q9XW2RT"), &first, &last) && first == last);
    assert_true(id_prefix(slice_of("7"), &first, &last) && last == INT64_MAX);
    assert_false(id_prefix(slice_of(""), &first, &last));
    assert_false(id_prefix(slice_of("8"), &first, &last));
    assert_false(id_prefix(slice_of("05U8"), &first, &last));
    assert_false(id_prefix(slice_of("05D8K3Q9XW2RT0"), &first, &last));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_grow_and_carry_their_millisecond_and_node),
        cmocka_unit_test(a_full_millisecond_borrows_from_the_next),
        cmocka_unit_test(a_clock_that_goes_back_does_no_harm),
        cmocka_unit_test(no_id_is_at_or_below_the_floor),
        cmocka_unit_test(instants_outside_the_range_stay_in_it),
        cmocka_unit_test(text_is_thirteen_characters_that_sort_like_the_ids),
        cmocka_unit_test(text_is_read_back_in_either_case),
        cmocka_unit_test(letters_that_look_like_digits_are_read_as_them),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(a_beginning_names_a_range),
    };

    return cmocka_run_group_tests_name("id", tests, NULL, NULL);
}
