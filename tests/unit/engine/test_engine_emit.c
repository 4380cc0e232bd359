/*
 * What a running job emits: who sees it when, and what becomes of it.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "engine_fixture.h"
#include "store/jobs/emits.h"
#include "testing.h"

/* ---- words ---- */

struct emitting {
    struct submit_item *items;
    struct test_op *t;
};

/* So many jobs for the queue; visible, cursor and keys are the test's to set. */
static struct emitting op_emit(struct fixture *f, struct granted g, int64_t seq, const char *queue,
                               size_t n)
{
    struct emitting m = {.t = op_make(f, OP_EMIT)};

    m.items = arena_array(&m.t->op.arena, n + 1, sizeof(*m.items));
    for (size_t i = 0; i < n; i++)
        m.items[i] = item_of(queue);
    m.t->op.emit = (struct emit){
        .id = g.id, .token = g.token, .seq = seq, .jobs = m.items, .n_jobs = n};
    return m;
}

static struct test_op *run_emit(struct fixture *f, struct emitting m)
{
    run_op(f, m.t);
    if (m.t->op.err.code != E_OK)
        fail_msg("%s", m.t->op.err.msg);
    return m.t;
}

static struct test_op *emit_jobs(struct fixture *f, struct granted g, int64_t seq, size_t n)
{
    return run_emit(f, op_emit(f, g, seq, "work", n));
}

static struct test_op *emit_visible(struct fixture *f, struct granted g, int64_t seq, size_t n,
                                    const char *cursor)
{
    struct emitting m = op_emit(f, g, seq, "work", n);

    m.t->op.emit.visible = true;
    if (cursor != NULL)
        m.t->op.emit.cursor = slice_of(cursor);
    return run_emit(f, m);
}

static int64_t first_id(const struct test_op *t)
{
    struct slice ids;
    struct slice first;
    int64_t id = 0;

    assert_true(jtext_find(buf_slice(&t->op.reply), "ids", &ids));
    struct jtext_iter it = jtext_items(ids);

    assert_true(jtext_next_item(&it, &first));
    assert_true(id_parse(slice_make(first.data + 1, first.size - 2), &id));
    return id;
}

/* A job of the queue "source" that runs; what it emits goes to "work". */
static struct granted begin(struct fixture *f)
{
    define_queue(f, "source", "{\"retry\":{\"max\":5,\"first\":\"0s\"}}");
    define_queue(f, "work", "{}");
    submit_one(f, "source");
    return claim_one(f, "source");
}

static void finish(struct fixture *f, struct granted g, enum job_outcome outcome)
{
    struct test_op *t = op_finish(f, g.id, g.token, outcome);

    if (outcome == JOB_OUT_LATER)
        ((struct finish_item *)(uintptr_t)t->op.exchange.finish)->delayed = true;
    run_op(f, t);
    if (!reply_has(t, "\"ok\":true"))
        fail_msg("%s", reply_of(t));
}

static int64_t staged(struct fixture *f)
{
    return kept_count(f, "work", JOB_STAGED);
}

static int64_t ready(struct fixture *f)
{
    return kept_count(f, "work", JOB_READY);
}

static int64_t emitters_left(struct fixture *f);

static void assert_settled(struct fixture *f, int64_t want_ready)
{
    assert_int_equal(staged(f), 0);
    assert_int_equal(ready(f), want_ready);
    assert_int_equal(emitters_left(f), 0);
    assert_sound(f);
}

static void count_emitter(void *ctx, const struct stored_emitter *m)
{
    (void)m;
    ++*(int64_t *)ctx;
}

static int64_t emitters_left(struct fixture *f)
{
    struct err err = ERR_INIT;
    int64_t n = 0;

    assert_int_equal(store_emitters_load(f->store, count_emitter, &n, &err), E_OK);
    return n;
}

/* ---- staged ---- */

static void what_is_emitted_cannot_be_claimed_before_the_end(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct granted got[8];

    emit_jobs(f, g, 1, 3);
    assert_int_equal(staged(f), 3);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "work", 8)), got, 8), 0);
    assert_sound(f);
    emit_jobs(f, g, 2, 2);
    finish(f, g, JOB_OUT_DONE);
    assert_settled(f, 5);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "work", 8)), got, 8), 5);
    assert_sound(f);
}

static void any_other_end_drops_it(void **state)
{
    static const enum job_outcome ends[] = {JOB_OUT_FAILED, JOB_OUT_LATER, JOB_OUT_RETURNED,
                                            JOB_OUT_CANCELLED};
    struct fixture *f = *state;
    struct granted g = begin(f);

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        emit_jobs(f, g, 1, 3);
        assert_int_equal(staged(f), 3);
        finish(f, g, ends[i]);
        assert_settled(f, 0);
        batch_run(f);
        if (ends[i] != JOB_OUT_CANCELLED)
            g = claim_one(f, "source");
    }
}

static void a_lost_worker_drops_it(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    emit_jobs(f, g, 1, 3);
    fixture_pass(f, LEASE_DEFAULT_US);
    batch_run(f);
    assert_int_equal(state_of(f, g.id), JOB_READY);
    assert_settled(f, 0);
}

static void a_cancel_drops_it_with_the_end_of_the_attempt(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    emit_jobs(f, g, 1, 3);
    run_op(f, op_act(f, ACTION_CANCEL, g.id));
    assert_int_equal(staged(f), 3); /* it may still end well */
    finish(f, g, JOB_OUT_FAILED);
    assert_int_equal(state_of(f, g.id), JOB_CANCELLED);
    assert_settled(f, 0);
}

static void what_a_worker_does_not_know_of_is_dropped_with_its_return(void **state)
{
    struct fixture *f = *state;

    begin(f);
    submit_one(f, "source");
    struct test_op *claim = op_claim(f, "source", 1);

    claim->op.exchange.worker.name = SLICE("w");
    run_op(f, claim);
    struct granted g;

    assert_int_equal(granted_of(claim, &g, 1), 1);
    emit_jobs(f, g, 1, 2);
    claim = op_claim(f, "work", 0);
    claim->op.exchange.worker.name = SLICE("w");
    claim->op.exchange.all = true;
    claim->op.exchange.parts |= EXCHANGE_TOUCHED;
    run_op(f, claim);
    assert_int_equal(state_of(f, g.id), JOB_READY);
    assert_settled(f, 0);
}

static void a_plain_finish_releases_too(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);

    emit_jobs(f, g, 1, 1);
    batch_add(f, t);
    batch_run(f);
    assert_true(reply_has(t, "\"ok\":true"));
    assert_settled(f, 1);
    assert_true(reply_has(run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE)), "\"again\":true"));
    assert_settled(f, 1);
}

static void an_emit_and_the_finish_in_one_batch_are_taken_in_that_order(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct emitting m = op_emit(f, g, 1, "work", 2);
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_DONE);

    batch_add(f, t);
    batch_add(f, m.t);
    batch_run(f);
    assert_int_equal(m.t->op.err.code, E_OK);
    assert_true(reply_has(t, "\"ok\":true"));
    assert_settled(f, 2);
}

static void a_delayed_job_is_scheduled_by_its_release(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct emitting m = op_emit(f, g, 1, "work", 2);

    m.items[0].delay_us = 10 * US_PER_S;
    m.items[1].delay_us = US_PER_S;
    run_emit(f, m);
    fixture_pass(f, 2 * US_PER_S);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(kept_count(f, "work", JOB_SCHEDULED), 1);
    assert_settled(f, 1);
    fixture_pass(f, 8 * US_PER_S);
    batch_run(f);
    assert_settled(f, 2);
}

static void a_crash_keeps_what_is_staged_and_its_owner(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    emit_jobs(f, g, 1, 3);
    fixture_crash(f);
    assert_int_equal(staged(f), 3);
    assert_sound(f);
    emit_jobs(f, g, 2, 1);
    fixture_crash(f);
    finish(f, g, JOB_OUT_DONE);
    assert_settled(f, 4);
}

/* ---- repeating ---- */

static void the_same_seq_again_is_the_same_answer_without_effect(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct test_op *first = emit_jobs(f, g, 1, 3);
    struct test_op *second = emit_visible(f, g, 2, 2, NULL);

    assert_string_equal(reply_of(emit_jobs(f, g, 1, 3)), reply_of(first));
    assert_string_equal(reply_of(emit_jobs(f, g, 2, 5)), reply_of(second));
    fixture_crash(f);
    assert_string_equal(reply_of(emit_jobs(f, g, 1, 3)), reply_of(first));
    assert_int_equal(staged(f), 3);
    assert_int_equal(ready(f), 2);
    finish(f, g, JOB_OUT_DONE);
    assert_settled(f, 5);
}

static void a_gap_in_the_numbers_is_refused(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct emitting m = op_emit(f, g, 2, "work", 1);

    run_op(f, m.t);
    assert_int_equal(m.t->op.err.code, E_INVALID);
    assert_non_null(strstr(m.t->op.err.msg, "seq: must be 1"));
    emit_jobs(f, g, 1, 1);
    m = op_emit(f, g, 3, "work", 1);
    run_op(f, m.t);
    assert_int_equal(m.t->op.err.code, E_INVALID);
    assert_int_equal(staged(f), 1);
}

static void each_lease_counts_from_one(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    emit_jobs(f, g, 1, 1);
    emit_jobs(f, g, 2, 1);
    finish(f, g, JOB_OUT_RETURNED);
    struct granted second = claim_one(f, "source");

    emit_jobs(f, second, 1, 1);
    struct emitting m = op_emit(f, g, 3, "work", 1);

    run_op(f, m.t);
    assert_int_equal(m.t->op.err.code, E_STALE_LEASE);
    finish(f, second, JOB_OUT_DONE);
    assert_settled(f, 1);
}

static void who_does_not_run_the_job_emits_nothing(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct emitting m = op_emit(f, (struct granted){.id = 4711, .token = g.token}, 1, "work", 1);

    run_op(f, m.t);
    assert_int_equal(m.t->op.err.code, E_NOT_FOUND);
    m = op_emit(f, (struct granted){.id = g.id, .token = g.token + 1}, 1, "work", 1);
    run_op(f, m.t);
    assert_int_equal(m.t->op.err.code, E_STALE_LEASE);
    finish(f, g, JOB_OUT_DONE);
    m = op_emit(f, g, 1, "work", 1);
    run_op(f, m.t);
    assert_int_equal(m.t->op.err.code, E_STALE_LEASE);
    assert_settled(f, 0);
}

/* ---- bad jobs ---- */

static void a_bad_job_refuses_the_whole_request(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct emitting m = op_emit(f, g, 1, "work", 3);

    m.items[1].queue = SLICE("wrk");
    run_op(f, m.t);
    assert_int_equal(m.t->op.err.code, E_INVALID);
    assert_int_equal(m.t->op.err.item, 2);
    assert_int_equal(staged(f), 0);
    run_op(f, op_queue_state(f, "work", QUEUE_DRAIN));
    m = op_emit(f, g, 1, "work", 1);
    run_op(f, m.t);
    assert_int_equal(m.t->op.err.code, E_QUEUE_DOWN);
    m = op_emit(f, g, 1, "source", 1);
    m.items[0].options = SLICE("{\"command\":[\"id\"]}");
    run_op(f, m.t);
    assert_int_equal(m.t->op.err.code, E_FORBIDDEN);
    run_op(f, op_queue_state(f, "work", QUEUE_UP));
    emit_jobs(f, g, 1, 1); /* nothing was taken before */
    assert_sound(f);
}

/* ---- keys ---- */

static struct test_op *emit_keyed(struct fixture *f, struct granted g, int64_t seq, const char *key,
                                  bool visible)
{
    struct emitting m = op_emit(f, g, seq, "work", 1);

    m.items[0].key = slice_of(key);
    m.items[0].content = 7;
    m.t->op.emit.visible = visible;
    return run_emit(f, m);
}

static int64_t submit_keyed(struct fixture *f, const char *key)
{
    struct submit_item item = item_of("work");
    struct test_op *t;

    item.key = slice_of(key);
    item.content = 7;
    t = run_op(f, op_submit(f, &item, 1));
    assert_int_equal(t->op.err.code, E_OK);
    return t->op.submit.first_id;
}

static void a_key_of_a_staged_job_is_judged_at_its_release(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    int64_t emitted = first_id(emit_keyed(f, g, 1, "first", false));

    emit_keyed(f, g, 2, "second", false);
    emit_keyed(f, g, 3, "second", false);
    int64_t submitted = submit_keyed(f, "first"); /* which may vanish is not told to anybody */

    assert_int_not_equal(submitted, emitted);
    assert_sound(f);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, submitted), JOB_READY);
    assert_int_equal(state_of(f, emitted), JOB_NONE);
    assert_settled(f, 2);
    assert_int_equal(submit_keyed(f, "first"), submitted);
    submit_keyed(f, "second");
    assert_settled(f, 2);
}

static void a_dropped_job_leaves_the_key_to_others(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    int64_t submitted = submit_keyed(f, "mine");

    emit_keyed(f, g, 1, "mine", false);
    emit_keyed(f, g, 2, "its", false);
    finish(f, g, JOB_OUT_FAILED);
    assert_settled(f, 1);
    assert_int_equal(submit_keyed(f, "mine"), submitted);
    submit_keyed(f, "its");
    assert_settled(f, 2);
}

static void a_visible_one_with_a_known_key_is_that_job(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    int64_t submitted = submit_keyed(f, "mine");

    assert_int_equal(first_id(emit_keyed(f, g, 1, "mine", true)), submitted);
    struct emitting m = op_emit(f, g, 2, "work", 1);

    m.items[0].key = SLICE("mine");
    m.items[0].content = 8;
    m.t->op.emit.visible = true;
    run_op(f, m.t);
    assert_int_equal(m.t->op.err.code, E_CONFLICT);
    assert_int_equal(m.t->op.err.item, 1);
    finish(f, g, JOB_OUT_DONE);
    assert_settled(f, 1);
}

/* ---- visible, cursors ---- */

/* What the claim of the job hands out. */
static struct granted claim_with_cursor(struct fixture *f, const char *want)
{
    struct test_op *t = run_op(f, op_claim(f, "source", 1));
    struct granted g;

    assert_int_equal(granted_of(t, &g, 1), 1);
    if (want == NULL ? reply_has(t, "\"cursor\"") : !reply_has(t, want))
        fail_msg("%s", reply_of(t));
    return g;
}

static void what_is_visible_is_there_at_once_and_stays(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    emit_visible(f, g, 1, 3, NULL);
    assert_int_equal(ready(f), 3);
    finish(f, g, JOB_OUT_FAILED);
    assert_settled(f, 3);
}

static void a_cursor_is_handed_to_the_next_attempt(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct query q;

    emit_visible(f, g, 1, 0, "{\"page\":1}");
    emit_visible(f, g, 2, 0, "{\"page\":2}");
    finish(f, g, JOB_OUT_RETURNED);
    g = claim_with_cursor(f, ",\"cursor\":{\"page\":2}");
    query_init(&q, QUERY_JOB);
    q.id = g.id;
    run_query(f, &q);
    assert_non_null(strstr(buf_text(&q.reply), ",\"cursor\":{\"page\":2}"));
    query_deinit(&q);
    finish(f, g, JOB_OUT_FAILED); /* which saved none itself */
    batch_run(f);
    g = claim_with_cursor(f, ",\"cursor\":{\"page\":2}");
    finish(f, g, JOB_OUT_DONE);
    run_op(f, op_act(f, ACTION_RETRY, g.id));
    claim_with_cursor(f, NULL); /* done forgets it */
    assert_settled(f, 0);
}

static void a_retry_of_a_failed_job_keeps_the_cursor(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct test_op *t = op_finish(f, g.id, g.token, JOB_OUT_FAILED);

    emit_visible(f, g, 1, 0, "[7]");
    ((struct finish_item *)(uintptr_t)t->op.exchange.finish)->final = true;
    run_op(f, t);
    assert_int_equal(state_of(f, g.id), JOB_FAILED);
    fixture_crash(f);
    run_op(f, op_act(f, ACTION_RETRY, g.id));
    g = claim_with_cursor(f, ",\"cursor\":[7]");
    finish(f, g, JOB_OUT_CANCELLED);
    run_op(f, op_act(f, ACTION_DELETE, g.id));
    assert_settled(f, 0); /* with the job it is gone */
}

static void with_a_cursor_what_is_visible_waits_for_the_next(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    emit_visible(f, g, 1, 2, "1"); /* saved together */
    assert_int_equal(ready(f), 2);
    emit_visible(f, g, 2, 3, NULL);
    assert_int_equal(ready(f), 2);
    assert_int_equal(staged(f), 3);
    assert_sound(f);
    emit_visible(f, g, 3, 1, "2");
    assert_int_equal(ready(f), 6);
    assert_int_equal(staged(f), 0);
    emit_visible(f, g, 4, 4, NULL);
    finish(f, g, JOB_OUT_FAILED); /* what came after the cursor will come again */
    assert_settled(f, 6);
    batch_run(f);
    g = claim_with_cursor(f, ",\"cursor\":2");
    emit_visible(f, g, 1, 4, NULL); /* an earlier attempt's cursor counts too */
    assert_int_equal(ready(f), 6);
    finish(f, g, JOB_OUT_DONE);
    assert_settled(f, 10);
}

static void a_cursor_releases_nothing_that_is_not_visible(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    emit_visible(f, g, 1, 0, "1");
    emit_jobs(f, g, 2, 2);
    emit_visible(f, g, 3, 3, NULL);
    emit_visible(f, g, 4, 0, "2");
    assert_int_equal(ready(f), 3);
    assert_int_equal(staged(f), 2);
    assert_sound(f);
    finish(f, g, JOB_OUT_FAILED);
    assert_settled(f, 3);
}

/* ---- large numbers ---- */

static void emit_many(struct fixture *f, struct granted g, int64_t seq, bool visible)
{
    struct emitting m = op_emit(f, g, seq, "work", OP_EMIT_MAX);

    m.t->op.emit.visible = visible;
    run_emit(f, m);
}

static void a_large_number_is_released_in_chunks_that_survive_a_crash(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    for (int64_t seq = 1; seq <= 4; seq++)
        emit_many(f, g, seq, false);
    finish(f, g, JOB_OUT_DONE);
    assert_int_equal(state_of(f, g.id), JOB_DONE);
    assert_int_equal(staged(f), 3 * OP_EMIT_MAX); /* the first chunk rides along */
    assert_sound(f);
    assert_next_us(f, 0);
    batch_run(f);
    assert_int_equal(staged(f), 2 * OP_EMIT_MAX);
    fixture_crash(f);
    assert_sound(f);
    run_op(f, op_act(f, ACTION_DELETE, g.id)); /* the owner's end has decided: it may go */
    for (int i = 0; i < 4; i++)
        batch_run(f);
    assert_settled(f, 4 * OP_EMIT_MAX);
    assert_true(engine_next_us(f->engine, f->now) > 0);
}

static void a_large_number_is_dropped_in_chunks(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    for (int64_t seq = 1; seq <= 3; seq++)
        emit_many(f, g, seq, false);
    finish(f, g, JOB_OUT_FAILED);
    assert_int_equal(staged(f), 2 * OP_EMIT_MAX);
    g = claim_one(f, "source"); /* the next attempt does not wait for that */
    emit_jobs(f, g, 1, 2);
    finish(f, g, JOB_OUT_DONE);
    fixture_crash(f);
    for (int i = 0; i < 4; i++)
        batch_run(f);
    assert_settled(f, 2);
}

static void a_cursor_after_many_releases_them_whatever_comes_then(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);

    emit_visible(f, g, 1, 0, "1");
    for (int64_t seq = 2; seq <= 6; seq++)
        emit_many(f, g, seq, true);
    emit_visible(f, g, 7, 0, "2");
    emit_visible(f, g, 8, 7, NULL);
    fixture_crash(f);
    assert_true(staged(f) > 2 * OP_EMIT_MAX);
    finish(f, g,
           JOB_OUT_FAILED); /* they are not all released yet, but the cursor was saved with them */
    for (int i = 0; i < 8; i++)
        batch_run(f);
    assert_settled(f, 5 * OP_EMIT_MAX);
}

static void one_commit_settles_a_bounded_number(void **state)
{
    enum { OWNERS = 30, EACH = 100 };
    struct fixture *f = *state;
    struct granted g[OWNERS];

    g[0] = begin(f);
    for (int i = 1; i < OWNERS; i++) {
        submit_one(f, "source");
        g[i] = claim_one(f, "source");
    }
    for (int i = 0; i < OWNERS; i++)
        emit_jobs(f, g[i], 1, EACH);
    for (int i = 0; i < OWNERS; i++)
        batch_add(f, op_finish(f, g[i].id, g[i].token, JOB_OUT_DONE));
    batch_run(f);
    assert_true(ready(f) < 2000);
    assert_sound(f);
    for (int i = 0; i < OWNERS; i++)
        batch_run(f);
    assert_settled(f, OWNERS * EACH);
}

/* ---- people ---- */

static void nobody_touches_a_staged_job(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    int64_t id = first_id(emit_jobs(f, g, 1, 1));
    char owner[ID_TEXT_SIZE];
    struct query q;

    id_format(g.id, owner);
    for (unsigned kind = 0; kind < ACTION_COUNT; kind++) {
        struct test_op *t = op_act(f, (enum job_action_kind)kind, id);

        t->op.action.queue = SLICE("work");
        run_op(f, t);
        assert_int_equal(t->op.err.code, E_CONFLICT);
        assert_non_null(strstr(t->op.err.msg, owner));
    }
    run_op(f, op_bulk(f, ACTION_DELETE, "work"));
    batch_run(f);
    batch_run(f);
    assert_int_equal(staged(f), 1);
    query_init(&q, QUERY_JOB);
    q.id = id;
    run_query(f, &q);
    assert_non_null(strstr(buf_text(&q.reply), "\"code\":\"staged\""));
    assert_non_null(strstr(buf_text(&q.reply), owner));
    query_deinit(&q);
    assert_int_equal(run_op(f, op_act(f, ACTION_DELETE, g.id))->op.err.code, E_CONFLICT);
    finish(f, g, JOB_OUT_DONE);
    assert_settled(f, 1);
}

static void who_waits_for_a_job_that_is_dropped_is_answered(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct test_op *wait = run_op(f, op_wait(f, first_id(emit_jobs(f, g, 1, 1)), 50 * US_PER_S));

    assert_false(wait->answered);
    finish(f, g, JOB_OUT_FAILED);
    assert_true(wait->answered);
}

static void a_waiting_claimer_gets_what_is_released(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct test_op *claim = op_claim(f, "work", 5);
    struct granted got[5];

    claim->op.exchange.wait_us = 30 * US_PER_S;
    run_op(f, claim);
    emit_jobs(f, g, 1, 2);
    assert_false(claim->answered);
    finish(f, g, JOB_OUT_DONE);
    assert_true(claim->answered);
    assert_int_equal(granted_of(claim, got, 5), 2);
    assert_sound(f);
}

/* ---- with the finish ---- */

static struct test_op *finish_emitting(struct fixture *f, struct granted g,
                                       enum job_outcome outcome, const struct submit_item *items,
                                       size_t n)
{
    struct test_op *t = op_finish(f, g.id, g.token, outcome);
    struct finish_item *item = (struct finish_item *)(uintptr_t)t->op.exchange.finish;

    item->emit = items;
    item->n_emit = n;
    t->op.exchange.n_emit = n;
    return run_op(f, t);
}

static void a_finish_emits_when_it_is_done(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct submit_item items[] = {item_of("work"), item_of("work"), item_of("work")};

    submit_keyed(f, "known");
    items[1].key = SLICE("known");
    items[1].content = 8;
    assert_true(reply_has(finish_emitting(f, g, JOB_OUT_FAILED, items, 3), "\"ok\":true"));
    assert_settled(f, 1);
    g = claim_one(f, "source");
    assert_true(reply_has(finish_emitting(f, g, JOB_OUT_DONE, items, 3), "\"ok\":true"));
    assert_settled(f, 3);
    assert_true(reply_has(finish_emitting(f, g, JOB_OUT_DONE, items, 3), "\"again\":true"));
    assert_settled(f, 3);
}

static struct submit_item later_item(int64_t delay_us)
{
    struct submit_item item = item_of("work");

    item.delay_us = delay_us;
    return item;
}

/* While scheduled jobs are due in the same batch. */
static void what_is_emitted_for_later_is_not_slept_over(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct submit_item due = later_item(US_PER_S);
    struct submit_item far = later_item(40 * US_PER_S);
    struct submit_item soon = later_item(3 * US_PER_S);

    run_op(f, op_submit(f, &due, 1));
    run_op(f, op_submit(f, &far, 1));
    fixture_pass(f, US_PER_S);
    finish_emitting(f, g, JOB_OUT_DONE, &soon, 1);
    assert_next_us(f, 3 * US_PER_S);
}

static void a_finish_that_emits_a_bad_job_is_refused(void **state)
{
    struct fixture *f = *state;
    struct granted g = begin(f);
    struct submit_item items[] = {item_of("work"), item_of("wrk")};
    struct test_op *t = finish_emitting(f, g, JOB_OUT_DONE, items, 2);

    if (!reply_has(t, "\"invalid\"") || !reply_has(t, "emit[1]"))
        fail_msg("%s", reply_of(t));
    assert_int_equal(state_of(f, g.id), JOB_RUNNING);
    assert_settled(f, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(what_is_emitted_cannot_be_claimed_before_the_end),
        ENGINE_TEST(any_other_end_drops_it),
        ENGINE_TEST(a_lost_worker_drops_it),
        ENGINE_TEST(a_cancel_drops_it_with_the_end_of_the_attempt),
        ENGINE_TEST(what_a_worker_does_not_know_of_is_dropped_with_its_return),
        ENGINE_TEST(a_plain_finish_releases_too),
        ENGINE_TEST(an_emit_and_the_finish_in_one_batch_are_taken_in_that_order),
        ENGINE_TEST(a_delayed_job_is_scheduled_by_its_release),
        ENGINE_TEST(a_crash_keeps_what_is_staged_and_its_owner),
        ENGINE_TEST(the_same_seq_again_is_the_same_answer_without_effect),
        ENGINE_TEST(a_gap_in_the_numbers_is_refused),
        ENGINE_TEST(each_lease_counts_from_one),
        ENGINE_TEST(who_does_not_run_the_job_emits_nothing),
        ENGINE_TEST(a_bad_job_refuses_the_whole_request),
        ENGINE_TEST(a_key_of_a_staged_job_is_judged_at_its_release),
        ENGINE_TEST(a_dropped_job_leaves_the_key_to_others),
        ENGINE_TEST(a_visible_one_with_a_known_key_is_that_job),
        ENGINE_TEST(what_is_visible_is_there_at_once_and_stays),
        ENGINE_TEST(a_cursor_is_handed_to_the_next_attempt),
        ENGINE_TEST(a_retry_of_a_failed_job_keeps_the_cursor),
        ENGINE_TEST(with_a_cursor_what_is_visible_waits_for_the_next),
        ENGINE_TEST(a_cursor_releases_nothing_that_is_not_visible),
        ENGINE_TEST(a_large_number_is_released_in_chunks_that_survive_a_crash),
        ENGINE_TEST(a_large_number_is_dropped_in_chunks),
        ENGINE_TEST(a_cursor_after_many_releases_them_whatever_comes_then),
        ENGINE_TEST(one_commit_settles_a_bounded_number),
        ENGINE_TEST(nobody_touches_a_staged_job),
        ENGINE_TEST(who_waits_for_a_job_that_is_dropped_is_answered),
        ENGINE_TEST(a_waiting_claimer_gets_what_is_released),
        ENGINE_TEST(a_finish_emits_when_it_is_done),
        ENGINE_TEST(what_is_emitted_for_later_is_not_slept_over),
        ENGINE_TEST(a_finish_that_emits_a_bad_job_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
