/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "base/map.h"
#include "base/rng.h"
#include "testing.h"

static void an_empty_map_has_nothing(void **state)
{
    (void)state;
    CLEANUP(map) struct map m = MAP_INIT;
    size_t i = 0;
    int64_t key;
    void *value;

    assert_null(map_find(&m, 1));
    assert_null(map_remove(&m, 1));
    assert_false(map_next(&m, &i, &key, &value));
}

static void putting_again_replaces(void **state)
{
    (void)state;
    CLEANUP(map) struct map m = MAP_INIT;
    int a, b;

    map_put(&m, 5, &a);
    map_put(&m, 5, &b);
    assert_int_equal(m.count, 1);
    assert_ptr_equal(map_find(&m, 5), &b);
    assert_ptr_equal(map_remove(&m, 5), &b);
    assert_null(map_remove(&m, 5));
    assert_int_equal(m.count, 0);
}

static void numbers_from_outside_that_are_no_keys_are_not_found(void **state)
{
    (void)state;
    CLEANUP(map) struct map m = MAP_INIT;
    int a;

    map_put(&m, INT64_MAX, &a);
    assert_ptr_equal(map_find(&m, INT64_MAX), &a);
    assert_null(map_find(&m, 0));
    assert_null(map_find(&m, -1));
    assert_null(map_find(&m, INT64_MIN));
    assert_null(map_remove(&m, 0));
    assert_null(map_remove(&m, INT64_MIN));
    assert_int_equal(m.count, 1);
}

enum { KEYS = 3000 };

/* Ids as they come: many in one millisecond, then a jump. */
static int64_t key_of(size_t n)
{
    return (int64_t)((n / 50 + 1) << 22 | n % 50);
}

static void assert_same(const struct map *m, void *const reference[KEYS])
{
    bool seen[KEYS] = {false};
    size_t count = 0;
    int64_t key;
    void *value;

    for (size_t i = 0; map_next(m, &i, &key, &value); count++) {
        size_t n = (size_t)((key >> 22) - 1) * 50 + (size_t)(key & 63);

        assert_in_range(n, 0, KEYS - 1);
        assert_false(seen[n]);
        seen[n] = true;
        assert_ptr_equal(value, reference[n]);
    }
    assert_int_equal(count, m->count);
    for (size_t n = 0; n < KEYS; n++)
        assert_ptr_equal(map_find(m, key_of(n)), reference[n]);
}

static void random_operations_agree_with_an_array(void **state)
{
    (void)state;
    CLEANUP(map) struct map m = MAP_INIT;
    static void *reference[KEYS];
    static char values[100];
    struct rng rng;
    size_t count = 0;

    rng_init(&rng, 11);
    for (int i = 0; i < 200000; i++) {
        size_t n = rng_below(&rng, KEYS);
        bool growing = i / 20000 % 2 == 0; /* it fills and empties several times */

        if (rng_below(&rng, 10) < (growing ? 8u : 2u)) {
            count += reference[n] == NULL;
            reference[n] = &values[rng_below(&rng, sizeof(values))];
            map_put(&m, key_of(n), reference[n]);
        } else {
            count -= reference[n] != NULL;
            assert_ptr_equal(map_remove(&m, key_of(n)), reference[n]);
            reference[n] = NULL;
        }
        assert_int_equal(m.count, count);
        if (i % 4999 == 0)
            assert_same(&m, reference);
    }
    assert_same(&m, reference);
}

static void memory_goes_with_the_keys(void **state)
{
    (void)state;
    CLEANUP(map) struct map m = MAP_INIT;
    int a;

    for (int64_t key = 1; key <= 100000; key++)
        map_put(&m, key, &a);
    assert_in_range(m.capacity, 100000, 300000);
    for (int64_t key = 1; key <= 100000; key++)
        assert_ptr_equal(map_remove(&m, key), &a);
    assert_int_equal(m.count, 0);
    assert_in_range(m.capacity, 1, 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_map_has_nothing),
        cmocka_unit_test(putting_again_replaces),
        cmocka_unit_test(numbers_from_outside_that_are_no_keys_are_not_found),
        cmocka_unit_test(random_operations_agree_with_an_array),
        cmocka_unit_test(memory_goes_with_the_keys),
    };

    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
