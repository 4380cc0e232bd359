/* SPDX-License-Identifier: MIT */
#include "server/parse/emit.h"

#include "base/jtext/jtext.h"
#include "core/job/lease.h"
#include "core/submit/routing.h"
#include "server/limits.h"

static enum err_code read_jobs(struct object_read *r, const struct field *f, struct slice value)
{
    struct emit *x = r->to;

    (void)f;
    return parse_jobs(r, value, &x->jobs, &x->n_jobs);
}

static enum err_code check_cursor(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    if (value.size <= CURSOR_BYTES_MAX)
        return E_OK;
    return err_set(r->err, E_TOO_LARGE, "must have at most %d bytes, not %zu", CURSOR_BYTES_MAX,
                   value.size);
}

static const struct field emit_fields[] = {
    FIELD_ID("id", emit, id, .required = true, .min = 1, .help = "the running job"),
    FIELD_TEXT("lease", emit, lease, .required = true, .min = 1, .max = LEASE_TOLD_MAX,
               .help = "the lease that came with the job"),
    FIELD_INT64("seq", emit, seq, .required = true, .min = 1, .max = INT64_MAX - 1,
                .help = "from 1 on for each lease; a repeated one is answered again"),
    FIELD_CUSTOM("jobs", read_jobs, .null = true,
                 .schema = "{'type':'array','items':{'$ref':'#/components/schemas/JobToAdd'}}"),
    FIELD_BOOL("visible", emit, visible, .null = true,
               .help = "They may run before the attempt has ended."),
    FIELD_JSON("cursor", emit, cursor, .null = true, .check = check_cursor, .schema = "Anything",
               .help = "Where the next attempt goes on."),
};

static enum err_code check_emit(struct object_read *r, struct slice value)
{
    const struct emit *x = r->to;

    (void)value;
    if (x->n_jobs == 0 && x->cursor.size == 0)
        return err_set(r->err, E_INVALID, "an emit needs 'jobs' or a 'cursor'");
    return E_OK;
}

const struct object emit_object = {.what = "an emit",
                                   .schema = "Emit",
                                   OBJECT_FIELDS(emit_fields),
                                   .needs = true,
                                   .check = check_emit};

enum err_code parse_emit(struct slice text, const struct submit_source *source, struct arena *arena,
                         struct emit *ret_emit, struct err *err)
{
    struct routing_sum sum = {.steps = 0};
    struct submit_source own = {
        .no_commands = source->no_commands, .key = source->key, .emitted = true, .sum = &sum};
    struct emit x = {0};
    struct object_read r = {.to = &x, .arena = arena, .err = err, .with = &own};
    struct slice value;

    if (jtext_check(text, &value, err) != E_OK || object_read(&r, &emit_object, value) != E_OK)
        return err->code;
    x.token = lease_prove(source->leases, x.id, x.lease);
    *ret_emit = x;
    return E_OK;
}
