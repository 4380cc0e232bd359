/* SPDX-License-Identifier: MIT */
#include "core/queue/def.h"

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/queue/keys.h"
#include "core/route/dest.h"

static const char *const state_names[] = {
    [QUEUE_UP] = "up", [QUEUE_PAUSE] = "pause", [QUEUE_DRAIN] = "drain", [QUEUE_DOWN] = "down"};

const char *queue_state_name(enum queue_state s)
{
    ASSERT(s >= QUEUE_UP && s <= QUEUE_DOWN);
    return state_names[s];
}

/* ---- reading ---- */

static enum err_code parse(struct object_read *r, struct slice json, struct queue_def *ret_def)
{
    struct queue_def def = {.slots = QUEUE_SLOTS_ALL};

    r->to = &def;
    r->copies = true;
    object_defaults(r, &queue_object);
    if (object_read(r, &queue_object, json) != E_OK)
        return r->err->code;
    *ret_def = def;
    return E_OK;
}

enum err_code queue_def_parse_at(struct slice json, struct arena *arena, struct queue_def *ret_def,
                                 struct object_faults *faults, const char **fault_at,
                                 struct err *err)
{
    struct object_read r = {.arena = arena, .faults = faults, .err = err};

    if (parse(&r, json, ret_def) == E_OK)
        return E_OK;
    *fault_at = r.fault_at == NULL ? json.data : r.fault_at;
    return err->code;
}

enum err_code queue_def_parse(struct slice json, struct arena *arena, struct queue_def *ret_def,
                              struct err *err)
{
    return parse(&(struct object_read){.arena = arena, .err = err}, json, ret_def);
}

enum err_code queue_def_parse_stored(struct slice json, struct arena *arena,
                                     struct queue_def *ret_def, struct err *err)
{
    return parse(&(struct object_read){.arena = arena, .stored = true, .err = err}, json, ret_def);
}

enum err_code retry_policy_parse(struct slice json, const struct retry_policy *base,
                                 struct retry_policy *ret_policy, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct queue_def def = {.retry = *base};
    struct object_read r = {.arena = &arena, .key = "retry", .err = err};

    if (object_read_in(&r, &retry_object, json, &def) != E_OK)
        return err->code;
    *ret_policy = def.retry;
    return E_OK;
}

/* ---- writing ---- */

enum err_code queue_def_canonical(struct slice json, struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct queue_def def;

    if (queue_def_parse(json, &arena, &def, err) != E_OK)
        return err->code;
    object_write(&def, &queue_object, json, out);
    if (out->overflowed)
        return err_set(err, E_TOO_LARGE, "a queue's definition is too large");
    return E_OK;
}

void queue_def_subscriber(struct slice json, const struct queue_subscriber *subscriber,
                          struct buf *out)
{
    char lifetime[DURATION_TEXT_SIZE];
    struct slice name;
    struct slice value;

    buf_add_char(out, '{');
    if (json.size > 0)
        for (struct jtext_iter it = jtext_members(json); jtext_next_member(&it, &name, &value);)
            if (!jtext_key_is(name, "subscribe") && !jtext_key_is(name, "subscriber")) {
                jtext_add_comma(out);
                buf_add_slice(out, name);
                buf_add_char(out, ':');
                buf_add_slice(out, value);
            }
    jtext_add_key(out, "subscriber");
    buf_add_char(out, '{');
    jtext_put_string(out, "topic", subscriber->topic);
    jtext_put_string(out, "worker", subscriber->worker);
    jtext_put_string(out, "lifetime", slice_of(duration_format(subscriber->lifetime_us, lifetime)));
    buf_add_str(out, "}}");
}

/* ---- values alone ---- */

enum err_code queue_def_value(struct object_read *r, const char *key, struct slice value,
                              struct slice *ret_json)
{
    const struct field *f = object_get(&queue_object, key);
    struct queue_def def = {0};
    struct object_read own = *r;

    own.to = &def;
    own.copies = true;
    enum err_code code = field_read(&own, f, value);

    r->placed = own.placed;
    r->fault_at = own.fault_at;
    if (code != E_OK || ret_json == NULL)
        return code;
    CLEANUP(buf) struct buf out = BUF_INIT(value.size * 6 + 100); /* every byte escaped */

    if (f->type == FIELD_T_MEMBERS)
        object_write(&def, f->of, value, &out);
    else
        field_write(&def, f, &out);
    ASSERT(!out.overflowed);
    *ret_json = arena_copy(r->arena, buf_slice(&out));
    return E_OK;
}

/* ---- names ---- */

enum err_code queue_name_check(struct slice name, struct err *err)
{
    return dest_name_check("queue", name, err);
}
