/* SPDX-License-Identifier: MIT */
#include "core/gate/needs.h"

#include <inttypes.h>

#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "core/object/object.h"
#include "core/object/quote.h"
#include "core/route/dest.h"

static const struct field weight_field = FIELD_ROW("", FIELD_T_SIZE, .min = 1,
                                                   .max = NEED_WEIGHT_MAX);

bool need_is_of_host(struct slice name)
{
    return slice_is(name, "memory") || slice_is(name, "cpu") || slice_is(name, "disk");
}

/* ---- reading ---- */

static bool has_names(const struct template_text *t)
{
    for (size_t i = 0; i < t->n_parts; i++)
        if (t->parts[i].named)
            return true;
    return false;
}

/* A number or a size; the message is about whole numbers, which nearly all are. */
static enum err_code read_weight(struct object_read *r, struct slice value, int64_t *ret_weight)
{
    struct object_read own = *r;

    own.to = ret_weight;
    if (field_read(&own, &weight_field, value) == E_OK)
        return E_OK;
    return object_must_be(r,
                          "a whole number from 1 on, a size like 512M, or a param like "
                          "\"{tokens}\" that gives one",
                          value);
}

static enum err_code read_need(struct object_read *r, struct slice value, struct need *n)
{
    if (dest_name_check("resource", n->name, r->err) != E_OK)
        return r->err->code;
    if (jtext_type_of(value) != JTEXT_STRING)
        return read_weight(r, value, &n->weight);
    n->text = arena_copy(r->arena, jtext_text(value, r->arena));
    if (n->text.size > NEED_TEMPLATE_MAX)
        return err_set(r->err, E_INVALID, "must have at most %d bytes, not %zu", NEED_TEMPLATE_MAX,
                       n->text.size);
    if (template_text_parse(n->text, r->arena, &n->parts, r->err) != E_OK)
        return r->err->code;
    return has_names(&n->parts) ? E_OK : read_weight(r, value, &n->weight);
}

static int compare(struct slice a, struct slice b)
{
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

/* The place of the name; *ret_found says whether it is there. */
static size_t find(const struct needs *needs, struct slice name, bool *ret_found)
{
    size_t i = 0;

    while (i < needs->count && compare(needs->items[i].name, name) < 0)
        i++;
    *ret_found = i < needs->count && slice_equal(needs->items[i].name, name);
    return i;
}

static enum err_code insert(struct needs *needs, const struct need *n, struct err *err)
{
    bool found;
    size_t i = find(needs, n->name, &found);

    ASSERT(!found);
    if (needs->count == NEEDS_MAX)
        return err_set(err, E_INVALID, "must name at most %d resources", NEEDS_MAX);
    memmove(needs->items + i + 1, needs->items + i, (needs->count - i) * sizeof(*n));
    needs->items[i] = *n;
    needs->count++;
    return E_OK;
}

static enum err_code read_members(struct object_read *r, struct slice value, struct needs *needs)
{
    struct slice key;
    struct slice member;

    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &key, &member);) {
        struct need n = {.name = arena_copy(r->arena, jtext_text(key, r->arena))};

        r->key = n.name.data;
        r->fault_at = member.data;
        if (read_need(r, member, &n) != E_OK)
            return object_blame(r);
        r->key = NULL;
        if (insert(needs, &n, r->err) != E_OK)
            return object_blame(r);
    }
    r->fault_at = NULL;
    return E_OK;
}

enum err_code needs_read(struct object_read *r, struct slice value, struct needs *ret_needs)
{
    const struct object_place place = {.outer = r->place, .name = r->key};
    struct needs needs = {.count = 0};

    if (jtext_type_of(value) != JTEXT_OBJECT)
        return object_must_be(r, "an object like {search-api: 1}", value);
    r->place = &place;
    enum err_code code = read_members(r, value, &needs);

    r->place = place.outer;
    r->key = place.name;
    if (code != E_OK)
        return code;
    *ret_needs = needs;
    return E_OK;
}

enum err_code needs_parse(struct slice json, struct arena *arena, struct needs *ret_needs,
                          struct err *err)
{
    struct object_read r = {.arena = arena, .err = err, .key = "needs", .copies = true};

    if (json.size == 0) {
        *ret_needs = (struct needs){.count = 0};
        return E_OK;
    }
    return needs_read(&r, json, ret_needs) == E_OK ? E_OK : object_blame(&r);
}

void needs_json(const struct needs *needs, struct buf *out)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < needs->count; i++) {
        const struct need *n = &needs->items[i];

        jtext_add_comma(out);
        jtext_add_string(out, n->name);
        buf_add_char(out, ':');
        if (n->weight > 0)
            buf_add_int(out, n->weight);
        else
            jtext_add_string(out, n->text);
    }
    buf_add_char(out, '}');
}

/* ---- adding ---- */

static enum err_code fill(const struct need *n, const struct template_values *values,
                          struct arena *arena, int64_t *ret_weight, struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(NEED_TEMPLATE_MAX);
    CLEANUP(buf) struct buf json = BUF_INIT(6 * NEED_TEMPLATE_MAX + 2);
    struct object_read r = {.arena = arena, .err = err};
    struct quote quote;

    if (n->weight > 0) {
        *ret_weight = n->weight;
        return E_OK;
    }
    if (template_text_fill(&n->parts, values, &text, err) != E_OK)
        return err_wrap(err, "needs.%s", n->name.data);
    jtext_add_string(&json, buf_slice(&text));
    r.to = ret_weight;
    if (!text.overflowed && field_read(&r, &weight_field, buf_slice(&json)) == E_OK)
        return E_OK;
    return err_set(err, E_INVALID,
                   "needs.%s: %.*s gives %s, which is not a whole number from 1 on or a size like "
                   "512M",
                   n->name.data, (int)n->text.size, n->text.data,
                   quote_text(&quote, buf_slice(&text)));
}

enum err_code needs_add(struct needs *sum, const struct needs *more,
                        const struct template_values *values, struct arena *arena, struct err *err)
{
    struct needs all = *sum;

    for (size_t i = 0; i < more->count; i++) {
        struct need n = {.name = more->items[i].name};
        bool found;
        size_t at = find(&all, n.name, &found);

        if (fill(&more->items[i], values, arena, &n.weight, err) != E_OK)
            return err->code;
        if (!found && insert(&all, &n, err) != E_OK)
            return err_wrap(err, "needs");
        if (found && n.weight > NEED_WEIGHT_MAX - all.items[at].weight)
            return err_set(err, E_INVALID, "needs.%s: the sum is above %" PRId64, n.name.data,
                           NEED_WEIGHT_MAX);
        if (found)
            all.items[at].weight += n.weight;
    }
    *sum = all;
    return E_OK;
}
