/* SPDX-License-Identifier: MIT */
#include "server/parse/items.h"

#include <inttypes.h>

#include "base/id.h"
#include "base/json/json.h"
#include "core/job/lease.h"
#include "core/object/quote.h"
#include "server/limits.h"
#include "server/parse/bill.h"
#include "server/parse/fields.h"
#include "server/parse/log.h"
#include "server/parse/submit.h"

enum err_code field_lease(struct field_reader *r, struct slice value, struct slice *ret_lease)
{
    if (json_type_of(value) != JSON_T_STRING)
        return field_refuse(r, "the lease that came with the job", value);
    return field_text(r, value, 1, LEASE_TOLD_MAX, ret_lease);
}

/* ---- finish ---- */

static enum err_code finish_id(struct field_reader *r, struct slice value)
{
    return field_id(r, value, &((struct finish_item *)r->to)->id);
}

static enum err_code finish_lease(struct field_reader *r, struct slice value)
{
    return field_lease(r, value, &((struct finish_item *)r->to)->lease);
}

static enum err_code finish_state(struct field_reader *r, struct slice value)
{
    struct finish_item *item = r->to;

    if (json_type_of(value) == JSON_T_STRING)
        item->outcome = job_outcome_parse(json_text(value, r->arena));
    if (item->outcome == JOB_OUT_NONE)
        return field_refuse(r, "one of done failed later returned cancelled lost", value);
    return E_OK;
}

static enum err_code finish_exit(struct field_reader *r, struct slice value)
{
    struct finish_item *item = r->to;
    int64_t status;

    if (field_int(r, value, -255, 255, &status) != E_OK)
        return r->err->code;
    item->exited = true;
    item->exit = (int)status;
    return E_OK;
}

static enum err_code finish_cause(struct field_reader *r, struct slice value)
{
    struct finish_item *item = r->to;

    if (json_type_of(value) == JSON_T_STRING)
        item->cause = job_cause_parse(json_text(value, r->arena));
    if (item->cause == JOB_CAUSE_NONE)
        return field_refuse(r,
                            "one of exit signal timeout memory lost start protocol cancelled "
                            "dependency",
                            value);
    return E_OK;
}

static enum err_code finish_text(struct field_reader *r, struct slice value)
{
    struct finish_item *item = r->to;

    item->has_text = true;
    return field_text(r, value, 0, TEXT_BYTES_MAX, &item->text);
}

static enum err_code finish_set(struct field_reader *r, struct slice value)
{
    return field_object(r, value, &((struct finish_item *)r->to)->set);
}

static enum err_code finish_result(struct field_reader *r, struct slice value)
{
    ((struct finish_item *)r->to)->result = value;
    return E_OK;
}

static enum err_code finish_delay(struct field_reader *r, struct slice value)
{
    struct finish_item *item = r->to;

    item->delayed = true;
    return field_length(r, value, 0, INT64_MAX, &item->delay_us);
}

static enum err_code finish_final(struct field_reader *r, struct slice value)
{
    return field_bool(r, value, &((struct finish_item *)r->to)->final);
}

static enum err_code finish_log(struct field_reader *r, struct slice value)
{
    return parse_log(r, value, &((struct finish_item *)r->to)->log);
}

static enum err_code finish_emit(struct field_reader *r, struct slice value)
{
    struct finish_item *item = r->to;

    return parse_jobs(r, value, &item->emit, &item->n_emit);
}

static enum err_code read_raise(struct field_reader *r, struct slice key, struct slice value,
                                struct signal_raise_item *ret_raise)
{
    struct quote quote;

    ret_raise->name = json_text(key, r->arena);
    if (dest_name_check("signal", ret_raise->name, r->err) != E_OK)
        return err_wrap(r->err, "raise");
    if (json_type_of(value) != JSON_T_INT || json_int(value) < 1 ||
        json_int(value) > SIGNAL_COUNT_MAX)
        return err_set(r->err, E_INVALID,
                       "raise: %s must be raised by a whole number from 1 to %" PRId64,
                       quote_text(&quote, ret_raise->name), SIGNAL_COUNT_MAX);
    ret_raise->count = json_int(value);
    return E_OK;
}

static enum err_code finish_raise(struct field_reader *r, struct slice value)
{
    struct finish_item *item = r->to;
    struct slice key;
    struct slice count;

    if (json_type_of(value) != JSON_T_OBJECT)
        return field_refuse(r, "an object such as {\"dump\": 1}", value);
    size_t n = json_count_members(value);

    if (n > RAISES_MAX)
        return err_set(r->err, E_TOO_LARGE, "raise: has %zu signals, at most %d are allowed", n,
                       RAISES_MAX);
    struct signal_raise_item *raises = arena_array(r->arena, n + 1, sizeof(*raises));

    for (struct json_iter it = json_members(value); json_next_member(&it, &key, &count);)
        if (read_raise(r, key, count, &raises[item->n_raises++]) != E_OK)
            return r->err->code;
    item->raises = raises;
    return E_OK;
}

/* They are judged again when they are added: only then it is known where the route is. */
static enum err_code finish_steps(struct field_reader *r, struct slice value)
{
    const struct submit_source *source = r->with;
    struct finish_item *item = r->to;

    if (json_type_of(value) != JSON_T_ARRAY)
        return field_refuse(r, "an array of steps", value);
    if (json_count_items(value) == 0)
        return E_OK;
    item->steps = value;
    return parse_added_steps(value, source, r->arena, r->err);
}

static const struct field finish_fields[] = {
    {FIELD("id"), .read = finish_id},
    {FIELD("lease"), .read = finish_lease},
    {FIELD("state"), .read = finish_state},
    {FIELD("exit"), .read = finish_exit, .null = true},
    {FIELD("text"), .read = finish_text, .null = true},
    {FIELD("result"), .read = finish_result},
    {FIELD("cause"), .read = finish_cause, .null = true},
    {FIELD("set"), .read = finish_set, .null = true},
    {FIELD("delay"), .read = finish_delay, .null = true},
    {FIELD("final"), .read = finish_final, .null = true},
    {FIELD("log"), .read = finish_log, .null = true},
    {FIELD("emit"), .read = finish_emit, .null = true},
    {FIELD("raise"), .read = finish_raise, .null = true},
    {FIELD("steps"), .read = finish_steps, .null = true},
};

static enum err_code check_finish(void *to, const struct submit_source *source, struct err *err)
{
    struct finish_item *item = to;

    if (item->id == 0 || item->lease.size == 0)
        return err_set(err, E_INVALID, "a finish needs 'id' and 'lease'");
    if (item->outcome == JOB_OUT_NONE)
        return err_set(err, E_INVALID,
                       "a finish needs a 'state': done failed later returned cancelled lost");
    if (item->outcome == JOB_OUT_LATER && !item->delayed)
        return err_set(err, E_INVALID, "the state 'later' needs a 'delay'");
    item->token = lease_prove(source->leases, item->id, item->lease);
    return E_OK;
}

/* ---- touch ---- */

static enum err_code touch_id(struct field_reader *r, struct slice value)
{
    return field_id(r, value, &((struct touch_item *)r->to)->id);
}

static enum err_code touch_lease(struct field_reader *r, struct slice value)
{
    return field_lease(r, value, &((struct touch_item *)r->to)->lease);
}

static enum err_code touch_text(struct field_reader *r, struct slice value)
{
    struct touch_item *item = r->to;

    item->has_text = true;
    return field_text(r, value, 0, TEXT_BYTES_MAX, &item->text);
}

static enum err_code touch_done(struct field_reader *r, struct slice value)
{
    struct touch_item *item = r->to;

    item->has_done = true;
    return field_int(r, value, 0, INT64_MAX, &item->done);
}

static enum err_code touch_total(struct field_reader *r, struct slice value)
{
    struct touch_item *item = r->to;

    item->has_done = true;
    return field_int(r, value, 0, INT64_MAX, &item->total);
}

static enum err_code touch_unit(struct field_reader *r, struct slice value)
{
    struct touch_item *item = r->to;

    item->has_unit = true;
    return field_text(r, value, 0, UNIT_BYTES_MAX, &item->unit);
}

/* null: it cannot tell (any more). */
static enum err_code touch_left(struct field_reader *r, struct slice value)
{
    struct touch_item *item = r->to;

    item->has_left = true;
    item->left_us = -1;
    if (json_type_of(value) == JSON_T_NULL)
        return E_OK;
    return field_length(r, value, 0, INT64_MAX, &item->left_us);
}

static enum err_code touch_log(struct field_reader *r, struct slice value)
{
    return parse_log(r, value, &((struct touch_item *)r->to)->log);
}

static const struct field touch_fields[] = {
    {FIELD("id"), .read = touch_id},
    {FIELD("lease"), .read = touch_lease},
    {FIELD("text"), .read = touch_text, .null = true},
    {FIELD("done"), .read = touch_done, .null = true},
    {FIELD("total"), .read = touch_total, .null = true},
    {FIELD("unit"), .read = touch_unit, .null = true},
    {FIELD("left"), .read = touch_left},
    {FIELD("log"), .read = touch_log, .null = true},
};

static enum err_code check_touch(void *to, const struct submit_source *source, struct err *err)
{
    struct touch_item *item = to;

    if (item->id == 0 || item->lease.size == 0)
        return err_set(err, E_INVALID, "a touch needs 'id' and 'lease'");
    item->token = lease_prove(source->leases, item->id, item->lease);
    return E_OK;
}

/* ---- arrays of them ---- */

struct item_kind {
    const char *what;
    size_t size;
    const struct field *fields;
    size_t n_fields;
    enum err_code (*check)(void *item, const struct submit_source *source, struct err *err);
};

static const struct item_kind finish_kind = {.what = "a finish",
                                             .size = sizeof(struct finish_item),
                                             .fields = finish_fields,
                                             .n_fields = ARRAY_LEN(finish_fields),
                                             .check = check_finish};
static const struct item_kind touch_kind = {.what = "a touch",
                                            .size = sizeof(struct touch_item),
                                            .fields = touch_fields,
                                            .n_fields = ARRAY_LEN(touch_fields),
                                            .check = check_touch};

static enum err_code read_item(struct field_reader *r, const struct item_kind *kind,
                               struct slice object, void *item)
{
    struct field_reader reader = {.fields = kind->fields,
                                  .n_fields = kind->n_fields,
                                  .what = kind->what,
                                  .arena = r->arena,
                                  .err = r->err,
                                  .to = item,
                                  .with = r->with};

    if (fields_read(&reader, object) != E_OK)
        return r->err->code;
    return kind->check(item, r->with, r->err);
}

static enum err_code read_items(struct field_reader *r, struct slice value,
                                const struct item_kind *kind, void **ret_items, size_t *ret_count)
{
    struct slice object;
    size_t index = 0;

    if (json_type_of(value) != JSON_T_ARRAY)
        return field_refuse(r, "an array", value);
    size_t count = json_count_items(value);

    if (count > OP_ITEMS_MAX)
        return err_set(r->err, E_TOO_LARGE, "%s: has %zu items, at most %d are allowed", r->name,
                       count, OP_ITEMS_MAX);
    char *items = arena_array(r->arena, count + 1, kind->size);

    for (struct json_iter it = json_items(value); json_next_item(&it, &object); index++)
        if (read_item(r, kind, object, items + index * kind->size) != E_OK) {
            (void)err_wrap(r->err, "%s[%zu]", r->name, index);
            r->err->item = (unsigned)index + 1;
            return r->err->code;
        }
    *ret_items = items;
    *ret_count = count;
    return E_OK;
}

enum err_code parse_finishes(struct field_reader *r, struct slice value,
                             const struct finish_item **ret_items, size_t *ret_count)
{
    void *items = NULL;

    if (read_items(r, value, &finish_kind, &items, ret_count) != E_OK)
        return r->err->code;
    *ret_items = items;
    return E_OK;
}

enum err_code parse_touches(struct field_reader *r, struct slice value,
                            const struct touch_item **ret_items, size_t *ret_count)
{
    void *items = NULL;

    if (read_items(r, value, &touch_kind, &items, ret_count) != E_OK)
        return r->err->code;
    *ret_items = items;
    return E_OK;
}
