/*
 * The log writer over a disk that can be cut off: few writes, and the promises of SQLite as without
 * it.
 */
/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "plain_sql.h"
#include "powercut_vfs.h"
#include "store/sqlite/log_writer.h"

enum { SEEDS = 64 };

static struct powercut *disk;
static struct log_writer *writer;

static sqlite3 *connect(const char *vfs)
{
    return open_on(vfs, "PRAGMA synchronous=FULL; PRAGMA journal_mode=WAL;"
                        "PRAGMA wal_autocheckpoint=0");
}

static int make_disk(void **state)
{
    (void)state;
    disk = powercut_new("log-writer-test", 1);
    writer = log_writer_new(powercut_name(disk));
    assert_non_null(writer);
    return 0;
}

static int drop_disk(void **state)
{
    (void)state;
    log_writer_free(writer);
    return powercut_free(disk) ? 0 : -1;
}

/* Four tables, so that a commit has several pages. */
static const char tables[] = "CREATE TABLE a (x); CREATE TABLE b (x); CREATE TABLE c (x);"
                             "CREATE TABLE d (x)";
static const char insert[] = "BEGIN; INSERT INTO a VALUES (1); INSERT INTO b VALUES (1);"
                             "INSERT INTO c VALUES (1); INSERT INTO d VALUES (1); COMMIT";

static int64_t writes_of_a_commit(const char *vfs)
{
    sqlite3 *db = connect(vfs);

    must(db, insert);
    int64_t before = powercut_count(disk, POWERCUT_WRITE);

    must(db, insert);
    int64_t writes = powercut_count(disk, POWERCUT_WRITE) - before;

    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return writes;
}

static void a_commit_of_several_pages_is_one_write(void **state)
{
    (void)state;
    sqlite3 *db = connect(log_writer_name(writer));

    must(db, tables);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(writes_of_a_commit(log_writer_name(writer)), 1);
    assert_int_equal(writes_of_a_commit(powercut_name(disk)), 8);
}

static void another_connection_sees_each_commit(void **state)
{
    (void)state;
    sqlite3 *db = connect(log_writer_name(writer));
    sqlite3 *other = connect(powercut_name(disk));

    must(db, tables);
    for (int i = 1; i <= 20; i++) {
        must(db, insert);
        assert_int_equal(number(other, "SELECT count(*) FROM d"), i);
    }
    sqlite3_close(other);
    sqlite3_close(db);
}

static void a_commit_survives_every_power_cut(void **state)
{
    (void)state;
    sqlite3 *db = connect(log_writer_name(writer));

    must(db, tables);
    must(db, insert);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct powercut *copy = powercut_copy("log-writer-copy", disk);

        powercut_cut(copy, seed);
        sqlite3 *after = connect(powercut_name(copy));

        assert_int_equal(number(after, "SELECT count(*) FROM d"), 1);
        sqlite3_close(after);
        assert_true(powercut_free(copy));
    }
    sqlite3_close(db);
}

/* Pages that the cache cannot keep go into the log before the commit, and are read again from
 * there. */
static void a_transaction_larger_than_the_cache_is_whole(void **state)
{
    (void)state;
    sqlite3 *db = connect(log_writer_name(writer));
    sqlite3 *other = connect(powercut_name(disk));

    must(db, "PRAGMA cache_size=10; CREATE TABLE t (x); BEGIN");
    must(db, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
             "INSERT INTO t SELECT randomblob(1000) FROM n");
    assert_int_equal(number(db, "SELECT sum(length(x)) FROM t"), 2000000);
    must(db,
         "UPDATE t SET x = zeroblob(1000) WHERE rowid % 7 = 0"); /* written again where they are */
    assert_int_equal(number(db, "SELECT sum(length(x)) FROM t"), 2000000);
    assert_int_equal(number(other, "SELECT count(*) FROM t"), 0);
    must(db, "COMMIT");
    assert_int_equal(number(other, "SELECT sum(length(x)) FROM t"), 2000000);
    assert_int_equal(number(other, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"), 1);
    must(db, "PRAGMA wal_checkpoint(TRUNCATE)");
    assert_int_equal(number(other, "SELECT sum(length(x)) FROM t"), 2000000);
    sqlite3_close(other);
    sqlite3_close(db);
}

static void what_was_rolled_back_is_not_there(void **state)
{
    (void)state;
    sqlite3 *db = connect(log_writer_name(writer));

    must(db, "PRAGMA cache_size=10; CREATE TABLE t (x); BEGIN");
    must(db, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
             "INSERT INTO t SELECT randomblob(1000) FROM n; ROLLBACK; INSERT INTO t VALUES (1)");
    powercut_kill(disk);
    sqlite3_close(db);
    db = connect(powercut_name(disk));
    assert_int_equal(number(db, "SELECT count(*) FROM t"), 1);
    sqlite3_close(db);
}

static void a_write_that_fails_fails_its_commit_only(void **state)
{
    (void)state;
    sqlite3 *db = connect(log_writer_name(writer));

    must(db, tables);
    powercut_fail(disk, &(struct powercut_plan){POWERCUT_WRITE, 1, 1, SQLITE_FULL});
    assert_int_equal(run(db, insert), SQLITE_FULL);
    assert_int_equal(powercut_failed(disk), 1);
    powercut_heal(disk);
    if (!sqlite3_get_autocommit(db))
        must(db, "ROLLBACK");
    must(db, insert);
    assert_int_equal(number(db, "SELECT count(*) FROM d"), 1);
    powercut_cut(disk, 7);
    sqlite3_close(db);
    db = connect(powercut_name(disk));
    assert_int_equal(number(db, "SELECT count(*) FROM d"), 1);
    sqlite3_close(db);
}

/* ---- syncs that are put off ---- */

/* The number of rows that are left after a power cut, whatever happens to what was not synced. */
static void assert_left(int64_t least, int64_t most)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct powercut *copy = powercut_copy("log-writer-copy", disk);

        powercut_cut(copy, seed);
        sqlite3 *after = connect(powercut_name(copy));

        assert_in_range(number(after, "SELECT count(*) FROM d"), least, most);
        sqlite3_close(after);
        assert_true(powercut_free(copy));
    }
}

static void insert_early(sqlite3 *db)
{
    log_writer_put_off(writer, true);
    must(db, insert);
    log_writer_put_off(writer, false);
}

static void a_commit_whose_sync_was_put_off_is_durable_after_it(void **state)
{
    (void)state;
    sqlite3 *db = connect(log_writer_name(writer));
    sqlite3 *other = connect(powercut_name(disk));

    must(db, tables);
    must(db, insert);
    int64_t syncs = powercut_count(disk, POWERCUT_SYNC);

    insert_early(db);
    assert_int_equal(powercut_count(disk, POWERCUT_SYNC), syncs);
    assert_true(log_writer_owes(writer));
    assert_int_equal(number(other, "SELECT count(*) FROM d"), 2);
    assert_left(1, 2);
    assert_int_equal(log_writer_sync(writer), SQLITE_OK);
    assert_int_equal(powercut_count(disk, POWERCUT_SYNC), syncs + 1);
    assert_false(log_writer_owes(writer));
    assert_left(2, 2);
    assert_int_equal(log_writer_sync(writer), SQLITE_OK); /* nothing is owed: nothing happens */
    assert_int_equal(powercut_count(disk, POWERCUT_SYNC), syncs + 1);
    sqlite3_close(other);
    sqlite3_close(db);
}

/* Counts writes while a commit awaits its sync. */
static void on_disk(void *ctx, enum powercut_io io)
{
    *(int *)ctx += io == POWERCUT_WRITE && log_writer_owes(writer);
}

static void the_next_commit_pays_what_is_owed_before_it_writes(void **state)
{
    (void)state;
    sqlite3 *db = connect(log_writer_name(writer));

    int writes = 0;

    must(db, tables);
    must(db, insert);
    powercut_watch(disk, on_disk, &writes);
    for (int64_t i = 2; i < 20; i++) {
        insert_early(db);
        assert_left(i - 1, i);
    }
    powercut_watch(disk, NULL, NULL);
    assert_int_equal(writes, 0);
    must(db, insert); /* this one is not put off */
    assert_false(log_writer_owes(writer));
    assert_left(20, 20);
    sqlite3_close(db);
}

/* It tells the old frames from the new ones. */
static void a_new_header_is_synced_before_its_frames_are_written(void **state)
{
    (void)state;
    sqlite3 *db = connect(log_writer_name(writer));

    must(db, tables);
    must(db, insert);
    must(db, "PRAGMA wal_checkpoint(RESTART)");
    int64_t syncs = powercut_count(disk, POWERCUT_SYNC);

    insert_early(db);
    assert_int_equal(powercut_count(disk, POWERCUT_SYNC), syncs + 1);
    assert_true(log_writer_owes(writer));
    assert_left(1, 2);
    sqlite3_close(db);
}

static void a_checkpoint_pays_what_is_owed(void **state)
{
    (void)state;
    sqlite3 *db = connect(log_writer_name(writer));

    must(db, tables);
    must(db, insert);
    insert_early(db);
    must(db, "PRAGMA wal_checkpoint(PASSIVE)");
    assert_false(log_writer_owes(writer));
    assert_left(2, 2);
    sqlite3_close(db);
}

static void after_a_failed_sync_nothing_is_committed(void **state)
{
    (void)state;
    sqlite3 *db = connect(log_writer_name(writer));

    must(db, tables);
    must(db, insert);
    insert_early(db);
    powercut_fail(disk, &(struct powercut_plan){POWERCUT_SYNC, 1, 1, SQLITE_IOERR_FSYNC});
    assert_int_equal(log_writer_sync(writer), SQLITE_IOERR_FSYNC);
    assert_int_equal(powercut_failed(disk), 1);
    powercut_heal(disk);
    assert_int_equal(log_writer_sync(writer), SQLITE_IOERR_FSYNC);
    assert_int_equal(run(db, insert), SQLITE_IOERR_FSYNC);
    assert_true(log_writer_owes(writer));
    assert_left(1, 2);
    sqlite3_close(db);
}

static void there_is_none_over_a_vfs_that_is_not_there(void **state)
{
    (void)state;
    assert_null(log_writer_new("no-such-vfs"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_disk, drop_disk)
    const struct CMUnitTest tests[] = {
        TEST(a_commit_of_several_pages_is_one_write),
        TEST(another_connection_sees_each_commit),
        TEST(a_commit_survives_every_power_cut),
        TEST(a_transaction_larger_than_the_cache_is_whole),
        TEST(what_was_rolled_back_is_not_there),
        TEST(a_write_that_fails_fails_its_commit_only),
        TEST(a_commit_whose_sync_was_put_off_is_durable_after_it),
        TEST(the_next_commit_pays_what_is_owed_before_it_writes),
        TEST(a_new_header_is_synced_before_its_frames_are_written),
        TEST(a_checkpoint_pays_what_is_owed),
        TEST(after_a_failed_sync_nothing_is_committed),
        TEST(there_is_none_over_a_vfs_that_is_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
