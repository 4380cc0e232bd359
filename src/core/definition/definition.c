/* SPDX-License-Identifier: MIT */
#include "core/definition/definition.h"

#include "base/json/json.h"
#include "base/text/utf8.h"
#include "core/definition/links.h"
#include "core/definition/read.h"
#include "core/definition/server.h"
#include "core/definition/yaml.h"
#include "core/object/quote.h"
#include "core/queue/def.h"

void definitions_init(struct definitions *d)
{
    *d = (struct definitions){.arena = ARENA_INIT};
}

void definitions_deinit(struct definitions *d)
{
    VEC_DEINIT(&d->queues);
    VEC_DEINIT(&d->joins);
    VEC_DEINIT(&d->refs);
    VEC_DEINIT(&d->server.names);
    VEC_DEINIT(&d->server.triggers);
    arena_deinit(&d->arena);
}

/* ---- queues ---- */

static enum err_code check_new(const struct definition_read *r, const struct yaml_value *v)
{
    const struct definitions *d = r->d;
    struct quote quote;

    if (queue_name_check(v->name, r->err) != E_OK)
        return r->err->code;
    if (d->queues.count == DEFINITION_QUEUES_MAX)
        return err_set(r->err, E_TOO_LARGE, "more than %d queues", DEFINITION_QUEUES_MAX);
    for (size_t i = 0; i < d->queues.count; i++)
        if (slice_equal(d->queues.items[i].name, v->name)) {
            struct definition_place before = {d->queues.items[i].file, d->queues.items[i].line};

            return definition_twice(r, "queue ", quote_text(&quote, v->name), before);
        }
    return E_OK;
}

/* A queue of which nothing is said is written `name:` and comes as null. */
static enum err_code add_json(const struct definition_read *r, struct yaml_value *v,
                              struct buf *out)
{
    if (yaml_is_null(v)) {
        buf_add_str(out, "{}");
        return E_OK;
    }
    if (yaml_json(v, out, r->err) != E_OK)
        return r->err->code;
    struct slice whole;

    return json_check(buf_slice(out), &whole, r->err);
}

/* Puts the member at the end of a definition that has others. */
static enum err_code add_dir(const struct definition_read *r, struct buf *json)
{
    struct slice dir = slice_of(r->source->dir);
    struct quote quote;

    if (!utf8_valid(dir))
        return err_set(r->err, E_INVALID,
                       "the directory %s of the file has a name that is not UTF-8",
                       quote_text(&quote, dir));
    json->size--;
    json_put_string(json, "dir", dir);
    buf_add_char(json, '}');
    return E_OK;
}

static void note_dests(struct definition_read *r, struct yaml_value *v, struct slice json,
                       const struct queue_def *def)
{
    struct definition_dests dests = {"queue", v, json, "on_success", &def->on_success};

    if (yaml_is_null(v))
        return;
    definition_note_dests(r, &dests);
    dests.key = "on_failure";
    dests.list = &def->on_failure;
    definition_note_dests(r, &dests);
}

/* "FILE:LINE: queue 'x': cause". */
static enum err_code queue_fault(struct definition_read *r, struct slice name, int line)
{
    struct quote quote;

    (void)err_wrap(r->err, "queue %s", quote_text(&quote, name));
    (void)yaml_err_at(r->err, r->source->file, line);
    return definition_fault(r);
}

/* A mistake in one member: the others are looked at, too. */
struct member_faults {
    struct definition_read *r;
    const struct yaml_value *queue;
    const char *json;
};

static bool take_fault(void *ctx, const char *fault_at, const struct err *err)
{
    struct member_faults *f = ctx;

    if (f->r->d->faults == NULL)
        return false;
    *f->r->err = *err;
    return queue_fault(f->r, f->queue->name,
                       yaml_line_at(f->queue, (size_t)(fault_at - f->json))) == E_OK;
}

/* What is left of a queue with a mistake: where it leads, so that a server can judge the names. */
static enum err_code keep_dests(struct definition_read *r, struct slice json,
                                const struct queue_def *def, struct buf *out)
{
    CLEANUP(buf) struct buf kept = BUF_INIT(DEFINITION_JSON_MAX);
    struct slice value;

    buf_add_char(&kept, '{');
    if (dest_list_is_sound(&def->on_success) && json_find(json, "on_success", &value))
        json_put_raw(&kept, "on_success", value);
    if (dest_list_is_sound(&def->on_failure) && json_find(json, "on_failure", &value))
        json_put_raw(&kept, "on_failure", value);
    buf_add_char(&kept, '}');
    return queue_def_canonical(buf_slice(&kept), out, r->err);
}

/* Checks the definition and makes it canonical.  *ret_line is where a mistake is. */
static enum err_code make_canonical(struct definition_read *r, struct yaml_value *v,
                                    struct buf *out, int *ret_line)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf json = BUF_INIT(DEFINITION_JSON_MAX);
    struct queue_def def;
    const char *fault_at;

    *ret_line = v->name_line;
    if (add_json(r, v, &json) != E_OK)
        return r->err->code;
    struct member_faults faults = {r, v, json.data};
    struct queue_def_faults all = {take_fault, &faults, 0};

    if (queue_def_parse_at(buf_slice(&json), &arena, &def, &all, &fault_at, r->err) != E_OK) {
        *ret_line = yaml_line_at(v, (size_t)(fault_at - json.data));
        return r->err->code;
    }
    note_dests(r, v, buf_slice(&json), &def);
    if (all.count > 0)
        return keep_dests(r, buf_slice(&json), &def, out);
    if (def.command.size > 0 && def.dir.size == 0 && r->source->dir != NULL &&
        add_dir(r, &json) != E_OK)
        return r->err->code;
    return queue_def_canonical(buf_slice(&json), out, r->err);
}

static enum err_code add_queue(struct definition_read *r, struct yaml_value *v)
{
    CLEANUP(buf) struct buf canonical = BUF_INIT(DEFINITION_JSON_MAX);
    int line;

    if (check_new(r, v) != E_OK)
        return yaml_err_at(r->err, r->source->file, v->name_line);
    if (make_canonical(r, v, &canonical, &line) != E_OK && queue_fault(r, v->name, line) != E_OK)
        return r->err->code;
    struct definition_queue q = {
        .name = arena_copy(&r->d->arena, v->name),
        .json = arena_copy(&r->d->arena, buf_slice(&canonical)),
        .file = r->file,
        .line = v->name_line,
    };

    VEC_PUSH(&r->d->queues, q);
    return E_OK;
}

static enum err_code add_queues(struct definition_read *r, struct yaml_value *map)
{
    if (yaml_is_null(map))
        return E_OK;
    if (map->type != YAML_T_MAP)
        return definition_wrong(r, map, "queues: must be a map of names and definitions");
    for (struct yaml_value *v = map->first; v != NULL; v = v->next)
        if (add_queue(r, v) != E_OK && definition_fault(r) != E_OK)
            return r->err->code;
    return E_OK;
}

/* ---- documents ---- */

static const struct {
    const char *name;
    enum err_code (*add)(struct definition_read *r, struct yaml_value *map);
} sections[] = {
    {"queues", add_queues},
    {"joins", definition_joins_add},
    {"triggers", definition_triggers_add},
    {"server", definition_server_add},
};

static enum err_code add_section(struct definition_read *r, struct yaml_value *v)
{
    const char *words[ARRAY_LEN(sections)];

    for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
        if (slice_is(v->name, sections[i].name))
            return sections[i].add(r, v);
        words[i] = sections[i].name;
    }
    return definition_unknown(r, v, words, ARRAY_LEN(words));
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

static enum err_code add_documents(struct definition_read *r, struct slice text)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct yaml_value *documents;

    if (yaml_parse(r->source->file, text, &arena, &documents, r->err) != E_OK)
        return r->err->code;
    for (struct yaml_value *v = documents; v != NULL; v = v->next)
        if (add_document(r, v) != E_OK)
            return r->err->code;
    return E_OK;
}

/* How much there is of everything. */
struct mark {
    size_t queues, joins, refs;
    struct definition_server server;
};

static struct mark mark_of(const struct definitions *d)
{
    return (struct mark){.queues = d->queues.count,
                         .joins = d->joins.count,
                         .refs = d->refs.count,
                         .server = d->server};
}

static void forget_since(struct definitions *d, const struct mark *mark)
{
    struct definition_server grown = d->server;

    d->queues.count = mark->queues;
    d->joins.count = mark->joins;
    d->refs.count = mark->refs;
    d->server = mark->server;
    d->server.names.items = grown.names.items; /* they may have moved */
    d->server.names.capacity = grown.names.capacity;
    d->server.triggers.items = grown.triggers.items;
    d->server.triggers.capacity = grown.triggers.capacity;
}

enum err_code definitions_add_from(struct definitions *d, const struct definition_source *source,
                                   struct slice text, struct err *err)
{
    struct definition_read r = {.d = d, .source = source, .err = err};
    struct mark before = mark_of(d);

    r.file = arena_copy(&d->arena, slice_of(source->file));
    if (add_documents(&r, text) == E_OK)
        return E_OK;
    forget_since(d, &before);
    return err->code;
}

enum err_code definitions_add(struct definitions *d, const char *file, struct slice text,
                              struct err *err)
{
    return definitions_add_from(d, &(struct definition_source){.file = file}, text, err);
}

static void add_definition(struct buf *out, struct slice name, struct slice json)
{
    json_add_comma(out);
    json_add_string(out, name);
    buf_add_char(out, ':');
    buf_add_slice(out, json);
}

void definitions_json(const struct definitions *d, struct buf *out)
{
    buf_add_str(out, "{\"queues\":{");
    for (size_t i = 0; i < d->queues.count; i++)
        add_definition(out, d->queues.items[i].name, d->queues.items[i].json);
    if (d->joins.count > 0) {
        buf_add_str(out, "},\"joins\":{");
        for (size_t i = 0; i < d->joins.count; i++)
            add_definition(out, d->joins.items[i].name, d->joins.items[i].json);
    }
    buf_add_str(out, "}}");
}
