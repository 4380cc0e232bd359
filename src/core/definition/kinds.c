/* SPDX-License-Identifier: MIT */
#include "core/definition/kinds.h"

#include <string.h>

#include "base/jtext/jtext.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "core/clock/schedule_def.h"
#include "core/gate/resource_def.h"
#include "core/group/group_def.h"
#include "core/object/object.h"
#include "core/object/quote.h"
#include "core/route/join_chain.h"
#include "core/route/join_def.h"

/* ---- links ---- */

bool definition_of_dest(enum dest_kind dest, enum definition_kind *ret_kind)
{
    switch (dest) {
    case DEST_QUEUE: *ret_kind = DEFINITION_QUEUE; return true;
    case DEST_JOIN: *ret_kind = DEFINITION_JOIN; return true;
    case DEST_TOPIC: /* subscribers may come later */
    case DEST_SIGNAL: break;
    }
    return false;
}

void definition_links_add(struct definition_links *links, struct arena *arena, const char *key,
                          const struct dest_list *dests)
{
    if (dests->count == 0)
        return;
    struct definition_link *items = arena_array(arena, links->count + dests->count, sizeof(*items));

    if (links->count > 0)
        memcpy(items, links->items, links->count * sizeof(*items));
    links->items = items;
    for (size_t i = 0; i < dests->count; i++) {
        struct definition_link link = {.name = dests->items[i].name, .key = key, .index = i};

        if (link.name.size > 0 && definition_of_dest(dests->items[i].kind, &link.to))
            items[links->count++] = link;
    }
}

void definition_link_place(const struct definition_link *link, struct buf *out)
{
    buf_add_str(out, link->key);
    if (link->index != DEFINITION_LINK_ALONE)
        buf_addf(out, "[%zu]", link->index);
}

/* ---- queues ---- */

/* What is counted by worker is no definition. */
static void add_needs(struct definition_links *links, struct arena *arena,
                      const struct needs *needs)
{
    if (needs->count == 0)
        return;
    struct definition_link *items = arena_array(arena, links->count + needs->count, sizeof(*items));

    if (links->count > 0)
        memcpy(items, links->items, links->count * sizeof(*items));
    links->items = items;
    for (size_t i = 0; i < needs->count; i++)
        if (!need_is_of_host(needs->items[i].name))
            items[links->count++] = (struct definition_link){.to = DEFINITION_RESOURCE,
                                                             .name = needs->items[i].name,
                                                             .key = "needs",
                                                             .index = i,
                                                             .weight = needs->items[i].weight};
}

struct definition_links definition_links_of_queue(const struct queue_def *def, struct arena *arena)
{
    struct definition_links links = {.items = NULL};

    definition_links_add(&links, arena, "on_success", &def->on_success);
    definition_links_add(&links, arena, "on_failure", &def->on_failure);
    add_needs(&links, arena, &def->needs);
    return links;
}

static struct definition_links queue_links(struct slice json, struct arena *arena)
{
    struct err ignored = ERR_INIT;
    struct queue_def def;

    if (queue_def_parse_stored(json, arena, &def, &ignored) != E_OK)
        return (struct definition_links){.items = NULL};
    return definition_links_of_queue(&def, arena);
}

/* Of a queue with a mistake only the destinations are kept. */
static enum err_code keep_dests(struct slice json, const struct queue_def *def, struct buf *out,
                                struct err *err)
{
    CLEANUP(buf) struct buf kept = BUF_INIT(DEFINITION_JSON_MAX);
    struct slice value;

    buf_add_char(&kept, '{');
    if (dest_list_is_sound(&def->on_success) && jtext_find(json, "on_success", &value))
        jtext_put_raw(&kept, "on_success", value);
    if (dest_list_is_sound(&def->on_failure) && jtext_find(json, "on_failure", &value))
        jtext_put_raw(&kept, "on_failure", value);
    buf_add_char(&kept, '}');
    return queue_def_canonical(buf_slice(&kept), out, err);
}

/* A command in a file is relative to the file's directory, unless the queue has a `dir` of its
 * own. */
static enum err_code add_dir(const struct definition_input *in, struct buf *json, struct err *err)
{
    struct quote quote;

    if (!utf8_valid(in->dir))
        return err_set(err, E_INVALID, "the directory %s of the file has a name that is not UTF-8",
                       quote_text(&quote, in->dir));
    buf_add(json, in->json.data, in->json.size - 1);
    jtext_put_string(json, "dir", in->dir);
    buf_add_char(json, '}');
    return E_OK;
}

static enum err_code read_queue(struct definition_input *in, struct buf *out, struct err *err)
{
    CLEANUP(buf) struct buf json = BUF_INIT(DEFINITION_JSON_MAX);
    struct queue_def def;

    if (queue_def_parse_at(in->json, in->arena, &def, in->faults, &in->fault_at, err) != E_OK)
        return err->code;
    in->fault_at = NULL;
    in->links = definition_links_of_queue(&def, in->arena);
    if (in->faults->count > 0)
        return keep_dests(in->json, &def, out, err);
    bool runs = def.command.size > 0 || filters_run_program(&def.filters);

    if (!runs || def.dir.size > 0 || in->dir.size == 0)
        return queue_def_canonical(in->json, out, err);
    return add_dir(in, &json, err) != E_OK ? err->code
                                           : queue_def_canonical(buf_slice(&json), out, err);
}

/* ---- joins ---- */

static enum err_code check_join_name(struct slice name, struct err *err)
{
    return dest_name_check("join", name, err);
}

static struct definition_links join_links(struct slice json, struct arena *arena)
{
    struct definition_links links = {.items = NULL};
    struct err ignored = ERR_INIT;
    struct join_def def;

    if (join_def_parse(json, arena, &def, NULL, &ignored) == E_OK)
        definition_links_add(&links, arena, "then", &def.then);
    return links;
}

static enum err_code read_join(struct definition_input *in, struct buf *out, struct err *err)
{
    struct err ignored = ERR_INIT;
    struct dest_list then;
    struct join_def def;
    struct slice value;

    if (jtext_type_of(in->json) == JTEXT_OBJECT && jtext_find(in->json, "then", &value) &&
        dest_list_parse(value, "then", in->arena, &then, NULL, &ignored) == E_OK)
        definition_links_add(&in->links, in->arena, "then", &then);
    if (join_def_parse(in->json, in->arena, &def, &in->fault_at, err) != E_OK) {
        if (in->fault_at == in->json.data)
            in->fault_at = NULL;
        return err->code;
    }
    return join_def_canonical(in->json, out, err);
}

/* Joins that lead to joins fire within one commit, so their chains must be finite. */
static enum err_code check_joins(const struct definition_node *nodes, size_t n, struct arena *arena,
                                 size_t *ret_bad, struct err *err)
{
    struct join_node *joins = arena_array(arena, n + 1, sizeof(*joins));
    struct dest_list *lists = arena_array(arena, n + 1, sizeof(*lists));

    for (size_t i = 0; i < n; i++) {
        const struct definition_links *links = &nodes[i].links;

        lists[i] = (struct dest_list){
            .items = arena_array(arena, links->count + 1, sizeof(struct dest))};
        for (size_t k = 0; k < links->count; k++)
            if (links->items[k].to == DEFINITION_JOIN)
                lists[i].items[lists[i].count++] = (struct dest){.kind = DEST_JOIN,
                                                                 .name = links->items[k].name};
        joins[i] = (struct join_node){.name = nodes[i].name, .then = &lists[i]};
    }
    return join_chain_check(joins, n, ret_bad, err);
}

/* ---- resources ---- */

static enum err_code read_resource(struct definition_input *in, struct buf *out, struct err *err)
{
    struct resource_def def;

    if (resource_def_parse(in->json, in->arena, &def, in->faults, &in->fault_at, err) != E_OK)
        return err->code;
    in->fault_at = NULL;
    if (in->faults->count > 0)
        return resource_def_canonical(SLICE("{}"), out, err);
    return resource_def_canonical_in(in->json, in->dir, out, err);
}

static struct definition_links no_links(struct slice json, struct arena *arena)
{
    (void)json;
    (void)arena;
    return (struct definition_links){.items = NULL};
}

/* ---- schedules ---- */

static enum err_code check_schedule_name(struct slice name, struct err *err)
{
    return dest_name_check("schedule", name, err);
}

static void link_schedule(struct definition_links *links, struct slice queue, struct arena *arena)
{
    const struct definition_link link = {
        .to = DEFINITION_QUEUE, .name = queue, .key = "queue", .index = DEFINITION_LINK_ALONE};

    if (queue.size == 0)
        return;
    links->items = arena_array(arena, 1, sizeof(*links->items));
    links->items[0] = link;
    links->count = 1;
}

static struct definition_links schedule_links(struct slice json, struct arena *arena)
{
    struct definition_links links = {.items = NULL};
    struct err ignored = ERR_INIT;
    struct schedule_def def;

    if (schedule_def_parse(json, arena, &def, NULL, NULL, &ignored) == E_OK)
        link_schedule(&links, def.queue, arena);
    return links;
}

static enum err_code read_schedule(struct definition_input *in, struct buf *out, struct err *err)
{
    struct schedule_def def;
    struct slice queue;

    if (jtext_type_of(in->json) == JTEXT_OBJECT && jtext_find(in->json, "queue", &queue) &&
        jtext_type_of(queue) == JTEXT_STRING)
        link_schedule(&in->links, jtext_text(queue, in->arena), in->arena);
    if (schedule_def_parse(in->json, in->arena, &def, NULL, &in->fault_at, err) != E_OK) {
        if (in->fault_at == in->json.data)
            in->fault_at = NULL;
        return err->code;
    }
    return schedule_def_canonical(in->json, out, err);
}

/* ---- groups ---- */

static void add_finally(struct definition_links *links, struct arena *arena, struct dest *finally)
{
    if (finally->name.size > 0)
        definition_links_add(links, arena, "finally", &(struct dest_list){finally, 1});
}

static struct definition_links group_links(struct slice json, struct arena *arena)
{
    struct definition_links links = {.items = NULL};
    struct err ignored = ERR_INIT;
    struct group_def def;

    if (group_def_parse(json, arena, &def, NULL, NULL, &ignored) == E_OK)
        add_finally(&links, arena, &def.finally);
    return links;
}

static enum err_code read_group(struct definition_input *in, struct buf *out, struct err *err)
{
    struct group_def def;

    if (group_def_parse(in->json, in->arena, &def, in->faults, &in->fault_at, err) != E_OK) {
        if (in->fault_at == in->json.data)
            in->fault_at = NULL;
        return err->code;
    }
    in->fault_at = NULL;
    add_finally(&in->links, in->arena, &def.finally);
    if (in->faults->count > 0) { /* its mistakes are reported */
        buf_add_str(out, "{}");
        return E_OK;
    }
    return group_def_canonical(in->json, out, err);
}

const struct definition_kind_row definition_kinds[DEFINITION_KINDS] = {
    [DEFINITION_QUEUE] = {.name = "queue",
                          .section = "queues",
                          .may_be_null = true,
                          .built_in = "default",
                          .check_name = queue_name_check,
                          .read = read_queue,
                          .canonical = queue_def_canonical,
                          .links = queue_links},
    [DEFINITION_JOIN] = {.name = "join",
                         .section = "joins",
                         .check_name = check_join_name,
                         .read = read_join,
                         .canonical = join_def_canonical,
                         .links = join_links,
                         .check_all = check_joins},
    [DEFINITION_RESOURCE] = {.name = "resource",
                             .section = "resources",
                             .may_be_null = true,
                             .check_name = resource_name_check,
                             .read = read_resource,
                             .canonical = resource_def_canonical,
                             .links = no_links},
    [DEFINITION_SCHEDULE] = {.name = "schedule",
                             .section = "schedules",
                             .check_name = check_schedule_name,
                             .read = read_schedule,
                             .canonical = schedule_def_canonical,
                             .links = schedule_links},
    [DEFINITION_GROUP] = {.name = "group",
                          .section = "groups",
                          .may_be_null = true,
                          .check_name = group_kind_check,
                          .read = read_group,
                          .canonical = group_def_canonical,
                          .links = group_links},
};

enum err_code definition_name_unknown(enum definition_kind kind, struct slice name,
                                      const char *const *names, size_t count, enum err_code code,
                                      struct err *err)
{
    const char *nearest = nearest_word(name, names, count);
    const char *what = definition_kinds[kind].name;
    int shown = (int)(name.size > 80 ? 80 : name.size);

    if (nearest != NULL)
        err_set(err, code, "there is no %s '%.*s', did you mean '%s'?", what, shown, name.data,
                nearest);
    else
        err_set(err, code, "there is no %s '%.*s': define it, or see 'waybill %s list'", what,
                shown, name.data, what);
    err->unknown_queue = kind == DEFINITION_QUEUE;
    return code;
}
