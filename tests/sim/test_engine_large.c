/*
 * The engine with more jobs than fit into one chunk, one transaction, or its lists in memory.
 */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/id.h"
#include "base/jtext/jtext.h"
#include "base/rng.h"
#include "base/vec.h"
#include "core/job/lease.h"
#include "engine/engine.h"
#include "powercut_vfs.h"
#include "store/meta.h"
#include "store/store.h"
#include "store/work.h"

#define BEGIN_AT (INT64_C(1760000000) * US_PER_S)

enum { ARRAY = 500, RUNS_MAX = 500 };

struct place {
    int64_t id;
    int priority;
};

static struct powercut *disk;
static struct store *store;
static struct engine *engine;
static struct now now;
static VEC(struct place) made; /* every job that was submitted */

/* ---- words ---- */

static void open_engine(void)
{
    struct engine_config config = {.node = 1, .seed = 1, .waiting_max = 10};
    struct err err = ERR_INIT;

    now.steady_at = now.wall_at;
    if (store_open(&(struct store_config){.dir = "/d", .mode = STORE_WRITE, .vfs = "large"}, &store,
                   &err) != E_OK ||
        engine_open(store, &config, now, &engine, &err) != E_OK)
        fail_msg("%s", err.msg);
}

static int setup(void **state)
{
    (void)state;
    disk = powercut_new("large", 1);
    now.wall_at = BEGIN_AT;
    VEC_CLEAR(&made);
    open_engine();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    engine_close(engine);
    store_close(store);
    VEC_DEINIT(&made);
    return powercut_free(disk) ? 0 : -1;
}

static void kill_and_open(void)
{
    powercut_kill(disk);
    engine_close(engine);
    store_abandon(store);
    open_engine();
}

static void on_done(struct op *op)
{
    *(bool *)op->owner = true;
}

/* Runs an op to its end; the caller reads the reply and deinits it. */
static void run(struct op *op)
{
    bool done = false;

    op->done = on_done;
    op->owner = &done;
    engine_run(engine, op, now);
    assert_true(done);
    if (op->err.code != E_OK)
        fail_msg("%s", op->err.msg);
}

static void tick(void)
{
    engine_run(engine, NULL, now);
    assert_int_equal(atomic_load(&engine_get_stats(engine)->last_error_at), 0);
}

/* Until the engine has nothing left to do at once; how often that was. */
static int run_dry(void)
{
    int runs = 0;

    do {
        tick();
        assert_true(++runs < RUNS_MAX);
    } while (engine_next_us(engine, now) == 0);
    return runs;
}

static void take_ids(const struct op *op, const struct submit_item *items)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice ids, item;
    size_t i = 0;

    assert_true(jtext_find(buf_slice(&op->reply), "ids", &ids));
    for (struct jtext_iter it = jtext_items(ids); jtext_next_item(&it, &item); i++) {
        struct place p = {.priority = items[i].priority};

        assert_true(id_parse(jtext_text(item, &arena), &p.id));
        VEC_PUSH(&made, p);
    }
}

/* Jobs with priorities of the dice (all 0 without), in the queue `default`. */
static void submit(size_t n, struct rng *rng, int64_t delay_us)
{
    static struct submit_item items[ARRAY];

    for (size_t left = n; left > 0;) {
        size_t now_n = left < ARRAY ? left : ARRAY;
        struct op op;

        for (size_t i = 0; i < now_n; i++)
            items[i] = (struct submit_item){.queue = SLICE("default"),
                                            .delay_us = delay_us,
                                            .priority = rng == NULL ? 0
                                                                    : (int)rng_below(rng, 5) - 2};
        op_init(&op, OP_SUBMIT);
        op.submit = (struct submit){.mode = SUBMIT_ARRAY, .items = items, .n_items = now_n};
        run(&op);
        take_ids(&op, items);
        op_deinit(&op);
        left -= now_n;
    }
}

static int64_t id_of(struct slice job, const char *name)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice value;
    int64_t id = 0;

    assert_true(jtext_find(job, name, &value) && id_parse(jtext_text(value, &arena), &id));
    return id;
}

static int64_t token_of(struct slice job)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice value;
    int64_t token = 0;
    int64_t fence = 0;

    assert_true(jtext_find(job, "lease", &value) &&
                lease_parse(jtext_text(value, &arena), &token, &fence));
    return token;
}

/* Claims, and calls back for each job granted. */
static size_t claim(int max, int64_t lease_us, void (*on_job)(int64_t id, int64_t token))
{
    struct claim_queue queue = {SLICE("default"), max};
    struct slice jobs, job;
    size_t n = 0;
    struct op op;

    op_init(&op, OP_EXCHANGE);
    op.exchange = (struct exchange){
        .parts = EXCHANGE_JOBS, .queues = &queue, .n_queues = 1, .max = max, .lease_us = lease_us};
    run(&op);
    assert_true(jtext_find(buf_slice(&op.reply), "jobs", &jobs));
    for (struct jtext_iter it = jtext_items(jobs); jtext_next_item(&it, &job); n++)
        if (on_job != NULL)
            on_job(id_of(job, "id"), token_of(job));
    op_deinit(&op);
    return n;
}

struct counted {
    int64_t n[JOB_STATE_COUNT];
};

static void take_count(void *ctx, const struct store_count *c)
{
    ((struct counted *)ctx)->n[c->state] += c->n;
}

static int64_t count(enum job_state state)
{
    struct counted k = {{0}};
    struct err err = ERR_INIT;

    assert_int_equal(store_counts_load(store, take_count, &k, &err), E_OK);
    return k.n[state];
}

static void on_finding(void *ctx, const char *finding)
{
    (void)ctx;
    fail_msg("%s", finding);
}

static void check_store(void)
{
    struct err err = ERR_INIT;

    assert_int_equal(store_verify(store, STORE_CHECK_FULL, on_finding, NULL, &err), E_OK);
}

/* ---- order ---- */

static int by_order(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static size_t next_place;

static void expect_next(int64_t id, int64_t token)
{
    (void)token;
    assert_true(next_place < made.count);
    assert_int_equal(id, made.items[next_place].id);
    next_place++;
}

/* Who is granted something leaves `made`; the rest is what the next claims must give.  A claim may
 * be given fewer than there are, but never none. */
static void claim_in_order(int max)
{
    qsort(made.items, made.count, sizeof(made.items[0]), by_order);
    next_place = 0;
    size_t n = claim(max, US_PER_HOUR, expect_next);

    assert_in_range(n, 1, max);
    memmove(made.items, made.items + n, (made.count - n) * sizeof(made.items[0]));
    made.count -= n;
}

static void set_priority(struct place *p, int priority)
{
    struct op op;

    op_init(&op, OP_ACTION);
    op.action = (struct job_action){
        .kind = ACTION_PATCH, .id = p->id, .has_priority = true, .priority = priority};
    run(&op);
    op_deinit(&op);
    p->priority = priority;
}

static void a_backlog_larger_than_memory_keeps_its_order(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    submit(13000, &rng, 0);
    for (int round = 0; made.count > 0; round++) {
        claim_in_order(1000);
        if (round < 4)
            submit(700, &rng, 0);
        for (int i = 0; i < 20 && made.count > 0; i++)
            set_priority(&made.items[rng_below(&rng, made.count)], (int)rng_below(&rng, 9) - 4);
        if (round == 6)
            kill_and_open();
    }
    assert_int_equal(count(JOB_READY), 0);
    assert_int_equal(count(JOB_RUNNING), 15800);
    check_store();
}

/* ---- chunks ---- */

static int64_t start_bulk(enum job_action_kind kind)
{
    struct op op;

    op_init(&op, OP_BULK);
    op.bulk = (struct bulk){.kind = kind, .filter = {.queue = SLICE("default")}};
    run(&op);
    int64_t id = id_of(buf_slice(&op.reply), "id");

    op_deinit(&op);
    return id;
}

static void take_work(void *ctx, const struct stored_work *w)
{
    *(struct stored_work *)ctx = *w;
}

static struct stored_work work_of(int64_t id)
{
    struct stored_work w = {.id = 0};
    struct err err = ERR_INIT;

    assert_int_equal(store_work_find(store, id, take_work, &w, &err), E_OK);
    assert_int_equal(w.id, id);
    return w;
}

static void a_bulk_action_goes_on_after_a_crash_between_its_chunks(void **state)
{
    (void)state;
    submit(1700, NULL, 0);
    int64_t id = start_bulk(ACTION_CANCEL);

    submit(40, NULL, 0); /* came later: not meant */
    tick();
    int64_t halfway = count(JOB_CANCELLED);

    assert_true(halfway > 0 && halfway <= 1000);
    assert_int_equal(engine_next_us(engine, now), 0);
    kill_and_open();
    assert_int_equal(count(JOB_CANCELLED), halfway);
    run_dry();
    assert_int_equal(count(JOB_CANCELLED), 1700);
    assert_int_equal(count(JOB_READY), 40);
    assert_int_equal(work_of(id).changed, 1700);
    assert_int_equal(work_of(id).refused, 0);
    assert_true(work_of(id).finished_at > 0);
    check_store();
}

static void a_bulk_delete_takes_the_living_and_the_ended(void **state)
{
    (void)state;
    submit(1100, NULL, 0);
    start_bulk(ACTION_CANCEL);
    run_dry();
    submit(1100, NULL, 0);
    claim(10, US_PER_HOUR, NULL);
    int64_t id = start_bulk(ACTION_DELETE);

    run_dry();
    assert_int_equal(count(JOB_CANCELLED) + count(JOB_READY), 0);
    assert_int_equal(count(JOB_RUNNING), 10);
    assert_int_equal(work_of(id).changed, 2190);
    assert_int_equal(work_of(id).refused, 10);
    check_store();
}

static void many_jobs_due_at_one_instant_become_ready_piece_by_piece(void **state)
{
    (void)state;
    submit(1800, NULL, US_PER_MIN);
    assert_int_equal(count(JOB_SCHEDULED), 1800);
    now.wall_at += US_PER_MIN;
    now.steady_at += US_PER_MIN;
    for (int64_t ready = 0; ready < 1800;) {
        assert_int_equal(engine_next_us(engine, now), 0);
        tick();
        int64_t more = count(JOB_READY) - ready;

        assert_true(more > 0 && more <= 1000); /* no long transactions */
        ready += more;
    }
    assert_int_equal(count(JOB_SCHEDULED), 0);
    check_store();
}

static void many_leases_that_run_out_together_all_come_back(void **state)
{
    (void)state;
    submit(3000, NULL, 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(claim(1000, 10 * US_PER_S, NULL), 1000);
    now.steady_at += 10 * US_PER_S - 1;
    now.wall_at += 10 * US_PER_S - 1;
    run_dry();
    assert_int_equal(count(JOB_RUNNING), 3000);
    now.steady_at++;
    now.wall_at++;
    run_dry();
    assert_int_equal(count(JOB_READY), 3000);
    assert_int_equal(claim(1000, 10 * US_PER_S, NULL), 1000);
    check_store();
}

static void leases_found_at_a_start_get_a_full_period(void **state)
{
    (void)state;
    submit(2500, NULL, 0);
    while (claim(300, 10 * US_PER_S, NULL) > 0)
        ;
    now.wall_at += 9 * US_PER_S;
    kill_and_open();
    now.wall_at += 9 * US_PER_S;
    now.steady_at += 9 * US_PER_S;
    run_dry();
    assert_int_equal(count(JOB_RUNNING), 2500);
    now.steady_at += US_PER_S;
    run_dry();
    assert_int_equal(count(JOB_READY), 2500);
    check_store();
}

/* ---- retention ---- */

static VEC(struct finish_item) leases;

static void keep_lease(int64_t id, int64_t token)
{
    struct finish_item f = {.id = id, .token = token, .outcome = JOB_OUT_DONE};

    VEC_PUSH(&leases, f);
}

static void finish_all(void)
{
    struct op op;

    op_init(&op, OP_EXCHANGE);
    op.exchange = (struct exchange){.parts = EXCHANGE_RESULTS,
                                    .finish = leases.items,
                                    .n_finish = leases.count};
    run(&op);
    op_deinit(&op);
    VEC_DEINIT(&leases);
}

static void retention_removes_many_jobs_piece_by_piece_and_gives_room_back(void **state)
{
    struct store_facts facts;
    struct err err = ERR_INIT;

    (void)state;
    submit(4000, NULL, 0);
    for (int i = 0; i < 4; i++) {
        claim(1000, US_PER_HOUR, keep_lease);
        finish_all();
    }
    assert_int_equal(count(JOB_DONE), 4000);
    now.wall_at += 31 * US_PER_DAY;
    now.steady_at += 31 * US_PER_DAY;
    tick();
    assert_true(count(JOB_DONE) >= 2000); /* not all in one transaction */
    assert_int_equal(store_facts(store, &facts, &err), E_OK);
    int64_t before = facts.bytes;

    run_dry();
    assert_int_equal(count(JOB_DONE), 0);
    assert_int_equal(store_facts(store, &facts, &err), E_OK);
    assert_true(facts.bytes < before && facts.free_bytes < before / 10);
    check_store();
}

int main(void)
{
#define LARGE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        LARGE_TEST(a_backlog_larger_than_memory_keeps_its_order),
        LARGE_TEST(a_bulk_action_goes_on_after_a_crash_between_its_chunks),
        LARGE_TEST(a_bulk_delete_takes_the_living_and_the_ended),
        LARGE_TEST(many_jobs_due_at_one_instant_become_ready_piece_by_piece),
        LARGE_TEST(many_leases_that_run_out_together_all_come_back),
        LARGE_TEST(leases_found_at_a_start_get_a_full_period),
        LARGE_TEST(retention_removes_many_jobs_piece_by_piece_and_gives_room_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
