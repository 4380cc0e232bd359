/* SPDX-License-Identifier: MIT */
#include "server/parse/items.h"

#include <inttypes.h>

#include "base/jtext/jtext.h"
#include "core/gate/gate.h"
#include "core/gate/window.h"
#include "core/job/lease.h"
#include "core/object/quote.h"
#include "core/submit/routing.h"
#include "server/limits.h"
#include "server/parse/log.h"
#include "server/parse/submit.h"

/* ---- finish ---- */

static enum err_code read_emit(struct object_read *r, const struct field *f, struct slice value)
{
    struct finish_item *item = r->to;

    (void)f;
    return parse_jobs(r, value, &item->emit, &item->n_emit);
}

static enum err_code read_raise(struct object_read *r, struct slice key, struct slice value,
                                struct signal_raise_item *ret_raise)
{
    struct quote quote;

    ret_raise->name = jtext_text(key, r->arena);
    if (dest_name_check("signal", ret_raise->name, r->err) != E_OK)
        return r->err->code;
    if (jtext_type_of(value) != JTEXT_INT || jtext_int(value) < 1 ||
        jtext_int(value) > SIGNAL_COUNT_MAX)
        return err_set(r->err, E_INVALID, "%s must be raised by a whole number from 1 to %" PRId64,
                       quote_text(&quote, ret_raise->name), SIGNAL_COUNT_MAX);
    ret_raise->count = jtext_int(value);
    return E_OK;
}

static enum err_code read_raises(struct object_read *r, const struct field *f, struct slice value)
{
    struct finish_item *item = r->to;
    struct slice key;
    struct slice count;

    (void)f;
    if (jtext_type_of(value) != JTEXT_OBJECT)
        return object_must_be(r, "an object such as {\"dump\": 1}", value);
    size_t n = jtext_count_members(value);

    if (n > RAISES_MAX)
        return err_set(r->err, E_TOO_LARGE, "must have at most %d signals, not %zu", RAISES_MAX, n);
    struct signal_raise_item *raises = arena_array(r->arena, n + 1, sizeof(*raises));

    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &key, &count);)
        if (read_raise(r, key, count, &raises[item->n_raises++]) != E_OK)
            return r->err->code;
    item->raises = raises;
    return E_OK;
}

static enum err_code read_uses(struct object_read *r, const struct field *f, struct slice value)
{
    struct finish_item *item = r->to;
    struct slice key;
    struct slice count;

    (void)f;
    if (jtext_type_of(value) != JTEXT_OBJECT)
        return object_must_be(r, "an object such as {\"llm\": 800}", value);
    size_t n = jtext_count_members(value);

    if (n > RAISES_MAX)
        return err_set(r->err, E_TOO_LARGE, "must have at most %d resources, not %zu", RAISES_MAX,
                       n);
    struct signal_raise_item *uses = arena_array(r->arena, n + 1, sizeof(*uses));

    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &key, &count);) {
        uses[item->n_uses].name = jtext_text(key, r->arena);
        if (jtext_type_of(count) != JTEXT_INT || jtext_int(count) < 0 ||
            jtext_int(count) > WINDOW_WEIGHT_MAX)
            return object_must_be(r, "whole numbers from 0 on", count);
        uses[item->n_uses++].count = jtext_int(count);
    }
    item->uses = uses;
    return E_OK;
}

static const struct field busy_fields[] = {
    FIELD_TEXT("name", finish_item, busy.name, .required = true, .min = 1, .max = GATE_NAME_MAX,
               .help = "the resource, or `lane`"),
    FIELD_LENGTH("for", finish_item, busy.for_us, .required = true, .min = 1,
                 .max = 10000 * US_PER_DAY, .help = "how long it is shut"),
    FIELD_TEXT("why", finish_item, busy.why, .null = true, .max = TEXT_BYTES_MAX),
};
static const struct object busy_object = {.what = "busy",
                                          OBJECT_FIELDS(busy_fields),
                                          .needs = true};

/* They are judged again when they are added: only then it is known where the route is. */
static enum err_code read_steps(struct object_read *r, const struct field *f, struct slice value)
{
    struct finish_item *item = r->to;
    struct route_step *steps;
    size_t n;

    (void)f;
    if (jtext_type_of(value) != JTEXT_ARRAY)
        return object_must_be(r, "an array of steps", value);
    if (jtext_count_items(value) == 0)
        return E_OK;
    item->steps = value;
    if (parse_added_steps(value, r->with, r->arena, &steps, &n, r->err) == E_OK)
        return E_OK;
    r->key = NULL; /* the message has it */
    return r->err->code;
}

/* One merge patch, or a list of them. */
static enum err_code read_group(struct object_read *r, const struct field *f, struct slice value)
{
    struct slice patch;

    (void)f;
    if (jtext_type_of(value) != JTEXT_OBJECT && jtext_type_of(value) != JTEXT_ARRAY)
        return object_must_be(r, "an object, or an array of objects", value);
    for (struct jtext_iter it = jtext_items(value);
         jtext_type_of(value) == JTEXT_ARRAY && jtext_next_item(&it, &patch);)
        if (jtext_type_of(patch) != JTEXT_OBJECT)
            return object_must_be(r, "an array of objects", patch);
    ((struct finish_item *)r->to)->group = value;
    return E_OK;
}

static enum err_code check_finish(struct object_read *r, struct slice value)
{
    const struct submit_source *source = r->with;
    struct finish_item *item = r->to;

    (void)value;
    if (item->outcome == JOB_OUT_LATER && !item->delayed)
        return err_set(r->err, E_INVALID, "the state 'later' needs a 'delay'");
    item->token = lease_prove(source->leases, item->id, item->lease);
    return E_OK;
}

static const struct field finish_fields[] = {
    FIELD_ID("id", finish_item, id, .required = true, .min = 1),
    FIELD_TEXT("lease", finish_item, lease, .required = true, .min = 1, .max = LEASE_TOLD_MAX,
               .help = "the lease that came with the job"),
    FIELD_WORD("state", finish_item, outcome, .required = true, .words = job_outcome_names,
               .min = JOB_OUT_DONE, .max = JOB_OUT_LOST, .help = "how the attempt has ended"),
    FIELD_INT("exit", finish_item, exit, FIELD_GIVEN(finish_item, exited), .null = true,
              .min = -255, .max = 255, .help = "Exit status, or minus the signal."),
    FIELD_TEXT("text", finish_item, text, FIELD_GIVEN(finish_item, has_text), .null = true,
               .max = TEXT_BYTES_MAX),
    FIELD_JSON("result", finish_item, result, .schema = "Anything"),
    FIELD_WORD("cause", finish_item, cause, .null = true, .words = job_cause_names,
               .min = JOB_CAUSE_EXIT, .max = JOB_CAUSE_DEPENDENCY),
    FIELD_OBJECT("set", finish_item, set, .null = true, .help = "Params for the steps to come."),
    FIELD_LENGTH("delay", finish_item, delay_us, FIELD_GIVEN(finish_item, delayed), .null = true,
                 .max = INT64_MAX, .help = "Pause before the next attempt; required for `later`."),
    FIELD_BOOL("final", finish_item, final, .null = true, .help = "The job is not retried."),
    FIELD_CUSTOM("log", log_read, FIELD_OFFSET(const struct log_append *, finish_item, log),
                 .null = true, .schema = "LogPiece"),
    FIELD_CUSTOM("emit", read_emit, .null = true,
                 .schema = "{'type':'array','items':{'$ref':'#/components/schemas/JobToAdd'}}",
                 .help = "Jobs that are made in the same commit."),
    FIELD_CUSTOM("raise", read_raises, .null = true, .schema = "Slots",
                 .help = "Signals to raise: name and count."),
    FIELD_CUSTOM("group", read_group, .null = true,
                 .schema = "{'type':['object','array'],'items':{'type':'object'}}",
                 .help = "Merge patches for the data of its group, one or a list."),
    FIELD_CUSTOM("use", read_uses, .null = true, .schema = "Slots",
                 .help = "What was used of resources, instead of the job's weights."),
    FIELD_MEMBERS("busy", &busy_object, .null = true,
                  .help = "Shuts a resource; with the state `returned`."),
    FIELD_CUSTOM("steps", read_steps, .null = true,
                 .schema = "{'type':'array','items':{'$ref':'#/components/schemas/Step'}}",
                 .help = "Added to the route."),
};

const struct object finish_object = {.what = "a finish",
                                     .schema = "FinishItem",
                                     OBJECT_FIELDS(finish_fields),
                                     .needs = true,
                                     .check = check_finish};

/* ---- touch ---- */

/* null: it cannot tell (any more). */
static enum err_code read_left(struct object_read *r, const struct field *f, struct slice value)
{
    static const struct field length = FIELD_LENGTH("left", touch_item, left_us, .max = INT64_MAX);

    (void)f;
    ((struct touch_item *)r->to)->left_us = -1;
    return jtext_type_of(value) == JTEXT_NULL ? E_OK : field_read(r, &length, value);
}

static enum err_code check_touch(struct object_read *r, struct slice value)
{
    const struct submit_source *source = r->with;
    struct touch_item *item = r->to;

    (void)value;
    item->token = lease_prove(source->leases, item->id, item->lease);
    return E_OK;
}

static const struct field touch_fields[] = {
    FIELD_ID("id", touch_item, id, .required = true, .min = 1),
    FIELD_TEXT("lease", touch_item, lease, .required = true, .min = 1, .max = LEASE_TOLD_MAX,
               .help = "the lease that came with the job"),
    FIELD_TEXT("text", touch_item, text, FIELD_GIVEN(touch_item, has_text), .null = true,
               .max = TEXT_BYTES_MAX),
    FIELD_INT64("done", touch_item, done, FIELD_GIVEN(touch_item, has_done), .null = true,
                .max = INT64_MAX),
    FIELD_INT64("total", touch_item, total, FIELD_GIVEN(touch_item, has_done), .null = true,
                .max = INT64_MAX),
    FIELD_TEXT("unit", touch_item, unit, FIELD_GIVEN(touch_item, has_unit), .null = true,
               .max = UNIT_BYTES_MAX, .help = "Unit of done and total."),
    FIELD_CUSTOM("left", read_left, FIELD_GIVEN(touch_item, has_left),
                 .schema = "{'type':['string','number','null']}",
                 .help = "Time until it is done; null: unknown."),
    FIELD_CUSTOM("log", log_read, FIELD_OFFSET(const struct log_append *, touch_item, log),
                 .null = true, .schema = "LogPiece"),
};

const struct object touch_object = {.what = "a touch",
                                    .schema = "TouchItem",
                                    OBJECT_FIELDS(touch_fields),
                                    .needs = true,
                                    .check = check_touch};

/* ---- arrays of them ---- */

enum err_code parse_finishes(struct object_read *r, struct slice value,
                             const struct finish_item **ret_items, size_t *ret_count)
{
    static const struct object_list how = {.what = "items",
                                           .size = sizeof(struct finish_item),
                                           .max = OP_ITEMS_MAX,
                                           .beyond = E_TOO_LARGE,
                                           .numbered = true,
                                           .of = &finish_object};

    return object_read_list(r, &how, value, ret_items, ret_count);
}

enum err_code parse_touches(struct object_read *r, struct slice value,
                            const struct touch_item **ret_items, size_t *ret_count)
{
    static const struct object_list how = {.what = "items",
                                           .size = sizeof(struct touch_item),
                                           .max = OP_ITEMS_MAX,
                                           .beyond = E_TOO_LARGE,
                                           .numbered = true,
                                           .of = &touch_object};

    return object_read_list(r, &how, value, ret_items, ret_count);
}
