/* SPDX-License-Identifier: MIT */
#include "store/sqlite/wal_mark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/os/log.h"

enum { DIGITS = 19, TEXT_BYTES = 2 * (DIGITS + 1), NAME_SIZE = 4200 };

static const int64_t highest = 1000000000000000000; /* no store gets there */

/* The flag of a journal gives the file the mode of its database, and makes its first sync sync the
 * directory as well. */
static int open_file(const char *path, const char *vfs, int flags, sqlite3_file **ret_file)
{
    char name[NAME_SIZE];
    sqlite3_vfs *files = sqlite3_vfs_find(vfs);
    int there = 0;

    *ret_file = NULL;
    snprintf(name, sizeof(name), "%s-mark", path);
    if (files == NULL)
        return SQLITE_CANTOPEN;
    int rc = files->xAccess(files, name, SQLITE_ACCESS_EXISTS, &there);

    if (rc != SQLITE_OK || (!there && (flags & SQLITE_OPEN_CREATE) == 0))
        return rc;
    sqlite3_file *file = mem_zalloc((size_t)files->szOsFile);

    rc = files->xOpen(files, name, file, flags | SQLITE_OPEN_MAIN_JOURNAL, NULL);
    if (rc == SQLITE_OK)
        *ret_file = file;
    else
        free(file);
    return rc;
}

static void close_file(sqlite3_file *file)
{
    if (file == NULL)
        return;
    file->pMethods->xClose(file);
    free(file);
}

static void warn(const char *what, int rc)
{
    log_warn("%s the mark of the write-ahead log: %s: its loss may go unnoticed", what,
             sqlite3_errstr(rc));
}

int64_t wal_mark_read(const char *path, const char *vfs)
{
    char text[TEXT_BYTES + 1] = {0};
    sqlite3_file *file = NULL;
    int rc = open_file(path, vfs, SQLITE_OPEN_READONLY, &file);

    if (rc == SQLITE_OK && file != NULL)
        rc = file->pMethods->xRead(file, text, TEXT_BYTES, 0);
    close_file(file);
    if (rc != SQLITE_OK && rc != SQLITE_IOERR_SHORT_READ)
        warn("read", rc);
    bool is_whole = rc == SQLITE_OK && memcmp(text, text + DIGITS + 1, DIGITS) == 0;
    int64_t number = is_whole ? strtoll(text, NULL, 10) : 0;

    return number < highest ? number : 0;
}

void wal_mark_open(struct wal_mark *m, const char *path, const char *vfs, int64_t number)
{
    int rc = open_file(path, vfs, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &m->file);

    m->number = number;
    m->due = rc == SQLITE_OK;
    if (rc != SQLITE_OK)
        warn("open", rc);
}

void wal_mark_close(struct wal_mark *m)
{
    close_file(m->file);
    *m = (struct wal_mark){0};
}

void wal_mark_committed(struct wal_mark *m, int frames, int in_database)
{
    if (m->stores) {
        m->number++;
        m->frame = frames;
        m->stores = m->due = false;
    }
    m->due = m->due || (m->file != NULL && in_database >= m->frame);
}

void wal_mark_write(struct wal_mark *m, int64_t number)
{
    char text[TEXT_BYTES + 1];

    if (m->file == NULL)
        return;
    /* Twice, so that a write that arrives in part is recognised. */
    snprintf(text, sizeof(text), "%0*lld %0*lld\n", DIGITS, (long long)number, DIGITS,
             (long long)number);
    int rc = m->file->pMethods->xWrite(m->file, text, TEXT_BYTES, 0);

    if (rc == SQLITE_OK)
        rc = m->file->pMethods->xSync(m->file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    if (rc != SQLITE_OK)
        warn("write", rc);
}
