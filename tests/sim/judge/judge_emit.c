/*
 * What becomes of emits: requests of their own, and those that come with a finish.
 */
/* SPDX-License-Identifier: MIT */
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "sim.h"

/* ---- ids in the reply ---- */

static struct jtext_iter ids_of(const struct sim *s, const struct req *r)
{
    struct slice ids;

    if (!jtext_find(buf_slice(&r->op.reply), "ids", &ids))
        sim_fail(s, "no ids in %s", buf_text(&r->op.reply));
    return jtext_items(ids);
}

static int64_t next_id(const struct sim *s, const struct req *r, struct jtext_iter *it)
{
    struct arena arena = ARENA_INIT;
    struct slice value;
    int64_t id = 0;

    if (!jtext_next_item(it, &value) || !id_parse(jtext_text(value, &arena), &id))
        sim_fail(s, "too few ids in %s", buf_text(&r->op.reply));
    arena_deinit(&arena);
    return id;
}

static void no_more_ids(const struct sim *s, const struct req *r, struct jtext_iter *it)
{
    struct slice value;

    if (jtext_next_item(it, &value))
        sim_fail(s, "too many ids in %s", buf_text(&r->op.reply));
}

/* ---- judging ---- */

/* Keys of staged jobs are judged when they are released. */
static enum err_code judge_one(const struct sim *s, const struct model_sub *sub)
{
    if (sub->queue < 0 || !s->model.queues[sub->queue].there)
        return E_INVALID;
    if (!queue_state_takes(s->model.queues[sub->queue].state))
        return E_QUEUE_DOWN;
    return judge_routing(s, sub);
}

/* `known`: those that are there already, by their keys; what they wait for is not looked at. */
static size_t first_bad(struct sim *s, const struct req *r, size_t n, const int64_t *known,
                        enum err_code *ret_code)
{
    for (size_t i = 0; i < n; i++)
        if ((*ret_code = judge_one(s, &r->subs[i])) != E_OK)
            return i;
    for (size_t i = 0; i < n; i++)
        if (known[i] == 0 && (*ret_code = judge_conds(s, r, i, known)) != E_OK)
            return i;
    return n;
}

/* Taken before: the same answer, and nothing happens. */
static void repeated(const struct sim *s, const struct req *r, const struct model_emitter *e)
{
    const struct model_emit *known = &e->emits[r->op.emit.seq - 1];

    expect_code(s, r, E_OK);
    if (!is_known(r))
        return;
    struct jtext_iter it = ids_of(s, r);

    for (size_t i = 0; i < known->n_jobs; i++)
        if (next_id(s, r, &it) != known->jobs[i])
            sim_fail(s, "emit %lld again has other ids: %s", (long long)known->seq,
                     buf_text(&r->op.reply));
    no_more_ids(s, r, &it);
}

/* ---- making ---- */

static void make_all(struct sim *s, struct req *r, int64_t owner_id, bool staged)
{
    const struct emit *x = &r->op.emit;
    struct jtext_iter it = {.at = NULL};
    int64_t replied[SIM_ITEMS] = {0}, ids[SIM_ITEMS] = {0};

    if (is_known(r))
        it = ids_of(s, r);
    for (size_t i = 0; i < x->n_jobs && is_known(r); i++)
        replied[i] = next_id(s, r, &it);
    if (is_known(r))
        no_more_ids(s, r, &it);
    (void)judge_take_items(s, r, replied, 0, x->n_jobs, staged ? JUDGE_STAGED : JUDGE_ON_ITS_OWN,
                           ids);
    if (s->no_evidence)
        return;
    struct model_job *owner = model_find(&s->model, owner_id); /* the array has grown, not moved */
    struct model_emit *e = model_emit(&s->model, owner);

    *e = (struct model_emit){.seq = x->seq,
                             .visible = x->visible,
                             .staged = staged && x->n_jobs > 0,
                             .n_jobs = x->n_jobs};
    memcpy(e->jobs, ids, sizeof(ids));
    if (r->cursor > 0)
        model_cursor(&s->model, owner, r->cursor);
}

void judge_emit(struct sim *s, struct req *r)
{
    const struct emit *x = &r->op.emit;
    struct model_job *owner = model_find(&s->model, x->id);
    const struct model_emitter *e = model_emitter_of(&s->model, x->id);
    int64_t last = e == NULL ? 0 : e->seq;
    enum err_code code = E_OK;

    if (owner == NULL || owner->state != JOB_RUNNING || owner->token != x->token) {
        expect_code(s, r, owner == NULL ? E_NOT_FOUND : E_STALE_LEASE);
        return;
    }
    if (x->seq <= last) {
        repeated(s, r, e);
        return;
    }
    if (x->seq > last + 1) {
        expect_code(s, r, E_INVALID);
        return;
    }
    bool staged = !x->visible || (x->n_jobs > 0 && r->cursor == 0 && owner->cursor != 0);
    const int64_t none[SIM_ITEMS] = {0};
    size_t bad = staged ? first_bad(s, r, x->n_jobs, none, &code)
                        : judge_first_refused(s, r, x->n_jobs, &code, JUDGE_WITH_CLASHES);

    expect_code(s, r, code);
    if (bad == x->n_jobs)
        make_all(s, r, x->id, staged);
    else if (is_known(r) && r->op.err.item != bad + 1)
        sim_fail(s, "job %u of an emit is blamed, it should be %zu", r->op.err.item, bad + 1);
}

/* ---- with a finish ---- */

enum err_code judge_finish_emits(struct sim *s, struct req *r, const struct finish_item *f)
{
    int64_t known[SIM_ITEMS] = {0};
    enum err_code code = E_OK;

    for (size_t i = 0; i < f->n_emit; i++)
        known[i] = r->subs[i].key < 0 ? 0 : s->model.keys[r->subs[i].key].job;
    if (f->outcome == JOB_OUT_DONE && f->n_emit > 0)
        (void)first_bad(s, r, f->n_emit, known, &code);
    return code;
}

void judge_make_finish_emits(struct sim *s, struct req *r, const struct finish_item *f)
{
    int64_t replied[SIM_ITEMS] = {0}, ids[SIM_ITEMS] = {0};

    if (f->n_emit == 0 || f->outcome != JOB_OUT_DONE)
        return;
    for (size_t i = 0; i < f->n_emit; i++) {
        const struct model_sub *sub = &r->subs[i];
        const struct job *row = world_row_with(s, sub->params);
        bool known = sub->key >= 0 && s->model.keys[sub->key].job != 0;

        for (size_t k = 0; k < i; k++)
            known = known || (sub->key >= 0 && r->subs[k].key == sub->key);
        if (row == NULL && !known && is_known(r))
            sim_fail(s, "a finish should have emitted %s", sub->params);
        replied[i] = row == NULL ? 0 : row->id.v;
        s->no_evidence = s->no_evidence || (row == NULL && !known);
    }
    if (!s->no_evidence)
        (void)judge_take_items(s, r, replied, 0, f->n_emit, JUDGE_BY_THE_WAY, ids);
}
