/* SPDX-License-Identifier: MIT */
#include "core/object/object.h"

#include <stdio.h>

#include "base/jtext/jtext.h"
#include "core/object/quote.h"

enum { PLACE_SIZE = 160 };

/* ---- places ---- */

/* "finish[3].emit[0]"; returns how many bytes of `text` are used. */
static size_t format_place(const struct object_place *place, char text[static PLACE_SIZE])
{
    size_t used = place->outer == NULL ? 0 : format_place(place->outer, text);
    const char *dot = used > 0 && place->name[0] != '\0' ? "." : "";
    int n = snprintf(text + used, PLACE_SIZE - used, "%s%s", dot, place->name);

    used += n < 0 ? 0 : (size_t)n;
    if (place->listed && used < PLACE_SIZE) {
        n = snprintf(text + used, PLACE_SIZE - used, "[%zu]", place->index);
        used += n < 0 ? 0 : (size_t)n;
    }
    return used < PLACE_SIZE ? used : PLACE_SIZE - 1;
}

enum err_code object_blame(struct object_read *r)
{
    const struct object_place member = {.outer = r->place, .name = r->key == NULL ? "" : r->key};
    char text[PLACE_SIZE];

    if (!r->placed && format_place(&member, text) > 0)
        (void)err_wrap(r->err, "%s", text);
    r->placed = true;
    return r->err->code;
}

bool object_goes_on(struct object_read *r)
{
    if (r->faults == NULL)
        return false;
    (void)object_blame(r);
    const struct err fault = *r->err;

    if (!r->faults->take(r->faults->ctx, r->fault_at, &fault)) {
        *r->err = fault; /* the callback may have changed it */
        r->faults = NULL;
        return false;
    }
    r->faults->count++;
    r->fault_at = NULL;
    r->placed = false;
    *r->err = ERR_INIT;
    return true;
}

/* ---- keys ---- */

const struct field *object_get(const struct object *table, const char *name)
{
    const struct field *f = table->fields;

    while (f < table->fields + table->n_fields && strcmp(f->name, name) != 0)
        f++;
    ASSERT(f < table->fields + table->n_fields);
    return f;
}

/* Finds keys with escapes, and other names of keys. */
static const struct field *find_rare(const struct object *table, struct slice key,
                                     const char **ret_name)
{
    for (size_t i = 0; i < table->n_fields; i++) {
        const struct field *f = &table->fields[i];

        if (!jtext_key_is(key, f->name) && (f->other == NULL || !jtext_key_is(key, f->other)))
            continue;
        *ret_name = jtext_key_is(key, f->name) ? f->name : f->other;
        return f;
    }
    return NULL;
}

/* Runs for every key of every request: nearly all are found by size and bytes. */
static inline const struct field *find(const struct object *table, struct slice key,
                                       const char **ret_name)
{
    for (size_t i = 0; i < table->n_fields; i++) {
        const struct field *f = &table->fields[i];

        if (key.size == f->size + 2 && memcmp(key.data + 1, f->name, f->size) == 0) {
            *ret_name = f->name;
            return f;
        }
    }
    return find_rare(table, key, ret_name);
}

static enum err_code refuse_unknown(struct object_read *r, const struct object *table,
                                    struct slice key)
{
    const char *words[2 * OBJECT_FIELDS_MAX];
    size_t n = 0;
    size_t n_shown;

    ASSERT(table->n_fields <= OBJECT_FIELDS_MAX);
    for (size_t i = 0; i < table->n_fields; i++) {
        const struct field *f = &table->fields[i];

        if (!f->ours && f->type != FIELD_T_UNBUILT && f->type != FIELD_T_IGNORED)
            words[n++] = f->name;
    }
    n_shown = n;
    for (size_t i = 0; i < table->n_fields; i++)
        if (table->fields[i].other != NULL)
            words[n++] = table->fields[i].other;
    r->key = NULL;
    r->fault_at = key.data;
    (void)unknown_key(jtext_text(key, r->arena), words, n, n_shown, r->err);
    return object_blame(r);
}

/* ---- members ---- */

static enum err_code read_special(struct object_read *r, const struct field *f, struct slice object,
                                  struct slice value)
{
    struct slice twin;

    if (f->type == FIELD_T_UNBUILT)
        return err_set(r->err, E_INVALID, "%s", f->help == NULL ? "is not built yet" : f->help);
    if (f->ours && !r->stored)
        return err_set(r->err, E_INVALID, "is written by the server only: %s", f->help);
    if (f->other != NULL && jtext_find(object, r->key == f->name ? f->other : f->name, &twin)) {
        r->key = NULL;
        return err_set(r->err, E_INVALID, "'%s' and '%s' mean the same: give one of them", f->name,
                       f->other);
    }
    return field_read(r, f, value);
}

static inline enum err_code read_member(struct object_read *r, const struct field *f,
                                        struct slice object, struct slice value)
{
    enum err_code code = f->ours || f->other != NULL || f->type == FIELD_T_UNBUILT
                             ? read_special(r, f, object, value)
                             : field_read(r, f, value);

    if (code == E_OK)
        return E_OK;
    if (r->fault_at == NULL)
        r->fault_at = value.data;
    return object_blame(r);
}

static enum err_code check_required(struct object_read *r, const struct object *table,
                                    uint64_t given)
{
    r->key = NULL;
    for (size_t i = 0; table->needs && i < table->n_fields; i++) {
        const struct field *f = &table->fields[i];

        if (!f->required || (given >> i & 1) != 0)
            continue;
        r->key = f->name;
        (void)err_set(r->err, E_INVALID, "is missing%s%s", f->help == NULL ? "" : ": ",
                      f->help == NULL ? "" : f->help);
        return object_blame(r);
    }
    return E_OK;
}

static enum err_code refuse_other_type(struct object_read *r, const struct object *table,
                                       struct slice value)
{
    bool whole = r->place == NULL;
    struct quote quote;

    quote_json(&quote, value);
    r->key = NULL;
    (void)err_set(r->err, E_INVALID, "%s%smust be an object%s%s, not %s", whole ? table->what : "",
                  whole ? " " : "", table->hint == NULL ? "" : " like ",
                  table->hint == NULL ? "" : table->hint, quote.text);
    if (table->alone != NULL && jtext_type_of(value) == JTEXT_INT)
        (void)err_set(r->err, E_INVALID, "%s: write {%s: %s}", r->err->msg, table->alone,
                      quote.text);
    return object_blame(r);
}

/* Blames a mistake that `check` finds on the member in r->key, or on the whole object. */
static enum err_code check_object(struct object_read *r, const struct object *table,
                                  struct slice value)
{
    struct slice member;

    if (table->check(r, value) == E_OK)
        return E_OK;
    if (r->fault_at == NULL)
        r->fault_at = r->key != NULL && jtext_find(value, r->key, &member) ? member.data
                                                                           : value.data;
    return object_blame(r);
}

enum err_code object_read(struct object_read *r, const struct object *table, struct slice value)
{
    size_t faults = r->faults == NULL ? 0 : r->faults->count;
    struct slice key;
    struct slice member;
    uint64_t given = 0;

    if (jtext_type_of(value) != JTEXT_OBJECT)
        return refuse_other_type(r, table, value);
    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &key, &member);) {
        const struct field *f = find(table, key, &r->key);

        if (f != NULL && f->null && (member.size == 0 || member.data[0] == 'n'))
            continue;
        enum err_code code = f == NULL ? refuse_unknown(r, table, key)
                                       : read_member(r, f, value, member);

        if (code != E_OK && !object_goes_on(r))
            return code;
        if (f != NULL)
            given |= UINT64_C(1) << (f - table->fields);
    }
    if (check_required(r, table, given) != E_OK)
        return r->err->code;
    if (table->check == NULL || (r->faults != NULL && r->faults->count > faults))
        return E_OK;
    return check_object(r, table, value);
}

/* ---- objects and lists inside of others ---- */

enum err_code object_read_in(struct object_read *r, const struct object *table, struct slice value,
                             void *to)
{
    const struct object_place place = {.outer = r->place, .name = r->key};
    void *outer = r->to;

    r->to = to;
    r->place = &place;
    enum err_code code = object_read(r, table, value);

    r->to = outer;
    r->place = place.outer;
    r->key = place.name;
    return code;
}

static enum err_code read_item(struct object_read *r, const struct object_list *list,
                               struct slice item, void *to)
{
    size_t faults = r->faults == NULL ? 0 : r->faults->count;
    enum err_code code;

    r->key = NULL;
    if (list->of != NULL) {
        void *outer = r->to;

        r->to = to;
        code = object_read(r, list->of, item);
        r->to = outer;
    } else {
        code = list->read(r, to, item);
    }
    if (code != E_OK) {
        if (r->fault_at == NULL)
            r->fault_at = item.data;
        (void)object_blame(r);
        if (!object_goes_on(r))
            return code;
    }
    if (r->faults != NULL && r->faults->count > faults)
        memset(to, 0, list->size);
    return E_OK;
}

static enum err_code read_items(struct object_read *r, const struct object_list *list,
                                struct slice value, char *items)
{
    struct object_place place = {.outer = r->place, .name = r->key};
    struct slice item = value;
    enum err_code code = E_OK;

    r->place = &place;
    place.listed = jtext_type_of(value) == JTEXT_ARRAY;
    if (!place.listed)
        code = read_item(r, list, value, items);
    else
        for (struct jtext_iter it = jtext_items(value); jtext_next_item(&it, &item);
             place.index++) {
            code = read_item(r, list, item, items + place.index * list->size);
            if (code != E_OK)
                break;
        }
    if (code != E_OK && list->numbered)
        r->err->item = (unsigned)place.index + 1;
    r->place = place.outer;
    r->key = place.name;
    return code;
}

enum err_code object_read_list(struct object_read *r, const struct object_list *list,
                               struct slice value, void *ret_items, size_t *ret_n)
{
    bool listed = jtext_type_of(value) == JTEXT_ARRAY;
    size_t n = listed ? jtext_count_items(value) : 1;
    struct quote quote;

    if (!listed && (!list->alone || (list->of != NULL && jtext_type_of(value) != JTEXT_OBJECT)))
        return err_set(r->err, E_INVALID, "must be a list of %s, not %s", list->what,
                       quote_json(&quote, value));
    if (n > list->max)
        return err_set(r->err, list->beyond == E_OK ? E_INVALID : list->beyond,
                       "must have at most %zu %s, not %zu", list->max, list->what, n);
    char *items = arena_array(r->arena, n + 1, list->size);

    if (read_items(r, list, value, items) != E_OK)
        return r->err->code;
    memcpy(ret_items, &items, sizeof(items)); /* the type of the items is the caller's */
    *ret_n = n;
    return E_OK;
}

void object_defaults(struct object_read *r, const struct object *table)
{
    for (size_t i = 0; i < table->n_fields; i++) {
        const struct field *f = &table->fields[i];

        if (f->type == FIELD_T_MEMBERS)
            object_defaults(r, f->of);
        else if (f->standard != NULL)
            ASSERT(field_read(r, f, slice_of(f->standard)) == E_OK);
    }
}

/* ---- writing ---- */

static bool says_nothing(const struct field *f, struct slice value)
{
    if (f->empty)
        return false;
    if (jtext_type_of(value) == JTEXT_OBJECT)
        return jtext_count_members(value) == 0;
    return jtext_type_of(value) == JTEXT_ARRAY && jtext_count_items(value) == 0;
}

void object_write(const void *from, const struct object *table, struct slice given, struct buf *out)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < table->n_fields; i++) {
        const struct field *f = &table->fields[i];
        struct slice value;

        if (!jtext_find(given, f->name, &value) || says_nothing(f, value))
            continue;
        jtext_add_key(out, f->name);
        if (f->type == FIELD_T_MEMBERS)
            object_write(from, f->of, value, out);
        else
            field_write(from, f, out);
    }
    buf_add_char(out, '}');
}
