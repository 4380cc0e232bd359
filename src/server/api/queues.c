/* SPDX-License-Identifier: MIT */
#include "base/json/json.h"
#include "core/object/quote.h"
#include "core/queue/def.h"
#include "core/route/dest.h"
#include "core/route/join_def.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/parse/fields.h"
#include "server/parse/job_filter.h"
#include "server/process/parts.h"
#include "server/request/request.h"

static enum err_code read_all(struct request *r, enum query_kind kind)
{
    request_query(r, kind);
    request_read(r, NULL, NULL);
    return E_OK;
}

enum err_code queues_list(struct request *r, struct err *err)
{
    (void)err;
    return read_all(r, QUERY_QUEUES);
}

enum err_code workers_list(struct request *r, struct err *err)
{
    (void)err;
    return read_all(r, QUERY_WORKERS);
}

enum err_code counts_show(struct request *r, struct err *err)
{
    (void)err;
    return read_all(r, QUERY_COUNTS);
}

enum err_code queue_show(struct request *r, struct err *err)
{
    (void)err;
    request_query(r, QUERY_QUEUE)->name = r->args[0];
    request_read(r, NULL, NULL);
    return E_OK;
}

enum err_code queue_log(struct request *r, struct err *err)
{
    struct query *q = request_query(r, QUERY_QUEUE_LOG);

    q->name = r->args[0];
    if (limit_from_params(r, QUEUE_LOG_LIMIT, &q->limit, err) != E_OK)
        return err->code;
    request_read(r, NULL, NULL);
    return E_OK;
}

/* ---- definitions ---- */

/* Name and canonical text of one definition. */
typedef enum err_code read_put_fn(struct slice name, struct slice definition, struct arena *arena,
                                  struct queue_put *ret_put, struct err *err);

static enum err_code read_queue(struct slice name, struct slice definition, struct arena *arena,
                                struct queue_put *ret_put, struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(BODY_SMALL_MAX);

    if (queue_name_check(name, err) != E_OK || queue_def_canonical(definition, &text, err) != E_OK)
        return err->code;
    *ret_put = (struct queue_put){name, arena_copy(arena, buf_slice(&text))};
    return E_OK;
}

static enum err_code read_join(struct slice name, struct slice definition, struct arena *arena,
                               struct queue_put *ret_put, struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(BODY_SMALL_MAX);

    if (dest_name_check("join", name, err) != E_OK ||
        join_def_canonical(definition, &text, err) != E_OK)
        return err->code;
    *ret_put = (struct queue_put){name, arena_copy(arena, buf_slice(&text))};
    return E_OK;
}

enum err_code queue_put(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_QUEUE);
    struct queue_put *put = arena_zalloc(&op->arena, sizeof(*put));
    struct slice object;

    if (request_object(r, &object, err) != E_OK ||
        read_queue(r->args[0], object, &op->arena, put, err) != E_OK)
        return err->code;
    op->queue = (struct queue_op){.kind = QUEUE_OP_APPLY, .puts = put, .n_puts = 1};
    request_run(r, NULL);
    return E_OK;
}

/* An object of definitions by name. */
static enum err_code read_puts(struct field_reader *r, struct slice value, const char *kind,
                               read_put_fn *read, const struct queue_put **ret_puts, size_t *ret_n)
{
    struct slice key;
    struct slice definition;
    struct quote quote;

    if (json_type_of(value) != JSON_T_OBJECT)
        return field_refuse(r, "an object of definitions by name", value);
    struct queue_put *puts = arena_array(r->arena, json_count_members(value) + 1, sizeof(*puts));

    for (struct json_iter it = json_members(value); json_next_member(&it, &key, &definition);) {
        struct slice name = json_text(key, r->arena);

        if (read(name, definition, r->arena, &puts[(*ret_n)++], r->err) != E_OK)
            return err_wrap(r->err, "%s %s", kind, quote_text(&quote, name));
    }
    *ret_puts = puts;
    return E_OK;
}

static enum err_code read_queues(struct field_reader *r, struct slice value)
{
    struct queue_op *to = r->to;

    return read_puts(r, value, "queue", read_queue, &to->puts, &to->n_puts);
}

static enum err_code read_joins(struct field_reader *r, struct slice value)
{
    struct queue_op *to = r->to;

    return read_puts(r, value, "join", read_join, &to->joins, &to->n_joins);
}

static const struct field definition_fields[] = {
    {FIELD("queues"), .read = read_queues, .null = true},
    {FIELD("joins"), .read = read_joins, .null = true},
};

static void answer_definitions(struct request *r)
{
    request_answer_op(r);
    if (r->err.code == E_OK)
        r->status = 200;
}

enum err_code definitions_apply(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_QUEUE);
    struct field_reader reader = {.fields = definition_fields,
                                  .n_fields = ARRAY_LEN(definition_fields),
                                  .what = "the body",
                                  .arena = &op->arena,
                                  .err = err,
                                  .to = &op->queue};
    struct slice object;

    op->queue.kind = QUEUE_OP_APPLY;
    if (request_flag(r, "prune", &op->queue.prune, err) != E_OK ||
        request_flag(r, "dry_run", &op->queue.dry_run, err) != E_OK ||
        request_object(r, &object, err) != E_OK || fields_read(&reader, object) != E_OK)
        return err->code;
    if (op->queue.puts == NULL && op->queue.joins == NULL)
        return err_set(err, E_INVALID, "the body needs 'queues' or 'joins': {NAME: {…}}");
    request_run(r, answer_definitions);
    return E_OK;
}

/* ---- states ---- */

enum err_code queue_put_state(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_QUEUE);

    (void)err;
    op->queue = (struct queue_op){.kind = QUEUE_OP_STATE,
                                  .name = r->args[0],
                                  .state = (enum queue_state)r->route->what};
    request_run(r, NULL);
    return E_OK;
}

enum err_code queue_restart(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_QUEUE);

    (void)err;
    op->queue = (struct queue_op){.kind = QUEUE_OP_RESTART, .name = r->args[0]};
    request_run(r, NULL);
    return E_OK;
}

enum err_code queue_delete(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_QUEUE);

    (void)err;
    op->queue = (struct queue_op){.kind = QUEUE_OP_DELETE, .name = r->args[0]};
    request_run(r, NULL);
    return E_OK;
}
