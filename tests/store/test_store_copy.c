/*
 * Moving a store: everything goes along, nothing else is written, what is not whole is not opened.
 *
 * Source and target stand on disks of their own, or in schemas of their own.
 */
/* SPDX-License-Identifier: MIT */
#include <sqlite3.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/os/fault.h"
#include "core/queue/def.h"
#include "store/copy/copy.h"
#include "store/jobs/emits.h"
#include "store/jobs/endings.h"
#include "store/jobs/logs.h"
#include "store/jobs/record.h"
#include "store/links/fanout.h"
#include "store/links/links.h"
#include "store/meta.h"
#include "store/queue_log.h"
#include "store/queues.h"
#include "store/shared.h"
#include "store/work.h"
#include "store_fixture.h"

enum { OWNER = 1, TOKEN = 500000, SIGNAL = 600001, JOIN = 600002 };

#define TARGET_DISK "copy-target"
#define HIGHEST_ID INT64_C(900000)

static struct powercut *target;
static struct pg_schema place; /* the target on PostgreSQL */
static int64_t queue;
static int64_t n_jobs;

/* ---- a store with something of everything ---- */

static void end_job(int64_t id, enum job_state state, const char *text)
{
    struct job was = get_job(id);
    struct job now = was;
    bool hit = false;

    now.state = state;
    now.finished_at = NOW_AT + id;
    now.outcome = state == JOB_DONE ? JOB_OUT_DONE : JOB_OUT_FAILED;
    now.text = slice_of(text);
    now.exited = true;
    now.exit = 3;
    now.result = SLICE("{\"r\":[1,\"\\u0000\"]}");
    ok(store_job_end(fx.store, &was, &now, &hit, &err));
    assert_true(hit);
    count_move(queue, was.state, state);
    ok(store_ending_add(fx.store,
                        &(struct ending){.id = TOKEN + id,
                                         .queue = queue,
                                         .state = state,
                                         .finished_at = now.finished_at,
                                         .jobs = &id,
                                         .n_jobs = 1},
                        &err));
}

static void wait_in(int64_t id, enum job_state state)
{
    struct job was = get_job(id);
    struct job now = was;
    bool hit = false;

    now.state = state;
    now.holds = state == JOB_HELD ? JOB_HOLD_HAND : 0;
    now.due_at = state == JOB_SCHEDULED ? NOW_AT + US_PER_DAY : 0;
    ok(store_job_update(fx.store, &was, &now, &hit, &err));
    assert_true(hit);
    count_move(queue, JOB_READY, state);
}

/* Keys and bodies of any bytes; texts that are empty, and none. */
static void add_odd_job(int64_t id, struct slice key, struct slice body)
{
    struct job j = {.id = {id},
                    .queue = queue,
                    .state = JOB_READY,
                    .group = 77,
                    .key = key,
                    .params = SLICE("{\"x\":\"ä\\n\"}"),
                    .body = body,
                    .labels = SLICE("{\"l\":\"\"}"),
                    .options = SLICE("{\"timeout\":\"5s\"}")};

    ok(store_jobs_insert(fx.store, &j, 1, &err));
    ok(store_keys_add(fx.store, &(struct stored_key){key, id, UINT64_MAX - (uint64_t)id}, 1, &err));
    count_move(queue, JOB_NONE, JOB_READY);
}

static void add_record(int64_t id)
{
    struct progress_entry e = {.seq = -1, /* handed in */
                               .number = 1,
                               .attempt = 1,
                               .token = TOKEN + 1,
                               .outcome = JOB_OUT_FAILED,
                               .cause = JOB_CAUSE_EXIT,
                               .exited = true,
                               .exit = 7,
                               .queue = queue,
                               .started_at = NOW_AT,
                               .ended_at = NOW_AT + 5,
                               .text = slice_make("a\0b\xFF\n", 5),
                               .set = SLICE("{\"a\":1}")};
    const struct log_mark marks[] = {{0, LOG_MARK_TIME, NOW_AT}, {7, LOG_MARK_TIME, NOW_AT + 1}};

    ok(store_progress_add(fx.store, id, &e, &err));
    e.exited = false;
    e.seq = e.attempt = 2;
    e.text = e.set = slice_make(NULL, 0);
    ok(store_progress_add(fx.store, id, &e, &err));
    ok(store_log_add(fx.store, id, 0, slice_make("\0\xFF\xFElog\n", 7), &err));
    ok(store_log_mark(fx.store, id, marks, ARRAY_LEN(marks), &err));
}

/* Two of one publication. */
static void publish(void)
{
    static char params[5000];
    struct job jobs[2];

    memset(params, ' ', sizeof(params));
    params[0] = '{';
    params[sizeof(params) - 1] = '}';
    for (int i = 0; i < 2; i++) {
        jobs[i] = (struct job){.id = {600001 + i}, .queue = queue, .state = JOB_READY};
        jobs[i].params = slice_make(params, sizeof(params));
        jobs[i].routing = SLICE("{\"topic\":\"news\"}");
        count_move(queue, JOB_NONE, JOB_READY);
    }
    ok(store_jobs_insert(fx.store, jobs, 2, &err));
}

static void stage_jobs(void)
{
    const int64_t jobs[] = {700001, 700002};
    const uint64_t contents[] = {1, UINT64_MAX};

    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        struct job j = {.id = {jobs[i]}, .queue = queue, .state = JOB_STAGED};

        j.params = SLICE("{}");
        ok(store_jobs_insert(fx.store, &j, 1, &err));
        count_move(queue, JOB_NONE, JOB_STAGED);
    }
    ok(store_emit_add(fx.store,
                      &(struct stored_emit){.id = 700000,
                                            .owner = OWNER,
                                            .token = TOKEN,
                                            .seq = 1,
                                            .staged = true,
                                            .jobs = jobs,
                                            .contents = contents,
                                            .n_jobs = ARRAY_LEN(jobs)},
                      &err));
    ok(store_emitter_put(
        fx.store, &(struct stored_emitter){.owner = OWNER, .token = TOKEN, .seq = 1, .staged = 2},
        &err));
    ok(store_cursor_put(fx.store, OWNER, SLICE("{\"at\":\"\\u0000\"}"), &err));
}

/* A job on a route that waits for another and for a signal. */
static void add_waiter(int64_t id, int64_t awaited)
{
    struct job j = {.id = {id},
                    .queue = queue,
                    .state = JOB_HELD,
                    .holds = JOB_HOLD_AFTER,
                    .has_dests = true,
                    .step = 2,
                    .routing = SLICE("{\"steps\":[{\"number\":2,\"name\":\"ä\",\"queue\":\"q\"}]}"),
                    .assigned = SLICE("{\"a\":\"\\u0000\"}")};
    const struct stored_wait waits[] = {
        {.waiter = id, .kind = AFTER_JOB, .target = awaited, .step = 3, .on = AFTER_END},
        {.waiter = id, .seq = 1, .kind = AFTER_SIGNAL, .target = SIGNAL, .count = 10, .take = true},
    };
    enum job_state found = JOB_NONE;

    ok(store_jobs_insert(fx.store, &j, 1, &err));
    count_move(queue, JOB_NONE, JOB_HELD);
    ok(store_jobs_await(fx.store, &awaited, 1, &found, &fx.arena, &err));
    assert_int_equal(found, JOB_READY);
    ok(store_waits_add(fx.store, waits, ARRAY_LEN(waits), &fx.arena, &err));
    ok(store_undone_put(fx.store, 6, 4712, &err));
    ok(store_revival_put(fx.store, &(struct stored_revival){4712, 4700}, &err));
    ok(store_release_put(
        fx.store, &(struct stored_release){.target = SIGNAL, .state = -1, .cursor = 7}, &err));
}

/* A publication and an end that are still to be worked off. */
static void add_fanouts(void)
{
    const struct spread_target targets[] = {{queue, 4720}, {queue, 4722}};

    ok(store_spread_add(fx.store,
                        &(struct stored_spread){.id = 4720,
                                                .key = SLICE("k\xff"),
                                                .content = 1,
                                                .params = SLICE("{\"a\":1}"),
                                                .body = SLICE("b\0y"),
                                                .routing = SLICE("{\"topic\":\"t\"}"),
                                                .targets = targets,
                                                .n_targets = ARRAY_LEN(targets),
                                                .place = 1},
                        &err));
    ok(store_follow_add(fx.store,
                        &(struct stored_follow){
                            .id = 4721, .job = 6, .queue = queue, .state = JOB_DONE, .whole = true},
                        &err));
}

static void add_links(void)
{
    const int64_t jobs[] = {5, 6};

    add_fanouts();
    ok(store_signal_put(fx.store,
                        &(struct stored_signal){.id = SIGNAL,
                                                .name = SLICE("dump ä"),
                                                .count = 9,
                                                .changed_at = NOW_AT},
                        &err));
    add_waiter(n_jobs + 4, n_jobs);
    ok(store_join_put(fx.store,
                      &(struct stored_join){.id = JOIN,
                                            .name = SLICE("day"),
                                            .definition = SLICE("{\"count\":2,\"then\":[]}"),
                                            .fired = 3,
                                            .fired_at = NOW_AT},
                      &err));
    ok(store_arrivals_put(
        fx.store, &(struct stored_arrivals){.join = JOIN, .count = 1, .first_at = NOW_AT}, &err));
    ok(store_arrivals_put(fx.store,
                          &(struct stored_arrivals){.join = JOIN,
                                                    .key = slice_make("a\0\xFF", 3),
                                                    .count = 2,
                                                    .first_at = NOW_AT,
                                                    .jobs = jobs,
                                                    .n_jobs = ARRAY_LEN(jobs)},
                          &err));
}

static void add_surroundings(void)
{
    struct stored_worker w = {.name = SLICE("box ä"), .pid = 77, .seen_at = NOW_AT};
    struct stored_work work = {.id = 800000,
                               .kind = 1,
                               .args = SLICE("{\"action\":\"retry\"}"),
                               .last = 700000,
                               .created_at = NOW_AT};
    int64_t id = 0;

    ok(store_worker_put(fx.store, &w, slice_make(NULL, 0), &id, &err));
    ok(store_work_add(fx.store, &work, &err));
    work.phase = 1;
    work.cursor = 1234;
    work.changed = 1000;
    ok(store_work_step(fx.store, &work, &err));
    ok(store_queue_log_add(
        fx.store, queue,
        &(struct queue_log_line){.at = NOW_AT, .what = SLICE("state"), .text = SLICE("paused\0x")},
        &err));
    ok(store_definitions_set(fx.store, 7, &err));
    ok(store_meta_set(fx.store, META_IDS, HIGHEST_ID, &err));
}

/* Rows of tables whose nouns have their own tests. */
static const struct {
    const char *table, *values;
} other_rows[] = {
    {"lanes", "7000, 1"},
    {"gates", "7001, 1, 0, 'r', '', 0, '{}', 2, NULL, 0, 0, 'why', 0, NULL, 0, 0"},
    {"gate_uses", "2, 7001, 2, 5"},
    {"uniques", "0, -1, 7, 2, 1, 0, 0"},
    {"gone_scopes", "77"},
    {"schedules", "7003, 'tick', '{\"every\":\"1m\",\"queue\":\"work\"}', 0, 5, 6, 0, 1, 1, 0, 0"},
    {"firings", "7003, 1, 1, 5, 5, 1, 6, 0, 'why'"},
    {"expiries", "1, 7, 8"},
    {"drops", "7002, 1, 1, 2, 'why'"},
    {"filter_counts", "1, 1, 0, 3"},
    {"filter_waits", "7003, 1, 5, 0, 'why'"},
    {"groups", "7004,'k','n',1,1,7004,0,3,2,1,0,0,1,0,0,0,0,2,9,0,0,5,6,7,8,'{}','{}','key',10"},
    {"group_kinds", "7005, 'k', '{}'"},
};

static void fill(void)
{
    const int64_t running[] = {OWNER, 2, 3};

    n_jobs = pg_is_wanted() ? 300
                            : 3000; /* each needs some answers of a database that is far away */
    queue = add_queue("q");
    (void)add_queue("empty one");
    begin();
    for (int64_t id = 1; id <= n_jobs; id++)
        add_job(id, queue);
    add_odd_job(n_jobs + 1, slice_make("a\0b", 3), slice_make("\0\xFF", 2));
    add_odd_job(n_jobs + 2, slice_make("a\0c\n", 4), slice_make("", 0));
    add_odd_job(n_jobs + 3, SLICE("\xFFkey"), slice_make(NULL, 0));
    claim_jobs(TOKEN, running, ARRAY_LEN(running));
    for (int64_t id = 4; id < n_jobs / 3; id++)
        end_job(id, (enum job_state)(JOB_DONE + id % 4), id % 3 == 0 ? "" : "ended so");
    for (int64_t id = n_jobs / 3; id < n_jobs / 2; id++)
        wait_in(id, id % 2 == 0 ? JOB_HELD : JOB_SCHEDULED);
    for (int64_t id = 5; id < n_jobs / 4; id += 10)
        add_record(id);
    stage_jobs();
    publish();
    add_links();
    add_surroundings();
    commit();
    for (size_t i = 0; i < ARRAY_LEN(other_rows); i++) {
        char sql[300];

        snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (%s)", other_rows[i].table,
                 other_rows[i].values);
        raw_sql(sql);
    }
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
}

static int setup(void **state)
{
    target = powercut_new(TARGET_DISK, 1);
    if (pg_is_wanted())
        pg_schema_make(&place);
    return fixture_setup(state);
}

static int teardown(void **state)
{
    (void)fault_arm(NULL);
    if (pg_is_wanted())
        pg_schema_drop(&place);
    return fixture_teardown(state) == 0 && powercut_free(target) ? 0 : -1;
}

/* ---- the target ---- */

static const struct store_config on_disk = {.dir = "/copy", .vfs = TARGET_DISK};

static struct store_config target_config(void)
{
    struct store_config shared = {.url = place.url};

    return pg_is_wanted() ? shared : on_disk;
}

static enum err_code open_target(enum store_mode mode, struct store **ret_store, struct err *err)
{
    struct store_config config = target_config();

    config.mode = mode;
    return store_open(&config, ret_store, err);
}

static int take_number(void *ctx, int n, char **values, char **names)
{
    (void)n;
    (void)names;
    *(int64_t *)ctx = values[0] == NULL ? 0 : strtoll(values[0], NULL, 10);
    return 0;
}

static int64_t disk_number(const char *sql)
{
    sqlite3 *db = NULL;
    int64_t value = -1;
    char *message = NULL;

    assert_int_equal(sqlite3_open_v2("/copy/waybill.db", &db, SQLITE_OPEN_READWRITE, TARGET_DISK),
                     SQLITE_OK);
    if (sqlite3_exec(db, sql, take_number, &value, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
    return value;
}

static int64_t target_number(const char *sql)
{
    return pg_is_wanted() ? raw_postgres(&place, sql) : disk_number(sql);
}

/* ---- copying ---- */

struct watcher {
    const char *damage;                /* SQL for the target, when everything was copied */
    const struct powercut_plan *fault; /* of the target's disk, when the first rows were copied */
    int64_t parts;
    int64_t bytes_before, bytes_max; /* of one part */
    int64_t findings;
};

static void watch(void *ctx, const struct store_copy_progress *p)
{
    struct watcher *w = ctx;

    if (p->stage == STORE_COPY_COMPARE && w->damage != NULL) {
        (void)target_number(w->damage);
        w->damage = NULL;
    }
    if (p->stage != STORE_COPY_ROWS)
        return;
    if (w->fault != NULL)
        powercut_fail(target, w->fault);
    w->fault = NULL;
    w->parts++;
    if (p->bytes - w->bytes_before > w->bytes_max)
        w->bytes_max = p->bytes - w->bytes_before;
    w->bytes_before = p->bytes;
}

static void take_finding(void *ctx, const char *finding)
{
    struct watcher *w = ctx;

    (void)finding;
    w->findings++;
}

static enum err_code copy(struct watcher *w, struct store_copy_result *ret_result, struct err *err)
{
    const struct store_copy how = {.from = fixture_config(STORE_READ),
                                   .to = target_config(),
                                   .on_progress = watch,
                                   .on_finding = take_finding,
                                   .ctx = w};

    return store_copy_run(&how, ret_result, err);
}

static void copies_well(void)
{
    struct store_copy_result result;
    struct watcher w = {0};
    struct store *s = NULL;

    ok(copy(&w, &result, &err));
    assert_true(result.agrees);
    ok(open_target(STORE_WRITE, &s, &err));
    assert_int_equal(findings(s, STORE_CHECK_FULL, NULL), 0);
    store_close(s);
}

static void is_refused(enum err_code code, const char *why)
{
    struct store_copy_result result;
    struct watcher w = {0};
    struct err err = ERR_INIT;

    assert_int_equal(copy(&w, &result, &err), code);
    if (strstr(err.msg, why) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.msg, why);
}

static void cannot_be_opened(void)
{
    struct store *s = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(open_target(STORE_WRITE, &s, &err), E_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "was not finished"));
    assert_int_equal(open_target(STORE_READ, &s, &err), E_UNAVAILABLE);
}

/* ---- the tests ---- */

/* In the order of the schema. */
static const char *const tables[] = {
    "queues",    "workers", "jobs",        "ended",     "endings",       "payload",
    "progress",  "claims",  "keys",        "counts",    "logs",          "work",
    "emitters",  "emits",   "cursors",     "log_times", "queue_log",     "waits",
    "releases",  "signals", "joins",       "arrivals",  "undone",        "revivals",
    "shared",    "spreads", "follows",     "members",   "lanes",         "gates",
    "gate_uses", "uniques", "gone_scopes", "drops",     "filter_counts", "filter_waits",
    "schedules", "firings", "expiries",    "groups",    "group_kinds"};

/* A row as text, NULL, numbers, texts and bytes told apart; all but the node. */
static void add_row(sqlite3_stmt *stmt, struct buf *out)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++) {
        const unsigned char *data = sqlite3_column_blob(stmt, i);
        int size = sqlite3_column_bytes(stmt, i);

        if (strcmp(sqlite3_column_name(stmt, i), "node") == 0)
            continue;
        buf_addf(out, "%d:", sqlite3_column_type(stmt, i));
        for (int k = 0; k < size; k++)
            buf_addf(out, "%02x", data[k]);
        buf_add_char(out, ' ');
    }
    buf_add_char(out, '\n');
}

static void dump(const char *file, const char *vfs, const char *table, struct buf *out)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    char sql[100];

    snprintf(sql, sizeof(sql), "SELECT *, 0 FROM %s ORDER BY 1, 2", table);
    assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READWRITE, vfs), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    while (sqlite3_step(stmt) == SQLITE_ROW)
        add_row(stmt, out);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    assert_false(out->overflowed);
}

static void everything_goes_along(void **state)
{
    struct store_copy_result result;
    struct watcher w = {0};

    (void)state;
    only_embedded("there is a test of its own");
    fill();
    ok(copy(&w, &result, &err));
    assert_true(result.agrees);
    assert_int_equal(target_number("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table'"),
                     ARRAY_LEN(tables) + 1); /* and meta, which is looked at below */
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        CLEANUP(buf) struct buf from = BUF_INIT((size_t)8 << 20);
        CLEANUP(buf) struct buf to = BUF_INIT((size_t)8 << 20);

        dump(FIXTURE_FILE, "store-test", tables[i], &from);
        dump("/copy/waybill.db", TARGET_DISK, tables[i], &to);
        assert_true(from.size > 0);
        assert_string_equal(buf_text(&from), buf_text(&to));
        assert_string_equal(result.tables[i].name, tables[i]);
        assert_true(result.tables[i].from.rows > 0);
    }
    assert_int_equal(result.tables[2].from.rows + result.tables[3].from.rows, n_jobs + 8);
    assert_int_equal(target_number("SELECT value FROM meta WHERE key = 'definitions'"), 7);
    assert_int_equal(target_number("SELECT value FROM meta WHERE key = 'queues'"), 2);
    assert_int_equal(target_number("SELECT COUNT(*) FROM meta WHERE key = 'copying'"), 0);
}

static void copy_on(struct store_config from, struct store_config to,
                    struct store_copy_result *ret_result)
{
    const struct store_copy how = {.from = from, .to = to};

    ok(store_copy_run(&how, ret_result, &err));
    assert_true(ret_result->agrees);
}

/* By way of an embedded store into another schema: everywhere the same. */
static void everything_goes_from_postgresql_to_a_disk_and_back(void **state)
{
    struct store_copy_result there;
    struct store_copy_result back;
    const char *emitted = "SELECT COUNT(*) FROM jobs WHERE id = 1 AND "
                          "history LIKE '%\"emitted\":%'";

    (void)state;
    if (!pg_is_wanted())
        skip();
    fill();
    copy_on(fixture_config(STORE_READ), on_disk, &there);
    assert_int_equal(disk_number(emitted), 0);
    copy_on(on_disk, target_config(), &back);
    assert_int_equal(target_number(emitted), 1); /* servers that share it need that */
    for (int i = 0; i < STORE_COPY_TABLES; i++) {
        assert_true(there.tables[i].from.rows > 0);
        assert_int_equal(there.tables[i].from.rows, back.tables[i].to.rows);
        if (i < STORE_COPY_TABLES - 1)
            assert_true(there.tables[i].from.sum == back.tables[i].to.sum);
    }
    struct store_copy_result third;

    assert_true(powercut_free(target));
    target = powercut_new(TARGET_DISK, 1);
    copy_on(target_config(), on_disk, &third);
    assert_int_equal(disk_number(emitted), 0);
}

static void the_source_is_not_written_to(void **state)
{
    (void)state;
    only_embedded("it counts the writes of a disk");
    fill();
    fixture_reopen();
    int64_t writes = powercut_count(fx.disk, POWERCUT_WRITE);

    copies_well();
    assert_int_equal(powercut_count(fx.disk, POWERCUT_WRITE), writes);
}

static void what_a_killed_server_left_is_copied(void **state)
{
    (void)state;
    only_embedded("it kills a disk");
    fill();
    powercut_kill(fx.disk);
    copies_well();
    store_abandon(fx.store);
    fx.store = fixture_open(STORE_WRITE);
}

static void counts_of_nodes_are_added_up_and_claims_are_nobodys(void **state)
{
    (void)state;
    fill();
    raw_sql("UPDATE counts SET node = 5 WHERE state = 4");
    raw_sql("INSERT INTO counts (queue, state, node, n) SELECT queue, state, 9, 10 FROM counts "
            "WHERE node = 5");
    raw_sql("UPDATE counts SET n = n - 10 WHERE node = 5");
    copies_well();
    assert_int_equal(target_number("SELECT COUNT(*) FROM counts WHERE node <> 0"), 0);
    assert_int_equal(target_number("SELECT SUM(n) FROM counts"), n_jobs + 8);
    assert_int_equal(target_number("SELECT COUNT(*) FROM claims WHERE node = 0"), 1);
    if (pg_is_wanted())
        assert_int_equal(target_number("SELECT alive_until_at FROM servers WHERE node = 0"), 1);
}

static void no_id_is_made_twice(void **state)
{
    (void)state;
    fill();
    copies_well();
    assert_int_equal(target_number("SELECT value FROM meta WHERE key = 'ids'"), HIGHEST_ID);
}

static void an_id_above_the_mark_is_the_mark(void **state)
{
    (void)state;
    fill();
    raw_sql("UPDATE meta SET value = 5 WHERE key = 'ids'");
    copies_well();
    assert_int_equal(target_number("SELECT value FROM meta WHERE key = 'ids'"), 800000);
}

static void large_jobs_go_along_few_at_a_time(void **state)
{
    enum { LARGE = 15, BYTES = 1 << 20 };
    struct store_copy_result result;
    struct watcher w = {0};
    CLEANUP(mem) char *body = mem_zalloc(BYTES);

    (void)state;
    queue = add_queue("q");
    begin();
    for (int64_t id = 1; id <= LARGE; id++) {
        char key[32];

        body[id] = (char)id;
        snprintf(key, sizeof(key), "large %lld", (long long)id);
        add_odd_job(id, slice_of(key), slice_make(body, BYTES));
    }
    commit();
    ok(copy(&w, &result, &err));
    assert_true(result.agrees);
    assert_true(result.bytes > (int64_t)LARGE * BYTES);
    assert_true(w.bytes_max < 6 * (int64_t)BYTES);
}

static void damage_to_the_target_is_found(void **state)
{
    static const char *const damages[] = {
        "UPDATE payload SET body = x'00FE' WHERE body = x'00FF'",
        "UPDATE payload SET body = NULL WHERE LENGTH(body) = 0",
        "UPDATE payload SET params = ' {\"n\":7}' WHERE id = 7",
        "UPDATE jobs SET priority = 1 WHERE id = (SELECT MAX(id) FROM jobs WHERE state = 4)",
        "UPDATE ended SET history = NULL WHERE id = 5",
        "DELETE FROM logs WHERE job = 5",
        "UPDATE logs SET data = x'00' WHERE job = 5",
        "UPDATE log_times SET marks = x'' WHERE job = 5",
        "UPDATE progress SET exit = 0 WHERE exit IS NULL",
        "INSERT INTO workers (id, name, pid, seen_at) VALUES (99, 'new', 1, 1)",
        "UPDATE queues SET definition = '{ }'",
        "UPDATE queue_log SET text = 'paused'",
        "UPDATE endings SET jobs = x''",
        "UPDATE claims SET lease_us = 1",
        "UPDATE claims SET worker = lease_us, lease_us = worker",
        ("UPDATE payload SET params = CASE id WHEN 7 THEN '{\"n\":8}' ELSE '{\"n\":7}' END "
         "WHERE id IN (7, 8)"),
        "UPDATE keys SET content = 1",
        "UPDATE keys SET key = 'a' WHERE job = (SELECT MAX(job) FROM keys)",
        "UPDATE counts SET n = n + 1 WHERE state = 4",
        "UPDATE work SET cursor = 0",
        "UPDATE emits SET contents = NULL",
        "UPDATE emitters SET seq = 2",
        "UPDATE cursors SET cursor = '{}'",
        "DELETE FROM meta WHERE key = 'ids'",
        "UPDATE meta SET value = 8 WHERE key = 'definitions'",
    };

    (void)state;
    fill();
    for (size_t i = 0; i < ARRAY_LEN(damages); i += pg_is_wanted() ? 3 : 1) {
        struct watcher w = {.damage = damages[i]};
        struct store_copy_result result = {.agrees = true};

        ok(copy(&w, &result, &err));
        if (result.agrees)
            fail_msg("nobody has noticed: %s", damages[i]);
        cannot_be_opened();
    }
    copies_well();
}

/* What is damaged in the source already is the same in the target, and sound in neither. */
static void a_damaged_source_gives_no_sound_copy(void **state)
{
    struct store_copy_result result = {.agrees = true};
    struct watcher w = {0};

    (void)state;
    fill();
    raw_sql("UPDATE counts SET n = n + 1 WHERE state = 4");
    ok(copy(&w, &result, &err));
    assert_false(result.agrees);
    assert_int_equal(w.findings, 1);
    assert_int_equal(result.findings, 1);
    cannot_be_opened();
}

static void take_new_target(void)
{
    if (pg_is_wanted()) {
        pg_schema_drop(&place);
        pg_schema_make(&place);
        return;
    }
    assert_true(powercut_free(target));
    target = powercut_new(TARGET_DISK, 1);
}

static bool is_marked(void)
{
    return (pg_is_wanted() ||
            target_number("SELECT COUNT(*) FROM sqlite_master WHERE name = 'meta'") == 1) &&
           target_number("SELECT COUNT(*) FROM meta WHERE key = 'copying'") == 1;
}

/* It ends at each of its commits, one after the other, always on a new disk. */
static void a_copy_that_ended_early_is_not_opened_and_can_be_repeated(void **state)
{
    int marked = 0;

    (void)state;
    fill();
    for (int at = 1;; at++) {
        struct store_copy_result result = {.agrees = false};
        struct watcher w = {0};
        struct err err = ERR_INIT;
        char plan[40];

        take_new_target();
        snprintf(plan, sizeof(plan), "commit.before:%d:fail", at);
        assert_true(fault_arm(plan));
        enum err_code code = copy(&w, &result, &err);

        assert_true(fault_arm(NULL));
        if (code == E_OK)
            break;
        if (is_marked()) {
            marked++;
            cannot_be_opened();
        }
        copies_well();
    }
    assert_true(marked >= 3);
}

struct cutter {
    int64_t left; /* writes and syncs until the power goes */
    uint64_t seed;
};

static void cut_in_time(void *ctx, enum powercut_io io)
{
    struct cutter *c = ctx;

    (void)io;
    if (--c->left == 0)
        powercut_cut(target, c->seed);
}

/* The power goes ever later; true when it lasted to the end. */
static bool survives_a_cut(int64_t at)
{
    struct cutter cutter = {.left = at, .seed = (uint64_t)at};
    struct store_copy_result result = {.agrees = false};
    struct watcher w = {0};
    struct err err = ERR_INIT;

    take_new_target();
    powercut_watch(target, cut_in_time, &cutter);
    enum err_code code = copy(&w, &result, &err);

    powercut_watch(target, NULL, NULL);
    if (code == E_OK)
        return true;
    assert_true(cutter.left <= 0);
    copies_well();
    return false;
}

static void a_copy_that_lost_its_power_can_be_repeated(void **state)
{
    int cuts = 0;

    (void)state;
    only_embedded("it cuts the power of a disk");
    fill();
    for (int64_t at = 3; !survives_a_cut(at); at = at * 3 / 2 + 1)
        cuts++;
    assert_true(cuts > 5);
}

static void a_store_with_something_in_it_is_no_target(void **state)
{
    (void)state;
    fill();
    copies_well();
    is_refused(E_CONFLICT, "there are rows in jobs");
    assert_int_equal(target_number("SELECT COUNT(*) FROM jobs") +
                         target_number("SELECT COUNT(*) FROM ended"),
                     n_jobs + 8);
}

/* As a server makes it when it is started for the first time. */
static void make_new_target(const char *sql)
{
    struct store *s = NULL;

    ok(open_target(STORE_WRITE, &s, &err));
    store_close(s);
    (void)target_number(
        "DELETE FROM queues; DELETE FROM meta WHERE key NOT IN ('running', 'version')");
    (void)target_number("INSERT INTO queues VALUES (1, 'default', 1, '{}', 0, 5, 0)");
    (void)target_number(sql);
}

static void a_store_that_a_server_has_only_been_started_on_is_empty(void **state)
{
    (void)state;
    fill();
    assert_int_equal(QUEUE_UP, 1);
    make_new_target("INSERT INTO meta VALUES ('queues', 1), ('workers', 1), ('ids', 5)");
    (void)target_number("INSERT INTO workers (id, name, pid, seen_at) VALUES (1, 'local', 5, 5)");
    (void)target_number("INSERT INTO queue_log VALUES (1, 1, 5, 'state', 'up')");
    (void)target_number("INSERT INTO counts VALUES (1, 4, 0, 0)");
    copies_well();
    assert_int_equal(target_number("SELECT COUNT(*) FROM queues"), 2);
    assert_int_equal(target_number("SELECT COUNT(*) FROM workers"), 1);
}

static void a_store_with_definitions_is_not_empty(void **state)
{
    (void)state;
    fill();
    make_new_target("INSERT INTO meta VALUES ('definitions', 2)");
    is_refused(E_CONFLICT, "definitions were applied");
    make_new_target("UPDATE queues SET state = 2");
    is_refused(E_CONFLICT, "the queue default");
    make_new_target("INSERT INTO queues VALUES (2, 'mine', 1, '{}', 0, 5, 0)");
    is_refused(E_CONFLICT, "the queue mine");
    assert_int_equal(target_number("SELECT COUNT(*) FROM queues"), 2);
}

static void a_source_of_another_version_is_refused(void **state)
{
    (void)state;
    only_embedded("the version is SQLite's own");
    fill();
    int64_t version = raw_number("PRAGMA user_version");

    raw_sql("PRAGMA user_version = 2");
    is_refused(E_INVALID, "it has version 2");
    raw_sql("PRAGMA user_version = 99");
    is_refused(E_UNAVAILABLE, "use the newer waybill");
    assert_int_equal(powercut_size(target, "/copy/waybill.db"), -1); /* nothing was begun */
    char back[40];

    snprintf(back, sizeof(back), "PRAGMA user_version = %lld", (long long)version);
    raw_sql(back);
    copies_well();
}

static void a_target_of_a_newer_version_is_refused(void **state)
{
    struct store *s = NULL;

    (void)state;
    only_embedded("the version is SQLite's own");
    fill();
    ok(open_target(STORE_WRITE, &s, &err));
    store_close(s);
    (void)target_number("PRAGMA user_version = 99");
    is_refused(E_UNAVAILABLE, "use the newer waybill");
}

static void where_there_is_no_source_nothing_is_copied(void **state)
{
    struct store_copy how = {.from = {.dir = "/nowhere", .vfs = "store-test"}, .to = on_disk};
    struct store_copy_result result;
    struct err err = ERR_INIT;

    (void)state;
    only_embedded("it is about a directory");
    assert_int_not_equal(store_copy_run(&how, &result, &err), E_OK);
    assert_non_null(strstr(err.msg, "the source"));
    assert_int_equal(powercut_size(target, "/copy/waybill.db"), -1);
}

static void a_full_disk_is_told_and_the_copy_repeated(void **state)
{
    const struct powercut_plan full = {
        .io = POWERCUT_GROW, .nth = 1, .times = POWERCUT_FOR_EVER, .code = SQLITE_FULL};
    struct watcher w = {.fault = &full};
    struct store_copy_result result;
    struct err err = ERR_INIT;

    (void)state;
    only_embedded("it fills a disk");
    fill();
    assert_int_equal(copy(&w, &result, &err), E_FULL);
    assert_non_null(strstr(err.msg, "the disk of the store is full"));
    powercut_heal(target);
    cannot_be_opened();
    copies_well();
}

static void a_shared_store_is_not_copied_while_somebody_is_there(void **state)
{
    struct store_view view;

    (void)state;
    if (!pg_is_wanted())
        skip();
    fill();
    ok(store_begin_shared(fx.store, STORE_BESIDE, &view, &err));
    is_refused(E_UNAVAILABLE, "the source: a server or another copy");
    store_rollback(fx.store);
    raw_sql("INSERT INTO servers VALUES (3, 'm', 1, 0, 7, 9000000000000000000, 0, 0, 'h', 5, '1', "
            "'u', 0)");
    is_refused(E_UNAVAILABLE, "the source: server m on h is running there");
    raw_sql("UPDATE servers SET alive_until_at = 1, ids_mark = 1000000");
    make_new_target(
        "INSERT INTO servers VALUES (3, 'm', 1, 0, 7, 9000000000000000000, 0, 0, 'h', 5, "
        "'1', 'u', 0)");
    is_refused(E_UNAVAILABLE, "the target: server m on h is running there");
    (void)target_number("UPDATE servers SET alive_until_at = 0");
    copies_well();
    assert_int_equal(target_number("SELECT value FROM meta WHERE key = 'ids'"), 1000000);
    is_refused(E_CONFLICT, "not empty");
}

static void a_server_does_not_join_half_of_a_copy(void **state)
{
    const struct store_member member = {.name = "m", .host = "h", .version = "1", .url = "u"};
    struct store_seat seat;
    struct err refused = ERR_INIT;

    (void)state;
    if (!pg_is_wanted())
        skip();
    raw_sql("INSERT INTO meta VALUES ('copying', 5)");
    assert_int_equal(store_join(fx.store, &member, US_PER_MIN, &seat, &refused), E_UNAVAILABLE);
    assert_non_null(strstr(refused.msg, "was not finished"));
    raw_sql("DELETE FROM meta WHERE key = 'copying'");
    ok(store_join(fx.store, &member, US_PER_MIN, &seat, &err));
    store_leave(fx.store);
}

#define COPY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        COPY_TEST(everything_goes_along),
        COPY_TEST(everything_goes_from_postgresql_to_a_disk_and_back),
        COPY_TEST(the_source_is_not_written_to),
        COPY_TEST(what_a_killed_server_left_is_copied),
        COPY_TEST(counts_of_nodes_are_added_up_and_claims_are_nobodys),
        COPY_TEST(no_id_is_made_twice),
        COPY_TEST(an_id_above_the_mark_is_the_mark),
        COPY_TEST(large_jobs_go_along_few_at_a_time),
        COPY_TEST(damage_to_the_target_is_found),
        COPY_TEST(a_damaged_source_gives_no_sound_copy),
        COPY_TEST(a_copy_that_ended_early_is_not_opened_and_can_be_repeated),
        COPY_TEST(a_copy_that_lost_its_power_can_be_repeated),
        COPY_TEST(a_store_with_something_in_it_is_no_target),
        COPY_TEST(a_store_that_a_server_has_only_been_started_on_is_empty),
        COPY_TEST(a_store_with_definitions_is_not_empty),
        COPY_TEST(a_source_of_another_version_is_refused),
        COPY_TEST(a_target_of_a_newer_version_is_refused),
        COPY_TEST(where_there_is_no_source_nothing_is_copied),
        COPY_TEST(a_full_disk_is_told_and_the_copy_repeated),
        COPY_TEST(a_shared_store_is_not_copied_while_somebody_is_there),
        COPY_TEST(a_server_does_not_join_half_of_a_copy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
