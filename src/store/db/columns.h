/*
 * Rows as structs, by tables of columns.
 *
 * A table names the members of a struct in the order of a statement's columns, how each is read and
 * which values are impossible.  A row with an impossible value is a bad row: the damage is noted,
 * and the call fails with err->bad_row after it has read all rows.
 *
 *     static const struct db_column signal_columns[] = {
 *         DB_NUMBER(stored_signal, id, .min = 1, .max = INT64_MAX),
 *         DB_TEXT_COLUMN(stored_signal, name),
 *     };
 *     static const struct db_table signal_table = DB_TABLE("signal", stored_signal,
 * signal_columns);
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/err.h"
#include "store/db/db.h"

enum db_column_type {
    DB_COLUMN_SKIPPED, /* read by the table's check */
    DB_COLUMN_NUMBER,  /* int64_t, int or an enum, bool (not 0), by the member's size */
    DB_COLUMN_TEXT,    /* struct slice; data NULL when the value is NULL */
    DB_COLUMN_BYTES,   /* the same for bytes */
    DB_COLUMN_OBJECT,  /* a text that must be a JSON object, unless it is NULL */
    DB_COLUMN_JSON,    /* a text that must be JSON, unless it is NULL */
    DB_COLUMN_ARRAY,   /* bytes as a pointer to elements, and how many there are */
};

struct db_column {
    enum db_column_type type;
    const char *name; /* for errors */
    size_t offset, size;
    size_t element, count; /* ARRAY: size of an element, offset of the size_t with their number */
    bool exact;            /* ARRAY: bytes that make no whole element are impossible */
    int64_t if_null;       /* NUMBER */
    size_t has;            /* NUMBER: offset of a bool that NULL makes false; 0: none */
    int64_t min, max;      /* NUMBER: others are impossible; equal: any is possible */
};

struct db_table {
    const char *noun; /* for errors; the first column is the number of the thing */
    size_t size;      /* of the struct */
    int first;        /* place of the first column in the statement */
    const struct db_column *columns;
    size_t n_columns;
    /* What single columns do not tell: false for a bad row.  NULL: nothing. */
    bool (*check)(void *item, const struct db_row *row, struct arena *arena);
};

#define DB_MEMBER(type_, struct_, member_)                                          \
    .type = (type_), .name = #member_, .offset = offsetof(struct struct_, member_), \
    .size = sizeof(((struct struct_ *)0)->member_)
#define DB_NUMBER(struct_, member_, ...)                           \
    {                                                              \
        DB_MEMBER(DB_COLUMN_NUMBER, struct_, member_), __VA_ARGS__ \
    }
#define DB_VALUE(type_, struct_, member_)  \
    {                                      \
        DB_MEMBER(type_, struct_, member_) \
    }
#define DB_ARRAY(struct_, member_, count_, ...)                    \
    {                                                              \
        DB_MEMBER(DB_COLUMN_ARRAY, struct_, member_),              \
            .element = sizeof(*((struct struct_ *)0)->member_),    \
            .count = offsetof(struct struct_, count_), __VA_ARGS__ \
    }
#define DB_SKIPPED                \
    {                             \
        .type = DB_COLUMN_SKIPPED \
    }
#define DB_TABLE(noun_, struct_, columns_, ...)                                 \
    {                                                                           \
        .noun = (noun_), .size = sizeof(struct struct_), .columns = (columns_), \
        .n_columns = ARRAY_LEN(columns_), __VA_ARGS__                           \
    }

/* Reads the current row into *item, texts and arrays into the arena.  False: it is a bad row, which
 * is noted; *item has what could be read, at least the first column. */
bool db_row_read(const struct db_row *row, const struct db_table *table, struct arena *arena,
                 void *item);

/* The row that the statement finds; all zero when there is none.  After a failure *item is
 * undefined, but after a bad row it has the number of the thing. */
#define db_find(db, sql_, table, arena, item, err, ...) \
    db_find_row(db, sql_, DB_ARGS(__VA_ARGS__), table, &(struct db_target){arena, item}, err)

struct db_target {
    struct arena *arena;
    void *item;
};

MUST_CHECK enum err_code db_find_row(struct db *db, enum sql sql, struct db_args args,
                                     const struct db_table *table, const struct db_target *target,
                                     struct err *err);

/* Tables for a single value, which becomes a struct slice. */
extern const struct db_table db_text_table, db_bytes_table;

/* All rows of a statement, as an array of the table's structs. */
struct db_list {
    const struct db_table *table;
    void *items;
    size_t n, capacity;
    struct arena *texts; /* for texts and arrays; NULL: its own */
    struct arena own;
};

/* Fills an empty list.  After a failure it has the sound rows that were read before. */
#define db_each(db, sql_, list, err, ...) db_each_row(db, sql_, DB_ARGS(__VA_ARGS__), list, err)

MUST_CHECK enum err_code db_each_row(struct db *db, enum sql sql, struct db_args args,
                                     struct db_list *list, struct err *err);
void db_list_deinit(struct db_list *l);

CLEANUP_BY_DEINIT(db_list)

/* Defines each_x(db, sql, args, on_x, ctx, err), which calls on_x for each row.  All rows are read
 * first: the callback may run other statements. */
#define DB_EACH_FN(name_, struct_, table_)                                                        \
    MUST_CHECK static enum err_code name_(struct db *db, enum sql sql, struct db_args args,       \
                                          void (*on_item)(void *ctx, const struct struct_ *item), \
                                          void *ctx, struct err *err)                             \
    {                                                                                             \
        CLEANUP(db_list) struct db_list list = {.table = &(table_)};                              \
        enum err_code code = db_each_row(db, sql, args, &list, err);                              \
        const struct struct_ *items = list.items;                                                 \
                                                                                                  \
        for (size_t i = 0; i < list.n; i++)                                                       \
            on_item(ctx, &items[i]);                                                              \
        return code;                                                                              \
    }
