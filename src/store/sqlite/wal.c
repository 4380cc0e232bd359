/* SPDX-License-Identifier: MIT */
#include "store/sqlite/wal.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

/* The format: https://sqlite.org/fileformat2.html#the_write_ahead_log */
enum {
    HEADER_BYTES = 32,
    FRAME_HEADER_BYTES = 24,
    SALTS_BYTES = 8,
    PAGE_SIZE_AT = 16, /* in the header of the database */
    PAGE_LEAST = 512,
    PAGE_MOST = 65536,
};

#define MAGIC 0x377f0682U /* the last bit: checksums are of big-endian words */

struct sums {
    uint32_t a, b;
};

struct frame {
    unsigned char head[FRAME_HEADER_BYTES];
    unsigned char *page;
};

struct scan {
    sqlite3_file *file;
    sqlite3_file *database; /* without methods: it cannot be read */
    sqlite3_int64 size;
    uint32_t page_bytes;
    bool big_endian;
    bool sound;                       /* all frames so far are as they were written */
    unsigned char salts[SALTS_BYTES]; /* which frames belong to this log */
    struct sums sums;                 /* of the frame before, as it says itself */
    struct frame now, before;
    bool before_ends; /* the frame before belongs to this log and ends a transaction */
    int64_t number;
    int64_t commits; /* behind the first bad frame */
    int rc;          /* the first error of reading */
    bool proven;
    struct wal_loss loss;

    /* If the header is bad: the frames from the first on that continue each other. */
    bool chained;     /* all frames so far */
    bool lost_behind; /* a loss is proven behind them */
    int64_t end;      /* the last of them that ends a transaction; 0: none */
    uint32_t pages;   /* of the database after that transaction */
};

static uint32_t big32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t word(const struct scan *s, const unsigned char *p)
{
    return s->big_endian ? big32(p)
                         : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static struct sums sum(const struct scan *s, struct sums from, const unsigned char *data,
                       size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 8) {
        from.a += word(s, data + i) + from.b;
        from.b += word(s, data + i + 4) + from.a;
    }
    return from;
}

static bool are_sums(struct sums sums, const unsigned char *stored)
{
    return sums.a == big32(stored) && sums.b == big32(stored + 4);
}

static bool read_at(struct scan *s, void *to, size_t bytes, sqlite3_int64 at)
{
    if (s->rc == SQLITE_OK)
        s->rc = s->file->pMethods->xRead(s->file, to, (int)bytes, at);
    return s->rc == SQLITE_OK;
}

/* The page size as the database itself says, for a log whose header does not; 0 when neither
 * does. */
static uint32_t page_bytes_of(const struct scan *s)
{
    unsigned char size[2] = {0};

    if (s->database->pMethods == NULL ||
        s->database->pMethods->xRead(s->database, size, sizeof(size), PAGE_SIZE_AT) != SQLITE_OK)
        return 0;
    uint32_t bytes = (uint32_t)size[0] << 8 | size[1];

    return bytes == 1 ? PAGE_MOST : bytes; /* 65536 does not fit into two bytes */
}

static bool is_page_size(uint32_t bytes)
{
    return bytes >= PAGE_LEAST && bytes <= PAGE_MOST && (bytes & (bytes - 1)) == 0;
}

/* The salts of the newest log of which frames are left: the first salt grows whenever SQLite starts
 * its log again. */
static void find_salts(struct scan *s)
{
    unsigned char salts[SALTS_BYTES];
    sqlite3_int64 step = (sqlite3_int64)FRAME_HEADER_BYTES + s->page_bytes;

    for (sqlite3_int64 at = HEADER_BYTES; at + step <= s->size; at += step)
        if (read_at(s, salts, SALTS_BYTES, at + 8) && big32(salts) > big32(s->salts))
            memcpy(s->salts, salts, SALTS_BYTES);
}

/* A damaged header makes all of the log unreadable to SQLite: what its frames say of each other is
 * left to go by.  Without a magic number the byte order is that of this machine. */
static bool read_header(struct scan *s)
{
    unsigned char header[HEADER_BYTES];

    if (s->size < HEADER_BYTES + FRAME_HEADER_BYTES || !read_at(s, header, sizeof(header), 0))
        return false;
    s->page_bytes = big32(header + 8);
    s->big_endian = (big32(header) & ~1U) == MAGIC ? (big32(header) & 1) != 0
                                                   : __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    s->sums = (struct sums){big32(header + 24), big32(header + 28)};
    s->sound = (big32(header) & ~1U) == MAGIC && is_page_size(s->page_bytes) &&
               are_sums(sum(s, (struct sums){0, 0}, header, 24), header + 24);
    if (s->sound) {
        memcpy(s->salts, header + 16, SALTS_BYTES);
        return true;
    }
    s->chained = true;
    if (!is_page_size(s->page_bytes) || page_bytes_of(s) != 0)
        s->page_bytes = page_bytes_of(s);
    if (!is_page_size(s->page_bytes))
        return false;
    find_salts(s);
    return true;
}

/* Where sectors are not safe from their neighbours, SQLite fills the last one with repetitions of a
 * transaction's last frame. */
static bool is_repetition(const struct scan *s)
{
    return memcmp(s->now.head, s->before.head, 8) == 0 &&
           memcmp(s->now.page, s->before.page, s->page_bytes) == 0;
}

static void judge_frame(struct scan *s)
{
    const unsigned char *head = s->now.head;
    bool is_ours = memcmp(head + 8, s->salts, SALTS_BYTES) == 0;
    struct sums sums = sum(s, sum(s, s->sums, head, 8), s->now.page, s->page_bytes);
    bool continues = is_ours && are_sums(sums, head + 16);
    bool ends = is_ours && big32(head + 4) != 0;

    s->sound = s->sound && continues;
    s->chained = s->chained && is_ours && (continues || s->number == 1);
    if (s->chained && ends) {
        s->end = s->number;
        s->pages = big32(head + 4);
    }
    if (!s->sound && s->loss.frame == 0)
        s->loss.frame = s->number;
    if (!s->sound && is_ours) {
        bool repeated = s->number > s->loss.frame && is_repetition(s);
        bool proves = continues && s->before_ends && !repeated;

        s->loss.frames++;
        s->commits += ends && !repeated;
        s->proven = s->proven || proves;
        s->lost_behind = s->lost_behind || (proves && !s->chained);
    }
    s->before_ends = !s->sound && ends;
    s->sums = (struct sums){big32(head + 16), big32(head + 20)};
}

static sqlite3_int64 frame_at(const struct scan *s, int64_t number)
{
    return HEADER_BYTES + (number - 1) * (sqlite3_int64)(FRAME_HEADER_BYTES + s->page_bytes);
}

static bool read_frame(struct scan *s, int64_t number)
{
    sqlite3_int64 at = frame_at(s, number);

    return read_at(s, s->now.head, FRAME_HEADER_BYTES, at) &&
           read_at(s, s->now.page, s->page_bytes, at + FRAME_HEADER_BYTES);
}

static bool next_frame(struct scan *s)
{
    struct frame spare = s->before;

    if (frame_at(s, s->number + 2) > s->size)
        return false;
    s->before = s->now;
    s->now = spare;
    s->number++;
    return read_frame(s, s->number);
}

/* Whether the database is as the chained frames left it.  Pages that the last transaction no longer
 * counts were cut off.  Reads backwards: the last frame of a page is the one that counts. */
static bool is_checkpointed(struct scan *s)
{
    sqlite3_file *database = s->database;
    sqlite3_int64 bytes = 0;

    if (s->end == 0 || database->pMethods == NULL ||
        database->pMethods->xFileSize(database, &bytes) != SQLITE_OK ||
        bytes / s->page_bytes < s->pages)
        return false;
    CLEANUP(mem) unsigned char *seen = mem_zalloc((size_t)s->pages / 8 + 1);

    for (int64_t number = s->end; number > 0; number--) {
        if (!read_frame(s, number))
            return false;
        uint32_t page = big32(s->now.head);
        unsigned char bit = (unsigned char)(1U << page % 8);

        if (page > s->pages || (seen[page / 8] & bit) != 0)
            continue;
        seen[page / 8] |= bit;
        if (page == 0 ||
            database->pMethods->xRead(database, s->before.page, (int)s->page_bytes,
                                      (page - 1) * (sqlite3_int64)s->page_bytes) != SQLITE_OK ||
            memcmp(s->now.page, s->before.page, s->page_bytes) != 0)
            return false;
    }
    return true;
}

static void scan_frames(struct scan *s)
{
    if (!read_header(s))
        return;
    s->now.page = mem_zalloc(s->page_bytes);
    s->before.page = mem_zalloc(s->page_bytes);
    while (next_frame(s))
        judge_frame(s);
    if (s->proven && (s->lost_behind || !is_checkpointed(s)))
        s->loss.commits = s->commits;
    free(s->now.page);
    free(s->before.page);
}

static void close_file(sqlite3_file *file)
{
    if (file->pMethods != NULL)
        file->pMethods->xClose(file);
    free(file);
}

enum err_code sqlite_wal_scan(const char *path, const char *vfs, struct wal_loss *ret_loss,
                              struct err *err)
{
    char name[4200];
    struct scan s = {0};

    *ret_loss = (struct wal_loss){0};
    if (sqlite3_initialize() != SQLITE_OK)
        return err_set(err, E_UNAVAILABLE, "SQLite does not start");
    sqlite3_vfs *files = sqlite3_vfs_find(vfs);
    int there = 0;

    snprintf(name, sizeof(name), "%s-wal", path);
    if (files == NULL || files->xAccess(files, name, SQLITE_ACCESS_EXISTS, &there) != SQLITE_OK ||
        !there)
        return E_OK;
    s.file = mem_zalloc((size_t)files->szOsFile);
    s.database = mem_zalloc((size_t)files->szOsFile);
    s.rc = files->xOpen(files, name, s.file, SQLITE_OPEN_READONLY | SQLITE_OPEN_WAL, NULL);
    if (s.rc == SQLITE_OK)
        s.rc = s.file->pMethods->xFileSize(s.file, &s.size);
    if (s.rc == SQLITE_OK) {
        /* Whether it can be read shows when its page size is asked for. */
        (void)files->xOpen(files, path, s.database, SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB,
                           NULL);
        scan_frames(&s);
    }
    close_file(s.database);
    close_file(s.file);
    if (s.rc != SQLITE_OK)
        return err_set(err, E_UNAVAILABLE, "read %s: %s", name, sqlite3_errstr(s.rc));
    *ret_loss = s.loss;
    return E_OK;
}
