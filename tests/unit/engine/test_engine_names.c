/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "engine/batch/names.h"
#include "testing.h"

static void a_name_finds_what_was_put_under_it(void **state)
{
    (void)state;
    CLEANUP(names) struct names n = NAMES_INIT;
    int a, b;

    assert_null(names_find(&n, SLICE("a")));
    names_add(&n, SLICE("a"), &a);
    names_add(&n, SLICE(""), &b);
    assert_ptr_equal(names_find(&n, SLICE("a")), &a);
    assert_ptr_equal(names_find(&n, SLICE("")), &b);
    assert_null(names_find(&n, SLICE("ab")));
    names_remove(&n, SLICE("a"));
    assert_null(names_find(&n, SLICE("a")));
    assert_ptr_equal(names_find(&n, SLICE("")), &b);
}

/* Two texts with the same FNV-1a hash. */
static void names_of_the_same_hash_are_told_apart(void **state)
{
    (void)state;
    const struct slice twins[] = {SLICE("8yn0iYCKYHlIj4-BwPqk"), SLICE("GReLUrM4wMqfg9yzV3KQ")};
    int a, b;

    assert_true(slice_hash(twins[0]) == slice_hash(twins[1]));
    for (size_t first = 0; first < 2; first++) {
        CLEANUP(names) struct names n = NAMES_INIT;

        names_add(&n, twins[0], &a);
        assert_null(names_find(&n, twins[1]));
        names_add(&n, twins[1], &b);
        assert_ptr_equal(names_find(&n, twins[0]), &a);
        assert_ptr_equal(names_find(&n, twins[1]), &b);
        names_remove(&n, twins[first]);
        assert_null(names_find(&n, twins[first]));
        assert_non_null(names_find(&n, twins[1 - first]));
    }
}

static void many_names_come_and_go(void **state)
{
    (void)state;
    enum { NAMES = 2000 };
    static char texts[NAMES][16];
    static bool there[NAMES];
    CLEANUP(names) struct names n = NAMES_INIT;
    struct rng rng;

    rng_init(&rng, 3);
    for (size_t i = 0; i < NAMES; i++)
        snprintf(texts[i], sizeof(texts[i]), "queue-%zu", i);
    for (int step = 0; step < 20000; step++) {
        size_t i = rng_below(&rng, NAMES);

        if (there[i])
            names_remove(&n, slice_of(texts[i]));
        else
            names_add(&n, slice_of(texts[i]), texts[i]);
        there[i] = !there[i];
    }
    for (size_t i = 0; i < NAMES; i++)
        assert_ptr_equal(names_find(&n, slice_of(texts[i])), there[i] ? texts[i] : NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_finds_what_was_put_under_it),
        cmocka_unit_test(names_of_the_same_hash_are_told_apart),
        cmocka_unit_test(many_names_come_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
