/* SPDX-License-Identifier: MIT */
#include "server/parse/emit.h"

#include "base/json/json.h"
#include "core/job/lease.h"
#include "server/limits.h"
#include "server/parse/bill.h"
#include "server/parse/fields.h"
#include "server/parse/items.h"

static enum err_code emit_id(struct field_reader *r, struct slice value)
{
    return field_id(r, value, &((struct emit *)r->to)->id);
}

static enum err_code emit_lease(struct field_reader *r, struct slice value)
{
    return field_lease(r, value, &((struct emit *)r->to)->lease);
}

static enum err_code emit_seq(struct field_reader *r, struct slice value)
{
    return field_int(r, value, 1, INT64_MAX - 1, &((struct emit *)r->to)->seq);
}

static enum err_code emit_jobs(struct field_reader *r, struct slice value)
{
    struct emit *x = r->to;

    return parse_jobs(r, value, &x->jobs, &x->n_jobs);
}

static enum err_code emit_visible(struct field_reader *r, struct slice value)
{
    return field_bool(r, value, &((struct emit *)r->to)->visible);
}

static enum err_code emit_cursor(struct field_reader *r, struct slice value)
{
    if (value.size > CURSOR_BYTES_MAX)
        return err_set(r->err, E_TOO_LARGE, "cursor: has %zu bytes, at most %d are allowed",
                       value.size, CURSOR_BYTES_MAX);
    ((struct emit *)r->to)->cursor = value;
    return E_OK;
}

static const struct field emit_fields[] = {
    {FIELD("id"), .read = emit_id},
    {FIELD("lease"), .read = emit_lease},
    {FIELD("seq"), .read = emit_seq},
    {FIELD("jobs"), .read = emit_jobs, .null = true},
    {FIELD("visible"), .read = emit_visible, .null = true},
    {FIELD("cursor"), .read = emit_cursor, .null = true},
};

static enum err_code check_whole(const struct emit *x, struct err *err)
{
    if (x->id == 0 || x->lease.size == 0 || x->seq == 0)
        return err_set(err, E_INVALID, "an emit needs 'id', 'lease' and 'seq'");
    if (x->n_jobs == 0 && x->cursor.size == 0)
        return err_set(err, E_INVALID, "an emit needs 'jobs' or a 'cursor'");
    return E_OK;
}

enum err_code parse_emit(struct slice text, const struct submit_source *source, struct arena *arena,
                         struct emit *ret_emit, struct err *err)
{
    struct bill_sum sum = {.steps = 0};
    struct submit_source own = {
        .right = source->right, .key = source->key, .emitted = true, .sum = &sum};
    struct emit x = {0};
    struct field_reader reader = {.fields = emit_fields,
                                  .n_fields = ARRAY_LEN(emit_fields),
                                  .what = "an emit",
                                  .arena = arena,
                                  .err = err,
                                  .to = &x,
                                  .with = &own};
    struct slice value;

    if (json_check(text, &value, err) != E_OK || fields_read(&reader, value) != E_OK ||
        check_whole(&x, err) != E_OK)
        return err->code;
    x.token = lease_prove(source->leases, x.id, x.lease);
    *ret_emit = x;
    return E_OK;
}
