/* SPDX-License-Identifier: MIT */
#include "core/definition/definition.h"

#include <stdio.h>

#include "base/jtext/jtext.h"
#include "core/definition/read.h"
#include "core/definition/yaml.h"
#include "core/object/object.h"
#include "core/object/quote.h"

void definitions_init(struct definitions *d)
{
    *d = (struct definitions){.arena = ARENA_INIT};
}

void definitions_deinit(struct definitions *d)
{
    for (size_t i = 0; i < DEFINITION_KINDS; i++)
        VEC_DEINIT(&d->of[i]);
    VEC_DEINIT(&d->refs);
    VEC_DEINIT(&d->server.names);
    VEC_DEINIT(&d->server.triggers);
    VEC_DEINIT(&d->start.jobs);
    arena_deinit(&d->arena);
}

/* ---- one definition ---- */

static enum err_code check_new(const struct definition_read *r, enum definition_kind kind,
                               const struct yaml_value *v)
{
    const struct definition_kind_row *row = &definition_kinds[kind];
    const struct definitions *d = r->d;
    struct quote quote;

    if (row->check_name(v->name, r->err) != E_OK)
        return r->err->code;
    if (d->of[kind].count == DEFINITIONS_MAX)
        return err_set(r->err, E_TOO_LARGE, "more than %d %s", DEFINITIONS_MAX, row->section);
    for (size_t i = 0; i < d->of[kind].count; i++)
        if (slice_equal(d->of[kind].items[i].name, v->name))
            return definition_twice(r, row->name, quote_text(&quote, v->name),
                                    d->of[kind].items[i].from);
    return E_OK;
}

/* Keeps a link with the line it is written in. */
static void add_ref(struct definition_read *r, enum definition_kind kind,
                    const struct yaml_value *v, struct slice json,
                    const struct definition_link *link)
{
    struct arena *arena = &r->d->arena;
    struct slice value = json;
    struct slice item;
    size_t i = 0;

    (void)jtext_find(json, link->key, &value);
    if (jtext_type_of(value) == JTEXT_ARRAY)
        for (struct jtext_iter it = jtext_items(value); jtext_next_item(&it, &item); i++)
            if (i == link->index) {
                value = item;
                break;
            }
    struct definition_ref ref = {
        .link = *link,
        .owner_kind = kind,
        .owner = arena_copy(arena, v->name),
        .from = {r->file, yaml_line_at(v, (size_t)(value.data - json.data))},
    };

    ref.link.name = arena_copy(arena, link->name);
    VEC_PUSH(&r->d->refs, ref);
}

/* Gathers or returns "FILE:LINE: queue 'x': cause". */
static enum err_code fault_in(struct definition_read *r, enum definition_kind kind,
                              struct slice name, int line)
{
    struct quote quote;

    (void)err_wrap(r->err, "%s %s", definition_kinds[kind].name, quote_text(&quote, name));
    (void)yaml_err_at(r->err, r->source->file, line);
    return definition_fault(r);
}

/* Gathers a mistake in one member, so that the other members are checked as well. */
struct member_faults {
    struct definition_read *r;
    enum definition_kind kind;
    const struct yaml_value *v;
    const char *json;
};

static bool take_fault(void *ctx, const char *fault_at, const struct err *err)
{
    struct member_faults *f = ctx;

    if (f->r->d->faults == NULL)
        return false;
    *f->r->err = *err;
    return fault_in(f->r, f->kind, f->v->name, yaml_line_at(f->v, (size_t)(fault_at - f->json))) ==
           E_OK;
}

/* Checks the definition and makes it canonical.  *ret_line is where a mistake is. */
static enum err_code read_one(struct definition_read *r, enum definition_kind kind,
                              struct yaml_value *v, struct buf *out, int *ret_line)
{
    const struct definition_kind_row *row = &definition_kinds[kind];
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf json = BUF_INIT(DEFINITION_JSON_MAX);
    struct slice dir = slice_of(r->source->dir == NULL ? "" : r->source->dir);

    *ret_line = v->name_line;
    if (yaml_is_null(v) && row->may_be_null)
        buf_add_str(&json, "{}");
    else if (yaml_json(v, &json, r->err) != E_OK)
        return r->err->code;
    struct member_faults members = {r, kind, v, json.data};
    struct object_faults faults = {take_fault, &members, 0};
    struct definition_input in = {.dir = dir, .faults = &faults, .arena = &arena};

    if (jtext_check(buf_slice(&json), &in.json, r->err) != E_OK)
        return r->err->code;
    enum err_code code = row->read(&in, out, r->err);

    for (size_t i = 0; i < in.links.count; i++)
        add_ref(r, kind, v, in.json, &in.links.items[i]);
    if (code != E_OK && in.fault_at != NULL)
        *ret_line = yaml_line_at(v, (size_t)(in.fault_at - json.data));
    return code;
}

static enum err_code add_one(struct definition_read *r, enum definition_kind kind,
                             struct yaml_value *v)
{
    CLEANUP(buf) struct buf canonical = BUF_INIT(DEFINITION_JSON_MAX);
    int line;

    if (check_new(r, kind, v) != E_OK)
        return yaml_err_at(r->err, r->source->file, v->name_line);
    if (read_one(r, kind, v, &canonical, &line) != E_OK && fault_in(r, kind, v->name, line) != E_OK)
        return r->err->code;
    struct definition one = {
        .name = arena_copy(&r->d->arena, v->name),
        .json = arena_copy(&r->d->arena, buf_slice(&canonical)),
        .from = {r->file, v->name_line},
    };

    VEC_PUSH(&r->d->of[kind], one);
    return E_OK;
}

static enum err_code add_kind(struct definition_read *r, enum definition_kind kind,
                              struct yaml_value *map)
{
    char cause[100];

    if (yaml_is_null(map))
        return E_OK;
    if (map->type != YAML_T_MAP) {
        snprintf(cause, sizeof(cause), "%s: must be a map of names and definitions",
                 definition_kinds[kind].section);
        return definition_wrong(r, map, cause);
    }
    for (struct yaml_value *v = map->first; v != NULL; v = v->next)
        if (add_one(r, kind, v) != E_OK && definition_fault(r) != E_OK)
            return r->err->code;
    return E_OK;
}

/* ---- documents ---- */

/* Sections for the server itself and for `run`: they are not stored. */
static const struct {
    const char *name;
    enum err_code (*add)(struct definition_read *r, struct yaml_value *map);
} sections[] = {
    {"triggers", definition_triggers_add},
    {"server", definition_server_add},
    {"start", definition_start_add},
    {"finally", definition_finally_add},
};

static enum err_code add_section(struct definition_read *r, struct yaml_value *v)
{
    const char *words[DEFINITION_KINDS + ARRAY_LEN(sections)];
    size_t n = 0;

    for (enum definition_kind kind = 0; kind < DEFINITION_KINDS; kind++) {
        if (slice_is(v->name, definition_kinds[kind].section))
            return add_kind(r, kind, v);
        words[n++] = definition_kinds[kind].section;
    }
    for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
        if (slice_is(v->name, sections[i].name))
            return sections[i].add(r, v);
        words[n++] = sections[i].name;
    }
    return definition_unknown(r, v, words, n);
}

static enum err_code add_document(struct definition_read *r, struct yaml_value *document)
{
    if (yaml_is_null(document))
        return E_OK;
    if (document->type != YAML_T_MAP)
        return definition_wrong(
            r, document,
            "definitions are a map with `queues:`, `joins:`, `triggers:` and `server:`");
    for (struct yaml_value *v = document->first; v != NULL; v = v->next)
        if (add_section(r, v) != E_OK && definition_fault(r) != E_OK)
            return r->err->code;
    return E_OK;
}

/* The counts before a text was read. */
struct mark {
    size_t of[DEFINITION_KINDS], refs;
    struct definition_server server;
    struct definition_start start;
};

static void forget_since(struct definitions *d, const struct mark *mark)
{
    struct definition_server grown = d->server;

    for (size_t i = 0; i < DEFINITION_KINDS; i++)
        d->of[i].count = mark->of[i];
    d->refs.count = mark->refs;
    d->server = mark->server;
    d->server.names.items = grown.names.items; /* they may have moved */
    d->server.names.capacity = grown.names.capacity;
    d->server.triggers.items = grown.triggers.items;
    d->server.triggers.capacity = grown.triggers.capacity;
    struct definition_start grown_start = d->start;

    d->start = mark->start;
    d->start.jobs.items = grown_start.jobs.items;
    d->start.jobs.capacity = grown_start.jobs.capacity;
}

enum err_code definitions_add_from(struct definitions *d, const struct definition_source *source,
                                   struct slice text, struct err *err)
{
    struct definition_read r = {.d = d, .source = source, .err = err};
    struct mark before = {.refs = d->refs.count, .server = d->server, .start = d->start};
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct yaml_value *document = NULL;

    for (size_t i = 0; i < DEFINITION_KINDS; i++)
        before.of[i] = d->of[i].count;
    r.file = arena_copy(&d->arena, slice_of(source->file));
    if (yaml_parse(source->file, text, &arena, &document, err) == E_OK) {
        while (document != NULL && add_document(&r, document) == E_OK)
            document = document->next;
        if (document == NULL)
            return E_OK;
    }
    forget_since(d, &before);
    return err->code;
}

void definitions_json(const struct definitions *d, struct buf *out)
{
    buf_add_char(out, '{');
    for (size_t kind = 0; kind < DEFINITION_KINDS; kind++) {
        if (d->of[kind].count == 0 && kind != DEFINITION_QUEUE)
            continue;
        jtext_add_key(out, definition_kinds[kind].section);
        buf_add_char(out, '{');
        for (size_t i = 0; i < d->of[kind].count; i++) {
            jtext_add_comma(out);
            jtext_add_string(out, d->of[kind].items[i].name);
            buf_add_char(out, ':');
            buf_add_slice(out, d->of[kind].items[i].json);
        }
        buf_add_char(out, '}');
    }
    buf_add_char(out, '}');
}

size_t definitions_count(const struct definitions *d)
{
    size_t n = 0;

    for (size_t kind = 0; kind < DEFINITION_KINDS; kind++)
        n += d->of[kind].count;
    return n;
}
