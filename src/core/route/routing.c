/* SPDX-License-Identifier: MIT */
#include "core/route/routing.h"

#include "base/id.h"
#include "base/jtext/jtext.h"

/* Never reached: steps and conditions are bounded when they are read. */
#define ROUTING_BYTES_MAX ((size_t)256 << 20)

/* ---- reading ---- */

/* Members that are kept as JSON. */
struct raw_member {
    const char *name;
    size_t offset;
};

enum { STEP_RAW = 8, STEP_DESTS = 6, ROUTING_RAW = 5, ROUTING_DESTS = 1 };

/* The order is that of canonical JSON; other members come before those from *_DESTS on. */
static const struct raw_member raw_of_step[STEP_RAW] = {
    {"command", offsetof(struct route_step, command)},
    {"params", offsetof(struct route_step, params)},
    {"timeout", offsetof(struct route_step, timeout)},
    {"retry", offsetof(struct route_step, retry)},
    {"needs", offsetof(struct route_step, needs)},
    {"limits", offsetof(struct route_step, limits)},
    {"on_success", offsetof(struct route_step, on_success)},
    {"on_failure", offsetof(struct route_step, on_failure)},
};

static const struct raw_member raw_of_routing[ROUTING_RAW] = {
    {"options", offsetof(struct routing, options)},
    {"on_success", offsetof(struct routing, on_success)},
    {"on_failure", offsetof(struct routing, on_failure)},
    {"after", offsetof(struct routing, after)},
    {"changed", offsetof(struct routing, changed)},
};

static void read_step_member(struct slice name, struct slice value, struct arena *arena,
                             struct route_step *step)
{
    for (size_t i = 0; i < STEP_RAW; i++)
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
    for (size_t i = 0; i < ROUTING_RAW; i++)
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
    else if (jtext_key_is(name, "group"))
        (void)!id_parse(jtext_text(value, arena), &routing->group);
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

static struct slice raw_value(const void *from, const struct raw_member *member)
{
    return *(const struct slice *)(const void *)((const char *)from + member->offset);
}

/* Adds those of n members that are given. */
static void put_raw(struct buf *out, const void *from, const struct raw_member *members, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (raw_value(from, &members[i]).size > 0)
            jtext_put_raw(out, members[i].name, raw_value(from, &members[i]));
}

static void add_step(const struct route_step *step, struct buf *out)
{
    jtext_add_comma(out);
    buf_add_char(out, '{');
    jtext_put_int(out, "number", step->number);
    jtext_put_string(out, "name", step->name);
    jtext_put_string(out, "queue", step->queue);
    put_raw(out, step, raw_of_step, STEP_DESTS);
    if (step->on_error == STEP_CONTINUE)
        jtext_put_string(out, "on_error", SLICE("continue"));
    if (step->final)
        jtext_put_bool(out, "final", true);
    put_raw(out, step, raw_of_step + STEP_DESTS, STEP_RAW - STEP_DESTS);
    buf_add_char(out, '}');
}

struct slice routing_format(const struct routing *routing, struct arena *arena)
{
    CLEANUP(buf) struct buf out = BUF_INIT(ROUTING_BYTES_MAX);
    char id[ID_TEXT_SIZE];

    buf_add_char(&out, '{');
    if (routing->n_steps > 0)
        buf_add_str(&out, "\"steps\":[");
    for (size_t i = 0; i < routing->n_steps; i++)
        add_step(&routing->steps[i], &out);
    if (routing->n_steps > 0)
        buf_add_char(&out, ']');
    put_raw(&out, routing, raw_of_routing, ROUTING_DESTS);
    if (routing->n_skip > 0) {
        jtext_add_key(&out, "skip");
        buf_add_char(&out, '[');
        for (size_t i = 0; i < routing->n_skip; i++) {
            jtext_add_comma(&out);
            buf_add_int(&out, routing->skip[i]);
        }
        buf_add_char(&out, ']');
    }
    put_raw(&out, routing, raw_of_routing + ROUTING_DESTS, ROUTING_RAW - ROUTING_DESTS);
    if (routing->parent != 0)
        jtext_put_string(&out, "parent", slice_of(id_format(routing->parent, id)));
    if (routing->depth > 0)
        jtext_put_int(&out, "depth", routing->depth);
    if (routing->topic.size > 0)
        jtext_put_string(&out, "topic", routing->topic);
    if (routing->group != 0)
        jtext_put_string(&out, "group", slice_of(id_format(routing->group, id)));
    buf_add_char(&out, '}');
    ASSERT(!out.overflowed);
    return out.size == 2 ? slice_make(NULL, 0) : arena_copy(arena, buf_slice(&out));
}

/* Bytes of JSON around a step's number, name and queue; around the origin; around a member. */
enum { STEP_FRAME = 40, ORIGIN_FRAME = 40, MEMBER_FRAME = 14 };

static size_t raw_size(const void *from, const struct raw_member *members, size_t n)
{
    size_t size = 0;

    for (size_t i = 0; i < n; i++) {
        size_t bytes = raw_value(from, &members[i]).size;

        size += bytes == 0 ? 0 : MEMBER_FRAME + bytes;
    }
    return size;
}

size_t routing_size(const struct routing *routing)
{
    size_t size = raw_size(routing, raw_of_routing, ROUTING_RAW) +
                  (routing->topic.size == 0 ? 0 : MEMBER_FRAME + routing->topic.size) +
                  routing->n_skip * sizeof("1000000");

    for (size_t i = 0; i < routing->n_steps; i++) {
        const struct route_step *s = &routing->steps[i];

        size += STEP_FRAME + s->name.size + s->queue.size + raw_size(s, raw_of_step, STEP_RAW);
    }
    return routing->parent != 0 || routing->depth > 0 ? size + ORIGIN_FRAME : size;
}
