/*
 * Rights belong to jobs: what one may emit, and what a client may change of a job's own command.
 */
/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "core/route/routing.h"
#include "engine_fixture.h"
#include "store/jobs/jobs.h"
#include "testing.h"

#define NOBODY "{\"limits\":{\"memory\":\"1G\",\"user\":\"nobody\"}}"
#define TRUSTED \
    "{\"limits\":{\"memory\":\"1G\",\"user\":\"nobody\"},\"may_emit\":{\"command\":true}}"
#define COMMAND "{\"command\":[\"id\"]}"
#define STEPS                                 \
    "[{\"name\":\"one\",\"queue\":\"work\"}," \
    "{\"name\":\"two\",\"queue\":\"own\",\"command\":[\"id\"]}]"
#define PLAIN_STEPS "[{\"name\":\"one\",\"queue\":\"work\"},{\"name\":\"two\",\"queue\":\"own\"}]"

/* ---- words ---- */

static void define_queues(struct fixture *f)
{
    define_queue(f, "plain", NOBODY);
    define_queue(f, "trusted", TRUSTED);
    define_queue(f, "work", "{}");
    define_queue(f, "own", "{\"own_command\":true}");
    define_queue(
        f, "narrow",
        "{\"own_command\":true,\"limits\":{\"memory\":\"1M\",\"files\":50,\"user\":\"www\"},"
        "\"may_emit\":{\"command\":true}}");
}

static struct submit_item route_item(struct arena *arena, const char *steps)
{
    struct err err = ERR_INIT;
    struct routing *routing = arena_zalloc(arena, sizeof(*routing));

    if (route_steps_parse(slice_of(steps), 0, arena, &routing->steps, &routing->n_steps, &err) !=
        E_OK)
        fail_msg("%s", err.msg);
    return (struct submit_item){.queue = routing->steps[0].queue,
                                .options = route_options(routing, &routing->steps[0], arena),
                                .routing = routing,
                                .step = routing->steps[0].number};
}

static struct submit_item command_item(const char *queue)
{
    struct submit_item item = item_of(queue);

    item.options = SLICE(COMMAND);
    return item;
}

static struct test_op *emit_one(struct fixture *f, struct granted g, struct submit_item item)
{
    struct test_op *t = op_make(f, OP_EMIT);
    struct submit_item *items = arena_array(&t->op.arena, 2, sizeof(*items));

    items[0] = item_of("work");
    items[1] = item;
    t->op.emit = (struct emit){
        .id = g.id, .token = g.token, .seq = 1, .jobs = items, .n_jobs = 2, .may_command = true};
    return run_op(f, t);
}

static struct test_op *finish_with(struct fixture *f, struct granted g, struct submit_item item)
{
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);
    struct finish_item *finish = (struct finish_item *)(uintptr_t)t->op.exchange.finish;
    struct submit_item *items = arena_array(&t->op.arena, 1, sizeof(*items));

    items[0] = item;
    finish->emit = items;
    finish->n_emit = 1;
    t->op.exchange.may_command = true;
    return run_op(f, t);
}

static struct granted begin(struct fixture *f, const char *queue)
{
    define_queues(f);
    submit_one(f, queue);
    return claim_one(f, queue);
}

static int64_t made(struct fixture *f, const struct submit_item *item)
{
    struct test_op *t = run_op(f, op_submit(f, item, 1));

    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
    return t->op.submit.first_id;
}

/* The limits that the job in that queue is granted with; empty when there are none. */
static struct slice granted_limits(struct fixture *f, const char *queue)
{
    struct test_op *t = run_op(f, op_claim(f, queue, 1));
    struct err err = ERR_INIT;
    struct slice whole;
    struct slice jobs;
    struct slice job;
    struct slice limits = {0};

    assert_int_equal(jtext_check(slice_of(reply_of(t)), &whole, &err), E_OK);
    assert_true(jtext_find(whole, "jobs", &jobs));
    struct jtext_iter it = jtext_items(jobs);

    assert_true(jtext_next_item(&it, &job));
    (void)jtext_find(job, "limits", &limits);
    return limits;
}

static void assert_slice(struct slice got, const char *want)
{
    if (!slice_is(got, want))
        fail_msg("%.*s, not %s", (int)got.size, got.data, want);
}

/* ---- what a job may emit ---- */

static void a_job_may_not_emit_a_command(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f, "plain");
    struct test_op *t = emit_one(f, g, command_item("own"));

    assert_int_equal(t->op.err.code, E_FORBIDDEN);
    assert_int_equal(t->op.err.item, 2);
    assert_non_null(strstr(t->op.err.msg, "may_emit: {command: true}"));
    assert_int_equal(kept_count(f, "work", JOB_STAGED), 0);
    assert_int_equal(kept_count(f, "own", JOB_STAGED), 0);
    assert_sound(f);
}

static void a_job_may_not_emit_a_route_with_a_command(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f, "plain");
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct test_op *t = emit_one(f, g, route_item(&arena, STEPS));

    assert_int_equal(t->op.err.code, E_FORBIDDEN);
    assert_int_equal(kept_count(f, "work", JOB_STAGED), 0);
    t = emit_one(f, g, route_item(&arena, PLAIN_STEPS));
    assert_int_equal(t->op.err.code, E_OK);
}

static void a_finish_may_not_emit_a_command(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f, "plain");
    struct test_op *t = finish_with(f, g, command_item("own"));

    assert_true(reply_has(t, "\"code\":\"forbidden\""));
    assert_true(reply_has(t, "emit[0]"));
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    assert_int_equal(kept_count(f, "own", JOB_READY), 0);
}

static struct test_op *add_steps(struct fixture *f, const char *queue, const char *steps)
{
    struct granted g = claim_one(f, queue);
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);

    ((struct finish_item *)(uintptr_t)t->op.exchange.finish)->steps = slice_of(steps);
    t->op.exchange.may_command = true;
    return run_op(f, t);
}

static void a_finish_may_not_add_a_step_with_a_command(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct submit_item item = route_item(&arena, "[{\"queue\":\"plain\"},{\"queue\":\"work\"}]");

    define_queues(f);
    int64_t id = made(f, &item);
    struct test_op *t = add_steps(f, "plain", "[{\"queue\":\"own\",\"command\":\"id\"}]");

    assert_true(reply_has(t, "\"code\":\"forbidden\""));
    assert_int_equal(state_of(f, id), JOB_RUNNING);
}

/* They come with an attempt that is done, and are not judged otherwise. */
static void steps_of_an_attempt_that_failed_are_left_out(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct submit_item item = route_item(
        &arena, "[{\"queue\":\"plain\",\"on_error\":\"continue\"},{\"queue\":\"work\"}]");

    define_queues(f);
    int64_t id = made(f, &item);
    struct granted g = claim_one(f, "plain");
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_FAILED);
    struct finish_item *told = (struct finish_item *)(uintptr_t)t->op.exchange.finish;

    told->steps = SLICE("[{\"queue\":\"own\",\"command\":\"id\"},{\"queue\":\"nowhere\"}]");
    told->final = true;
    t->op.exchange.may_command = true;
    assert_true(reply_has(run_op(f, t), "\"ok\":true"));
    g = claim_one(f, "work");
    assert_int_equal(g.id, id);
    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    assert_int_equal(kept_count(f, "own", JOB_READY), 0);
    assert_true(job_state_ended(state_of(f, id)));
    assert_sound(f);
}

static void an_emitted_command_carries_the_limits_of_its_emitter(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f, "trusted");

    assert_true(reply_has(finish_with(f, g, command_item("own")), "\"ok\":true"));
    assert_slice(granted_limits(f, "own"), "{\"memory\":1073741824,\"user\":\"nobody\"}");
}

static void the_limits_survive_a_crash_a_clone_and_a_move(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f, "trusted");
    struct test_op *t = emit_one(f, g, command_item("own"));

    assert_int_equal(t->op.err.code, E_OK);
    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    fixture_crash(f);
    struct granted first = claim_one(f, "own");

    run_op(f, op_finish(f, first.id, first.token, JOB_OUT_DONE));
    int64_t copy = run_op(f, op_act(f, ACTION_CLONE, first.id))->op.action.result_id;

    t = op_act(f, ACTION_MOVE, copy);
    t->op.action.queue = SLICE("narrow");
    t->op.action.may_command = true;
    run_op(f, t);
    assert_int_equal(t->op.err.code, E_OK);
    assert_slice(granted_limits(f, "narrow"), "{\"memory\":1073741824,\"user\":\"nobody\"}");
}

static void what_it_emits_in_turn_has_the_stricter_limits_of_both(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f, "trusted");

    finish_with(f, g, command_item("narrow"));
    g = claim_one(f, "narrow");
    assert_true(reply_has(finish_with(f, g, command_item("own")), "\"ok\":true"));
    assert_slice(granted_limits(f, "own"), "{\"memory\":1048576,\"files\":50,\"user\":\"nobody\"}");
}

static void steps_with_commands_carry_the_limits_and_others_do_not(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct granted g = begin(f, "trusted");

    finish_with(f, g, route_item(&arena, STEPS));
    g = claim_one(f, "work");
    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    assert_slice(granted_limits(f, "own"), "{\"memory\":1073741824,\"user\":\"nobody\"}");
}

static void an_added_step_carries_the_limits_and_those_of_the_maker_do_not(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct submit_item item = route_item(
        &arena, "[{\"queue\":\"trusted\"},{\"queue\":\"own\",\"command\":\"true\"}]");

    define_queues(f);
    (void)made(f, &item);
    struct test_op *t = add_steps(f, "trusted", "[{\"queue\":\"own\",\"command\":\"id\"}]");

    if (!reply_has(t, "\"ok\":true"))
        fail_msg("%s", reply_of(t));
    struct granted g = claim_one(f, "own");

    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    assert_slice(granted_limits(f, "own"), "{\"memory\":1073741824,\"user\":\"nobody\"}");
}

/* ---- borrowed commands ---- */

static enum err_code act_on(struct fixture *f, struct job_action act)
{
    struct test_op *t = op_make(f, OP_ACTION);

    t->op.action = act;
    return run_op(f, t)->op.err.code;
}

static int64_t end_one(struct fixture *f, const char *queue)
{
    struct granted g = claim_one(f, queue);

    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    return g.id;
}

static void the_params_of_a_job_with_its_own_command_are_not_changed(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = command_item("own");

    define_queues(f);
    int64_t id = made(f, &item);

    assert_int_equal(
        act_on(f, (struct job_action){.kind = ACTION_PATCH, .id = id, .params = SLICE("{}")}),
        E_FORBIDDEN);
    assert_int_equal(act_on(f, (struct job_action){.kind = ACTION_CLONE,
                                                   .id = id,
                                                   .params = SLICE("{\"x\":1}")}),
                     E_FORBIDDEN);
    assert_int_equal(
        act_on(f, (struct job_action){.kind = ACTION_MOVE, .id = id, .queue = SLICE("narrow")}),
        E_FORBIDDEN);
    end_one(f, "own");
    assert_int_equal(act_on(f, (struct job_action){.kind = ACTION_RETRY,
                                                   .id = id,
                                                   .params = SLICE("{\"x\":1}")}),
                     E_FORBIDDEN);
    assert_int_equal(state_of(f, id), JOB_DONE);
    assert_int_equal(kept_count(f, "own", JOB_READY), 0);
    assert_int_equal(kept_count(f, "narrow", JOB_READY), 0);
}

static void the_params_of_a_route_with_a_command_are_not_changed(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct submit_item item = route_item(&arena, STEPS);

    define_queues(f);
    int64_t id = made(f, &item);

    assert_int_equal(act_on(f, (struct job_action){.kind = ACTION_PATCH,
                                                   .id = id,
                                                   .params = SLICE("{\"x\":1}")}),
                     E_FORBIDDEN);
    end_one(f, "work");
    end_one(f, "own");
    struct job_action again = {
        .kind = ACTION_RETRY, .id = id, .params = SLICE("{\"x\":1}"), .from = SLICE("one")};

    assert_int_equal(act_on(f, again), E_FORBIDDEN);
    again.params = slice_make(NULL, 0);
    assert_int_equal(act_on(f, again), E_OK);
}

static void run_again_as_it_was_it_may_be(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = command_item("own");

    define_queues(f);
    int64_t id = made(f, &item);

    assert_int_equal(act_on(f, (struct job_action){.kind = ACTION_CLONE, .id = id}), E_OK);
    assert_int_equal(
        act_on(f, (struct job_action){.kind = ACTION_CLONE, .id = id, .params = SLICE("{}")}),
        E_OK);
    assert_int_equal(act_on(f, (struct job_action){.kind = ACTION_PATCH,
                                                   .id = id,
                                                   .has_priority = true,
                                                   .priority = 3}),
                     E_OK);
    assert_int_equal(
        act_on(f, (struct job_action){.kind = ACTION_MOVE, .id = id, .queue = SLICE("own")}), E_OK);
    end_one(f, "own");
    assert_int_equal(act_on(f, (struct job_action){.kind = ACTION_RETRY, .id = id}), E_OK);
}

static void params_for_the_command_of_a_queue_are_free(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_one(f, "work");

    assert_int_equal(act_on(f, (struct job_action){.kind = ACTION_PATCH,
                                                   .id = id,
                                                   .params = SLICE("{\"x\":1}")}),
                     E_OK);
    assert_int_equal(act_on(f, (struct job_action){.kind = ACTION_CLONE,
                                                   .id = id,
                                                   .params = SLICE("{\"x\":2}")}),
                     E_OK);
    assert_int_equal(
        act_on(f, (struct job_action){.kind = ACTION_MOVE, .id = id, .queue = SLICE("plain")}),
        E_OK);
}

static void who_may_bring_commands_may_change_them(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = command_item("own");

    define_queues(f);
    int64_t id = made(f, &item);
    struct job_action act = {
        .kind = ACTION_PATCH, .id = id, .params = SLICE("{\"x\":1}"), .may_command = true};

    assert_int_equal(act_on(f, act), E_OK);
    act.kind = ACTION_CLONE;
    assert_int_equal(act_on(f, act), E_OK);
}

/* What a step sets, the commands of later steps are run with. */
static void a_claimer_sets_nothing_for_the_commands_of_later_steps(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct submit_item item = route_item(&arena, STEPS);

    define_queues(f);
    int64_t id = made(f, &item);
    struct granted g = claim_one(f, "work");
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);

    ((struct finish_item *)(uintptr_t)t->op.exchange.finish)->set = SLICE("{\"x\":1}");
    run_op(f, t);
    assert_true(reply_has(t, "\"code\":\"forbidden\""));
    assert_int_equal(state_of(f, id), JOB_RUNNING);
    t = op_finish(f, g.id, g.token, JOB_OUT_DONE);
    ((struct finish_item *)(uintptr_t)t->op.exchange.finish)->set = SLICE("{\"x\":1}");
    t->op.exchange.may_command = true;
    assert_true(reply_has(run_op(f, t), "\"ok\":true"));
}

static void a_claimer_leaves_no_cursor_for_the_command_of_a_job(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = command_item("own");

    define_queues(f);
    (void)made(f, &item);
    struct granted g = claim_one(f, "own");
    struct test_op *t = op_make(f, OP_EMIT);

    t->op.emit = (struct emit){
        .id = g.id, .token = g.token, .seq = 1, .cursor = SLICE("\"--evil\"")};
    assert_int_equal(run_op(f, t)->op.err.code, E_FORBIDDEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_job_may_not_emit_a_command),
        ENGINE_TEST(a_job_may_not_emit_a_route_with_a_command),
        ENGINE_TEST(a_finish_may_not_emit_a_command),
        ENGINE_TEST(a_finish_may_not_add_a_step_with_a_command),
        ENGINE_TEST(steps_of_an_attempt_that_failed_are_left_out),
        ENGINE_TEST(an_emitted_command_carries_the_limits_of_its_emitter),
        ENGINE_TEST(the_limits_survive_a_crash_a_clone_and_a_move),
        ENGINE_TEST(what_it_emits_in_turn_has_the_stricter_limits_of_both),
        ENGINE_TEST(steps_with_commands_carry_the_limits_and_others_do_not),
        ENGINE_TEST(an_added_step_carries_the_limits_and_those_of_the_maker_do_not),
        ENGINE_TEST(the_params_of_a_job_with_its_own_command_are_not_changed),
        ENGINE_TEST(the_params_of_a_route_with_a_command_are_not_changed),
        ENGINE_TEST(run_again_as_it_was_it_may_be),
        ENGINE_TEST(params_for_the_command_of_a_queue_are_free),
        ENGINE_TEST(who_may_bring_commands_may_change_them),
        ENGINE_TEST(a_claimer_sets_nothing_for_the_commands_of_later_steps),
        ENGINE_TEST(a_claimer_leaves_no_cursor_for_the_command_of_a_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
