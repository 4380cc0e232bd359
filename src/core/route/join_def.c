/* SPDX-License-Identifier: MIT */
#include "core/route/join_def.h"

#include "base/json/json.h"
#include "core/object/quote.h"
#include "core/object/unknown_key.h"

enum { KEY_TEMPLATE_MAX = 4096 };

struct join_read {
    struct join_def *def;
    struct arena *arena;
    bool counted;
    const char *fault_at;
    struct err *err;
};

static enum err_code read_key(struct join_read *r, struct slice value)
{
    struct quote quote;

    if (json_type_of(value) != JSON_T_STRING)
        return err_set(r->err, E_INVALID, "key: must be a text like \"{date}\", not %s",
                       quote_json(&quote, value));
    struct slice text = arena_copy(r->arena, json_text(value, r->arena));

    if (text.size > KEY_TEMPLATE_MAX)
        return err_set(r->err, E_INVALID, "key: must have at most %d bytes, not %zu",
                       KEY_TEMPLATE_MAX, text.size);
    if (template_text_parse(text, r->arena, &r->def->key, r->err) != E_OK)
        return err_wrap(r->err, "key");
    r->def->key_text = text;
    return E_OK;
}

static enum err_code read_count(struct join_read *r, struct slice value)
{
    struct quote quote;

    if (json_type_of(value) != JSON_T_INT || json_int(value) < 1 ||
        json_int(value) > JOIN_COUNT_MAX)
        return err_set(r->err, E_INVALID, "count: must be a whole number from 1 to %d, not %s",
                       JOIN_COUNT_MAX, quote_json(&quote, value));
    r->def->count = json_int(value);
    r->counted = true;
    return E_OK;
}

static enum err_code read_then(struct join_read *r, struct slice value)
{
    return dest_list_parse(value, "then", r->arena, &r->def->then, &r->fault_at, r->err);
}

static const struct {
    const char *name;
    enum err_code (*read)(struct join_read *r, struct slice value);
} keys[] = {{"key", read_key}, {"count", read_count}, {"then", read_then}};

static enum err_code unknown_member(struct join_read *r, struct slice name)
{
    const char *words[ARRAY_LEN(keys)];

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        words[i] = keys[i].name;
    r->fault_at = name.data;
    return unknown_key(json_text(name, r->arena), words, ARRAY_LEN(words), NULL, r->err);
}

static enum err_code read_member(struct join_read *r, struct slice name, struct slice value)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (json_key_is(name, keys[i].name)) {
            if (keys[i].read(r, value) == E_OK)
                return E_OK;
            if (r->fault_at == NULL)
                r->fault_at = value.data;
            return r->err->code;
        }
    return unknown_member(r, name);
}

static enum err_code read_whole(struct join_read *r, struct slice json)
{
    struct slice name;
    struct slice value;
    struct quote quote;

    if (json_type_of(json) != JSON_T_OBJECT)
        return err_set(r->err, E_INVALID,
                       "a join is an object like {count: 10, then: [summary]}, not %s",
                       quote_json(&quote, json));
    for (struct json_iter it = json_members(json); json_next_member(&it, &name, &value);)
        if (read_member(r, name, value) != E_OK)
            return r->err->code;
    if (!r->counted)
        return err_set(r->err, E_INVALID, "count: is missing: after how many arrivals it fires");
    if (r->def->then.count == 0)
        return err_set(r->err, E_INVALID, "then: is missing: where it leads when it fires");
    return E_OK;
}

enum err_code join_def_parse(struct slice json, struct arena *arena, struct join_def *ret_def,
                             const char **fault_at, struct err *err)
{
    struct join_def def = {0};
    struct join_read r = {.def = &def, .arena = arena, .err = err};

    if (read_whole(&r, json) != E_OK) {
        if (fault_at != NULL)
            *fault_at = r.fault_at == NULL ? json.data : r.fault_at;
        return err->code;
    }
    *ret_def = def;
    return E_OK;
}

enum err_code join_def_canonical(struct slice json, struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct join_def def;

    if (join_def_parse(json, &arena, &def, NULL, err) != E_OK)
        return err->code;
    buf_add_char(out, '{');
    if (def.key_text.size > 0)
        json_put_string(out, "key", def.key_text);
    json_put_int(out, "count", def.count);
    json_add_key(out, "then");
    dest_list_json(&def.then, out);
    buf_add_char(out, '}');
    if (out->overflowed)
        return err_set(err, E_TOO_LARGE, "a join's definition is too large");
    return E_OK;
}
