/*
 * Jobs that wait: for others, for steps of others, for signals.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/jtext/jtext.h"
#include "base/os/fault.h"
#include "engine_fixture.h"
#include "store/internal.h"
#include "store/jobs/jobs.h"
#include "store/links/links.h"
#include "testing.h"

/* ---- words ---- */

static struct after_cond upon(int64_t job, enum after_on on)
{
    return (struct after_cond){.kind = AFTER_JOB, .on = on, .job = job};
}

static struct after_cond success_of(int64_t job)
{
    return upon(job, AFTER_SUCCESS);
}

static struct after_cond success_of_ref(const char *ref)
{
    return (struct after_cond){.kind = AFTER_JOB, .on = AFTER_SUCCESS, .ref = slice_of(ref)};
}

static struct after_cond level(const char *signal, int64_t count)
{
    return (struct after_cond){.kind = AFTER_SIGNAL, .signal = slice_of(signal), .count = count};
}

static struct after_cond taken(const char *signal, int64_t count)
{
    struct after_cond c = level(signal, count);

    c.take = true;
    return c;
}

static struct submit_item waiting_item(const struct after_cond *conds, size_t n)
{
    struct submit_item item = item_of("default");

    item.after = conds;
    item.n_after = n;
    return item;
}

static int64_t submit_waiting(struct fixture *f, const struct after_cond *conds, size_t n)
{
    struct submit_item item = waiting_item(conds, n);
    struct test_op *t = run_op(f, op_submit(f, &item, 1));

    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
    return t->op.submit.first_id;
}

static int64_t submit_after(struct fixture *f, struct after_cond cond)
{
    return submit_waiting(f, &cond, 1);
}

static struct test_op *submit_array(struct fixture *f, const struct submit_item *items, size_t n)
{
    struct test_op *t = op_submit(f, items, n);

    t->op.submit.mode = SUBMIT_ARRAY;
    return run_op(f, t);
}

/* The ids of an array's jobs. */
static void ids_of(const struct test_op *t, int64_t *ret_ids, size_t n)
{
    struct slice ids;
    struct slice id;
    size_t i = 0;

    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
    assert_true(jtext_find(buf_slice(&t->op.reply), "ids", &ids));
    for (struct jtext_iter it = jtext_items(ids); jtext_next_item(&it, &id); i++) {
        assert_true(i < n);
        assert_true(id_parse(slice_make(id.data + 1, id.size - 2), &ret_ids[i]));
    }
    assert_int_equal(i, n);
}

static void refused(const struct test_op *t, const char *text)
{
    assert_int_equal(t->op.err.code, E_INVALID);
    if (strstr(t->op.err.msg, text) == NULL)
        fail_msg("'%s' is not in: %s", text, t->op.err.msg);
}

static void submit_is_refused(struct fixture *f, struct after_cond cond, const char *text)
{
    struct submit_item item = waiting_item(&cond, 1);

    refused(run_op(f, op_submit(f, &item, 1)), text);
}

/* A job of a queue of its own that runs. */
static struct granted running(struct fixture *f)
{
    define_queue(f, "first", "{\"own_command\":true,\"retry\":{\"max\":0}}");
    submit_one(f, "first");
    return claim_one(f, "first");
}

static void finish(struct fixture *f, struct granted g, enum job_outcome outcome)
{
    struct test_op *t = run_op(f, op_finish(f, g.id, g.token, outcome));

    if (!reply_has(t, "\"ok\":true"))
        fail_msg("%s", reply_of(t));
}

#define ROUTE                                                          \
    "{\"steps\":[{\"number\":1,\"name\":\"get\",\"queue\":\"first\"}," \
    "{\"number\":2,\"name\":\"put\",\"queue\":\"first\"},"             \
    "{\"number\":3,\"name\":\"tidy\",\"queue\":\"first\",\"final\":true}]}"

/* A job at the first of its three steps, which runs. */
static struct granted routed(struct fixture *f, struct submit_item *item)
{
    define_queue(f, "first", "{\"own_command\":true,\"retry\":{\"max\":0}}");
    item->routing = routing_of(f, ROUTE);
    item->step = 1;
    struct test_op *t = run_op(f, op_submit(f, item, 1));

    if (t->op.err.code != E_OK)
        fail_msg("%s", t->op.err.msg);
    return claim_one(f, "first");
}

static struct after_cond on_step(int64_t job, const char *step, enum after_on on)
{
    struct after_cond c = upon(job, on);

    c.step = slice_of(step);
    return c;
}

static struct test_op *op_signal(struct fixture *f, enum signal_op_kind kind, const char *name,
                                 int64_t count)
{
    struct test_op *t = op_make(f, OP_SIGNAL);

    t->op.signal = (struct signal_op){kind, slice_of(name), count};
    return t;
}

static struct test_op *raise_signal(struct fixture *f, const char *name, int64_t count)
{
    struct test_op *t = run_op(f, op_signal(f, SIGNAL_OP_RAISE, name, count));

    assert_int_equal(t->op.err.code, E_OK);
    return t;
}

static int64_t level_of(struct fixture *f, const char *name)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct stored_signal signal;
    struct err err = ERR_INIT;

    assert_int_equal(store_signal_find(f->store, slice_of(name), &arena, &signal, &err), E_OK);
    return signal.id == 0 ? -1 : signal.count;
}

static void text_has(struct fixture *f, int64_t id, const char *text)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct job j = job_of(f, id, &arena);

    assert_int_equal(j.cause, JOB_CAUSE_DEPENDENCY);
    const char *shown = arena_strdup(&arena, j.text);

    if (strstr(shown, text) == NULL)
        fail_msg("'%s' is not in: %s", text, shown);
}

static void count_wait(void *ctx, const struct stored_wait *wait)
{
    (void)wait;
    ++*(size_t *)ctx;
}

static size_t waits_of(struct fixture *f, int64_t waiter)
{
    struct err err = ERR_INIT;
    size_t n = 0;

    assert_int_equal(store_waits_of(f->store, waiter, AFTER_MAX, count_wait, &n, &err), E_OK);
    return n;
}

/* Batches without ops, until the engine has nothing left to do; how many there were. */
static int work_off(struct fixture *f)
{
    int batches = 0;

    for (; engine_next_us(f->engine, f->now) == 0; batches++) {
        assert_true(batches < 1000);
        batch_run(f);
    }
    return batches;
}

static int64_t in_state(struct fixture *f, enum job_state state)
{
    return kept_count(f, "default", state);
}

/* ---- one waits for another ---- */

static void a_job_is_held_until_the_one_it_waits_for_is_done(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    int64_t id = submit_after(f, success_of(g.id));

    assert_int_equal(state_of(f, id), JOB_HELD);
    assert_int_equal(waits_of(f, id), 1);
    assert_sound(f);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_int_equal(waits_of(f, id), 0);
    assert_sound(f);
}

static void it_is_claimed_in_the_batch_that_lets_it_go(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    int64_t id = submit_after(f, success_of(g.id));
    struct test_op *claim = op_claim(f, "default", 1);
    struct granted got[1];

    batch_add(f, claim);
    batch_add(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    batch_run(f);
    assert_int_equal(granted_of(claim, got, 1), 1);
    assert_true(got[0].id == id);
}

static void the_end_of_an_attempt_that_is_tried_again_is_no_end(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "again", "{\"own_command\":true,\"retry\":{\"max\":5,\"first\":\"1m\"}}");
    submit_one(f, "again");
    struct granted g = claim_one(f, "again");
    int64_t id = submit_after(f, upon(g.id, AFTER_END));

    finish(f, g, JOB_OUT_FAILED);
    assert_int_equal(state_of(f, id), JOB_HELD);
    run_op(f, op_act(f, ACTION_CANCEL, g.id));
    assert_int_equal(state_of(f, id), JOB_READY);
}

static void who_waits_for_several_is_let_go_by_the_last(void **state)
{
    struct fixture *f = *state;
    struct after_cond conds[3];
    struct granted g[3];

    submit_many(f, "default", 3);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "default", 3)), g, 3), 3);
    for (int i = 0; i < 3; i++)
        conds[i] = success_of(g[i].id);
    int64_t id = submit_waiting(f, conds, 3);

    finish(f, g[1], JOB_OUT_DONE);
    finish(f, g[0], JOB_OUT_DONE);
    assert_int_equal(state_of(f, id), JOB_HELD);
    assert_int_equal(waits_of(f, id), 1);
    finish(f, g[2], JOB_OUT_DONE);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_sound(f);
}

static void what_is_said_twice_is_waited_for_once(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    const struct after_cond conds[] = {success_of(g.id), success_of(g.id)};
    int64_t id = submit_waiting(f, conds, 2);

    assert_int_equal(waits_of(f, id), 1);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, id), JOB_READY);
}

static void each_kind_of_end_lets_go_whom_it_concerns_and_cancels_the_others(void **state)
{
    struct fixture *f = *state;
    const struct {
        enum job_outcome outcome;
        enum job_state success, failure, end;
    } cases[] = {
        {JOB_OUT_DONE, JOB_READY, JOB_CANCELLED, JOB_READY},
        {JOB_OUT_FAILED, JOB_CANCELLED, JOB_READY, JOB_READY},
        {JOB_OUT_CANCELLED, JOB_CANCELLED, JOB_CANCELLED, JOB_READY},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct granted g = running(f);
        int64_t success = submit_after(f, success_of(g.id));
        int64_t failure = submit_after(f, upon(g.id, AFTER_FAILURE));
        int64_t end = submit_after(f, upon(g.id, AFTER_END));

        finish(f, g, cases[i].outcome);
        assert_int_equal(state_of(f, success), cases[i].success);
        assert_int_equal(state_of(f, failure), cases[i].failure);
        assert_int_equal(state_of(f, end), cases[i].end);
        if (cases[i].outcome == JOB_OUT_FAILED)
            text_has(f, success, "which it waited for, failed");
    }
    assert_sound(f);
}

static void what_has_ended_when_the_job_is_made_counts_at_once(void **state)
{
    struct fixture *f = *state;
    struct granted done = running(f);

    finish(f, done, JOB_OUT_DONE);
    struct granted failed = running(f);

    finish(f, failed, JOB_OUT_FAILED);
    assert_int_equal(state_of(f, submit_after(f, success_of(done.id))), JOB_READY);
    assert_int_equal(state_of(f, submit_after(f, upon(failed.id, AFTER_FAILURE))), JOB_READY);
    int64_t never = submit_after(f, success_of(failed.id));

    assert_int_equal(state_of(f, never), JOB_CANCELLED);
    text_has(f, never, "which it waited for, failed");
    assert_int_equal(waits_of(f, never), 0);
    assert_sound(f);
}

/* The wait is looked at before the end is followed. */
static void a_wait_is_answered_by_an_end_that_its_own_batch_brings_about(void **state)
{
    struct fixture *f = *state;
    int64_t cause = submit_one(f, "default");
    struct after_cond cond = success_of(cause);
    int64_t follower = submit_waiting(f, &cond, 1);
    struct test_op *cancel = op_act(f, ACTION_CANCEL, cause);
    struct test_op *wait = op_wait(f, follower, 30 * US_PER_S);

    batch_add(f, cancel);
    batch_add(f, wait);
    batch_run(f);
    assert_int_equal(state_of(f, follower), JOB_CANCELLED);
    assert_true(wait->answered);
}

static void who_waits_for_a_job_that_is_removed_is_cancelled(void **state)
{
    struct fixture *f = *state;
    int64_t first = submit_one(f, "default");
    int64_t id = submit_after(f, upon(first, AFTER_END));

    run_op(f, op_act(f, ACTION_DELETE, first));
    assert_int_equal(state_of(f, id), JOB_CANCELLED);
    text_has(f, id, "which it waited for, was removed");
    assert_sound(f);
}

static void a_job_that_is_not_there_cannot_be_waited_for(void **state)
{
    struct fixture *f = *state;
    int64_t gone = submit_one(f, "default");

    run_op(f, op_act(f, ACTION_DELETE, gone));
    submit_is_refused(f, success_of(gone), "after[0]: there is no job");
    assert_int_equal(in_state(f, JOB_HELD), 0);
}

static void who_waits_for_its_time_as_well_is_scheduled_when_it_is_let_go(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    struct after_cond cond = success_of(g.id);
    struct submit_item item = waiting_item(&cond, 1);

    item.delay_us = US_PER_HOUR;
    int64_t id = run_op(f, op_submit(f, &item, 1))->op.submit.first_id;

    assert_int_equal(state_of(f, id), JOB_HELD);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, id), JOB_SCHEDULED);
    fixture_pass(f, US_PER_HOUR);
    batch_run(f);
    assert_int_equal(state_of(f, id), JOB_READY);
}

static void who_is_held_by_hand_as_well_stays_held(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    int64_t id = submit_after(f, success_of(g.id));

    run_op(f, op_act(f, ACTION_HOLD, id));
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, id), JOB_HELD);
    run_op(f, op_act(f, ACTION_RELEASE, id));
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_sound(f);
}

static void no_hand_lets_go_a_job_that_waits(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    int64_t id = submit_after(f, success_of(g.id));

    run_op(f, op_act(f, ACTION_HOLD, id));
    run_op(f, op_act(f, ACTION_RELEASE, id));
    run_op(f, op_act(f, ACTION_NOW, id));
    assert_int_equal(state_of(f, id), JOB_HELD);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, id), JOB_READY);
}

static void who_is_cancelled_or_removed_waits_no_more(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    int64_t cancelled = submit_after(f, success_of(g.id));
    int64_t removed = submit_after(f, success_of(g.id));

    run_op(f, op_act(f, ACTION_CANCEL, cancelled));
    run_op(f, op_act(f, ACTION_DELETE, removed));
    assert_int_equal(waits_of(f, cancelled) + waits_of(f, removed), 0);
    assert_sound(f);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, cancelled), JOB_CANCELLED);
    assert_int_equal(state_of(f, removed), JOB_NONE);
    assert_sound(f);
}

static void a_cancelled_one_that_is_run_again_alone_waits_no_more(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    int64_t id = submit_after(f, success_of(g.id));

    finish(f, g, JOB_OUT_FAILED);
    assert_int_equal(state_of(f, id), JOB_CANCELLED);
    struct test_op *alone = op_act(f, ACTION_RETRY, id);

    alone->op.action.alone = true;
    run_op(f, alone);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_sound(f);
}

static void a_cancelled_one_waits_again_and_comes_back_with_its_cause(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    int64_t id = submit_after(f, success_of(g.id));
    int64_t last = submit_after(f, success_of(id));

    finish(f, g, JOB_OUT_FAILED);
    const struct test_op *early = run_op(f, op_act(f, ACTION_RETRY, id));

    assert_int_equal(early->op.err.code, E_CONFLICT);
    assert_non_null(strstr(early->op.err.msg, "retry that, or this one with --alone"));
    assert_int_equal(state_of(f, id), JOB_CANCELLED);
    run_op(f, op_act(f, ACTION_RETRY, g.id));
    assert_int_equal(state_of(f, id), JOB_HELD);
    assert_int_equal(state_of(f, last), JOB_HELD);
    assert_sound(f);
    finish(f, claim_one(f, "first"), JOB_OUT_DONE);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_int_equal(state_of(f, last), JOB_HELD);
    assert_sound(f);
}

static void a_commit_that_fails_lets_nobody_go_twice(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    int64_t id = submit_after(f, success_of(g.id));

    fault_arm("commit.before:1:fail");
    finish(f, g, JOB_OUT_DONE);
    fault_arm(NULL);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_int_equal(in_state(f, JOB_READY), 1);
    assert_sound(f);
}

/* ---- arrays ---- */

static void jobs_of_an_array_wait_for_each_other_by_their_refs(void **state)
{
    struct fixture *f = *state;
    const struct after_cond on_top = success_of_ref("top");
    const struct after_cond on_sides[] = {success_of_ref("left"), success_of_ref("right")};
    struct submit_item items[] = {waiting_item(on_sides, 2), waiting_item(&on_top, 1),
                                  waiting_item(&on_top, 1), item_of("default")};
    const char *const refs[] = {"bottom", "left", "right", "top"};
    const enum job_state after_top[] = {JOB_HELD, JOB_READY, JOB_READY, JOB_DONE};
    struct granted g[2];
    int64_t ids[4];

    for (size_t i = 0; i < 4; i++)
        items[i].ref = slice_of(refs[i]);
    ids_of(submit_array(f, items, 4), ids, 4);
    assert_int_equal(in_state(f, JOB_HELD), 3);
    finish(f, claim_one(f, "default"), JOB_OUT_DONE);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(state_of(f, ids[i]), after_top[i]);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "default", 2)), g, 2), 2);
    finish(f, g[1], JOB_OUT_DONE);
    assert_int_equal(state_of(f, ids[0]), JOB_HELD);
    finish(f, g[0], JOB_OUT_DONE);
    assert_int_equal(state_of(f, ids[0]), JOB_READY);
    assert_sound(f);
}

/* Sent again, a graph waits for what runs again, not for how it ended before. */
static void what_an_array_runs_again_is_waited_for_anew(void **state)
{
    struct fixture *f = *state;
    const struct after_cond on_top = success_of_ref("top");
    struct submit_item items[] = {waiting_item(&on_top, 1), item_of("default")};
    int64_t ids[2];

    items[1].ref = SLICE("top");
    items[1].key = SLICE("case-7");
    ids_of(submit_array(f, &items[1], 1), ids, 1);
    finish(f, claim_one(f, "default"), JOB_OUT_DONE);
    items[1].redo = true;
    ids_of(submit_array(f, items, 2), ids, 2);
    assert_int_equal(state_of(f, ids[0]), JOB_HELD);
    assert_int_equal(state_of(f, ids[1]), JOB_READY);
    finish(f, claim_one(f, "default"), JOB_OUT_DONE);
    assert_int_equal(state_of(f, ids[0]), JOB_READY);
    assert_sound(f);
}

static void what_an_array_names_twice_to_run_again_is_waited_for(void **state)
{
    struct fixture *f = *state;
    const struct after_cond on_top = success_of_ref("top");
    struct submit_item items[] = {item_of("default"), waiting_item(&on_top, 1), item_of("default")};
    int64_t ids[3];

    items[0].key = items[2].key = SLICE("case-7");
    items[0].ref = SLICE("top");
    ids_of(submit_array(f, items, 1), ids, 1);
    finish(f, claim_one(f, "default"), JOB_OUT_DONE);
    items[0].redo = items[2].redo = true;
    ids_of(submit_array(f, items, 3), ids, 3);
    assert_int_equal(state_of(f, ids[1]), JOB_HELD);
    assert_sound(f);
    finish(f, claim_one(f, "default"), JOB_OUT_DONE);
    assert_int_equal(state_of(f, ids[1]), JOB_READY);
    assert_sound(f);
}

static void a_ref_that_nobody_has_is_refused_and_nothing_is_made(void **state)
{
    struct fixture *f = *state;
    const struct after_cond cond = success_of_ref("nobody");
    struct submit_item items[] = {item_of("default"), waiting_item(&cond, 1)};
    struct test_op *t = submit_array(f, items, 2);

    refused(t, "after[0]: 'nobody' is neither an id nor the ref of a job here");
    assert_int_equal(t->op.err.item, 2);
    assert_int_equal(in_state(f, JOB_READY) + in_state(f, JOB_HELD), 0);
}

static void a_ref_that_two_have_is_refused(void **state)
{
    struct fixture *f = *state;
    const struct after_cond cond = success_of_ref("twin");
    struct submit_item items[] = {item_of("default"), item_of("default"), waiting_item(&cond, 1)};

    items[0].ref = items[1].ref = SLICE("twin");
    refused(submit_array(f, items, 3), "ref: 'twin' appears twice");
}

static void a_circle_is_refused(void **state)
{
    struct fixture *f = *state;
    const struct after_cond on_a = success_of_ref("a");
    const struct after_cond on_b = success_of_ref("b");
    const struct after_cond on_c = success_of_ref("c");
    struct submit_item items[] = {waiting_item(&on_c, 1), waiting_item(&on_a, 1),
                                  waiting_item(&on_b, 1)};

    items[0].ref = SLICE("a");
    items[1].ref = SLICE("b");
    items[2].ref = SLICE("c");
    refused(submit_array(f, items, 3), "it would wait for itself");
    items[0] = waiting_item(&on_a, 1);
    items[0].ref = SLICE("a");
    refused(submit_array(f, items, 1), "it would wait for itself");
    assert_int_equal(in_state(f, JOB_HELD), 0);
}

static void a_ref_may_mean_a_job_that_is_known_by_its_key(void **state)
{
    struct fixture *f = *state;
    const struct after_cond cond = success_of_ref("old");
    struct submit_item items[] = {item_of("default"), waiting_item(&cond, 1)};
    int64_t ids[2];

    items[0].key = SLICE("once");
    items[0].ref = SLICE("old");
    int64_t old = run_op(f, op_submit(f, &items[0], 1))->op.submit.first_id;
    struct granted g = claim_one(f, "default");

    ids_of(submit_array(f, items, 2), ids, 2);
    assert_true(ids[0] == old);
    assert_int_equal(state_of(f, ids[1]), JOB_HELD);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, ids[1]), JOB_READY);
    ids_of(submit_array(f, items, 2), ids, 2);
    assert_int_equal(state_of(f, ids[1]), JOB_READY);
}

static void a_ref_may_mean_the_second_of_two_with_the_same_key(void **state)
{
    struct fixture *f = *state;
    const struct after_cond cond = success_of_ref("second");
    struct submit_item items[] = {item_of("default"), item_of("default"), waiting_item(&cond, 1)};
    int64_t ids[3];

    items[0].key = items[1].key = SLICE("once");
    items[1].ref = SLICE("second");
    ids_of(submit_array(f, items, 3), ids, 3);
    assert_true(ids[0] == ids[1]);
    assert_int_equal(state_of(f, ids[2]), JOB_HELD);
    finish(f, claim_one(f, "default"), JOB_OUT_DONE);
    assert_int_equal(state_of(f, ids[2]), JOB_READY);
}

static void what_can_never_run_takes_along_what_waits_for_it(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    int64_t ids[2];

    finish(f, g, JOB_OUT_FAILED);
    const struct after_cond on_failed = success_of(g.id);
    const struct after_cond on_it = success_of_ref("it");
    struct submit_item items[] = {waiting_item(&on_failed, 1), waiting_item(&on_it, 1)};

    items[0].ref = SLICE("it");
    ids_of(submit_array(f, items, 2), ids, 2);
    assert_int_equal(state_of(f, ids[0]), JOB_CANCELLED);
    assert_int_equal(state_of(f, ids[1]), JOB_CANCELLED);
    text_has(f, ids[1], "which it waited for, was cancelled");
    assert_sound(f);
}

/* ---- how much is read ---- */

/* A driver between the store and its own one, until the store is closed. */
static struct {
    const struct db_driver *inner;
    struct db_driver outer;
    size_t calls, columns;
    size_t most_rows; /* of one call */
} counted;

struct counted_row {
    struct db_row base; /* must be first */
    const struct db_row *inner;
};

struct counted_taker {
    db_row_fn *on_row;
    void *ctx;
    size_t rows;
};

static int64_t counted_int(const struct db_row *row, int column)
{
    counted.columns++;
    return db_col_int(((const struct counted_row *)row)->inner, column);
}

static struct slice counted_text(const struct db_row *row, int column)
{
    return db_col_text(((const struct counted_row *)row)->inner, column);
}

static struct slice counted_blob(const struct db_row *row, int column)
{
    return db_col_blob(((const struct counted_row *)row)->inner, column);
}

static bool counted_null(const struct db_row *row, int column)
{
    return db_col_null(((const struct counted_row *)row)->inner, column);
}

static void count_row(void *ctx, const struct db_row *row)
{
    struct counted_taker *t = ctx;
    const struct counted_row outer = {{&counted.outer, row->db}, row};

    t->rows++;
    t->on_row(t->ctx, &outer.base);
}

static enum err_code counted_run(struct db *db, struct db_call *calls, size_t n, struct err *err)
{
    struct counted_taker takers[64] = {0};

    assert_true(n <= ARRAY_LEN(takers));
    for (size_t i = 0; i < n; i++) {
        takers[i] = (struct counted_taker){calls[i].on_row, calls[i].ctx, 0};
        if (calls[i].on_row == NULL)
            continue;
        calls[i].on_row = count_row;
        calls[i].ctx = &takers[i];
    }
    counted.calls += n;
    enum err_code code = counted.inner->run(db, calls, n, err);

    for (size_t i = 0; i < n; i++) {
        calls[i].on_row = takers[i].on_row;
        calls[i].ctx = takers[i].ctx;
        if (takers[i].rows > counted.most_rows)
            counted.most_rows = takers[i].rows;
    }
    return code;
}

static void count_from_now(struct fixture *f)
{
    if (f->store->db->driver != &counted.outer) {
        counted.inner = f->store->db->driver;
        counted.outer = *counted.inner;
        counted.outer.run = counted_run;
        counted.outer.col_int = counted_int;
        counted.outer.col_text = counted_text;
        counted.outer.col_blob = counted_blob;
        counted.outer.col_null = counted_null;
        f->store->db->driver = &counted.outer;
    }
    counted.calls = counted.columns = counted.most_rows = 0;
}

/* ---- many ---- */

/* MANY is more than one commit looks at. */
enum { CHAIN_LENGTH = 5000, FAN = 3000, MANY = 1500, STEP_FAN = 5000, SIGNALS = 20000 };

/* An array whose jobs wait each for the one before it; the first for nothing. */
static struct test_op *op_chain(struct fixture *f, size_t n)
{
    struct test_op *t = op_make(f, OP_SUBMIT);
    struct submit_item *items = arena_array(&t->op.arena, n, sizeof(*items));
    struct after_cond *conds = arena_array(&t->op.arena, n, sizeof(*conds));
    char ref[24];

    for (size_t i = 0; i < n; i++) {
        snprintf(ref, sizeof(ref), "r%zu", i);
        items[i] = item_of("default");
        items[i].ref = arena_copy(&t->op.arena, slice_of(ref));
        if (i == 0)
            continue;
        conds[i] = (struct after_cond){.kind = AFTER_JOB,
                                       .on = AFTER_SUCCESS,
                                       .ref = items[i - 1].ref};
        items[i].after = &conds[i];
        items[i].n_after = 1;
    }
    t->op.submit = (struct submit){.mode = SUBMIT_ARRAY, .items = items, .n_items = n};
    return t;
}

static void a_long_chain_is_no_circle_but_a_long_circle_is(void **state)
{
    struct fixture *f = *state;
    struct test_op *t = op_chain(f, OP_ITEMS_MAX);
    struct submit_item *first = (struct submit_item *)(uintptr_t)t->op.submit.items;
    const struct after_cond on_last = success_of_ref("r9999");

    first->after = &on_last;
    first->n_after = 1;
    refused(run_op(f, t), "it would wait for itself");
    t = run_op(f, op_chain(f, OP_ITEMS_MAX));
    assert_int_equal(t->op.err.code, E_OK);
    assert_int_equal(in_state(f, JOB_HELD), OP_ITEMS_MAX - 1);
}

static void a_cancel_goes_down_a_long_chain_in_bounded_commits(void **state)
{
    struct fixture *f = *state;
    int64_t *ids = calloc(CHAIN_LENGTH, sizeof(*ids));

    ids_of(run_op(f, op_chain(f, CHAIN_LENGTH)), ids, CHAIN_LENGTH);
    run_op(f, op_act(f, ACTION_CANCEL, ids[0]));
    int64_t held = in_state(f, JOB_HELD);

    assert_true(held >= CHAIN_LENGTH - 1100);
    fixture_crash(f);
    batch_run(f);
    assert_true(in_state(f, JOB_HELD) < held);
    fixture_crash(f);
    assert_true(work_off(f) <= CHAIN_LENGTH / 400);
    assert_int_equal(in_state(f, JOB_CANCELLED), CHAIN_LENGTH);
    assert_int_equal(waits_of(f, ids[CHAIN_LENGTH - 1]), 0);
    text_has(f, ids[CHAIN_LENGTH - 1], "which it waited for, was cancelled");
    assert_sound(f);
    free(ids);
}

/* So many that wait for one. */
static void submit_fan(struct fixture *f, int64_t job, size_t n)
{
    struct submit_item *items = calloc(n, sizeof(*items));
    struct after_cond cond = success_of(job);

    for (size_t i = 0; i < n; i++)
        items[i] = waiting_item(&cond, 1);
    assert_int_equal(submit_array(f, items, n)->op.err.code, E_OK);
    free(items);
}

static void many_that_wait_for_one_are_let_go_in_chunks_that_outlive_a_crash(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);

    submit_fan(f, g.id, FAN);
    assert_int_equal(in_state(f, JOB_HELD), FAN);
    finish(f, g, JOB_OUT_DONE);
    int64_t first = in_state(f, JOB_READY);

    assert_true(first >= 500 && first <= 1100);
    assert_int_equal(engine_next_us(f->engine, f->now), 0);
    fixture_crash(f);
    assert_int_equal(in_state(f, JOB_READY), first);
    batch_run(f);
    int64_t second = in_state(f, JOB_READY);

    assert_true(second > first && second <= first + 1100);
    assert_sound(f);
    fixture_crash(f);
    work_off(f);
    assert_int_equal(in_state(f, JOB_READY), FAN);
    assert_int_equal(in_state(f, JOB_HELD), 0);
    assert_sound(f);
}

/* On a shared store the wait is looked at before the batch works off what earlier ones left. */
static void a_wait_is_answered_by_an_end_that_its_batch_works_off(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    struct after_cond cond = success_of(g.id);
    struct test_op *wait = NULL;

    submit_fan(f, g.id, MANY);
    int64_t last = submit_waiting(f, &cond, 1);

    finish(f, g, JOB_OUT_FAILED);
    assert_int_equal(state_of(f, last), JOB_HELD);
    for (int i = 0; i < MANY && state_of(f, last) == JOB_HELD; i++)
        wait = run_op(f, op_wait(f, last, 30 * US_PER_S));
    assert_int_equal(state_of(f, last), JOB_CANCELLED);
    assert_true(wait != NULL && wait->answered);
}

static void a_job_is_not_run_again_before_all_have_heard_of_its_end(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);

    submit_fan(f, g.id, MANY);
    finish(f, g, JOB_OUT_FAILED);
    assert_true(in_state(f, JOB_HELD) > 0);
    struct test_op *early = run_op(f, op_act(f, ACTION_RETRY, g.id));

    assert_int_equal(early->op.err.code, E_CONFLICT);
    work_off(f);
    assert_int_equal(in_state(f, JOB_CANCELLED), MANY);
    assert_int_equal(run_op(f, op_act(f, ACTION_RETRY, g.id))->op.err.code, E_OK);
    assert_int_equal(state_of(f, g.id), JOB_READY);
    assert_sound(f);
}

/* What waits for a step is judged before the job begins anew. */
static void a_job_that_is_cancelled_and_run_again_in_one_batch_has_ended(void **state)
{
    struct fixture *f = *state;
    int64_t first = submit_one(f, "default");
    int64_t end = submit_after(f, upon(first, AFTER_END));
    int64_t success = submit_after(f, success_of(first));

    batch_add(f, op_act(f, ACTION_CANCEL, first));
    batch_add(f, op_act(f, ACTION_RETRY, first));
    batch_add(f, op_act(f, ACTION_RETRY, success)); /* cancelled by then */
    batch_run(f);
    assert_int_equal(state_of(f, first), JOB_READY);
    assert_int_equal(state_of(f, end), JOB_READY);
    assert_int_equal(state_of(f, success), JOB_HELD); /* for what is run again */
    assert_sound(f);
}

static void a_route_that_ends_and_is_run_again_by_its_key_in_one_batch_has_ended(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("first");

    item.key = SLICE("again");
    item.redo = true;
    struct granted g = routed(f, &item);
    int64_t id = submit_after(f, on_step(g.id, "put", AFTER_END));

    batch_add(f, op_submit(f, &item, 1));
    batch_add(f, op_finish(f, g.id, g.token, JOB_OUT_CANCELLED));
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_READY);
    assert_int_equal(state_of(f, id), JOB_CANCELLED);
    text_has(f, id, "never ran");
    assert_sound(f);
}

static void a_job_that_ends_and_is_removed_in_one_batch_has_ended(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    int64_t id = submit_after(f, success_of(g.id));

    batch_add(f, op_act(f, ACTION_DELETE, g.id));
    batch_add(f, op_finish(f, g.id, g.token, JOB_OUT_DONE));
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_NONE);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_sound(f);
}

static void one_that_waits_for_many_is_let_go_by_the_last_of_them(void **state)
{
    struct fixture *f = *state;
    struct after_cond *conds = calloc(1000, sizeof(*conds));
    struct granted *g = calloc(1000, sizeof(*g));

    submit_many(f, "default", 1000);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "default", 1000)), g, 1000), 1000);
    for (size_t i = 0; i < 1000; i++)
        conds[i] = success_of(g[i].id);
    int64_t id = submit_waiting(f, conds, 1000);

    for (size_t i = 0; i < 999; i++)
        batch_add(f, op_finish(f, g[i].id, g[i].token, JOB_OUT_DONE));
    batch_run(f);
    assert_int_equal(state_of(f, id), JOB_HELD);
    finish(f, g[999], JOB_OUT_DONE);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_sound(f);
    free(conds);
    free(g);
}

/* ---- steps ---- */

static void a_step_can_be_waited_for_by_its_number_or_its_name(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("first");
    struct granted g = routed(f, &item);
    int64_t by_number = submit_after(f, on_step(g.id, "1", AFTER_SUCCESS));
    int64_t by_name = submit_after(f, on_step(g.id, "put", AFTER_SUCCESS));
    int64_t whole = submit_after(f, success_of(g.id));

    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, by_number), JOB_READY);
    assert_int_equal(state_of(f, by_name), JOB_HELD);
    finish(f, claim_one(f, "first"), JOB_OUT_DONE);
    assert_int_equal(state_of(f, by_name), JOB_READY);
    assert_int_equal(state_of(f, whole), JOB_HELD);
    finish(f, claim_one(f, "first"), JOB_OUT_DONE);
    assert_int_equal(state_of(f, whole), JOB_READY);
    assert_sound(f);
}

static void a_step_that_is_passed_over_will_not_come(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("first");
    struct granted g = routed(f, &item);
    int64_t failed = submit_after(f, on_step(g.id, "get", AFTER_SUCCESS));
    int64_t failure = submit_after(f, on_step(g.id, "get", AFTER_FAILURE));
    int64_t passed = submit_after(f, on_step(g.id, "put", AFTER_END));
    int64_t final = submit_after(f, on_step(g.id, "tidy", AFTER_SUCCESS));
    int64_t whole = submit_after(f, upon(g.id, AFTER_FAILURE));

    finish(f, g, JOB_OUT_FAILED);
    assert_int_equal(state_of(f, failed), JOB_CANCELLED);
    text_has(f, failed, "step 1 of job");
    assert_int_equal(state_of(f, failure), JOB_READY);
    finish(f, claim_one(f, "first"), JOB_OUT_DONE);
    assert_int_equal(state_of(f, passed), JOB_CANCELLED);
    text_has(f, passed, "never ran");
    assert_int_equal(state_of(f, final), JOB_READY);
    assert_int_equal(state_of(f, whole), JOB_READY);
    assert_sound(f);
}

static void the_step_that_a_job_was_cancelled_at_has_ended_otherwise(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("first");
    struct granted g = routed(f, &item);
    int64_t end = submit_after(f, on_step(g.id, "get", AFTER_END));
    int64_t failure = submit_after(f, on_step(g.id, "get", AFTER_FAILURE));
    int64_t later = submit_after(f, on_step(g.id, "put", AFTER_END));

    finish(f, g, JOB_OUT_CANCELLED);
    assert_int_equal(state_of(f, end), JOB_READY);
    assert_int_equal(state_of(f, failure), JOB_CANCELLED);
    assert_int_equal(state_of(f, later), JOB_CANCELLED);
}

static void steps_that_have_ended_when_the_job_is_made_count_at_once(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("first");
    struct granted g = routed(f, &item);

    finish(f, g, JOB_OUT_DONE);
    int64_t past = submit_after(f, on_step(g.id, "get", AFTER_SUCCESS));
    int64_t wrong = submit_after(f, on_step(g.id, "get", AFTER_FAILURE));
    int64_t now = submit_after(f, on_step(g.id, "put", AFTER_SUCCESS));

    assert_int_equal(state_of(f, past), JOB_READY);
    assert_int_equal(state_of(f, wrong), JOB_CANCELLED);
    text_has(f, wrong, "did not fail");
    assert_int_equal(state_of(f, now), JOB_HELD);
    finish(f, claim_one(f, "first"), JOB_OUT_FAILED);
    finish(f, claim_one(f, "first"), JOB_OUT_DONE);
    assert_int_equal(state_of(f, now), JOB_CANCELLED);
    assert_int_equal(state_of(f, submit_after(f, on_step(g.id, "2", AFTER_FAILURE))), JOB_READY);
    assert_int_equal(state_of(f, submit_after(f, on_step(g.id, "3", AFTER_END))), JOB_READY);
}

static void a_step_that_is_not_there_cannot_be_waited_for(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("first");
    struct granted g = routed(f, &item);

    submit_is_refused(f, on_step(g.id, "nowhere", AFTER_END), "after[0]: ");
    submit_is_refused(f, on_step(g.id, "7", AFTER_END), "after[0]: ");
    submit_is_refused(f, on_step(submit_one(f, "default"), "1", AFTER_END), "has no steps");
}

static void a_step_of_a_job_of_the_same_array_can_be_waited_for(void **state)
{
    struct fixture *f = *state;
    struct after_cond cond = success_of_ref("route");
    struct route_status seen = {.number = 1, .has_status = true};
    struct submit_item items[] = {item_of("first"), waiting_item(&cond, 1)};
    int64_t ids[2];

    define_queue(f, "first", "{\"own_command\":true}");
    items[0].routing = routing_of(f, ROUTE);
    items[0].step = 1;
    items[0].ref = SLICE("route");
    cond.step = SLICE("get");
    ids_of(submit_array(f, items, 2), ids, 2);
    assert_int_equal(state_of(f, ids[1]), JOB_HELD);
    finish(f, claim_one(f, "first"), JOB_OUT_DONE);
    assert_int_equal(state_of(f, ids[1]), JOB_READY);
    items[0].step = 2; /* it comes with its first step done */
    items[0].progress = &seen;
    items[0].n_progress = 1;
    ids_of(submit_array(f, items, 2), ids, 2);
    assert_int_equal(state_of(f, ids[1]), JOB_READY);
    cond.step = SLICE("nowhere");
    refused(submit_array(f, items, 2), "after[0]: ");
}

static void many_that_wait_for_a_step_are_let_go_in_chunks(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("first");
    struct granted g = routed(f, &item);
    struct submit_item *items = calloc(STEP_FAN, sizeof(*items));
    struct after_cond conds[] = {on_step(g.id, "get", AFTER_SUCCESS),
                                 on_step(g.id, "put", AFTER_SUCCESS)};

    for (size_t i = 0; i < STEP_FAN; i++)
        items[i] = waiting_item(conds, i % 2 + 1);
    assert_int_equal(submit_array(f, items, STEP_FAN)->op.err.code, E_OK);
    free(items);
    int64_t whole = submit_after(f, success_of(g.id));

    count_from_now(f);
    finish(f, g, JOB_OUT_DONE);
    assert_true(counted.most_rows <= 1100); /* nor are more held than there is room for */
    assert_true(in_state(f, JOB_READY) < STEP_FAN / 2);
    fixture_crash(f);
    work_off(f);
    assert_int_equal(in_state(f, JOB_READY), STEP_FAN / 2);
    assert_int_equal(in_state(f, JOB_HELD), STEP_FAN / 2 + 1);
    finish(f, claim_one(f, "first"), JOB_OUT_DONE);
    work_off(f);
    assert_int_equal(in_state(f, JOB_READY), STEP_FAN);
    assert_int_equal(state_of(f, whole), JOB_HELD);
    assert_sound(f);
}

/* ---- signals ---- */

static void a_job_waits_until_a_signal_has_its_level(void **state)
{
    struct fixture *f = *state;
    int64_t id = submit_after(f, level("dump", 3));

    assert_int_equal(state_of(f, id), JOB_HELD);
    assert_true(reply_has(raise_signal(f, "dump", 2), "{\"name\":\"dump\",\"count\":2}"));
    assert_int_equal(state_of(f, id), JOB_HELD);
    raise_signal(f, "dump", 1);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_int_equal(level_of(f, "dump"), 3);
    assert_sound(f);
}

static void a_level_holds_for_those_who_come_later_until_it_is_cleared(void **state)
{
    struct fixture *f = *state;

    raise_signal(f, "dump", 1);
    assert_int_equal(state_of(f, submit_after(f, level("dump", 1))), JOB_READY);
    assert_int_equal(state_of(f, submit_after(f, level("dump", 1))), JOB_READY);
    struct test_op *t = run_op(f, op_signal(f, SIGNAL_OP_CLEAR, "dump", 0));

    assert_true(reply_has(t, "{\"name\":\"dump\",\"count\":0}"));
    assert_int_equal(level_of(f, "dump"), -1);
    assert_int_equal(state_of(f, submit_after(f, level("dump", 1))), JOB_HELD);
    run_op(f, op_signal(f, SIGNAL_OP_CLEAR, "dump", 0));
    assert_int_equal(level_of(f, "dump"), 0); /* somebody waits for it */
    assert_sound(f);
}

static void a_level_that_is_too_low_is_waited_for(void **state)
{
    struct fixture *f = *state;
    const struct after_cond conds[] = {level("dump", 1), level("load", 2)};

    raise_signal(f, "dump", 1);
    raise_signal(f, "load", 1);
    assert_int_equal(state_of(f, submit_after(f, level("dump", 2))), JOB_HELD);
    int64_t both = submit_waiting(f, conds, 2);

    raise_signal(f, "dump", 1);
    assert_int_equal(state_of(f, both), JOB_HELD);
    raise_signal(f, "load", 1);
    assert_int_equal(state_of(f, both), JOB_READY);
}

static void clearing_a_signal_that_never_was_is_fine(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(run_op(f, op_signal(f, SIGNAL_OP_CLEAR, "no", 0))->op.err.code, E_OK);
    assert_int_equal(run_op(f, op_signal(f, SIGNAL_OP_RAISE, "a/b", 1))->op.err.code, E_INVALID);
    assert_int_equal(run_op(f, op_signal(f, SIGNAL_OP_RAISE, "a", 0))->op.err.code, E_INVALID);
}

static void a_taken_level_is_used_up_in_the_order_in_which_jobs_came(void **state)
{
    struct fixture *f = *state;
    int64_t ids[4];

    for (int i = 0; i < 4; i++)
        ids[i] = submit_after(f, taken("token", 2));
    raise_signal(f, "token", 5);
    assert_int_equal(state_of(f, ids[0]), JOB_READY);
    assert_int_equal(state_of(f, ids[1]), JOB_READY);
    assert_int_equal(state_of(f, ids[2]), JOB_HELD);
    assert_int_equal(level_of(f, "token"), 1);
    raise_signal(f, "token", 1);
    assert_int_equal(state_of(f, ids[2]), JOB_READY);
    assert_int_equal(state_of(f, ids[3]), JOB_HELD);
    assert_int_equal(level_of(f, "token"), 0);
    assert_sound(f);
}

static void of_one_array_as_many_go_as_there_are_levels_to_take(void **state)
{
    struct fixture *f = *state;
    const struct after_cond cond = taken("token", 1);
    struct submit_item items[3] = {waiting_item(&cond, 1), waiting_item(&cond, 1),
                                   waiting_item(&cond, 1)};
    int64_t ids[3];

    raise_signal(f, "token", 2);
    ids_of(submit_array(f, items, 3), ids, 3);
    assert_int_equal(state_of(f, ids[0]), JOB_READY);
    assert_int_equal(state_of(f, ids[1]), JOB_READY);
    assert_int_equal(state_of(f, ids[2]), JOB_HELD);
    assert_int_equal(level_of(f, "token"), 0);
}

static void a_signal_is_taken_only_when_everything_else_holds(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    const struct after_cond conds[] = {taken("token", 1), success_of(g.id), level("gate", 1)};
    int64_t id = submit_waiting(f, conds, 3);

    raise_signal(f, "token", 1);
    assert_int_equal(level_of(f, "token"), 1);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, id), JOB_HELD);
    assert_int_equal(level_of(f, "token"), 1);
    raise_signal(f, "gate", 1);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_int_equal(level_of(f, "token"), 0);
    assert_int_equal(waits_of(f, id), 0);
    assert_sound(f);
}

static void the_end_of_the_last_job_finds_a_signal_that_has_its_level(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    const struct after_cond conds[] = {success_of(g.id), taken("token", 1)};
    int64_t id = submit_waiting(f, conds, 2);

    raise_signal(f, "token", 1);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_int_equal(level_of(f, "token"), 0);
}

static void a_signal_that_stands_twice_is_refused(void **state)
{
    struct fixture *f = *state;
    const struct after_cond conds[] = {level("gate", 1), taken("gate", 2)};
    struct submit_item item = waiting_item(conds, 2);

    refused(run_op(f, op_submit(f, &item, 1)), "after[1]: the signal 'gate' appears twice");
    assert_int_equal(level_of(f, "gate"), -1);
}

static void who_is_cancelled_takes_nothing(void **state)
{
    struct fixture *f = *state;
    int64_t first = submit_after(f, taken("token", 1));
    int64_t second = submit_after(f, taken("token", 1));

    run_op(f, op_act(f, ACTION_CANCEL, first));
    raise_signal(f, "token", 1);
    assert_int_equal(state_of(f, first), JOB_CANCELLED);
    assert_int_equal(state_of(f, second), JOB_READY);
    assert_sound(f);
}

static void many_that_wait_for_a_signal_are_let_go_in_chunks_and_in_order(void **state)
{
    struct fixture *f = *state;
    struct submit_item *items = calloc(MANY, sizeof(*items));
    int64_t *ids = calloc(MANY, sizeof(*ids));
    const struct after_cond cond = taken("token", 1);

    for (size_t i = 0; i < MANY; i++)
        items[i] = waiting_item(&cond, 1);
    ids_of(submit_array(f, items, MANY), ids, MANY);
    raise_signal(f, "token", MANY - 10);
    assert_true(in_state(f, JOB_READY) <= 1100);
    int64_t late = submit_after(
        f, cond); /* it does not overtake those who are still to be looked at */

    fixture_crash(f);
    work_off(f);
    assert_int_equal(state_of(f, late), JOB_HELD);
    assert_int_equal(in_state(f, JOB_READY), MANY - 10);
    assert_int_equal(state_of(f, ids[MANY - 11]), JOB_READY);
    for (size_t i = MANY - 10; i < MANY; i++)
        assert_int_equal(state_of(f, ids[i]), JOB_HELD);
    assert_int_equal(level_of(f, "token"), 0);
    assert_sound(f);
    free(items);
    free(ids);
}

/* A look at one that waits for very many reads each wait once, and levels up to the first that is
 * missing. */
static void a_job_that_waits_for_very_many_signals_is_looked_at_in_linear_time(void **state)
{
    struct fixture *f = *state;
    struct after_cond *conds = calloc(SIGNALS, sizeof(*conds));
    char(*names)[16] = calloc(SIGNALS, sizeof(*names));

    for (size_t i = 0; i < SIGNALS; i++) {
        snprintf(names[i], sizeof(names[i]), "s%zu", i);
        conds[i] = level(names[i], 1);
    }
    count_from_now(f);
    int64_t id = submit_waiting(f, conds, SIGNALS);

    assert_true(counted.columns < 20 * SIGNALS);
    assert_int_equal(state_of(f, id), JOB_HELD);
    count_from_now(f);
    raise_signal(f, names[SIGNALS - 1], 1);
    assert_true(counted.columns < 9 * SIGNALS);
    assert_true(counted.calls < 50);
    assert_int_equal(state_of(f, id), JOB_HELD);
    free(names);
    free(conds);
}

/* Several sets of signals, held in their order. */
static void a_job_goes_on_when_the_last_of_many_signals_has_its_level(void **state)
{
    struct fixture *f = *state;
    enum { SOME = 500 };
    struct after_cond conds[SOME];
    char names[SOME][16];

    for (size_t i = 0; i < SOME; i++) {
        snprintf(names[i], sizeof(names[i]), "s%zu", i);
        conds[i] = taken(names[i], 1);
        if (i > 0)
            raise_signal(f, names[i], 2);
    }
    int64_t id = submit_waiting(f, conds, SOME);

    assert_int_equal(state_of(f, id), JOB_HELD);
    raise_signal(f, names[0], 1);
    assert_int_equal(state_of(f, id), JOB_READY);
    assert_int_equal(level_of(f, names[0]), 0);
    assert_int_equal(level_of(f, names[SOME - 1]), 1);
    assert_sound(f);
}

/* Those who stay are passed. */
static void who_waits_behind_many_that_cannot_go_yet_is_found(void **state)
{
    struct fixture *f = *state;
    struct submit_item *items = calloc(MANY, sizeof(*items));
    int64_t *ids = calloc(MANY, sizeof(*ids));
    const struct after_cond conds[] = {level("gate", 1), level("never", 1)};

    for (size_t i = 0; i < MANY; i++)
        items[i] = waiting_item(conds, i + 1 < MANY ? 2 : 1);
    ids_of(submit_array(f, items, MANY), ids, MANY);
    raise_signal(f, "gate", 1);
    assert_int_equal(state_of(f, ids[MANY - 1]), JOB_HELD);
    assert_true(work_off(f) <= 6);
    assert_int_equal(state_of(f, ids[MANY - 1]), JOB_READY);
    assert_int_equal(in_state(f, JOB_HELD), MANY - 1);
    free(items);
    free(ids);
}

/* ---- emitted jobs ---- */

static struct test_op *emit_waiting(struct fixture *f, struct granted g, int64_t seq,
                                    const struct submit_item *items, size_t n)
{
    struct test_op *t = op_make(f, OP_EMIT);

    t->op.emit = (struct emit){
        .id = g.id, .token = g.token, .seq = seq, .jobs = items, .n_jobs = n};
    return run_op(f, t);
}

static void an_emitted_job_begins_to_wait_when_it_is_released(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    struct granted open = running(f);
    struct granted ended = running(f);
    struct granted failed = running(f);
    const struct after_cond on_open = success_of(open.id);
    const struct after_cond on_ended = success_of(ended.id);
    const struct after_cond on_failed = success_of(failed.id);
    struct submit_item items[] = {waiting_item(&on_open, 1), waiting_item(&on_ended, 1),
                                  waiting_item(&on_failed, 1)};
    int64_t ids[3];

    ids_of(emit_waiting(f, g, 1, items, 3), ids, 3);
    assert_int_equal(in_state(f, JOB_STAGED), 3);
    finish(f, ended, JOB_OUT_DONE);
    finish(f, failed, JOB_OUT_FAILED);
    assert_int_equal(in_state(f, JOB_STAGED), 3);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, ids[0]), JOB_HELD);
    assert_int_equal(state_of(f, ids[1]), JOB_READY);
    assert_int_equal(state_of(f, ids[2]), JOB_CANCELLED);
    text_has(f, ids[2], "which it waited for, failed");
    finish(f, open, JOB_OUT_DONE);
    assert_int_equal(state_of(f, ids[0]), JOB_READY);
    assert_sound(f);
}

static void an_emitted_job_whose_target_was_dropped_is_cancelled(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    const struct after_cond cond = success_of_ref("twin");
    struct submit_item items[] = {item_of("default"), waiting_item(&cond, 1)};
    int64_t ids[2];

    items[0].ref = SLICE("twin");
    items[0].key = SLICE("once");
    ids_of(emit_waiting(f, g, 1, items, 2), ids, 2);
    run_op(f, op_submit(f, &items[0], 1)); /* somebody else has the key first */
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, ids[0]), JOB_NONE);
    assert_int_equal(state_of(f, ids[1]), JOB_CANCELLED);
    text_has(f, ids[1], "was removed");
    assert_sound(f);
}

static void an_emit_is_refused_for_what_is_wrong_with_it(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    const struct after_cond cond = success_of_ref("lost");
    struct submit_item items[] = {waiting_item(&cond, 1), item_of("nowhere")};

    items[1].ref = SLICE("lost");
    struct test_op *t = emit_waiting(f, g, 1, items, 2);

    assert_int_equal(t->op.err.item, 2);
    refused(t, "nowhere");
}

static void jobs_that_a_finish_makes_wait_for_each_other(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    const struct after_cond cond = success_of_ref("a");
    struct submit_item items[] = {item_of("default"), waiting_item(&cond, 1)};
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);
    struct finish_item *item = (struct finish_item *)(uintptr_t)t->op.exchange.finish;

    items[0].ref = SLICE("a");
    item->emit = items;
    item->n_emit = 2;
    t->op.exchange.n_emit = 2;
    run_op(f, t);
    assert_true(reply_has(t, "\"ok\":true"));
    assert_int_equal(in_state(f, JOB_HELD), 1);
    finish(f, claim_one(f, "default"), JOB_OUT_DONE);
    assert_int_equal(in_state(f, JOB_HELD), 0);
    assert_int_equal(in_state(f, JOB_READY), 1);
    assert_sound(f);
}

/* What a finish emits under a key that is known is the job that has it. */
static void who_waits_for_what_a_finish_does_not_make_waits_for_the_known_job(void **state)
{
    struct fixture *f = *state;
    struct granted g = running(f);
    const struct after_cond cond = success_of_ref("twin");
    struct submit_item items[] = {item_of("default"), waiting_item(&cond, 1)};
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);
    struct finish_item *item = (struct finish_item *)(uintptr_t)t->op.exchange.finish;

    items[0].ref = SLICE("twin");
    items[0].key = SLICE("once");
    run_op(f, op_submit(f, &items[0], 1));
    item->emit = items;
    item->n_emit = 2;
    t->op.exchange.n_emit = 2;
    run_op(f, t);
    assert_true(reply_has(t, "\"ok\":true"));
    assert_int_equal(in_state(f, JOB_READY), 1);
    assert_int_equal(in_state(f, JOB_HELD), 1);
    finish(f, claim_one(f, "default"), JOB_OUT_DONE);
    assert_int_equal(in_state(f, JOB_HELD), 0);
    assert_int_equal(in_state(f, JOB_READY), 1);
    assert_sound(f);
}

/* ---- two servers ---- */

enum { PAIRS = 60 };

struct server_thread {
    struct fixture *f;
    struct granted jobs[PAIRS];
    bool fine;
};

static void *finish_all(void *arg)
{
    struct server_thread *s = arg;

    s->fine = true;
    for (size_t i = 0; i < PAIRS; i++) {
        const struct granted *g = &s->jobs[i];
        struct test_op *t = run_op(s->f, op_finish(s->f, g->id, g->token, JOB_OUT_DONE));

        s->fine = s->fine && t->answered && reply_has(t, "\"ok\":true");
    }
    return NULL;
}

static void make_jobs(struct server_thread *s, const char *queue)
{
    submit_many(s->f, queue, PAIRS);
    assert_int_equal(granted_of(run_op(s->f, op_claim(s->f, queue, PAIRS)), s->jobs, PAIRS), PAIRS);
}

/* What one could not tell because the other held the waiter is told soon after. */
static void settle(struct fixture *f)
{
    fixture_pass(f, US_PER_S);
    batch_run(f);
}

/* Each waits for one job of either server, and one more for all of them; both servers end theirs at
 * the same time. */
static void what_two_servers_end_at_once_lets_go_each_waiter_once(void **state)
{
    if (!pg_is_wanted())
        skip();
    struct fixture *a = *state;
    struct fixture *b = fixture_join(a);
    struct server_thread sides[2] = {{.f = a}, {.f = b}};
    struct after_cond all[2 * PAIRS];
    int64_t waiters[PAIRS + 1];
    pthread_t threads[2];

    define_queue(a, "left", "{\"own_command\":true}");
    define_queue(a, "right", "{\"own_command\":true}");
    make_jobs(&sides[0], "left");
    make_jobs(&sides[1], "right");
    for (size_t i = 0; i < PAIRS; i++) {
        all[2 * i] = success_of(sides[0].jobs[i].id);
        all[2 * i + 1] = success_of(sides[1].jobs[i].id);
        waiters[i] = submit_waiting(i % 2 ? a : b, &all[2 * i], 2);
    }
    waiters[PAIRS] = submit_waiting(a, all, 2 * PAIRS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, finish_all, &sides[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_true(sides[0].fine && sides[1].fine);
    settle(a);
    settle(b);
    for (size_t i = 0; i <= PAIRS; i++)
        assert_int_equal(state_of(a, waiters[i]), JOB_READY);
    assert_int_equal(in_state(a, JOB_READY), PAIRS + 1);
    assert_sound(a);
    fixture_leave(b);
}

static void *raise_all(void *arg)
{
    struct server_thread *s = arg;

    s->fine = true;
    for (size_t i = 0; i < PAIRS; i++) {
        struct test_op *t = run_op(s->f, op_signal(s->f, SIGNAL_OP_RAISE, "token", 1));

        s->fine = s->fine && t->answered && t->op.err.code == E_OK;
    }
    return NULL;
}

static void what_two_servers_raise_at_once_is_counted_and_taken_once(void **state)
{
    if (!pg_is_wanted())
        skip();
    struct fixture *a = *state;
    struct fixture *b = fixture_join(a);
    struct server_thread sides[2] = {{.f = a}, {.f = b}};
    pthread_t threads[2];

    for (size_t i = 0; i < PAIRS - 5; i++)
        submit_after(i % 2 ? a : b, taken("token", 2));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, raise_all, &sides[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_true(sides[0].fine && sides[1].fine);
    assert_int_equal(in_state(a, JOB_READY), PAIRS - 5);
    assert_int_equal(level_of(a, "token"), 10);
    assert_sound(a);
    fixture_leave(b);
}

static void what_one_server_has_left_the_other_goes_on_with(void **state)
{
    if (!pg_is_wanted())
        skip();
    struct fixture *a = *state;
    struct fixture *b = fixture_join(a);
    struct granted g = running(a);

    submit_fan(a, g.id, MANY);
    finish(a, g, JOB_OUT_DONE);
    assert_true(in_state(a, JOB_HELD) > 0);
    fixture_pass(b, 16 * US_PER_S);
    batch_run(b); /* its beat tells that there is something left */
    work_off(b);
    assert_int_equal(in_state(b, JOB_READY), MANY);
    assert_sound(b);
    fixture_leave(b);
}

static const struct CMUnitTest tests[] = {
    ENGINE_TEST(a_job_is_held_until_the_one_it_waits_for_is_done),
    ENGINE_TEST(it_is_claimed_in_the_batch_that_lets_it_go),
    ENGINE_TEST(the_end_of_an_attempt_that_is_tried_again_is_no_end),
    ENGINE_TEST(who_waits_for_several_is_let_go_by_the_last),
    ENGINE_TEST(what_is_said_twice_is_waited_for_once),
    ENGINE_TEST(each_kind_of_end_lets_go_whom_it_concerns_and_cancels_the_others),
    ENGINE_TEST(what_has_ended_when_the_job_is_made_counts_at_once),
    ENGINE_TEST(a_wait_is_answered_by_an_end_that_its_own_batch_brings_about),
    ENGINE_TEST(who_waits_for_a_job_that_is_removed_is_cancelled),
    ENGINE_TEST(a_job_that_is_not_there_cannot_be_waited_for),
    ENGINE_TEST(who_waits_for_its_time_as_well_is_scheduled_when_it_is_let_go),
    ENGINE_TEST(who_is_held_by_hand_as_well_stays_held),
    ENGINE_TEST(no_hand_lets_go_a_job_that_waits),
    ENGINE_TEST(who_is_cancelled_or_removed_waits_no_more),
    ENGINE_TEST(a_cancelled_one_that_is_run_again_alone_waits_no_more),
    ENGINE_TEST(a_cancelled_one_waits_again_and_comes_back_with_its_cause),
    ENGINE_TEST(a_commit_that_fails_lets_nobody_go_twice),
    ENGINE_TEST(jobs_of_an_array_wait_for_each_other_by_their_refs),
    ENGINE_TEST(what_an_array_runs_again_is_waited_for_anew),
    ENGINE_TEST(what_an_array_names_twice_to_run_again_is_waited_for),
    ENGINE_TEST(a_ref_that_nobody_has_is_refused_and_nothing_is_made),
    ENGINE_TEST(a_ref_that_two_have_is_refused),
    ENGINE_TEST(a_circle_is_refused),
    ENGINE_TEST(a_ref_may_mean_a_job_that_is_known_by_its_key),
    ENGINE_TEST(a_ref_may_mean_the_second_of_two_with_the_same_key),
    ENGINE_TEST(what_can_never_run_takes_along_what_waits_for_it),
    ENGINE_TEST(a_long_chain_is_no_circle_but_a_long_circle_is),
    ENGINE_TEST(a_cancel_goes_down_a_long_chain_in_bounded_commits),
    ENGINE_TEST(many_that_wait_for_one_are_let_go_in_chunks_that_outlive_a_crash),
    ENGINE_TEST(a_wait_is_answered_by_an_end_that_its_batch_works_off),
    ENGINE_TEST(a_job_is_not_run_again_before_all_have_heard_of_its_end),
    ENGINE_TEST(a_job_that_is_cancelled_and_run_again_in_one_batch_has_ended),
    ENGINE_TEST(a_job_that_ends_and_is_removed_in_one_batch_has_ended),
    ENGINE_TEST(a_route_that_ends_and_is_run_again_by_its_key_in_one_batch_has_ended),
    ENGINE_TEST(one_that_waits_for_many_is_let_go_by_the_last_of_them),
    ENGINE_TEST(a_step_can_be_waited_for_by_its_number_or_its_name),
    ENGINE_TEST(a_step_that_is_passed_over_will_not_come),
    ENGINE_TEST(the_step_that_a_job_was_cancelled_at_has_ended_otherwise),
    ENGINE_TEST(steps_that_have_ended_when_the_job_is_made_count_at_once),
    ENGINE_TEST(a_step_that_is_not_there_cannot_be_waited_for),
    ENGINE_TEST(a_step_of_a_job_of_the_same_array_can_be_waited_for),
    ENGINE_TEST(many_that_wait_for_a_step_are_let_go_in_chunks),
    ENGINE_TEST(a_job_waits_until_a_signal_has_its_level),
    ENGINE_TEST(a_level_holds_for_those_who_come_later_until_it_is_cleared),
    ENGINE_TEST(a_level_that_is_too_low_is_waited_for),
    ENGINE_TEST(clearing_a_signal_that_never_was_is_fine),
    ENGINE_TEST(a_taken_level_is_used_up_in_the_order_in_which_jobs_came),
    ENGINE_TEST(of_one_array_as_many_go_as_there_are_levels_to_take),
    ENGINE_TEST(a_signal_is_taken_only_when_everything_else_holds),
    ENGINE_TEST(the_end_of_the_last_job_finds_a_signal_that_has_its_level),
    ENGINE_TEST(a_signal_that_stands_twice_is_refused),
    ENGINE_TEST(who_is_cancelled_takes_nothing),
    ENGINE_TEST(many_that_wait_for_a_signal_are_let_go_in_chunks_and_in_order),
    ENGINE_TEST(a_job_that_waits_for_very_many_signals_is_looked_at_in_linear_time),
    ENGINE_TEST(a_job_goes_on_when_the_last_of_many_signals_has_its_level),
    ENGINE_TEST(who_waits_behind_many_that_cannot_go_yet_is_found),
    ENGINE_TEST(an_emitted_job_begins_to_wait_when_it_is_released),
    ENGINE_TEST(an_emitted_job_whose_target_was_dropped_is_cancelled),
    ENGINE_TEST(an_emit_is_refused_for_what_is_wrong_with_it),
    ENGINE_TEST(jobs_that_a_finish_makes_wait_for_each_other),
    ENGINE_TEST(who_waits_for_what_a_finish_does_not_make_waits_for_the_known_job),
    ENGINE_TEST(what_two_servers_end_at_once_lets_go_each_waiter_once),
    ENGINE_TEST(what_two_servers_raise_at_once_is_counted_and_taken_once),
    ENGINE_TEST(what_one_server_has_left_the_other_goes_on_with),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
