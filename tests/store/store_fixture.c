/* SPDX-License-Identifier: MIT */
#include "store_fixture.h"

#include <sqlite3.h>

#include "store/jobs/claims.h"
#include "store/meta.h"
#include "store/queues.h"

struct fixture fx;

void only_embedded(const char *why)
{
    if (!pg_is_wanted())
        return;
    print_message("not on PostgreSQL: %s\n", why);
    skip();
}

struct store_config fixture_config(enum store_mode mode)
{
    return (struct store_config){.url = pg_is_wanted() ? fx.place.url : NULL,
                                 .dir = FIXTURE_DIR,
                                 .mode = mode,
                                 .vfs = "store-test"};
}

struct store *fixture_open(enum store_mode mode)
{
    struct store_config config = fixture_config(mode);
    struct store *s = NULL;

    ok(store_open(&config, &s, &err));
    return s;
}

int fixture_setup(void **state)
{
    (void)state;
    fx = (struct fixture){0};
    if (pg_is_wanted())
        pg_schema_make(&fx.place);
    else
        fx.disk = powercut_new("store-test", 1);
    fx.store = fixture_open(STORE_WRITE);
    return 0;
}

int fixture_teardown(void **state)
{
    (void)state;
    store_close(fx.store);
    arena_deinit(&fx.arena);
    if (fx.disk != NULL)
        return powercut_free(fx.disk) ? 0 : -1;
    pg_schema_drop(&fx.place);
    return 0;
}

void fixture_reopen(void)
{
    store_close(fx.store);
    fx.store = fixture_open(STORE_WRITE);
}

void fixture_power_cut(uint64_t seed)
{
    if (fx.disk != NULL)
        powercut_cut(fx.disk, seed);
    store_abandon(fx.store);
    fx.store = fixture_open(STORE_WRITE);
}

void begin(void)
{
    ok(store_begin(fx.store, &err));
}

void commit(void)
{
    ok(store_commit(fx.store, &err));
}

int64_t add_queue(const char *name)
{
    struct stored_queue q = {.name = slice_of(name), .state = QUEUE_UP, .definition = SLICE("{}")};
    int64_t id = 0;

    begin();
    ok(store_queue_add(fx.store, &q, &id, &err));
    commit();
    return id;
}

static void count(int64_t queue, enum job_state state, int64_t n)
{
    struct store_count c = {.queue = queue, .state = state, .n = n};

    ok(store_counts_add(fx.store, 1, &c, 1, &err));
}

void count_move(int64_t queue, enum job_state from, enum job_state to)
{
    if (from != JOB_NONE)
        count(queue, from, -1);
    if (to != JOB_NONE)
        count(queue, to, 1);
}

struct job add_job(int64_t id, int64_t queue)
{
    struct buf params = BUF_INIT(100);

    buf_addf(&params, "{\"n\":%lld}", (long long)id);
    struct job j = {.id = {id},
                    .queue = queue,
                    .state = JOB_READY,
                    .params = arena_copy(&fx.arena, buf_slice(&params))};

    buf_deinit(&params);
    ok(store_jobs_insert(fx.store, &j, 1, &err));
    count_move(queue, JOB_NONE, JOB_READY);
    return j;
}

struct job get_job(int64_t id)
{
    struct job j = {.state = JOB_NONE};
    bool found = false;

    ok(store_job_load(fx.store, id, LOAD_ALL, &fx.arena, &j, &found, &err));
    assert_true(found);
    return j;
}

bool job_is_there(int64_t id)
{
    struct job j = {.state = JOB_NONE};
    bool found = false;

    ok(store_job_load(fx.store, id, LOAD_ALL, &fx.arena, &j, &found, &err));
    return found;
}

/* Claims of a shared store are a server's, here one that has gone and is not buried yet. */
static void have_server(void)
{
    if (pg_is_wanted())
        raw_postgres(&fx.place, "INSERT INTO servers (node, name, incarnation, batch, ids_mark, "
                                "alive_until_at, former, former_batch, pid, joined_at) "
                                "VALUES (1, 'fixture', 1, 0, 0, 1, 0, 0, 0, 0) "
                                "ON CONFLICT (node) DO NOTHING");
}

void claim_jobs(int64_t token, const int64_t *ids, size_t n)
{
    struct store_claim claim = {.token = token,
                                .node = 1,
                                .now_at = NOW_AT,
                                .lease_us = US_PER_MIN,
                                .until_at = NOW_AT + US_PER_MIN};
    struct job *jobs = arena_array(&fx.arena, n, sizeof(*jobs));

    have_server();
    for (size_t i = 0; i < n; i++)
        jobs[i].id.v = ids[i];
    ok(store_jobs_claim(fx.store, &claim, jobs, n, &fx.arena, &err));
    ok(store_claim_add(fx.store, &claim, ids, n, &err));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(jobs[i].state, JOB_RUNNING);
        count_move(jobs[i].queue, JOB_READY, JOB_RUNNING);
    }
}

/* ---- checks ---- */

struct seen {
    const char *text;
    int count;
    bool hit;
};

static void see(void *ctx, const char *finding)
{
    struct seen *seen = ctx;

    seen->count++;
    seen->hit = seen->hit || (seen->text != NULL && strstr(finding, seen->text) != NULL);
}

int findings(struct store *s, enum store_check how, const char *text)
{
    struct seen seen = {.text = text};

    ok(store_verify(s, how, see, &seen, &err));
    if (text != NULL && !seen.hit)
        fail_msg("no finding says \"%s\"", text);
    return seen.count;
}

static int take_number(void *ctx, int n, char **values, char **names)
{
    (void)n;
    (void)names;
    *(int64_t *)ctx = values[0] == NULL ? 0 : strtoll(values[0], NULL, 10);
    return 0;
}

/* x'00' is '\x00' there. */
int64_t raw_postgres(const struct pg_schema *place, const char *sql)
{
    CLEANUP(buf) struct buf text = BUF_INIT(10000);

    for (const char *p = sql; *p != '\0'; p++) {
        bool is_blob = p[0] == 'x' && p[1] == '\'';

        buf_add_str(&text, is_blob ? "'\\x" : "");
        if (is_blob)
            p++;
        else
            buf_add_char(&text, *p);
    }
    return pg_schema_number(place, buf_text(&text));
}

int64_t raw_number(const char *sql)
{
    if (pg_is_wanted())
        return raw_postgres(&fx.place, sql);
    sqlite3 *db = NULL;
    int64_t value = -1;
    char *message = NULL;

    assert_int_equal(sqlite3_open_v2(FIXTURE_FILE, &db, SQLITE_OPEN_READWRITE, "store-test"),
                     SQLITE_OK);
    if (sqlite3_exec(db, sql, take_number, &value, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(db);
    return value;
}

void raw_sql(const char *sql)
{
    (void)raw_number(sql);
}
