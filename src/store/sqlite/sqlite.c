/* SPDX-License-Identifier: MIT */
#include "store/sqlite/sqlite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/os/fault.h"
#include "store/damage.h"
#include "store/sqlite/internal.h"
#include "store/sqlite/log_writer.h"
#include "store/sqlite/rows.h"
#include "store/sqlite/text.h"

enum {
    PAGE_BYTES = 8192,
    CHECKPOINT_PAGES = 4000,
    WAL_KEEP_BYTES = 64 << 20, /* a WAL that grew beyond is cut back after a checkpoint */
    CACHE_KIB = 8192,
    BUSY_MS = 5000,
    LOOKASIDE_BYTES = 1200, /* size and number of the slots for small allocations */
    LOOKASIDE_SLOTS = 100,
    PROGRESS_OPS = 2000, /* how often a reader looks at its time limit */
};

struct sqlite_row {
    struct db_row base; /* must be first */
    sqlite3_stmt *stmt;
};

static const struct db_driver sqlite_driver;

static sqlite3_stmt *stmt_of(const struct db_row *row)
{
    return ((const struct sqlite_row *)row)->stmt;
}

enum err_code sqlite_code(int rc)
{
    switch (rc & 0xFF) {
    case SQLITE_FULL: return E_FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_NOMEM: return E_UNAVAILABLE;
    case SQLITE_INTERRUPT: return E_TOO_SLOW;
    default: return E_INTERNAL;
    }
}

/* A log that was cut off is not checkpointed: its pages would be mixed with older ones.  The mark
 * is raised above what is left of it, so that the next start reports the loss. */
static bool give_up_cut_log(struct sqlite_db *db)
{
    if (!sqlite_log_is_cut(db))
        return false;
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    wal_mark_write(&db->wal_mark, db->wal_mark.number + 1);
    return true;
}

/* The words for what people can do something about, SQLite's own for the rest. */
enum err_code sqlite_fail(struct sqlite_db *db, int rc, struct err *err)
{
    enum err_code code = sqlite_code(rc);

    if ((rc & 0xFF) == SQLITE_CORRUPT || (rc & 0xFF) == SQLITE_NOTADB)
        damage_note(db->base.damage, "%s (%d)",
                    db->handle == NULL ? sqlite3_errstr(rc) : sqlite3_errmsg(db->handle), rc);
    if (rc == SQLITE_IOERR_SHORT_READ)
        (void)give_up_cut_log(db);
    if (code == E_FULL)
        return err_set(err, E_FULL, "the disk of the store is full: free space, then repeat");
    if (code == E_TOO_SLOW)
        return err_set(err, code, "the store took too long: narrow the request");
    return err_set(err, code, "store: %s (%d)",
                   db->handle == NULL ? sqlite3_errstr(rc) : sqlite3_errmsg(db->handle), rc);
}

enum err_code sqlite_exec(struct sqlite_db *db, const char *sql, struct err *err)
{
    int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? E_OK : sqlite_fail(db, rc, err);
}

/* ---- statements ---- */

static enum err_code map_args(struct sqlite_statement *st, const char *name, struct err *err)
{
    st->n_args = sqlite3_bind_parameter_count(st->stmt);
    st->places = mem_zalloc(sizeof(int) * (size_t)(st->n_args + 1));
    for (int i = 1; i <= st->n_args; i++) {
        char arg[16];

        snprintf(arg, sizeof(arg), "$%d", i);
        st->places[i] = sqlite3_bind_parameter_index(st->stmt, arg);
        if (st->places[i] == 0)
            return err_set(err, E_INTERNAL, "statement %s has no %s", name, arg);
    }
    return E_OK;
}

static enum err_code prepare(struct sqlite_db *db, enum sql sql, struct err *err)
{
    struct sqlite_statement *st = &db->statements[sql];
    int rc = sqlite3_prepare_v3(db->handle, sql_texts[sql].sqlite, -1, SQLITE_PREPARE_PERSISTENT,
                                &st->stmt, NULL);

    if (rc != SQLITE_OK) {
        sqlite_fail(db, rc, err);
        return err_wrap(err, "statement %s", sql_texts[sql].name);
    }
    return map_args(st, sql_texts[sql].name, err);
}

static int bind_one(sqlite3_stmt *stmt, int place, const struct db_value *v)
{
    switch (v->type) {
    case DB_NULL: return sqlite3_bind_null(stmt, place);
    case DB_INT: return sqlite3_bind_int64(stmt, place, v->i);
    case DB_TEXT:
        return sqlite3_bind_text64(stmt, place, v->s.data == NULL ? "" : v->s.data, v->s.size,
                                   SQLITE_STATIC, SQLITE_UTF8);
    case DB_BLOB: return sqlite3_bind_blob64(stmt, place, v->s.data, v->s.size, SQLITE_STATIC);
    case DB_ROWS: return sqlite_rows_bind(stmt, place, v->rows);
    }
    return SQLITE_MISUSE;
}

static int step_all(struct sqlite_db *db, struct sqlite_statement *st, struct db_call *call)
{
    struct sqlite_row row = {.base = {&sqlite_driver, &db->base}, .stmt = st->stmt};
    int rc;

    while ((rc = sqlite3_step(st->stmt)) == SQLITE_ROW)
        if (call->on_row != NULL)
            call->on_row(call->ctx, &row.base);
    if (rc != SQLITE_DONE)
        return rc;
    call->changed = sqlite3_stmt_readonly(st->stmt) ? 0 : sqlite3_changes64(db->handle);
    return SQLITE_OK;
}

static enum err_code run_one(struct sqlite_db *db, struct db_call *call, struct err *err)
{
    struct sqlite_statement *st = &db->statements[call->sql];

    if (st->places == NULL && prepare(db, call->sql, err) != E_OK)
        return err->code;
    ASSERT(call->n_args == (size_t)st->n_args);
    int rc = SQLITE_OK;

    for (int i = 0; i < st->n_args && rc == SQLITE_OK; i++)
        rc = bind_one(st->stmt, st->places[i + 1], &call->args[i]);
    if (rc == SQLITE_OK)
        rc = step_all(db, st, call);
    if (rc == SQLITE_OK) {
        sqlite3_reset(st->stmt);
        return E_OK;
    }
    sqlite_fail(db, rc, err);
    sqlite3_reset(st->stmt);
    /* People know no statements: its name is for faults of ours. */
    return err->code == E_INTERNAL ? err_wrap(err, "%s", sql_texts[call->sql].name) : err->code;
}

static void start_clock(struct sqlite_db *db)
{
    if (db->read_limit_us > 0)
        db->read_until = clock_mono_us() + db->read_limit_us;
}

static enum err_code sqlite_run(struct db *base, struct db_call *calls, size_t n, struct err *err)
{
    struct sqlite_db *db = sqlite_of(base);

    /* The time limit is for a whole transaction, or for each statement outside of one. */
    if (db->read_limit_us > 0 && sqlite3_get_autocommit(db->handle))
        start_clock(db);
    if (db->read_limit_us > 0 && fault_hit("read.slow"))
        return sqlite_fail(db, SQLITE_INTERRUPT, err);
    for (size_t i = 0; i < n; i++)
        if (run_one(db, &calls[i], err) != E_OK)
            return err->code;
    return E_OK;
}

static enum err_code sqlite_post(struct db *db, struct db_call *call, struct err *err)
{
    return sqlite_run(db, call, 1, err);
}

static int64_t col_int(const struct db_row *row, int column)
{
    return sqlite3_column_int64(stmt_of(row), column);
}

static struct slice col_text(const struct db_row *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt_of(row), column);

    if (text == NULL)
        return slice_make(NULL, 0);
    return slice_make(text, (size_t)sqlite3_column_bytes(stmt_of(row), column));
}

static bool col_null(const struct db_row *row, int column)
{
    return sqlite3_column_type(stmt_of(row), column) == SQLITE_NULL;
}

static struct slice col_blob(const struct db_row *row, int column)
{
    if (col_null(row, column))
        return slice_make(NULL, 0);
    const char *data = sqlite3_column_blob(stmt_of(row), column);

    return slice_make(data == NULL ? "" : data, (size_t)sqlite3_column_bytes(stmt_of(row), column));
}

/* ---- transactions ---- */

static enum err_code run_bare(struct sqlite_db *db, enum sql sql, struct err *err)
{
    struct db_call call = {.sql = sql};

    return run_one(db, &call, err);
}

static enum err_code sqlite_begin(struct db *base, struct err *err)
{
    struct sqlite_db *db = sqlite_of(base);

    start_clock(db);
    return run_bare(db, db->read_only ? SQL_BEGIN_READ : SQL_BEGIN_WRITE, err);
}

static enum err_code sqlite_commit(struct db *base, enum db_sync when, struct err *err)
{
    struct sqlite_db *db = sqlite_of(base);
    struct wal_mark *mark = &db->wal_mark;
    bool renews = mark->due || sqlite_mark_is_merged(db);

    if (sqlite_in_place(base, err) != E_OK) {
        (void)give_up_cut_log(db);
        return err->code;
    }
    if (renews &&
        db_do(base, SQL_META_SET, err, db_t(SLICE(WAL_MARK_KEY)), db_i(mark->number + 1)) != E_OK)
        return err->code;
    mark->stores = renews;
    /* The mark's file must not be ahead of its commit. */
    log_writer_put_off(db->log_writer, when == DB_SYNC_LATER && !renews);
    enum err_code code = run_bare(db, SQL_COMMIT, err);

    log_writer_put_off(db->log_writer, false);
    if (code != E_OK) {
        mark->stores = false;
        return code;
    }
    if (renews)
        wal_mark_write(mark, mark->number);
    return E_OK;
}

static enum err_code sqlite_sync(struct db *base, struct err *err)
{
    struct sqlite_db *db = sqlite_of(base);

    if (log_writer_sync(db->log_writer) == SQLITE_OK)
        return E_OK;
    return err_set(err, E_UNAVAILABLE,
                   "the write-ahead log could not be synced: whether this request took effect is "
                   "known after a restart");
}

static bool sqlite_owes_sync(struct db *base)
{
    struct sqlite_db *db = sqlite_of(base);

    return db->log_writer != NULL && log_writer_owes(db->log_writer);
}

/* In place of SQLite's own, which does not say how far its checkpoint came.  A checkpoint syncs the
 * log itself, before it changes the database. */
static int on_commit(void *ctx, sqlite3 *handle, const char *name, int frames)
{
    struct sqlite_db *db = ctx;
    int in_database = -1;

    log_writer_put_off(db->log_writer, false);
    if (frames >= CHECKPOINT_PAGES) /* what fails is repeated after the next commit */
        (void)sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_PASSIVE, NULL,
                                        &in_database);
    wal_mark_committed(&db->wal_mark, frames, in_database);
    return SQLITE_OK;
}

static void sqlite_rollback(struct db *base)
{
    struct sqlite_db *db = sqlite_of(base);
    struct err ignored = ERR_INIT; /* SQLite has rolled back by itself where it says so */

    if (!sqlite3_get_autocommit(db->handle) && run_bare(db, SQL_ROLLBACK, &ignored) != E_OK)
        return;
}

/* ---- opening and closing ---- */

static int take_int(void *ctx, int n, char **values, char **names)
{
    (void)n;
    (void)names;
    *(int64_t *)ctx = values[0] == NULL ? 0 : strtoll(values[0], NULL, 10);
    return 0;
}

enum err_code sqlite_ask_int(struct sqlite_db *db, const char *pragma, int64_t *ret,
                             struct err *err)
{
    int rc = sqlite3_exec(db->handle, pragma, take_int, ret, NULL);

    return rc == SQLITE_OK ? E_OK : sqlite_fail(db, rc, err);
}

static int newest_migration(void)
{
    int newest = 0;

    for (int i = 0; i < SQL_MIGRATION_COUNT; i++)
        if (strcmp(sql_migrations[i].store, "sqlite") == 0 && sql_migrations[i].number > newest)
            newest = sql_migrations[i].number;
    return newest;
}

/* Before anything is written: the store of a newer waybill is left as it is. */
static enum err_code refuse_newer(struct sqlite_db *db, struct err *err)
{
    int64_t version = 0;

    if (sqlite_ask_int(db, "PRAGMA user_version", &version, err) != E_OK)
        return err->code;
    if (version <= newest_migration())
        return E_OK;
    return err_set(err, E_UNAVAILABLE,
                   "the store is of version %lld, this waybill knows only up to %d: use the newer "
                   "waybill, or a backup made by this one",
                   (long long)version, newest_migration());
}

static int watch_time(void *ctx)
{
    struct sqlite_db *db = ctx;

    return db->read_until != 0 && clock_mono_us() > db->read_until;
}

/* SQLite keeps another journal where it cannot have this one, and does not say so. */
static enum err_code require_wal(struct sqlite_db *db, struct err *err)
{
    int64_t wal = 0;

    if (sqlite_ask_int(db, "SELECT journal_mode = 'wal' FROM pragma_journal_mode", &wal, err) !=
        E_OK)
        return err->code;
    return wal == 1 ? E_OK
                    : err_set(err, E_UNAVAILABLE,
                              "its file system takes no write-ahead log: use a local one");
}

/* Frames behind the end of a damaged log would be found again after the next crash.  A reader may
 * keep it from being emptied: then they are. */
static enum err_code empty_log(struct sqlite_db *db, struct err *err)
{
    int rc = sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

    if (rc == SQLITE_OK || rc == SQLITE_BUSY)
        return E_OK;
    sqlite_fail(db, rc, err);
    return err_wrap(err, "empty the damaged write-ahead log");
}

static enum err_code configure(struct sqlite_db *db, const struct sqlite_config *config,
                               struct err *err)
{
    char pragmas[512];

    sqlite3_busy_timeout(db->handle, BUSY_MS);
    sqlite3_extended_result_codes(db->handle, 1);
    int rc = sqlite_rows_register(db->handle);

    if (rc == SQLITE_OK)
        rc = sqlite_text_register(db->handle);
    if (rc != SQLITE_OK)
        return sqlite_fail(db, rc, err);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_LOOKASIDE, NULL, LOOKASIDE_BYTES,
                      LOOKASIDE_SLOTS);
    if (config->read_only) {
        if (config->read_limit_us > 0)
            sqlite3_progress_handler(db->handle, PROGRESS_OPS, watch_time, db);
        db->read_only = true;
        db->read_limit_us = config->read_limit_us;
        return sqlite_exec(db, "PRAGMA query_only=ON; PRAGMA cache_size=-1024", err);
    }
    snprintf(pragmas, sizeof(pragmas),
             "PRAGMA synchronous=FULL; PRAGMA page_size=%d; PRAGMA auto_vacuum=INCREMENTAL;"
             "PRAGMA journal_mode=WAL; PRAGMA journal_size_limit=%d; PRAGMA cache_size=-%d;"
             "PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF",
             PAGE_BYTES, WAL_KEEP_BYTES, CACHE_KIB);
    sqlite3_wal_hook(db->handle, on_commit, db);
    if (sqlite_exec(db, pragmas, err) != E_OK || require_wal(db, err) != E_OK)
        return err->code;
    return config->empty_log ? empty_log(db, err) : E_OK;
}

/* Before SQLite's first use in the process: nobody reads its memory statistics, and keeping them
 * costs a lock for each allocation.  Refused (and no harm) when a test has used SQLite before. */
static void configure_process(void)
{
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static void sqlite_close(struct db *base, enum db_close how)
{
    struct sqlite_db *db = sqlite_of(base);

    for (int i = 0; i < SQL_COUNT; i++) {
        sqlite3_finalize(db->statements[i].stmt);
        free(db->statements[i].places);
    }
    if (!give_up_cut_log(db) && how == DB_CLOSE_CLEAN && !db->read_only)
        sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_close_v2(db->handle);
    log_writer_free(db->log_writer);
    wal_mark_close(&db->wal_mark);
    if (db->dir_fd >= 0)
        close(db->dir_fd);
    free(db->path);
    free(db);
}

static int open_handle(struct sqlite_db *db, const struct sqlite_config *config)
{
    const char *vfs = config->vfs;
    int flags = SQLITE_OPEN_READONLY;

    if (!config->read_only) {
        flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
        db->log_writer = log_writer_new(vfs);
        vfs = db->log_writer == NULL ? vfs : log_writer_name(db->log_writer);
    }
    return sqlite3_open_v2(config->path, &db->handle, flags | SQLITE_OPEN_NOMUTEX, vfs);
}

enum err_code sqlite_db_open(const struct sqlite_config *config, struct db **ret_db,
                             struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct sqlite_db *db = mem_zalloc(sizeof(*db));

    pthread_once(&once, configure_process);
    db->base.driver = &sqlite_driver;
    db->dir_fd = -1;
    db->path = mem_strdup(config->path);
    db->base.damage = config->damage;
    db->vfs = config->vfs;
    db->may_be_new = config->may_be_new;
    int rc = open_handle(db, config);

    if (rc != SQLITE_OK) {
        sqlite_fail(db, rc, err);
        err_wrap(err, "open %s", config->path);
    } else if (refuse_newer(db, err) != E_OK || configure(db, config, err) != E_OK) {
        err_wrap(err, "open %s", config->path);
    } else {
        *ret_db = &db->base;
        return E_OK;
    }
    sqlite_close(&db->base, DB_CLOSE_PLAIN);
    return err->code;
}

/* ---- migrations ---- */

static enum err_code run_migration(struct sqlite_db *db, const struct sql_migration *m,
                                   struct err *err)
{
    char set_version[64];

    snprintf(set_version, sizeof(set_version), "PRAGMA user_version=%d", m->number);
    if (db_begin(&db->base, err) != E_OK || sqlite_exec(db, m->text, err) != E_OK ||
        sqlite_exec(db, set_version, err) != E_OK ||
        db_commit(&db->base, DB_SYNC_NOW, err) != E_OK) {
        db_rollback(&db->base);
        return err_wrap(err, "migration %04d_%s", m->number, m->name);
    }
    return E_OK;
}

/* Compares the marks of the log, and finds the highest number.  The file is read first: a server at
 * work may raise both in between.  A database without a number is new or of an earlier version, and
 * has no file; if there is one, everything was lost, or the number with its commit. */
static enum err_code judge_mark(struct sqlite_db *db, int64_t version, int64_t *ret_number,
                                struct err *err)
{
    int64_t in_file = wal_mark_read(db->path, db->vfs);
    int64_t in_table = 0;

    if (version > 0 &&
        db_number_if(&db->base, SQL_META_GET, &in_table, err, db_t(SLICE(WAL_MARK_KEY))) != E_OK)
        return err->code;
    db->log_lost = in_file > in_table && (version > 0 || !db->may_be_new);
    *ret_number = in_file > in_table ? in_file : in_table;
    return E_OK;
}

static enum err_code sqlite_migrate(struct db *base, int *ret_version, struct err *err)
{
    struct sqlite_db *db = sqlite_of(base);
    int64_t version = 0;
    int64_t mark = 0;
    int newest = newest_migration();

    if (sqlite_ask_int(db, "PRAGMA user_version", &version, err) != E_OK ||
        judge_mark(db, version, &mark, err) != E_OK)
        return err->code;
    if (db->read_only)
        newest = (int)version;
    for (int i = 0; i < SQL_MIGRATION_COUNT; i++) {
        const struct sql_migration *m = &sql_migrations[i];

        if (strcmp(m->store, "sqlite") != 0 || m->number <= version || m->number > newest)
            continue;
        if (run_migration(db, m, err) != E_OK)
            return err->code;
    }
    *ret_version = newest;
    if (db->read_only)
        return E_OK;
    wal_mark_open(&db->wal_mark, db->path, db->vfs, mark);
    /* Another VFS keeps its files where stat does not see them. */
    if (db->vfs == NULL)
        sqlite_mark_files(db);
    return E_OK;
}

bool sqlite_log_is_lost(const struct db *db)
{
    return ((const struct sqlite_db *)db)->log_lost;
}

static const struct db_driver sqlite_driver = {
    .run = sqlite_run,
    .post = sqlite_post,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .sync = sqlite_sync,
    .owes_sync = sqlite_owes_sync,
    .rollback = sqlite_rollback,
    .close = sqlite_close,
    .col_int = col_int,
    .col_text = col_text,
    .col_blob = col_blob,
    .col_null = col_null,
    .migrate = sqlite_migrate,
    .in_place = sqlite_in_place,
    .facts = sqlite_facts,
    .check = sqlite_check,
    .backup = sqlite_backup,
    .shrink = sqlite_shrink,
};
