/* SPDX-License-Identifier: MIT */
#include "core/definition/links.h"

#include "base/json/json.h"
#include "base/text/nearest.h"
#include "core/definition/cidr.h"
#include "core/definition/yaml.h"
#include "core/object/quote.h"
#include "core/route/join_chain.h"
#include "core/route/join_def.h"

/* ---- destinations ---- */

static int line_of(const struct definition_dests *dests, struct slice value)
{
    return yaml_line_at(dests->owner, (size_t)(value.data - dests->json.data));
}

static void note_dest(struct definition_read *r, const struct definition_dests *dests, size_t index,
                      struct slice value)
{
    const struct dest *dest = &dests->list->items[index];
    struct arena *arena = &r->d->arena;
    struct definition_ref ref = {
        .kind = dest->kind,
        .name = arena_copy(arena, dest->name),
        .owner_kind = dests->kind,
        .owner = arena_copy(arena, dests->owner->name),
        .key = dests->key,
        .index = index,
        .from = {r->file, line_of(dests, value)},
    };

    if (dest->name.size > 0) /* else it has a mistake, which is told */
        VEC_PUSH(&r->d->refs, ref);
}

void definition_note_dests(struct definition_read *r, const struct definition_dests *dests)
{
    struct slice value;
    struct slice item;
    size_t i = 0;

    if (!json_find(dests->json, dests->key, &value) || dests->list->count == 0)
        return;
    if (json_type_of(value) != JSON_T_ARRAY) {
        note_dest(r, dests, 0, value);
        return;
    }
    for (struct json_iter it = json_items(value); json_next_item(&it, &item); i++)
        note_dest(r, dests, i, item);
}

/* ---- joins ---- */

static enum err_code check_new_join(const struct definition_read *r, const struct yaml_value *v)
{
    const struct definitions *d = r->d;
    struct quote quote;

    if (dest_name_check("join", v->name, r->err) != E_OK)
        return r->err->code;
    if (d->joins.count == DEFINITION_JOINS_MAX)
        return err_set(r->err, E_TOO_LARGE, "more than %d joins", DEFINITION_JOINS_MAX);
    for (size_t i = 0; i < d->joins.count; i++)
        if (slice_equal(d->joins.items[i].name, v->name))
            return definition_twice(r, "join ", quote_text(&quote, v->name),
                                    d->joins.items[i].from);
    return E_OK;
}

/* Also of a join with a mistake elsewhere. */
static void note_then(struct definition_read *r, struct yaml_value *v, struct slice whole)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err ignored = ERR_INIT;
    struct dest_list then;
    struct slice value;

    if (json_type_of(whole) == JSON_T_OBJECT && json_find(whole, "then", &value) &&
        dest_list_parse(value, "then", &arena, &then, NULL, &ignored) == E_OK)
        definition_note_dests(r, &(struct definition_dests){"join", v, whole, "then", &then});
}

/* Checks the join and makes it canonical.  *ret_line is where a mistake is. */
static enum err_code read_join(struct definition_read *r, struct yaml_value *v, struct buf *out,
                               int *ret_line)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf json = BUF_INIT(DEFINITION_JSON_MAX);
    struct join_def def;
    struct slice whole;
    const char *fault_at;

    *ret_line = v->name_line;
    if (yaml_json(v, &json, r->err) != E_OK || json_check(buf_slice(&json), &whole, r->err) != E_OK)
        return r->err->code;
    note_then(r, v, whole);
    if (join_def_parse(whole, &arena, &def, &fault_at, r->err) != E_OK) {
        if (fault_at != whole.data)
            *ret_line = yaml_line_at(v, (size_t)(fault_at - json.data));
        return r->err->code;
    }
    return join_def_canonical(whole, out, r->err);
}

static enum err_code add_join(struct definition_read *r, struct yaml_value *v)
{
    CLEANUP(buf) struct buf canonical = BUF_INIT(DEFINITION_JSON_MAX);
    struct quote quote;
    int line;

    if (check_new_join(r, v) != E_OK)
        return yaml_err_at(r->err, r->source->file, v->name_line);
    if (read_join(r, v, &canonical, &line) != E_OK) {
        (void)err_wrap(r->err, "join %s", quote_text(&quote, v->name));
        (void)yaml_err_at(r->err, r->source->file, line);
        if (definition_fault(r) != E_OK)
            return r->err->code;
    }
    struct definition_join join = {
        .name = arena_copy(&r->d->arena, v->name),
        .json = arena_copy(&r->d->arena, buf_slice(&canonical)),
        .from = {r->file, v->name_line},
    };

    VEC_PUSH(&r->d->joins, join);
    return E_OK;
}

enum err_code definition_joins_add(struct definition_read *r, struct yaml_value *map)
{
    if (yaml_is_null(map))
        return E_OK;
    if (map->type != YAML_T_MAP)
        return definition_wrong(r, map, "joins: must be a map of names and definitions");
    for (struct yaml_value *v = map->first; v != NULL; v = v->next)
        if (add_join(r, v) != E_OK && definition_fault(r) != E_OK)
            return r->err->code;
    return E_OK;
}

/* ---- triggers ---- */

static enum err_code at_network(const struct definition_read *r, const struct yaml_value *trigger,
                                const struct yaml_value *v)
{
    struct quote quote;

    (void)err_wrap(r->err, "trigger %s: from", quote_text(&quote, trigger->name));
    return yaml_err_at(r->err, r->source->file, v->line);
}

static enum err_code add_network(struct definition_read *r, const struct yaml_value *trigger,
                                 const struct yaml_value *v, struct definition_trigger *t)
{
    if (v->type != YAML_T_TEXT) {
        (void)err_set(r->err, E_INVALID, "must be a network or a list of them, in quotes");
        return at_network(r, trigger, v);
    }
    if (cidr_parse(v->text, &t->from[t->n_from], r->err) != E_OK)
        return at_network(r, trigger, v);
    t->n_from++;
    return E_OK;
}

static enum err_code add_networks(struct definition_read *r, const struct yaml_value *trigger,
                                  const struct yaml_value *v, struct definition_trigger *t)
{
    size_t count = 1;

    if (v->type == YAML_T_LIST) {
        count = 0;
        for (const struct yaml_value *item = v->first; item != NULL; item = item->next)
            count++;
    }
    if (count == 0 || count > DEFINITION_NETWORKS_MAX) {
        (void)err_set(r->err, E_INVALID, "must have 1 to %d networks, not %zu",
                      DEFINITION_NETWORKS_MAX, count);
        return at_network(r, trigger, v);
    }
    t->from = arena_array(&r->d->arena, count, sizeof(*t->from));
    if (v->type != YAML_T_LIST)
        return add_network(r, trigger, v, t);
    for (const struct yaml_value *item = v->first; item != NULL; item = item->next)
        if (add_network(r, trigger, item, t) != E_OK)
            return r->err->code;
    return E_OK;
}

static enum err_code check_new_trigger(const struct definition_read *r, const struct yaml_value *v)
{
    const struct definition_server *s = &r->d->server;
    struct quote quote;

    if (dest_name_check("trigger", v->name, r->err) != E_OK)
        return r->err->code;
    if (s->triggers.count == DEFINITION_TRIGGERS_MAX)
        return err_set(r->err, E_TOO_LARGE, "more than %d triggers", DEFINITION_TRIGGERS_MAX);
    for (size_t i = 0; i < s->triggers.count; i++)
        if (slice_equal(s->triggers.items[i].name, v->name))
            return definition_twice(r, "trigger ", quote_text(&quote, v->name),
                                    s->triggers.items[i].place);
    return E_OK;
}

static enum err_code add_trigger(struct definition_read *r, struct yaml_value *v)
{
    static const char *const words[] = {"from"};
    struct definition_trigger t = {.place = {r->file, v->name_line}};
    struct quote quote;

    if (check_new_trigger(r, v) != E_OK)
        return yaml_err_at(r->err, r->source->file, v->name_line);
    t.name = arena_copy(&r->d->arena, v->name);
    for (const struct yaml_value *m = v->type == YAML_T_MAP ? v->first : NULL; m != NULL;
         m = m->next) {
        if (!slice_is(m->name, words[0]))
            return definition_unknown(r, m, words, ARRAY_LEN(words));
        if (add_networks(r, v, m, &t) != E_OK)
            return r->err->code;
    }
    if (t.n_from == 0) {
        (void)err_set(r->err, E_INVALID,
                      "trigger %s: must say from where it is open, like {from: [10.0.0.0/8]}",
                      quote_text(&quote, v->name));
        return yaml_err_at(r->err, r->source->file, v->name_line);
    }
    VEC_PUSH(&r->d->server.triggers, t);
    return E_OK;
}

enum err_code definition_triggers_add(struct definition_read *r, struct yaml_value *map)
{
    if (yaml_is_null(map))
        return E_OK;
    if (map->type != YAML_T_MAP)
        return definition_wrong(r, map, "triggers: must be a map of names and {from: [network…]}");
    for (struct yaml_value *v = map->first; v != NULL; v = v->next)
        if (add_trigger(r, v) != E_OK && definition_fault(r) != E_OK)
            return r->err->code;
    return E_OK;
}

/* ---- names that lead nowhere ---- */

#define BUILT_IN_QUEUE "default"

/* All names that such a destination may have. */
static size_t names_of(const struct definitions *d, enum dest_kind kind, struct arena *arena,
                       const char ***ret_names)
{
    bool queues = kind == DEST_QUEUE;
    size_t n = queues ? d->queues.count : d->joins.count;

    *ret_names = arena_array(arena, n + 1, sizeof(**ret_names));
    for (size_t i = 0; i < n; i++) /* slices of the arena end in NUL */
        (*ret_names)[i] = queues ? d->queues.items[i].name.data : d->joins.items[i].name.data;
    if (queues)
        (*ret_names)[n++] = BUILT_IN_QUEUE;
    return n;
}

/* "queue 'a': on_success[0]" */
static void add_ref(const struct definition_ref *ref, struct buf *out)
{
    struct quote owner;

    buf_addf(out, "%s %s: %s[%zu]", ref->owner_kind, quote_text(&owner, ref->owner), ref->key,
             ref->index);
}

static enum err_code leads_nowhere(const struct definition_ref *ref, const char *const *names,
                                   size_t n, struct err *err)
{
    const char *near = nearest_word(ref->name, names, n);
    const char *kind = ref->kind == DEST_QUEUE ? "queue" : "join";
    CLEANUP(buf) struct buf place = BUF_INIT(200);
    struct quote quote;
    struct quote other;

    add_ref(ref, &place);
    quote_text(&quote, ref->name);
    if (near != NULL)
        (void)err_set(err, E_INVALID, "there is no %s %s, did you mean %s?", kind, quote.text,
                      quote_text(&other, slice_of(near)));
    else
        (void)err_set(err, E_INVALID, "there is no %s %s in these files", kind, quote.text);
    (void)err_wrap(err, "%s", buf_text(&place));
    return yaml_err_at(err, ref->from.file.data, ref->from.line);
}

/* One with a mistake in it leads nowhere. */
static enum err_code check_joins(const struct definitions *d, struct arena *arena, struct err *err)
{
    struct join_node *nodes = arena_array(arena, d->joins.count + 1, sizeof(*nodes));
    struct join_def *defs = arena_array(arena, d->joins.count + 1, sizeof(*defs));
    size_t bad = 0;

    for (size_t i = 0; i < d->joins.count; i++) {
        struct err ignored = ERR_INIT;

        defs[i] = (struct join_def){.count = 0};
        if (d->joins.items[i].json.size > 0)
            (void)!join_def_parse(d->joins.items[i].json, arena, &defs[i], NULL, &ignored);
        nodes[i] = (struct join_node){.name = d->joins.items[i].name, .then = &defs[i].then};
    }
    if (join_chain_check(nodes, d->joins.count, &bad, err) == E_OK)
        return E_OK;
    (void)yaml_err_at(err, d->joins.items[bad].from.file.data, d->joins.items[bad].from.line);
    return definitions_fault(d, err);
}

enum err_code definitions_check_names(const struct definitions *d, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const char **queues;
    const char **joins;
    size_t n_queues = names_of(d, DEST_QUEUE, &arena, &queues);
    size_t n_joins = names_of(d, DEST_JOIN, &arena, &joins);

    for (size_t i = 0; i < d->refs.count; i++) {
        const struct definition_ref *ref = &d->refs.items[i];
        const char **names = ref->kind == DEST_QUEUE ? queues : joins;
        size_t n = ref->kind == DEST_QUEUE ? n_queues : n_joins;
        size_t k = 0;

        if (ref->kind != DEST_QUEUE && ref->kind != DEST_JOIN)
            continue;
        while (k < n && !slice_is(ref->name, names[k]))
            k++;
        if (k == n && leads_nowhere(ref, names, n, err) != E_OK &&
            definitions_fault(d, err) != E_OK)
            return err->code;
    }
    return check_joins(d, &arena, err);
}

void definitions_locate(const struct definitions *d, struct err *err)
{
    for (size_t i = 0; i < d->refs.count; i++) {
        const struct definition_ref *ref = &d->refs.items[i];
        CLEANUP(buf) struct buf place = BUF_INIT(200);

        add_ref(ref, &place);
        if (strncmp(err->msg, buf_text(&place), place.size) == 0) {
            (void)yaml_err_at(err, ref->from.file.data, ref->from.line);
            return;
        }
    }
}
