/*
 * The reference model: what running jobs emit.
 *
 * What an attempt has staged is decided by its end; a commit settles a bounded number of rows,
 * small attempts first, then some of the oldest.  A row is a request, and each of its jobs.
 */
/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "model.h"

struct model_emitter *model_emitter_of(struct model *m, int64_t owner)
{
    for (size_t i = 0; i < m->n_emitters; i++)
        if (m->emitters[i].owner == owner && m->emitters[i].fate == FATE_OPEN)
            return &m->emitters[i];
    return NULL;
}

struct model_emit *model_emit(struct model *m, const struct model_job *owner)
{
    struct model_emitter *e = model_emitter_of(m, owner->id);

    if (e == NULL) {
        ASSERT(m->n_emitters < MODEL_EMITTERS);
        e = &m->emitters[m->n_emitters++];
        *e = (struct model_emitter){.owner = owner->id, .token = owner->token};
    }
    ASSERT(e->n_emits < MODEL_EMITS && e->token == owner->token);
    e->seq++;
    return &e->emits[e->n_emits++];
}

size_t model_staged(const struct model_emitter *e)
{
    size_t n = 0;

    for (size_t i = 0; i < e->n_emits; i++)
        n += e->emits[i].staged ? e->emits[i].n_jobs : 0;
    return n;
}

void model_cursor(struct model *m, struct model_job *owner, int64_t cursor)
{
    struct model_emitter *e = model_emitter_of(m, owner->id);

    owner->cursor = cursor;
    owner->changed = true;
    if (model_staged(e) > 0) {
        e->upto = e->seq;
        e->fresh = true;
    }
}

void model_end_emits(struct model *m, struct model_job *owner, bool done)
{
    struct model_emitter *e = model_emitter_of(m, owner->id);

    if (e != NULL) {
        e->fate = done ? FATE_RELEASE : FATE_DROP;
        e->fresh = true;
    }
    if (done)
        owner->cursor = 0;
}

bool model_is_settling(const struct model_emitter *e)
{
    return e->fate != FATE_OPEN || e->upto > 0;
}

/* ---- settling ---- */

/* What it is to wait for is judged now, and what is gone by now will not come.  False: it waits for
 * nothing. */
static bool release_waiting(struct model *m, struct model_job *j, int64_t now_at)
{
    j->waiting = false;
    for (int k = 0; k < j->routing.n_conds; k++) {
        struct model_cond *c = &j->routing.conds[k];

        if (c->kind == AFTER_JOB)
            c->now = model_cond_is_sound(m, c) ? model_cond_judge(m, c) : COND_NEVER;
        j->waiting = j->waiting || c->kind == AFTER_SIGNAL || c->now != COND_HOLDS;
    }
    if (!j->waiting)
        return false;
    model_must_move(m, j, JOB_EV_HOLD, JOB_HELD);
    if (model_is_doomed(j))
        model_doom(m, j, now_at);
    return true;
}

/* The key counts from now on; one that is known already makes the job superfluous. */
static void release(struct model *m, struct model_job *j, int64_t now_at)
{
    if (j->key >= 0 && m->keys[j->key].job != 0) {
        model_remove(m, j);
        return;
    }
    if (j->key >= 0)
        m->keys[j->key] = (struct model_key){.job = j->id, .content = j->content};
    if (j->waiting && release_waiting(m, j, now_at))
        return;
    if (j->due_at > now_at) {
        model_must_move(m, j, JOB_EV_DEFER, JOB_SCHEDULED);
        return;
    }
    model_must_move(m, j, JOB_EV_WAKE, JOB_READY);
    j->due_at = j->due_max = j->delay_us = 0;
}

static void let_go(struct model *m, const struct model_emit *r, enum model_fate fate,
                   int64_t now_at)
{
    for (size_t i = 0; i < r->n_jobs; i++) {
        struct model_job *j = model_find(m, r->jobs[i]);

        ASSERT(j != NULL && j->state == JOB_STAGED);
        if (fate == FATE_RELEASE)
            release(m, j, now_at);
        else
            model_remove(m, j);
    }
}

/* The next request of an attempt; how many rows that was, 0 when nothing was left. */
static size_t settle_next(struct model *m, struct model_emitter *e, int64_t now_at)
{
    bool runs = e->fate == FATE_OPEN;
    size_t i = 0;

    while (runs && i < e->n_emits &&
           !(e->emits[i].visible && e->emits[i].staged && e->emits[i].seq <= e->upto))
        i++;
    if (i == e->n_emits)
        return 0;
    struct model_emit r = e->emits[i];

    if (r.staged)
        let_go(m, &r, r.visible && r.seq <= e->upto ? FATE_RELEASE : e->fate, now_at);
    if (runs) {
        e->emits[i].staged = false;
    } else {
        memmove(&e->emits[0], &e->emits[1], (e->n_emits - 1) * sizeof(e->emits[0]));
        e->n_emits--;
    }
    return 1 + (r.staged ? r.n_jobs : 0);
}

static size_t settle(struct model *m, struct model_emitter *e, size_t room, int64_t now_at)
{
    size_t rows = 1, used = 0;

    for (; used < room && rows > 0; used += rows)
        rows = settle_next(m, e, now_at);
    if (rows > 0)
        return used;
    if (e->fate == FATE_OPEN)
        e->upto = 0;
    else
        *e = m->emitters[--m->n_emitters];
    return used;
}

static size_t rows_of(const struct model_emitter *e)
{
    return model_staged(e) + (e->fate == FATE_OPEN ? 0 : (size_t)e->seq);
}

static bool is_older(const struct model_emitter *a, const struct model_emitter *b)
{
    return a->token != b->token ? a->token < b->token : a->owner < b->owner;
}

static bool is_smaller(const struct model_emitter *a, const struct model_emitter *b)
{
    return rows_of(a) != rows_of(b) ? rows_of(a) < rows_of(b) : is_older(a, b);
}

typedef bool comes_first_fn(const struct model_emitter *a, const struct model_emitter *b);

static struct model_emitter *first_by(struct model *m, comes_first_fn *comes_first,
                                      enum model_mood mood)
{
    struct model_emitter *first = NULL;

    for (size_t i = 0; i < m->n_emitters; i++) {
        struct model_emitter *e = &m->emitters[i];

        if (model_is_settling(e) && (e->fresh || mood == MODEL_WORKS) &&
            (first == NULL || comes_first(e, first)))
            first = e;
    }
    return first;
}

void model_settle(struct model *m, size_t room, int64_t now_at, enum model_mood mood)
{
    struct model_emitter *e;
    size_t used = 0;

    while ((e = first_by(m, is_smaller, mood)) != NULL && used + rows_of(e) <= room)
        used += settle(m, e, SIZE_MAX, now_at);
    used = 0;
    while ((e = first_by(m, is_older, mood)) != NULL && used < room / 2)
        used += settle(m, e, room / 2 - used, now_at);
    for (size_t i = 0; i < m->n_emitters; i++)
        m->emitters[i].fresh = false;
}
