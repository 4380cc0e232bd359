/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/vec.h"
#include "core/object/quote.h"
#include "engine/batch/names.h"
#include "engine/batch/transaction.h"
#include "engine/queues/define.h"

const struct define_rules *define_rules_of(enum definition_kind kind)
{
    static const struct define_rules *const rules[DEFINITION_KINDS] = {
        [DEFINITION_QUEUE] = &queue_define_rules,
        [DEFINITION_JOIN] = &join_define_rules,
        [DEFINITION_RESOURCE] = &resource_define_rules,
        [DEFINITION_SCHEDULE] = &schedule_define_rules,
        [DEFINITION_GROUP] = &group_define_rules,
    };

    return rules[kind];
}

/* ---- the set ---- */

void define_set_deinit(struct define_set *set)
{
    for (size_t i = 0; i < DEFINITION_KINDS; i++)
        names_deinit(&set->names[i]);
    VEC_DEINIT(set);
}

void define_set_add(struct define_set *set, const struct defined *defined)
{
    struct defined *d = arena_zalloc(batch_arena(set->engine), sizeof(*d));

    *d = *defined;
    VEC_PUSH(set, d);
    names_add(&set->names[d->kind], d->name, d);
}

static void put_into(struct define_set *set, enum definition_kind kind,
                     const struct definition_put *put)
{
    struct defined *d = names_find(&set->names[kind], put->name);

    if (d == NULL) {
        define_set_add(set, &(struct defined){.kind = kind, .name = put->name});
        d = set->items[set->count - 1];
    }
    d->put = put;
    d->links = definition_kinds[kind].links(put->definition, batch_arena(set->engine));
}

enum err_code define_set_load(struct define_set *set, struct err *err)
{
    const struct define *o = set->asked;

    for (enum definition_kind kind = 0; kind < DEFINITION_KINDS; kind++) {
        set->names[kind] = NAMES_INIT;
        if (define_rules_of(kind)->load(set->engine, set, err) != E_OK)
            return err->code;
        for (size_t i = 0; i < o->puts[kind].count; i++)
            put_into(set, kind, &o->puts[kind].items[i]);
    }
    for (size_t i = 0; i < set->count; i++) {
        struct defined *d = set->items[i];

        d->is_removed = o->removes ? d->kind == o->kind && slice_equal(d->name, o->name)
                                   : o->prune && d->put == NULL && !d->is_kept;
    }
    return E_OK;
}

/* ---- names that do not exist ---- */

static void refuse_unknown(const struct define_set *set, enum definition_kind kind,
                           struct slice name, enum err_code code, struct err *refused)
{
    const char **names = arena_array(batch_arena(set->engine), set->count + 1, sizeof(*names));
    size_t n = 0;

    for (size_t i = 0; i < set->count; i++)
        if (set->items[i]->kind == kind)
            names[n++] = arena_strdup(batch_arena(set->engine), set->items[i]->name);
    definition_name_unknown(kind, name, names, n, code, refused);
}

enum err_code define_check_dests(struct engine *e, const struct dest_list *dests,
                                 struct err *refused, struct err *err)
{
    for (size_t i = 0; i < dests->count && refused->code == E_OK; i++) {
        const struct dest *dest = &dests->items[i];
        enum definition_kind kind;

        if (definition_of_dest(dest->kind, &kind) &&
            define_rules_of(kind)->check_exists(e, dest->name, refused, err) != E_OK)
            return err->code;
        if (refused->code != E_OK)
            (void)err_wrap(refused, "[%zu]", i);
    }
    return E_OK;
}

/* The first refusal becomes the op's error. */
static void add_refusal(struct op *op, const struct err *refused)
{
    struct define *o = &op->define;

    if (op->err.code == E_OK)
        op->err = *refused;
    if (o->n_refusals == DEFINE_REFUSALS_MAX)
        return;
    if (o->n_refusals == 0)
        o->refusals = arena_array(&op->arena, DEFINE_REFUSALS_MAX, sizeof(*o->refusals));
    o->refusals[o->n_refusals++] = *refused;
}

static void judge_links(const struct define_set *set, const struct defined *d, struct op *op)
{
    for (size_t i = 0; i < d->links.count; i++) {
        const struct definition_link *link = &d->links.items[i];
        struct err refused = ERR_INIT;
        struct quote quote;

        if (names_find(&set->names[link->to], link->name) != NULL)
            continue;
        refuse_unknown(set, link->to, link->name, E_INVALID, &refused);
        CLEANUP(buf) struct buf place = BUF_INIT(200);

        definition_link_place(link, &place);
        (void)err_wrap(&refused, "%s %s: %s", definition_kinds[d->kind].name,
                       quote_text(&quote, d->name), buf_text(&place));
        add_refusal(op, &refused);
    }
}

/* Links that a request makes, and those to what it redefines, must suit what they lead to. */
static void judge_fit(const struct define_set *set, const struct defined *d, struct op *op)
{
    for (size_t i = 0; i < d->links.count && !d->is_removed; i++) {
        const struct definition_link *link = &d->links.items[i];
        const struct defined *to = names_find(&set->names[link->to], link->name);
        struct err refused = ERR_INIT;
        struct quote quote;

        if (to == NULL || define_rules_of(link->to)->check_link == NULL ||
            (d->put == NULL && to->put == NULL))
            continue;
        define_rules_of(link->to)->check_link(to, link, &refused);
        if (refused.code == E_OK)
            continue;
        (void)err_wrap(&refused, "%s %s: %s", definition_kinds[d->kind].name,
                       quote_text(&quote, d->name), link->key);
        add_refusal(op, &refused);
    }
}

/* ---- removals ---- */

/* The links of a copy count only if its original is removed: otherwise they are judged there. */
static bool links_count(const struct define_set *set, const struct defined *d)
{
    const struct defined *other = d->follows.size == 0
                                      ? NULL
                                      : names_find(&set->names[d->kind], d->follows);

    return !d->is_removed && (other == NULL || other->is_removed);
}

static void judge_use(const struct define_set *set, const struct defined *removed,
                      struct err *refused)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct defined *d = set->items[i];
        struct quote quotes[2];

        if (!links_count(set, d))
            continue;
        for (size_t k = 0; k < d->links.count; k++) {
            const struct definition_link *link = &d->links.items[k];

            if (link->to != removed->kind || !slice_equal(link->name, removed->name))
                continue;
            err_set(refused, E_CONFLICT, "%s %s is in use: %s %s names it in '%s'",
                    definition_kinds[removed->kind].name, quote_text(&quotes[0], removed->name),
                    definition_kinds[d->kind].name, quote_text(&quotes[1], d->name), link->key);
            return;
        }
    }
}

static enum err_code judge_removals(const struct define_set *set, struct op *op, struct err *err)
{
    for (size_t i = 0; i < set->count && op->err.code == E_OK; i++)
        if (set->items[i]->is_removed &&
            define_rules_of(set->items[i]->kind)
                    ->check_removal(set->engine, set->items[i], &op->err, err) != E_OK)
            return err->code;
    for (size_t i = 0; i < set->count && op->err.code == E_OK; i++)
        if (set->items[i]->is_removed)
            judge_use(set, set->items[i], &op->err);
    return E_OK;
}

/* ---- all of a kind together ---- */

static void judge_all(const struct define_set *set, enum definition_kind kind, struct err *refused)
{
    struct arena *arena = batch_arena(set->engine);
    struct definition_node *nodes = arena_array(arena, set->count + 1, sizeof(*nodes));
    size_t n = 0;
    size_t bad;

    for (size_t i = 0; i < set->count; i++)
        if (set->items[i]->kind == kind && !set->items[i]->is_removed)
            nodes[n++] = (struct definition_node){set->items[i]->name, set->items[i]->links};
    (void)!definition_kinds[kind].check_all(nodes, n, arena, &bad, refused);
}

enum err_code define_judge(const struct define_set *set, struct op *op, struct err *err)
{
    const struct define *o = &op->define;

    op->define.n_refusals = 0; /* a batch that was rolled back may have set it */
    if (o->removes && names_find(&set->names[o->kind], o->name) == NULL)
        refuse_unknown(set, o->kind, o->name, E_NOT_FOUND, &op->err);
    for (size_t i = 0; i < set->count && op->err.code == E_OK; i++)
        if (set->items[i]->put != NULL && define_rules_of(set->items[i]->kind)->check_put != NULL)
            define_rules_of(set->items[i]->kind)->check_put(set->items[i], &op->err);
    if (judge_removals(set, op, err) != E_OK)
        return err->code;
    bool is_free = op->err.code == E_OK; /* then all missing names are reported */

    for (enum definition_kind kind = 0; kind < DEFINITION_KINDS && is_free; kind++)
        for (size_t i = 0; i < o->puts[kind].count; i++)
            judge_links(set, names_find(&set->names[kind], o->puts[kind].items[i].name), op);
    for (size_t i = 0; i < set->count && is_free; i++)
        judge_fit(set, set->items[i], op);
    for (enum definition_kind kind = 0; kind < DEFINITION_KINDS && op->err.code == E_OK; kind++)
        if (o->puts[kind].count > 0 && definition_kinds[kind].check_all != NULL)
            judge_all(set, kind, &op->err);
    return E_OK;
}
