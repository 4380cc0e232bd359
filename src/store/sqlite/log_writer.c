/* SPDX-License-Identifier: MIT */
#include "store/sqlite/log_writer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/fault.h"

enum {
    ROOM = 0x1ffff, /* bytes: what SQLite's own VFS takes at once; a page with its head is half of
                       it at most */
    NAME_SIZE = 40,
};

enum debt { DEBT_NONE, DEBT_OWED, DEBT_BEING_PAID, DEBT_FAILED };

struct log_writer {
    sqlite3_vfs vfs; /* a copy of `base` that opens logs in its own way */
    sqlite3_vfs *base;
    char name[NAME_SIZE];
    bool puts_off; /* the connection's thread */
    pthread_mutex_t mutex;
    pthread_cond_t paid;
    enum debt debt;      /* of one sync; under the mutex */
    sqlite3_file *owing; /* the log that must be synced; while it is owed or being paid */
};

/* An open log.  The gathered bytes are to be written at `at`. */
struct log_file {
    sqlite3_file file; /* must be first */
    sqlite3_file *base;
    struct log_writer *writer;
    sqlite3_int64 at;
    int size;
    char *gathered;
};

static struct log_file *log_of(sqlite3_file *file)
{
    return (struct log_file *)file;
}

/* Unlike other syncs SQLite does not ask for this one: its flags are those of a commit's. */
static int pay(sqlite3_file *log)
{
    if (fault_hit("log.sync"))
        return SQLITE_IOERR_FSYNC;
    return log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
}

int log_writer_sync(struct log_writer *w)
{
    pthread_mutex_lock(&w->mutex);
    while (w->debt == DEBT_BEING_PAID)
        pthread_cond_wait(&w->paid, &w->mutex);
    if (w->debt == DEBT_OWED) {
        w->debt = DEBT_BEING_PAID;
        pthread_mutex_unlock(&w->mutex);
        int rc = pay(w->owing);

        pthread_mutex_lock(&w->mutex);
        w->debt = rc == SQLITE_OK ? DEBT_NONE : DEBT_FAILED;
        pthread_cond_broadcast(&w->paid);
    }
    bool has_failed = w->debt == DEBT_FAILED;

    pthread_mutex_unlock(&w->mutex);
    return has_failed ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

/* Bytes that could not be written are dropped: SQLite takes the commit back. */
static int flush(struct log_file *l)
{
    int size = l->size;

    l->size = 0;
    if (size == 0)
        return SQLITE_OK;
    int rc = log_writer_sync(l->writer); /* of the commit before */

    return rc != SQLITE_OK ? rc : l->base->pMethods->xWrite(l->base, l->gathered, size, l->at);
}

static int log_write(sqlite3_file *file, const void *data, int size, sqlite3_int64 at)
{
    struct log_file *l = log_of(file);

    ASSERT(size <= ROOM);
    bool follows = at == l->at + l->size && size <= ROOM - l->size;
    int rc = follows ? SQLITE_OK : flush(l);

    if (rc != SQLITE_OK)
        return rc;
    if (l->size == 0)
        l->at = at;
    memcpy(l->gathered + l->size, data, (size_t)size);
    l->size += size;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *data, int size, sqlite3_int64 at)
{
    struct log_file *l = log_of(file);
    int rc = flush(l);

    return rc != SQLITE_OK ? rc : l->base->pMethods->xRead(l->base, data, size, at);
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct log_file *l = log_of(file);
    int rc = flush(l);

    return rc != SQLITE_OK ? rc : l->base->pMethods->xTruncate(l->base, size);
}

static void owe(struct log_writer *w, sqlite3_file *log)
{
    pthread_mutex_lock(&w->mutex);
    w->owing = log;
    w->debt = DEBT_OWED;
    pthread_mutex_unlock(&w->mutex);
}

/* A sync that is not put off (of a checkpoint, for instance) first pays what is owed. */
static int log_sync(sqlite3_file *file, int flags)
{
    struct log_file *l = log_of(file);
    int rc = flush(l);

    if (rc == SQLITE_OK)
        rc = log_writer_sync(l->writer);
    if (rc != SQLITE_OK)
        return rc;
    if (l->writer->puts_off) {
        owe(l->writer, l->base);
        return SQLITE_OK;
    }
    return l->base->pMethods->xSync(l->base, flags);
}

static int log_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
    struct log_file *l = log_of(file);
    int rc = flush(l);

    return rc != SQLITE_OK ? rc : l->base->pMethods->xFileSize(l->base, ret_size);
}

static int log_close(sqlite3_file *file)
{
    struct log_file *l = log_of(file);
    int flushed = flush(l);

    if (flushed == SQLITE_OK)
        flushed = log_writer_sync(l->writer);
    int closed = l->base->pMethods->xClose(l->base);

    free(l->gathered);
    return flushed != SQLITE_OK ? flushed : closed;
}

/* Locks and shared memory are the database's: nobody asks a log for them. */
static int log_lock(sqlite3_file *file, int level)
{
    return log_of(file)->base->pMethods->xLock(log_of(file)->base, level);
}

static int log_unlock(sqlite3_file *file, int level)
{
    return log_of(file)->base->pMethods->xUnlock(log_of(file)->base, level);
}

static int log_is_reserved(sqlite3_file *file, int *ret_reserved)
{
    return log_of(file)->base->pMethods->xCheckReservedLock(log_of(file)->base, ret_reserved);
}

static int log_control(sqlite3_file *file, int what, void *arg)
{
    return log_of(file)->base->pMethods->xFileControl(log_of(file)->base, what, arg);
}

static int log_sector_size(sqlite3_file *file)
{
    return log_of(file)->base->pMethods->xSectorSize(log_of(file)->base);
}

static int log_character(sqlite3_file *file)
{
    return log_of(file)->base->pMethods->xDeviceCharacteristics(log_of(file)->base);
}

static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_is_reserved,
    .xFileControl = log_control,
    .xSectorSize = log_sector_size,
    .xDeviceCharacteristics = log_character,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    sqlite3_vfs *base = ((struct log_writer *)vfs)->base;
    struct log_file *l = log_of(file);

    if ((flags & SQLITE_OPEN_WAL) == 0)
        return base->xOpen(base, name, file, flags, ret_flags);
    *l = (struct log_file){.base = (sqlite3_file *)(l + 1), .writer = (struct log_writer *)vfs};
    int rc = base->xOpen(base, name, l->base, flags, ret_flags);

    if (rc == SQLITE_OK) {
        l->gathered = mem_alloc(ROOM);
        l->file.pMethods = &log_methods;
    } else if (l->base->pMethods != NULL) {
        l->base->pMethods->xClose(l->base);
    }
    return rc;
}

struct log_writer *log_writer_new(const char *base_name)
{
    sqlite3_vfs *base = sqlite3_vfs_find(base_name);

    if (base == NULL)
        return NULL;
    struct log_writer *w = mem_zalloc(sizeof(*w));

    snprintf(w->name, sizeof(w->name), "log-writer-%p", (void *)w);
    w->base = base;
    w->vfs = *base;
    w->vfs.zName = w->name;
    w->vfs.szOsFile += (int)sizeof(struct log_file);
    w->vfs.xOpen = open_file;
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->paid, NULL);
    ASSERT(sqlite3_vfs_register(&w->vfs, 0) == SQLITE_OK);
    return w;
}

const char *log_writer_name(const struct log_writer *w)
{
    return w->name;
}

void log_writer_put_off(struct log_writer *w, bool puts_off)
{
    if (w != NULL)
        w->puts_off = puts_off;
}

bool log_writer_owes(struct log_writer *w)
{
    pthread_mutex_lock(&w->mutex);
    bool owes = w->debt != DEBT_NONE;

    pthread_mutex_unlock(&w->mutex);
    return owes;
}

void log_writer_free(struct log_writer *w)
{
    if (w == NULL)
        return;
    sqlite3_vfs_unregister(&w->vfs);
    pthread_cond_destroy(&w->paid);
    pthread_mutex_destroy(&w->mutex);
    free(w);
}
