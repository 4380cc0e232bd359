/* SPDX-License-Identifier: MIT */
#include "core/route/routing.h"

#include "base/id.h"
#include "base/jtext/jtext.h"

/* Never reached: steps and conditions are bounded when they are read. */
#define ROUTING_BYTES_MAX ((size_t)256 << 20)

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
  raw_of_routing[] = {
      {"options", offsetof(struct routing, options)},
      {"on_success", offsetof(struct routing, on_success)},
      {"on_failure", offsetof(struct routing, on_failure)},
      {"after", offsetof(struct routing, after)},
      {"changed", offsetof(struct routing, changed)},
};

static void read_step_member(struct slice name, struct slice value, struct arena *arena,
                             struct route_step *step)
{
    for (size_t i = 0; i < ARRAY_LEN(raw_of_step); i++)
        if (jtext_key_is(name, raw_of_step[i].name)) {
            *(struct slice *)(void *)((char *)step + raw_of_step[i].offset) = value;
            return;
        }
    if (jtext_key_is(name, "number"))
        step->number = (int)jtext_int(value);
    else if (jtext_key_is(name, "name"))
        step->name = jtext_text(value, arena);
    else if (jtext_key_is(name, "queue"))
        step->queue = jtext_text(value, arena);
    else if (jtext_key_is(name, "on_error"))
        step->on_error = jtext_key_is(value, "continue") ? STEP_CONTINUE : STEP_STOP;
    else if (jtext_key_is(name, "final"))
        step->final = jtext_type_of(value) == JTEXT_TRUE;
}

static void read_steps(struct slice array, struct arena *arena, struct routing *routing)
{
    struct slice object;
    struct slice name;
    struct slice value;

    routing->steps = arena_array(arena, jtext_count_items(array) + 1, sizeof(*routing->steps));
    for (struct jtext_iter it = jtext_items(array); jtext_next_item(&it, &object);
         routing->n_steps++)
        for (struct jtext_iter m = jtext_members(object); jtext_next_member(&m, &name, &value);)
            read_step_member(name, value, arena, &routing->steps[routing->n_steps]);
}

static void read_skip(struct slice array, struct arena *arena, struct routing *routing)
{
    struct slice number;

    routing->skip = arena_array(arena, jtext_count_items(array) + 1, sizeof(*routing->skip));
    for (struct jtext_iter it = jtext_items(array); jtext_next_item(&it, &number);)
        routing->skip[routing->n_skip++] = (int)jtext_int(number);
}

static void read_member(struct slice name, struct slice value, struct arena *arena,
                        struct routing *routing)
{
    for (size_t i = 0; i < ARRAY_LEN(raw_of_routing); i++)
        if (jtext_key_is(name, raw_of_routing[i].name)) {
            *(struct slice *)(void *)((char *)routing + raw_of_routing[i].offset) = value;
            return;
        }
    if (jtext_key_is(name, "steps"))
        read_steps(value, arena, routing);
    else if (jtext_key_is(name, "skip"))
        read_skip(value, arena, routing);
    else if (jtext_key_is(name, "parent"))
        (void)id_parse(jtext_text(value, arena), &routing->parent); /* none, in a damaged store */
    else if (jtext_key_is(name, "depth"))
        routing->depth = (int)jtext_int(value);
    else if (jtext_key_is(name, "topic"))
        routing->topic = jtext_text(value, arena);
}

void routing_parse(struct slice json, struct arena *arena, struct routing *ret_routing)
{
    struct routing routing = {0};
    struct slice name;
    struct slice value;

    if (json.size > 0)
        for (struct jtext_iter it = jtext_members(json); jtext_next_member(&it, &name, &value);)
            read_member(name, value, arena, &routing);
    *ret_routing = routing;
}

bool routing_has_command(const struct routing *routing)
{
    for (size_t i = 0; i < routing->n_steps; i++)
        if (routing->steps[i].command.size > 0)
            return true;
    return false;
}

bool routing_is_followed(const struct routing *routing)
{
    return routing->n_steps > 0 || routing->on_success.size > 0 || routing->on_failure.size > 0;
}

/* ---- writing ---- */

static void put_given(struct buf *out, const char *name, struct slice json)
{
    if (json.size > 0)
        jtext_put_raw(out, name, json);
}

static void add_step(const struct route_step *step, struct buf *out)
{
    jtext_add_comma(out);
    buf_add_char(out, '{');
    jtext_put_int(out, "number", step->number);
    jtext_put_string(out, "name", step->name);
    jtext_put_string(out, "queue", step->queue);
    put_given(out, "command", step->command);
    put_given(out, "params", step->params);
    put_given(out, "timeout", step->timeout);
    put_given(out, "retry", step->retry);
    put_given(out, "limits", step->limits);
    if (step->on_error == STEP_CONTINUE)
        jtext_put_string(out, "on_error", SLICE("continue"));
    if (step->final)
        jtext_put_bool(out, "final", true);
    put_given(out, "on_success", step->on_success);
    put_given(out, "on_failure", step->on_failure);
    buf_add_char(out, '}');
}

static void add_steps(const struct routing *routing, struct buf *out)
{
    if (routing->n_steps == 0)
        return;
    jtext_add_key(out, "steps");
    buf_add_char(out, '[');
    for (size_t i = 0; i < routing->n_steps; i++)
        add_step(&routing->steps[i], out);
    buf_add_char(out, ']');
}

static void add_skip(const struct routing *routing, struct buf *out)
{
    if (routing->n_skip == 0)
        return;
    jtext_add_key(out, "skip");
    buf_add_char(out, '[');
    for (size_t i = 0; i < routing->n_skip; i++) {
        jtext_add_comma(out);
        buf_add_int(out, routing->skip[i]);
    }
    buf_add_char(out, ']');
}

static void add_origin(const struct routing *routing, struct buf *out)
{
    char id[ID_TEXT_SIZE];

    if (routing->parent != 0)
        jtext_put_string(out, "parent", slice_of(id_format(routing->parent, id)));
    if (routing->depth > 0)
        jtext_put_int(out, "depth", routing->depth);
    if (routing->topic.size > 0)
        jtext_put_string(out, "topic", routing->topic);
}

struct slice routing_format(const struct routing *routing, struct arena *arena)
{
    CLEANUP(buf) struct buf out = BUF_INIT(ROUTING_BYTES_MAX);

    buf_add_char(&out, '{');
    add_steps(routing, &out);
    put_given(&out, "options", routing->options);
    add_skip(routing, &out);
    put_given(&out, "on_success", routing->on_success);
    put_given(&out, "on_failure", routing->on_failure);
    put_given(&out, "after", routing->after);
    put_given(&out, "changed", routing->changed);
    add_origin(routing, &out);
    buf_add_char(&out, '}');
    ASSERT(!out.overflowed);
    return out.size == 2 ? slice_make(NULL, 0) : arena_copy(arena, buf_slice(&out));
}

/* Bytes of JSON around a step's number, name and queue; around the origin; around a member. */
enum { STEP_FRAME = 40, ORIGIN_FRAME = 40, MEMBER_FRAME = 14 };

static size_t given_size(struct slice value)
{
    return value.size == 0 ? 0 : MEMBER_FRAME + value.size;
}

size_t routing_size(const struct routing *routing)
{
    size_t size = given_size(routing->options) + given_size(routing->on_success) +
                  given_size(routing->on_failure) + given_size(routing->after) +
                  given_size(routing->changed) + given_size(routing->topic) +
                  routing->n_skip * sizeof("1000000");

    for (size_t i = 0; i < routing->n_steps; i++) {
        const struct route_step *s = &routing->steps[i];

        size += STEP_FRAME + s->name.size + s->queue.size + given_size(s->command) +
                given_size(s->params) + given_size(s->timeout) + given_size(s->retry) +
                given_size(s->limits) + given_size(s->on_success) + given_size(s->on_failure);
    }
    return routing->parent != 0 || routing->depth > 0 ? size + ORIGIN_FRAME : size;
}
