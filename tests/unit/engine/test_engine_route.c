/*
 * Routes: a job carries its steps from queue to queue, and its record with it.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "engine_fixture.h"
#include "testing.h"

/* ---- words ---- */

/* A job with these steps; what it needs lives in the arena. */
static struct submit_item route_of(struct arena *arena, const char *steps, const char *params)
{
    struct err err = ERR_INIT;
    struct routing *routing = arena_zalloc(arena, sizeof(*routing));

    if (route_steps_parse(slice_of(steps), 0, arena, &routing->steps, &routing->n_steps, &err) !=
        E_OK)
        fail_msg("%s", err.msg);
    const struct route_step *first = route_first(routing);

    return (struct submit_item){
        .queue = first->queue,
        .params = params == NULL ? slice_make(NULL, 0) : slice_of(params),
        .options = route_options(routing, first, arena),
        .routing = routing,
        .step = first->number,
        .step_params = first->params,
    };
}

static int64_t submit_item_of(struct fixture *f, const struct submit_item *item)
{
    struct test_op *t = run_op(f, op_submit(f, item, 1));

    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
    return t->op.submit.first_id;
}

static int64_t submit_route(struct fixture *f, const char *steps, const char *params)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct submit_item item = route_of(&arena, steps, params);

    return submit_item_of(f, &item);
}

static void define_queues(struct fixture *f)
{
    define_queue(f, "a", "{}");
    define_queue(f, "b", "{\"own_command\":true}");
    define_queue(f, "c", "{}");
    define_queue(f, "z", "{}");
}

/* The op that finishes the job that is ready in the queue; the test may change the item. */
static struct test_op *op_end(struct fixture *f, const char *queue, enum job_outcome outcome,
                              struct finish_item **ret_item)
{
    struct granted g = claim_one(f, queue);
    struct test_op *t = op_finish(f, g.id, g.token, outcome);

    *ret_item = (struct finish_item *)(uintptr_t)t->op.exchange.finish;
    return t;
}

static void run_ok(struct fixture *f, struct test_op *t)
{
    run_op(f, t);
    if (!reply_has(t, "\"ok\":true"))
        fail_msg("%s", reply_of(t));
}

static void end_in(struct fixture *f, const char *queue, enum job_outcome outcome, int status,
                   const char *set)
{
    struct finish_item *item;
    struct test_op *t = op_end(f, queue, outcome, &item);

    item->exited = true;
    item->exit = status;
    if (set != NULL)
        item->set = slice_of(set);
    run_ok(f, t);
}

static void done_in(struct fixture *f, const char *queue)
{
    end_in(f, queue, JOB_OUT_DONE, 0, NULL);
}

/* The job as it is shown. */
static void show(struct fixture *f, int64_t id, struct arena *arena, struct slice *ret_job)
{
    struct query q;

    query_init(&q, QUERY_JOB);
    q.id = id;
    run_query(f, &q);
    *ret_job = arena_copy(arena, buf_slice(&q.reply));
    query_deinit(&q);
}

/* number:state of each entry of the record, in order. */
static void assert_record(struct fixture *f, int64_t id, const char *want)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf got = BUF_INIT(1 << 20);
    struct slice job;
    struct slice progress;
    struct slice entry;

    show(f, id, &arena, &job);
    assert_true(jtext_find(job, "progress", &progress));
    for (struct jtext_iter it = jtext_items(progress); jtext_next_item(&it, &entry);) {
        struct slice number;
        struct slice outcome;

        assert_true(jtext_find(entry, "number", &number) && jtext_find(entry, "state", &outcome));
        buf_addf(&got, "%s%.*s:%.*s", got.size > 0 ? " " : "", (int)number.size, number.data,
                 (int)outcome.size - 2, outcome.data + 1);
    }
    buf_add_char(&got, '\0');
    assert_string_equal(got.data, want);
}

static void assert_member(struct fixture *f, int64_t id, const char *name, const char *want)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice job;
    struct slice value = {0};

    show(f, id, &arena, &job);
    bool found = jtext_find(job, name, &value);

    if (want == NULL ? found : !found || !slice_is(value, want))
        fail_msg("%s is %.*s in %.*s", name, (int)value.size, value.data, (int)job.size, job.data);
}

#define ABC "[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]"

/* ---- going on ---- */

static void a_job_goes_from_queue_to_queue_and_keeps_its_record(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, ABC, NULL);

    assert_member(f, id, "step", "1");
    done_in(f, "a");
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_int_equal(kept_count(f, "b", JOB_READY), 1);
    assert_member(f, id, "step", "2");
    assert_record(f, id, "1:done");
    done_in(f, "b");
    done_in(f, "c");
    assert_int_equal(state_of(f, id), JOB_DONE);
    assert_record(f, id, "1:done 2:done 3:done");
    assert_member(f, id, "step", NULL);
    assert_int_equal(kept_count(f, "c", JOB_DONE), 1);
    assert_sound(f);
}

static void a_crash_between_steps_changes_nothing(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, ABC, NULL);

    done_in(f, "a");
    fixture_crash(f);
    done_in(f, "b");
    fixture_crash(f);
    done_in(f, "c");
    assert_record(f, id, "1:done 2:done 3:done");
    assert_sound(f);
}

static void the_next_step_is_claimed_in_the_batch_that_ends_the_one_before(void **state)
{
    struct fixture *f = *state;
    struct finish_item *item;
    struct granted got[2];

    define_queues(f);
    submit_route(f, ABC, NULL);
    struct test_op *end = op_end(f, "a", JOB_OUT_DONE, &item);
    struct test_op *claim = op_claim(f, "b", 2);

    batch_add(f, end);
    batch_add(f, claim);
    batch_run(f);
    assert_int_equal(granted_of(claim, got, 2), 1);
    assert_true(reply_has(claim, "\"step\":{\"number\":2,\"name\":\"b\"}"));
    assert_sound(f);
}

static void the_end_of_a_step_can_be_told_again(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, ABC, NULL);
    struct granted g = claim_one(f, "a");

    run_ok(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    struct test_op *again = run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));

    assert_true(reply_has(again, "\"again\":true"));
    done_in(f, "b");
    again = run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    assert_true(reply_has(again, "\"again\":true"));
    assert_true(reply_has(run_op(f, op_finish(f, g.id, g.token, JOB_OUT_FAILED)), "stale_lease"));
    assert_record(f, id, "1:done 2:done");
}

static void what_steps_set_is_seen_by_later_ones_and_is_the_result(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(
        f, "[{\"name\":\"a\"},{\"name\":\"b\",\"params\":{\"y\":\"step\"}},{\"name\":\"c\"}]",
        "{\"x\":\"job\",\"y\":\"job\",\"z\":\"job\"}");

    end_in(f, "a", JOB_OUT_DONE, 0, "{\"x\":\"set\",\"y\":\"set\"}");
    struct test_op *claim = run_op(f, op_claim(f, "b", 1));

    assert_true(reply_has(claim, "\"z\":\"job\"") && reply_has(claim, "\"x\":\"set\""));
    assert_true(reply_has(claim, "\"y\":\"step\""));
    struct granted g;

    assert_int_equal(granted_of(claim, &g, 1), 1);
    run_ok(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    end_in(f, "c", JOB_OUT_DONE, 0, "{\"w\":1}");
    assert_member(f, id, "result", "{\"x\":\"set\",\"y\":\"set\",\"w\":1}");
    assert_member(f, id, "params", "{\"x\":\"job\",\"y\":\"job\",\"z\":\"job\"}");
}

static void what_steps_set_is_bounded_in_all(void **state)
{
    struct fixture *f = *state;
    size_t size = JOB_BYTES_MAX / 2 - 1000;
    struct finish_item *item;

    define_queues(f);
    int64_t id = submit_route(f, "[{\"queue\":\"a\"},{\"queue\":\"a\"},{\"queue\":\"a\"}]", NULL);

    for (int i = 0; i < 4; i++) {
        CLEANUP(buf) struct buf set = BUF_INIT(JOB_BYTES_MAX);
        struct test_op *t = op_end(f, "a", JOB_OUT_DONE, &item);

        buf_addf(&set, "{\"k%d\":\"%*s\"}", i == 3 ? 0 : i, (int)size, "");
        item->set = buf_slice(&set);
        if (i == 2) { /* a third name is too much; the first one again is not */
            run_op(f, t);
            assert_true(reply_has(t, "too_large"));
            t = op_finish(f, item->id, item->token, JOB_OUT_RETURNED);
        }
        run_ok(f, t);
    }
    assert_int_equal(state_of(f, id), JOB_DONE);
    assert_sound(f);
}

static void a_result_that_a_step_gives_is_kept_until_another_gives_one(void **state)
{
    struct fixture *f = *state;
    struct finish_item *item;

    define_queues(f);
    int64_t id = submit_route(f, ABC, NULL);
    struct test_op *t = op_end(f, "a", JOB_OUT_DONE, &item);

    item->result = SLICE("[1]");
    run_ok(f, t);
    end_in(f, "b", JOB_OUT_DONE, 0, "{\"w\":1}");
    done_in(f, "c");
    assert_member(f, id, "result", "[1]");
}

static void attempts_and_failures_are_counted_for_each_step(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f,
                              "[{\"name\":\"a\",\"retry\":{\"max\":1,\"first\":\"0s\"}},"
                              "{\"name\":\"b\",\"retry\":{\"max\":1,\"first\":\"0s\"}}]",
                              NULL);

    end_in(f, "a", JOB_OUT_FAILED, 3, NULL);
    batch_run(f);
    done_in(f, "a");
    end_in(f, "b", JOB_OUT_FAILED, 3, NULL);
    fixture_pass(f, US_PER_S);
    batch_run(f);
    struct test_op *claim = run_op(f, op_claim(f, "b", 1));
    struct granted g;

    assert_int_equal(granted_of(claim, &g, 1), 1);
    assert_true(reply_has(claim, "\"attempt\":2"));
    run_ok(f, op_finish(f, g.id, g.token, JOB_OUT_FAILED));
    assert_int_equal(state_of(f, id), JOB_FAILED);
    assert_record(f, id, "1:failed 1:done 2:failed 2:failed");
    assert_sound(f);
}

static void a_lost_worker_repeats_its_step_only(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, ABC, NULL);

    done_in(f, "a");
    claim_one(f, "b");
    fixture_pass(f, 2 * LEASE_DEFAULT_US);
    batch_run(f);
    assert_int_equal(kept_count(f, "b", JOB_READY), 1);
    done_in(f, "b");
    done_in(f, "c");
    assert_record(f, id, "1:done 2:lost 2:done 3:done");
    assert_sound(f);
}

/* ---- failing ---- */

#define WITH_FINAL                                         \
    "[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}," \
    "{\"name\":\"log\",\"queue\":\"z\",\"final\":true}]"

static void a_failure_stops_the_route_and_only_final_steps_run(void **state)
{
    struct fixture *f = *state;
    struct finish_item *item;

    define_queues(f);
    int64_t id = submit_route(f, WITH_FINAL, NULL);

    done_in(f, "a");
    struct test_op *t = op_end(f, "b", JOB_OUT_FAILED, &item);

    item->exited = true;
    item->exit = 7;
    item->has_text = true;
    item->text = SLICE("no room");
    run_ok(f, t);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_int_equal(kept_count(f, "c", JOB_READY), 0);
    done_in(f, "z");
    assert_int_equal(state_of(f, id), JOB_FAILED);
    assert_record(f, id, "1:done 2:failed 4:done");
    assert_member(f, id, "exit", "7");
    assert_member(f, id, "cause", "\"exit\"");
    assert_member(f, id, "text", "\"no room\"");
    assert_sound(f);
}

static void a_final_step_runs_at_the_end_of_a_good_route_too(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, WITH_FINAL, NULL);

    done_in(f, "a");
    done_in(f, "b");
    done_in(f, "c");
    done_in(f, "z");
    assert_int_equal(state_of(f, id), JOB_DONE);
    assert_record(f, id, "1:done 2:done 3:done 4:done");
}

static void a_step_that_may_fail_is_passed(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(
        f,
        "[{\"name\":\"a\",\"on_error\":\"continue\"},{\"name\":\"b\",\"on_error\":\"continue\"}]",
        NULL);

    end_in(f, "a", JOB_OUT_FAILED, 1, NULL);
    end_in(f, "b", JOB_OUT_FAILED, 1, NULL);
    assert_int_equal(state_of(f, id), JOB_DONE);
    assert_record(f, id, "1:failed 2:failed");
    assert_member(f, id, "exit", "0");
    assert_sound(f);
}

static void a_cancelled_route_ends_at_once(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, WITH_FINAL, NULL);

    done_in(f, "a");
    run_op(f, op_act(f, ACTION_CANCEL, id));
    assert_int_equal(state_of(f, id), JOB_CANCELLED);
    assert_int_equal(kept_count(f, "z", JOB_READY), 0);
    assert_record(f, id, "1:done");
    assert_sound(f);
}

static void a_route_that_is_cancelled_while_a_step_runs_does_not_go_on(void **state)
{
    struct fixture *f = *state;
    struct finish_item *item;

    define_queues(f);
    int64_t id = submit_route(f, WITH_FINAL, NULL);
    struct test_op *end = op_end(f, "a", JOB_OUT_DONE, &item);

    run_op(f, op_act(f, ACTION_CANCEL, id));
    run_ok(f, end);
    assert_int_equal(state_of(f, id), JOB_CANCELLED);
    assert_int_equal(kept_count(f, "b", JOB_READY), 0);
    assert_record(f, id, "1:done");
    assert_sound(f);
}

static void a_route_whose_last_step_is_done_is_not_cancelled_any_more(void **state)
{
    struct fixture *f = *state;
    struct finish_item *item;

    define_queues(f);
    int64_t id = submit_route(f, "[{\"queue\":\"a\"},{\"queue\":\"c\"}]", NULL);

    done_in(f, "a");
    struct test_op *end = op_end(f, "c", JOB_OUT_DONE, &item);

    run_op(f, op_act(f, ACTION_CANCEL, id));
    run_ok(f, end);
    assert_int_equal(state_of(f, id), JOB_DONE);
    assert_record(f, id, "1:done 2:done");
    assert_sound(f);
}

static void the_record_tells_where_a_step_was_run_that_was_moved(void **state)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct fixture *f = *state;
    struct slice job;

    define_queues(f);
    int64_t id = submit_route(f, "[{\"name\":\"one\",\"queue\":\"a\"}]", NULL);
    struct test_op *t = op_act(f, ACTION_MOVE, id);

    t->op.action.queue = SLICE("c");
    run_op(f, t);
    done_in(f, "c");
    show(f, id, &arena, &job);
    assert_non_null(strstr(job.data, "\"name\":\"one\",\"queue\":\"c\""));
    assert_sound(f);
}

static void a_queue_that_is_gone_fails_its_step(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, WITH_FINAL, NULL);
    struct test_op *t = op_make(f, OP_DEFINE);

    t->op.define = (struct define){.removes = true, .kind = DEFINITION_QUEUE, .name = SLICE("b")};
    run_op(f, t);
    assert_int_equal(t->op.err.code, E_OK);
    done_in(f, "a");
    done_in(f, "z");
    assert_int_equal(state_of(f, id), JOB_FAILED);
    assert_record(f, id, "1:done 2:failed 4:done");
    assert_member(f, id, "cause", "\"start\"");
    assert_sound(f);
}

/* ---- adding steps ---- */

static void an_added_step_comes_before_the_final_ones(void **state)
{
    struct fixture *f = *state;
    struct finish_item *item;

    define_queues(f);
    int64_t id = submit_route(f, WITH_FINAL, NULL);

    done_in(f, "a");
    struct test_op *t = op_end(f, "b", JOB_OUT_DONE, &item);

    item->steps = SLICE("[{\"name\":\"more\",\"queue\":\"a\"}]");
    run_ok(f, t);
    done_in(f, "c");
    done_in(f, "a");
    t = op_end(f, "z", JOB_OUT_DONE, &item);
    item->steps = SLICE("[{\"name\":\"a\"}]");
    run_op(f, t);
    assert_true(reply_has(t, "final"));
    assert_int_equal(state_of(f, id), JOB_RUNNING);
    item->steps = slice_make(NULL, 0);
    t = op_finish(f, item->id, item->token, JOB_OUT_DONE);
    run_ok(f, t);
    assert_int_equal(state_of(f, id), JOB_DONE);
    assert_record(f, id, "1:done 2:done 3:done 5:done 4:done");
}

static void a_job_without_a_route_takes_no_steps(void **state)
{
    struct fixture *f = *state;
    struct finish_item *item;

    define_queues(f);
    submit_one(f, "a");
    struct test_op *t = op_end(f, "a", JOB_OUT_DONE, &item);

    item->steps = SLICE("[{\"name\":\"b\"}]");
    run_op(f, t);
    assert_true(reply_has(t, "no route"));
}

/* ---- handed in, run again ---- */

static void a_job_that_has_begun_elsewhere_goes_on_where_it_was(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct route_status entries[] = {{.number = 1,
                                      .has_status = true,
                                      .started_at = START_AT,
                                      .ended_at = START_AT,
                                      .set = SLICE("{\"x\":\"1\"}")}};

    define_queues(f);
    struct submit_item item = route_of(&arena, ABC, NULL);

    item.queue = SLICE("b");
    item.step = 2;
    item.progress = entries;
    item.n_progress = 1;
    int64_t id = submit_item_of(f, &item);

    assert_record(f, id, "1:done");
    struct test_op *claim = run_op(f, op_claim(f, "b", 1));
    struct granted g;

    assert_int_equal(granted_of(claim, &g, 1), 1);
    assert_true(reply_has(claim, "\"x\":\"1\""));
    run_ok(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    done_in(f, "c");
    assert_record(f, id, "1:done 2:done 3:done");
    assert_sound(f);
}

static void an_emitted_job_that_has_begun_elsewhere_keeps_its_record(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct route_status entries[] = {{.number = 1, .has_status = true, .started_at = START_AT}};

    define_queues(f);
    struct submit_item item = route_of(&arena, ABC, NULL);

    item.queue = SLICE("b");
    item.step = 2;
    item.progress = entries;
    item.n_progress = 1;
    for (int i = 0; i < 2; i++) { /* dropped, then released */
        submit_one(f, "z");
        struct granted g = claim_one(f, "z");
        struct test_op *t = op_make(f, OP_EMIT);

        t->op.emit = (struct emit){
            .id = g.id, .token = g.token, .seq = 1, .jobs = &item, .n_jobs = 1};
        run_op(f, t);
        assert_int_equal(t->op.err.code, E_OK);
        run_ok(f, op_finish(f, g.id, g.token, i == 0 ? JOB_OUT_FAILED : JOB_OUT_DONE));
        assert_sound(f);
    }
    struct granted emitted = claim_one(f, "b");

    assert_record(f, emitted.id, "1:done");
    assert_sound(f);
}

static struct test_op *retry_from(struct fixture *f, int64_t id, const char *from,
                                  const char *params)
{
    struct test_op *t = op_act(f, ACTION_RETRY, id);

    if (from != NULL)
        t->op.action.from = slice_of(from);
    if (params != NULL)
        t->op.action.params = slice_of(params);
    return run_op(f, t);
}

static void a_failed_route_goes_on_where_it_failed(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, WITH_FINAL, NULL);

    end_in(f, "a", JOB_OUT_DONE, 0, "{\"x\":1}");
    end_in(f, "b", JOB_OUT_FAILED, 1, "{\"x\":2}");
    done_in(f, "z");
    assert_int_equal(retry_from(f, id, NULL, NULL)->op.err.code, E_OK);
    assert_member(f, id, "set", "{\"x\":1}");
    done_in(f, "b");
    done_in(f, "c");
    done_in(f, "z");
    assert_int_equal(state_of(f, id), JOB_DONE);
    assert_record(f, id, "1:done 2:failed 4:done 2:done 3:done 4:done");
    assert_sound(f);
}

static void a_done_route_is_run_again_from_any_step_with_other_params(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, ABC, "{\"x\":1}");

    done_in(f, "a");
    done_in(f, "b");
    done_in(f, "c");
    assert_int_equal(retry_from(f, id, "b", "{\"x\":2}")->op.err.code, E_OK);
    assert_member(f, id, "step", "2");
    assert_member(f, id, "params", "{\"x\":2}");
    done_in(f, "b");
    done_in(f, "c");
    assert_record(f, id, "1:done 2:done 3:done 2:done 3:done");
    assert_int_equal(retry_from(f, id, "9", NULL)->op.err.code, E_INVALID);
    assert_int_equal(retry_from(f, id, "nowhere", NULL)->op.err.code, E_INVALID);
    assert_int_equal(state_of(f, id), JOB_DONE);
    assert_sound(f);
}

static void what_is_changed_by_hand_counts_over_what_was_set(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, ABC, NULL);

    end_in(f, "a", JOB_OUT_DONE, 0, "{\"x\":1,\"y\":1}");
    done_in(f, "b");
    done_in(f, "c");
    for (int round = 0; round < 2; round++) {
        assert_int_equal(retry_from(f, id, "b", round == 0 ? "{\"x\":2}" : NULL)->op.err.code,
                         E_OK);
        struct test_op *claim = run_op(f, op_claim(f, "b", 1));
        struct granted g;

        assert_int_equal(granted_of(claim, &g, 1), 1);
        assert_true(reply_has(claim, "\"x\":2") && reply_has(claim, "\"y\":1"));
        run_ok(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
        done_in(f, "c");
    }
}

static void what_is_changed_by_hand_counts_over_a_steps_own_params(void **state)
{
    static const char steps[] = "[{\"queue\":\"a\"},{\"queue\":\"b\",\"params\":{\"x\":1,\"y\":1}},"
                                "{\"queue\":\"c\",\"params\":{\"x\":1}}]";
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, steps, NULL);

    done_in(f, "a");
    done_in(f, "b");
    done_in(f, "c");
    for (int round = 0; round < 2; round++) {
        assert_int_equal(retry_from(f, id, "2", round == 0 ? "{\"x\":2}" : NULL)->op.err.code,
                         E_OK);
        struct test_op *claim = run_op(f, op_claim(f, "b", 1));
        struct granted g;

        assert_int_equal(granted_of(claim, &g, 1), 1);
        assert_true(reply_has(claim, "\"x\":2") && reply_has(claim, "\"y\":1"));
        run_ok(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
        done_in(f, "c");
    }
    struct test_op *clone = op_act(f, ACTION_CLONE, id);

    clone->op.action.params = SLICE("{\"y\":3}");
    run_op(f, clone);
    done_in(f, "a");
    struct test_op *claim = run_op(f, op_claim(f, "b", 1));

    assert_true(reply_has(claim, "\"x\":2") && reply_has(claim, "\"y\":3"));
    assert_sound(f);
}

static void what_is_changed_by_hand_counts_over_what_was_handed_in(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct route_status entries[] = {
        {.number = 1, .has_status = true, .set = SLICE("{\"x\":1,\"y\":1}")}};

    define_queues(f);
    struct submit_item item = route_of(&arena, ABC, NULL);

    item.queue = SLICE("b");
    item.step = 2;
    item.progress = entries;
    item.n_progress = 1;
    int64_t id = submit_item_of(f, &item);

    run_op(f, op_act(f, ACTION_CANCEL, id));
    assert_int_equal(retry_from(f, id, NULL, "{\"x\":2}")->op.err.code, E_OK);
    assert_member(f, id, "set", "{\"y\":1}");
    assert_true(reply_has(run_op(f, op_claim(f, "b", 1)), "\"x\":2"));
}

static void what_was_set_counts_although_a_run_between_was_cancelled(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, ABC, NULL);

    end_in(f, "a", JOB_OUT_DONE, 0, "{\"x\":1}");
    end_in(f, "b", JOB_OUT_FAILED, 1, NULL);
    assert_int_equal(retry_from(f, id, "a", NULL)->op.err.code, E_OK);
    run_op(f, op_act(f, ACTION_CANCEL, id));
    assert_int_equal(retry_from(f, id, "b", NULL)->op.err.code, E_OK);
    assert_member(f, id, "set", "{\"x\":1}");
}

static void steps_are_added_although_a_queue_further_on_is_gone(void **state)
{
    struct fixture *f = *state;
    struct finish_item *item;

    define_queues(f);
    int64_t id = submit_route(f, WITH_FINAL, NULL);
    struct test_op *gone = op_make(f, OP_DEFINE);

    gone->op.define = (struct define){.removes = true,
                                      .kind = DEFINITION_QUEUE,
                                      .name = SLICE("c")};
    run_op(f, gone);
    done_in(f, "a");
    struct test_op *t = op_end(f, "b", JOB_OUT_DONE, &item);

    item->steps = SLICE("[{\"name\":\"nowhere\"}]");
    run_op(f, t);
    assert_true(reply_has(t, "nowhere"));
    t = op_finish(f, item->id, item->token, JOB_OUT_DONE);
    ((struct finish_item *)(uintptr_t)t->op.exchange.finish)->steps = SLICE(
        "[{\"name\":\"more\",\"queue\":\"a\"}]");
    run_ok(f, t);
    done_in(f, "z");
    assert_record(f, id, "1:done 2:done 3:failed 4:done");
}

static void a_known_key_is_not_run_again_unless_redo_is_said(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    define_queues(f);
    struct submit_item item = route_of(&arena, "[{\"name\":\"a\"}]", NULL);

    item.key = SLICE("case 7");
    item.content = 1;
    int64_t id = submit_item_of(f, &item);

    done_in(f, "a");
    assert_int_equal(submit_item_of(f, &item), id);
    assert_int_equal(state_of(f, id), JOB_DONE);
    item.redo = true;
    assert_int_equal(submit_item_of(f, &item), id);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_int_equal(submit_item_of(f, &item), id);
    done_in(f, "a");
    assert_record(f, id, "1:done 1:done");
    assert_sound(f);
}

static void a_copy_begins_with_the_first_step(void **state)
{
    struct fixture *f = *state;

    define_queues(f);
    int64_t id = submit_route(f, ABC, "{\"x\":1}");

    done_in(f, "a");
    struct test_op *t = run_op(f, op_act(f, ACTION_CLONE, id));

    assert_int_equal(t->op.err.code, E_OK);
    assert_int_equal(kept_count(f, "a", JOB_READY), 1);
    done_in(f, "a");
    assert_int_equal(kept_count(f, "b", JOB_READY), 2);
    assert_sound(f);
}

static void what_an_end_emits_may_wait_for_that_end(void **state)
{
    struct fixture *f = *state;
    struct finish_item *item;

    define_queues(f);
    int64_t id = submit_one(f, "a");
    struct test_op *t = op_end(f, "a", JOB_OUT_DONE, &item);
    struct after_cond cond = {.kind = AFTER_JOB, .on = AFTER_SUCCESS, .job = id};
    struct submit_item emitted = item_of("b");

    emitted.after = &cond;
    emitted.n_after = 1;
    item->emit = &emitted;
    item->n_emit = 1;
    run_ok(f, t);
    assert_int_equal(kept_count(f, "b", JOB_READY), 1);
    assert_sound(f);
}

/* ---- refused ---- */

static void a_queue_that_is_not_there_is_named_with_its_step(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    define_queues(f);
    struct submit_item item = route_of(&arena,
                                       "[{\"name\":\"a\"},{\"name\":\"bb\",\"queue\":\"nope\"}]",
                                       NULL);
    struct test_op *t = run_op(f, op_submit(f, &item, 1));

    assert_int_equal(t->op.err.code, E_INVALID);
    assert_non_null(strstr(t->op.err.msg, "steps[1]"));
    assert_non_null(strstr(t->op.err.msg, "nope"));
}

static void a_command_needs_a_queue_that_takes_it(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    define_queues(f);
    struct submit_item item = route_of(&arena,
                                       "[{\"name\":\"a\"},{\"name\":\"c\",\"command\":\"echo\"}]",
                                       NULL);
    struct test_op *t = run_op(f, op_submit(f, &item, 1));

    assert_int_equal(t->op.err.code, E_INVALID);
    assert_non_null(strstr(t->op.err.msg, "own_command"));
    item = route_of(&arena, "[{\"name\":\"a\"},{\"name\":\"b\",\"command\":\"echo\"}]", NULL);
    submit_item_of(f, &item);
    done_in(f, "a");
    assert_true(reply_has(run_op(f, op_claim(f, "b", 1)), "\"command\":\"echo\""));
}

static void a_dry_run_tells_the_plan_and_makes_nothing(void **state)
{
    struct fixture *f = *state;
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    define_queues(f);
    define_queue(f, "say", "{\"command\":[\"echo\",\"{x}\",\"{later}\"]}");
    struct submit_item item = route_of(
        &arena,
        "[{\"name\":\"a\"},{\"name\":\"b\",\"command\":[\"echo\",\"{x}\"]},{\"name\":\"say\"}]",
        "{\"x\":\"1\"}");
    struct test_op *t = op_submit(f, &item, 1);

    t->op.submit.dry_run = true;
    run_op(f, t);
    assert_int_equal(t->op.err.code, E_OK);
    assert_true(reply_has(t, "\"command\":[\"echo\",\"1\"]"));
    assert_true(reply_has(t, "\"command\":[\"echo\",\"{x}\",\"{later}\"]"));
    assert_int_equal(kept_count(f, "a", JOB_READY), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_job_goes_from_queue_to_queue_and_keeps_its_record),
        ENGINE_TEST(a_crash_between_steps_changes_nothing),
        ENGINE_TEST(the_next_step_is_claimed_in_the_batch_that_ends_the_one_before),
        ENGINE_TEST(the_end_of_a_step_can_be_told_again),
        ENGINE_TEST(what_steps_set_is_seen_by_later_ones_and_is_the_result),
        ENGINE_TEST(what_steps_set_is_bounded_in_all),
        ENGINE_TEST(a_result_that_a_step_gives_is_kept_until_another_gives_one),
        ENGINE_TEST(attempts_and_failures_are_counted_for_each_step),
        ENGINE_TEST(a_lost_worker_repeats_its_step_only),
        ENGINE_TEST(a_failure_stops_the_route_and_only_final_steps_run),
        ENGINE_TEST(a_final_step_runs_at_the_end_of_a_good_route_too),
        ENGINE_TEST(a_step_that_may_fail_is_passed),
        ENGINE_TEST(a_cancelled_route_ends_at_once),
        ENGINE_TEST(a_route_that_is_cancelled_while_a_step_runs_does_not_go_on),
        ENGINE_TEST(a_route_whose_last_step_is_done_is_not_cancelled_any_more),
        ENGINE_TEST(the_record_tells_where_a_step_was_run_that_was_moved),
        ENGINE_TEST(a_queue_that_is_gone_fails_its_step),
        ENGINE_TEST(an_added_step_comes_before_the_final_ones),
        ENGINE_TEST(a_job_without_a_route_takes_no_steps),
        ENGINE_TEST(a_job_that_has_begun_elsewhere_goes_on_where_it_was),
        ENGINE_TEST(an_emitted_job_that_has_begun_elsewhere_keeps_its_record),
        ENGINE_TEST(a_failed_route_goes_on_where_it_failed),
        ENGINE_TEST(a_done_route_is_run_again_from_any_step_with_other_params),
        ENGINE_TEST(what_is_changed_by_hand_counts_over_what_was_set),
        ENGINE_TEST(what_is_changed_by_hand_counts_over_a_steps_own_params),
        ENGINE_TEST(what_is_changed_by_hand_counts_over_what_was_handed_in),
        ENGINE_TEST(what_was_set_counts_although_a_run_between_was_cancelled),
        ENGINE_TEST(steps_are_added_although_a_queue_further_on_is_gone),
        ENGINE_TEST(a_known_key_is_not_run_again_unless_redo_is_said),
        ENGINE_TEST(a_copy_begins_with_the_first_step),
        ENGINE_TEST(what_an_end_emits_may_wait_for_that_end),
        ENGINE_TEST(a_queue_that_is_not_there_is_named_with_its_step),
        ENGINE_TEST(a_command_needs_a_queue_that_takes_it),
        ENGINE_TEST(a_dry_run_tells_the_plan_and_makes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
