/* SPDX-License-Identifier: MIT */
#include "base/json/json.h"
#include "core/route/dest.h"
#include "core/route/join_def.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/parse/fields.h"
#include "server/parse/job_filter.h"
#include "server/request/request.h"

/* ---- lists ---- */

static enum err_code read_page(struct request *r, enum query_kind kind, struct err *err)
{
    struct query *q = request_query(r, kind);

    q->name = r->args[0];
    q->cursor = request_param(r, "cursor");
    if (limit_from_params(r, LINKS_LIMIT, &q->limit, err) != E_OK)
        return err->code;
    request_read(r, NULL, NULL);
    return E_OK;
}

enum err_code signals_list(struct request *r, struct err *err)
{
    return read_page(r, QUERY_SIGNALS, err);
}

enum err_code joins_list(struct request *r, struct err *err)
{
    return read_page(r, QUERY_JOINS, err);
}

enum err_code join_show(struct request *r, struct err *err)
{
    return read_page(r, QUERY_JOIN, err);
}

/* ---- signals ---- */

enum err_code signal_show(struct request *r, struct err *err)
{
    if (dest_name_check("signal", r->args[0], err) != E_OK)
        return err->code;
    request_query(r, QUERY_SIGNAL)->name = r->args[0];
    request_read(r, NULL, NULL);
    return E_OK;
}

static enum err_code signal_count(struct field_reader *r, struct slice value)
{
    return field_int(r, value, 1, SIGNAL_COUNT_MAX, &((struct signal_op *)r->to)->count);
}

static const struct field signal_fields[] = {{FIELD("count"), .read = signal_count, .null = true}};

enum err_code signal_add(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_SIGNAL);
    struct field_reader reader = {.fields = signal_fields,
                                  .n_fields = ARRAY_LEN(signal_fields),
                                  .what = "the body",
                                  .arena = &op->arena,
                                  .err = err,
                                  .to = &op->signal};
    struct slice object;

    op->signal = (struct signal_op){.kind = SIGNAL_OP_RAISE, .name = r->args[0], .count = 1};
    if (dest_name_check("signal", r->args[0], err) != E_OK ||
        request_object(r, &object, err) != E_OK || fields_read(&reader, object) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

enum err_code signal_clear(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_SIGNAL);

    if (dest_name_check("signal", r->args[0], err) != E_OK)
        return err->code;
    op->signal = (struct signal_op){.kind = SIGNAL_OP_CLEAR, .name = r->args[0]};
    request_run(r, NULL);
    return E_OK;
}

/* ---- joins ---- */

static enum err_code join_params(struct field_reader *r, struct slice value)
{
    return field_object(r, value, &((struct join_op *)r->to)->params);
}

static const struct field join_fields[] = {{FIELD("params"), .read = join_params, .null = true}};

enum err_code join_add(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_JOIN);
    struct field_reader reader = {.fields = join_fields,
                                  .n_fields = ARRAY_LEN(join_fields),
                                  .what = "the body",
                                  .arena = &op->arena,
                                  .err = err,
                                  .to = &op->join};
    struct slice object;

    op->join = (struct join_op){.kind = JOIN_OP_ARRIVE, .name = r->args[0]};
    if (request_object(r, &object, err) != E_OK || fields_read(&reader, object) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

enum err_code join_clear(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_JOIN);
    struct slice key = request_param(r, "key");

    if (key.size > JOIN_KEY_MAX)
        return err_set(err, E_INVALID, "key: has %zu bytes, at most %d are allowed", key.size,
                       JOIN_KEY_MAX);
    op->join = (struct join_op){
        .kind = JOIN_OP_CLEAR, .name = r->args[0], .key = key, .has_key = key.data != NULL};
    request_run(r, NULL);
    return E_OK;
}
