/* SPDX-License-Identifier: MIT */
#include "core/queue/def.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "core/object/quote.h"
#include "core/object/unknown_key.h"
#include "core/queue/keys.h"
#include "core/queue/values.h"
#include "core/route/dest.h"

static const char *const state_names[] = {
    [QUEUE_UP] = "up", [QUEUE_PAUSE] = "pause", [QUEUE_DRAIN] = "drain", [QUEUE_DOWN] = "down"};

const char *queue_state_name(enum queue_state s)
{
    ASSERT(s >= QUEUE_UP && s <= QUEUE_DOWN);
    return state_names[s];
}

bool queue_state_parse(struct slice name, enum queue_state *ret_state)
{
    for (unsigned s = QUEUE_UP; s <= QUEUE_DOWN; s++)
        if (slice_is(name, state_names[s])) {
            *ret_state = (enum queue_state)s;
            return true;
        }
    return false;
}

/* ---- reading ---- */

static const struct queue_key *find_key(const struct queue_key *parent, struct slice name)
{
    for (size_t i = 0; i < parent->n_members; i++)
        if (json_key_is(name, parent->members[i].name))
            return &parent->members[i];
    return NULL;
}

static enum err_code unknown_member(struct queue_read *r, const struct queue_key *parent,
                                    struct slice name)
{
    const char *words[QUEUE_KEYS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < parent->n_members; i++)
        if (!parent->members[i].ours)
            words[n++] = parent->members[i].name;
    r->fault_at = name.data;
    return unknown_key(json_text(name, r->arena), words, n, NULL, r->err);
}

static enum err_code read_object(struct queue_read *r, const struct queue_key *parent,
                                 struct slice value);

static enum err_code read_member(struct queue_read *r, const struct queue_key *key,
                                 struct slice value)
{
    if (key->ours && !r->stored)
        return err_set(r->err, E_INVALID,
                       "%s: is not for definitions: such a queue is made by 'waybill worker "
                       "--subscribe'",
                       key->name);
    return key->kind == QUEUE_KEY_OBJECT ? read_object(r, key, value)
                                         : queue_value_read(r, key, value);
}

/* Every message comes by here once: it gets the dotted name of its key, read from the outside in. */
static enum err_code named(struct queue_read *r, const struct queue_key *parent,
                           const struct queue_key *key, struct slice value)
{
    if (r->fault_at == NULL)
        r->fault_at = value.data;
    if (key->kind == QUEUE_KEY_OBJECT || key->kind == QUEUE_KEY_DESTS)
        return r->err->code; /* they know their names themselves */
    if (parent->name[0] != '\0')
        return err_wrap(r->err, "%s.%s", parent->name, key->name);
    return err_wrap(r->err, "%s", key->name);
}

static enum err_code read_named(struct queue_read *r, const struct queue_key *parent,
                                const struct queue_key *key, struct slice name, struct slice value)
{
    r->parent = parent;
    if (key != NULL)
        return read_member(r, key, value) == E_OK ? E_OK : named(r, parent, key, value);
    (void)unknown_member(r, parent, name);
    return parent->name[0] != '\0' ? err_wrap(r->err, "%s", parent->name) : r->err->code;
}

bool queue_read_goes_on(struct queue_read *r)
{
    if (r->faults == NULL || !r->faults->take(r->faults->ctx, r->fault_at, r->err))
        return false;
    r->faults->count++;
    r->fault_at = NULL;
    *r->err = ERR_INIT;
    return true;
}

bool queue_read_part_goes_on(struct queue_read *r, const struct queue_key *key)
{
    const struct err plain = *r->err;

    if (r->faults == NULL) /* nor is there a parent when a value of a job is read */
        return false;
    (void)!named(r, r->parent, key, SLICE(""));
    if (queue_read_goes_on(r))
        return true;
    *r->err = plain;
    return false;
}

static enum err_code read_object(struct queue_read *r, const struct queue_key *parent,
                                 struct slice value)
{
    const char *what = parent->name[0] != '\0' ? parent->name : "a queue's definition";
    struct quote quote;
    struct slice name;
    struct slice member;

    quote_json(&quote, value);
    if (strcmp(parent->name, "retry") == 0 && json_type_of(value) == JSON_T_INT)
        return err_set(r->err, E_INVALID, "retry: must be an object, not %s: write {max: %s}",
                       quote.text, quote.text);
    if (json_type_of(value) != JSON_T_OBJECT)
        return err_set(r->err, E_INVALID, "%s: must be an object, not %s", what, quote.text);
    for (struct json_iter it = json_members(value); json_next_member(&it, &name, &member);) {
        const struct queue_key *key = find_key(parent, name);

        if (read_named(r, parent, key, name, member) != E_OK && !queue_read_goes_on(r))
            return r->err->code;
    }
    return E_OK;
}

static void set_defaults(struct queue_read *r, const struct queue_key *parent)
{
    for (size_t i = 0; i < parent->n_members; i++) {
        const struct queue_key *key = &parent->members[i];

        if (key->kind == QUEUE_KEY_OBJECT)
            set_defaults(r, key);
        else if (key->standard != NULL)
            ASSERT(queue_value_read(r, key, slice_of(key->standard)) == E_OK);
    }
}

static enum err_code read_whole(struct queue_read *r, struct slice json)
{
    struct slice command;

    set_defaults(r, &queue_key_root);
    if (read_object(r, &queue_key_root, json) != E_OK)
        return r->err->code;
    if ((r->faults != NULL && r->faults->count > 0) || queue_value_check_resident(r) == E_OK)
        return E_OK;
    if (json_find(json, "command", &command))
        r->fault_at = command.data;
    return r->err->code;
}

enum err_code queue_def_parse_at(struct slice json, struct arena *arena, struct queue_def *ret_def,
                                 struct queue_def_faults *faults, const char **fault_at,
                                 struct err *err)
{
    struct queue_def def = {.slots = QUEUE_SLOTS_ALL};
    struct queue_read r = {.arena = arena, .def = &def, .faults = faults, .err = err};

    if (read_whole(&r, json) != E_OK) {
        *fault_at = r.fault_at == NULL ? json.data : r.fault_at;
        return err->code;
    }
    *ret_def = def;
    return E_OK;
}

enum err_code queue_def_parse(struct slice json, struct arena *arena, struct queue_def *ret_def,
                              struct err *err)
{
    const char *fault_at;

    return queue_def_parse_at(json, arena, ret_def, NULL, &fault_at, err);
}

enum err_code queue_def_parse_stored(struct slice json, struct arena *arena,
                                     struct queue_def *ret_def, struct err *err)
{
    struct queue_def def = {.slots = QUEUE_SLOTS_ALL};
    struct queue_read r = {.arena = arena, .def = &def, .stored = true, .err = err};

    if (read_whole(&r, json) != E_OK)
        return err->code;
    *ret_def = def;
    return E_OK;
}

enum err_code retry_policy_parse(struct slice json, const struct retry_policy *base,
                                 struct retry_policy *ret_policy, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct queue_def def = {.retry = *base};
    struct queue_read r = {.arena = &arena, .def = &def, .err = err};

    if (read_object(&r, &queue_key_retry, json) != E_OK)
        return err->code;
    *ret_policy = def.retry;
    return E_OK;
}

/* ---- writing ---- */

/* `retry.exits` may be empty: that says something. */
static bool says_nothing(const struct queue_key *key, struct slice value)
{
    if (key->kind == QUEUE_KEY_OBJECT || key->kind == QUEUE_KEY_ENV)
        return json_count_members(value) == 0;
    return json_type_of(value) == JSON_T_ARRAY && json_count_items(value) == 0;
}

/* An object or a list of which nothing was given is left out. */
static void write_given(const struct queue_def *def, const struct queue_key *parent,
                        struct slice given, struct buf *out)
{
    for (size_t i = 0; i < parent->n_members; i++) {
        const struct queue_key *key = &parent->members[i];
        struct slice value;

        if (!json_find(given, key->name, &value) || says_nothing(key, value))
            continue;
        if (key->kind != QUEUE_KEY_OBJECT) {
            json_add_key(out, key->name);
            queue_value_write(def, key, out);
            continue;
        }
        json_add_key(out, key->name);
        buf_add_char(out, '{');
        write_given(def, key, value, out);
        buf_add_char(out, '}');
    }
}

enum err_code queue_def_canonical(struct slice json, struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct queue_def def;

    if (queue_def_parse(json, &arena, &def, err) != E_OK)
        return err->code;
    buf_add_char(out, '{');
    write_given(&def, &queue_key_root, json, out);
    buf_add_char(out, '}');
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
        for (struct json_iter it = json_members(json); json_next_member(&it, &name, &value);)
            if (!json_key_is(name, "subscribe") && !json_key_is(name, "subscriber")) {
                json_add_comma(out);
                buf_add_slice(out, name);
                buf_add_char(out, ':');
                buf_add_slice(out, value);
            }
    json_add_key(out, "subscriber");
    buf_add_char(out, '{');
    json_put_string(out, "topic", subscriber->topic);
    json_put_string(out, "worker", subscriber->worker);
    json_put_string(out, "lifetime", slice_of(duration_format(subscriber->lifetime_us, lifetime)));
    buf_add_str(out, "}}");
}

/* ---- values alone ---- */

enum err_code queue_def_value(const char *key, struct slice json, struct arena *arena,
                              struct slice *ret_json, struct err *err)
{
    struct queue_def def = {0};
    struct queue_read r = {.arena = arena, .def = &def, .err = err};
    const struct queue_key *k = queue_key_root.members;

    while (strcmp(k->name, key) != 0)
        k++;
    if (read_member(&r, k, json) != E_OK)
        return err->code;
    CLEANUP(buf) struct buf out = BUF_INIT(json.size * 6 + 100); /* every byte escaped */

    if (k->kind == QUEUE_KEY_OBJECT) {
        buf_add_char(&out, '{');
        write_given(&def, k, json, &out);
        buf_add_char(&out, '}');
    } else {
        queue_value_write(&def, k, &out);
    }
    ASSERT(!out.overflowed);
    *ret_json = arena_copy(arena, buf_slice(&out));
    return E_OK;
}

/* ---- names ---- */

enum err_code queue_name_check(struct slice name, struct err *err)
{
    return dest_name_check("queue", name, err);
}
