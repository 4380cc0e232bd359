/* SPDX-License-Identifier: MIT */
#include "core/route/bill.h"

#include "base/id.h"
#include "base/json/json.h"

/* Steps and conditions are bounded where they come in: this is only what cannot be. */
#define BILL_BYTES_MAX ((size_t)256 << 20)

/* ---- reading ---- */

/* Members that are kept as JSON. */
static const struct {
    const char *name;
    size_t offset;
} raw_of_step[] =
    {
        {"command", offsetof(struct route_step, command)},
        {"params", offsetof(struct route_step, params)},
        {"timeout", offsetof(struct route_step, timeout)},
        {"retry", offsetof(struct route_step, retry)},
        {"limits", offsetof(struct route_step, limits)},
        {"on_success", offsetof(struct route_step, on_success)},
        {"on_failure", offsetof(struct route_step, on_failure)},
},
  raw_of_bill[] = {
      {"options", offsetof(struct bill, options)},
      {"on_success", offsetof(struct bill, on_success)},
      {"on_failure", offsetof(struct bill, on_failure)},
      {"after", offsetof(struct bill, after)},
      {"changed", offsetof(struct bill, changed)},
};

static void read_step_member(struct slice name, struct slice value, struct arena *arena,
                             struct route_step *step)
{
    for (size_t i = 0; i < ARRAY_LEN(raw_of_step); i++)
        if (json_key_is(name, raw_of_step[i].name)) {
            *(struct slice *)(void *)((char *)step + raw_of_step[i].offset) = value;
            return;
        }
    if (json_key_is(name, "number"))
        step->number = (int)json_int(value);
    else if (json_key_is(name, "name"))
        step->name = json_text(value, arena);
    else if (json_key_is(name, "queue"))
        step->queue = json_text(value, arena);
    else if (json_key_is(name, "on_error"))
        step->on_error = json_key_is(value, "continue") ? STEP_CONTINUE : STEP_STOP;
    else if (json_key_is(name, "final"))
        step->final = json_type_of(value) == JSON_T_TRUE;
}

static void read_steps(struct slice array, struct arena *arena, struct bill *bill)
{
    struct slice object;
    struct slice name;
    struct slice value;

    bill->steps = arena_array(arena, json_count_items(array) + 1, sizeof(*bill->steps));
    for (struct json_iter it = json_items(array); json_next_item(&it, &object); bill->n_steps++)
        for (struct json_iter m = json_members(object); json_next_member(&m, &name, &value);)
            read_step_member(name, value, arena, &bill->steps[bill->n_steps]);
}

static void read_skip(struct slice array, struct arena *arena, struct bill *bill)
{
    struct slice number;

    bill->skip = arena_array(arena, json_count_items(array) + 1, sizeof(*bill->skip));
    for (struct json_iter it = json_items(array); json_next_item(&it, &number);)
        bill->skip[bill->n_skip++] = (int)json_int(number);
}

static void read_member(struct slice name, struct slice value, struct arena *arena,
                        struct bill *bill)
{
    for (size_t i = 0; i < ARRAY_LEN(raw_of_bill); i++)
        if (json_key_is(name, raw_of_bill[i].name)) {
            *(struct slice *)(void *)((char *)bill + raw_of_bill[i].offset) = value;
            return;
        }
    if (json_key_is(name, "steps"))
        read_steps(value, arena, bill);
    else if (json_key_is(name, "skip"))
        read_skip(value, arena, bill);
    else if (json_key_is(name, "parent"))
        (void)id_parse(json_text(value, arena), &bill->parent); /* none, in a damaged store */
    else if (json_key_is(name, "depth"))
        bill->depth = (int)json_int(value);
    else if (json_key_is(name, "topic"))
        bill->topic = json_text(value, arena);
}

void bill_parse(struct slice json, struct arena *arena, struct bill *ret_bill)
{
    struct bill bill = {0};
    struct slice name;
    struct slice value;

    if (json.size > 0)
        for (struct json_iter it = json_members(json); json_next_member(&it, &name, &value);)
            read_member(name, value, arena, &bill);
    *ret_bill = bill;
}

bool bill_has_command(const struct bill *bill)
{
    for (size_t i = 0; i < bill->n_steps; i++)
        if (bill->steps[i].command.size > 0)
            return true;
    return false;
}

bool bill_is_followed(const struct bill *bill)
{
    return bill->n_steps > 0 || bill->on_success.size > 0 || bill->on_failure.size > 0;
}

/* ---- writing ---- */

static void put_given(struct buf *out, const char *name, struct slice json)
{
    if (json.size > 0)
        json_put_raw(out, name, json);
}

static void add_step(const struct route_step *step, struct buf *out)
{
    json_add_comma(out);
    buf_add_char(out, '{');
    json_put_int(out, "number", step->number);
    json_put_string(out, "name", step->name);
    json_put_string(out, "queue", step->queue);
    put_given(out, "command", step->command);
    put_given(out, "params", step->params);
    put_given(out, "timeout", step->timeout);
    put_given(out, "retry", step->retry);
    put_given(out, "limits", step->limits);
    if (step->on_error == STEP_CONTINUE)
        json_put_string(out, "on_error", SLICE("continue"));
    if (step->final)
        json_put_bool(out, "final", true);
    put_given(out, "on_success", step->on_success);
    put_given(out, "on_failure", step->on_failure);
    buf_add_char(out, '}');
}

static void add_steps(const struct bill *bill, struct buf *out)
{
    if (bill->n_steps == 0)
        return;
    json_add_key(out, "steps");
    buf_add_char(out, '[');
    for (size_t i = 0; i < bill->n_steps; i++)
        add_step(&bill->steps[i], out);
    buf_add_char(out, ']');
}

static void add_skip(const struct bill *bill, struct buf *out)
{
    if (bill->n_skip == 0)
        return;
    json_add_key(out, "skip");
    buf_add_char(out, '[');
    for (size_t i = 0; i < bill->n_skip; i++) {
        json_add_comma(out);
        buf_add_int(out, bill->skip[i]);
    }
    buf_add_char(out, ']');
}

static void add_origin(const struct bill *bill, struct buf *out)
{
    char id[ID_TEXT_SIZE];

    if (bill->parent != 0)
        json_put_string(out, "parent", slice_of(id_format(bill->parent, id)));
    if (bill->depth > 0)
        json_put_int(out, "depth", bill->depth);
    if (bill->topic.size > 0)
        json_put_string(out, "topic", bill->topic);
}

struct slice bill_format(const struct bill *bill, struct arena *arena)
{
    CLEANUP(buf) struct buf out = BUF_INIT(BILL_BYTES_MAX);

    buf_add_char(&out, '{');
    add_steps(bill, &out);
    put_given(&out, "options", bill->options);
    add_skip(bill, &out);
    put_given(&out, "on_success", bill->on_success);
    put_given(&out, "on_failure", bill->on_failure);
    put_given(&out, "after", bill->after);
    put_given(&out, "changed", bill->changed);
    add_origin(bill, &out);
    buf_add_char(&out, '}');
    ASSERT(!out.overflowed);
    return out.size == 2 ? slice_make(NULL, 0) : arena_copy(arena, buf_slice(&out));
}
