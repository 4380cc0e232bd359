/*
 * Opening and ending: migrations, transactions, clean and unclean stops, what survives.
 */
/* SPDX-License-Identifier: MIT */
#include <sqlite3.h>

#include "store/meta.h"
#include "store_fixture.h"

static int64_t meta(const char *key)
{
    int64_t value = -1;

    ok(store_meta_get(fx.store, key, &value, &err));
    return value;
}

static void set_meta(const char *key, int64_t value)
{
    begin();
    ok(store_meta_set(fx.store, key, value, &err));
    commit();
}

static int64_t raw_version(void)
{
    return raw_number(pg_is_wanted() ? "SELECT value FROM meta WHERE key = 'version'"
                                     : "PRAGMA user_version");
}

static void set_raw_version(int64_t version)
{
    char sql[80];

    snprintf(sql, sizeof(sql),
             pg_is_wanted() ? "UPDATE meta SET value = %lld WHERE key = 'version'"
                            : "PRAGMA user_version=%lld",
             (long long)version);
    raw_sql(sql);
}

/* Tables and indexes. */
static int64_t raw_objects(void)
{
    return raw_number(pg_is_wanted() ? "SELECT COUNT(*) FROM pg_class WHERE relnamespace = "
                                       "CAST(current_schema() AS regnamespace)"
                                     : "SELECT COUNT(*) FROM sqlite_schema");
}

static enum err_code try_open(struct err *err)
{
    struct store_config config = fixture_config(STORE_WRITE);

    return store_open(&config, &fx.store, err);
}

static void a_fresh_store_is_migrated_and_sound(void **state)
{
    struct store_facts facts;

    (void)state;
    ok(store_facts(fx.store, &facts, &err));
    assert_true(facts.version >= 1);
    assert_int_equal(raw_version(), facts.version);
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
    assert_false(store_was_unclean(fx.store));
}

static void what_can_only_be_chosen_at_creation_is_chosen(void **state)
{
    (void)state;
    only_embedded("it is about SQLite's file");
    assert_int_equal(raw_number("PRAGMA page_size"), 8192);
    assert_int_equal(raw_number("PRAGMA auto_vacuum"), 2);
    assert_int_equal(raw_number("SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
}

static void opening_again_changes_nothing(void **state)
{
    (void)state;
    set_meta("mark", 42);
    int64_t objects = raw_objects();
    int64_t version = raw_version();

    fixture_reopen();
    fixture_reopen();
    assert_int_equal(meta("mark"), 42);
    assert_int_equal(raw_objects(), objects);
    assert_int_equal(raw_version(), version);
}

static void a_newer_store_is_refused_and_left_alone(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    store_close(fx.store);
    fx.store = NULL;
    int64_t version = raw_version();

    set_raw_version(9999);
    int64_t bytes = fx.disk == NULL ? 0 : powercut_size(fx.disk, FIXTURE_FILE);

    assert_int_equal(try_open(&err), E_UNAVAILABLE);
    assert_non_null(strstr(err.msg, "9999"));
    assert_non_null(strstr(err.msg, "newer waybill"));
    assert_int_equal(raw_version(), 9999);
    if (fx.disk != NULL)
        assert_int_equal(powercut_size(fx.disk, FIXTURE_FILE), bytes);
    assert_true(version < 9999);
    set_raw_version(version);
    assert_int_equal(try_open(&err), E_OK);
}

static void what_is_no_database_is_refused(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    only_embedded("it is about SQLite's file");
    store_close(fx.store);
    fx.store = NULL;
    powercut_poke(fx.disk, FIXTURE_FILE, 0, "this is a letter", 16);
    assert_int_not_equal(try_open(&err), E_OK);
    assert_non_null(strstr(err.msg, FIXTURE_FILE));
}

static void a_migration_that_was_cut_off_runs_again(void **state)
{
    (void)state;
    only_embedded("its disk does not fill at our word");
    store_close(fx.store);
    fx.store = NULL;
    powercut_free(fx.disk);
    for (int64_t n = 1;; n++) { /* the disk is full at each place of the creation, then it is not */
        struct err err = ERR_INIT;

        fx.disk = powercut_new("store-test", (uint64_t)n);
        powercut_fail(fx.disk,
                      &(struct powercut_plan){POWERCUT_GROW, n, POWERCUT_FOR_EVER, SQLITE_FULL});
        bool went_well = try_open(&err) == E_OK;

        bool failed = powercut_failed(fx.disk) > 0;

        /* Only the mark of the log may be missing: no commit waits for it. */
        assert_true(went_well == !failed || powercut_size(fx.disk, FIXTURE_FILE "-mark") < 40);
        if (!went_well)
            assert_int_equal(err.code, E_FULL);
        powercut_cut(fx.disk, (uint64_t)n);
        if (went_well)
            store_abandon(fx.store);
        powercut_heal(fx.disk);
        assert_int_equal(try_open(&err), E_OK);
        if (!failed)
            break;
        store_close(fx.store);
        fx.store = NULL;
        powercut_free(fx.disk);
    }
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
}

static void a_rolled_back_transaction_leaves_no_trace(void **state)
{
    (void)state;
    set_meta("mark", 1);
    begin();
    ok(store_meta_set(fx.store, "mark", 2, &err));
    ok(store_meta_set(fx.store, "other", 2, &err));
    store_rollback(fx.store);
    assert_int_equal(meta("mark"), 1);
    assert_int_equal(meta("other"), -1);
    store_rollback(fx.store); /* without a transaction it is nothing */
    set_meta("mark", 3);
    assert_int_equal(meta("mark"), 3);
}

static void a_reader_sees_commits_and_only_commits(void **state)
{
    int64_t seen = -1;

    (void)state;
    struct store *reader = fixture_open(STORE_READ);

    begin();
    ok(store_meta_set(fx.store, "mark", 7, &err));
    ok(store_meta_get(reader, "mark", &seen, &err));
    assert_int_equal(seen, -1);
    commit();
    ok(store_meta_get(reader, "mark", &seen, &err));
    assert_int_equal(seen, 7);
    store_close(reader);
}

static void a_reader_cannot_write(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    struct store *reader = fixture_open(STORE_READ);

    assert_int_not_equal(store_meta_set(reader, "mark", 7, &err), E_OK);
    store_close(reader);
    assert_int_equal(meta("mark"), -1);
}

static void each_commit_waits_for_a_sync(void **state)
{
    (void)state;
    only_embedded("its syncs are its own");
    for (int i = 0; i < 10; i++) {
        int64_t syncs = powercut_count(fx.disk, POWERCUT_SYNC);

        set_meta("mark", i);
        assert_true(powercut_count(fx.disk, POWERCUT_SYNC) > syncs);
    }
}

static void a_commit_survives_any_power_cut(void **state)
{
    (void)state;
    only_embedded("nobody cuts its power");
    for (int i = 0; i < 40; i++) {
        set_meta("mark", i);
        begin();
        ok(store_meta_set(fx.store, "mark", -5, &err));
        fixture_power_cut((uint64_t)i);
        assert_int_equal(meta("mark"), i);
        assert_true(store_was_unclean(fx.store));
    }
    assert_int_equal(findings(fx.store, STORE_CHECK_FULL, NULL), 0);
}

static void a_clean_stop_folds_the_log_in(void **state)
{
    (void)state;
    only_embedded("its log is its own");
    set_meta("mark", 1);
    assert_true(powercut_size(fx.disk, FIXTURE_FILE "-wal") > 0);
    store_close(fx.store);
    fx.store = NULL;
    assert_true(powercut_size(fx.disk, FIXTURE_FILE "-wal") <= 0);
    fx.store = fixture_open(STORE_WRITE);
    assert_int_equal(meta("mark"), 1);
    assert_false(store_was_unclean(fx.store));
}

static void a_killed_writer_is_noticed(void **state)
{
    (void)state;
    only_embedded("servers come and go there");
    set_meta("mark", 1);
    powercut_kill(fx.disk);
    store_abandon(fx.store);
    fx.store = fixture_open(STORE_WRITE);
    assert_true(store_was_unclean(fx.store));
    fixture_reopen();
    assert_false(store_was_unclean(fx.store));
}

static void a_commit_on_a_full_disk_fails_and_the_next_one_goes(void **state)
{
    (void)state;
    only_embedded("its disk does not fill at our word");
    set_meta("mark", 1);
    begin();
    ok(store_meta_set(fx.store, "mark", 2, &err));
    struct err err = ERR_INIT;

    powercut_fail(fx.disk,
                  &(struct powercut_plan){POWERCUT_WRITE, 1, POWERCUT_FOR_EVER, SQLITE_FULL});
    assert_int_equal(store_commit(fx.store, &err), E_FULL);
    assert_non_null(strstr(err.msg, "full"));
    store_rollback(fx.store);
    powercut_heal(fx.disk);
    assert_int_equal(meta("mark"), 1);
    set_meta("mark", 3);
    fixture_power_cut(1);
    assert_int_equal(meta("mark"), 3);
}

static void a_failed_sync_fails_the_commit(void **state)
{
    (void)state;
    only_embedded("its syncs are its own");
    set_meta("mark", 1);
    begin();
    ok(store_meta_set(fx.store, "mark", 2, &err));
    struct err err = ERR_INIT;

    powercut_fail(fx.disk, &(struct powercut_plan){POWERCUT_SYNC, 1, 1, SQLITE_IOERR_FSYNC});
    assert_int_equal(store_commit(fx.store, &err), E_UNAVAILABLE);
    store_rollback(fx.store);
    assert_int_equal(meta("mark"), 1);
    set_meta("mark", 3);
    fixture_power_cut(1);
    assert_int_equal(meta("mark"), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_fresh_store_is_migrated_and_sound),
        STORE_TEST(what_can_only_be_chosen_at_creation_is_chosen),
        STORE_TEST(opening_again_changes_nothing),
        STORE_TEST(a_newer_store_is_refused_and_left_alone),
        STORE_TEST(what_is_no_database_is_refused),
        STORE_TEST(a_migration_that_was_cut_off_runs_again),
        STORE_TEST(a_rolled_back_transaction_leaves_no_trace),
        STORE_TEST(a_reader_sees_commits_and_only_commits),
        STORE_TEST(a_reader_cannot_write),
        STORE_TEST(each_commit_waits_for_a_sync),
        STORE_TEST(a_commit_survives_any_power_cut),
        STORE_TEST(a_clean_stop_folds_the_log_in),
        STORE_TEST(a_killed_writer_is_noticed),
        STORE_TEST(a_commit_on_a_full_disk_fails_and_the_next_one_goes),
        STORE_TEST(a_failed_sync_fails_the_commit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
