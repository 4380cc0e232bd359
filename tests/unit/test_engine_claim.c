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

/* One job has body bytes that triple, and more, as a JSON string. */
static void a_claim_of_large_jobs_gets_as_many_as_fit_a_reply(void **state)
{
    struct fixture *f = *state;
    enum { JOBS = 12, BYTES = 7 << 20 };
    char *body = mem_alloc(BYTES);
    size_t granted = 0;
    size_t claims = 0;

    for (int i = 0; i < JOBS; i++) {
        struct submit_item item = item_of("default");

        memset(body, i % 3 == 0 ? 1 : i % 3 == 1 ? '"' : 'x', BYTES);
        item.body = slice_make(body, BYTES);
        assert_int_equal(run_op(f, op_submit(f, &item, 1))->op.err.code, E_OK);
    }
    while (granted < JOBS && claims++ < JOBS) {
        struct granted g[JOBS];
        struct test_op *t = run_op(f, op_claim(f, "default", JOBS));

        assert_false(t->op.reply.overflowed);
        size_t n = granted_of(t, g, JOBS);

        assert_true(n >= 1);
        granted += n;
        buf_deinit(&t->op.reply);
    }
    assert_int_equal(granted, JOBS);
    assert_int_equal(kept_count(f, "default", JOB_RUNNING), JOBS);
    assert_sound(f);
    free(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(no_job_is_granted_twice_when_the_ready_list_is_filled_again),
        ENGINE_TEST(a_claim_of_large_jobs_gets_as_many_as_fit_a_reply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
