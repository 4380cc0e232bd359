/* SPDX-License-Identifier: MIT */
#include "engine_fixture.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/id.h"
#include "base/jtext/jtext.h"
#include "base/os/fault.h"
#include "core/job/lease.h"
#include "store/jobs/jobs.h"
#include "testing.h"

enum { SETTLE_ROWS = 1000 }; /* on all stores, so that tests can count */

static struct fixture *running; /* whose engine looks at the clock */

static struct now tick(void)
{
    fixture_pass(running, running->tick_us);
    return running->now;
}

static void open_all(struct fixture *f)
{
    struct store_config store = {.dir = f->dir,
                                 .url = pg_is_wanted() ? f->place.url : NULL,
                                 .damage = &f->damage,
                                 .mode = STORE_WRITE};
    struct engine_config engine = {.seed = 1,
                                   .waiting_max = f->waiting_max,
                                   .subscriptions_max = 20,
                                   .member = &f->member,
                                   .settle_rows = SETTLE_ROWS,
                                   .fanout = f->fanout,
                                   .clock = tick};
    struct err err = ERR_INIT;

    running = f;
    f->member = (struct store_member){.name = f->dir, .host = "here", .version = "1", .url = ""};
    if (store_open(&store, &f->store, &err) != E_OK ||
        engine_open(f->store, &engine, f->now, &f->engine, &err) != E_OK)
        fail_msg("%s", err.msg);
}

static struct fixture *make(const struct fixture *host)
{
    struct fixture *f = mem_zalloc(sizeof(*f));

    snprintf(f->dir, sizeof(f->dir), "/tmp/waybill-unit-XXXXXX");
    f->now = (struct now){.wall_at = START_AT, .steady_at = START_AT};
    f->waiting_max = 100;
    if (host != NULL) {
        f->is_guest = true;
        f->place = host->place;
        f->now = host->now;
        f->fanout = host->fanout;
    } else if (pg_is_wanted()) {
        pg_schema_take(&f->place);
    }
    if (mkdtemp(f->dir) == NULL)
        fail_msg("no temporary directory");
    open_all(f);
    return f;
}

int fixture_setup(void **state)
{
    *state = make(NULL);
    return 0;
}

struct fixture *fixture_join(const struct fixture *f)
{
    return make(f);
}

static void remove_dir(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        char file[512];

        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        unlink(file);
    }
    if (dir != NULL)
        closedir(dir);
    rmdir(path);
}

void fixture_leave(struct fixture *f)
{
    engine_close(f->engine);
    store_close(f->store);
    for (size_t i = 0; i < f->ops.count; i++) {
        op_deinit(&f->ops.items[i]->op);
        free(f->ops.items[i]);
    }
    VEC_DEINIT(&f->ops);
    arena_deinit(&f->arena);
    remove_dir(f->dir);
    if (!f->is_guest && pg_is_wanted())
        pg_schema_give_back(&f->place);
    free(f);
}

int fixture_teardown(void **state)
{
    fault_arm(NULL);
    fixture_leave(*state);
    return 0;
}

void fixture_crash(struct fixture *f)
{
    engine_close(f->engine);
    store_abandon(f->store);
    open_all(f);
}

void fixture_pass(struct fixture *f, int64_t us)
{
    f->now.wall_at += us;
    f->now.steady_at += us;
}

static void note_done(struct op *op)
{
    struct test_op *t = (struct test_op *)op;

    assert_false(t->answered);
    t->answered = true;
}

static bool is_there(struct op *op)
{
    return !((struct test_op *)op)->client_left;
}

struct test_op *op_make(struct fixture *f, enum op_kind kind)
{
    struct test_op *t = mem_zalloc(sizeof(*t));

    op_init(&t->op, kind);
    t->op.done = note_done;
    t->op.alive = is_there;
    VEC_PUSH(&f->ops, t);
    return t;
}

void batch_add(struct fixture *f, struct test_op *t)
{
    if (f->batch == NULL)
        f->batch = t;
    else
        f->batch_last->op.next = &t->op;
    f->batch_last = t;
}

void batch_run(struct fixture *f)
{
    struct op *first = f->batch == NULL ? NULL : &f->batch->op;

    f->batch = f->batch_last = NULL;
    running = f;
    engine_run(f->engine, first, f->now);
}

struct test_op *run_op(struct fixture *f, struct test_op *t)
{
    batch_add(f, t);
    batch_run(f);
    return t;
}

/* ---- the usual ones ---- */

struct submit_item item_of(const char *queue)
{
    return (struct submit_item){.queue = slice_of(queue), .params = SLICE("{\"a\":1}")};
}

const struct routing *routing_of(struct fixture *f, const char *json)
{
    struct routing *routing = arena_alloc(&f->arena, sizeof(*routing));

    routing_parse(slice_of(json), &f->arena, routing);
    return routing;
}

struct test_op *op_submit(struct fixture *f, const struct submit_item *items, size_t n)
{
    struct test_op *t = op_make(f, OP_SUBMIT);
    struct submit_item *copy = arena_array(&t->op.arena, n, sizeof(*copy));

    memcpy(copy, items, n * sizeof(*copy));
    t->op.submit = (struct submit){
        .mode = n == 1 ? SUBMIT_ONE : SUBMIT_ARRAY, .items = copy, .n_items = n, .first_line = 1};
    return t;
}

struct test_op *op_claim(struct fixture *f, const char *queue, int max)
{
    struct test_op *t = op_make(f, OP_EXCHANGE);
    struct claim_queue *queues = arena_array(&t->op.arena, 1, sizeof(*queues));

    queues[0] = (struct claim_queue){slice_of(queue), max};
    t->op.exchange = (struct exchange){
        .parts = EXCHANGE_RESULTS | EXCHANGE_TOUCHED | EXCHANGE_JOBS,
        .worker = {.name = SLICE("w1")},
        .queues = queues,
        .n_queues = 1,
        .max = max,
        .lease_us = LEASE_DEFAULT_US,
    };
    return t;
}

struct test_op *op_finish(struct fixture *f, int64_t id, int64_t token, enum job_outcome outcome)
{
    struct test_op *t = op_make(f, OP_EXCHANGE);
    struct finish_item *item = arena_array(&t->op.arena, 1, sizeof(*item));

    *item = (struct finish_item){.id = id, .token = token, .outcome = outcome};
    t->op.exchange = (struct exchange){.parts = EXCHANGE_RESULTS, .finish = item, .n_finish = 1};
    return t;
}

struct test_op *op_touch(struct fixture *f, int64_t id, int64_t token)
{
    struct test_op *t = op_make(f, OP_EXCHANGE);
    struct touch_item *item = arena_array(&t->op.arena, 1, sizeof(*item));

    *item = (struct touch_item){.id = id, .token = token};
    t->op.exchange = (struct exchange){.parts = EXCHANGE_TOUCHED, .touch = item, .n_touch = 1};
    return t;
}

struct test_op *op_act(struct fixture *f, enum job_action_kind kind, int64_t id)
{
    struct test_op *t = op_make(f, OP_ACTION);

    t->op.action = (struct job_action){.kind = kind, .id = id};
    return t;
}

struct test_op *op_queue_put(struct fixture *f, const char *name, const char *definition)
{
    struct test_op *t = op_make(f, OP_DEFINE);
    struct definition_put *put = arena_array(&t->op.arena, 1, sizeof(*put));

    *put = (struct definition_put){slice_of(name), slice_of(definition)};
    t->op.define.puts[DEFINITION_QUEUE] = (struct definition_puts){put, 1};
    return t;
}

struct test_op *op_queue_state(struct fixture *f, const char *name, enum queue_state state)
{
    struct test_op *t = op_make(f, OP_QUEUE);

    t->op.queue = (struct queue_op){.kind = QUEUE_OP_STATE, .name = slice_of(name), .state = state};
    return t;
}

struct test_op *op_bulk(struct fixture *f, enum job_action_kind kind, const char *queue)
{
    struct test_op *t = op_make(f, OP_BULK);

    t->op.bulk = (struct bulk){.kind = kind, .filter = {.queue = slice_of(queue)}};
    return t;
}

struct test_op *op_wait(struct fixture *f, int64_t id, int64_t wait_us)
{
    struct test_op *t = op_make(f, OP_WAIT);

    t->op.wait = (struct job_wait){id, wait_us};
    return t;
}

/* ---- run and judged ---- */

static struct test_op *run_well(struct fixture *f, struct test_op *t)
{
    run_op(f, t);
    if (!t->answered || t->op.err.code != E_OK)
        fail_msg("refused: %s", t->op.err.msg);
    return t;
}

int64_t submit_one(struct fixture *f, const char *queue)
{
    struct submit_item item = item_of(queue);

    return run_well(f, op_submit(f, &item, 1))->op.submit.first_id;
}

void submit_many(struct fixture *f, const char *queue, size_t n)
{
    struct submit_item *items = mem_alloc(n * sizeof(*items));

    for (size_t i = 0; i < n; i++)
        items[i] = item_of(queue);
    struct test_op *t = op_submit(f, items, n);

    t->op.submit.mode = SUBMIT_ARRAY;
    run_well(f, t);
    free(items);
}

void define_queue(struct fixture *f, const char *name, const char *definition)
{
    run_well(f, op_queue_put(f, name, definition));
}

static int64_t id_member(struct slice object, const char *name)
{
    struct slice value;
    struct arena arena = ARENA_INIT;
    int64_t id = 0;

    assert_true(jtext_find(object, name, &value));
    assert_true(id_parse(jtext_text(value, &arena), &id));
    arena_deinit(&arena);
    return id;
}

static struct granted lease_member(struct slice job)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct granted g = {.id = id_member(job, "id")};
    struct slice lease;

    assert_true(jtext_find(job, "lease", &lease));
    assert_true(lease_parse(jtext_text(lease, &arena), &g.token, &g.fence));
    return g;
}

size_t granted_of(const struct test_op *t, struct granted *ret, size_t room)
{
    struct err err = ERR_INIT;
    struct slice reply;
    struct slice jobs;
    struct slice job;
    size_t n = 0;

    assert_true(t->answered);
    assert_int_equal(jtext_check(buf_slice(&t->op.reply), &reply, &err), E_OK);
    assert_true(jtext_find(reply, "jobs", &jobs));
    for (struct jtext_iter it = jtext_items(jobs); jtext_next_item(&it, &job);) {
        assert_true(n < room);
        ret[n++] = lease_member(job);
    }
    return n;
}

struct granted claim_one(struct fixture *f, const char *queue)
{
    struct granted g[1];

    assert_int_equal(granted_of(run_well(f, op_claim(f, queue, 1)), g, 1), 1);
    return g[0];
}

/* ---- looking ---- */

const char *reply_of(const struct test_op *t)
{
    return buf_text(&t->op.reply);
}

bool reply_has(const struct test_op *t, const char *text)
{
    return strstr(buf_text(&t->op.reply), text) != NULL;
}

int64_t id_at(const struct test_op *t, size_t place)
{
    struct slice ids;
    struct slice id;
    int64_t value = 0;

    assert_true(jtext_find(buf_slice(&t->op.reply), "ids", &ids));
    struct jtext_iter it = jtext_items(ids);

    for (size_t i = 0; i <= place; i++)
        assert_true(jtext_next_item(&it, &id));
    assert_true(id_parse(slice_make(id.data + 1, id.size - 2), &value));
    return value;
}

struct job job_of(struct fixture *f, int64_t id, struct arena *arena)
{
    struct err err = ERR_INIT;
    bool found = false;
    struct job j;

    assert_int_equal(store_job_load(f->store, id, LOAD_ALL, arena, &j, &found, &err), E_OK);
    assert_true(found);
    return j;
}

void assert_next_us(struct fixture *f, int64_t us)
{
    int64_t next_us = engine_next_us(f->engine, f->now);

    if (pg_is_wanted() && us > 0)
        assert_true(next_us > 0 && next_us <= us);
    else
        assert_int_equal(next_us, us);
}

enum job_state state_of(struct fixture *f, int64_t id)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    bool found = false;
    struct job j;

    assert_int_equal(store_job_load(f->store, id, LOAD_ALL, &arena, &j, &found, &err), E_OK);
    return found ? j.state : JOB_NONE;
}

int64_t kept_count(struct fixture *f, const char *queue, enum job_state state)
{
    struct query q;
    struct slice counts;
    struct slice n;

    query_init(&q, QUERY_QUEUE);
    q.name = slice_of(queue);
    run_query(f, &q);
    assert_int_equal(q.err.code, E_OK);
    assert_true(jtext_find(buf_slice(&q.reply), "counts", &counts));
    assert_true(jtext_find(counts, job_state_name(state), &n));
    int64_t value = jtext_int(n);

    query_deinit(&q);
    return value;
}

void run_query(struct fixture *f, struct query *q)
{
    q->now_at = f->now.wall_at;
    query_run(f->store, q);
}

static void fail_at(void *ctx, const char *finding)
{
    (void)ctx;
    fail_msg("%s", finding);
}

void assert_sound(struct fixture *f)
{
    struct err err = ERR_INIT;

    assert_int_equal(store_verify(f->store, STORE_CHECK_FULL, fail_at, NULL, &err), E_OK);
}

void damage_store(const struct fixture *f, const char *sql)
{
    sqlite3 *db = NULL;
    char file[100];

    if (pg_is_wanted()) {
        pg_schema_run(&f->place, sql);
        return;
    }
    snprintf(file, sizeof(file), "%s/waybill.db", f->dir);
    if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}
