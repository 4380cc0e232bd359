/* SPDX-License-Identifier: MIT */
#include "dump.h"

#include <sqlite3.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/compiler.h"
#include "base/vec.h"

#define ID_MIN INT64_C(100000000000000000) /* no instant, no count is as large as an id */

struct dump {
    sqlite3 *db;
    struct buf text; /* ids as \x01ID\x02 until they have names */
    VEC(int64_t) ids;
};

static void add_number(struct dump *d, int64_t value)
{
    if (value < ID_MIN) {
        buf_add_int(&d->text, value);
        return;
    }
    buf_addf(&d->text, "\x01%lld\x02", (long long)value);
    VEC_PUSH(&d->ids, value);
}

/* Lists of ids are kept as bytes, in columns of that name. */
static void add_blob(struct dump *d, sqlite3_stmt *st, int column)
{
    const unsigned char *bytes = sqlite3_column_blob(st, column);
    size_t size = (size_t)sqlite3_column_bytes(st, column);
    int64_t id;

    if (strcmp(sqlite3_column_name(st, column), "jobs") != 0) {
        for (size_t i = 0; i < size; i++)
            buf_addf(&d->text, "%02x", bytes[i]);
        return;
    }
    for (size_t i = 0; i + sizeof(id) <= size; i += sizeof(id)) {
        memcpy(&id, bytes + i, sizeof(id));
        add_number(d, id);
        buf_add_char(&d->text, ' ');
    }
}

static void add_value(struct dump *d, sqlite3_stmt *st, int column)
{
    bool bound = strcmp(sqlite3_column_name(st, column), "last") == 0;

    buf_addf(&d->text, " %s=", sqlite3_column_name(st, column));
    switch (sqlite3_column_type(st, column)) {
    case SQLITE_INTEGER:
        if (bound) /* up to here, whether there is one of that number or not */
            buf_addf(&d->text, "\x01%lld\x02", (long long)sqlite3_column_int64(st, column) + 1);
        else
            add_number(d, sqlite3_column_int64(st, column));
        break;
    case SQLITE_BLOB: add_blob(d, st, column); break;
    case SQLITE_NULL: buf_add_char(&d->text, '-'); break;
    default: buf_add_str(&d->text, (const char *)sqlite3_column_text(st, column));
    }
}

static sqlite3_stmt *prepare(struct dump *d, const char *sql)
{
    sqlite3_stmt *st = NULL;

    if (sqlite3_prepare_v2(d->db, sql, -1, &st, NULL) != SQLITE_OK) {
        buf_addf(&d->text, "%s: %s\n", sql, sqlite3_errmsg(d->db));
        sqlite3_finalize(st);
        return NULL;
    }
    return st;
}

/* What is of use only as long as something else is there, and goes when it is convenient. */
static const struct {
    const char *table;
    const char *sql;
} partly[] = {
    {"claims",
     "SELECT * FROM claims WHERE token IN (SELECT token FROM jobs WHERE state = 5) ORDER BY 1"},
    /* Its text names jobs by ids that differ from run to run, and counts what was not worth a
     * line. */
    {"queue_log", "SELECT queue, seq, at, what FROM queue_log ORDER BY 1, 2"},
    {"work", "SELECT * FROM work WHERE finished_at = 0 ORDER BY 1"},
    {"endings",
     "SELECT queue, state, finished_at, id, 'is expected' FROM ended WHERE EXISTS (SELECT 1 "
     "FROM endings WHERE endings.queue = ended.queue AND endings.state = ended.state AND "
     "endings.finished_at = ended.finished_at AND instr(hex(endings.jobs), (SELECT "
     "substr(h, 15, 2) || substr(h, 13, 2) || substr(h, 11, 2) || substr(h, 9, 2) || "
     "substr(h, 7, 2) || substr(h, 5, 2) || substr(h, 3, 2) || substr(h, 1, 2) FROM (SELECT "
     "printf('%016X', ended.id) AS h)))) ORDER BY id"},
};

static void add_table(struct dump *d, const char *table)
{
    char sql[1000];
    int rc;

    snprintf(sql, sizeof(sql), "SELECT * FROM \"%s\" ORDER BY 1, 2", table);
    for (size_t i = 0; i < sizeof(partly) / sizeof(partly[0]); i++)
        if (strcmp(table, partly[i].table) == 0)
            snprintf(sql, sizeof(sql), "%s", partly[i].sql);
    sqlite3_stmt *st = prepare(d, sql);

    if (st == NULL)
        return;

    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        buf_add_str(&d->text, table);
        for (int i = 0; i < sqlite3_column_count(st); i++)
            add_value(d, st, i);
        buf_add_char(&d->text, '\n');
    }
    if (rc != SQLITE_DONE)
        buf_addf(&d->text, "%s: %s\n", table, sqlite3_errmsg(d->db));
    sqlite3_finalize(st);
}

static void add_tables(struct dump *d)
{
    sqlite3_stmt *st = prepare(
        d, "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE "
           "'CREATE VIRTUAL%' AND name NOT IN ('meta') ORDER BY name");

    while (st != NULL && sqlite3_step(st) == SQLITE_ROW)
        add_table(d, (const char *)sqlite3_column_text(st, 0));
    sqlite3_finalize(st);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static size_t rank_of(const struct dump *d, int64_t id)
{
    size_t low = 0, high = d->ids.count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (d->ids.items[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void keep_one_each(struct dump *d)
{
    size_t kept = 0;

    if (d->ids.count > 0)
        qsort(d->ids.items, d->ids.count, sizeof(d->ids.items[0]), by_value);
    for (size_t i = 0; i < d->ids.count; i++)
        if (kept == 0 || d->ids.items[kept - 1] != d->ids.items[i])
            d->ids.items[kept++] = d->ids.items[i];
    d->ids.count = kept;
}

static char *with_ranks(struct dump *d)
{
    struct buf out = BUF_INIT((size_t)1 << 26);

    keep_one_each(d);
    for (const char *at = buf_text(&d->text); *at != '\0'; at++) {
        if (*at != '\x01') {
            buf_add_char(&out, *at);
            continue;
        }
        char *end;
        int64_t id = strtoll(at + 1, &end, 10);

        buf_addf(&out, "#%zu", rank_of(d, id));
        at = end;
    }
    return buf_take(&out);
}

char *dump_store(const char *vfs, const char *file)
{
    struct dump d = {.text = BUF_INIT((size_t)1 << 26)};

    if (sqlite3_open_v2(file, &d.db, SQLITE_OPEN_READWRITE, vfs) == SQLITE_OK)
        add_tables(&d);
    else
        buf_addf(&d.text, "open: %s\n", sqlite3_errmsg(d.db));
    sqlite3_close(d.db);
    char *text = with_ranks(&d);

    buf_deinit(&d.text);
    VEC_DEINIT(&d.ids);
    return text == NULL ? mem_strdup("") : text;
}

char *dump_difference(const char *is, const char *wanted)
{
    struct buf out = BUF_INIT(4000);

    while (*is != '\0' && *wanted != '\0') {
        size_t a = strcspn(is, "\n"), b = strcspn(wanted, "\n");

        if (a != b || memcmp(is, wanted, a) != 0)
            break;
        is += a + (is[a] == '\n');
        wanted += b + (wanted[b] == '\n');
    }
    buf_addf(&out, "is:     %.*s\nwanted: %.*s", (int)strcspn(is, "\n"), is,
             (int)strcspn(wanted, "\n"), wanted);
    return buf_take(&out);
}
