/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "engine/ready.h"
#include "engine_fixture.h"
#include "testing.h"

static int by_id(const void *a, const void *b)
{
    const struct granted *x = a;
    const struct granted *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* A claim larger than what is left of the list in memory: the list is filled again in its middle. */
static void no_job_is_granted_twice_when_the_ready_list_is_filled_again(void **state)
{
    struct fixture *f = *state;
    enum { JOBS = READY_FILL + 500, MAX = 130 };
    struct granted *all = mem_zalloc(sizeof(*all) * 2 * JOBS);
    size_t n = 0;

    submit_many(f, "default", JOBS);
    fixture_crash(f);
    for (;;) {
        size_t got = granted_of(run_op(f, op_claim(f, "default", MAX)), all + n, MAX);

        if (got == 0)
            break;
        n += got;
        assert_true(n <= JOBS);
    }
    assert_int_equal(n, JOBS);
    qsort(all, n, sizeof(*all), by_id);
    for (size_t i = 1; i < n; i++)
        assert_true(all[i - 1].id < all[i].id);
    assert_int_equal(kept_count(f, "default", JOB_RUNNING), JOBS);
    assert_int_equal(kept_count(f, "default", JOB_READY), 0);
    assert_sound(f);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_job_is_granted_twice_when_the_ready_list_is_filled_again,
                                        fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
