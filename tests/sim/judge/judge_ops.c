/*
 * What becomes of requests other than claims: the model follows, the reply is compared.
 */
/* SPDX-License-Identifier: MIT */
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "sim.h"

/* ---- replies ---- */

void expect_code(const struct sim *s, const struct req *r, enum err_code code)
{
    if (is_known(r) && r->op.err.code != code)
        sim_fail(s, "op of kind %d is answered with %s (%s), it should be %s", (int)r->op.kind,
                 err_name(r->op.err.code), r->op.err.msg, err_name(code));
}

int64_t reply_id(const struct sim *s, struct slice object, const char *name)
{
    struct slice value;
    int64_t id = 0;
    struct arena arena = ARENA_INIT;

    if (!jtext_find(object, name, &value) || !id_parse(jtext_text(value, &arena), &id))
        sim_fail(s, "no %s in the reply %.*s", name, (int)object.size, object.data);
    arena_deinit(&arena);
    return id;
}

struct held reply_lease(const struct sim *s, struct slice object)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct held lease = {.id = reply_id(s, object, "id")};
    struct slice value;

    if (!jtext_find(object, "lease", &value) ||
        !lease_parse(jtext_text(value, &arena), &lease.token, &lease.fence) ||
        lease_prove(&sim_lease_key, lease.id, jtext_text(value, &arena)) != lease.token)
        sim_fail(s, "no lease of its job in the reply %.*s", (int)object.size, object.data);
    return lease;
}

bool same_lease(struct held a, struct held b)
{
    return a.id == b.id && a.token == b.token && a.fence == b.fence;
}

void expect_json(const struct sim *s, const struct req *r)
{
    struct err err = ERR_INIT;
    struct slice value;

    if (jtext_check(buf_slice(&r->op.reply), &value, &err) != E_OK)
        sim_fail(s, "the reply is no JSON: %s: %s", err.msg, buf_text(&r->op.reply));
}

void expect_text(const struct sim *s, struct slice object, const char *name, const char *want)
{
    struct slice value;
    struct arena arena = ARENA_INIT;

    if (!jtext_find(object, name, &value) || !slice_is(jtext_text(value, &arena), want))
        sim_fail(s, "%s should be %s in the reply %.*s", name, want, (int)object.size, object.data);
    arena_deinit(&arena);
}

/* A new id: above all that were ever handed out. */
void judge_note_id(struct sim *s, int64_t id)
{
    if (id <= s->model.newest_id)
        sim_fail(s, "the new id %lld is not above %lld", (long long)id,
                 (long long)s->model.newest_id);
    s->model.newest_id = id;
}

bool judge_id_of_new(struct sim *s, const struct req *r, int64_t replied, const char *params,
                     int64_t *ret_id)
{
    const struct job *row;

    if (is_known(r)) {
        *ret_id = replied;
        return true;
    }
    row = world_row_with(s, params);
    if (row == NULL) {
        s->no_evidence = true;
        return false;
    }
    *ret_id = row->id.v;
    return true;
}

/* ---- actions ---- */

static void check_act_reply(const struct sim *s, const struct req *r, const struct model_job *j)
{
    struct slice reply = buf_slice(&r->op.reply);
    bool cancelling = r->op.action.kind == ACTION_CANCEL && j->state == JOB_RUNNING;
    int status = cancelling ? 202 : r->op.action.kind == ACTION_CLONE ? 201 : 200;

    expect_json(s, r);
    /* Else it may be let go before or after. */
    if (!s->links.left && !s->links.was_left && !s->model.links.had_late)
        expect_text(s, reply, "state", job_state_name(j->state));
    if (reply_id(s, reply, "id") != j->id)
        sim_fail(s, "the action is answered for another job: %s", buf_text(&r->op.reply));
    if (r->op.status != status)
        sim_fail(s, "an action is answered with status %d, it should be %d", r->op.status, status);
}

/* A copy runs from the beginning, waits for nothing and comes from nowhere. */
static void copy_routing(struct model_job *j, const struct model_job *of)
{
    j->routing = of->routing;
    j->routing.n_conds = 0;
    j->routing.changed = 0;
    j->routing.parent = 0;
    j->routing.depth = 0;
    for (int i = 0; i < j->routing.n_steps; i++)
        j->routing.steps[i].skipped = false;
    if (j->routing.n_steps > 0)
        model_step_begin(j, &j->routing.steps[0]);
}

static void make_clone(struct sim *s, struct req *r, const struct model_job *of)
{
    struct model_job like = *of;
    int64_t replied = is_known(r) ? reply_id(s, buf_slice(&r->op.reply), "id") : 0;
    int64_t id;

    model_merge(r->params, of->params, r->action.member, r->action.value);
    if (!judge_id_of_new(s, r, replied, r->params, &id))
        return;
    judge_note_id(s, id);
    struct model_job *j = model_add(&s->model, id, like.queue, 0, s->now.wall_at);

    j->priority = like.priority;
    j->label = like.label;
    j->own_retry = like.own_retry;
    snprintf(j->params, sizeof(j->params), "%s", r->params);
    copy_routing(j, &like);
    if (is_known(r))
        check_act_reply(s, r, j);
}

void judge_act(struct sim *s, struct req *r)
{
    judge_follow(s);
    struct model_job *j = model_find(&s->model, r->op.action.id);
    enum job_action_kind kind = r->op.action.kind;
    enum err_code code = j == NULL ? E_NOT_FOUND : model_act(&s->model, j, &r->action);

    /* While its end is being told, that is what a refusal says. */
    if (code != E_OK && kind == ACTION_RETRY && s->model.n_telling > 0 && is_known(r) &&
        r->op.err.code == E_CONFLICT)
        code = E_CONFLICT;
    expect_code(s, r, code);
    if (code != E_OK)
        return;
    if (kind == ACTION_CLONE) {
        make_clone(s, r, j);
    } else if (kind == ACTION_DELETE) {
        if (is_known(r) && reply_id(s, buf_slice(&r->op.reply), "id") != r->op.action.id)
            sim_fail(s, "the deletion is answered for another job");
    } else if (is_known(r)) {
        check_act_reply(s, r, j);
    }
}

void judge_bulk(struct sim *s, struct req *r)
{
    struct model_work *w = &r->work;
    enum err_code code = E_OK;

    if (w->queue >= 0 && !s->model.queues[w->queue].there)
        code = E_INVALID;
    else if (w->kind == ACTION_MOVE && !s->model.queues[w->target].there)
        code = E_INVALID;
    else if (w->kind == ACTION_MOVE && !queue_state_takes(s->model.queues[w->target].state))
        code = E_QUEUE_DOWN;
    expect_code(s, r, code);
    if (code != E_OK)
        return;
    ASSERT(s->model.n_work < MODEL_WORK_MAX);
    w->last = s->model.newest_id;
    if (is_known(r)) {
        w->id = reply_id(s, buf_slice(&r->op.reply), "id");
    } else if (s->works.count <= s->model.n_work) {
        s->no_evidence = true;
        return;
    } else {
        w->id = s->works.items[s->model.n_work].id;
    }
    judge_note_id(s, w->id);
    s->model.work[s->model.n_work++] = *w;
}

/* ---- logs ---- */

void judge_log(struct sim *s, struct req *r)
{
    const struct log_append *l = &r->op.log;
    struct model_job *j = model_find(&s->model, l->id);

    if (j == NULL) {
        expect_code(s, r, E_NOT_FOUND);
        return;
    }
    if (j->state != JOB_RUNNING || j->token != l->token) {
        expect_code(s, r, E_STALE_LEASE);
        return;
    }
    int64_t end = l->offset + (int64_t)l->data.size;

    if (l->offset > j->log_size) {
        expect_code(s, r, E_INVALID);
    } else if (end > j->log_size && end > model_def_of(&s->model, j)->keep_log * j->attempt) {
        expect_code(s, r, E_TOO_LARGE);
    } else {
        expect_code(s, r, E_OK);
        j->log_size = end > j->log_size ? end : j->log_size;
        j->changed = true;
    }
}
