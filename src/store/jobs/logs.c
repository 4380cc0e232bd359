/* SPDX-License-Identifier: MIT */
#include "store/jobs/logs.h"

#include <endian.h>
#include <string.h>

#include "store/internal.h"

enum {
    PIECE_BYTES = 8192, /* a piece that has so much is not added to */
    MARK_ROWS = 128,    /* of a job */
};

/* A mark as it is kept: see core/log_mark.h. */
struct kept_mark {
    int64_t offset;
    int64_t packed;
};

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN && sizeof(struct kept_mark) == 16,
               "marks are kept as little endian bytes");

enum err_code store_log_size(struct store *s, int64_t job, int64_t *ret_size, struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_LOG_SIZE, take_one_int, &got, err, db_i(job)) != E_OK)
        return err->code;
    *ret_size = got.value;
    return E_OK;
}

enum err_code store_log_add(struct store *s, int64_t job, int64_t first, struct slice data,
                            struct err *err)
{
    const struct db_value args[] = {db_i(job), db_b(data), db_i(PIECE_BYTES)};
    struct db_taker taker = {0};

    if (first > 0 && db_one(s->db, SQL_LOG_EXTEND, args, ARRAY_LEN(args), &taker, err) != E_OK)
        return err->code;
    if (taker.changed > 0)
        return E_OK;
    return db_do(s->db, SQL_LOG_ADD, err, db_i(job), db_i(first), db_b(data));
}

struct piece_taker {
    store_log_fn *on_piece;
    void *ctx;
};

static void take_piece(void *ctx, const struct db_row *row)
{
    struct piece_taker *t = ctx;

    t->on_piece(t->ctx, db_col_int(row, 0), db_col_blob(row, 1));
}

enum err_code store_log_read(struct store *s, int64_t job, int64_t from, int64_t to,
                             store_log_fn *on_piece, void *ctx, struct err *err)
{
    struct piece_taker t = {on_piece, ctx};

    return db_do_rows(s->db, SQL_LOG_READ, take_piece, &t, err, db_i(job), db_i(from), db_i(to));
}

struct tail_taker {
    struct arena *arena;
    struct slice tail;
};

static void take_tail(void *ctx, const struct db_row *row)
{
    struct tail_taker *t = ctx;

    t->tail = arena_copy(t->arena, db_col_blob(row, 0));
}

enum err_code store_log_tail(struct store *s, int64_t job, int max, struct arena *arena,
                             struct slice *ret_tail, struct err *err)
{
    struct tail_taker t = {.arena = arena};

    if (db_do_rows(s->db, SQL_LOG_TAIL, take_tail, &t, err, db_i(job), db_i(max)) != E_OK)
        return err->code;
    *ret_tail = t.tail;
    return E_OK;
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
    const struct db_value args[] = {db_i(job), db_b(bytes), db_i(PIECE_BYTES)};
    struct db_taker taker = {0};

    if (db_one(s->db, SQL_LOG_TIMES_EXTEND, args, ARRAY_LEN(args), &taker, err) != E_OK)
        return err->code;
    if (taker.changed > 0)
        return E_OK;
    return db_do(s->db, SQL_LOG_TIMES_ADD, err, db_i(job), db_b(bytes), db_i(MARK_ROWS));
}

struct mark_taker {
    store_log_mark_fn *on_mark;
    void *ctx;
};

static void take_marks(void *ctx, const struct db_row *row)
{
    struct mark_taker *t = ctx;
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
    struct mark_taker t = {on_mark, ctx};

    return db_do_rows(s->db, SQL_LOG_TIMES_READ, take_marks, &t, err, db_i(job));
}
