/*
 * A job whose params do not fill its command is refused when it is made, and when its params
 * change.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"
#include "engine_fixture.h"
#include "store/queues.h"
#include "testing.h"

#define FETCH "{\"command\":[\"./fetch\",\"{url}\",\"{depth:-1}\",\"{id}\"],\"own_command\":true}"
#define NEEDS_URL "the command needs the param 'url', which the job does not have"

static struct err refusal(struct test_op *t)
{
    assert_true(t->answered);
    return t->op.err;
}

static struct test_op *submit(struct fixture *f, const char *params, const char *options)
{
    struct submit_item item = item_of("fetch");

    item.params = slice_of(params);
    item.options = slice_of(options);
    return run_op(f, op_submit(f, &item, 1));
}

static struct test_op *act_with(struct fixture *f, enum job_action_kind kind, int64_t id,
                                const char *params)
{
    struct test_op *t = op_act(f, kind, id);

    t->op.action.params = slice_of(params);
    return run_op(f, t);
}

static void a_job_without_a_needed_param_is_refused(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "fetch", FETCH);
    struct err err = refusal(submit(f, "{\"depth\":2}", NULL));

    assert_int_equal(err.code, E_INVALID);
    assert_string_equal(err.msg, "queue 'fetch': " NEEDS_URL);
    assert_int_equal(refusal(submit(f, NULL, NULL)).code, E_INVALID);
    assert_int_equal(refusal(submit(f, "{\"url\":\"x\"}", NULL)).code, E_OK);
}

static void one_of_an_array_refuses_all_and_is_named(void **state)
{
    struct fixture *f = *state;
    struct submit_item items[3] = {item_of("fetch"), item_of("default"), item_of("fetch")};

    define_queue(f, "fetch", FETCH);
    items[0].params = SLICE("{\"url\":1}");
    struct test_op *t = run_op(f, op_submit(f, items, 3));

    assert_int_equal(t->op.err.code, E_INVALID);
    assert_int_equal(t->op.err.item, 3);
}

static void a_jobs_own_command_is_judged_instead(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "fetch", FETCH);
    assert_int_equal(refusal(submit(f, "{}", "{\"command\":[\"true\"]}")).code, E_OK);
    assert_string_equal(refusal(submit(f, "{}", "{\"command\":\"echo {x}\"}")).msg,
                        "the command needs the param 'x', which the job does not have");
    assert_int_equal(refusal(submit(f, "{\"x\":1}", "{\"command\":\"echo {x}\"}")).code, E_OK);
    struct err err = refusal(submit(f, "{\"x\":1}", "{\"command\":\"echo '{x}'\"}"));

    assert_int_equal(err.code, E_INVALID);
    assert_ptr_equal(strstr(err.msg, "command: {x} at byte 6 is in single quotes"), err.msg);
}

static int64_t submitted(struct fixture *f, const char *params)
{
    struct test_op *t = submit(f, params, NULL);

    assert_int_equal(t->op.err.code, E_OK);
    return t->op.submit.first_id;
}

static void changed_params_must_fill_the_command_too(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "fetch", "{}");
    int64_t id = submitted(f, "{}");

    define_queue(f, "fetch", FETCH);
    assert_string_equal(refusal(act_with(f, ACTION_PATCH, id, "{\"a\":1}")).msg,
                        "queue 'fetch': " NEEDS_URL);
    assert_string_equal(refusal(act_with(f, ACTION_CLONE, id, NULL)).msg,
                        "queue 'fetch': " NEEDS_URL);
    assert_int_equal(refusal(act_with(f, ACTION_CLONE, id, "{\"url\":\"x\"}")).code, E_OK);
    assert_int_equal(refusal(act_with(f, ACTION_CANCEL, id, NULL)).code, E_OK);
    assert_string_equal(refusal(act_with(f, ACTION_RETRY, id, "{\"b\":1}")).msg,
                        "queue 'fetch': " NEEDS_URL);
    assert_int_equal(refusal(act_with(f, ACTION_RETRY, id, "{\"url\":\"x\"}")).code, E_OK);
    assert_int_equal(refusal(act_with(f, ACTION_PATCH, id, "{\"url\":\"y\"}")).code, E_OK);
}

static void a_job_is_not_moved_to_where_it_cannot_run(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "fetch", FETCH);
    int64_t id = submit_one(f, "default");
    struct test_op *t = op_act(f, ACTION_MOVE, id);

    t->op.action.queue = SLICE("fetch");
    assert_string_equal(refusal(run_op(f, t)).msg, "queue 'fetch': " NEEDS_URL);
}

static void a_stored_command_that_is_refused_today_takes_no_jobs(void **state)
{
    struct fixture *f = *state;
    struct stored_queue row = {.name = SLICE("fetch"),
                               .state = QUEUE_UP,
                               .definition = SLICE("{\"command\":\"awk '{print}' a\"}")};
    struct err err = ERR_INIT;

    assert_int_equal(store_begin(f->store, &err), E_OK);
    assert_int_equal(store_queue_add(f->store, &row, &row.id, &err), E_OK);
    assert_int_equal(store_commit(f->store, &err), E_OK);
    fixture_crash(f);
    err = refusal(submit(f, "{}", NULL));
    assert_int_equal(err.code, E_INVALID);
    assert_ptr_equal(strstr(err.msg, "queue 'fetch' cannot run its command, define it again: "
                                     "{print} at byte 5 is in single quotes"),
                     err.msg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_job_without_a_needed_param_is_refused),
        ENGINE_TEST(one_of_an_array_refuses_all_and_is_named),
        ENGINE_TEST(a_jobs_own_command_is_judged_instead),
        ENGINE_TEST(changed_params_must_fill_the_command_too),
        ENGINE_TEST(a_job_is_not_moved_to_where_it_cannot_run),
        ENGINE_TEST(a_stored_command_that_is_refused_today_takes_no_jobs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
