/*
 * Large fan-outs: decided by one commit, carried out by those that follow.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/jtext/jtext.h"
#include "core/route/routing.h"
#include "engine_fixture.h"
#include "store/jobs/jobs.h"
#include "store/links/fanout.h"
#include "store/links/links.h"
#include "testing.h"

enum { ROWS = 10, QUEUES = 25, SMALL_PARAMS = 30, LARGE_PARAMS = 6000 };

/* ---- words ---- */

static struct test_op *well(struct test_op *t)
{
    if (!t->answered || t->op.err.code != E_OK)
        fail_msg("refused: %s", t->op.err.msg);
    return t;
}

static void name_of(int i, char name[static 20])
{
    snprintf(name, 20, "q%d", i);
}

static void set_max(struct fixture *f, size_t rows, size_t bytes)
{
    f->fanout = (struct fanout){rows, bytes, 0};
    fixture_crash(f);
    batch_run(f); /* which finds that nothing is left of earlier times */
}

/* Queues that are subscribed to `news`; a commit makes no more than ROWS jobs. */
static void begin(struct fixture *f)
{
    char name[20];

    for (int i = 0; i < QUEUES; i++) {
        name_of(i, name);
        define_queue(f, name, "{\"subscribe\":[\"news\"]}");
    }
    set_max(f, ROWS, 0);
}

static const char *params_of(struct test_op *t, size_t size)
{
    char *text = arena_alloc(&t->op.arena, size + 1);

    memset(text, 'x', size);
    memcpy(text, "{\"x\":\"", 6);
    memcpy(text + size - 2, "\"}", 3);
    return text;
}

static struct test_op *op_publish(struct fixture *f, size_t size)
{
    struct test_op *t = op_make(f, OP_PUBLISH);

    t->op.publish = (struct publish){.topic = SLICE("news"),
                                     .params = slice_of(params_of(t, size))};
    return t;
}

static struct test_op *op_remove_queue(struct fixture *f, const char *name)
{
    struct test_op *t = op_make(f, OP_DEFINE);

    t->op.define = (struct define){.removes = true,
                                   .kind = DEFINITION_QUEUE,
                                   .name = slice_of(name)};
    return t;
}

static size_t ids_in(const struct test_op *t)
{
    struct slice ids;

    assert_true(jtext_find(buf_slice(&t->op.reply), "ids", &ids));
    return jtext_count_items(ids);
}

static struct test_op *op_finish_all(struct fixture *f, const struct granted *g, size_t n)
{
    struct test_op *t = op_finish(f, g[0].id, g[0].token, JOB_OUT_DONE);
    struct finish_item *items = arena_array(&t->op.arena, n, sizeof(*items));

    for (size_t i = 0; i < n; i++) {
        items[i] = t->op.exchange.finish[0];
        items[i].id = g[i].id;
        items[i].token = g[i].token;
    }
    t->op.exchange.finish = items;
    t->op.exchange.n_finish = n;
    return t;
}

/* Jobs in all queues; none has two. */
static int64_t made(struct fixture *f)
{
    int64_t n = 0;
    char name[20];

    for (int i = 0; i < QUEUES; i++) {
        name_of(i, name);
        int64_t here = kept_count(f, name, JOB_READY) + kept_count(f, name, JOB_RUNNING);

        assert_true(here <= 1);
        n += here;
    }
    return n;
}

static bool is_left(struct fixture *f)
{
    struct err err = ERR_INIT;
    bool any = false;

    assert_int_equal(store_fanout_any(f->store, &any, &err), E_OK);
    return any;
}

/* Each batch makes no more than a commit may. */
static int work_off(struct fixture *f)
{
    int batches = 0;

    for (; is_left(f); batches++) {
        int64_t before = made(f);

        batch_run(f);
        assert_in_range(made(f) - before, 1, ROWS);
        assert_true(batches < 100);
        assert_sound(f);
    }
    return batches;
}

static void assert_job(struct fixture *f, int64_t id, const char *queue, struct slice params)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct job j = job_of(f, id, &arena);

    assert_true(slice_equal(j.params, params));
    struct test_op *t = well(run_op(f, op_claim(f, queue, 1)));
    struct granted g;

    assert_int_equal(granted_of(t, &g, 1), 1);
    assert_true(g.id == id);
}

/* ---- publications ---- */

static void a_large_publish_is_told_at_once_and_made_by_the_commits_that_follow(void **state)
{
    static const size_t sizes[] = {SMALL_PARAMS, LARGE_PARAMS};
    struct fixture *f = *state;
    char name[20];

    begin(f);
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        struct test_op *t = well(run_op(f, op_publish(f, sizes[k])));

        assert_int_equal(t->op.status, 202);
        assert_int_equal(ids_in(t), QUEUES);
        assert_int_equal(made(f), ROWS);
        assert_sound(f);
        assert_next_us(f, 0);
        assert_int_equal(work_off(f), 2);
        assert_int_equal(made(f), QUEUES);
        for (int i = 0; i < QUEUES; i++) {
            name_of(i, name);
            assert_job(f, id_at(t, (size_t)i), name, t->op.publish.params);
        }
        for (int i = 0; i < QUEUES; i++)
            run_op(f, op_act(f, ACTION_CANCEL, id_at(t, (size_t)i)));
        f->now.wall_at += US_PER_HOUR; /* their leases end */
        f->now.steady_at += US_PER_HOUR;
        batch_run(f);
        assert_int_equal(made(f), 0);
    }
}

static void a_publish_that_is_cut_off_by_a_crash_reaches_each_once(void **state)
{
    struct fixture *f = *state;
    char name[20];

    begin(f);
    struct test_op *t = well(run_op(f, op_publish(f, LARGE_PARAMS)));

    fixture_crash(f);
    assert_int_equal(made(f), ROWS);
    batch_run(f);
    assert_int_equal(made(f), 2 * ROWS);
    fixture_crash(f);
    assert_int_equal(work_off(f), 1);
    fixture_crash(f);
    assert_int_equal(made(f), QUEUES);
    for (int i = 0; i < QUEUES; i++) {
        name_of(i, name);
        assert_job(f, id_at(t, (size_t)i), name, t->op.publish.params);
    }
}

/* What the jobs carry stays for those that are still to be made, and goes with the last. */
static void what_a_publication_brings_stays_until_its_last_job_is_gone(void **state)
{
    struct fixture *f = *state;

    begin(f);
    struct test_op *t = well(run_op(f, op_publish(f, SMALL_PARAMS)));

    for (size_t i = 0; i < ROWS; i++)
        well(run_op(f, op_act(f, ACTION_DELETE, id_at(t, i))));
    while (is_left(f))
        batch_run(f);
    assert_sound(f);
    for (size_t i = ROWS; i < QUEUES; i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct err err = ERR_INIT;
        bool found = false;
        struct job j;

        assert_int_equal(store_job_load(f->store, id_at(t, i), LOAD_ALL, &arena, &j, &found, &err),
                         E_OK);
        assert_true(found && j.params.size == SMALL_PARAMS);
        well(run_op(f, op_act(f, ACTION_DELETE, id_at(t, i))));
        assert_sound(f); /* which finds params that are of no job */
    }
}

/* ---- what they cost: each statement may be a round trip to a database elsewhere ---- */

static int64_t statements(const struct fixture *f)
{
    return store_traffic(f->store).statements;
}

static void keys_of_a_publication_are_looked_up_and_taken_as_a_set(void **state)
{
    struct fixture *f = *state;
    int64_t cost[3];

    begin(f);
    set_max(f, 1000, 0);
    for (size_t i = 0; i < ARRAY_LEN(cost);
         i++) { /* without a key, with a new one, with a known one */
        struct test_op *t = op_publish(f, SMALL_PARAMS);

        t->op.publish.key = i == 0 ? slice_make(NULL, 0) : SLICE("k");
        int64_t before = statements(f);

        well(run_op(f, t));
        cost[i] = statements(f) - before;
    }
    assert_true(cost[1] <= cost[0] + 3);
    assert_true(cost[2] <= cost[0] + 3);
    assert_sound(f);
}

static void keys_of_what_is_worked_off_later_are_taken_as_a_set(void **state)
{
    struct fixture *f = *state;
    int64_t cost[2];

    begin(f);
    for (size_t i = 0; i < ARRAY_LEN(cost); i++) {
        struct test_op *t = op_publish(f, SMALL_PARAMS);

        t->op.publish.key = i == 0 ? slice_make(NULL, 0) : SLICE("k");
        well(run_op(f, t));
        int64_t before = statements(f);

        batch_run(f);
        cost[i] = statements(f) - before;
        while (is_left(f))
            batch_run(f);
    }
    assert_true(cost[1] <= cost[0] + 2);
    assert_sound(f);
}

static void keys_of_a_batch_are_looked_up_and_taken_as_a_set(void **state)
{
    struct fixture *f = *state;
    int64_t cost[3];
    static char keys[QUEUES][8];

    submit_one(f, "default");
    for (size_t i = 0; i < ARRAY_LEN(cost);
         i++) { /* without keys, with new ones, half of them known */
        struct test_op *t[QUEUES];

        for (int k = 0; k < QUEUES; k++) {
            struct submit_item item = item_of("default");

            snprintf(keys[k], sizeof(keys[k]), "k%d", i == 2 && k % 2 == 0 ? k + 100 : k);
            item.key = i == 0 ? slice_make(NULL, 0) : slice_of(keys[k]);
            t[k] = op_submit(f, &item, 1);
            batch_add(f, t[k]);
        }
        int64_t before = statements(f);

        batch_run(f);
        cost[i] = statements(f) - before;
        for (int k = 0; k < QUEUES; k++)
            assert_int_equal(well(t[k])->op.status, i == 2 && k % 2 == 1 ? 200 : 201);
    }
    assert_true(cost[1] <= cost[0] + 2);
    assert_true(cost[2] <= cost[0] + 2);
    assert_sound(f);
}

/* A job in `work` leads to n others, which can be run or not. */
static int64_t cost_of_end(struct fixture *f, const char *queue, size_t n)
{
    CLEANUP(buf) struct buf def = BUF_INIT(10000);

    buf_add_str(&def, "{\"on_success\":[");
    for (size_t i = 0; i < n; i++)
        buf_addf(&def, "%s{\"queue\":\"%s\"}", i == 0 ? "" : ",", queue);
    buf_add_str(&def, "]}");
    define_queue(f, "work", buf_text(&def));
    submit_one(f, "work");
    struct granted g = claim_one(f, "work");
    int64_t before = statements(f);

    well(run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE)));
    return statements(f) - before;
}

static void jobs_that_cannot_be_run_are_written_as_a_set(void **state)
{
    struct fixture *f = *state;

    define_queue(f, "fit", "{}");
    define_queue(f, "unfit", "{\"command\":[\"/bin/echo\",\"{missing}\"]}");
    int64_t fit = cost_of_end(f, "fit", 20);
    int64_t unfit = cost_of_end(f, "unfit", 20);

    assert_int_equal(kept_count(f, "fit", JOB_READY), 20);
    assert_int_equal(kept_count(f, "unfit", JOB_FAILED), 20);
    assert_true(unfit <= fit + 4); /* a count of another state, an ending */
    assert_sound(f);
}

/* Over a slow link a commit asks the database a few times only; what is left is followed by the
 * next ones. */
static void a_commit_makes_few_round_trips_on_a_slow_link(void **state)
{
    enum { ENDS = 20, ROUNDS = 8, SPARE = 20 };
    struct fixture *f = *state;
    struct granted g[ENDS];
    int64_t seen = 0;

    define_queue(f, "next", "{}");
    define_queue(f, "work", "{\"on_success\":[{\"queue\":\"next\"}]}");
    f->fanout = (struct fanout){.rounds = ROUNDS};
    fixture_crash(f);
    submit_many(f, "work", ENDS);
    batch_run(f);
    assert_int_equal(granted_of(run_op(f, op_claim(f, "work", ENDS)), g, ENDS), ENDS);
    int64_t before = store_traffic(f->store).rounds;

    well(run_op(f, op_finish_all(f, g, ENDS)));
    for (int batches = 0; is_left(f); batches++) {
        int64_t now = kept_count(f, "next", JOB_READY);

        assert_true(now > seen && now < ENDS && batches < ENDS);
        /* what a batch costs without a fan-out, finishes one by one included */
        assert_true(store_traffic(f->store).rounds - before < ROUNDS + SPARE + 4 * ENDS);
        seen = now;
        before = store_traffic(f->store).rounds;
        batch_run(f);
    }
    assert_true(seen > 0);
    assert_int_equal(kept_count(f, "next", JOB_READY), ENDS);
    assert_sound(f);
}

/* Nobody waits for what is worked off: while commits are slow, each does less of it. */
static void less_is_worked_off_by_a_commit_while_commits_are_slow(void **state)
{
    struct fixture *f = *state;
    int64_t first, second;

    begin(f);
    well(run_op(f, op_publish(f, SMALL_PARAMS)));
    assert_int_equal(made(f), ROWS);
    f->tick_us = 300 * US_PER_MS;
    batch_run(f);
    first = made(f) - ROWS;
    assert_int_equal(first, ROWS); /* it was not known yet */
    batch_run(f);
    second = made(f) - ROWS - first;
    assert_in_range(second, 1, ROWS / 2 - 1);
    f->tick_us = 0;
    while (is_left(f))
        batch_run(f);
    assert_int_equal(made(f), QUEUES);
    assert_sound(f);
}

/* Destinations with params of their own write a copy each: it counts. */
static void copies_of_large_params_are_bounded_by_the_bytes_of_a_commit(void **state)
{
    enum { DESTS = 12 };
    struct fixture *f = *state;
    CLEANUP(buf) struct buf def = BUF_INIT(10000);
    struct submit_item item = item_of("work");

    define_queue(f, "next", "{}");
    buf_add_str(&def, "{\"on_success\":[");
    for (int i = 0; i < DESTS; i++)
        buf_addf(&def, "%s{\"queue\":\"next\",\"params\":{\"i\":%d}}", i == 0 ? "" : ",", i);
    buf_add_str(&def, "]}");
    define_queue(f, "work", buf_text(&def));
    set_max(f, 1000, 3 * LARGE_PARAMS);
    struct test_op *t = op_submit(f, &item, 1);

    ((struct submit_item *)(uintptr_t)t->op.submit.items)->params = slice_of(
        params_of(t, LARGE_PARAMS));
    well(run_op(f, t));
    struct granted g = claim_one(f, "work");

    well(run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE)));
    assert_in_range(kept_count(f, "next", JOB_READY), 1, 3);
    for (int64_t n = kept_count(f, "next", JOB_READY); is_left(f);
         n = kept_count(f, "next", JOB_READY)) {
        batch_run(f);
        assert_in_range(kept_count(f, "next", JOB_READY) - n, is_left(f) ? 1 : 0, 3);
    }
    assert_int_equal(kept_count(f, "next", JOB_READY), DESTS);
    assert_sound(f);
}

static void a_publish_is_known_by_its_key_while_it_is_worked_off(void **state)
{
    struct fixture *f = *state;
    struct test_op *t[4];

    begin(f);
    for (size_t i = 0; i < ARRAY_LEN(t); i++) {
        t[i] = op_publish(f, SMALL_PARAMS);
        t[i]->op.publish.key = SLICE("k");
        t[i]->op.publish.content = i == 2 ? 8 : 7;
    }
    well(run_op(f, t[0]));
    assert_true(is_left(f));
    well(run_op(f, t[1]));
    assert_int_equal(t[1]->op.status, 200);
    assert_string_equal(reply_of(t[1]), reply_of(t[0]));
    assert_int_equal(run_op(f, t[2])->op.err.code, E_CONFLICT);
    while (is_left(f))
        batch_run(f);
    well(run_op(f, t[3]));
    assert_int_equal(t[3]->op.status, 200);
    assert_string_equal(reply_of(t[3]), reply_of(t[0]));
    assert_int_equal(made(f), QUEUES);
    assert_sound(f);
}

/* Its job was promised: it is made without the key that somebody has taken meanwhile. */
static void a_key_that_was_taken_meanwhile_keeps_no_job_from_being_made(void **state)
{
    struct fixture *f = *state;
    struct submit_item item = item_of("default");
    struct test_op *t = NULL;

    begin(f);
    t = op_publish(f, SMALL_PARAMS);
    t->op.publish.key = SLICE("k");
    item.key = SLICE("k/q24");
    well(run_op(f, t));
    well(run_op(f, op_submit(f, &item, 1)));
    while (is_left(f))
        batch_run(f);
    assert_int_equal(made(f), QUEUES);
    assert_sound(f);
}

static void a_queue_stays_as_long_as_a_publication_is_to_reach_it(void **state)
{
    struct fixture *f = *state;

    begin(f);
    struct test_op *t = well(run_op(f, op_publish(f, SMALL_PARAMS)));

    assert_int_equal(kept_count(f, "q24", JOB_READY), 0);
    assert_int_equal(run_op(f, op_remove_queue(f, "q24"))->op.err.code, E_CONFLICT);
    while (is_left(f))
        batch_run(f);
    assert_int_equal(made(f), QUEUES);
    well(run_op(f, op_act(f, ACTION_DELETE, id_at(t, 24))));
    well(run_op(f, op_remove_queue(f, "q24")));
    assert_sound(f);
}

/* Labels are stored with each job: they count for each. */
static void what_each_job_of_a_publication_carries_counts_for_each(void **state)
{
    struct fixture *f = *state;
    struct test_op *t = NULL;

    begin(f);
    set_max(f, 1000, 4 * LARGE_PARAMS + 1000);
    t = op_publish(f, SMALL_PARAMS);
    t->op.publish.labels = slice_of(params_of(t, LARGE_PARAMS));
    well(run_op(f, t));
    assert_int_equal(made(f), 4);
    for (int64_t n = made(f); is_left(f); n = made(f)) {
        batch_run(f);
        assert_in_range(made(f) - n, 1, 5); /* the last one may pass the bytes */
    }
    assert_int_equal(made(f), QUEUES);
    assert_sound(f);
}

/* Several large ones share what a commit may make; small ones are not kept waiting by them. */
static void a_small_publish_is_not_kept_waiting_by_a_large_one(void **state)
{
    struct fixture *f = *state;
    struct test_op *small = op_make(f, OP_PUBLISH);

    begin(f);
    define_queue(f, "alone", "{}");
    set_max(f, 64, 10); /* a publication to one queue is small */
    struct test_op *first = op_publish(f, SMALL_PARAMS);

    small->op.publish = (struct publish){.topic = SLICE("alone"), .params = SLICE("{}")};
    batch_add(f, first);
    batch_add(f, op_publish(f, SMALL_PARAMS));
    batch_add(f, small);
    batch_run(f);
    assert_int_equal(ids_in(well(first)), QUEUES);
    assert_int_equal(ids_in(well(small)), 1);
    assert_int_equal(kept_count(f, "alone", JOB_READY), 1);
    assert_int_equal(kept_count(f, "q1", JOB_READY), 1); /* the other large one waits */
    assert_true(is_left(f));
    while (is_left(f))
        batch_run(f);
    assert_int_equal(kept_count(f, "q1", JOB_READY), 2);
    assert_sound(f);
}

enum { MANY_QUEUES = 1000, MANY_PUBLISHES = 100 };

static void subscribe_many(struct fixture *f)
{
    struct test_op *t = op_make(f, OP_DEFINE);
    struct definition_put *puts = arena_array(&t->op.arena, MANY_QUEUES, sizeof(*puts));

    for (int i = 0; i < MANY_QUEUES; i++) {
        char name[20];

        name_of(i, name);
        puts[i] = (struct definition_put){.name = slice_of(
                                              arena_strdup(&t->op.arena, slice_of(name))),
                                          .definition = SLICE("{\"subscribe\":[\"news\"]}")};
    }
    t->op.define.puts[DEFINITION_QUEUE] = (struct definition_puts){puts, MANY_QUEUES};
    well(run_op(f, t));
}

static long peak_kib(void)
{
    struct rusage usage;

    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* Little is kept of each target, and a transaction names 10,000 of them, not those of all who
 * publish at the time. */
#if defined(__SANITIZE_ADDRESS__) || \
    defined(__SANITIZE_THREAD__) /* which keep more than they are asked for */
static const long modest_kib = 1 << 20;
#else
static const long modest_kib = 40 << 10;
#endif

static void publishes_to_many_queues_take_little_memory_together(void **state)
{
    struct fixture *f = *state;

    subscribe_many(f);
    long before = peak_kib();
    int64_t commits = engine_get_stats(f->engine)->commits;

    for (int i = 0; i < MANY_PUBLISHES; i++)
        batch_add(f, op_publish(f, SMALL_PARAMS));
    batch_run(f);
    assert_true(engine_get_stats(f->engine)->commits - commits >=
                MANY_QUEUES * MANY_PUBLISHES / 10000);
    assert_in_range(peak_kib() - before, 0, modest_kib);
    assert_sound(f);
}

/* ---- emits ---- */

enum { EMITTERS = 11 }; /* with a job for each subscriber they emit more than a request may */

static void begin_emitters(struct fixture *f, struct granted *ret)
{
    subscribe_many(f);
    define_queue(f, "work", "{}");
    for (int i = 0; i < EMITTERS; i++)
        submit_one(f, "work");
    assert_int_equal(granted_of(well(run_op(f, op_claim(f, "work", EMITTERS))), ret, EMITTERS),
                     EMITTERS);
}

static const struct submit_item *items_to_news(struct test_op *t, size_t n, size_t labels)
{
    struct submit_item *items = arena_array(&t->op.arena, n, sizeof(*items));

    for (size_t i = 0; i < n; i++) {
        items[i] = item_of("");
        items[i].topic = SLICE("news");
        if (labels > 0)
            items[i].labels = slice_of(params_of(t, labels));
    }
    return items;
}

static struct test_op *op_emit_news(struct fixture *f, struct granted g, size_t n, size_t labels)
{
    struct test_op *t = op_make(f, OP_EMIT);

    t->op.emit = (struct emit){
        .id = g.id, .token = g.token, .seq = 1, .jobs = items_to_news(t, n, labels), .n_jobs = n};
    return t;
}

static struct test_op *op_finish_with_news(struct fixture *f, const struct granted *g, size_t n)
{
    struct test_op *t = op_finish_all(f, g, n);

    for (size_t i = 0; i < n; i++) {
        struct finish_item *item = (struct finish_item *)(uintptr_t)&t->op.exchange.finish[i];

        item->emit = items_to_news(t, 1, 0);
        item->n_emit = 1;
    }
    t->op.exchange.n_emit = n;
    return t;
}

static void an_emit_counts_with_a_job_for_each_that_is_subscribed(void **state)
{
    struct fixture *f = *state;
    struct granted g[EMITTERS];
    struct test_op *t;

    begin_emitters(f, g);
    t = run_op(f, op_emit_news(f, g[0], EMITTERS, 0));
    assert_int_equal(t->op.err.code, E_TOO_LARGE);
    assert_non_null(strstr(t->op.err.msg, "11000 jobs would be emitted, at most 10000"));
    t = run_op(f, op_emit_news(f, g[0], 1, 40000));
    assert_int_equal(t->op.err.code, E_TOO_LARGE);
    assert_non_null(strstr(t->op.err.msg, "at most 32 MiB"));
    int64_t commits = engine_get_stats(f->engine)->commits;

    for (int i = 0; i < EMITTERS; i++)
        batch_add(f, op_emit_news(f, g[i], 1, 0));
    batch_run(f);
    assert_int_equal(engine_get_stats(f->engine)->commits - commits, 2);
    assert_int_equal(kept_count(f, "q0", JOB_STAGED), EMITTERS);
    assert_sound(f);
}

/* Refused as a whole, so that who finishes tells one by one. */
static void finishes_that_emit_too_much_together_are_taken_one_by_one(void **state)
{
    struct fixture *f = *state;
    struct granted g[EMITTERS];
    struct test_op *t;

    begin_emitters(f, g);
    t = run_op(f, op_finish_with_news(f, g, EMITTERS));
    assert_int_equal(t->op.err.code, E_TOO_LARGE);
    assert_non_null(strstr(t->op.err.msg, "at most 10000"));
    assert_int_equal(kept_count(f, "work", JOB_RUNNING), EMITTERS);
    assert_int_equal(kept_count(f, "q0", JOB_READY), 0);
    well(run_op(f, op_finish_with_news(f, g, EMITTERS - 1)));
    well(run_op(f, op_finish_with_news(f, &g[EMITTERS - 1], 1)));
    assert_int_equal(kept_count(f, "work", JOB_DONE), EMITTERS);
    assert_int_equal(kept_count(f, "q0", JOB_READY), EMITTERS);
    assert_sound(f);
}

static void what_one_server_has_left_is_gone_on_with_by_another(void **state)
{
    struct fixture *f = *state;

    if (!pg_is_wanted())
        skip();
    begin(f);
    struct fixture *other = fixture_join(f);

    batch_run(other);
    well(run_op(other, op_publish(other, LARGE_PARAMS)));
    assert_int_equal(made(f), ROWS);
    fixture_leave(other);
    for (int i = 0; i < 100 && is_left(f); i++) {
        fixture_pass(f, US_PER_S);
        batch_run(f);
    }
    assert_int_equal(made(f), QUEUES);
    assert_sound(f);
}

/* ---- ends ---- */

enum { ENDS = 8, END_BYTES = 5000 };

/* Jobs of 5,000 bytes that have been claimed from `work`; a commit makes about two of that size. */
static void begin_ends(struct fixture *f, const char *definition, struct granted *ret)
{
    define_queue(f, "next", "{}");
    define_queue(f, "work", definition);
    set_max(f, 1000, 2 * END_BYTES - 1);
    for (int i = 0; i < ENDS; i++) {
        struct submit_item item = item_of("work");
        struct test_op *t = op_submit(f, &item, 1);

        ((struct submit_item *)(uintptr_t)t->op.submit.items)->params = slice_of(
            params_of(t, END_BYTES));
        well(run_op(f, t));
    }
    assert_int_equal(granted_of(well(run_op(f, op_claim(f, "work", ENDS))), ret, ENDS), ENDS);
}

static int64_t followed(struct fixture *f)
{
    return kept_count(f, "next", JOB_READY);
}

static void ends_that_lead_to_much_are_followed_by_several_commits(void **state)
{
    struct fixture *f = *state;
    struct granted g[ENDS];

    begin_ends(f, "{\"on_success\":[{\"queue\":\"next\"}]}", g);
    well(run_op(f, op_finish_all(f, g, ENDS)));
    assert_int_equal(followed(f), 2);
    assert_sound(f);
    assert_next_us(f, 0);
    for (int64_t n = 2; n < ENDS; n = followed(f)) {
        fixture_crash(f);
        batch_run(f);
        assert_in_range(followed(f) - n, 1, 2);
        assert_sound(f);
    }
    assert_false(is_left(f));
    assert_int_equal(followed(f), ENDS);
    for (int i = 0; i < ENDS; i++) { /* each has its own cause, in their order */
        char cause[60], id[ID_TEXT_SIZE];

        snprintf(cause, sizeof(cause), "\"cause\":{\"id\":\"%s\"", id_format(g[i].id, id));
        assert_true(reply_has(well(run_op(f, op_claim(f, "next", 1))), cause));
    }
}

/* Their params are in memory until the commit, although nothing is made of them. */
static void ends_that_lead_to_a_signal_count_what_they_carry(void **state)
{
    struct fixture *f = *state;
    struct granted g[ENDS];

    begin_ends(f, "{\"on_success\":[{\"signal\":\"green\"}]}", g);
    well(run_op(f, op_finish_all(f, g, ENDS)));
    assert_true(is_left(f));
    for (int i = 0; i < ENDS && is_left(f); i++)
        batch_run(f);
    assert_false(is_left(f));
    assert_sound(f);
}

static int64_t failed_in_all(struct fixture *f)
{
    int64_t n = 0;
    char name[20];

    for (int i = 0; i < QUEUES; i++) {
        name_of(i, name);
        n += kept_count(f, name, JOB_FAILED);
    }
    return n;
}

/* They fail as they are made, and their ends lead nowhere. */
static void what_a_fan_out_ends_in_turn_does_not_widen_its_commit(void **state)
{
    struct fixture *f = *state;
    struct granted g[ENDS];
    char name[20];

    for (int i = 0; i < QUEUES; i++) {
        name_of(i, name);
        define_queue(f, name,
                     "{\"subscribe\":[\"news\"],\"command\":[\"x\",\"{missing}\"],"
                     "\"on_failure\":[{\"topic\":\"nobody\"}]}");
    }
    begin_ends(f, "{\"on_success\":[{\"topic\":\"news\"}]}", g);
    set_max(f, ROWS, 0);
    well(run_op(f, op_finish_all(f, g, ENDS)));
    for (int64_t before = 0, now = failed_in_all(f); is_left(f);) {
        batch_run(f);
        before = now;
        now = failed_in_all(f);
        assert_in_range(now - before, 0, 2 * ROWS);
    }
    assert_int_equal(failed_in_all(f), QUEUES * ENDS);
    assert_sound(f);
}

/* Where an end leads was decided when it came: by the queue as it was, with the params that it
 * had. */
static void an_end_that_is_put_off_leads_where_it_led_when_it_came(void **state)
{
    struct fixture *f = *state;
    struct granted g[ENDS];
    struct test_op *t;

    begin_ends(f, "{\"on_success\":[{\"queue\":\"next\"}]}", g);
    well(run_op(f, op_finish_all(f, g, ENDS)));
    assert_true(is_left(f));
    t = run_op(f, op_act(f, ACTION_RETRY, g[ENDS - 1].id));
    assert_int_equal(t->op.err.code, E_CONFLICT);
    assert_non_null(strstr(t->op.err.msg, "try again in a moment"));
    t = run_op(f, op_act(f, ACTION_DELETE, g[ENDS - 1].id));
    assert_int_equal(t->op.err.code, E_CONFLICT);
    define_queue(f, "work", "{}");
    while (is_left(f))
        batch_run(f);
    assert_int_equal(followed(f), ENDS);
    well(run_op(f, op_act(f, ACTION_DELETE, g[ENDS - 1].id)));
    assert_sound(f);
}

/* One end with several destinations, each with params of its own, is followed in parts. */
static void the_destinations_of_one_end_are_followed_in_parts(void **state)
{
    struct fixture *f = *state;
    struct granted g[ENDS];

    begin_ends(
        f,
        "{\"on_success\":[{\"queue\":\"next\",\"params\":{\"n\":1}},"
        "{\"queue\":\"next\",\"params\":{\"n\":2}},{\"signal\":\"s\",\"count\":1},"
        "{\"queue\":\"next\",\"params\":{\"n\":3}},{\"queue\":\"next\",\"params\":{\"n\":4}},"
        "{\"queue\":\"next\",\"params\":{\"n\":5}},{\"queue\":\"next\"}]}",
        g);
    well(run_op(f, op_finish_all(f, g, 1)));
    assert_int_equal(followed(f), 2);
    for (int i = 0; i < 10 && is_left(f); i++) {
        fixture_crash(f);
        batch_run(f);
        assert_sound(f);
    }
    assert_int_equal(followed(f), 6);
    for (int n = 1; n <= 5; n++) {
        char param[20];

        snprintf(param, sizeof(param), "\"n\":%d", n);
        assert_true(reply_has(well(run_op(f, op_claim(f, "next", 1))), param));
    }
    assert_false(reply_has(well(run_op(f, op_claim(f, "next", 1))), "\"n\":"));
}

static void bulk_actions_and_retention_wait_for_ends_that_are_put_off(void **state)
{
    struct fixture *f = *state;
    struct granted g[ENDS];

    begin_ends(f, "{\"keep\":{\"done\":\"1s\"},\"on_success\":[{\"queue\":\"next\"}]}", g);
    well(run_op(f, op_finish_all(f, g, ENDS)));
    fixture_pass(f, US_PER_MIN);
    well(run_op(f, op_bulk(f, ACTION_DELETE, "work")));
    for (int i = 0; i < 20; i++) {
        fixture_pass(f, 20 * US_PER_MS);
        batch_run(f);
    }
    assert_false(is_left(f));
    assert_int_equal(followed(f), ENDS);
    for (int i = 0; i < ENDS; i++)
        assert_int_equal(state_of(f, g[i].id), JOB_NONE);
    assert_sound(f);
}

/* A topic behind an end: the publication is put off in turn. */
static void an_end_may_lead_to_a_large_publication(void **state)
{
    struct fixture *f = *state;

    begin(f);
    define_queue(f, "work", "{\"on_success\":[{\"topic\":\"news\",\"params\":{\"x\":1}}]}");
    submit_one(f, "work");
    struct granted g = claim_one(f, "work");

    well(run_op(f, op_finish(f, g.id, g.token, JOB_OUT_DONE)));
    assert_in_range(made(f), 1, ROWS + 1); /* an end brings a row more */
    fixture_crash(f);
    assert_int_equal(work_off(f), 2);
    assert_int_equal(made(f), QUEUES);
    assert_true(reply_has(well(run_op(f, op_claim(f, "q24", 1))), "\"x\":1"));
    assert_sound(f);
}

/* ---- joins ---- */

enum { FIRED = 6 };

static void put_join(struct fixture *f, const char *definition)
{
    struct test_op *t = op_make(f, OP_DEFINE);
    struct definition_put put = {.name = SLICE("meet"), .definition = slice_of(definition)};

    t->op.define.puts[DEFINITION_JOIN] = (struct definition_puts){&put, 1};
    well(run_op(f, t));
}

/* A join that leads to `next` six times, each time with params of its own. */
static void define_join(struct fixture *f)
{
    define_queue(f, "next", "{}");
    put_join(f, "{\"count\":1,\"then\":[{\"queue\":\"next\",\"params\":{\"n\":0}},"
                "{\"queue\":\"next\",\"params\":{\"n\":1}},"
                "{\"queue\":\"next\",\"params\":{\"n\":2}},"
                "{\"queue\":\"next\",\"params\":{\"n\":3}},"
                "{\"queue\":\"next\",\"params\":{\"n\":4}},"
                "{\"queue\":\"next\",\"params\":{\"n\":5}}]}");
}

static struct test_op *op_arrive(struct fixture *f)
{
    struct test_op *t = op_make(f, OP_JOIN);

    t->op.join = (struct join_op){.kind = JOIN_OP_ARRIVE,
                                  .name = SLICE("meet"),
                                  .params = slice_of(params_of(t, END_BYTES))};
    return t;
}

/* Each destination once, in their order, with its own params and those of the arrival. */
static void assert_fired(struct fixture *f)
{
    assert_false(is_left(f));
    assert_int_equal(followed(f), FIRED);
    for (int n = 0; n < FIRED; n++) {
        char param[20];

        snprintf(param, sizeof(param), "\"n\":%d", n);
        struct test_op *t = well(run_op(f, op_claim(f, "next", 1)));

        assert_true(reply_has(t, param));
        assert_true(reply_has(t, "\"join\":{\"name\":\"meet\""));
        assert_true(t->op.reply.size > END_BYTES);
    }
    assert_sound(f);
}

static void a_join_that_leads_to_much_is_followed_by_several_commits(void **state)
{
    struct fixture *f = *state;

    define_join(f);
    set_max(f, 1000, 2 * END_BYTES - 1);
    assert_true(reply_has(well(run_op(f, op_arrive(f))), "\"fired\":true"));
    assert_int_equal(followed(f), 2);
    assert_sound(f);
    put_join(f, "{\"count\":1,\"then\":[{\"signal\":\"s\"}]}"); /* it was decided before */
    for (int64_t n = followed(f); is_left(f); n = followed(f)) {
        fixture_crash(f);
        batch_run(f);
        assert_in_range(followed(f) - n, 1, 2);
        assert_sound(f);
    }
    assert_fired(f);
}

/* What they are given is kept for them: the job that brought it may go. */
static void an_end_may_lead_to_a_join_that_leads_to_much(void **state)
{
    struct fixture *f = *state;
    struct granted g[ENDS];

    define_join(f);
    begin_ends(f, "{\"on_success\":[{\"join\":\"meet\"}]}", g);
    well(run_op(f, op_finish_all(f, g, 1)));
    assert_int_equal(followed(f), 2);
    well(run_op(f, op_act(f, ACTION_DELETE, g[0].id)));
    for (int i = 0; i < 10 && is_left(f); i++)
        batch_run(f);
    assert_fired(f);
}

static void what_a_join_leads_to_is_gone_on_with_by_another_server(void **state)
{
    struct fixture *f = *state;

    if (!pg_is_wanted())
        skip();
    define_join(f);
    set_max(f, 1000, 2 * END_BYTES - 1);
    struct fixture *other = fixture_join(f);

    batch_run(other);
    well(run_op(other, op_arrive(other)));
    assert_true(is_left(f));
    fixture_leave(other);
    for (int i = 0; i < 100 && is_left(f); i++) {
        fixture_pass(f, US_PER_S);
        batch_run(f);
    }
    assert_fired(f);
}

/* ---- steps ---- */

static int64_t submit_route(struct fixture *f)
{
    struct submit_item item = item_of("work");
    struct test_op *t = op_submit(f, &item, 1);
    struct submit_item *made_of = (struct submit_item *)(uintptr_t)t->op.submit.items;
    const struct route_step steps[] = {{.number = 1,
                                        .name = SLICE("1"),
                                        .queue = SLICE("work"),
                                        .on_success = SLICE("[{\"queue\":\"next\"}]")},
                                       {.number = 2, .name = SLICE("2"), .queue = SLICE("work")}};
    struct routing routing = {.steps = (struct route_step *)(uintptr_t)steps, .n_steps = 2};

    made_of->params = slice_of(params_of(t, END_BYTES));
    made_of->routing = &routing;
    made_of->step = 1;
    return well(run_op(f, t))->op.submit.first_id;
}

/* Its next step might change what the end of the last one hands on. */
static void a_job_whose_step_is_still_to_be_followed_waits_with_the_next(void **state)
{
    struct fixture *f = *state;
    struct granted g[ENDS];
    int64_t last = 0;

    define_queue(f, "next", "{}");
    define_queue(f, "work", "{}");
    set_max(f, 1000, 2 * END_BYTES - 1);
    for (int i = 0; i < ENDS; i++)
        last = submit_route(f);
    assert_int_equal(granted_of(well(run_op(f, op_claim(f, "work", ENDS))), g, ENDS), ENDS);
    well(run_op(f, op_finish_all(f, g, ENDS)));
    assert_int_equal(followed(f), 2);
    assert_int_equal(kept_count(f, "work", JOB_READY), 2);
    assert_int_equal(kept_count(f, "work", JOB_HELD), ENDS - 2);
    assert_int_equal(state_of(f, last), JOB_HELD);
    struct test_op *patch = op_act(f, ACTION_PATCH, last);

    patch->op.action.params = SLICE("{}");
    assert_int_equal(run_op(f, patch)->op.err.code, E_CONFLICT);
    well(run_op(f, op_act(f, ACTION_RELEASE, last)));
    assert_int_equal(state_of(f, last), JOB_HELD); /* nobody's hand holds it */
    well(run_op(f, op_act(f, ACTION_CANCEL, g[ENDS - 2].id)));
    while (is_left(f)) {
        fixture_crash(f);
        batch_run(f);
        assert_sound(f);
    }
    assert_int_equal(followed(f), ENDS);
    assert_int_equal(kept_count(f, "work", JOB_READY), ENDS - 1);
    assert_int_equal(kept_count(f, "work", JOB_CANCELLED), 1);
}

/* ---- raises ---- */

enum { WAITERS = 1200 }; /* more than a commit looks at */

static void raise_to(struct fixture *f, int64_t count)
{
    struct test_op *t = op_make(f, OP_SIGNAL);

    t->op.signal = (struct signal_op){.kind = SIGNAL_OP_RAISE, .name = SLICE("s"), .count = count};
    well(run_op(f, t));
}

static bool is_telling(struct fixture *f)
{
    struct err err = ERR_INIT;
    bool any = false;

    assert_int_equal(store_release_any(f->store, &any, &err), E_OK);
    return any;
}

/* Who waits for more is not looked at with each raise. */
static void a_raise_that_reaches_nobody_looks_at_nobody(void **state)
{
    static const struct after_cond cond = {.kind = AFTER_SIGNAL, .signal = {"s", 1}, .count = 3};
    struct fixture *f = *state;
    struct submit_item *items = mem_zalloc(WAITERS * sizeof(*items));

    for (int i = 0; i < WAITERS; i++) {
        items[i] = item_of("default");
        items[i].after = &cond;
        items[i].n_after = 1;
    }
    well(run_op(f, op_submit(f, items, WAITERS)));
    free(items);
    batch_run(f);
    for (int i = 0; i < 2; i++) {
        raise_to(f, 1);
        assert_false(is_telling(f));
    }
    assert_int_equal(kept_count(f, "default", JOB_HELD), WAITERS);
    raise_to(f, 1);
    assert_true(is_telling(f));
    for (int i = 0; i < 10 && is_telling(f); i++)
        batch_run(f);
    assert_int_equal(kept_count(f, "default", JOB_READY), WAITERS);
    assert_sound(f);
}

/* ---- damage ---- */

/* Each row fails a batch once; then whatever else is left is done, and nothing is tried again and
 * again. */
static void work_off_around_damage(struct fixture *f, uint64_t failed_before, uint64_t failures_max)
{
    for (int i = 0; i < 20; i++) {
        fixture_pass(f, 100 * US_PER_MS);
        batch_run(f);
    }
    assert_in_range(engine_get_stats(f->engine)->rollbacks - failed_before, 1, failures_max);
    assert_true(is_left(f));
    assert_true(engine_next_us(f->engine, f->now) > 0);
    assert_true(atomic_load(&f->damage.found)); /* for /readyz and the metrics */
    damage_clear(&f->damage);
}

static void a_damaged_publication_is_passed_over_and_the_others_go_on(void **state)
{
    const char *damages[] = {
        "UPDATE spreads SET place = 999", "UPDATE spreads SET place = -1",
        "UPDATE spreads SET bill = 'no'", "DELETE FROM shared WHERE id IN (SELECT id FROM spreads)",
        pg_is_wanted() ? "UPDATE spreads SET targets = CAST(REPEAT('1', 400) AS BYTEA)"
                       : "UPDATE spreads SET targets = CAST(PRINTF('%.400c', '1') AS BLOB)"};
    struct fixture *f = *state;

    begin(f);
    for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
        int64_t before = kept_count(f, "q24", JOB_READY);
        uint64_t failed = engine_get_stats(f->engine)->rollbacks;

        well(run_op(f, op_publish(f, SMALL_PARAMS)));
        damage_store(f, damages[i]);
        well(run_op(f, op_publish(f, SMALL_PARAMS)));
        work_off_around_damage(f, failed, 2);
        assert_int_equal(kept_count(f, "q24", JOB_READY) - before, 1);
    }
}

static void a_damaged_row_of_an_end_is_passed_over_and_the_others_go_on(void **state)
{
    struct fixture *f = *state;
    struct granted g[ENDS];
    char sql[100];

    begin_ends(f, "{\"on_success\":[{\"queue\":\"next\"}]}", g);
    well(run_op(f, op_finish_all(f, g, ENDS)));
    assert_int_equal(followed(f), 2);
    snprintf(sql, sizeof(sql), "UPDATE follows SET state = 77 WHERE job = %lld",
             (long long)g[3].id);
    damage_store(f, sql);
    work_off_around_damage(f, engine_get_stats(f->engine)->rollbacks, 2);
    assert_int_equal(followed(f), ENDS - 1);
}

static void an_end_whose_job_is_damaged_is_passed_over_and_the_others_go_on(void **state)
{
    struct fixture *f = *state;
    struct granted g[ENDS];
    char sql[100];

    begin_ends(f, "{\"on_success\":[{\"queue\":\"next\"}]}", g);
    well(run_op(f, op_finish_all(f, g, ENDS)));
    assert_int_equal(followed(f), 2);
    snprintf(sql, sizeof(sql), "UPDATE payload SET params = 'no' WHERE id = %lld",
             (long long)g[3].id);
    damage_store(f, sql);
    work_off_around_damage(f, engine_get_stats(f->engine)->rollbacks, 2);
    assert_int_equal(followed(f), ENDS - 1);
}

/* Its row stays, and so does what the row needs. */
static void an_end_that_is_passed_over_still_keeps_its_job(void **state)
{
    struct fixture *f = *state;
    struct granted g[ENDS];

    begin_ends(f, "{\"on_success\":[{\"queue\":\"next\"}]}", g);
    well(run_op(f, op_finish_all(f, g, ENDS)));
    damage_store(f, "UPDATE follows SET state = 77");
    work_off_around_damage(f, engine_get_stats(f->engine)->rollbacks, ENDS);
    assert_int_equal(run_op(f, op_act(f, ACTION_RETRY, g[ENDS - 1].id))->op.err.code, E_CONFLICT);
    assert_int_equal(run_op(f, op_act(f, ACTION_DELETE, g[ENDS - 1].id))->op.err.code, E_CONFLICT);
    well(run_op(f, op_bulk(f, ACTION_DELETE, "work")));
    for (int i = 0; i < 20; i++) {
        fixture_pass(f, 20 * US_PER_MS);
        batch_run(f);
    }
    assert_int_equal(kept_count(f, "work", JOB_DONE), ENDS - 2); /* and it does not wait for ever */
    assert_true(engine_next_us(f->engine, f->now) > 20 * US_PER_MS);
}

static void a_publication_that_is_passed_over_still_keeps_its_queues(void **state)
{
    struct fixture *f = *state;

    begin(f);
    well(run_op(f, op_publish(f, SMALL_PARAMS)));
    damage_store(f, "UPDATE spreads SET bill = 'no'");
    work_off_around_damage(f, engine_get_stats(f->engine)->rollbacks, 2);
    assert_int_equal(kept_count(f, "q24", JOB_READY), 0);
    assert_int_equal(run_op(f, op_remove_queue(f, "q24"))->op.err.code, E_CONFLICT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* The first one: it looks at the most memory that was ever used. */
        ENGINE_TEST(publishes_to_many_queues_take_little_memory_together),
        ENGINE_TEST(a_large_publish_is_told_at_once_and_made_by_the_commits_that_follow),
        ENGINE_TEST(a_publish_that_is_cut_off_by_a_crash_reaches_each_once),
        ENGINE_TEST(what_a_publication_brings_stays_until_its_last_job_is_gone),
        ENGINE_TEST(a_publish_is_known_by_its_key_while_it_is_worked_off),
        ENGINE_TEST(a_commit_makes_few_round_trips_on_a_slow_link),
        ENGINE_TEST(less_is_worked_off_by_a_commit_while_commits_are_slow),
        ENGINE_TEST(copies_of_large_params_are_bounded_by_the_bytes_of_a_commit),
        ENGINE_TEST(keys_of_a_publication_are_looked_up_and_taken_as_a_set),
        ENGINE_TEST(keys_of_what_is_worked_off_later_are_taken_as_a_set),
        ENGINE_TEST(keys_of_a_batch_are_looked_up_and_taken_as_a_set),
        ENGINE_TEST(jobs_that_cannot_be_run_are_written_as_a_set),
        ENGINE_TEST(a_key_that_was_taken_meanwhile_keeps_no_job_from_being_made),
        ENGINE_TEST(a_queue_stays_as_long_as_a_publication_is_to_reach_it),
        ENGINE_TEST(what_each_job_of_a_publication_carries_counts_for_each),
        ENGINE_TEST(a_small_publish_is_not_kept_waiting_by_a_large_one),
        ENGINE_TEST(an_emit_counts_with_a_job_for_each_that_is_subscribed),
        ENGINE_TEST(finishes_that_emit_too_much_together_are_taken_one_by_one),
        ENGINE_TEST(what_one_server_has_left_is_gone_on_with_by_another),
        ENGINE_TEST(ends_that_lead_to_much_are_followed_by_several_commits),
        ENGINE_TEST(ends_that_lead_to_a_signal_count_what_they_carry),
        ENGINE_TEST(what_a_fan_out_ends_in_turn_does_not_widen_its_commit),
        ENGINE_TEST(an_end_that_is_put_off_leads_where_it_led_when_it_came),
        ENGINE_TEST(the_destinations_of_one_end_are_followed_in_parts),
        ENGINE_TEST(bulk_actions_and_retention_wait_for_ends_that_are_put_off),
        ENGINE_TEST(an_end_may_lead_to_a_large_publication),
        ENGINE_TEST(a_join_that_leads_to_much_is_followed_by_several_commits),
        ENGINE_TEST(an_end_may_lead_to_a_join_that_leads_to_much),
        ENGINE_TEST(what_a_join_leads_to_is_gone_on_with_by_another_server),
        ENGINE_TEST(a_raise_that_reaches_nobody_looks_at_nobody),
        ENGINE_TEST(a_job_whose_step_is_still_to_be_followed_waits_with_the_next),
        ENGINE_TEST(a_damaged_publication_is_passed_over_and_the_others_go_on),
        ENGINE_TEST(a_damaged_row_of_an_end_is_passed_over_and_the_others_go_on),
        ENGINE_TEST(an_end_whose_job_is_damaged_is_passed_over_and_the_others_go_on),
        ENGINE_TEST(an_end_that_is_passed_over_still_keeps_its_job),
        ENGINE_TEST(a_publication_that_is_passed_over_still_keeps_its_queues),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
