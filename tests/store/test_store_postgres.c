/*
 * PostgreSQL behind the seam: values, sets and pipelines, connections that are lost and come back,
 * what cannot be reached, migrations side by side, news.
 */
/* SPDX-License-Identifier: MIT */
#include <libpq-fe.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os/fault.h"
#include "store/db/module.h"
#include "store/internal.h"
#include "store/jobs/claims.h"
#include "store/meta.h"
#include "store/queues.h"
#include "store/shared.h"
#include "store_fixture.h"

enum { WITHIN_S = 20, BIG = 1 << 20 };

/* ---- words ---- */

/* The fixture's store under a name by which its backends are found. */
static struct store *open_named(const char *name, enum store_mode mode)
{
    struct store_config config = fixture_config(mode);
    char url[640];
    struct store *s = NULL;

    snprintf(url, sizeof(url), "%s&application_name=%s", fx.place.url, name);
    config.url = url;
    ok(store_open(&config, &s, &err));
    return s;
}

/* Ends the backends of that name, and waits until they are gone. */
static int64_t kill_backends(const char *name)
{
    char sql[256];

    snprintf(sql, sizeof(sql),
             "SELECT COUNT(CASE WHEN pg_terminate_backend(pid, 10000) THEN 1 END)"
             " FROM pg_stat_activity WHERE application_name = '%s'",
             name);
    return raw_number(sql);
}

static int64_t meta_of(struct store *s, const char *key)
{
    int64_t value = -1;

    ok(store_meta_get(s, key, &value, &err));
    return value;
}

static void set_meta(struct store *s, const char *key, int64_t value)
{
    ok(store_begin(s, &err));
    ok(store_meta_set(s, key, value, &err));
    ok(store_commit(s, &err));
}

/* A URL that differs from the cluster's in what comes last. */
static const char *url_with(const char *tail)
{
    static char url[1024];

    snprintf(url, sizeof(url), "%s&%s", fx.place.url, tail);
    return url;
}

static void refused(const char *url, enum err_code code, const char *says)
{
    struct store_config config = {.url = url, .mode = STORE_WRITE};
    struct store *s = NULL;
    struct err why = ERR_INIT;

    assert_int_equal(store_open(&config, &s, &why), code);
    if (strstr(why.msg, says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", why.msg, says);
    assert_null(strstr(why.msg, "s3cret"));
}

/* ---- statements and values ---- */

static void every_statement_is_understood(void **state)
{
    PGconn *c = PQconnectdb(fx.place.url);

    (void)state;
    assert_int_equal(PQstatus(c), CONNECTION_OK);
    for (int i = 0; i < SQL_COUNT; i++) {
        const struct sql_text *text = &sql_texts[i];

        if (text->postgres == NULL)
            continue;
        PGresult *r = PQprepare(c, text->name, text->postgres, 0, NULL);

        if (PQresultStatus(r) != PGRES_COMMAND_OK)
            fail_msg("%s: %s", text->name, PQerrorMessage(c));
        PQclear(r);
    }
    PQfinish(c);
}

static void assert_slice(struct slice got, struct slice wanted)
{
    assert_int_equal(got.size, wanted.size);
    assert_int_equal(got.data == NULL, wanted.data == NULL);
    if (wanted.size > 0)
        assert_memory_equal(got.data, wanted.data, wanted.size);
}

static void values_come_back_as_they_went(void **state)
{
    static char big[BIG];
    int64_t queue = add_queue("q");
    const struct job jobs[] = {
        {.id = {1}, .queue = queue, .state = JOB_READY, .priority = -5},
        {.id = {INT64_MAX}, .queue = queue, .state = JOB_SCHEDULED, .due_at = INT64_MAX - 1},
        {.id = {3},
         .queue = queue,
         .state = JOB_READY,
         .key = slice_make("k\0\xFF\\", 4),
         .params = SLICE("{\"a\":\"\xC3\xA4'\\u0007\"}"),
         .body = slice_make("\0\1\0", 3),
         .labels = SLICE("{}"),
         .options = SLICE("{\"timeout\":1}")},
        {.id = {4}, .queue = queue, .state = JOB_READY, .body = slice_make("", 0)},
        {.id = {5}, .queue = queue, .state = JOB_READY, .params = slice_make(big, BIG)},
    };

    (void)state;
    memset(big, ' ', BIG); /* of an object that is mostly white space */
    big[0] = '{';
    big[BIG - 1] = '}';
    begin();
    ok(store_jobs_insert(fx.store, jobs, ARRAY_LEN(jobs), &err));
    commit();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        struct job j = get_job(jobs[i].id.v);

        assert_int_equal(j.priority, jobs[i].priority);
        assert_int_equal(j.due_at, jobs[i].due_at);
        assert_int_equal(j.state, jobs[i].state);
        assert_slice(j.key, jobs[i].key);
        assert_slice(j.params, jobs[i].params);
        assert_slice(j.body, jobs[i].body);
        assert_slice(j.labels, jobs[i].labels);
        assert_slice(j.options, jobs[i].options);
        assert_slice(j.result, slice_make(NULL, 0));
    }
}

static void a_set_without_rows_does_nothing(void **state)
{
    struct db_value none[6];
    struct db_rows hot = {none, 0, 5}, carried = {none, 0, 6}, ids = {none, 0, 1};
    int64_t changed = 7;

    (void)state;
    begin();
    ok(db_do(fx.store->db, SQL_JOBS_INSERT, &err, db_r(&hot)));
    ok(db_do(fx.store->db, SQL_PAYLOAD_INSERT, &err, db_r(&carried)));
    ok(db_change(fx.store->db, SQL_JOBS_CLAIM, &changed, &err, db_r(&ids), db_i(1), db_i(1),
                 db_i(1), db_i(1)));
    commit();
    assert_int_equal(changed, 0);
    assert_int_equal(raw_number("SELECT COUNT(*) FROM jobs"), 0);
}

static void sets_come_in_the_order_in_which_they_are_asked_for(void **state)
{
    struct store_claim claim = {.token = 900, .now_at = NOW_AT, .until_at = NOW_AT + 1};
    struct job jobs[] = {{.id = {7}}, {.id = {3}}, {.id = {99}}, {.id = {5}}};
    int64_t queue = add_queue("q");

    (void)state;
    begin();
    for (int64_t id = 1; id <= 9; id++)
        add_job(id, queue);
    ok(store_jobs_claim(fx.store, &claim, jobs, ARRAY_LEN(jobs), &fx.arena, &err));
    commit();
    assert_int_equal(jobs[0].state, JOB_RUNNING);
    assert_int_equal(jobs[1].state, JOB_RUNNING);
    assert_int_equal(jobs[2].state, JOB_NONE);
    assert_int_equal(jobs[3].state, JOB_RUNNING);
    assert_string_equal(jobs[1].params.data, "{\"n\":3}");
}

/* ---- pipelines ---- */

static void take_number(void *ctx, const struct db_row *row)
{
    *(int64_t *)ctx = db_col_int(row, 0);
}

static void calls_of_one_run_are_carried_out_in_order(void **state)
{
    int64_t seen[2] = {-1, -1};
    const struct db_value key = db_t(SLICE("mark"));
    const struct db_value one[] = {key, db_i(1)}, two[] = {key, db_i(2)};
    struct db_call calls[] = {
        {.sql = SQL_META_SET, .args = one, .n_args = 2},
        {.sql = SQL_META_GET, .args = &key, .n_args = 1, .on_row = take_number, .ctx = &seen[0]},
        {.sql = SQL_META_SET, .args = two, .n_args = 2},
        {.sql = SQL_META_GET, .args = &key, .n_args = 1, .on_row = take_number, .ctx = &seen[1]},
    };

    (void)state;
    begin();
    ok(db_run(fx.store->db, calls, ARRAY_LEN(calls), &err));
    commit();
    assert_int_equal(seen[0], 1);
    assert_int_equal(seen[1], 2);
    assert_int_equal(calls[0].changed, 1);
    assert_int_equal(calls[1].changed, 0);
    assert_int_equal(meta_of(fx.store, "mark"), 2);
}

static void an_error_in_a_pipeline_stops_the_rest(void **state)
{
    const struct db_value claim[] = {db_i(5), db_i(1), db_i(1), db_i(1), db_b(SLICE("12345678"))};
    const struct db_value mark[] = {db_t(SLICE("mark")), db_i(1)};
    struct db_call calls[] = {
        {.sql = SQL_CLAIM_ADD, .args = claim, .n_args = 5},
        {.sql = SQL_CLAIM_ADD, .args = claim, .n_args = 5},
        {.sql = SQL_META_SET, .args = mark, .n_args = 2, .changed = -1},
    };
    struct err why = ERR_INIT;

    (void)state;
    begin();
    assert_int_equal(db_run(fx.store->db, calls, ARRAY_LEN(calls), &why), E_UNAVAILABLE);
    assert_non_null(strstr(why.msg, "(23505)")); /* a claim that is there: not of what came after */
    assert_true(store_is_conflict(fx.store));    /* two servers would have done the same */
    assert_int_equal(calls[2].changed, -1);
    assert_int_not_equal(store_commit(fx.store, &why), E_OK);
    store_rollback(fx.store);
    set_meta(fx.store, "mark", 3);
    assert_false(store_is_conflict(fx.store));
    assert_int_equal(raw_number("SELECT COUNT(*) FROM claims"), 0);
}

static enum err_code post_claim(struct err *err)
{
    return db_do(fx.store->db, SQL_CLAIM_ADD, err, db_i(5), db_i(1), db_i(1), db_i(1),
                 db_b(SLICE("12345678")));
}

/* Nobody waits for a statement of which nothing is asked. */
static void an_error_of_what_was_posted_shows_in_what_comes_after(void **state)
{
    struct err why = ERR_INIT;
    int64_t value = 0;

    (void)state;
    begin();
    ok(store_meta_set(fx.store, "mark", 1, &err));
    ok(post_claim(&err));
    ok(post_claim(&err));
    ok(store_meta_set(fx.store, "mark", 2, &err));
    assert_int_equal(store_meta_get(fx.store, "mark", &value, &why), E_UNAVAILABLE);
    assert_non_null(strstr(why.msg, "(23505)")); /* a claim that is there: not of what came after */
    assert_true(store_is_conflict(fx.store));
    store_rollback(fx.store);
    begin();
    ok(store_meta_set(fx.store, "mark", 1, &err));
    ok(post_claim(&err));
    ok(post_claim(&err));
    assert_int_equal(store_commit(fx.store, &why), E_UNAVAILABLE);
    assert_true(store_is_conflict(fx.store));
    store_rollback(fx.store);
    assert_int_equal(meta_of(fx.store, "mark"), -1);
    assert_int_equal(raw_number("SELECT COUNT(*) FROM claims"), 0);
}

/* Asks for itself, and posts. */
static void a_parameter_that_does_not_fit_costs_no_connection(void **state)
{
    static const char backend[] =
        "SELECT COALESCE(MAX(pid), 0) FROM pg_stat_activity WHERE application_name = 'misfit'";
    struct store *s = open_named("misfit", STORE_WRITE);
    struct err why = ERR_INIT;

    (void)state;
    int64_t before = raw_number(backend);

    ok(store_begin(s, &err));
    ok(store_meta_set(s, "mark", 1, &err));
    assert_int_equal(db_do(s->db, SQL_META_SET, &why, db_t(SLICE("mark")),
                           db_t(SLICE("no number"))),
                     E_INTERNAL);
    store_rollback(s);
    assert_int_equal(meta_of(s, "mark"), -1);
    assert_int_equal(raw_number(backend), before);
    store_close(s);
}

static void take_and_ask(void *ctx, const struct db_row *row)
{
    int64_t *seen = ctx;

    seen[0] = db_col_int(row, 0);
    ok(store_meta_set(fx.store, "mark", seen[0] + 1, &err));
    seen[1] = meta_of(fx.store, "mark");
}

static void takers_may_run_statements_themselves(void **state)
{
    int64_t seen[2] = {0};

    (void)state;
    begin();
    for (int i = 1; i <= 3; i++) {
        ok(store_meta_set(fx.store, "mark", 10 * i, &err));
        ok(db_rows(fx.store->db, SQL_META_GET, take_and_ask, seen, &err, db_t(SLICE("mark"))));
        assert_int_equal(seen[0], 10 * i);
        assert_int_equal(seen[1], 10 * i + 1);
    }
    commit();
}

struct locker {
    pthread_t thread;
    struct store *store;
    int64_t wants;
    enum err_code code;
};

static void *lock_other(void *ctx)
{
    struct locker *l = ctx;
    struct err why = ERR_INIT;

    l->code = store_job_lock(l->store, l->wants, &why);
    return NULL;
}

static void of_two_that_wait_for_each_other_one_gives_way(void **state)
{
    int64_t queue = add_queue("q");
    struct locker lockers[2] = {{.wants = 2}, {.wants = 1}};
    int given_way = 0;

    (void)state;
    begin();
    add_job(1, queue);
    add_job(2, queue);
    commit();
    for (int i = 0; i < 2; i++) {
        lockers[i].store = fixture_open(STORE_WRITE);
        ok(store_begin(lockers[i].store, &err));
        ok(store_job_lock(lockers[i].store, i + 1, &err));
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&lockers[i].thread, NULL, lock_other, &lockers[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(lockers[i].thread, NULL);
    for (int i = 0; i < 2; i++) {
        given_way += lockers[i].code == E_UNAVAILABLE;
        assert_int_equal(store_is_conflict(lockers[i].store), lockers[i].code != E_OK);
        store_rollback(lockers[i].store);
        store_close(lockers[i].store);
    }
    assert_int_equal(given_way, 1);
}

static enum err_code add_worker(struct store *s, const char *name, int64_t *ret_id)
{
    struct stored_worker w = {.name = slice_of(name), .queues = SLICE("{}")};
    struct err why = ERR_INIT;

    return store_worker_put(s, &w, w.instance, ret_id, &why);
}

/* `wants` becomes the worker's number. */
static void *add_other_worker(void *ctx)
{
    struct locker *l = ctx;

    l->code = add_worker(l->store, "other", &l->wants);
    return NULL;
}

static void two_servers_that_add_workers_do_not_collide(void **state)
{
    struct locker l = {.store = fixture_open(STORE_WRITE)};
    int64_t id = 0;

    (void)state;
    begin();
    assert_int_equal(add_worker(fx.store, "box", &id), E_OK);
    ok(store_begin(l.store, &err));
    assert_int_equal(pthread_create(&l.thread, NULL, add_other_worker, &l), 0);
    while (raw_number("SELECT COUNT(*) FROM pg_locks WHERE NOT granted") == 0)
        poll(NULL, 0, 1);
    commit();
    pthread_join(l.thread, NULL);
    assert_int_equal(l.code, E_OK);
    assert_int_not_equal(l.wants, id);
    ok(store_commit(l.store, &err));
    store_close(l.store);
}

static void a_lock_that_is_held_for_long_is_no_conflict(void **state)
{
    PGconn *c = PQconnectdb(fx.place.url);
    struct err why = ERR_INIT;

    (void)state;
    raw_sql("CREATE FUNCTION want() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = '20ms' AS"
            " $$BEGIN LOCK TABLE cursors; RETURN NULL; END$$;"
            "CREATE TRIGGER want AFTER INSERT ON meta FOR EACH ROW EXECUTE FUNCTION want()");
    PQclear(PQexec(c, "BEGIN; LOCK TABLE cursors"));
    begin();
    enum err_code code = store_meta_set(fx.store, "mark", 1, &why);
    bool conflict = store_is_conflict(fx.store);

    store_rollback(fx.store);
    PQfinish(c); /* whatever comes, the schema can be dropped */
    assert_int_equal(code, E_UNAVAILABLE);
    assert_non_null(strstr(why.msg, "pg_locks"));
    assert_false(conflict);
    begin();
    ok(store_meta_set(fx.store, "mark", 1, &err));
    commit();
}

/* ---- connections ---- */

static void a_connection_that_died_between_transactions_is_made_again(void **state)
{
    struct store *s = open_named("between", STORE_WRITE);

    (void)state;
    for (int i = 1; i <= 3; i++) {
        set_meta(s, "mark", i);
        assert_int_equal(kill_backends("between"), 1);
        set_meta(s, "other", i); /* statements that were prepared before are again */
        assert_int_equal(kill_backends("between"), 1);
        set_meta(s, "mark", 10 * i);
        assert_int_equal(meta_of(s, "mark"), 10 * i);
        assert_false(store_is_away(s));
    }
    store_close(s);
}

static void a_reader_asks_again(void **state)
{
    struct store *s = open_named("reader", STORE_READ);

    (void)state;
    set_meta(fx.store, "mark", 5);
    assert_int_equal(meta_of(s, "mark"), 5);
    assert_int_equal(kill_backends("reader"), 1);
    assert_int_equal(meta_of(s, "mark"), 5);
    store_close(s);
}

static void a_transaction_that_lost_its_connection_is_over(void **state)
{
    struct err why = ERR_INIT;
    int64_t value = 0;

    (void)state;
    struct store *s = open_named("inside", STORE_WRITE);

    ok(store_begin(s, &err));
    ok(store_meta_set(s, "mark", 1, &err));
    assert_int_equal(kill_backends("inside"), 1);
    assert_int_equal(store_meta_get(s, "mark", &value, &why), E_UNAVAILABLE);
    assert_true(store_is_away(s));
    assert_int_equal(store_meta_set(s, "mark", 3, &why), E_UNAVAILABLE); /* nothing goes past it */
    assert_int_equal(store_commit(s, &why), E_UNAVAILABLE);
    assert_false(s->db->commit_unknown); /* it was never sent */
    store_rollback(s);
    assert_int_equal(meta_of(s, "mark"), -1);
    set_meta(s, "mark", 4);
    assert_false(store_is_away(s));
    assert_int_equal(meta_of(s, "mark"), 4);
    store_close(s);
}

static void what_was_posted_is_lost_with_its_connection(void **state)
{
    struct err why = ERR_INIT;

    (void)state;
    struct store *s = open_named("posted", STORE_WRITE);

    set_meta(s, "mark", 1);
    ok(store_begin(s, &err));
    ok(store_meta_set(s, "mark", 2, &err));
    ok(store_meta_set(s, "mark", 3, &err));
    assert_int_equal(kill_backends("posted"), 1);
    assert_int_equal(store_commit(s, &why), E_UNAVAILABLE);
    store_rollback(s);
    assert_int_equal(meta_of(s, "mark"), 1);
    store_close(s);
}

/* The commit of the driver: store_commit would go and look. */
static void commit_with_fault(const char *plan, int64_t wanted)
{
    struct err why = ERR_INIT;

    set_meta(fx.store, "mark", 1);
    begin();
    ok(store_meta_set(fx.store, "mark", 2, &err));
    assert_true(fault_arm(plan));
    assert_int_equal(db_commit(fx.store->db, DB_SYNC_NOW, &why), E_UNAVAILABLE);
    fault_arm(NULL);
    assert_true(fx.store->db->commit_unknown);
    store_rollback(fx.store);
    assert_true(fx.store->db->commit_unknown);
    assert_int_equal(meta_of(fx.store, "mark"), wanted);
    begin();
    assert_false(fx.store->db->commit_unknown);
    store_rollback(fx.store);
}

static void a_commit_whose_answer_is_lost_is_unknown(void **state)
{
    (void)state;
    commit_with_fault("commit.lost:1:fail", 2);
    commit_with_fault("commit.cut:1:fail", 1);
}

/* The server ends its own backend while it commits. */
static void a_backend_that_dies_in_its_commit_leaves_it_unknown(void **state)
{
    struct err why = ERR_INIT;

    (void)state;
    raw_sql("CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END$$;"
            "CREATE CONSTRAINT TRIGGER die AFTER INSERT ON cursors DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION die()");
    begin();
    ok(db_do(fx.store->db, SQL_CURSOR_PUT, &err, db_i(1), db_t(SLICE("1"))));
    assert_int_equal(db_commit(fx.store->db, DB_SYNC_NOW, &why), E_UNAVAILABLE);
    assert_true(fx.store->db->commit_unknown);
    store_rollback(fx.store);
    assert_int_equal(raw_number("SELECT COUNT(*) FROM cursors"), 0);
}

static void alter_role(const char *verb, const char *role, const char *how)
{
    char sql[256];

    snprintf(sql, sizeof(sql), "%s ROLE %s %s", verb, role, how);
    raw_sql(sql);
}

static void drop_role(const char *role)
{
    char sql[256];

    snprintf(sql, sizeof(sql), "DROP OWNED BY %s; DROP ROLE %s", role, role);
    raw_sql(sql);
}

/* Begins until it can; how often it could not. */
static int begin_within(struct store *s, int64_t us)
{
    int64_t until = clock_mono_us() + us;
    struct err why = ERR_INIT;
    int refusals = 0;

    while (store_begin(s, &why) != E_OK) {
        assert_int_equal(why.code, E_UNAVAILABLE);
        assert_true(store_is_away(s));
        refusals++;
        if (clock_mono_us() > until)
            fail_msg("still away: %s", why.msg);
        poll(NULL, 0, 1);
    }
    store_rollback(s);
    return refusals;
}

/* The store through a role of its own, which can be kept out. */
static struct store *open_as_guest(char role[static 100])
{
    char grant[600];
    char tail[256];
    struct store *s = NULL;

    snprintf(role, 100, "%s_guest", fx.place.name);
    alter_role("CREATE", role, "LOGIN");
    snprintf(grant, sizeof(grant),
             "GRANT ALL ON SCHEMA %s TO %s; GRANT ALL ON ALL TABLES IN SCHEMA %s TO %s",
             fx.place.name, role, fx.place.name, role);
    raw_sql(grant);
    snprintf(tail, sizeof(tail), "user=%s&application_name=%s", role, role);
    struct store_config config = {.url = url_with(tail), .mode = STORE_WRITE};

    ok(store_open(&config, &s, &err));
    return s;
}

static void while_it_is_away_everything_fails_at_once(void **state)
{
    struct err why = ERR_INIT;
    char role[100];
    struct store *s = open_as_guest(role);

    (void)state;
    alter_role("ALTER", role, "NOLOGIN");
    assert_int_equal(kill_backends(role), 1);
    assert_int_equal(store_begin(s, &why), E_OK); /* nobody has noticed yet */
    assert_int_equal(store_meta_set(s, "mark", 1, &why), E_UNAVAILABLE);
    store_rollback(s);
    assert_true(store_is_away(s));
    int64_t at = clock_mono_us();

    for (int i = 0; i < 1000; i++) { /* most of them without an attempt */
        assert_int_equal(store_begin(s, &why), E_UNAVAILABLE);
        assert_non_null(strstr(why.msg, "away"));
    }
    assert_true(clock_mono_us() - at < 2 * US_PER_S);
    alter_role("ALTER", role, "LOGIN");
    begin_within(s, WITHIN_S * US_PER_S);
    assert_false(store_is_away(s));
    set_meta(s, "mark", 2);
    store_close(s);
    drop_role(role);
}

static void *commit_there(void *ctx)
{
    struct locker *l = ctx;
    struct err why = ERR_INIT;

    l->code = store_commit(l->store, &why);
    return NULL;
}

enum { LOG_TEXT_MAX = 8000 };

static void read_log(int log, char text[LOG_TEXT_MAX])
{
    ssize_t n = pread(log, text, LOG_TEXT_MAX - 1, 0);

    assert_true(n >= 0);
    text[n] = '\0';
}

/* What ends the waiting for the outcome of a commit. */
enum end_of_wait { STORE_COMES_BACK, SERVER_STOPS };

/* Commits, the answer gets lost, and the store is away until the log has the words; then the wait
 * ends. */
static enum err_code commit_into_the_dark(struct store *s, const char *role, const char *plan,
                                          int log, const char *words, enum end_of_wait end)
{
    char text[LOG_TEXT_MAX] = "";
    struct locker l = {.store = s};
    int64_t until = clock_mono_us() + WITHIN_S * US_PER_S;
    struct store_view view;

    ok(store_begin_shared(s, STORE_BESIDE, &view, &err));
    ok(store_sign(s, US_PER_MIN, 1, &err));
    alter_role("ALTER", role, "NOLOGIN");
    assert_true(fault_arm(plan));
    assert_int_equal(pthread_create(&l.thread, NULL, commit_there, &l), 0);
    while (strstr(text, words) == NULL && clock_mono_us() < until) {
        poll(NULL, 0, 1);
        read_log(log, text);
    }
    if (end == STORE_COMES_BACK)
        alter_role("ALTER", role, "LOGIN");
    else
        store_stop_waiting(s);
    pthread_join(l.thread, NULL);
    alter_role("ALTER", role, "LOGIN");
    fault_arm(NULL);
    store_rollback(s);
    return l.code;
}

static void the_log_tells_of_a_commit_whose_fate_is_being_looked_up(void **state)
{
    static const struct store_member member = {"me", "here", "1", "http://here", 1};
    struct store_seat seat;
    static const char behind[] = "a commit got no answer (fault behind the commit)";
    static const char within[] = "a commit got no answer (fault in the commit)";
    char role[100], text[LOG_TEXT_MAX] = "";
    struct store *s = open_as_guest(role);
    int log = memfd_create("log", MFD_CLOEXEC), errors = dup(STDERR_FILENO);

    (void)state;
    ok(store_join(s, &member, US_PER_MIN, &seat, &err));
    dup2(log, STDERR_FILENO);
    enum err_code lost = commit_into_the_dark(s, role, "commit.lost:1:fail", log, behind,
                                              STORE_COMES_BACK);
    enum err_code cut = commit_into_the_dark(s, role, "commit.cut:1:fail", log, within,
                                             STORE_COMES_BACK);

    dup2(errors, STDERR_FILENO);
    close(errors);
    read_log(log, text);
    close(log);
    store_close(s);
    drop_role(role);
    assert_int_equal(lost, E_OK);
    assert_int_equal(cut, E_UNAVAILABLE);
    const char *first = strstr(text, behind);

    assert_non_null(first);
    assert_non_null(first = strstr(first, "the commit that got no answer took effect"));
    assert_non_null(first = strstr(first, within));
    assert_non_null(strstr(first, "the commit that got no answer did not take effect"));
}

/* The store is away all the time: nobody would ever be told. */
static void a_server_that_stops_does_not_wait_for_the_fate_of_its_commit(void **state)
{
    static const struct store_member member = {"me", "here", "1", "http://here", 1};
    static const char words[] = "a commit got no answer (fault behind the commit)";
    char role[100], text[LOG_TEXT_MAX] = "";
    struct store_seat seat;
    struct store *s = open_as_guest(role);
    int log = memfd_create("log", MFD_CLOEXEC), errors = dup(STDERR_FILENO);

    (void)state;
    ok(store_join(s, &member, US_PER_MIN, &seat, &err));
    dup2(log, STDERR_FILENO);
    enum err_code code = commit_into_the_dark(s, role, "commit.lost:1:fail", log, words,
                                              SERVER_STOPS);

    dup2(errors, STDERR_FILENO);
    close(errors);
    read_log(log, text);
    close(log);
    bool is_lost = store_outcome_is_lost(s), is_member = store_is_member(s);

    store_close(s);
    drop_role(role);
    assert_int_equal(code, E_UNAVAILABLE);
    assert_true(is_lost);
    assert_false(is_member);
    assert_non_null(strstr(text, words));
    assert_non_null(strstr(text, "this server stops before the store has answered: nobody can tell "
                                 "whether it took effect"));
}

#define LEFT "commit.left:1:fail"

/* Whoever writes `mark` waits until the lock 7 is free.  It does not show as waiting for a lock:
 * nobody ends it. */
static const char pausing[] =
    "CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS"
    " $$BEGIN WHILE NOT pg_try_advisory_xact_lock(7) LOOP PERFORM pg_sleep(0.005); END LOOP;"
    " RETURN NEW; END$$;"
    "CREATE TRIGGER pause BEFORE INSERT ON meta FOR EACH ROW WHEN (NEW.key = 'mark')"
    " EXECUTE FUNCTION pause()";

/* Waits until that many backends of the name are there. */
static void await_backends(const char *name, int64_t n)
{
    int64_t until = clock_mono_us() + WITHIN_S * US_PER_S;
    char sql[256];

    snprintf(sql, sizeof(sql),
             "SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = '%s'", name);
    while (raw_number(sql) != n && clock_mono_us() < until)
        poll(NULL, 0, 1);
    assert_int_equal(raw_number(sql), n);
}

/* Sets what is called so, signs and commits.  With "commit.left" the connection is gone before the
 * backend has got that far. */
static enum err_code commit_signed(struct store *s, const char *key, const char *plan)
{
    struct store_view view;
    struct err why = ERR_INIT;

    ok(store_begin_shared(s, STORE_BESIDE, &view, &err));
    ok(store_meta_set(s, key, 1, &err));
    ok(store_sign(s, US_PER_MIN, 1, &err));
    assert_true(fault_arm(plan));
    enum err_code code = store_commit(s, &why);

    fault_arm(NULL);
    store_rollback(s);
    return code;
}

/* A member that has signed before: a statement that is prepared first would wait for those in front
 * of it. */
static struct store *open_member(const char *name)
{
    static const struct store_member member = {"me", "here", "1", "http://here", 1};
    struct store *s = open_named(name, STORE_WRITE);
    struct store_seat seat;

    ok(store_join(s, &member, US_PER_MIN, &seat, &err));
    assert_int_equal(commit_signed(s, "first", NULL), E_OK);
    return s;
}

static void a_commit_that_was_declared_dead_stays_dead(void **state)
{
    PGconn *c = PQconnectdb(fx.place.url);
    struct store *s = open_member("late");

    (void)state;
    raw_sql(pausing);
    PQclear(PQexec(c, "SELECT pg_advisory_lock(7)"));
    enum err_code code = commit_signed(s, "mark", LEFT);

    await_backends("late", 2); /* the old one is still there */
    assert_true(store_is_member(s));
    PQfinish(c);
    await_backends("late", 1);
    assert_int_equal(code, E_UNAVAILABLE);
    assert_int_equal(meta_of(s, "mark"), -1);
    assert_int_equal(commit_signed(s, "mark", NULL), E_OK); /* it works on as a member */
    assert_int_equal(meta_of(s, "mark"), 1);
    store_close(s);
}

/* Its answer is waited for with a lock on the row: what is behind the signature is not declared
 * dead. */
static void a_commit_that_is_behind_its_signature_is_waited_for(void **state)
{
    struct store *s = open_member("signed");

    (void)state;
    raw_sql("CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN PERFORM pg_sleep(0.3); RETURN NULL; END$$;"
            "CREATE CONSTRAINT TRIGGER pause AFTER INSERT ON meta DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW WHEN (NEW.key = 'mark') EXECUTE FUNCTION pause()");
    assert_int_equal(commit_signed(s, "mark", LEFT), E_OK);
    assert_int_equal(meta_of(s, "mark"), 1);
    store_close(s);
}

/* The answer to the question is lost as well, or somebody else has closed the incarnation. */
static void what_was_signed_is_known_when_the_incarnation_is_closed_already(void **state)
{
    struct store *s = open_member("closed");

    (void)state;
    raw_sql("CREATE FUNCTION close() RETURNS trigger LANGUAGE plpgsql AS"
            " $$BEGIN UPDATE servers SET incarnation = incarnation + 1, batch = 0,"
            " former = incarnation, former_batch = batch; RETURN NULL; END$$;"
            "CREATE CONSTRAINT TRIGGER close AFTER INSERT ON meta DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW WHEN (NEW.key = 'mark') EXECUTE FUNCTION close()");
    assert_int_equal(commit_signed(s, "mark", LEFT), E_OK);
    assert_false(store_is_member(s)); /* whose incarnation it is now cannot be told */
    assert_false(store_outcome_is_lost(s));
    store_close(s);
}

static void a_backend_that_was_left_waiting_for_a_lock_is_ended(void **state)
{
    PGconn *c = PQconnectdb(fx.place.url);
    struct store *s = open_member("waits");

    (void)state;
    set_meta(s, "mark", 0);
    PQclear(PQexec(c, "BEGIN; UPDATE meta SET value = 5 WHERE key = 'mark'"));
    struct store_view view;
    struct err why = ERR_INIT;

    ok(store_begin_shared(s, STORE_BESIDE, &view, &err));
    ok(store_meta_set(s, "mark", 1, &err));
    while (raw_number("SELECT COUNT(*) FROM pg_stat_activity WHERE application_name = 'waits'"
                      " AND wait_event_type = 'Lock'") == 0)
        poll(NULL, 0, 1);
    ok(store_sign(s, US_PER_MIN, 1, &err));
    assert_true(fault_arm(LEFT));
    enum err_code code = store_commit(s, &why);

    fault_arm(NULL);
    store_rollback(s);
    await_backends("waits", 1); /* while the lock is still held */
    PQfinish(c);
    assert_int_equal(code, E_UNAVAILABLE);
    assert_int_equal(meta_of(s, "mark"), 0);
    store_close(s);
}

static void jobs_that_no_server_looks_after_are_found(void **state)
{
    static const char finding[] = "no server looks after it";
    int64_t queue = add_queue("q");
    struct store *s = open_member("looks");
    const int64_t job = 1;

    (void)state;
    begin();
    add_job(job, queue);
    claim_jobs(900, &job, 1);
    commit();
    raw_sql("UPDATE claims SET node = (SELECT node FROM servers), lease_us = 1000000;"
            "UPDATE jobs SET lease_until_at = EXTRACT(EPOCH FROM now()) * 1000000 - 900 * 1000000");
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0); /* it has just joined */
    raw_sql("UPDATE servers SET joined_at = 1");
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, finding), 1);
    raw_sql("UPDATE jobs SET lease_until_at = EXTRACT(EPOCH FROM now()) * 1000000");
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
    raw_sql("UPDATE servers SET alive_until_at = 0");
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, "nobody looks after its jobs"), 1);
    store_close(s);
}

static void a_reader_whose_time_is_up_says_so(void **state)
{
    struct store_config config = fixture_config(STORE_READ);
    struct store *reader = NULL;
    struct err why = ERR_INIT;
    int64_t value;

    (void)state;
    config.read_limit_us = 50 * US_PER_MS;
    ok(store_open(&config, &reader, &err));
    PGconn *c = PQconnectdb(fx.place.url);

    PQclear(PQexec(c, "BEGIN; LOCK TABLE meta IN ACCESS EXCLUSIVE MODE"));
    assert_int_equal(store_meta_get(reader, "mark", &value, &why), E_TOO_SLOW);
    assert_null(strstr(why.msg, "meta_get"));
    PQfinish(c);
    assert_int_equal(meta_of(reader, "mark"), -1);
    store_close(reader);
}

/* ---- what cannot be reached ---- */

static void what_cannot_be_reached_says_why(void **state)
{
    (void)state;
    refused(url_with("host=/nonexistent&password=s3cret"), E_UNAVAILABLE, "does PostgreSQL run");
    refused(url_with("dbname=nowhere&password=s3cret"), E_UNAVAILABLE,
            "\"nowhere\" does not exist");
    refused(url_with("user=nobody_i_know&password=s3cret"), E_UNAVAILABLE, "nobody_i_know");
    refused(url_with("options=-csearch_path%3Dnowhere"), E_UNAVAILABLE, "search_path");
    refused("postgresql://me:s3cret@localhost/x?colour=red", E_INVALID, "colour");
    refused("postgresql://me:s3cret%zz@localhost/x", E_INVALID, "%XX");
    refused("mysql://me:s3cret@localhost/x", E_INVALID, "postgresql://");
}

static void a_database_of_another_encoding_is_refused(void **state)
{
    char name[100], tail[256], sql[256];

    (void)state;
    snprintf(name, sizeof(name), "%s_latin", fx.place.name);
    snprintf(sql, sizeof(sql), "CREATE DATABASE %s ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
             name);
    raw_sql(sql);
    snprintf(tail, sizeof(tail), "dbname=%s&options=", name);
    refused(url_with(tail), E_UNAVAILABLE, "LATIN1");
    snprintf(sql, sizeof(sql), "DROP DATABASE %s", name);
    raw_sql(sql);
}

static void somebody_elses_tables_are_left_alone(void **state)
{
    (void)state;
    raw_sql("DELETE FROM meta WHERE key = 'version'");
    refused(fx.place.url, E_UNAVAILABLE, "not waybill's");
    raw_sql("ALTER TABLE meta DROP COLUMN value");
    refused(fx.place.url, E_UNAVAILABLE, "not waybill's");
}

static void a_reader_makes_no_store(void **state)
{
    struct pg_schema empty;
    struct store *s = NULL;
    struct err why = ERR_INIT;

    (void)state;
    pg_schema_make(&empty);
    assert_int_equal(store_open(&(struct store_config){.url = empty.url, .mode = STORE_READ}, &s,
                                &why),
                     E_UNAVAILABLE);
    assert_non_null(strstr(why.msg, "no store yet"));
    pg_schema_drop(&empty);
}

/* ---- migrations ---- */

struct opener {
    pthread_t thread;
    const char *url;
    struct err err;
    int version;
};

static void *open_one(void *ctx)
{
    struct opener *o = ctx;
    struct store *s = NULL;

    if (store_open(&(struct store_config){.url = o->url, .mode = STORE_WRITE}, &s, &o->err) != E_OK)
        return NULL;
    o->version = s->version;
    store_close(s);
    return NULL;
}

static void openers_of_a_fresh_store_wait_for_the_first(void **state)
{
    struct opener openers[4] = {0};
    struct pg_schema fresh;

    (void)state;
    pg_schema_make(&fresh);
    for (size_t i = 0; i < ARRAY_LEN(openers); i++) {
        openers[i].url = fresh.url;
        assert_int_equal(pthread_create(&openers[i].thread, NULL, open_one, &openers[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(openers); i++) {
        pthread_join(openers[i].thread, NULL);
        assert_string_equal(openers[i].err.msg, "");
        assert_int_equal(openers[i].version, fx.store->version);
    }
    assert_int_equal(pg_schema_number(&fresh, "SELECT value FROM meta WHERE key = 'version'"),
                     fx.store->version);
    pg_schema_drop(&fresh);
}

static void an_older_store_is_brought_up(void **state)
{
    struct pg_schema old;
    struct store *s = NULL;

    (void)state;
    pg_schema_make(&old);
    for (int i = 0; i < SQL_MIGRATION_COUNT; i++)
        if (strcmp(sql_migrations[i].store, "postgres") == 0 && sql_migrations[i].number == 1)
            pg_schema_run(&old, sql_migrations[i].text);
    pg_schema_run(&old, "INSERT INTO meta VALUES ('version', 1)");
    ok(store_open(&(struct store_config){.url = old.url, .mode = STORE_WRITE}, &s, &err));
    assert_int_equal(s->version, fx.store->version);
    assert_int_equal(findings(s, STORE_CHECK_FULL, NULL), 0);
    store_close(s);
    pg_schema_drop(&old);
}

static void a_backup_is_refused_with_a_hint(void **state)
{
    struct err why = ERR_INIT;
    int64_t bytes = 0;

    (void)state;
    assert_int_equal(store_backup(fx.store, "/tmp/waybill-nowhere", &bytes, &why), E_INVALID);
    assert_non_null(strstr(why.msg, "pg_dump"));
    assert_int_not_equal(access("/tmp/waybill-nowhere", F_OK), 0);
    ok(store_shrink(fx.store, 10, &err));
}

/* ---- news ---- */

struct heard {
    int missed;
    int count;
    char last[64];
};

static void hear(void *ctx, const char *news)
{
    struct heard *h = ctx;

    if (news == NULL) {
        h->missed++;
        return;
    }
    h->count++;
    snprintf(h->last, sizeof(h->last), "%s", news);
}

static void listen_until(struct store_listener *l, struct heard *h, int missed, int count)
{
    int64_t until = clock_mono_us() + WITHIN_S * US_PER_S;

    while (h->missed < missed || h->count < count) {
        if (clock_mono_us() > until)
            fail_msg("%d times missed, %d news", h->missed, h->count);
        store_listener_wait(l, -1, 1000, hear, h);
    }
}

static void tell(const char *news)
{
    begin();
    ok(store_tell(fx.store, slice_of(news), &err));
    commit();
}

static void news_come_with_the_commit(void **state)
{
    struct store_config config = fixture_config(STORE_WRITE);
    struct store_listener *l = NULL;
    struct heard h = {0};

    (void)state;
    ok(store_listener_open(&config, &l, &err));
    listen_until(l, &h, 1, 0);
    begin();
    ok(store_tell(fx.store, SLICE("1 r lost"), &err));
    store_rollback(fx.store);
    tell("1 r q");
    tell("1 q");
    listen_until(l, &h, 1, 2);
    assert_int_equal(h.count, 2);
    assert_int_equal(h.missed, 1);
    assert_string_equal(h.last, "1 q");
    store_listener_close(l);
}

static void a_listener_that_was_cut_off_says_so(void **state)
{
    struct store_config config = fixture_config(STORE_WRITE);
    struct store_listener *l = NULL;
    struct heard h = {0};

    (void)state;
    config.url = url_with("application_name=ear");
    ok(store_listener_open(&config, &l, &err));
    listen_until(l, &h, 1, 0);
    assert_int_equal(kill_backends("ear"), 1);
    listen_until(l, &h, 2, 0);
    tell("1 r q");
    listen_until(l, &h, 2, 1);
    store_listener_close(l);
}

static void a_listener_stops_when_it_is_told(void **state)
{
    struct store_config config = fixture_config(STORE_WRITE);
    struct store_listener *l = NULL;
    struct heard h = {0};
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    ok(store_listener_open(&config, &l, &err));
    listen_until(l, &h, 1, 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    int64_t at = clock_mono_us();

    store_listener_wait(l, ends[0], 60000, hear, &h);
    assert_true(clock_mono_us() - at < 10 * US_PER_S);
    store_listener_close(l);
    config.url = "postgresql:///x?host=/nonexistent"; /* it keeps trying, and still stops */
    ok(store_listener_open(&config, &l, &err));
    for (int i = 0; i < 5; i++)
        store_listener_wait(l, ends[0], 60000, hear, &h);
    assert_true(clock_mono_us() - at < 20 * US_PER_S);
    assert_int_equal(h.missed, 1);
    store_listener_close(l);
    config.url = "postgresql://x%zz"; /* nor does it spin when that is hopeless */
    ok(store_listener_open(&config, &l, &err));
    at = clock_mono_us();
    for (int i = 0; i < 8; i++)
        store_listener_wait(l, -1, 60000, hear, &h);
    assert_true(clock_mono_us() - at > 100 * US_PER_MS);
    store_listener_close(l);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(every_statement_is_understood),
        STORE_TEST(values_come_back_as_they_went),
        STORE_TEST(a_set_without_rows_does_nothing),
        STORE_TEST(sets_come_in_the_order_in_which_they_are_asked_for),
        STORE_TEST(calls_of_one_run_are_carried_out_in_order),
        STORE_TEST(an_error_in_a_pipeline_stops_the_rest),
        STORE_TEST(an_error_of_what_was_posted_shows_in_what_comes_after),
        STORE_TEST(a_parameter_that_does_not_fit_costs_no_connection),
        STORE_TEST(takers_may_run_statements_themselves),
        STORE_TEST(of_two_that_wait_for_each_other_one_gives_way),
        STORE_TEST(two_servers_that_add_workers_do_not_collide),
        STORE_TEST(a_lock_that_is_held_for_long_is_no_conflict),
        STORE_TEST(a_connection_that_died_between_transactions_is_made_again),
        STORE_TEST(a_reader_asks_again),
        STORE_TEST(a_transaction_that_lost_its_connection_is_over),
        STORE_TEST(what_was_posted_is_lost_with_its_connection),
        STORE_TEST(a_commit_whose_answer_is_lost_is_unknown),
        STORE_TEST(a_backend_that_dies_in_its_commit_leaves_it_unknown),
        STORE_TEST(while_it_is_away_everything_fails_at_once),
        STORE_TEST(the_log_tells_of_a_commit_whose_fate_is_being_looked_up),
        STORE_TEST(a_server_that_stops_does_not_wait_for_the_fate_of_its_commit),
        STORE_TEST(a_commit_that_was_declared_dead_stays_dead),
        STORE_TEST(a_commit_that_is_behind_its_signature_is_waited_for),
        STORE_TEST(what_was_signed_is_known_when_the_incarnation_is_closed_already),
        STORE_TEST(a_backend_that_was_left_waiting_for_a_lock_is_ended),
        STORE_TEST(jobs_that_no_server_looks_after_are_found),
        STORE_TEST(a_reader_whose_time_is_up_says_so),
        STORE_TEST(what_cannot_be_reached_says_why),
        STORE_TEST(a_database_of_another_encoding_is_refused),
        STORE_TEST(somebody_elses_tables_are_left_alone),
        STORE_TEST(a_reader_makes_no_store),
        STORE_TEST(openers_of_a_fresh_store_wait_for_the_first),
        STORE_TEST(an_older_store_is_brought_up),
        STORE_TEST(a_backup_is_refused_with_a_hint),
        STORE_TEST(news_come_with_the_commit),
        STORE_TEST(a_listener_that_was_cut_off_says_so),
        STORE_TEST(a_listener_stops_when_it_is_told),
    };

    if (!pg_is_wanted()) {
        print_message("WAYBILL_TEST_STORE names no PostgreSQL\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
