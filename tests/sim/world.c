/* SPDX-License-Identifier: MIT */
#include <sqlite3.h>

#include "base/os/fault.h"
#include "powercut_vfs.h"
#include "sim.h"
#include "store/jobs/list.h"
#include "store/queues.h"
#include "store/sqlite/wal.h"
#include "store/store.h"

#define BEGIN_AT (INT64_C(1760000000) * US_PER_S)
#define DISK_NAME "sim"

/* ---- the process ---- */

static void on_event(void *ctx, const struct event *event)
{
    struct sim *s = ctx;

    if (event->kind == EVENT_JOB)
        VEC_PUSH(&s->events, ((struct event_seen){event->id, event->state}));
    if (model_queue_named(&s->model, event->queue) < 0 && event->queue.size > 20)
        sim_fail(s, "an event names the queue '%.*s'", (int)event->queue.size, event->queue.data);
}

/* Kills at the disk operation that was planned. */
static void on_disk(void *ctx, enum powercut_io io)
{
    struct sim *s = ctx;

    (void)io;
    if (s->kill_in == 0 || --s->kill_in > 0)
        return;
    s->dead = true;
    if (s->kill_by_power)
        powercut_cut(s->disk, rng_next(&s->rng));
    else
        powercut_kill(s->disk);
}

void world_plan_death(struct sim *s)
{
    s->kill_by_power = chance(s, 2) == 0;
    s->kill_in = 1 + (int64_t)chance(s, 10);
    if (!s->shared)
        return;
    uint64_t when = chance(s, 3); /* before the batch, before its answers, after them */

    s->kill_in = when == 0 ? 0 : 1;
    s->dead = when < 2;
}

/* Half of the commits.  While the disk fails none: a sync that fails later ends the process. */
static bool may_sync_later(void *ctx)
{
    struct sim *s = ctx;

    return !s->faulty && (s->commits++ + (int64_t)s->seed) % 2 == 0;
}

uint32_t world_settle_rows(const struct sim *s)
{
    static const uint32_t rows[] = {3, 9, 1000};

    return rows[s->seed % 3];
}

/* Params are of some 20 to 300 bytes, topics have up to three queues. */
static struct fanout world_fanout(const struct sim *s)
{
    static const struct fanout most[] = {{1, 1, 0}, {2, 200, 0}, {0, 0, 0}};

    return most[s->seed / 3 % 3];
}

/* Whatever the disk has lost was not acknowledged: no commit is told as lost. */
static void check_nothing_lost(struct sim *s, const struct store_config *config)
{
    struct wal_loss loss;
    struct err err = ERR_INIT;

    if (s->shared)
        return;
    if (sqlite_wal_scan("/sim/waybill.db", config->vfs, &loss, &err) != E_OK)
        sim_fail(s, "%s", err.msg);
    if (loss.commits > 0)
        sim_fail(s, "%lld commits behind frame %lld are told as lost", (long long)loss.commits,
                 (long long)loss.frame);
}

void world_open(struct sim *s)
{
    struct store_config config = {.dir = "/sim",
                                  .url = s->shared ? s->place.url : NULL,
                                  .mode = STORE_WRITE,
                                  .vfs = DISK_NAME};
    struct engine_config engine = {.node = 1,
                                   .member = &s->at->member,
                                   .seed = s->seed,
                                   .lease_key = sim_lease_key,
                                   .on_event = on_event,
                                   .event_ctx = s,
                                   .waiting_max = SIM_WAITING,
                                   .subscriptions_max = 1000,
                                   .settle_rows = world_settle_rows(s),
                                   .fanout = world_fanout(s)};
    struct err err = ERR_INIT;

    s->now.steady_at = s->at->opened_at = s->at->opened_wall_at = s->now.wall_at;
    s->just_opened = true;
    s->dead = false;
    s->at->rollbacks = 0;
    s->at->read_commits = 0;
    s->at->rested_until = s->at->resume_at;
    s->at->resume_at = 0;
    check_nothing_lost(s, &config);
    if (store_open(&config, &s->at->store, &err) != E_OK)
        sim_fail(s, "the store does not open: %s", err.msg);
    if (engine_open(s->at->store, &engine, s->now, &s->at->engine, &err) != E_OK)
        sim_fail(s, "the engine does not open: %s", err.msg);
    engine_set_sync(s->at->engine, may_sync_later, s);
}

/* ---- several servers ---- */

#define SYNC "sim"
#define SYNC_WITHIN_MS 100
enum { SYNC_TRIES = 300 };

static void forget_news(struct sim_server *server)
{
    for (size_t i = 0; i < server->news.count; i++)
        free(server->news.items[i]);
    VEC_CLEAR(&server->news);
}

static void on_news(void *ctx, const char *news)
{
    struct sim *s = ctx;

    if (news == NULL)
        return;
    s->synced = s->synced || strcmp(news, SYNC) == 0;
    for (int i = 0; i < s->n_servers; i++)
        if (s->servers[i].store != NULL && strcmp(news, SYNC) != 0)
            VEC_PUSH(&s->servers[i].news, mem_strdup(news));
}

/* All that was told so far has come when what we tell ourselves has. */
static void gather_news(struct sim *s)
{
    s->synced = false;
    pg_schema_run(&s->place, "SELECT pg_notify('waybill.' || current_schema(), '" SYNC "')");
    for (int i = 0; i < SYNC_TRIES && !s->synced; i++)
        store_listener_wait(s->listener, -1, SYNC_WITHIN_MS, on_news, s);
    if (!s->synced)
        sim_fail(s, "news do not arrive");
}

static void listen_to_servers(struct sim *s)
{
    struct store_config config = {.url = s->place.url, .mode = STORE_READ};
    struct err err = ERR_INIT;

    if (store_listener_open(&config, &s->listener, &err) != E_OK)
        sim_fail(s, "nobody listens: %s", err.msg);
    store_listener_wait(s->listener, -1, SYNC_WITHIN_MS, on_news, s); /* it connects */
    gather_news(s);
}

void world_change_places(struct sim *s)
{
    /* How long the others take it to be alive goes by real time, which does not count here. */
    pg_schema_run(&s->place,
                  "UPDATE servers SET alive_until_at = 4102444800000000 WHERE alive_until_at > 1");
    gather_news(s);
    s->at = &s->servers[1 - sim_at(s)];
    s->at->read_commits = 0;
    s->dead = false;
    if (s->at->store == NULL)
        world_open(s);
}

static void make_disk(struct sim *s)
{
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, (int)(s->seed & 0x7FFFFFFF) | 1, NULL);
    s->disk = powercut_new(DISK_NAME, s->seed);
    powercut_watch(s->disk, on_disk, s);
}

void world_init(struct sim *s)
{
    static const char *const names[SIM_SERVERS] = {"one", "two"};

    for (int i = 0; i < s->n_servers; i++)
        s->servers[i].member = (struct store_member){
            .name = names[i], .host = "here", .version = "0", .url = ""};
    s->at = s->servers;
    if (s->shared)
        pg_schema_make(&s->place);
    else
        make_disk(s);
    s->now.wall_at = BEGIN_AT;
    world_open(s);
    if (s->n_servers > 1)
        listen_to_servers(s);
}

static void deinit_server(struct sim *s, struct sim_server *server)
{
    s->at = server;
    if (server->store != NULL)
        world_end(s, WORLD_STOP);
    world_drop_waiting(s);
    forget_news(server);
    VEC_DEINIT(&server->waiting);
    VEC_DEINIT(&server->waits);
    VEC_DEINIT(&server->news);
}

void world_deinit(struct sim *s)
{
    for (int i = 0; i < s->n_servers; i++)
        deinit_server(s, &s->servers[i]);
    store_listener_close(s->listener);
    if (s->shared)
        pg_schema_drop(&s->place);
    else if (!powercut_free(s->disk))
        sim_fail(s, "the store left files open");
    arena_deinit(&s->arena);
    VEC_DEINIT(&s->rows);
    VEC_DEINIT(&s->works);
    VEC_DEINIT(&s->emitters);
    VEC_DEINIT(&s->events);
    VEC_DEINIT(&s->before);
}

void world_drop_waiting(struct sim *s)
{
    for (size_t i = 0; i < s->at->waiting.count; i++)
        req_free(s->at->waiting.items[i]);
    for (size_t i = 0; i < s->at->waits.count; i++)
        req_free(s->at->waits.items[i]);
    VEC_CLEAR(&s->at->waiting);
    VEC_CLEAR(&s->at->waits);
}

void world_renew(struct sim *s)
{
    for (size_t i = 0; i < s->model.n_jobs; i++) {
        struct model_job *j = &s->model.jobs[i];

        if (j->server != sim_at(s))
            continue;
        j->note = NOTE_NONE;
        j->lease_at = s->at->opened_at + j->lease_us;
    }
    if (!s->shared)
        s->model.name.until_at = 0; /* by another clock */
    name_renew(s);
}

void world_end(struct sim *s, enum world_end how)
{
    s->kill_in = 0;
    if (how == WORLD_POWER && !s->dead && !s->shared)
        powercut_cut(s->disk, rng_next(&s->rng));
    else if (how == WORLD_KILL && !s->dead && !s->shared)
        powercut_kill(s->disk);
    if (how != WORLD_STOP)
        s->dead = true;
    engine_close(s->at->engine);
    if (how == WORLD_STOP)
        store_close(s->at->store);
    else
        store_abandon(s->at->store);
    s->at->engine = NULL;
    s->at->store = NULL;
    forget_news(s->at);
}

/* The answers of the batch count from here on.  If the process dies in the sync, nobody has got
 * them. */
static void sync_store(struct sim *s, struct req **reqs, size_t n)
{
    struct err err = ERR_INIT;
    bool was_dead = s->dead;

    s->synced_later += store_owes_sync(s->at->store) && !was_dead;
    if (store_sync(s->at->store, &err) != E_OK && !s->dead)
        sim_fail(s, "the commit could not be synced: %s", err.msg);
    if (!s->dead || was_dead)
        return;
    s->died_unsynced++;
    for (size_t i = 0; i < n; i++)
        reqs[i]->unknown = true;
    for (size_t i = 0; i < s->at->waiting.count; i++)
        s->at->waiting.items[i]->unknown = true;
    for (size_t i = 0; i < s->at->waits.count; i++)
        s->at->waits.items[i]->unknown = true;
}

void world_run(struct sim *s, struct req **reqs, size_t n)
{
    struct op *list = NULL;

    VEC_CLEAR(&s->events);
    VEC_CLEAR(&s->before);
    for (size_t i = 0; i < s->model.n_jobs; i++)
        VEC_PUSH(&s->before, ((struct event_seen){s->model.jobs[i].id, s->model.jobs[i].state}));
    for (size_t i = n; i-- > 0;) {
        reqs[i]->op.next = list;
        list = &reqs[i]->op;
    }
    engine_run(s->at->engine, list, s->now);
    sync_store(s, reqs, n);
}

void world_checkpoint(struct sim *s)
{
    static const char *const how[] = {"PRAGMA wal_checkpoint(PASSIVE)",
                                      "PRAGMA wal_checkpoint(RESTART)",
                                      "PRAGMA wal_checkpoint(TRUNCATE)"};
    sqlite3 *db = NULL;

    if (s->shared)
        return;
    if (sqlite3_open_v2("/sim/waybill.db", &db, SQLITE_OPEN_READWRITE, DISK_NAME) != SQLITE_OK ||
        sqlite3_exec(db, how[chance(s, 3)], NULL, NULL, NULL) != SQLITE_OK)
        sim_fail(s, "no checkpoint: %s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static void plan_disk_fault(struct sim *s)
{
    static const struct powercut_plan plans[] = {{POWERCUT_WRITE, 0, 0, SQLITE_IOERR_WRITE},
                                                 {POWERCUT_WRITE, 0, 0, SQLITE_FULL},
                                                 {POWERCUT_SYNC, 0, 0, SQLITE_IOERR_FSYNC},
                                                 {POWERCUT_GROW, 0, 0, SQLITE_FULL}};
    struct powercut_plan plan = plans[chance(s, 4)];
    uint64_t times = chance(s, 3);

    plan.nth = 1 + (int64_t)chance(s, 5);
    plan.times = times == 0 ? 1 : times == 1 ? 2 + (int64_t)chance(s, 4) : POWERCUT_FOR_EVER;
    powercut_fail(s->disk, &plan);
    sim_say(s, "  the disk fails: kind %d, nth %lld, %lld times, code %d", (int)plan.io,
            (long long)plan.nth, (long long)plan.times, plan.code);
}

void world_set_clock(struct sim *s, int64_t us)
{
    if (!s->shared)
        s->now.wall_at += us;
}

void world_plan_fault(struct sim *s)
{
    static const char *const plans[] = {"commit.before:1:fail", "commit.before:1:fail-all",
                                        "commit.cut:1:fail", "commit.left:1:fail",
                                        "commit.lost:1:fail"};
    const char *plan = plans[chance(s, ARRAY_LEN(plans))];

    s->faulty = true;
    if (!s->shared) {
        plan_disk_fault(s);
        return;
    }
    sim_say(s, "  the store fails: %s", plan);
    if (!fault_arm(plan))
        sim_fail(s, "no such fault: %s", plan);
}

void world_heal(struct sim *s)
{
    if (s->shared)
        (void)fault_arm(NULL);
    else
        powercut_heal(s->disk);
}

void world_advance(struct sim *s, int64_t us)
{
    s->now.wall_at += us;
    s->now.steady_at += us;
}

/* ---- what the store holds ---- */

static struct slice keep(struct sim *s, struct slice text)
{
    return text.data == NULL ? text : arena_copy(&s->arena, text);
}

static void take_row(void *ctx, const struct job *row)
{
    struct sim *s = ctx;
    struct job j = *row;

    j.key = keep(s, row->key);
    j.params = keep(s, row->params);
    j.labels = keep(s, row->labels);
    j.body = j.options = j.text = j.result = slice_make(NULL, 0);
    VEC_PUSH(&s->rows, j);
}

static int by_id(const void *a, const void *b)
{
    int64_t x = ((const struct job *)a)->id.v, y = ((const struct job *)b)->id.v;

    return x < y ? -1 : x > y;
}

static void take_queue(void *ctx, const struct stored_queue *q)
{
    struct sim *s = ctx;

    for (int i = 0; i < MODEL_QUEUES; i++) {
        if (!slice_is(q->name, model_queue_names[i]))
            continue;
        s->queues[i] = (struct stored){.number = q->id,
                                       .state = q->state,
                                       .def = -1,
                                       .streak = q->streak,
                                       .restarts = q->restarts};
        for (int d = 0; d < MODEL_DEFS * MODEL_LINKS; d++)
            if (slice_is(q->definition, model_def_json(i, d / MODEL_LINKS, d % MODEL_LINKS))) {
                s->queues[i].def = d / MODEL_LINKS;
                s->queues[i].links = d % MODEL_LINKS;
            }
    }
}

static void take_work(void *ctx, const struct stored_work *w)
{
    struct sim *s = ctx;

    if (w->finished_at == 0)
        VEC_PUSH(&s->works, *w);
}

static void take_emitter(void *ctx, const struct stored_emitter *m)
{
    struct sim *s = ctx;

    VEC_PUSH(&s->emitters, *m);
}

void world_read(struct sim *s)
{
    struct store_walk walk = {
        .reads = WALK_LABELS_AND_PARAMS, .limit = 10000, .on_job = take_row, .ctx = s};
    struct err err = ERR_INIT;
    uint64_t commits = atomic_load(&engine_get_stats(s->at->engine)->commits);

    s->unchanged = s->at->read_commits == commits + 1;
    if (s->unchanged)
        return;
    s->at->read_commits = commits + 1;
    VEC_CLEAR(&s->rows);
    VEC_CLEAR(&s->works);
    VEC_CLEAR(&s->emitters);
    arena_clear(&s->arena);
    memset(s->queues, 0, sizeof(s->queues));
    for (walk.which = STRETCH_LIVE; walk.which <= STRETCH_ENDED; walk.which++)
        if (store_list_up(s->at->store, &walk, 0, INT64_MAX, &err) != E_OK)
            sim_fail(s, "the store cannot be read: %s", err.msg);
    if (store_queues_load(s->at->store, take_queue, s, &err) != E_OK ||
        store_definitions_get(s->at->store, &s->definitions, &err) != E_OK ||
        store_work_load(s->at->store, take_work, s, &err) != E_OK ||
        store_emitters_load(s->at->store, take_emitter, s, &err) != E_OK)
        sim_fail(s, "the store cannot be read: %s", err.msg);
    world_read_links(s);
    if (s->rows.count > 0)
        qsort(s->rows.items, s->rows.count, sizeof(s->rows.items[0]), by_id);
}

const struct job *world_row(const struct sim *s, int64_t id)
{
    struct job key = {.id = {id}};

    return s->rows.count == 0
               ? NULL
               : bsearch(&key, s->rows.items, s->rows.count, sizeof(s->rows.items[0]), by_id);
}

const struct job *world_row_with(const struct sim *s, const char *params)
{
    for (size_t i = 0; i < s->rows.count; i++)
        if (slice_is(s->rows.items[i].params, params))
            return &s->rows.items[i];
    return NULL;
}
