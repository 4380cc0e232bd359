/* SPDX-License-Identifier: MIT */
#include <stdalign.h>

#include "base/arena.h"
#include "base/rng.h"
#include "testing.h"

static void pieces_are_aligned_and_do_not_overlap(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena a = ARENA_INIT;
    enum { PIECES = 2000 };
    static struct {
        unsigned char *data;
        size_t size;
    } pieces[PIECES];
    struct rng rng;

    rng_init(&rng, 1);
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i].size = rng_below(&rng, 50) == 0 ? rng_below(&rng, 60000) : rng_below(&rng, 100);
        pieces[i].data = arena_alloc(&a, pieces[i].size);
        assert_int_equal((uintptr_t)pieces[i].data % alignof(max_align_t), 0);
        memset(pieces[i].data, (int)(i % 251), pieces[i].size);
    }
    for (size_t i = 0; i < PIECES; i++)
        for (size_t j = 0; j < pieces[i].size; j++)
            if (pieces[i].data[j] != i % 251)
                fail_msg("piece %zu was overwritten", i);
}

static void a_large_piece_leaves_the_room_of_the_current_block(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena a = ARENA_INIT;
    char *first = arena_alloc(&a, 16);
    char *large = arena_alloc(&a, 100000);
    char *second = arena_alloc(&a, 16);

    memset(large, 'x', 100000);
    assert_ptr_equal(second, first + 16);
}

static void zeroed_memory_is_zero_also_when_used_before(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena a = ARENA_INIT;

    for (int round = 0; round < 2; round++) {
        unsigned char *p = arena_zalloc(&a, 500);
        uint32_t *array = arena_array(&a, 100, sizeof(*array));

        for (size_t i = 0; i < 500; i++)
            assert_int_equal(p[i], 0);
        for (size_t i = 0; i < 100; i++)
            assert_int_equal(array[i], 0);
        memset(p, 0xFF, 500);
        memset(array, 0xFF, 100 * sizeof(*array));
        arena_clear(&a);
    }
}

static void clearing_keeps_one_ordinary_block(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena a = ARENA_INIT;
    char *first = arena_alloc(&a, 100);

    arena_clear(&a);
    assert_ptr_equal(arena_alloc(&a, 100), first);
    for (int i = 0; i < 100; i++)
        assert_non_null(arena_alloc(&a, 5000));
    assert_non_null(arena_alloc(&a, 1 << 20));
    arena_clear(&a);
    assert_non_null(a.blocks);
    arena_clear(&a);
    arena_deinit(&a);
    assert_null(a.blocks);
    arena_clear(&a);
    assert_null(a.blocks);
}

static void copies_end_in_nul(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena a = ARENA_INIT;
    char text[] = "abcdef";
    struct slice copy = arena_copy(&a, slice_make(text, 3));

    text[0] = 'X';
    assert_slice_is(copy, "abc");
    assert_int_equal(copy.data[3], '\0');
    assert_string_equal(arena_strdup(&a, SLICE("x")), "x");
    assert_string_equal(arena_strdup(&a, (struct slice){NULL, 0}), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_do_not_overlap),
        cmocka_unit_test(a_large_piece_leaves_the_room_of_the_current_block),
        cmocka_unit_test(zeroed_memory_is_zero_also_when_used_before),
        cmocka_unit_test(clearing_keeps_one_ordinary_block),
        cmocka_unit_test(copies_end_in_nul),
    };

    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
