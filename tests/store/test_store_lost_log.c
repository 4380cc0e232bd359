/*
 * A write-ahead log that is lost after a crash is reported, and nothing else is taken for it.
 * The same for a log whose header is bad: what is lost depends on what the database holds.
 */
/* SPDX-License-Identifier: MIT */
#include <sqlite3.h>

#include "store/damage.h"
#include "store/internal.h"
#include "store/meta.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/wal.h"
#include "store_fixture.h"

#define LOG_FILE FIXTURE_FILE "-wal"
#define MARK_FILE FIXTURE_FILE "-mark"

enum { CHECKPOINT_ROWS = 60 }; /* of 1 MB: more than the pages between two checkpoints */

static void set_mark(int64_t value)
{
    begin();
    ok(store_meta_set(fx.store, "mark", value, &err));
    commit();
}

static int64_t get_mark(void)
{
    int64_t value = 0;

    ok(store_meta_get(fx.store, "mark", &value, &err));
    return value;
}

static void die(void)
{
    powercut_kill(fx.disk);
    store_abandon(fx.store);
    fx.store = NULL;
}

static void remove_file(const char *name)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find("store-test");

    assert_int_equal(vfs->xDelete(vfs, name, 1), SQLITE_OK);
}

/* Keeps the first bytes of the log. */
static void cut_log(int64_t bytes)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find("store-test");
    sqlite3_file *file = mem_zalloc((size_t)vfs->szOsFile);

    assert_int_equal(vfs->xOpen(vfs, LOG_FILE, file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_WAL, NULL),
                     SQLITE_OK);
    assert_int_equal(file->pMethods->xTruncate(file, bytes), SQLITE_OK);
    assert_int_equal(file->pMethods->xSync(file, SQLITE_SYNC_FULL), SQLITE_OK);
    file->pMethods->xClose(file);
    free(file);
}

/* Opens the store for writing; returns whether it reports a loss. */
static bool opens_with_a_loss(void)
{
    struct store_damage damage = STORE_DAMAGE_INIT;
    struct store_config config = fixture_config(STORE_WRITE);
    char text[DAMAGE_TEXT_SIZE];

    config.damage = &damage;
    ok(store_open(&config, &fx.store, &err));
    fx.store->damage = NULL; /* it ends with this function */
    fx.store->db->damage = NULL;
    bool found = damage_find(&damage, text);

    if (found)
        assert_non_null(strstr(text, "commits are missing"));
    return found;
}

static void check_lost(void (*lose)(void))
{
    set_mark(1);
    die();
    lose();
    struct store *reader = fixture_open(STORE_READ);

    assert_int_equal(findings(reader, STORE_CHECK_QUICK, "commits are missing"), 1);
    store_close(reader);
    assert_true(opens_with_a_loss());
    set_mark(2);
    die();
    assert_false(opens_with_a_loss()); /* it is told once */
    assert_int_equal(get_mark(), 2);
}

static void remove_log(void)
{
    remove_file(LOG_FILE);
}

static void empty_log(void)
{
    cut_log(0);
}

static void spoil_header(void)
{
    powercut_poke(fx.disk, LOG_FILE, 0, "nothing", 7);
    cut_log(32);
}

static void a_log_that_was_removed_is_reported(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    check_lost(remove_log);
}

static void a_log_that_was_emptied_is_reported(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    check_lost(empty_log);
}

static void a_log_that_lost_all_frames_is_reported(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    check_lost(spoil_header);
}

/* Writes more than a checkpoint waits for, in several commits. */
static void fill(void)
{
    for (int i = 0; i < CHECKPOINT_ROWS; i++) {
        char sql[160];

        snprintf(sql, sizeof(sql), "CREATE TABLE big%d AS SELECT zeroblob(1000000) AS b", i);
        begin();
        ok(sqlite_exec((struct sqlite_db *)fx.store->db, sql, &err));
        commit();
    }
}

static void a_log_that_was_lost_after_a_checkpoint_is_reported(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    fill();
    assert_true(powercut_size(fx.disk, FIXTURE_FILE) > 30000000); /* there was one */
    set_mark(1);
    check_lost(remove_log);
}

static void a_checkpoint_without_a_later_commit_has_lost_nothing(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    set_mark(1);
    raw_sql("PRAGMA wal_checkpoint(TRUNCATE)");
    die();
    assert_false(opens_with_a_loss());
    assert_int_equal(get_mark(), 1);
}

/* Any program that uses SQLite takes the log into the database when it closes it. */
static void a_log_that_another_program_checkpointed_is_no_loss(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    set_mark(1);
    die();
    raw_sql("SELECT COUNT(*) FROM meta");
    assert_int_equal(powercut_size(fx.disk, LOG_FILE), -1);
    assert_false(opens_with_a_loss());
    assert_int_equal(get_mark(), 1);
}

static void clean_and_unclean_stops_are_no_loss(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    for (int i = 0; i < 10; i++) {
        set_mark(i);
        if (i % 3 == 0)
            powercut_cut(fx.disk, (uint64_t)i);
        else if (i % 3 == 1)
            powercut_kill(fx.disk);
        if (i % 2 == 0)
            store_abandon(fx.store);
        else
            store_close(fx.store);
        assert_false(opens_with_a_loss());
        assert_int_equal(get_mark(), i);
    }
}

static void a_store_without_a_mark_is_no_loss(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    set_mark(1);
    die();
    remove_file(MARK_FILE);
    assert_false(opens_with_a_loss());
    set_mark(2);
    raw_sql("DELETE FROM meta WHERE key = 'log'"); /* as an earlier version leaves it */
    die();
    remove_file(MARK_FILE);
    assert_false(opens_with_a_loss());
    check_lost(remove_log);
}

/* The log of a young store that kept its first commits, but not the one with the number. */
static void a_store_without_the_number_of_its_mark_is_reported(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    set_mark(1);
    raw_sql("DELETE FROM meta WHERE key = 'log'");
    die();
    assert_true(opens_with_a_loss());
    set_mark(2);
    die();
    assert_false(opens_with_a_loss());
}

/* The file has the number twice, each in nineteen digits. */
static void a_number_that_no_store_reaches_is_not_read(void **state)
{
    static const char *const numbers[] = {"9999999999999999999", "9223372036854775807"};

    (void)state;
    only_embedded("its log is its own");
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        set_mark(1);
        die();
        powercut_poke(fx.disk, MARK_FILE, 0, numbers[i], 19);
        powercut_poke(fx.disk, MARK_FILE, 20, numbers[i], 19);
        assert_false(opens_with_a_loss());
        check_lost(remove_log);
    }
}

static void a_mark_that_cannot_be_written_fails_no_commit(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    set_mark(1);
    die();
    for (int64_t nth = 1; nth < 12; nth++) {
        powercut_fail(fx.disk, &(struct powercut_plan){POWERCUT_WRITE, nth, 1, SQLITE_FULL});
        struct err why = ERR_INIT;
        struct store_config config = fixture_config(STORE_WRITE);
        bool opened = store_open(&config, &fx.store, &why) == E_OK;

        powercut_heal(fx.disk);
        if (!opened)
            continue;
        set_mark(nth);
        die();
        assert_false(opens_with_a_loss());
        assert_int_equal(get_mark(), nth);
        die();
    }
    fx.store = fixture_open(STORE_WRITE);
}

/* ---- a bad header ---- */

enum { PAGE = 8192, FRAME = 24 + PAGE };

/* As SQLite leaves it when the disk is full while it starts the log again: the first salt is one
 * higher, the second is new in part, the checksum is that of the old header. */
static void write_half_a_header(void)
{
    unsigned char header[32];

    assert_true(powercut_peek(fx.disk, LOG_FILE, 0, header, sizeof(header)));
    header[15]++;
    header[19]++;
    header[20] ^= 0x28;
    assert_true(powercut_poke(fx.disk, LOG_FILE, 0, header, sizeof(header)));
}

static int64_t commits_told_as_lost(void)
{
    struct wal_loss loss;

    ok(sqlite_wal_scan(FIXTURE_FILE, "store-test", &loss, &err));
    return loss.commits;
}

/* Commits, all in the log, of which all are in the database as well. */
static void write_checkpointed_log(void)
{
    for (int i = 0; i < 5; i++)
        set_mark(i);
    raw_sql("PRAGMA wal_checkpoint(PASSIVE)");
}

static void half_a_header_after_a_checkpoint_is_no_loss(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    write_checkpointed_log();
    die();
    write_half_a_header();
    assert_int_equal(commits_told_as_lost(), 0);
    assert_false(opens_with_a_loss());
    assert_int_equal(get_mark(), 4);
}

static void half_a_header_of_a_log_that_cut_off_pages_is_no_loss(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    begin();
    ok(sqlite_exec((struct sqlite_db *)fx.store->db,
                   "CREATE TABLE big AS SELECT zeroblob(1000000) AS b", &err));
    commit();
    begin();
    ok(sqlite_exec((struct sqlite_db *)fx.store->db, "DROP TABLE big", &err));
    commit();
    begin();
    ok(store_shrink(fx.store, 1000, &err));
    commit();
    write_checkpointed_log();
    assert_true(powercut_size(fx.disk, FIXTURE_FILE) < 1000000);
    die();
    write_half_a_header();
    assert_int_equal(commits_told_as_lost(), 0);
}

/* The number of the page that the last frame of the log holds. */
static int64_t page_of_last_frame(void)
{
    int64_t frames = (powercut_size(fx.disk, LOG_FILE) - 32) / FRAME;
    unsigned char number[4];

    assert_true(powercut_peek(fx.disk, LOG_FILE, 32 + (frames - 1) * FRAME, number, 4));
    return number[2] << 8 | number[3];
}

static void a_bad_header_with_one_page_not_in_the_database_is_reported(void **state)
{
    static char page[PAGE];

    (void)state;
    only_embedded("its log is its own");
    write_checkpointed_log();
    int64_t at = (page_of_last_frame() - 1) * PAGE;

    assert_true(powercut_peek(fx.disk, FIXTURE_FILE, at, page, PAGE));
    set_mark(5); /* starts the log again */
    set_mark(6);
    raw_sql("PRAGMA wal_checkpoint(PASSIVE)");
    die();
    write_half_a_header();
    assert_int_equal(commits_told_as_lost(), 0);
    assert_true(powercut_poke(fx.disk, FIXTURE_FILE, at, page, PAGE));
    assert_int_equal(commits_told_as_lost(), 2);
}

static void a_bad_header_with_a_commit_after_the_checkpoint_is_reported(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    write_checkpointed_log();
    set_mark(5);
    set_mark(6);
    die();
    write_half_a_header();
    assert_int_equal(commits_told_as_lost(), 2);
}

/* The database holds all that is before the bad frame, but nothing of what is behind it. */
static void commits_behind_a_bad_header_and_a_bad_frame_are_reported(void **state)
{
    sqlite3 *reader = NULL;

    (void)state;
    only_embedded("its log is its own");
    set_mark(1);
    assert_int_equal(sqlite3_open_v2(FIXTURE_FILE, &reader, SQLITE_OPEN_READONLY, "store-test"),
                     SQLITE_OK);
    /* While it reads the log, no commit starts it again. */
    assert_int_equal(sqlite3_exec(reader, "BEGIN; SELECT * FROM meta", NULL, NULL, NULL),
                     SQLITE_OK);
    raw_sql("PRAGMA wal_checkpoint(PASSIVE)");
    int64_t end = powercut_size(fx.disk, LOG_FILE);

    for (int i = 2; i < 6; i++)
        set_mark(i);
    assert_int_equal(sqlite3_close(reader), SQLITE_OK);
    die();
    write_half_a_header();
    assert_true(powercut_poke(fx.disk, LOG_FILE, end + 100, "bad", 3));
    assert_true(commits_told_as_lost() > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_log_that_was_removed_is_reported),
        STORE_TEST(a_log_that_was_emptied_is_reported),
        STORE_TEST(a_log_that_lost_all_frames_is_reported),
        STORE_TEST(a_log_that_was_lost_after_a_checkpoint_is_reported),
        STORE_TEST(a_checkpoint_without_a_later_commit_has_lost_nothing),
        STORE_TEST(a_log_that_another_program_checkpointed_is_no_loss),
        STORE_TEST(clean_and_unclean_stops_are_no_loss),
        STORE_TEST(a_store_without_a_mark_is_no_loss),
        STORE_TEST(a_store_without_the_number_of_its_mark_is_reported),
        STORE_TEST(a_number_that_no_store_reaches_is_not_read),
        STORE_TEST(a_mark_that_cannot_be_written_fails_no_commit),
        STORE_TEST(half_a_header_after_a_checkpoint_is_no_loss),
        STORE_TEST(half_a_header_of_a_log_that_cut_off_pages_is_no_loss),
        STORE_TEST(a_bad_header_with_one_page_not_in_the_database_is_reported),
        STORE_TEST(a_bad_header_with_a_commit_after_the_checkpoint_is_reported),
        STORE_TEST(commits_behind_a_bad_header_and_a_bad_frame_are_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
