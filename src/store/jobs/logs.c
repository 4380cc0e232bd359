/* SPDX-License-Identifier: MIT */
#include "store/jobs/logs.h"

#include <endian.h>
#include <string.h>

#include "store/db/columns.h"
#include "store/internal.h"

enum {
    PIECE_BYTES = 8192, /* a piece that has so much is not added to */
    MARK_ROWS = 128,    /* of a job */
};

/* A mark as it is kept: see core/job/log_mark.h. */
struct kept_mark {
    int64_t offset;
    int64_t packed;
};

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN && sizeof(struct kept_mark) == 16,
               "marks are kept as little endian bytes");

enum err_code store_log_size(struct store *s, int64_t job, int64_t *ret_size, struct err *err)
{
    return db_number(s->db, SQL_LOG_SIZE, ret_size, err, db_i(job));
}

enum err_code store_log_add(struct store *s, int64_t job, int64_t first, struct slice data,
                            struct err *err)
{
    int64_t extended = 0;

    if (first > 0 && db_change(s->db, SQL_LOG_EXTEND, &extended, err, db_i(job), db_b(data),
                               db_i(PIECE_BYTES)) != E_OK)
        return err->code;
    if (extended > 0)
        return E_OK;
    return db_do(s->db, SQL_LOG_ADD, err, db_i(job), db_i(first), db_b(data));
}

struct piece_reader {
    store_log_fn *on_piece;
    void *ctx;
};

static void on_log_row(void *ctx, const struct db_row *row)
{
    struct piece_reader *t = ctx;

    t->on_piece(t->ctx, db_col_int(row, 0), db_col_blob(row, 1));
}

enum err_code store_log_read(struct store *s, int64_t job, int64_t from, int64_t to,
                             store_log_fn *on_piece, void *ctx, struct err *err)
{
    struct piece_reader t = {on_piece, ctx};

    return db_rows(s->db, SQL_LOG_READ, on_log_row, &t, err, db_i(job), db_i(from), db_i(to));
}

enum err_code store_log_tail(struct store *s, int64_t job, int max, struct arena *arena,
                             struct slice *ret_tail, struct err *err)
{
    return db_find(s->db, SQL_LOG_TAIL, &db_bytes_table, arena, ret_tail, err, db_i(job),
                   db_i(max));
}

enum err_code store_log_mark(struct store *s, int64_t job, const struct log_mark *marks, size_t n,
                             struct err *err)
{
    if (n == 0)
        return E_OK;
    CLEANUP(mem) struct kept_mark *kept = mem_alloc(n * sizeof(*kept));

    for (size_t i = 0; i < n; i++)
        kept[i] = (struct kept_mark){marks[i].offset, log_mark_pack(&marks[i])};
    struct slice bytes = slice_make((const char *)kept, n * sizeof(*kept));
    int64_t extended = 0;

    if (db_change(s->db, SQL_LOG_TIMES_EXTEND, &extended, err, db_i(job), db_b(bytes),
                  db_i(PIECE_BYTES)) != E_OK)
        return err->code;
    if (extended > 0)
        return E_OK;
    return db_do(s->db, SQL_LOG_TIMES_ADD, err, db_i(job), db_b(bytes), db_i(MARK_ROWS));
}

struct mark_reader {
    store_log_mark_fn *on_mark;
    void *ctx;
};

static void on_marks_row(void *ctx, const struct db_row *row)
{
    struct mark_reader *t = ctx;
    struct slice bytes = db_col_blob(row, 0);
    struct kept_mark kept;

    for (size_t at = 0; at + sizeof(kept) <= bytes.size; at += sizeof(kept)) {
        memcpy(&kept, bytes.data + at, sizeof(kept));
        struct log_mark mark = log_mark_unpack(kept.offset, kept.packed);

        t->on_mark(t->ctx, &mark);
    }
}

enum err_code store_log_marks(struct store *s, int64_t job, store_log_mark_fn *on_mark, void *ctx,
                              struct err *err)
{
    struct mark_reader t = {on_mark, ctx};

    return db_rows(s->db, SQL_LOG_TIMES_READ, on_marks_row, &t, err, db_i(job));
}
