/*
 * Care: checks find planted damage, backups are whole, freed space goes back.
 */
/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <errno.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "store/damage.h"
#include "store/jobs/logs.h"
#include "store/meta.h"
#include "store_fixture.h"

static int64_t queue;

/* Jobs 1 to 40: a few running, a few ended, some with a key. */
static int setup(void **state)
{
    if (fixture_setup(state) != 0)
        return -1;
    queue = add_queue("q");
    begin();
    for (int64_t id = 1; id <= 40; id++)
        add_job(id, queue);
    for (int64_t id = 1; id <= 8; id++)
        claim_jobs(500 + id, &id, 1);
    for (int64_t id = 1; id <= 4; id++) {
        struct job was = get_job(id), now = was;
        bool hit = false;

        now.state = JOB_DONE;
        now.finished_at = NOW_AT;
        ok(store_job_end(fx.store, &was, &now, &hit, &err));
        count_move(queue, JOB_RUNNING, JOB_DONE);
    }
    commit();
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
    assert_int_equal(findings(fx.store, STORE_CHECK_QUICK, NULL), 0);
    return 0;
}

#define TWO_TARGETS "x'0000000000000000000000000000000000000000000000000000000000000000'"

struct damage {
    const char *sql;
    const char *finding;
};

static const struct damage planted[] = {
    {"UPDATE counts SET n = n + 1 WHERE state = 4", "kept 33, counted 32"},
    {"DELETE FROM counts WHERE state = 5", "kept 0, counted 4"},
    {"UPDATE jobs SET state = 7 WHERE id = 20", "in state 7 among the living"},
    {"UPDATE ended SET state = 4 WHERE id = 2", "in state 4 among the ended"},
    {"INSERT INTO ended SELECT id, queue, state, priority, due_at, token, prev_token, started_at, "
     "lease_until_at, worker, attempt, history FROM jobs WHERE id = 30",
     "job 30 is both alive and ended"},
    {"UPDATE jobs SET queue = 99 WHERE id = 9", "which does not exist"},
    {"UPDATE ended SET queue = 98 WHERE id = 2", "ended job 2 is of queue 98"},
    {"UPDATE payload SET key = 'k' WHERE id = 12", "job 12 has a key that is not known"},
    {"INSERT INTO payload (id) VALUES (4712)", "payload of job 4712 has no job"},
    {"UPDATE payload SET shared = 4713 WHERE id = 20", "job 20 shares params 4713, which are"},
    {"INSERT INTO shared VALUES (4713, '{}', NULL)", "shared params 4713 are of no job"},
    {"INSERT INTO spreads VALUES (4714, NULL, 0, 0, 0, NULL, '{}', " TWO_TARGETS ", 1)",
     "what publication 4714 brings is not there"},
    {"INSERT INTO spreads VALUES (4716, NULL, 0, 0, 0, NULL, '{}', " TWO_TARGETS ", 2)",
     "publication 4716 is at target 2 of 2"},
    {"INSERT INTO follows VALUES (4715, 4711, 1, 6, 0, 1, NULL, 0)",
     "the end of job 4711 leads on, and the job is gone"},
    {"INSERT INTO keys VALUES ('lost', 4711, 1)", "key of job 4711 has no job"},
    {"INSERT INTO keys VALUES ('not its', 20, 1)", "key of job 20 has no job"},
    {"DELETE FROM claims WHERE token = 506", "job 6 runs under claim 506"},
    {"UPDATE jobs SET state = 1 WHERE id = 20", "job 20 is staged and belongs to nobody"},
    {"INSERT INTO emits VALUES (50, 5, 505, 1, 0, 1, x'', NULL, NULL)", "belongs to no attempt"},
    {"INSERT INTO emitters VALUES (2, 502, 1, 0, 0, 0)", "does not run under it"},
    {"INSERT INTO emitters VALUES (5, 505, 1, 0, 3, 0)", "3 staged jobs by its row, 0 by"},
    {"INSERT INTO emitters VALUES (5, 505, 1, 0, 3, 0)", "0 jobs are staged, the emits name 3"},
    {"INSERT INTO cursors VALUES (4711, '1')", "cursor of job 4711"},
    {"INSERT INTO cursors VALUES (3, '1')", "cursor of job 3 has no job"},
    {"INSERT INTO progress VALUES (4711,1,1,1,1,1,1,0,1,1,1,1,'','')", "progress of job 4711"},
    {"INSERT INTO waits VALUES (20, 0, 1, 21, 0, 1, 0, 0)", "job 20 waits and is not held"},
    {"INSERT INTO waits VALUES (4711, 0, 1, 21, 0, 1, 0, 0)", "job 4711 waits and is not held"},
    {"INSERT INTO waits VALUES (20, 0, 1, 21, 0, 1, 0, 0)", "job 21, whose end will not be told"},
    {"INSERT INTO waits VALUES (20, 0, 2, 99, 0, 0, 1, 0)", "signal 99, which does not exist"},
    {"UPDATE jobs SET state = 2, history = '{\"holds\":3}' WHERE id = 20",
     "job 20 is held and waits for nothing"},
    {"UPDATE jobs SET state = 2, history = '{\"holds\":10,\"step\":1}' WHERE id = 20",
     "job 20 is held and waits for nothing"},
    {"UPDATE jobs SET state = 2, history = '{\"holds\":9}' WHERE id = 20",
     "job 20 is held for the end of a step, and none is to be followed"},
    {"INSERT INTO follows VALUES (4715, 20, 1, 6, 1, 0, NULL, 0)",
     "the end of a step of job 20 is to be followed, and the job is not held for it"},
    {"INSERT INTO follows VALUES (4715, 20, 1, 6, 1, 0, NULL, 0);"
     "UPDATE jobs SET state = 2, history = '{\"holds\":1}' WHERE id = 20",
     "the end of a step of job 20 is to be followed, and the job is not held for it"},
    {"INSERT INTO arrivals VALUES (77, '', 1, 0, '')", "arrivals of join 77, which does not"},
    {"UPDATE jobs SET history = '{\"step\":1}' WHERE id = 20", "job 20 is at a step and has no"},
    {"UPDATE payload SET bill = '{\"steps\":[]}' WHERE id = 20", "job 20 has a route and is at no"},
};

static void the_full_check_finds_what_does_not_fit_together(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(planted) / sizeof(planted[0]); i++) {
        raw_sql(planted[i].sql);
        assert_true(findings(fx.store, STORE_CHECK_FULL, planted[i].finding) > 0);
        fixture_teardown(state);
        setup(state);
    }
}

/* Overwrites the head of a table's first page, as a dying disk does. */
static void spoil(const char *sql)
{
    unsigned char junk[600];
    int64_t page = raw_number(sql);

    memset(junk, 0xA5, sizeof(junk));
    store_close(fx.store);
    fx.store = NULL;
    powercut_poke(fx.disk, FIXTURE_FILE, (page - 1) * 8192, junk, sizeof(junk));
}

static void check_spoilt(const char *sql)
{
    only_embedded("it looks after its files by itself");
    spoil(sql);
    struct store *reader = fixture_open(STORE_READ);

    assert_true(findings(reader, STORE_CHECK_QUICK, NULL) > 0);
    assert_true(findings(reader, STORE_CHECK_FULL, NULL) > 0);
    store_close(reader);
}

static void both_checks_find_a_spoilt_table(void **state)
{
    (void)state;
    check_spoilt("SELECT rootpage FROM sqlite_schema WHERE name = 'jobs'");
}

static void both_checks_find_a_spoilt_index(void **state)
{
    (void)state;
    check_spoilt("SELECT rootpage FROM sqlite_schema WHERE name = 'jobs_ready'");
}

static void a_check_works_beside_a_writer(void **state)
{
    (void)state;
    struct store *reader = fixture_open(STORE_READ);

    begin();
    count_move(queue, JOB_READY, JOB_DONE); /* not committed: nobody's business */
    assert_int_equal(findings(reader, STORE_CHECK_FULL, NULL), 0);
    store_rollback(fx.store);
    store_close(reader);
}

/* ---- backups, on a real directory: they are for people ---- */

struct place {
    char dir[64];
    char to[80];
    char file[96];
};

static struct place make_place(void)
{
    struct place p = {.dir = "/tmp/waybill-backup-XXXXXX"};

    assert_non_null(mkdtemp(p.dir));
    snprintf(p.to, sizeof(p.to), "%s/copy", p.dir);
    snprintf(p.file, sizeof(p.file), "%s/waybill.db", p.to);
    return p;
}

static void drop_place(const struct place *p)
{
    static const char *const tails[] = {"",         "-wal",  "-shm",         "-mark",
                                        "-journal", ".part", ".part-journal"};

    char path[128];

    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        snprintf(path, sizeof(path), "%s%s", p->file, tails[i]);
        unlink(path);
    }
    snprintf(path, sizeof(path), "%s/damage", p->to);
    unlink(path);
    rmdir(p->to);
    assert_int_equal(rmdir(p->dir), 0);
}

static void a_backup_is_a_whole_store(void **state)
{
    only_embedded("pg_dump makes its backups");
    struct place p = make_place();
    struct stat st;
    int64_t bytes = 0;
    struct job j;
    bool found = false;

    (void)state;
    struct store *reader = fixture_open(STORE_READ), *copy = NULL;

    begin(); /* a writer at work is no hindrance */
    ok(store_meta_set(fx.store, "mark", 1, &err));
    ok(store_backup(reader, p.to, &bytes, &err));
    commit();
    assert_int_equal(stat(p.file, &st), 0);
    assert_int_equal(bytes, st.st_size);
    assert_int_equal(stat(p.to, &st), 0);
    assert_int_equal(st.st_mode & 077, 0); /* what is in jobs is not for everybody */
    ok(store_open(&(struct store_config){.dir = p.to, .mode = STORE_WRITE}, &copy, &err));
    assert_int_equal(findings(copy, STORE_CHECK_FULL, NULL), 0);
    ok(store_job_load(copy, 20, LOAD_ALL, &fx.arena, &j, &found, &err));
    assert_true(found);
    store_close(copy);
    store_close(reader);
    drop_place(&p);
}

static void a_backup_never_overwrites_another(void **state)
{
    only_embedded("pg_dump makes its backups");
    struct place p = make_place();
    struct err err2 = ERR_INIT;
    int64_t bytes = 0, was = 0;

    (void)state;
    ok(store_backup(fx.store, p.to, &was, &err));
    assert_int_equal(store_backup(fx.store, p.to, &bytes, &err2), E_CONFLICT);
    assert_non_null(strstr(err2.msg, p.to));
    assert_int_equal(bytes, 0);
    drop_place(&p);
}

static void a_backup_to_nowhere_says_so(void **state)
{
    struct err err = ERR_INIT;
    int64_t bytes = 0;

    (void)state;
    only_embedded("pg_dump makes its backups");
    assert_int_not_equal(store_backup(fx.store, "/nonexistent/place/x", &bytes, &err), E_OK);
    assert_non_null(strstr(err.msg, "/nonexistent/place/x"));
}

/* ---- space ---- */

static void freed_space_goes_back_to_the_disk(void **state)
{
    static char piece[100000];
    struct store_facts facts;

    (void)state;
    only_embedded("autovacuum looks after its space");
    begin();
    for (int64_t i = 0; i < 40; i++)
        ok(store_log_add(fx.store, 40, i * (int64_t)sizeof(piece), slice_make(piece, sizeof(piece)),
                         &err));
    commit();
    fixture_reopen();
    int64_t before = powercut_size(fx.disk, FIXTURE_FILE);

    begin();
    struct job j = get_job(40);

    ok(store_job_remove(fx.store, &j, &err));
    count_move(queue, JOB_READY, JOB_NONE);
    commit();
    ok(store_facts(fx.store, &facts, &err));
    assert_true(facts.free_bytes > 3000000);
    int64_t bytes = facts.bytes;

    ok(store_shrink(fx.store, 10, &err));
    ok(store_facts(fx.store, &facts, &err));
    assert_int_equal(facts.bytes, bytes - 10 * 8192);
    for (int i = 0; i < 1000 && facts.free_bytes > 0; i++) {
        ok(store_shrink(fx.store, 100, &err));
        ok(store_facts(fx.store, &facts, &err));
    }
    assert_int_equal(facts.free_bytes, 0);
    fixture_reopen();
    assert_true(powercut_size(fx.disk, FIXTURE_FILE) < before - 3000000);
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
}

static void a_reader_knows_the_facts_too(void **state)
{
    struct store_facts facts, mine;

    (void)state;
    struct store *reader = fixture_open(STORE_READ);

    ok(store_facts(reader, &facts, &err));
    ok(store_facts(fx.store, &mine, &err));
    assert_string_equal(facts.path, pg_is_wanted() ? fx.place.url : FIXTURE_FILE);
    assert_int_equal(facts.version, mine.version);
    if (!pg_is_wanted()) /* others work there, too */
        assert_int_equal(facts.bytes, mine.bytes);
    assert_true(facts.bytes > 0);
    assert_true(facts.version >= 1);
    store_close(reader);
}

/* ---- files in place ---- */

static unsigned looks;
static unsigned asked_for; /* all that was, by the bits of statx */
static int look_error;     /* errno of the next looks; 0: none */

/* In place of libc's. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): libc names them __x */
int statx(int dir, const char *restrict path, int flags, unsigned mask, struct statx *restrict st)
{
    looks++;
    asked_for |= mask;
    if (look_error != 0) {
        errno = look_error;
        return -1;
    }
    return (int)syscall(SYS_statx, dir, path, flags, mask, st);
}

static enum err_code commit_a_mark(struct store *s, int64_t value)
{
    struct err why = ERR_INIT;

    ok(store_begin(s, &err));
    ok(store_meta_set(s, "mark", value, &err));
    return store_commit(s, &why);
}

/* A store on a real directory. */
static struct store *open_in(const struct place *p, struct store_damage *damage)
{
    struct store_config config = {.dir = p->to, .mode = STORE_WRITE, .damage = damage};
    struct store *s = NULL;

    assert_true(mkdir(p->to, 0700) == 0 || errno == EEXIST);
    ok(store_open(&config, &s, &err));
    return s;
}

/* Who reads the times of a file makes its next write and sync dearer: see sqlite/maintenance.c. */
static void a_commit_looks_for_its_files_and_not_at_their_times(void **state)
{
    only_embedded("its files are not ours");
    struct place p = make_place();
    struct store *s = open_in(&p, NULL);
    char moved[128];

    (void)state;
    looks = asked_for = 0;
    assert_int_equal(commit_a_mark(s, 1), E_OK);
    assert_int_equal(looks, 2); /* the database and its log */
    assert_int_equal(asked_for, STATX_INO | STATX_SIZE);
    snprintf(moved, sizeof(moved), "%s.away", p.file);
    assert_int_equal(rename(p.file, moved), 0);
    assert_int_equal(commit_a_mark(s, 2), E_UNAVAILABLE);
    store_rollback(s);
    assert_int_equal(rename(moved, p.file), 0);
    assert_int_equal(commit_a_mark(s, 3), E_OK);
    store_close(s);
    drop_place(&p);
}

static void files_that_cannot_be_looked_at_are_not_taken_for_removed(void **state)
{
    static const int errors[] = {EACCES, EPERM, EIO, ENOMEM};
    only_embedded("its files are not ours");
    struct place p = make_place();
    struct store_damage damage = STORE_DAMAGE_INIT;
    struct store *s = open_in(&p, &damage);
    char text[DAMAGE_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        struct err why = ERR_INIT;

        look_error = errors[i];
        assert_int_equal(store_in_place(s, &why), E_UNAVAILABLE);
        assert_non_null(strstr(why.msg, strerror(errors[i])));
        assert_int_equal(commit_a_mark(s, 1), E_UNAVAILABLE);
        look_error = 0;
        store_rollback(s);
        assert_false(damage_find(&damage, text));
        assert_int_equal(commit_a_mark(s, 1), E_OK);
    }
    look_error = ENOTDIR;
    assert_int_equal(commit_a_mark(s, 2), E_UNAVAILABLE);
    look_error = 0;
    store_rollback(s);
    assert_true(damage_find(&damage, text));
    assert_non_null(strstr(text, "removed or replaced"));
    store_close(s);
    drop_place(&p);
}

/* `bytes` of the log are left. */
static void check_cut_log(off_t bytes)
{
    struct place p = make_place();
    struct store_damage damage = STORE_DAMAGE_INIT, later = STORE_DAMAGE_INIT;
    struct store *s = open_in(&p, &damage);
    char path[128], text[DAMAGE_TEXT_SIZE];

    snprintf(path, sizeof(path), "%s-wal", p.file);
    for (int i = 0; i < 3; i++)
        assert_int_equal(commit_a_mark(s, i), E_OK);
    assert_int_equal(truncate(path, bytes), 0);
    assert_int_equal(commit_a_mark(s, 4), E_UNAVAILABLE);
    store_rollback(s);
    assert_true(damage_find(&damage, text));
    assert_non_null(strstr(text, "-wal was cut off"));
    store_close(s);
    s = open_in(&p, &later);
    assert_true(damage_find(&later, text));
    assert_non_null(strstr(text, "commits are missing"));
    assert_int_equal(findings(s, STORE_CHECK_FULL, "commits are missing"), 1);
    assert_int_equal(findings(s, STORE_CHECK_FULL, NULL), 0);
    store_close(s);
    drop_place(&p);
}

static void a_log_that_is_cut_off_is_noticed_and_the_loss_is_remembered(void **state)
{
    (void)state;
    only_embedded("its files are not ours");
    check_cut_log(0);
    check_cut_log(32);
    check_cut_log(100000);
}

/* A checkpoint that ends well makes the log start again, and SQLite cuts a long one back. */
static void a_log_that_sqlite_makes_shorter_is_not_cut_off(void **state)
{
    only_embedded("its files are not ours");
    static char piece[1 << 20];
    struct place p = make_place();
    struct store_damage damage = STORE_DAMAGE_INIT;
    struct store *s = open_in(&p, &damage), *reader = NULL;
    struct stat st;
    char path[128], text[DAMAGE_TEXT_SIZE];
    int64_t value = 0;

    (void)state;
    snprintf(path, sizeof(path), "%s-wal", p.file);
    ok(store_open(&(struct store_config){.dir = p.to, .mode = STORE_READ}, &reader, &err));
    ok(store_begin(reader, &err));
    ok(store_meta_get(reader, "mark", &value, &err)); /* now the log can only grow */
    ok(store_begin(s, &err));
    for (int64_t i = 0; i < 70; i++)
        ok(store_log_add(s, 40, i * (int64_t)sizeof(piece), slice_make(piece, sizeof(piece)),
                         &err));
    ok(store_commit(s, &err));
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 64 << 20);
    store_rollback(reader);
    for (int i = 0; i < 4; i++)
        assert_int_equal(commit_a_mark(s, i), E_OK);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size <= 64 << 20);
    assert_false(damage_find(&damage, text));
    store_close(reader);
    store_close(s);
    drop_place(&p);
}

/* Any program may checkpoint the log while a server writes. */
static void a_log_that_another_program_checkpoints_is_not_cut_off(void **state)
{
    static const char *const modes[] = {"PASSIVE", "FULL", "RESTART", "TRUNCATE"};
    only_embedded("its files are not ours");
    struct place p = make_place();
    struct store_damage damage = STORE_DAMAGE_INIT;
    struct store *s = open_in(&p, &damage);
    sqlite3 *other = NULL;
    char path[128], text[DAMAGE_TEXT_SIZE];

    (void)state;
    snprintf(path, sizeof(path), "%s-wal", p.file);
    assert_int_equal(sqlite3_open(p.file, &other), SQLITE_OK);
    for (size_t i = 0; i < 3 * ARRAY_LEN(modes); i++) {
        snprintf(text, sizeof(text), "PRAGMA wal_checkpoint(%s)", modes[i % ARRAY_LEN(modes)]);
        assert_int_equal(sqlite3_exec(other, text, NULL, NULL, NULL), SQLITE_OK);
        ok(store_in_place(s, &err));
        for (int64_t j = 0; j < 3; j++)
            assert_int_equal(commit_a_mark(s, j), E_OK);
    }
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_false(damage_find(&damage, text));
    assert_int_equal(truncate(path, 100), 0); /* shorter than the commits since the last one */
    assert_int_equal(commit_a_mark(s, 4), E_UNAVAILABLE);
    store_rollback(s);
    assert_true(damage_find(&damage, text));
    store_close(s);
    drop_place(&p);
}

/* ---- what SQLite is given when it opens ---- */

static bool refuse_module, refuse_function;

/* In place of SQLite's, which it uses for its own as well. */
int sqlite3_create_module_v2(sqlite3 *db, const char *zName, const sqlite3_module *p,
                             void *pClientData, void (*xDestroy)(void *))
{
    int (*real)(sqlite3 *, const char *, const sqlite3_module *, void *,
                void (*)(void *)) = dlsym(RTLD_NEXT, "sqlite3_create_module_v2");

    return refuse_module && strcmp(zName, "rows") == 0 ? SQLITE_NOMEM
                                                       : real(db, zName, p, pClientData, xDestroy);
}

typedef void function_fn(sqlite3_context *ctx, int n, sqlite3_value **args);

/* NOLINTNEXTLINE(readability-function-size): it has SQLite's parameters */
int sqlite3_create_function_v2(sqlite3 *db, const char *zFunctionName, int nArg, int eTextRep,
                               void *pApp, function_fn *xFunc, function_fn *xStep,
                               void (*xFinal)(sqlite3_context *), void (*xDestroy)(void *))
{
    int (*real)(sqlite3 *, const char *, int, int, void *, function_fn *, function_fn *,
                void (*)(sqlite3_context *),
                void (*)(void *)) = dlsym(RTLD_NEXT, "sqlite3_create_function_v2");

    return refuse_function && strcmp(zFunctionName, "strpos") == 0
               ? SQLITE_NOMEM
               : real(db, zFunctionName, nArg, eTextRep, pApp, xFunc, xStep, xFinal, xDestroy);
}

static void a_store_without_its_functions_does_not_open(void **state)
{
    struct store_config config = fixture_config(STORE_READ);
    struct store *s = NULL;
    struct err why = ERR_INIT;

    (void)state;
    only_embedded("it has no such functions");
    refuse_module = true;
    assert_int_equal(store_open(&config, &s, &why), E_UNAVAILABLE);
    refuse_module = false;
    refuse_function = true;
    assert_int_equal(store_open(&config, &s, &why), E_UNAVAILABLE);
    refuse_function = false;
    ok(store_open(&config, &s, &err));
    store_close(s);
}

int main(void)
{
#define CARE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        CARE_TEST(the_full_check_finds_what_does_not_fit_together),
        CARE_TEST(both_checks_find_a_spoilt_table),
        CARE_TEST(both_checks_find_a_spoilt_index),
        CARE_TEST(a_check_works_beside_a_writer),
        CARE_TEST(a_backup_is_a_whole_store),
        CARE_TEST(a_backup_never_overwrites_another),
        CARE_TEST(a_backup_to_nowhere_says_so),
        CARE_TEST(freed_space_goes_back_to_the_disk),
        CARE_TEST(a_reader_knows_the_facts_too),
        CARE_TEST(a_commit_looks_for_its_files_and_not_at_their_times),
        CARE_TEST(files_that_cannot_be_looked_at_are_not_taken_for_removed),
        CARE_TEST(a_log_that_is_cut_off_is_noticed_and_the_loss_is_remembered),
        CARE_TEST(a_log_that_sqlite_makes_shorter_is_not_cut_off),
        CARE_TEST(a_log_that_another_program_checkpoints_is_not_cut_off),
        CARE_TEST(a_store_without_its_functions_does_not_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
