/* SPDX-License-Identifier: MIT */
#include "engine/groups/choose.h"

#include "base/jtext/jtext.h"
#include "core/group/group_def.h"
#include "core/object/quote.h"
#include "engine/batch/batch.h"
#include "engine/batch/ids.h"
#include "engine/batch/transaction.h"
#include "engine/followups/after_targets.h"
#include "engine/groups/groups.h"
#include "engine/queues/queue.h"
#include "store/shared.h"

bool groups_any_chosen(const struct submit_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (items[i].group != NULL)
            return true;
    return false;
}

/* ---- joining ---- */

void group_refuse_closed(const struct stored_group *group, struct err *refused)
{
    char id[ID_TEXT_SIZE];

    id_format(group->id, id);
    if (group->state == GROUP_FINISHING)
        err_set(refused, E_CONFLICT, "group %s has ended: its finaliser is under way", id);
    else if (group->state != GROUP_OPEN)
        err_set(refused, E_CONFLICT, "group %s has ended (%s)", id, group_state_name(group->state));
    else if ((group->flags & GROUP_IS_CANCELLED) != 0)
        err_set(refused, E_CONFLICT, "group %s is being cancelled", id);
}

/* What was found out about a group, once a batch. */
static struct group_opening *remember(struct engine *e, struct slice key)
{
    struct group_opening *o = arena_zalloc(batch_arena(e), sizeof(*o));

    names_add(&current_batch(e)->groups.chosen, arena_copy(batch_arena(e), key), o);
    return o;
}

static enum err_code find_joined(struct engine *e, int64_t id, struct group_opening **ret,
                                 struct err *err)
{
    char text[ID_TEXT_SIZE];
    struct slice key = slice_of(id_format(id, text));

    *ret = names_find(&current_batch(e)->groups.chosen, key);
    if (*ret != NULL)
        return E_OK;
    *ret = remember(e, key);
    if (store_group_bare(batch_store(e), id, batch_arena(e), &(*ret)->group, err) != E_OK)
        return err->code;
    if ((*ret)->group.id == 0) {
        err_set(&(*ret)->refused, E_INVALID, "there is no group %s (any more)", text);
        return E_OK;
    }
    groups_know(e, &(*ret)->group);
    group_refuse_closed(&(*ret)->group, &(*ret)->refused);
    return E_OK;
}

/* ---- opening ---- */

static enum err_code judge_finally(struct engine *e, struct slice finally, struct err *refused)
{
    struct dest parsed = {0};

    if (finally.size == 0 || group_finally_parse(finally, batch_arena(e), &parsed, refused) != E_OK)
        return refused->code;
    if (parsed.kind == DEST_QUEUE && queue_find(e, parsed.name) == NULL) {
        queue_unknown(e, parsed.name, E_INVALID, refused);
        return err_wrap(refused, "group.finally");
    }
    return E_OK;
}

static enum err_code judge_kind(struct engine *e, struct slice name, struct group_def *ret,
                                struct err *refused, struct err *err)
{
    struct stored_kind kind = {.id = 0};
    struct quote quote;

    if (name.size > 0 && store_kind_find(batch_store(e), name, batch_arena(e), &kind, err) != E_OK)
        return err->code;
    if (name.size > 0 && kind.id == 0)
        err_set(refused, E_INVALID,
                "group.open: there is no kind of groups %s: define it in 'groups:'",
                quote_text(&quote, name));
    else
        (void)!group_def_parse(name.size > 0 ? kind.definition : SLICE("{}"), batch_arena(e), ret,
                               NULL, NULL, refused);
    return E_OK;
}

enum err_code group_judge_new(struct engine *e, const struct group_choice *choice, int64_t parent,
                              struct stored_group *ret, struct err *refused, struct err *err)
{
    const struct known_group *above = NULL;
    CLEANUP(buf) struct buf finally = BUF_INIT(GROUP_DATA_MAX);
    struct group_def def;

    if (parent == 0)
        parent = GROUP_ROOT;
    if (judge_kind(e, choice->kind, &def, refused, err) != E_OK)
        return err->code;
    if (refused->code != E_OK || judge_finally(e, choice->finally, refused) != E_OK)
        return E_OK;
    if (groups_find(e, parent, &above, err) != E_OK)
        return err->code;
    if (above == NULL || above->depth >= GROUP_DEPTH_MAX) {
        err_set(refused, E_INVALID, "group: groups are at most %d deep", GROUP_DEPTH_MAX);
        return E_OK;
    }
    if (def.finally.name.size > 0)
        finally_json(&def.finally, &finally);
    *ret = (struct stored_group){
        .kind = choice->kind,
        .name = choice->name,
        .parent = parent,
        .depth = above->depth + 1,
        .state = GROUP_OPEN,
        .flags = (choice->unsealed ? 0 : (unsigned)GROUP_IS_SEALED) |
                 (def.fail == GROUP_FAIL_STOP ? (unsigned)GROUP_STOPS_ON_FAIL : 0),
        .version = 1,
        .keep_us = def.keep_done_us,
        .keep_failed_us = def.keep_failed_us,
        .data = choice->data,
        .finally = choice->finally.size > 0 ? choice->finally
                                            : arena_copy(batch_arena(e), buf_slice(&finally)),
    };
    return E_OK;
}

enum err_code group_add(struct engine *e, struct stored_group *group, bool *ret_added,
                        struct err *err)
{
    if (engine_write(e, err) != E_OK ||
        store_group_add(batch_store(e), group, ret_added, err) != E_OK)
        return err->code;
    if (!*ret_added)
        return E_OK;
    groups_know(e, group);
    (void)groups_delta(e, group->id); /* it is judged with the batch */
    if (group->parent > GROUP_ROOT) {
        struct group_delta *d = groups_delta(e, group->parent);

        d->counts.groups++;
        d->stirs = true;
    }
    group_event(e, group, "opened");
    current_batch(e)->tally.groups_opened++;
    return E_OK;
}

static struct slice opening_key(struct engine *e, const struct group_scope *scope,
                                const struct group_choice *choice)
{
    CLEANUP(buf) struct buf b = BUF_INIT(4096);

    buf_addf(&b, "%lld/%zu/", (long long)scope->opener, choice->kind.size);
    buf_add_slice(&b, choice->kind);
    buf_add_char(&b, '/');
    buf_add_slice(&b, choice->name);
    return arena_copy(batch_arena(e), buf_slice(&b));
}

static enum err_code find_opening(struct engine *e, const struct group_scope *scope,
                                  const struct group_choice *choice, struct group_opening **ret,
                                  struct err *err)
{
    struct slice key = opening_key(e, scope, choice);
    struct group_opening *o = names_find(&current_batch(e)->groups.chosen, key);

    *ret = o;
    if (o != NULL)
        return E_OK;
    *ret = o = remember(e, key);
    if (!scope->is_new && store_group_opened(batch_store(e), scope->opener, choice->kind,
                                             choice->name, batch_arena(e), &o->group, err) != E_OK)
        return err->code;
    o->exists = o->group.id != 0;
    if (o->exists) {
        groups_know(e, &o->group);
        group_refuse_closed(&o->group, &o->refused);
        return E_OK;
    }
    if (group_judge_new(e, choice, scope->group, &o->group, &o->refused, err) != E_OK)
        return err->code;
    o->group.id = engine_new_id(e); /* filters may judge by it before it is added */
    o->group.opener = scope->opener;
    o->group.node = scope->node;
    o->group.flags |= scope->lives ? (unsigned)GROUP_OPENER_LIVES : 0;
    return E_OK;
}

/* While all its jobs are staged, a group is as its opener says now: what an attempt that failed has
 * said does not count. */
static enum err_code open_again(struct engine *e, struct group_opening *o,
                                const struct group_choice *choice, struct err *err)
{
    struct err refused = ERR_INIT;

    if ((o->group.flags & GROUP_IS_PROVISIONAL) == 0)
        return E_OK;
    if (choice->data.size > 0 && !slice_equal(choice->data, o->group.data)) {
        o->group.data = choice->data;
        o->group.version++;
        if (engine_write(e, err) != E_OK ||
            store_group_set_data(batch_store(e), o->group.id, choice->data, o->group.version,
                                 err) != E_OK)
            return err->code;
    }
    if (choice->finally.size == 0 || slice_equal(choice->finally, o->group.finally))
        return E_OK;
    if (judge_finally(e, choice->finally, &refused) != E_OK)
        return E_OK; /* judged with the request: it stays as it was */
    o->group.finally = choice->finally;
    return engine_write(e, err) != E_OK ? err->code
                                        : store_group_set(batch_store(e), &o->group, err);
}

enum err_code groups_choose(struct engine *e, const struct group_scope *scope,
                            const struct submit_item *items, size_t n, struct plan *plans,
                            bool *ret_opens, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct group_choice *choice = items[i].group;
        struct group_opening *o = NULL;
        struct plan *p = &plans[i];

        if (!plan_is_made(p))
            continue;
        p->group = choice == NULL ? scope->group : 0;
        if (choice == NULL || choice->id == GROUP_ROOT)
            continue;
        if ((choice->id != 0 ? find_joined(e, choice->id, &o, err)
                             : find_opening(e, scope, choice, &o, err)) != E_OK)
            return err->code;
        p->refused = o->refused;
        p->opening = o;
        p->group = o->group.id;
        p->choice = choice;
        p->staged = scope->staged;
        *ret_opens = *ret_opens || choice->id == 0;
    }
    return E_OK;
}

enum err_code groups_join(struct engine *e, struct plan *p, struct err *err)
{
    struct group_opening *o = p->opening;
    bool added = true;

    if (o == NULL)
        return E_OK;
    if (p->choice->id != 0) {
        groups_delta(e, p->group)->joined = true;
        return E_OK;
    }
    if (!o->exists) {
        if (p->staged)
            o->group.flags |= GROUP_IS_PROVISIONAL;
        if (group_add(e, &o->group, &added, err) != E_OK)
            return err->code;
        if (!added)
            return store_give_way(batch_store(e), err);
        o->exists = true;
    } else if (open_again(e, o, p->choice, err) != E_OK) {
        return err->code;
    }
    return E_OK;
}

void groups_note_dropped(struct engine *e, const struct plan *p)
{
    if (p->group != 0 && (p->opening == NULL || p->choice->id != 0 || p->opening->exists))
        groups_delta(e, p->group)->counts.dropped++;
}
