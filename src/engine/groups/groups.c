/* SPDX-License-Identifier: MIT */
#include "engine/groups/groups.h"

#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/claims/ready.h"
#include "engine/reads/job_json.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"

enum { KNOWN_MAX = 100000 };

/* ---- deltas ---- */

struct group_delta *groups_delta(struct engine *e, int64_t group)
{
    struct group_batch *b = &e->batch.groups;
    size_t place = (size_t)(uintptr_t)map_find(&b->by_id, group);

    if (place == 0) {
        VEC_PUSH(&b->deltas, ((struct group_delta){.id = group}));
        place = b->deltas.count;
        map_put(&b->by_id, group, (void *)(uintptr_t)place);
    }
    return &b->deltas.items[place - 1];
}

static void count(struct group_counts *c, enum job_state state, int64_t n)
{
    switch (state) {
    case JOB_STAGED:
    case JOB_HELD:
    case JOB_SCHEDULED:
    case JOB_READY: c->waiting += n; break;
    case JOB_RUNNING: c->running += n; break;
    case JOB_DONE:
    case JOB_RELAYED: c->done += n; break;
    case JOB_FAILED: c->failed += n; break;
    case JOB_CANCELLED: c->cancelled += n; break;
    case JOB_NONE: c->made -= n; break; /* moving out of nothing adds a member */
    case JOB_STATE_COUNT: break;
    }
}

void groups_moved(struct engine *e, const struct job *j, enum job_state from)
{
    struct group_batch *b = &e->batch.groups;

    if (j->group != 0) {
        struct group_delta *d = groups_delta(e, j->group);

        count(&d->counts, from, -1);
        count(&d->counts, j->state, 1);
        if (j->state != JOB_STAGED)
            d->clear |= GROUP_IS_PROVISIONAL;
        /* A finaliser runs in any case: nothing is to be done about it. */
        d->stirs = d->stirs ||
                   (j->closes == 0 && (j->state == JOB_SCHEDULED || j->state == JOB_READY));
    }
    if (!job_state_ended(j->state))
        return;
    if (j->opened)
        VEC_PUSH(&b->openers, j->id.v);
    if (j->closes != 0)
        VEC_PUSH(&b->closings, ((struct group_closing){j->closes, j->state != JOB_DONE}));
}

void groups_forget_staged(struct engine *e, const struct job *j)
{
    if (j->group == 0)
        return;
    struct group_delta *d = groups_delta(e, j->group);

    d->counts.waiting--;
    d->counts.made--;
}

void groups_removed(struct engine *e, const struct job *j)
{
    if (job_state_ended(j->state))
        return;
    if (j->group != 0) {
        struct group_delta *d = groups_delta(e, j->group);

        count(&d->counts, j->state, -1);
        d->counts.cancelled++;
    }
    if (j->opened)
        VEC_PUSH(&e->batch.groups.openers, j->id.v);
    if (j->closes != 0)
        VEC_PUSH(&e->batch.groups.closings, ((struct group_closing){j->closes, true}));
}

void groups_claimed(struct engine *e, const struct job *j)
{
    struct group_delta *d = groups_delta(e, j->group);

    d->counts.waiting--;
    d->counts.running++;
}

void groups_owe(struct engine *e, int64_t group, int64_t n)
{
    if (group != 0 && n != 0)
        groups_delta(e, group)->counts.waiting += n;
}

static void forget_known(struct engine *e)
{
    int64_t id;
    void *known;

    for (size_t i = 0; map_next(&e->groups.known, &i, &id, &known);)
        free(known);
    map_deinit(&e->groups.known);
    e->groups.known = MAP_INIT;
}

void groups_clear(struct engine *e)
{
    struct group_batch *b = &e->batch.groups;

    VEC_CLEAR(&b->deltas);
    VEC_CLEAR(&b->openers);
    VEC_CLEAR(&b->patches);
    VEC_CLEAR(&b->closings);
    VEC_CLEAR(&b->steps);
    if (b->by_id.count > 0) {
        map_deinit(&b->by_id);
        b->by_id = MAP_INIT;
    }
    if (b->claimed.count > 0) {
        map_deinit(&b->claimed);
        b->claimed = MAP_INIT;
    }
    if (b->chosen.by_hash.count > 0) {
        names_deinit(&b->chosen);
        b->chosen = NAMES_INIT;
    }
    b->held_changed = b->again = false;
    if (e->groups.known.count >= KNOWN_MAX) /* never within a batch: it is settled by them */
        forget_known(e);
}

void groups_deinit(struct engine *e)
{
    struct group_batch *b = &e->batch.groups;

    groups_clear(e);
    VEC_DEINIT(&b->deltas);
    VEC_DEINIT(&b->openers);
    VEC_DEINIT(&b->patches);
    VEC_DEINIT(&b->closings);
    VEC_DEINIT(&b->steps);
    map_deinit(&b->by_id);
    map_deinit(&b->claimed);
    names_deinit(&b->chosen);
    forget_known(e);
    map_deinit(&e->groups.held);
}

void groups_undo(struct engine *e)
{
    forget_known(e); /* groups that the batch has opened are not there */
    e->groups.held_is_stale = true;
    e->groups.has_work = true;
}

/* ---- what memory knows ---- */

enum err_code groups_open(struct engine *e, struct err *err)
{
    e->groups.held_is_stale = e->groups.has_work = true;
    if (store_group_add_root(e->store, err) != E_OK)
        return err->code;
    if (e->groups.is_open) /* it joins again: its own requests go on */
        return E_OK;
    e->groups.is_open = true;
    return store_groups_leave(e->store, must_ask_store(e) ? (int64_t)e->node + 1 : -1, err);
}

void groups_know(struct engine *e, const struct stored_group *group)
{
    if (map_find(&e->groups.known, group->id) != NULL)
        return;
    struct known_group *known = mem_zalloc(sizeof(*known));

    *known = (struct known_group){.parent = group->parent,
                                  .depth = group->depth,
                                  .kind = slice_hash(group->kind)};
    map_put(&e->groups.known, group->id, known);
}

enum err_code groups_find(struct engine *e, int64_t id, const struct known_group **ret,
                          struct err *err)
{
    struct stored_group group;

    *ret = map_find(&e->groups.known, id);
    if (*ret != NULL)
        return E_OK;
    if (store_group_bare(e->store, id, &e->batch.arena, &group, err) != E_OK)
        return err->code;
    if (group.id == 0)
        return E_OK;
    groups_know(e, &group);
    *ret = map_find(&e->groups.known, id);
    return E_OK;
}

void groups_set_held(struct engine *e, int64_t id, unsigned flags)
{
    (void)map_remove(&e->groups.held, id);
    if (group_is_held(flags))
        map_put(&e->groups.held, id, (void *)(uintptr_t)flags);
}

void groups_hold_tree(struct engine *e, int64_t id, unsigned flags)
{
    groups_set_held(e, id, flags);
    e->groups.has_work = true;
    e->batch.groups.held_changed = true;
    e->waiting.grants_due = true;
}

static void take_held(void *ctx, const struct stored_group *group)
{
    struct engine *e = ctx;

    groups_know(e, group);
    groups_set_held(e, group->id, group->flags);
}

enum err_code groups_any_held(struct engine *e, bool *ret_any, struct err *err)
{
    if (e->groups.held_is_stale) {
        map_deinit(&e->groups.held);
        e->groups.held = MAP_INIT;
        if (store_groups_held(e->store, take_held, e, err) != E_OK)
            return err->code;
        e->groups.held_is_stale = false;
    }
    *ret_any = e->groups.held.count > 0;
    return E_OK;
}

enum err_code groups_tree_flags(struct engine *e, int64_t id, unsigned *ret_flags, struct err *err)
{
    const struct known_group *known;
    bool any = false;

    *ret_flags = 0;
    if (groups_any_held(e, &any, err) != E_OK)
        return err->code;
    for (int up = 0; any && id > GROUP_ROOT && up <= GROUP_DEPTH_MAX; up++) {
        *ret_flags |= (unsigned)(uintptr_t)map_find(&e->groups.held, id);
        if (groups_find(e, id, &known, err) != E_OK)
            return err->code;
        id = known == NULL ? 0 : known->parent;
    }
    *ret_flags &= GROUP_IS_PAUSED | GROUP_IS_CANCELLED | GROUP_IS_STOPPED;
    return E_OK;
}

/* ---- claims ---- */

/* A claimed job goes back uncounted, and is held. */
static enum err_code hold_claimed(struct engine *e, struct job *j, struct err *err)
{
    struct queue *q = queue_by_id(e, j->queue);
    bool found = false;
    bool hit = false;
    struct job was;

    if (store_job_load(e->store, j->id.v, LOAD_LIVE, &e->batch.arena, &was, &found, err) != E_OK)
        return err->code;
    if (!found || was.state != JOB_RUNNING)
        return store_job_damaged(e->store, j->id.v, "it was claimed and does not run", err);
    struct job now = was;

    now.state = job_state_next(job_state_next(was.state, JOB_EV_RETURN), JOB_EV_HOLD);
    now.holds |= JOB_HOLD_GROUP;
    now.attempt--;
    now.returned++;
    if (store_job_update(e->store, &was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, j->id.v, "it is not as it was read", err);
    effects_move(e, &now, JOB_READY, q, "held");
    groups_delta(e, j->group)->stirs = true;
    j->state = JOB_HELD;
    return E_OK;
}

enum err_code groups_hold_claimed(struct engine *e, struct job *jobs, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        unsigned flags = 0;

        if (jobs[i].state != JOB_RUNNING || jobs[i].group == 0)
            continue;
        if (groups_tree_flags(e, jobs[i].group, &flags, err) != E_OK)
            return err->code;
        if (jobs[i].closes != 0)
            flags &= GROUP_IS_PAUSED;
        if (flags != 0 && hold_claimed(e, &jobs[i], err) != E_OK)
            return err->code;
        /* The claim found nothing to run, though there may be more. */
        e->batch.groups.again = e->batch.groups.again || flags != 0;
    }
    return E_OK;
}

static void take_claimed(void *ctx, const struct stored_group *group)
{
    struct engine *e = ctx;
    struct stored_group *copy = arena_zalloc(&e->batch.arena, sizeof(*copy));

    *copy = *group;
    copy->kind = arena_copy(&e->batch.arena, group->kind);
    copy->name = arena_copy(&e->batch.arena, group->name);
    copy->data = arena_copy(&e->batch.arena, group->data);
    copy->finally = arena_copy(&e->batch.arena, group->finally);
    groups_know(e, group);
    map_put(&e->batch.groups.claimed, group->id, copy);
}

enum err_code groups_load_claimed(struct engine *e, const struct job *jobs, size_t n,
                                  struct err *err)
{
    int64_t *ids = arena_array(&e->batch.arena, n + 1, sizeof(*ids));
    size_t n_ids = 0;

    for (size_t i = 0; i < n; i++) {
        bool is_new = jobs[i].group != 0 && jobs[i].state == JOB_RUNNING &&
                      map_find(&e->batch.groups.claimed, jobs[i].group) == NULL;

        for (size_t k = 0; k < n_ids && is_new; k++)
            is_new = ids[k] != jobs[i].group;
        if (is_new)
            ids[n_ids++] = jobs[i].group;
    }
    return store_groups_claimed(e->store, ids, n_ids, take_claimed, e, err);
}

void groups_add_claimed(struct engine *e, struct buf *b, const struct job *j, size_t *room)
{
    const struct stored_group *g = j->group == 0 ? NULL
                                                 : map_find(&e->batch.groups.claimed, j->group);

    if (g != NULL) {
        jtext_add_key(b, "group");
        buf_add_char(b, '{');
        jtext_add_id(b, "id", g->id);
        jtext_put_string(b, "kind", g->kind);
        jtext_put_string(b, "name", g->name);
        if (g->finally.size == 0 && g->data.size <= *room) {
            jtext_put_raw(b, "data", g->data.size > 0 ? g->data : SLICE("{}"));
            *room -= g->data.size;
        }
        jtext_put_int(b, "version", g->version);
        buf_add_char(b, '}');
    }
    if (j->closes != 0)
        jtext_add_id(b, "closes", j->closes);
}

/* ---- events ---- */

void group_event(struct engine *e, const struct stored_group *group, const char *what)
{
    if (e->config.on_event == NULL)
        return;
    VEC_PUSH(&e->batch.events,
             ((struct event){.kind = EVENT_GROUP,
                             .at = e->now.wall_at,
                             .id = group->id,
                             .group_kind = arena_copy(&e->batch.arena, group->kind),
                             .name = arena_copy(&e->batch.arena, group->name),
                             .group_state = group->state,
                             .what = what}));
}
