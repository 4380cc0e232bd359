/* SPDX-License-Identifier: MIT */
#include "store/queue_log.h"

#include "store/internal.h"

enum err_code store_queue_log_add(struct store *s, int64_t queue, const struct queue_log_line *line,
                                  struct err *err)
{
    struct taken_int last = {.value = line->seq - 1};

    if (line->seq == 0 &&
        db_do_rows(s->db, SQL_QUEUE_LOG_LAST, take_one_int, &last, err, db_i(queue)) != E_OK)
        return err->code;
    if (db_do(s->db, SQL_QUEUE_LOG_ADD, err, db_i(queue), db_i(last.value + 1), db_i(line->at),
              db_t(line->what), db_t(line->text)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_QUEUE_LOG_CUT, err, db_i(queue), db_i(QUEUE_LOG_ROWS));
}

struct line_taker {
    store_queue_log_fn *on_line;
    void *ctx;
};

static void take_line(void *ctx, const struct db_row *row)
{
    struct line_taker *t = ctx;
    struct queue_log_line line = {.at = db_col_int(row, 0),
                                  .what = db_col_text(row, 1),
                                  .text = db_col_text(row, 2)};

    t->on_line(t->ctx, &line);
}

enum err_code store_queue_log_read(struct store *s, int64_t queue, int limit,
                                   store_queue_log_fn *on_line, void *ctx, struct err *err)
{
    struct line_taker t = {on_line, ctx};

    return db_do_rows(s->db, SQL_QUEUE_LOG_READ, take_line, &t, err, db_i(queue), db_i(limit));
}

enum err_code store_queue_log_newest(struct store *s, int64_t queue, struct slice what,
                                     store_queue_log_fn *on_line, void *ctx, struct err *err)
{
    struct line_taker t = {on_line, ctx};

    return db_do_rows(s->db, SQL_QUEUE_LOG_NEWEST, take_line, &t, err, db_i(queue), db_t(what));
}

enum err_code store_queue_log_remove(struct store *s, int64_t queue, struct err *err)
{
    return db_do(s->db, SQL_QUEUE_LOG_REMOVE, err, db_i(queue));
}
