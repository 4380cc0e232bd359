/*
 * The files of an embedded database: watched, checked, copied, shrunk and measured.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

#include "store/damage.h"
#include "store/sqlite/internal.h"

enum { DATABASE, LOG }; /* places in sqlite_db.marks */

/* The head of the index of the log, which all processes share: https://sqlite.org/walformat.html */
enum { INDEX_VERSION = 3007000, INDEX_PART_BYTES = 32768 };

struct log_index {
    uint32_t version, unused, change;
    uint8_t is_init, big_endian;
    uint16_t page_size; /* 1: 65536 */
    uint32_t frames;    /* of whole commits */
    uint32_t rest[7];   /* checksums and salts: they differ after each change */
};

enum { INDEX_WORDS = sizeof(struct log_index) / sizeof(uint32_t) };

struct look {
    struct file_mark mark;
    bool is_cut; /* the log is shorter than it must be */
    int error;   /* errno; 0: it is there */
};

/* False while somebody changes it.  There are two copies; the second one is written first. */
static bool read_index(const struct sqlite_db *db, struct log_index *ret_index)
{
    uint32_t words[INDEX_WORDS] = {0};
    bool is_whole = db->log_index != NULL;

    for (size_t i = 0; is_whole && i < INDEX_WORDS; i++)
        words[i] = __atomic_load_n(&db->log_index[i], __ATOMIC_ACQUIRE);
    for (size_t i = 0; is_whole && i < INDEX_WORDS; i++)
        is_whole = words[i] == __atomic_load_n(&db->log_index[INDEX_WORDS + i], __ATOMIC_ACQUIRE);
    if (is_whole)
        memcpy(ret_index, words, sizeof(*ret_index));
    return is_whole && ret_index->version == INDEX_VERSION;
}

/* SQLite, in any program, sets the number of frames to 0 before it makes the log shorter.  If the
 * log is too short for an index that stays the same, something else has cut it off. */
static bool is_too_short(const struct sqlite_db *db, const struct log_index *before, int64_t bytes)
{
    struct log_index now;
    int64_t page_size = before->page_size == 1 ? 65536 : before->page_size;
    int64_t must = before->frames == 0 ? 0 : 32 + before->frames * (24 + page_size);

    return bytes < must && read_index(db, &now) && memcmp(before, &now, sizeof(now)) == 0;
}

/* The database by its whole path, its log by its name in the same directory.  Called at each
 * commit: the walk along a path is the expensive part.
 *
 * Does not ask for times: once the times of a file have been read, Linux updates them with the next
 * write, and the sync of that commit may have to write the inode as well. */
static struct look look_at(const struct sqlite_db *db, size_t file)
{
    struct log_index index;
    bool is_known = file == LOG && read_index(db, &index);
    struct statx st;
    int failed = file == DATABASE ? statx(AT_FDCWD, db->path, 0, STATX_INO, &st)
                                  : statx(db->dir_fd, db->log_name, 0, STATX_INO | STATX_SIZE, &st);

    if (failed)
        return (struct look){.error = errno};
    return (struct look){
        .mark = {makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_ino},
        .is_cut = is_known && is_too_short(db, &index, (int64_t)st.stx_size),
    };
}

/* The mapping of SQLite: to open and close the file here would drop the locks of this process. */
static const volatile uint32_t *map_index(struct sqlite_db *db)
{
    sqlite3_file *file = NULL;
    void volatile *index = NULL;
    int rc = sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, &file);

    if (rc == SQLITE_OK && file->pMethods->iVersion >= 2)
        rc = file->pMethods->xShmMap(file, 0, INDEX_PART_BYTES, 0, &index);
    return rc == SQLITE_OK ? index : NULL;
}

void sqlite_mark_files(struct sqlite_db *db)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(db->path, '/');

    snprintf(dir, sizeof(dir), "%.*s", slash == NULL ? 1 : (int)(slash - db->path) + 1,
             slash == NULL ? "." : db->path);
    db->dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(db->log_name, sizeof(db->log_name), "%s-wal", slash == NULL ? db->path : slash + 1);
    db->log_index = map_index(db);
    for (size_t i = 0; i < ARRAY_LEN(db->marks); i++)
        db->marks[i] = look_at(db, i).mark;
}

bool sqlite_log_is_cut(const struct sqlite_db *db)
{
    return db->marks[LOG].ino != 0 && look_at(db, LOG).is_cut;
}

bool sqlite_mark_is_merged(const struct sqlite_db *db)
{
    struct log_index index;
    uint32_t frame = (uint32_t)db->wal_mark.frame;

    if (frame == 0 || !read_index(db, &index))
        return false;
    /* The number of frames in the database follows the two copies. */
    return index.frames < frame ||
           __atomic_load_n(&db->log_index[2 * INDEX_WORDS], __ATOMIC_ACQUIRE) >= frame;
}

enum err_code sqlite_in_place(struct db *base, struct err *err)
{
    struct sqlite_db *db = sqlite_of(base);

    for (size_t i = 0; i < ARRAY_LEN(db->marks); i++) {
        if (db->marks[i].ino == 0)
            continue;
        struct look now = look_at(db, i);
        const char *suffix = i == DATABASE ? "" : "-wal";
        bool is_same = now.mark.ino == db->marks[i].ino && now.mark.dev == db->marks[i].dev;
        const char *fate = is_same ? "cut off" : "removed or replaced";

        if (is_same && !now.is_cut)
            continue;
        if (now.error != 0 && now.error != ENOENT && now.error != ENOTDIR)
            return err_set(err, E_UNAVAILABLE, "cannot see whether %s%s is in place: %s", db->path,
                           suffix, strerror(now.error));
        damage_note(db->base.damage, "%s%s was %s while it was in use", db->path, suffix, fate);
        return err_set(err, E_UNAVAILABLE,
                       "%s%s was %s while it was in use: nothing more is taken; stop the server, "
                       "restore a backup",
                       db->path, suffix, fate);
    }
    return E_OK;
}

struct findings {
    store_finding_fn *on_finding;
    void *ctx;
};

static int take_finding(void *ctx, int n, char **values, char **names)
{
    struct findings *f = ctx;

    (void)n;
    (void)names;
    if (values[0] != NULL && strcmp(values[0], "ok") != 0)
        f->on_finding(f->ctx, values[0]);
    return 0;
}

enum err_code sqlite_check(struct db *base, enum store_check how, store_finding_fn *on_finding,
                           void *ctx, struct err *err)
{
    struct sqlite_db *db = sqlite_of(base);
    struct findings f = {on_finding, ctx};
    const char *pragma = how == STORE_CHECK_FULL ? "PRAGMA integrity_check(100)"
                                                 : "PRAGMA quick_check(100)";

    db->read_until = 0; /* a check takes the time it takes */
    int rc = sqlite3_exec(db->handle, pragma, take_finding, &f, NULL);

    if ((rc & 0xFF) == SQLITE_CORRUPT || (rc & 0xFF) == SQLITE_NOTADB) {
        on_finding(ctx, sqlite3_errmsg(db->handle)); /* too broken to be checked further */
        return E_OK;
    }
    return rc == SQLITE_OK ? E_OK : sqlite_fail(db, rc, err);
}

enum err_code sqlite_backup(struct db *base, const char *path, struct err *err)
{
    struct sqlite_db *db = sqlite_of(base);
    sqlite3 *to = NULL;
    int rc = sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

    db->read_until = 0;
    if (rc == SQLITE_OK) {
        sqlite3_backup *b = sqlite3_backup_init(to, "main", db->handle, "main");

        /* All in one step: one snapshot, so that writers meanwhile do not make it start again. */
        rc = b == NULL ? SQLITE_OK : sqlite3_backup_step(b, -1);
        if (rc == SQLITE_DONE)
            rc = SQLITE_OK;
        int finish_rc = sqlite3_backup_finish(b);

        if (rc == SQLITE_OK)
            rc = b == NULL ? sqlite3_errcode(to) : finish_rc;
    }
    if (rc != SQLITE_OK)
        err_set(err, sqlite_code(rc), "backup to %s: %s", path, sqlite3_errstr(rc));
    sqlite3_close_v2(to);
    return rc == SQLITE_OK ? E_OK : err->code;
}

enum err_code sqlite_shrink(struct db *db, int pages, struct err *err)
{
    char pragma[64];

    snprintf(pragma, sizeof(pragma), "PRAGMA incremental_vacuum(%d)", pages);
    return sqlite_exec(sqlite_of(db), pragma, err);
}

static int64_t wal_bytes(const char *path)
{
    char wal[PATH_MAX + 8];
    struct stat st;

    snprintf(wal, sizeof(wal), "%s-wal", path);
    return stat(wal, &st) == 0 ? st.st_size : 0;
}

static int64_t disk_free(const char *path)
{
    const char *slash = strrchr(path, '/');
    CLEANUP(mem)
    char *dir = slash == NULL ? mem_strdup(".") : mem_strndup(path, (size_t)(slash - path) + 1);
    struct statvfs vfs;

    return statvfs(dir, &vfs) == 0 ? (int64_t)vfs.f_bavail * (int64_t)vfs.f_frsize : 0;
}

enum err_code sqlite_facts(struct db *base, struct store_facts *ret_facts, struct err *err)
{
    struct sqlite_db *db = sqlite_of(base);
    int64_t page_size = 0;
    int64_t page_count = 0;
    int64_t free_count = 0;

    if (sqlite_ask_int(db, "PRAGMA page_size", &page_size, err) != E_OK ||
        sqlite_ask_int(db, "PRAGMA page_count", &page_count, err) != E_OK ||
        sqlite_ask_int(db, "PRAGMA freelist_count", &free_count, err) != E_OK)
        return err->code;
    *ret_facts = (struct store_facts){
        .bytes = page_size * page_count,
        .free_bytes = page_size * free_count,
        .wal_bytes = wal_bytes(db->path),
        .disk_free = disk_free(db->path),
    };
    snprintf(ret_facts->path, sizeof(ret_facts->path), "%s", db->path);
    return E_OK;
}
