/*
 * The power-cut VFS itself: what SQLite promises over it, and that it takes away what it should.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>

#include "base/compiler.h"
#include "plain_sql.h"
#include "powercut_vfs.h"

enum { SEEDS = 64 };

static struct powercut *disk;

static int make_disk(void **state)
{
    (void)state;
    disk = powercut_new("vfs-test", 1);
    return 0;
}

static int drop_disk(void **state)
{
    (void)state;
    return powercut_free(disk) ? 0 : -1;
}

static const char full[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;";
static const char normal[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;";

static bool is_sound(sqlite3 *db)
{
    return number(db,
                  "SELECT COUNT(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0;
}

static void fill(sqlite3 *db, int rows)
{
    char sql[256];

    must(db, "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, v BLOB)");
    for (int i = 0; i < rows; i++) {
        snprintf(sql, sizeof(sql), "INSERT INTO t (v) VALUES (randomblob(%d))",
                 100 + i * 37 % 3000);
        must(db, sql);
    }
}

static void two_connections_see_each_others_commits(void **state)
{
    (void)state;
    sqlite3 *a = open_on(powercut_name(disk), full);
    sqlite3 *b = open_on(powercut_name(disk), "");

    fill(a, 10);
    assert_int_equal(number(b, "SELECT COUNT(*) FROM t"), 10);
    must(b, "BEGIN");
    assert_int_equal(number(b, "SELECT COUNT(*) FROM t"), 10);
    fill(a, 5);
    assert_int_equal(number(b, "SELECT COUNT(*) FROM t"), 10);
    must(b, "COMMIT");
    assert_int_equal(number(b, "SELECT COUNT(*) FROM t"), 15);
    must(a, "BEGIN IMMEDIATE");
    assert_int_equal(run(b, "BEGIN IMMEDIATE"), SQLITE_BUSY);
    must(a, "COMMIT");
    must(b, "BEGIN IMMEDIATE; COMMIT");
    sqlite3_close(a);
    sqlite3_close(b);
}

struct reader {
    atomic_bool stop;
    int64_t looks, halves;
};

/* Rows come in pairs: an odd number is half a commit. */
static void *read_on(void *ctx)
{
    struct reader *r = ctx;
    sqlite3 *db = open_on(powercut_name(disk), "");

    sqlite3_busy_timeout(db, 10000);
    while (!atomic_load(&r->stop) || r->looks == 0) {
        int64_t rows = number(db, "SELECT COUNT(*) FROM t");

        r->looks++;
        r->halves += rows < 0 || rows % 2 != 0;
    }
    sqlite3_close(db);
    return NULL;
}

static void readers_in_other_threads_see_whole_commits(void **state)
{
    struct reader readers[2] = {{.looks = 0}};
    pthread_t threads[2];

    (void)state;
    sqlite3 *a = open_on(powercut_name(disk), full);

    sqlite3_busy_timeout(a, 10000); /* a reader that comes in may hold it up for a moment */
    must(a, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB); PRAGMA wal_autocheckpoint=30");
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    for (int i = 0; i < 200; i++)
        must(a, "BEGIN IMMEDIATE; INSERT INTO t (v) VALUES (randomblob(500));"
                "INSERT INTO t (v) VALUES (randomblob(5000)); COMMIT");
    for (size_t i = 0; i < 2; i++) {
        atomic_store(&readers[i].stop, true);
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(readers[i].halves, 0);
    }
    assert_true(is_sound(a));
    sqlite3_close(a);
}

static void a_clean_close_leaves_one_file(void **state)
{
    (void)state;
    sqlite3 *a = open_on(powercut_name(disk), full);

    fill(a, 10);
    assert_true(powercut_size(disk, "/d/t.db-wal") > 0);
    sqlite3_close(a);
    assert_int_equal(powercut_size(disk, "/d/t.db-wal"), -1);
    assert_true(powercut_size(disk, "/d/t.db") > 0);
}

static void a_kill_keeps_all_that_was_committed(void **state)
{
    (void)state;
    sqlite3 *a = open_on(powercut_name(disk), normal);

    fill(a, 20);
    must(a, "BEGIN; INSERT INTO t (v) VALUES (zeroblob(100000))");
    powercut_kill(disk);
    assert_int_not_equal(run(a, "COMMIT"), SQLITE_OK);
    sqlite3_close(a);
    a = open_on(powercut_name(disk), full);
    assert_int_equal(number(a, "SELECT COUNT(*) FROM t"), 20);
    assert_true(is_sound(a));
    sqlite3_close(a);
}

/* Rows that are left after a power cut of a copy, or -1 when the database was harmed. */
static int64_t left_after_cut(uint64_t seed)
{
    struct powercut *copy = powercut_copy("vfs-copy", disk);

    powercut_cut(copy, seed);
    sqlite3 *db = open_on(powercut_name(copy), "");
    int64_t rows = is_sound(db) ? number(db, "SELECT COUNT(*) FROM t") : -1;

    sqlite3_close(db);
    powercut_free(copy);
    return rows;
}

static void synchronous_full_survives_every_power_cut(void **state)
{
    (void)state;
    sqlite3 *a = open_on(powercut_name(disk), full);

    must(a, "PRAGMA wal_autocheckpoint=20");
    fill(a, 100);
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        assert_int_equal(left_after_cut(seed), 100);
    sqlite3_close(a);
}

static void synchronous_normal_loses_commits_in_some_power_cuts(void **state)
{
    (void)state;
    sqlite3 *a = open_on(powercut_name(disk), normal);
    bool lost = false;

    must(a, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB); PRAGMA wal_checkpoint");
    fill(a, 20);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        int64_t rows = left_after_cut(seed);

        assert_in_range(rows, 0, 20);
        lost = lost || rows < 20;
    }
    assert_true(lost);
    sqlite3_close(a);
}

static void no_synchronisation_harms_the_database(void **state)
{
    (void)state;
    sqlite3 *a = open_on(powercut_name(disk), full);
    bool harmed = false;

    must(a, "PRAGMA wal_autocheckpoint=10; PRAGMA synchronous=OFF");
    fill(a, 200);
    for (uint64_t seed = 0; seed < SEEDS && !harmed; seed++)
        harmed = left_after_cut(seed) != 200;
    assert_true(harmed);
    sqlite3_close(a);
}

struct watcher {
    int64_t committed, cuts;
};

static void cut_here(void *ctx, enum powercut_io io)
{
    struct watcher *w = ctx;

    if (io == POWERCUT_WRITE && w->cuts % 3 != 0) {
        w->cuts++;
        return;
    }
    int64_t left = left_after_cut((uint64_t)w->cuts++);

    assert_true(left == w->committed || left == w->committed + 1);
}

static void power_may_be_cut_at_any_write_and_sync(void **state)
{
    struct watcher w = {.committed = 0};

    (void)state;
    sqlite3 *a = open_on(powercut_name(disk), full);

    must(a, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB); PRAGMA wal_autocheckpoint=15");
    powercut_watch(disk, cut_here, &w);
    for (; w.committed < 60; w.committed++)
        must(a, "INSERT INTO t (v) VALUES (randomblob(2000))");
    assert_true(w.cuts > 120);
    sqlite3_close(a);
}

static int rows_in(sqlite3 *db)
{
    return (int)number(db, "SELECT COUNT(*) FROM t");
}

static void check_fault(enum powercut_io io, int code)
{
    sqlite3 *a = open_on(powercut_name(disk), full);

    fill(a, 10);
    int64_t before = powercut_count(disk, io);

    for (int64_t n = 1; n <= 4; n++) {
        powercut_fail(disk, &(struct powercut_plan){.io = io, .nth = n, .times = 1, .code = code});
        int rows = rows_in(a), failures = 0;

        for (int i = 0; i < 20; i++)
            failures += run(a, "INSERT INTO t (v) VALUES (randomblob(9000))") != SQLITE_OK;
        assert_int_equal(failures, 1);
        assert_int_equal(powercut_failed(disk), 1);
        powercut_heal(disk);
        assert_int_equal(rows_in(a), rows + 19);
        for (uint64_t seed = 0; seed < 8; seed++)
            assert_int_equal(left_after_cut(seed), rows + 19);
    }
    assert_true(powercut_count(disk, io) > before);
    sqlite3_close(a);
}

static void a_failed_write_fails_one_commit_only(void **state)
{
    (void)state;
    check_fault(POWERCUT_WRITE, SQLITE_IOERR_WRITE);
}

static void a_full_disk_fails_one_commit_only(void **state)
{
    (void)state;
    check_fault(POWERCUT_GROW, SQLITE_FULL);
}

static void a_failed_sync_fails_one_commit_only(void **state)
{
    (void)state;
    check_fault(POWERCUT_SYNC, SQLITE_IOERR_FSYNC);
}

static void a_new_file_may_vanish_until_its_directory_is_synced(void **state)
{
    bool gone = false, there = false;

    (void)state;
    sqlite3 *a = open_on(powercut_name(disk), "PRAGMA synchronous=OFF; CREATE TABLE t (x)");

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct powercut *copy = powercut_copy("vfs-copy", disk);

        powercut_cut(copy, seed);
        *(powercut_size(copy, "/d/t.db") < 0 ? &gone : &there) = true;
        powercut_free(copy);
    }
    assert_true(gone && there);
    sqlite3_close(a);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_disk, drop_disk)
    const struct CMUnitTest tests[] = {
        TEST(two_connections_see_each_others_commits),
        TEST(readers_in_other_threads_see_whole_commits),
        TEST(a_clean_close_leaves_one_file),
        TEST(a_kill_keeps_all_that_was_committed),
        TEST(synchronous_full_survives_every_power_cut),
        TEST(synchronous_normal_loses_commits_in_some_power_cuts),
        TEST(no_synchronisation_harms_the_database),
        TEST(power_may_be_cut_at_any_write_and_sync),
        TEST(a_failed_write_fails_one_commit_only),
        TEST(a_full_disk_fails_one_commit_only),
        TEST(a_failed_sync_fails_one_commit_only),
        TEST(a_new_file_may_vanish_until_its_directory_is_synced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
