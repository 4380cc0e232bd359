/*
 * What becomes of requests about queues: definitions that are put as a whole, states, removals.
 */
/* SPDX-License-Identifier: MIT */
#include "sim.h"

static size_t jobs_in(const struct sim *s, int queue)
{
    size_t n = 0;

    for (size_t i = 0; i < s->model.n_jobs; i++)
        n += s->model.jobs[i].queue == queue;
    for (size_t i = 0; i < s->model.links.n_promised; i++)
        n += s->model.links.promised[i].owed.queue == queue;
    return n;
}

static bool is_put(const struct req *r, int queue)
{
    const struct define *o = &r->op.define;

    return r->put_queue[0] == queue ||
           (o->puts[DEFINITION_QUEUE].count > 1 && r->put_queue[1] == queue);
}

static bool is_pruned(const struct sim *s, const struct req *r, int queue)
{
    return r->op.define.prune && !is_put(r, queue) && s->model.queues[queue].there &&
           queue != MODEL_QUEUES - 1;
}

static bool puts_join(const struct req *r, int join)
{
    for (size_t i = 0; i < r->op.define.puts[DEFINITION_JOIN].count; i++)
        if (r->put_join[i] == join)
            return true;
    return false;
}

static bool is_join_pruned(const struct sim *s, const struct req *r, int join)
{
    return r->op.define.prune && !puts_join(r, join) && s->model.links.joins[join].there;
}

/* The model as it would be after the request, to see whether all leads somewhere. */
static void apply_to(struct model *m, const struct sim *s, const struct req *r)
{
    const struct define *o = &r->op.define;
    bool gone[MODEL_QUEUES];

    for (int i = 0; i < MODEL_QUEUES; i++)
        gone[i] = is_pruned(s, r, i);
    for (int i = 0; i < MODEL_JOINS; i++)
        if (is_join_pruned(s, r, i))
            m->links.joins[i] = (struct model_join){.there = false};
    for (size_t i = 0; i < o->puts[DEFINITION_QUEUE].count; i++) {
        struct model_queue *q = &m->queues[r->put_queue[i]];

        if (!q->there || q->def != r->put_def[i] || q->links != r->put_links[i])
            model_raise(m);
        model_set_queue(q, q->there ? q->state : QUEUE_UP, r->put_def[i], r->put_links[i]);
    }
    for (size_t i = 0; i < o->puts[DEFINITION_JOIN].count; i++) {
        m->links.joins[r->put_join[i]].there = true;
        m->links.joins[r->put_join[i]].count = r->put_count[i];
    }
    for (int i = 0; i < MODEL_QUEUES; i++)
        if (gone[i]) {
            m->queues[i].there = false;
            model_raise(m);
        }
}

static bool leads_to(int list, enum dest_kind kind, int target)
{
    for (int i = 0; i < model_lists[list].n_dests; i++)
        if (model_lists[list].dests[i].kind == kind && model_lists[list].dests[i].target == target)
            return true;
    return false;
}

/* Whether a queue or a join that is there leads to it. */
static bool is_led_to(const struct model *m, enum dest_kind kind, int target)
{
    for (int i = 0; i < MODEL_QUEUES; i++) {
        const struct model_queue_link *l = &model_queue_links[i][m->queues[i].links];

        if (m->queues[i].there &&
            (leads_to(l->on_success, kind, target) || leads_to(l->on_failure, kind, target)))
            return true;
    }
    for (int i = 0; i < MODEL_JOINS; i++)
        if (m->links.joins[i].there && leads_to(model_join_then[i], kind, target))
            return true;
    return false;
}

static bool leads_nowhere(const struct sim *s, const struct req *r)
{
    for (size_t i = 0; i < r->op.define.puts[DEFINITION_QUEUE].count; i++) {
        const struct model_queue_link *l = &model_queue_links[r->put_queue[i]][r->put_links[i]];

        if (!model_leads(&s->model, l->on_success) || !model_leads(&s->model, l->on_failure))
            return true;
    }
    for (size_t i = 0; i < r->op.define.puts[DEFINITION_JOIN].count; i++)
        if (!model_leads(&s->model, model_join_then[r->put_join[i]]))
            return true;
    return false;
}

static bool has_arrivals(const struct model_join *j)
{
    for (int k = 0; k < MODEL_JOIN_KEYS; k++)
        if (j->keys[k].count > 0)
            return true;
    return false;
}

/* What cannot go refuses all; then what would lead nowhere. */
static enum err_code judge_apply(struct sim *s, const struct req *r, struct sim *after)
{
    for (int i = 0; i < MODEL_QUEUES; i++)
        if (is_pruned(s, r, i) && (jobs_in(s, i) > 0 || is_led_to(&after->model, DEST_QUEUE, i)))
            return E_CONFLICT;
    for (int i = 0; i < MODEL_JOINS; i++)
        if (is_join_pruned(s, r, i) &&
            (has_arrivals(&s->model.links.joins[i]) || is_led_to(&after->model, DEST_JOIN, i)))
            return E_CONFLICT;
    return leads_nowhere(after, r) ? E_INVALID : E_OK;
}

static void apply_definitions(struct sim *s, const struct req *r)
{
    struct sim *after = mem_zalloc(sizeof(*after));

    after->model = s->model;
    apply_to(&after->model, s, r);
    enum err_code code = judge_apply(s, r, after);

    free(after);
    expect_code(s, r, code);
    if (code == E_OK && !r->op.define.dry_run)
        apply_to(&s->model, s, r);
}

static void judge_removal(struct sim *s, struct req *r)
{
    struct model_queue *q = &s->model.queues[r->queue];

    if (!q->there) {
        expect_code(s, r, E_NOT_FOUND);
    } else if (r->queue == MODEL_QUEUES - 1 || jobs_in(s, r->queue) > 0 ||
               is_led_to(&s->model, DEST_QUEUE, r->queue)) {
        expect_code(s, r, E_CONFLICT);
    } else {
        expect_code(s, r, E_OK);
        q->there = false;
        model_raise(&s->model);
    }
}

void judge_define(struct sim *s, struct req *r)
{
    if (r->op.define.removes)
        judge_removal(s, r);
    else
        apply_definitions(s, r);
    if (is_known(r) && r->op.err.code == E_OK)
        expect_json(s, r);
}

void judge_queue(struct sim *s, struct req *r)
{
    const struct queue_op *o = &r->op.queue;
    struct model_queue *q = &s->model.queues[r->queue];

    if (!q->there) {
        expect_code(s, r, E_NOT_FOUND);
    } else if (o->kind == QUEUE_OP_STATE) {
        expect_code(s, r, E_OK);
        model_set_queue(q, o->state, q->def, q->links);
    } else {
        expect_code(s, r, E_OK);
        q->restarts++;
        model_raise(&s->model);
    }
    if (is_known(r) && r->op.err.code == E_OK)
        expect_json(s, r);
}
