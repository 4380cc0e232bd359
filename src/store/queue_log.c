/* SPDX-License-Identifier: MIT */
#include "store/queue_log.h"

#include "store/db/columns.h"
#include "store/internal.h"

enum err_code store_queue_log_add(struct store *s, int64_t queue, const struct queue_log_line *line,
                                  struct err *err)
{
    int64_t last = line->seq - 1;

    if (line->seq == 0 && db_number(s->db, SQL_QUEUE_LOG_LAST, &last, err, db_i(queue)) != E_OK)
        return err->code;
    if (db_do(s->db, SQL_QUEUE_LOG_ADD, err, db_i(queue), db_i(last + 1), db_i(line->at),
              db_t(line->what), db_t(line->text)) != E_OK)
        return err->code;
    return db_do(s->db, SQL_QUEUE_LOG_CUT, err, db_i(queue), db_i(QUEUE_LOG_ROWS));
}

static const struct db_column line_columns[] = {
    DB_NUMBER(queue_log_line, at),
    DB_VALUE(DB_COLUMN_TEXT, queue_log_line, what),
    DB_VALUE(DB_COLUMN_TEXT, queue_log_line, text),
};
static const struct db_table line_table = DB_TABLE("line of a queue's log", queue_log_line,
                                                   line_columns);

DB_EACH_FN(each_line, queue_log_line, line_table)

enum err_code store_queue_log_read(struct store *s, int64_t queue, int limit,
                                   store_queue_log_fn *on_line, void *ctx, struct err *err)
{
    return each_line(s->db, SQL_QUEUE_LOG_READ, DB_ARGS(db_i(queue), db_i(limit)), on_line, ctx,
                     err);
}

enum err_code store_queue_log_newest(struct store *s, int64_t queue, struct slice what,
                                     store_queue_log_fn *on_line, void *ctx, struct err *err)
{
    return each_line(s->db, SQL_QUEUE_LOG_NEWEST, DB_ARGS(db_i(queue), db_t(what)), on_line, ctx,
                     err);
}

enum err_code store_queue_log_remove(struct store *s, int64_t queue, struct err *err)
{
    return db_do(s->db, SQL_QUEUE_LOG_REMOVE, err, db_i(queue));
}
