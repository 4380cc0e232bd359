/* SPDX-License-Identifier: MIT */
#include "core/object/item_read.h"

#include "base/json/json.h"
#include "core/object/quote.h"
#include "core/object/unknown_key.h"

/* ---- places ---- */

enum err_code item_blame_member(struct item_read *r)
{
    return err_wrap(r->err, "%s[%zu].%s", r->list, r->index, r->key);
}

enum err_code item_blame(struct item_read *r)
{
    return err_wrap(r->err, "%s[%zu]", r->list, r->index);
}

enum err_code item_must_be(struct item_read *r, const char *what, struct slice value)
{
    struct quote quote;

    (void)err_set(r->err, E_INVALID, "must be %s, not %s", what, quote_json(&quote, value));
    return item_blame_member(r);
}

/* ---- values ---- */

enum err_code item_whole(struct item_read *r, struct slice value, int min, int max, int *ret_n)
{
    struct quote quote;

    if (json_type_of(value) != JSON_T_INT || json_int(value) < min || json_int(value) > max) {
        (void)err_set(r->err, E_INVALID, "must be a whole number from %d to %d, not %s", min, max,
                      quote_json(&quote, value));
        return item_blame_member(r);
    }
    *ret_n = (int)json_int(value);
    return E_OK;
}

enum err_code item_text(struct item_read *r, struct slice value, size_t max, struct slice *ret_text)
{
    if (json_type_of(value) != JSON_T_STRING)
        return item_must_be(r, "a text", value);
    struct slice text = json_text(value, r->arena);

    if (text.size > max) {
        (void)err_set(r->err, E_INVALID, "must have at most %zu bytes, not %zu", max, text.size);
        return item_blame_member(r);
    }
    *ret_text = arena_copy(r->arena, text);
    return E_OK;
}

enum err_code item_object(struct item_read *r, struct slice value, struct slice *ret_json)
{
    if (json_type_of(value) != JSON_T_OBJECT)
        return item_must_be(r, "an object", value);
    *ret_json = json_compact(value, r->arena);
    return E_OK;
}

/* ---- members ---- */

static enum err_code unknown_member(struct item_read *r, const struct item_table *table,
                                    struct slice name)
{
    const char *words[ITEM_KEYS_MAX];

    ASSERT(table->n_keys <= ARRAY_LEN(words));
    for (size_t i = 0; i < table->n_keys; i++)
        words[i] = table->keys[i].name;
    (void)unknown_key(json_text(name, r->arena), words, table->n_keys, table->shown, r->err);
    return item_blame(r);
}

static const struct item_key *find_key(const struct item_table *table, struct slice name)
{
    for (size_t i = 0; i < table->n_keys; i++)
        if (json_key_is(name, table->keys[i].name))
            return &table->keys[i];
    return NULL;
}

static enum err_code read_member(struct item_read *r, const struct item_key *key,
                                 struct slice object, struct slice value)
{
    struct slice twin;

    if (key->read == NULL || json_type_of(value) == JSON_T_NULL)
        return E_OK;
    r->key = key->name;
    if (key->other == NULL || !json_find(object, key->other, &twin))
        return key->read(r, value);
    (void)err_set(r->err, E_INVALID, "'%s' and '%s' are the same thing: one of them is enough",
                  key->name, key->other);
    return item_blame(r);
}

enum err_code item_read_members(struct item_read *r, const struct item_table *table,
                                struct slice object)
{
    struct slice name;
    struct slice value;
    struct quote quote;

    if (json_type_of(object) != JSON_T_OBJECT) {
        (void)err_set(r->err, E_INVALID, "must be an object, not %s", quote_json(&quote, object));
        return item_blame(r);
    }
    for (struct json_iter it = json_members(object); json_next_member(&it, &name, &value);) {
        const struct item_key *key = find_key(table, name);

        if (key == NULL)
            return unknown_member(r, table, name);
        if (read_member(r, key, object, value) != E_OK)
            return r->err->code;
    }
    return E_OK;
}
