/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "base/os/fault.h"
#include "base/rng.h"
#include "engine_fixture.h"
#include "store/jobs/logs.h"
#include "testing.h"

static void assert_shows(struct fixture *f, enum query_kind kind, int64_t id, const char *text)
{
    struct query q;

    query_init(&q, kind);
    q.id = id;
    q.name = SLICE("default");
    q.url = "http://h:1";
    run_query(f, &q);
    if (q.err.code != E_OK || strstr(buf_text(&q.reply), text) == NULL)
        fail_msg("%s is not in %s %s", text, q.err.msg, buf_text(&q.reply));
    query_deinit(&q);
}

/* ---- why a job does not run ---- */

#define NO_COMMAND                                                                       \
    "neither the job nor queue default has a command: waits for a claim over HTTP or a " \
    "worker with its own"

static void a_job_that_waits_says_why(void **state)
{
    struct fixture *f = *state;
    struct submit_item later = item_of("default");

    later.due_at = START_AT + US_PER_HOUR;
    int64_t due = run_op(f, op_submit(f, &later, 1))->op.submit.first_id;
    int64_t held = submit_one(f, "default");
    int64_t ready = submit_one(f, "default");

    run_op(f, op_act(f, ACTION_HOLD, held));
    assert_shows(f, QUERY_JOB, due,
                 "\"reason\":{\"code\":\"due\",\"text\":\"not due yet\","
                 "\"until\":\"2026-01-01T01:00:00Z\"}");
    assert_shows(f, QUERY_JOB, held, "\"code\":\"held\"");
    assert_shows(f, QUERY_JOB, ready, NO_COMMAND);
    run_op(f, op_queue_state(f, "default", QUEUE_PAUSE));
    assert_shows(f, QUERY_JOB, ready,
                 "queue default is on pause, by request: it starts no jobs until 'waybill "
                 "queue resume default'");
    run_op(f, op_queue_state(f, "default", QUEUE_UP));
    run_op(f, op_claim(f, "default", 0));
    assert_shows(f, QUERY_JOB, ready, "waits for a free worker of default");
    fixture_pass(f, 5 * US_PER_MIN);
    assert_shows(f, QUERY_JOB, ready, NO_COMMAND);
}

static void a_job_that_no_worker_can_run_says_so(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "with", "{\"command\":[\"true\"]}");
    define_queue(f, "without", "{}");
    int64_t with = submit_one(f, "with");
    int64_t without = submit_one(f, "without");

    assert_shows(f, QUERY_JOB, with,
                 "{\"code\":\"no_worker\",\"text\":\"no live worker for with\"}");
    assert_shows(
        f, QUERY_JOB, without,
        "{\"code\":\"no_worker\",\"text\":\"queue without has no command: waits for a claim "
        "over HTTP or a worker with its own\"}");
}

static void a_job_in_hand_says_what_happens_to_it(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "again", "{\"retry\":{\"max\":3,\"first\":\"10s\",\"jitter\":0}}");
    submit_one(f, "again");
    struct granted g = claim_one(f, "again");

    assert_shows(f, QUERY_JOB, g.id, "\"worker\":\"w1\"");
    assert_shows(f, QUERY_JOB, g.id, "\"lease_until\":\"2026-01-01T00:01:00Z\"");
    assert_shows(f, QUERY_JOB, g.id, "\"url\":\"http://h:1/v1/jobs/");
    run_op(f, op_finish(f, g.id, g.token, JOB_OUT_FAILED));
    assert_shows(f, QUERY_JOB, g.id, "attempt 1 failed");
    assert_shows(f, QUERY_JOB, g.id, "\"until\":\"2026-01-01T00:00:10Z\"");
    fixture_pass(f, 10 * US_PER_S);
    g = claim_one(f, "again");
    run_op(f, op_act(f, ACTION_CANCEL, g.id));
    assert_shows(f, QUERY_JOB, g.id, "its worker has been asked to stop it");
}

static void what_is_not_there_is_said(void **state)
{
    static const enum query_kind kinds[] = {QUERY_JOB, QUERY_LOG, QUERY_BULK, QUERY_QUEUE};
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct query q;

        query_init(&q, kinds[i]);
        q.id = 4711;
        q.name = SLICE("nowhere");
        run_query(f, &q);
        assert_int_equal(q.err.code, E_NOT_FOUND);
        query_deinit(&q);
    }
}

static void queues_workers_and_bulk_actions_are_shown(void **state)
{
    struct fixture *f = *state;

    submit_one(f, "default");
    submit_one(f, "default");
    claim_one(f, "default");
    assert_shows(f, QUERY_QUEUE, 0, "\"ready\":1,\"running\":1");
    assert_shows(f, QUERY_QUEUES, 0, "\"served\":true");
    assert_shows(f, QUERY_COUNTS, 0, "\"states\":{\"staged\":0,\"held\":0");
    assert_shows(f, QUERY_WORKERS, 0, "\"name\":\"w1\",\"queues\":{\"default\":1}");
    run_op(f, op_bulk(f, ACTION_HOLD, "default"));
    assert_shows(f, QUERY_BULKS, 0, "\"state\":\"working\"");
    while (engine_next_us(f->engine, f->now) == 0)
        batch_run(f);
    assert_shows(f, QUERY_BULKS, 0, "\"state\":\"done\",\"changed\":1,\"refused\":1");
}

/* ---- logs ---- */

enum { LOG_BYTES = 60000 };

static char text[LOG_BYTES];

static void append(struct fixture *f, struct granted g, int64_t offset, size_t size)
{
    struct test_op *t = op_make(f, OP_LOG);

    t->op.log = (struct log_append){
        .id = g.id, .token = g.token, .offset = offset, .data = slice_make(text + offset, size)};
    run_op(f, t);
    assert_int_equal(t->op.err.code, E_OK);
}

/* A log of pieces of all sizes, some of them sent twice. */
static struct granted written_log(struct fixture *f)
{
    struct granted g;
    struct rng rng;

    submit_one(f, "default");
    g = claim_one(f, "default");
    rng_init(&rng, 3);
    for (size_t i = 0; i < LOG_BYTES; i++)
        text[i] = (char)rng_next(&rng);
    for (size_t at = 0; at < LOG_BYTES;) {
        size_t back = rng_below(&rng, at < 300 ? at + 1 : 300);
        size_t size = back + 1 + rng_below(&rng, rng_below(&rng, 10) == 0 ? 9000 : 200);

        if (at - back + size > LOG_BYTES)
            size = LOG_BYTES - (at - back);
        append(f, g, (int64_t)(at - back), size);
        at += size - back;
    }
    return g;
}

static void assert_range(struct fixture *f, int64_t id, int64_t offset, int64_t length,
                         int64_t want_first, int64_t want_size)
{
    struct query q;

    query_init(&q, QUERY_LOG);
    q.id = id;
    q.offset = offset;
    q.length = length;
    run_query(f, &q);
    assert_int_equal(q.err.code, E_OK);
    assert_int_equal(q.log_size, LOG_BYTES);
    assert_int_equal(q.log_first, want_first);
    assert_int_equal(q.reply.size, want_size);
    if (want_size > 0)
        assert_memory_equal(q.reply.data, text + want_first, (size_t)want_size);
    query_deinit(&q);
}

static void any_range_of_a_log_can_be_read(void **state)
{
    struct fixture *f = *state;
    int64_t id = written_log(f).id;
    struct rng rng;

    assert_range(f, id, 0, -1, 0, LOG_BYTES);
    assert_range(f, id, 0, 0, 0, 0);
    assert_range(f, id, 0, 1, 0, 1);
    assert_range(f, id, LOG_BYTES - 1, -1, LOG_BYTES - 1, 1);
    assert_range(f, id, LOG_BYTES, -1, LOG_BYTES, 0);
    assert_range(f, id, LOG_BYTES + 1, 10, LOG_BYTES + 1, 0);
    assert_range(f, id, INT64_MAX, INT64_MAX, INT64_MAX, 0);
    assert_range(f, id, -1, -1, LOG_BYTES - 1, 1);
    assert_range(f, id, -100, 10, LOG_BYTES - 100, 10);
    assert_range(f, id, -2 * LOG_BYTES, -1, 0, LOG_BYTES);
    assert_range(f, id, INT64_MIN, INT64_MAX, 0, LOG_BYTES);
    rng_init(&rng, 4);
    for (int i = 0; i < 300; i++) {
        int64_t from = (int64_t)rng_below(&rng, LOG_BYTES);
        int64_t size = (int64_t)rng_below(&rng, 20000);
        int64_t left = LOG_BYTES - from;

        assert_range(f, id, from, size, from, size < left ? size : left);
    }
}

static void count_piece(void *ctx, int64_t first, struct slice data)
{
    (void)first;
    (void)data;
    ++*(size_t *)ctx;
}

/* A log written line by line must not be as many rows: they are removed in one transaction. */
static void small_pieces_of_a_log_are_kept_together(void **state)
{
    struct fixture *f = *state;
    struct err err = ERR_INIT;
    size_t pieces = 0;
    struct granted g;

    submit_one(f, "default");
    g = claim_one(f, "default");
    for (int64_t at = 0; at < 40000; at += 40) {
        struct test_op *t = op_make(f, OP_LOG);

        t->op.log = (struct log_append){
            .id = g.id, .token = g.token, .offset = at, .data = slice_make(text + at, 40)};
        batch_add(f, t);
    }
    batch_run(f);
    assert_int_equal(store_log_read(f->store, g.id, 0, INT64_MAX, count_piece, &pieces, &err),
                     E_OK);
    assert_in_range(pieces, 2, 20);
}

/* ---- time ---- */

static void a_list_that_takes_too_long_comes_back_short(void **state)
{
    struct fixture *f = *state;
    struct store_config config = {.dir = f->dir,
                                  .mode = STORE_READ,
                                  .read_limit_us = 60 * US_PER_S};
    struct err err = ERR_INIT;
    struct store *reader = NULL;
    struct query q;

    if (pg_is_wanted())
        skip(); /* only the embedded store can be made slow at will */
    submit_many(f, "default", 3000);
    assert_int_equal(store_open(&config, &reader, &err), E_OK);
    for (unsigned slow = 1; slow <= 40; slow++) {
        char plan[32];

        query_init(&q, QUERY_JOBS);
        q.limit = 1000;
        q.filter.text = SLICE("no such");
        snprintf(plan, sizeof(plan), "read.slow:%u:fail", slow);
        assert_true(fault_arm(plan));
        query_run(reader, &q);
        assert_true(fault_arm(NULL));
        /* Queues, workers and the two halves of a first window: without them there is no page. */
        if (slow <= 4)
            assert_int_equal(q.err.code, E_TOO_SLOW);
        else
            assert_int_equal(q.err.code, E_OK);
        if (slow == 5 || slow == 6)
            assert_non_null(strstr(buf_text(&q.reply), "{\"jobs\":[],\"cursor\":\"j-"));
        if (slow == 40)
            assert_string_equal(buf_text(&q.reply), "{\"jobs\":[],\"cursor\":null}");
        query_deinit(&q);
    }
    store_close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_TEST(a_job_that_waits_says_why),
        ENGINE_TEST(a_job_that_no_worker_can_run_says_so),
        ENGINE_TEST(a_job_in_hand_says_what_happens_to_it),
        ENGINE_TEST(what_is_not_there_is_said),
        ENGINE_TEST(queues_workers_and_bulk_actions_are_shown),
        ENGINE_TEST(any_range_of_a_log_can_be_read),
        ENGINE_TEST(small_pieces_of_a_log_are_kept_together),
        ENGINE_TEST(a_list_that_takes_too_long_comes_back_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
