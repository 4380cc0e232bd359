/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "engine_fixture.h"
#include "store/jobs/jobs.h"
#include "testing.h"

/* {"NAME":"xxx…"}, `size` bytes long. */
static struct slice params_of(struct arena *arena, char name, size_t size)
{
    char *text = arena_alloc(arena, size + 1);

    memset(text, 'x', size);
    memcpy(text, "{\"n\":\"", 6);
    text[2] = name;
    memcpy(text + size - 2, "\"}", 3);
    return slice_make(text, size);
}

static struct slice shown_params(struct fixture *f, struct arena *arena, int64_t id)
{
    struct err err = ERR_INIT;
    bool found = false;
    struct slice value;
    struct job j;

    assert_int_equal(store_job_load(f->store, id, LOAD_ALL, arena, &j, &found, &err), E_OK);
    assert_true(found);
    if (jtext_check(j.params, &value, &err) != E_OK)
        fail_msg("the params are no JSON any more: %s", err.msg);
    return value;
}

static int64_t finished_job(struct fixture *f)
{
    submit_one(f, "default");
    struct granted g = claim_one(f, "default");

    assert_int_equal(run_op(f, op_finish(f, g.id, g.token, JOB_OUT_FAILED))->op.err.code, E_OK);
    assert_int_equal(state_of(f, g.id), JOB_FAILED);
    return g.id;
}

static void params_are_not_merged_beyond_the_size_of_a_job(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    static const enum job_action_kind kinds[] = {ACTION_CLONE, ACTION_RETRY};

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        int64_t id = finished_job(f);
        struct test_op *t = op_act(f, ACTION_RETRY, id);

        t->op.action.params = params_of(&arena, 'c', JOB_BYTES_MAX - 100);
        run_op(f, t);
        assert_int_equal(t->op.err.code, E_OK);
        struct granted g = claim_one(f, "default");

        run_op(f, op_finish(f, g.id, g.token, JOB_OUT_FAILED));
        t = op_act(f, kinds[i], id);
        t->op.action.params = params_of(&arena, 'b', 1000);
        run_op(f, t);
        assert_int_equal(t->op.err.code, E_TOO_LARGE);
        assert_int_equal(state_of(f, id), JOB_FAILED);
        assert_int_equal(shown_params(f, &arena, id).size, JOB_BYTES_MAX - 100 + 6);
    }
    assert_sound(f);
}

static void a_patch_does_not_make_a_job_too_large(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct submit_item item = item_of("default");

    item.body = params_of(&arena, 'b', JOB_BYTES_MAX / 2);
    int64_t id = run_op(f, op_submit(f, &item, 1))->op.submit.first_id;
    struct test_op *t = op_act(f, ACTION_PATCH, id);

    t->op.action.params = params_of(&arena, 'a', JOB_BYTES_MAX / 2 + 1);
    run_op(f, t);
    assert_int_equal(t->op.err.code, E_TOO_LARGE);
    assert_slice_is(shown_params(f, &arena, id), "{\"a\":1}");
    t = op_act(f, ACTION_PATCH, id);
    t->op.action.params = SLICE("{\"b\":2}");
    t->op.action.has_priority = true;
    t->op.action.priority = 9;
    run_op(f, t);
    assert_int_equal(t->op.err.code, E_OK);
    assert_slice_is(shown_params(f, &arena, id), "{\"b\":2}");
}

static void a_job_with_a_command_is_not_moved_where_none_is_taken(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("default");

    define_queue(f, "plain", "{}");
    item.options = SLICE("{\"command\":[\"true\"]}");
    int64_t id = run_op(f, op_submit(f, &item, 1))->op.submit.first_id;
    struct test_op *t = op_act(f, ACTION_MOVE, id);

    t->op.action.queue = SLICE("plain");
    t->op.action.may_command = true;
    run_op(f, t);
    assert_int_equal(t->op.err.code, E_INVALID);
    assert_int_equal(kept_count(f, "default", JOB_READY), 1);
    assert_int_equal(kept_count(f, "plain", JOB_READY), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(params_are_not_merged_beyond_the_size_of_a_job),
        ENGINE_TEST(a_patch_does_not_make_a_job_too_large),
        ENGINE_TEST(a_job_with_a_command_is_not_moved_where_none_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
