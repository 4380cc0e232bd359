/*
 * The end of a batch for groups: counters, data and work are written, groups that have ended get
 * their finaliser or end.
 *
 * Level by level, the deepest first: the end of a group changes its parent, never a group below it.
 * On a shared store this is the order in which all servers lock groups.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "core/group/choice.h"
#include "core/group/finaliser.h"
#include "core/group/merge_patch.h"
#include "engine/batch/transaction.h"
#include "engine/followups/chain.h"
#include "engine/followups/pending_wakeups.h"
#include "engine/followups/topic.h"
#include "engine/groups/groups.h"
#include "engine/jobs/submit.h"
#include "engine/state.h"
#include "store/filters/uniques.h"

struct settling {
    struct engine *e;
    struct err *err;
    int depth;                    /* of the groups that are settled now */
    VEC(struct stored_group) due; /* that the rule may not leave as they are; texts in the arena */
    VEC(int64_t) ids;             /* of all groups at that depth that are written */
};

static bool has_any(const struct group_batch *b)
{
    return b->deltas.count + b->openers.count + b->patches.count + b->closings.count +
               b->steps.count >
           0;
}

/* ---- depths ---- */

static void take_opened(void *ctx, int64_t group)
{
    groups_delta(ctx, group)->clear |= GROUP_OPENER_LIVES;
}

/* Jobs and requests that have ended add nothing more to the groups they have opened. */
static enum err_code end_openers(struct settling *s)
{
    struct group_batch *b = &s->e->batch.groups;

    for (size_t i = 0; i < b->openers.count; i++) {
        bool more = false;

        if (store_groups_of_opener(s->e->store, b->openers.items[i], take_opened, s->e, &more,
                                   s->err) != E_OK)
            return s->err->code;
        s->e->groups.has_work = s->e->groups.has_work || more;
    }
    VEC_CLEAR(&b->openers);
    return E_OK;
}

static void take_known(void *ctx, const struct stored_group *group)
{
    groups_know(ctx, group);
}

/* Depths of groups that memory does not know are read together. */
static enum err_code know_all(struct settling *s)
{
    struct group_batch *b = &s->e->batch.groups;
    size_t n = 0;
    int64_t *ids = arena_array(&s->e->batch.arena,
                               b->deltas.count + b->patches.count + b->closings.count + 1,
                               sizeof(*ids));

    for (size_t i = 0; i < b->deltas.count; i++)
        ids[n++] = b->deltas.items[i].id;
    for (size_t i = 0; i < b->patches.count; i++)
        ids[n++] = b->patches.items[i].group;
    for (size_t i = 0; i < b->closings.count; i++)
        ids[n++] = b->closings.items[i].group;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (map_find(&s->e->groups.known, ids[i]) == NULL)
            ids[kept++] = ids[i];
    return store_groups_bare(s->e->store, ids, kept, take_known, s->e, s->err);
}

/* -1: the group is gone. */
static int depth_of(const struct engine *e, int64_t group)
{
    const struct known_group *known = map_find(&e->groups.known, group);

    return known == NULL ? -1 : known->depth;
}

/* The greatest depth of what is left to write; -1: nothing is. */
static int next_depth(const struct engine *e)
{
    const struct group_batch *b = &e->batch.groups;
    int depth = -1;

    for (size_t i = 0; i < b->deltas.count; i++)
        if (depth_of(e, b->deltas.items[i].id) > depth)
            depth = depth_of(e, b->deltas.items[i].id);
    for (size_t i = 0; i < b->patches.count; i++)
        if (depth_of(e, b->patches.items[i].group) > depth)
            depth = depth_of(e, b->patches.items[i].group);
    for (size_t i = 0; i < b->closings.count; i++)
        if (depth_of(e, b->closings.items[i].group) > depth)
            depth = depth_of(e, b->closings.items[i].group);
    for (size_t i = 0; i < b->steps.count; i++)
        if (b->steps.items[i].was.depth > depth)
            depth = b->steps.items[i].was.depth;
    return depth;
}

/* ---- ends ---- */

static enum err_code tell_waiters(struct settling *s, const struct stored_group *g)
{
    static const int states[] = {
        [GROUP_DONE] = JOB_DONE, [GROUP_FAILED] = JOB_FAILED, [GROUP_CANCELLED] = JOB_CANCELLED};
    const struct stored_release r = {.target = g->id, .state = states[g->state]};

    return (g->flags & GROUP_IS_AWAITED) == 0 ? E_OK : pending_wakeup_put(s->e, &r, s->err);
}

static void tell_parent(struct settling *s, const struct stored_group *g)
{
    if (g->parent <= GROUP_ROOT)
        return;
    struct group_delta *d = groups_delta(s->e, g->parent);

    d->counts.groups--;
    if (g->state == GROUP_FAILED)
        d->set |= GROUP_CHILD_FAILED;
}

/* Unique keys within the group go with it. */
static enum err_code forget_keys(struct settling *s, const struct stored_group *g)
{
    if (s->e->queues.filtered == 0)
        return E_OK;
    s->e->sweep.uniques_at = 0;
    return store_scope_gone(s->e->store, g->id, s->err);
}

/* The group is over. */
static enum err_code close_group(struct settling *s, struct stored_group *g, enum group_state state)
{
    struct engine *e = s->e;

    g->state = state;
    g->ended_at = e->now.wall_at;
    g->gone_at = g->ended_at + (state == GROUP_FAILED ? g->keep_failed_us : g->keep_us);
    g->work = GROUP_WORK_NONE;
    g->node = 0;
    if (g->gone_at < e->sweep.retain_at)
        e->sweep.retain_at = g->gone_at;
    if (store_group_set(e->store, g, s->err) != E_OK || tell_waiters(s, g) != E_OK ||
        forget_keys(s, g) != E_OK)
        return s->err->code;
    groups_set_held(e, g->id, 0);
    tell_parent(s, g);
    group_event(e, g, group_state_name(g->state));
    e->batch.tally.groups_ended++;
    return E_OK;
}

/* *ret_why says why the params cannot be filled; the finaliser is made all the same, and fails. */
static struct slice finaliser_params(struct settling *s, const struct stored_group *g,
                                     struct slice params, struct err *ret_why)
{
    CLEANUP(buf) struct buf b = BUF_INIT(JOB_BYTES_MAX);
    char id[ID_TEXT_SIZE];
    const struct finaliser_values values = {.id = slice_of(id_format(g->id, id)),
                                            .kind = g->kind,
                                            .name = g->name,
                                            .data = g->data,
                                            .counts = &g->counts,
                                            .now_at = s->e->now.wall_at};

    if (finaliser_fill_params(params, &values, &s->e->batch.arena, &b, ret_why) != E_OK)
        return SLICE("{}");
    if (b.overflowed) {
        err_set(ret_why, E_TOO_LARGE, "its params are too large");
        return SLICE("{}");
    }
    return arena_copy(&s->e->batch.arena, buf_slice(&b));
}

static void say_missing(const struct stored_group *g, const struct err *why)
{
    char id[ID_TEXT_SIZE];

    log_info("group %s ends without its finaliser: %s", id_format(g->id, id), why->msg);
}

/* *ret_job: the finaliser; 0: there is none to wait for. */
static enum err_code make_finaliser(struct settling *s, const struct stored_group *g,
                                    int64_t *ret_job)
{
    struct engine *e = s->e;
    struct err why = ERR_INIT;
    struct dest finally = {0};
    struct plan p = {.group = g->parent > GROUP_ROOT ? g->parent : 0, .closes = g->id};
    size_t n = 0;

    *ret_job = 0;
    if (group_finally_parse(g->finally, &e->batch.arena, &finally, &why) != E_OK) {
        say_missing(g, &why);
        return E_OK;
    }
    struct chain_source source = {.params = finaliser_params(s, g, finally.params, &why),
                                  .depth = 1,
                                  .group = p.group,
                                  .unfit = why.code == E_OK ? NULL : &why};

    if (finally.kind == DEST_TOPIC)
        return topic_publish(e, finally.name, &source, &n, s->err);
    p.queue = queue_find(e, finally.name);
    if (p.queue == NULL) {
        queue_unknown(e, finally.name, E_NOT_FOUND, &why);
        say_missing(g, &why);
        return E_OK;
    }
    if (chain_make(e, &source, &p, s->err) != E_OK)
        return s->err->code;
    *ret_job = p.id;
    return E_OK;
}

/* The state of a group whose finaliser has ended, or need not be waited for. */
static enum group_state state_after(const struct stored_group *g, bool failed)
{
    const struct group_facts facts = group_facts_of(
        g->flags, &g->counts, failed ? FINALISER_ENDED_BADLY : FINALISER_ENDED_WELL);

    return group_judge(&facts).state;
}

static enum err_code begin_finaliser(struct settling *s, struct stored_group *g)
{
    if (make_finaliser(s, g, &g->finaliser) != E_OK)
        return s->err->code;
    if (g->finaliser == 0)
        return close_group(s, g, state_after(g, false));
    g->state = GROUP_FINISHING;
    g->work = GROUP_WORK_NONE;
    g->node = 0;
    groups_set_held(s->e, g->id, 0);
    group_event(s->e, g, "finishing");
    return store_group_set(s->e->store, g, s->err);
}

/* Nothing of it was ever released. */
static enum err_code remove_group(struct settling *s, struct stored_group *g)
{
    const struct stored_release r = {.target = g->id, .state = WAKEUP_GONE};

    if ((g->flags & GROUP_IS_AWAITED) != 0 && pending_wakeup_put(s->e, &r, s->err) != E_OK)
        return s->err->code;
    groups_set_held(s->e, g->id, 0);
    g->state = GROUP_DONE;
    tell_parent(s, g);
    return forget_keys(s, g) != E_OK ? s->err->code
                                     : store_group_remove(s->e->store, g->id, s->err);
}

/* fail: stop: what is left of it is cancelled. */
static enum err_code stop_group(struct settling *s, struct stored_group *g)
{
    g->flags |= GROUP_IS_STOPPED | GROUP_IS_SEALED;
    g->work = GROUP_WORK_MEMBERS;
    g->place = 0;
    groups_hold_tree(s->e, g->id, g->flags);
    group_event(s->e, g, "stopped");
    return store_group_set(s->e->store, g, s->err);
}

static enum err_code judge(struct settling *s, struct stored_group *g)
{
    const struct group_facts facts = group_facts_of(
        g->flags, &g->counts, g->finally.size > 0 ? FINALISER_DUE : FINALISER_NONE);
    const struct group_verdict verdict = group_judge(&facts);

    if (group_never_was(g->flags, &g->counts))
        return remove_group(s, g);
    switch (verdict.next) {
    case GROUP_STAYS: break;
    case GROUP_STOPS: return stop_group(s, g);
    case GROUP_MAKES_FINALISER: return begin_finaliser(s, g);
    case GROUP_ENDS: return close_group(s, g, verdict.state);
    }
    return E_OK;
}

/* ---- one level ---- */

static int by_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Locks all groups of the level that are written, in the order of their ids. */
static enum err_code lock_level(struct settling *s)
{
    const struct group_batch *b = &s->e->batch.groups;
    size_t kept = 0;

    if (!must_ask_store(s->e))
        return E_OK;
    VEC_CLEAR(&s->ids);
    for (size_t i = 0; i < b->deltas.count; i++)
        if (depth_of(s->e, b->deltas.items[i].id) == s->depth)
            VEC_PUSH(&s->ids, b->deltas.items[i].id);
    for (size_t i = 0; i < b->patches.count; i++)
        if (depth_of(s->e, b->patches.items[i].group) == s->depth)
            VEC_PUSH(&s->ids, b->patches.items[i].group);
    for (size_t i = 0; i < b->closings.count; i++)
        if (depth_of(s->e, b->closings.items[i].group) == s->depth)
            VEC_PUSH(&s->ids, b->closings.items[i].group);
    for (size_t i = 0; i < b->steps.count; i++)
        if (b->steps.items[i].was.depth == s->depth)
            VEC_PUSH(&s->ids, b->steps.items[i].was.id);
    if (s->ids.count < 2)
        return E_OK;
    qsort(s->ids.items, s->ids.count, sizeof(int64_t), by_id);
    for (size_t i = 0; i < s->ids.count; i++)
        if (kept == 0 || s->ids.items[kept - 1] != s->ids.items[i])
            s->ids.items[kept++] = s->ids.items[i];
    return store_groups_lock(s->e->store, s->ids.items, kept, &s->e->batch.arena, s->err);
}

/* Merges all patches of one group: data is read and written once.  What would become too large was
 * refused when the patch came; only another server can have made it larger since. */
static enum err_code patch_group(struct settling *s, int64_t group)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT; /* data may be large */
    const struct group_batch *b = &s->e->batch.groups;
    struct merge_patches all = {.arena = &arena};
    struct stored_group g;
    char id[ID_TEXT_SIZE];
    struct slice data;
    int64_t n = 0;

    if (store_group_hold(s->e->store, group, &arena, &g, s->err) != E_OK)
        return s->err->code;
    if (g.id == 0)
        return E_OK;
    all.data = g.data;
    for (size_t i = 0; i < b->patches.count; i++)
        if (b->patches.items[i].group == group) {
            merge_patches_add(&all, b->patches.items[i].patch);
            n++;
        }
    data = merge_patches_end(&all);
    if (data.size > GROUP_DATA_MAX) {
        log_info("the data of group %s would be larger than %d bytes: changes are left out",
                 id_format(g.id, id), GROUP_DATA_MAX);
        return E_OK;
    }
    return store_group_set_data(s->e->store, g.id, data, g.version + n, s->err);
}

static enum err_code patch_level(struct settling *s)
{
    struct group_batch *b = &s->e->batch.groups;

    for (size_t i = 0; i < b->patches.count;) {
        int64_t group = b->patches.items[i].group;
        size_t kept = 0;

        if (depth_of(s->e, group) != s->depth) {
            i++;
            continue;
        }
        if (patch_group(s, group) != E_OK)
            return s->err->code;
        for (size_t k = 0; k < b->patches.count; k++)
            if (b->patches.items[k].group != group)
                b->patches.items[kept++] = b->patches.items[k];
        b->patches.count = kept;
        i = 0;
    }
    return E_OK;
}

/* A step takes effect only if nobody has changed the work meanwhile. */
static enum err_code step_level(struct settling *s)
{
    struct group_batch *b = &s->e->batch.groups;
    size_t kept = 0;

    for (size_t i = 0; i < b->steps.count; i++) {
        const struct group_step step = b->steps.items[i];

        if (step.was.depth != s->depth)
            b->steps.items[kept++] = step;
        else if (store_group_step(s->e->store, &step.was, step.work, step.place, s->err) != E_OK)
            return s->err->code;
    }
    b->steps.count = kept;
    return E_OK;
}

static void take_due(void *ctx, const struct stored_group *group)
{
    struct settling *s = ctx;
    struct arena *arena = &s->e->batch.arena;
    struct stored_group copy = *group;

    copy.kind = arena_copy(arena, group->kind);
    copy.name = arena_copy(arena, group->name);
    copy.data = arena_copy(arena, group->data);
    copy.finally = arena_copy(arena, group->finally);
    VEC_PUSH(&s->due, copy);
}

static int by_group(const void *a, const void *b)
{
    return by_id(&((const struct group_delta *)a)->id, &((const struct group_delta *)b)->id);
}

/* A request has chosen a group that another server has just ended: the batch runs again, and finds
 * it ended. */
static enum err_code require_open(struct settling *s, const struct group_delta *deltas, size_t n)
{
    int64_t *ids = arena_array(&s->e->batch.arena, n, sizeof(*ids));
    size_t n_ids = 0;
    bool closed = false;

    for (size_t i = 0; i < n; i++)
        if (deltas[i].joined)
            ids[n_ids++] = deltas[i].id;
    if (store_groups_any_closed(s->e->store, ids, n_ids, &s->e->batch.arena, &closed, s->err) !=
        E_OK)
        return s->err->code;
    return closed ? store_give_way(s->e->store, s->err) : E_OK;
}

static enum err_code count_some(struct settling *s, const struct group_delta *deltas, size_t n)
{
    int64_t counted = 0;

    if (store_groups_count(s->e->store, deltas, n, &s->e->batch.arena, &counted, take_due, s,
                           s->err) != E_OK)
        return s->err->code;
    return counted == (int64_t)n ? E_OK : require_open(s, deltas, n);
}

/* Takes the deltas of the level out of the batch. */
static struct group_delta *take_level(struct settling *s, size_t *ret_n)
{
    struct group_batch *b = &s->e->batch.groups;
    struct group_delta *level = arena_array(&s->e->batch.arena, b->deltas.count + 1,
                                            sizeof(*level));
    size_t kept = 0;
    size_t n = 0;

    for (size_t i = 0; i < b->deltas.count; i++) {
        int depth = depth_of(s->e, b->deltas.items[i].id);

        (void)map_remove(&b->by_id, b->deltas.items[i].id);
        if (depth == s->depth)
            level[n++] = b->deltas.items[i];
        else if (depth >= 0) /* else its group is gone */
            b->deltas.items[kept++] = b->deltas.items[i];
    }
    b->deltas.count = kept;
    for (size_t i = 0; i < kept; i++)
        map_put(&b->by_id, b->deltas.items[i].id, (void *)(uintptr_t)(i + 1));
    if (n > 1)
        qsort(level, n, sizeof(*level), by_group);
    *ret_n = n;
    return level;
}

static enum err_code count_level(struct settling *s)
{
    size_t n = 0;
    const struct group_delta *level = take_level(s, &n);

    VEC_CLEAR(&s->due);
    for (size_t done = 0; done < n;) {
        size_t part = n - done < GROUPS_COUNTED ? n - done : GROUPS_COUNTED;

        if (count_some(s, level + done, part) != E_OK)
            return s->err->code;
        for (size_t end = done + part; done < end; done++)
            if (level[done].walks || (level[done].stirs && s->e->groups.held.count > 0))
                s->e->groups.has_work = true;
    }
    for (size_t i = 0; i < s->due.count; i++)
        if (judge(s, &s->due.items[i]) != E_OK)
            return s->err->code;
    return E_OK;
}

/* Finalisers that have ended close their groups. */
static enum err_code close_level(struct settling *s)
{
    struct group_batch *b = &s->e->batch.groups;
    size_t kept = 0;

    for (size_t i = 0; i < b->closings.count; i++) {
        const struct group_closing c = b->closings.items[i];
        struct stored_group g;

        if (depth_of(s->e, c.group) != s->depth) {
            b->closings.items[kept++] = c;
            continue;
        }
        if (store_group_hold(s->e->store, c.group, &s->e->batch.arena, &g, s->err) != E_OK ||
            (g.state == GROUP_FINISHING && close_group(s, &g, state_after(&g, c.failed)) != E_OK))
            return s->err->code;
    }
    b->closings.count = kept;
    return E_OK;
}

/* What is left is of groups that are gone. */
static void forget_rest(struct group_batch *b)
{
    VEC_CLEAR(&b->deltas);
    VEC_CLEAR(&b->patches);
    VEC_CLEAR(&b->closings);
    map_deinit(&b->by_id);
    b->by_id = MAP_INIT;
}

static enum err_code settle_levels(struct settling *s)
{
    struct engine *e = s->e;

    for (;;) {
        /* A finaliser that cannot run ends when it is written. */
        if (submit_flush(e, s->err) != E_OK || end_openers(s) != E_OK || know_all(s) != E_OK)
            return s->err->code;
        s->depth = next_depth(e);
        if (s->depth < 0) {
            forget_rest(&e->batch.groups);
            return E_OK;
        }
        if (lock_level(s) != E_OK || patch_level(s) != E_OK || step_level(s) != E_OK ||
            count_level(s) != E_OK || close_level(s) != E_OK)
            return s->err->code;
    }
}

enum err_code groups_settle(struct engine *e, struct err *err)
{
    struct settling s = {.e = e, .err = err};
    enum err_code code = E_OK;

    bool due = e->waiting.grants_due;

    e->waiting.grants_due = false;
    while (code == E_OK && has_any(&e->batch.groups)) {
        code = engine_write(e, err);
        if (code == E_OK)
            code = settle_levels(&s);
        if (code == E_OK)
            code = followups_follow(e, err); /* of finalisers that could not run */
    }
    e->batch.groups.again = e->batch.groups.again || e->waiting.grants_due;
    e->waiting.grants_due = e->waiting.grants_due || due;
    VEC_DEINIT(&s.due);
    VEC_DEINIT(&s.ids);
    return code;
}
