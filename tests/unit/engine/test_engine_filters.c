/*
 * Filters: which new jobs are kept, when keys are taken, and when they are free again.
 */
/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "engine_fixture.h"
#include "store/filters/uniques.h"
#include "testing.h"

#define UNIQUE(rest) "{\"filters\":[{\"unique\":{\"key\":\"{k}\"" rest "}}]}"

static struct submit_item item_with(struct fixture *f, const char *queue, const char *key)
{
    struct submit_item item = item_of(queue);
    char text[100];

    snprintf(text, sizeof(text), "{\"k\":\"%s\"}", key);
    item.params = slice_of(arena_strdup(&f->arena, slice_of(text)));
    return item;
}

/* One job; its id, or 0 when it was dropped. */
static int64_t add(struct fixture *f, const char *queue, const char *key)
{
    struct submit_item item = item_with(f, queue, key);
    struct test_op *t = op_submit(f, &item, 1);

    t->op.submit.mode = SUBMIT_ARRAY;
    run_op(f, t);
    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
    if (reply_has(t, "\"ids\":[null]")) {
        assert_true(reply_has(t, "\"dropped\":[{\"index\":0,\"filter\":\"unique\""));
        return 0;
    }
    return id_at(t, 0);
}

static void end(struct fixture *f, const char *queue)
{
    struct granted g = claim_one(f, queue);

    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
}

static size_t keys(struct fixture *f)
{
    struct stored_unique due[100];
    struct err err = ERR_INIT;
    size_t n = 0;

    assert_int_equal(store_uniques_due(f->store, INT64_MAX, due, 100, &n, &err), E_OK);
    return n;
}

/* ---- sets ---- */

static void jobs_of_one_batch_see_the_keys_of_those_before(void **state)
{
    struct fixture *f = *state;
    struct submit_item items[3];
    struct test_op *t[2];

    define_queue(f, "work", UNIQUE(""));
    for (size_t i = 0; i < 3; i++)
        items[i] = item_with(f, "work", i == 1 ? "b" : "a");
    t[0] = op_submit(f, items, 2);
    t[1] = op_submit(f, items + 1, 2);
    batch_add(f, t[0]);
    batch_add(f, t[1]);
    batch_run(f);
    assert_false(reply_has(t[0], "null"));
    assert_true(reply_has(t[1], "\"ids\":[null,null]"));
    assert_int_equal(kept_count(f, "work", JOB_READY), 2);
    assert_sound(f);
}

static void a_refused_array_takes_no_key(void **state)
{
    struct fixture *f = *state;
    struct submit_item items[2];

    define_queue(f, "work", UNIQUE(""));
    define_queue(f, "strict", UNIQUE(",\"on_clash\":\"reject\""));
    assert_true(add(f, "strict", "a") != 0);
    items[0] = item_with(f, "work", "x");
    items[1] = item_with(f, "strict", "a");
    struct test_op *t = run_op(f, op_submit(f, items, 2));

    assert_int_equal(t->op.err.code, E_CONFLICT);
    assert_int_equal(t->op.err.item, 2);
    assert_true(add(f, "work", "x") != 0);
    assert_sound(f);
}

static void a_dry_run_takes_no_key(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "work", UNIQUE(""));
    struct submit_item item = item_with(f, "work", "a");
    struct test_op *t = op_submit(f, &item, 1);

    t->op.submit.dry_run = true;
    run_op(f, t);
    assert_true(add(f, "work", "a") != 0);
}

static void a_job_that_lacks_the_name_is_refused(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("work");

    define_queue(f, "work", UNIQUE(""));
    struct test_op *t = run_op(f, op_submit(f, &item, 1));

    assert_int_equal(t->op.err.code, E_INVALID);
    assert_non_null(strstr(t->op.err.msg, "queue 'work': unique.key"));
}

/* ---- how long keys are kept ---- */

static void a_key_outlives_its_job_by_for(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "work", UNIQUE(",\"for\":\"1h\""));
    assert_true(add(f, "work", "a") != 0);
    fixture_pass(f, 10 * US_PER_HOUR);
    batch_run(f);
    assert_int_equal(add(f, "work", "a"), 0); /* its job is not done yet */
    end(f, "work");
    fixture_pass(f, US_PER_HOUR / 2);
    assert_int_equal(add(f, "work", "a"), 0);
    fixture_pass(f, US_PER_HOUR);
    assert_true(add(f, "work", "a") != 0);
    assert_sound(f);
}

static void keys_that_are_over_are_removed(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "work", UNIQUE(",\"for\":\"1s\""));
    define_queue(f, "living", UNIQUE(",\"counts\":\"living\""));
    assert_true(add(f, "work", "a") != 0 && add(f, "living", "a") != 0);
    assert_int_equal(keys(f), 2);
    end(f, "work");
    end(f, "living");
    fixture_pass(f, US_PER_HOUR);
    batch_run(f);
    assert_int_equal(keys(f), 0);
    assert_true(add(f, "work", "a") != 0 && add(f, "living", "a") != 0);
    assert_sound(f);
}

static void a_living_key_is_free_with_the_end_of_its_job(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "work", UNIQUE(",\"counts\":\"living\""));
    assert_true(add(f, "work", "a") != 0);
    assert_int_equal(add(f, "work", "a"), 0);
    end(f, "work");
    assert_true(add(f, "work", "a") != 0);
    assert_int_equal(add(f, "work", "a"), 0);
    assert_sound(f);
}

static void the_keys_of_a_queue_go_with_it(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "work", UNIQUE(",\"scope\":\"queue\",\"for\":\"1000h\""));
    int64_t id = add(f, "work", "a");

    run_op(f, op_act(f, ACTION_CANCEL, id));
    run_op(f, op_act(f, ACTION_DELETE, id));
    struct test_op *t = op_make(f, OP_DEFINE);

    t->op.define = (struct define){.removes = true,
                                   .kind = DEFINITION_QUEUE,
                                   .name = SLICE("work")};
    run_op(f, t);
    assert_int_equal(t->op.err.code, E_OK);
    batch_run(f);
    batch_run(f);
    assert_int_equal(keys(f), 0);
    define_queue(f, "work", UNIQUE(",\"scope\":\"queue\""));
    assert_true(add(f, "work", "a") != 0);
    assert_sound(f);
}

static void keys_survive_a_crash(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "work", UNIQUE(""));
    assert_true(add(f, "work", "a") != 0);
    fixture_crash(f);
    assert_int_equal(add(f, "work", "a"), 0);
    assert_true(add(f, "work", "b") != 0);
    assert_sound(f);
}

/* ---- emits ---- */

static struct test_op *emit(struct fixture *f, struct granted g, int64_t seq, const char *key)
{
    struct test_op *t = op_make(f, OP_EMIT);
    struct submit_item *item = arena_alloc(&t->op.arena, sizeof(*item));

    *item = item_with(f, "work", key);
    t->op.emit = (struct emit){.id = g.id, .token = g.token, .seq = seq, .jobs = item, .n_jobs = 1};
    run_op(f, t);
    assert_int_equal(t->op.err.code, E_OK);
    return t;
}

static struct granted begin(struct fixture *f)
{
    define_queue(f, "source", "{\"retry\":{\"max\":5,\"first\":\"0s\"}}");
    define_queue(f, "work", UNIQUE(""));
    submit_one(f, "source");
    return claim_one(f, "source");
}

static void a_failed_attempt_takes_no_key(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    emit(f, g, 1, "a");
    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_FAILED));
    g = claim_one(f, "source");
    assert_false(reply_has(emit(f, g, 1, "a"), "null"));
    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    assert_int_equal(kept_count(f, "work", JOB_READY), 1);
    assert_sound(f);
}

static void of_two_staged_jobs_the_first_released_has_the_key(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    submit_one(f, "source");
    struct granted other = claim_one(f, "source");

    emit(f, g, 1, "a");
    emit(f, other, 1, "a");
    emit(f, other, 2, "a");
    assert_int_equal(kept_count(f, "work", JOB_STAGED), 3);
    run_op(f, op_finish(f, other.id, other.token, JOB_OUT_DONE));
    assert_int_equal(kept_count(f, "work", JOB_READY), 1);
    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    batch_run(f);
    assert_int_equal(kept_count(f, "work", JOB_READY), 1);
    assert_int_equal(kept_count(f, "work", JOB_STAGED), 0);
    assert_sound(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(jobs_of_one_batch_see_the_keys_of_those_before),
        ENGINE_TEST(a_refused_array_takes_no_key),
        ENGINE_TEST(a_dry_run_takes_no_key),
        ENGINE_TEST(a_job_that_lacks_the_name_is_refused),
        ENGINE_TEST(a_key_outlives_its_job_by_for),
        ENGINE_TEST(keys_that_are_over_are_removed),
        ENGINE_TEST(a_living_key_is_free_with_the_end_of_its_job),
        ENGINE_TEST(the_keys_of_a_queue_go_with_it),
        ENGINE_TEST(keys_survive_a_crash),
        ENGINE_TEST(a_failed_attempt_takes_no_key),
        ENGINE_TEST(of_two_staged_jobs_the_first_released_has_the_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
