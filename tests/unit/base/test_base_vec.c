/* SPDX-License-Identifier: MIT */
#include "base/vec.h"
#include "testing.h"

static void items_stay_in_order_while_it_grows(void **state)
{
    (void)state;
    VEC(uint32_t) v = VEC_INIT;

    for (uint32_t i = 0; i < 10000; i++)
        VEC_PUSH(&v, i * 3);
    assert_int_equal(v.count, 10000);
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(v.items[i], i * 3);
    VEC_CLEAR(&v);
    assert_int_equal(v.count, 0);
    assert_true(v.capacity >= 10000);
    VEC_DEINIT(&v);
    assert_null(v.items);
    VEC_PUSH(&v, 7);
    assert_int_equal(v.items[0], 7);
    VEC_DEINIT(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_stay_in_order_while_it_grows),
    };

    return cmocka_run_group_tests_name("vec", tests, NULL, NULL);
}
