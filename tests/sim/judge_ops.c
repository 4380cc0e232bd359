/*
 * What becomes of requests other than claims: the model follows, the reply is compared.
 */
/* SPDX-License-Identifier: MIT */
#include "base/id.h"
#include "base/json.h"
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

    if (!json_find(object, name, &value) || !id_parse(json_text(value, &arena), &id))
        sim_fail(s, "no %s in the reply %.*s", name, (int)object.size, object.data);
    arena_deinit(&arena);
    return id;
}

static void check_json(const struct sim *s, const struct req *r)
{
    struct err err = ERR_INIT;
    struct slice value;

    if (json_check(buf_slice(&r->op.reply), &value, &err) != E_OK)
        sim_fail(s, "the reply is no JSON: %s: %s", err.msg, buf_text(&r->op.reply));
}

static void expect_text(const struct sim *s, struct slice object, const char *name,
                        const char *want)
{
    struct slice value;
    struct arena arena = ARENA_INIT;

    if (!json_find(object, name, &value) || !slice_is(json_text(value, &arena), want))
        sim_fail(s, "%s should be %s in the reply %.*s", name, want, (int)object.size, object.data);
    arena_deinit(&arena);
}

/* A new id: above all that were ever handed out. */
static void note_id(struct sim *s, int64_t id)
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

/* ---- submit ---- */

static enum err_code judge_item(struct sim *s, const struct model_sub *sub, int64_t *ret_known)
{
    const struct model_key *key = sub->key < 0 ? NULL : &s->model.keys[sub->key];

    *ret_known = 0;
    if (sub->queue < 0 || !s->model.queues[sub->queue].there)
        return E_INVALID;
    if (key != NULL && key->job != 0) {
        *ret_known = key->job;
        return key->content == sub->content ? E_OK : E_CONFLICT;
    }
    return queue_state_takes(s->model.queues[sub->queue].state) ? E_OK : E_QUEUE_DOWN;
}

void judge_add_new(struct sim *s, const struct model_sub *sub, int64_t id, enum judge_new how)
{
    int64_t due_at = sub->delay_us > 0 ? s->now.wall_at + sub->delay_us : sub->due_at;

    note_id(s, id);
    struct model_job *j = model_add(&s->model, id, sub->queue, due_at, s->now.wall_at);

    j->priority = sub->priority;
    j->key = sub->key;
    j->label = sub->label;
    j->own_retry = sub->own_retry;
    snprintf(j->params, sizeof(j->params), "%s", sub->params);
    j->content = sub->content;
    if (how == JUDGE_STAGED)
        j->state = JOB_STAGED;
    else if (sub->key >= 0)
        s->model.keys[sub->key] = (struct model_key){.job = id, .content = sub->content};
}

size_t judge_first_refused(struct sim *s, const struct req *r, size_t n, enum err_code *ret_code)
{
    int64_t known;

    for (size_t i = 0; i < n; i++) {
        *ret_code = judge_item(s, &r->subs[i], &known);
        for (size_t k = 0; k < i && *ret_code == E_OK; k++)
            if (r->subs[i].key >= 0 && r->subs[i].key == r->subs[k].key &&
                r->subs[i].content != r->subs[k].content)
                *ret_code = E_CONFLICT;
        if (*ret_code != E_OK)
            return i;
    }
    return n;
}

/* The next id in a reply to a submit. */
static int64_t next_id(struct sim *s, const struct req *r, struct json_iter *it)
{
    struct slice value;
    int64_t id = 0;

    if (!is_known(r))
        return 0;
    if (r->op.submit.mode == SUBMIT_ONE)
        return reply_id(s, buf_slice(&r->op.reply), "id");
    struct arena arena = ARENA_INIT;

    if (!json_next_item(it, &value) || !id_parse(json_text(value, &arena), &id))
        sim_fail(s, "too few ids in %s", buf_text(&r->op.reply));
    arena_deinit(&arena);
    return id;
}

static void take_item(struct sim *s, struct req *r, size_t i, int64_t replied, bool *all_known)
{
    int64_t known = 0, id;

    if (judge_item(s, &r->subs[i], &known) != E_OK)
        sim_fail(s, "an item of an accepted array is refused");
    if (known != 0) {
        if (is_known(r) && replied != known)
            sim_fail(s, "key %d gave job %lld, it belongs to %lld", r->subs[i].key,
                     (long long)replied, (long long)known);
        return;
    }
    *all_known = false;
    if (judge_id_of_new(s, r, replied, r->subs[i].params, &id))
        judge_add_new(s, &r->subs[i], id, JUDGE_ON_ITS_OWN);
}

static void submit_whole(struct sim *s, struct req *r)
{
    enum err_code code = E_OK;
    size_t n = r->op.submit.n_items;
    size_t bad = judge_first_refused(s, r, n, &code);
    struct json_iter it = {.at = NULL};
    struct slice ids;
    bool all_known = true;

    expect_code(s, r, code);
    if (bad < n) {
        unsigned item = r->op.submit.mode == SUBMIT_ARRAY ? (unsigned)bad + 1 : 0;

        if (is_known(r) && r->op.err.item != item)
            sim_fail(s, "item %u is blamed, it should be %u", r->op.err.item, item);
        return;
    }
    if (is_known(r) && r->op.submit.mode == SUBMIT_ARRAY) {
        if (!json_find(buf_slice(&r->op.reply), "ids", &ids))
            sim_fail(s, "no ids in %s", buf_text(&r->op.reply));
        it = json_items(ids);
    }
    for (size_t i = 0; i < n && !s->no_evidence; i++)
        take_item(s, r, i, next_id(s, r, &it), &all_known);
    if (is_known(r) && r->op.status != (all_known ? 200 : 201))
        sim_fail(s, "a submit is answered with status %d", r->op.status);
}

static void submit_lines(struct sim *s, struct req *r)
{
    const char *at = buf_text(&r->op.reply);

    expect_code(s, r, E_OK);
    for (size_t i = 0; i < r->op.submit.n_items && !s->no_evidence; i++) {
        const char *end = is_known(r) ? strchr(at, '\n') : at;
        int64_t known = 0;
        enum err_code code = judge_item(s, &r->subs[i], &known);
        bool all_known;

        if (end == NULL)
            sim_fail(s, "%zu lines in the reply, %zu were sent", i, r->op.submit.n_items);
        struct slice line = slice_make(at, (size_t)(end - at)), error;

        if (is_known(r) && json_find(line, "error", &error) != (code != E_OK))
            sim_fail(s, "line %zu should be %s: %.*s", i + 1, err_name(code), (int)line.size,
                     line.data);
        if (is_known(r) && code != E_OK)
            expect_text(s, error, "code", err_name(code));
        else if (code == E_OK)
            take_item(s, r, i, is_known(r) ? reply_id(s, line, "id") : 0, &all_known);
        at = end + 1;
    }
}

void judge_submit(struct sim *s, struct req *r)
{
    if (r->op.submit.mode == SUBMIT_LINES)
        submit_lines(s, r);
    else
        submit_whole(s, r);
}

/* ---- actions ---- */

static void check_act_reply(const struct sim *s, const struct req *r, const struct model_job *j)
{
    struct slice reply = buf_slice(&r->op.reply);
    bool cancelling = r->op.act.kind == ACT_CANCEL && j->state == JOB_RUNNING;
    int status = cancelling ? 202 : r->op.act.kind == ACT_CLONE ? 201 : 200;

    check_json(s, r);
    expect_text(s, reply, "state", job_state_name(j->state));
    if (reply_id(s, reply, "id") != j->id)
        sim_fail(s, "the action is answered for another job: %s", buf_text(&r->op.reply));
    if (r->op.status != status)
        sim_fail(s, "an action is answered with status %d, it should be %d", r->op.status, status);
}

static void make_clone(struct sim *s, struct req *r, const struct model_job *of)
{
    struct model_job like = *of;
    int64_t replied = is_known(r) ? reply_id(s, buf_slice(&r->op.reply), "id") : 0;
    int64_t id;

    model_merge(r->params, of->params, r->act.member, r->act.value);
    if (!judge_id_of_new(s, r, replied, r->params, &id))
        return;
    note_id(s, id);
    struct model_job *j = model_add(&s->model, id, like.queue, 0, s->now.wall_at);

    j->priority = like.priority;
    j->label = like.label;
    j->own_retry = like.own_retry;
    snprintf(j->params, sizeof(j->params), "%s", r->params);
    if (is_known(r))
        check_act_reply(s, r, j);
}

void judge_act(struct sim *s, struct req *r)
{
    struct model_job *j = model_find(&s->model, r->op.act.id);
    enum act_kind kind = r->op.act.kind;
    enum err_code code = j == NULL ? E_NOT_FOUND : model_act(&s->model, j, &r->act);

    expect_code(s, r, code);
    if (code != E_OK)
        return;
    if (kind == ACT_CLONE) {
        make_clone(s, r, j);
    } else if (kind == ACT_DELETE) {
        if (is_known(r) && reply_id(s, buf_slice(&r->op.reply), "id") != r->op.act.id)
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
    else if (w->kind == ACT_MOVE && !s->model.queues[w->target].there)
        code = E_INVALID;
    else if (w->kind == ACT_MOVE && !queue_state_takes(s->model.queues[w->target].state))
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
    note_id(s, w->id);
    s->model.work[s->model.n_work++] = *w;
}

/* ---- queues ---- */

static size_t jobs_in(const struct sim *s, int queue)
{
    size_t n = 0;

    for (size_t i = 0; i < s->model.n_jobs; i++)
        n += s->model.jobs[i].queue == queue;
    return n;
}

static bool is_pruned(const struct sim *s, const struct req *r, int queue)
{
    const struct queue_op *o = &r->op.queue;
    bool put = r->put_queue[0] == queue || (o->n_puts > 1 && r->put_queue[1] == queue);

    return o->prune && !put && s->model.queues[queue].there && queue != MODEL_QUEUES - 1;
}

static void apply_definitions(struct sim *s, const struct req *r)
{
    const struct queue_op *o = &r->op.queue;

    for (int i = 0; i < MODEL_QUEUES; i++)
        if (is_pruned(s, r, i) && jobs_in(s, i) > 0) {
            expect_code(s, r, E_CONFLICT);
            return;
        }
    expect_code(s, r, E_OK);
    for (size_t i = 0; i < o->n_puts && !o->dry_run; i++) {
        struct model_queue *q = &s->model.queues[r->put_queue[i]];

        if (!q->there || q->def != r->put_def[i])
            model_raise(&s->model);
        model_set_queue(q, q->there ? q->state : QUEUE_UP, r->put_def[i]);
    }
    for (int i = 0; i < MODEL_QUEUES && !o->dry_run; i++)
        if (is_pruned(s, r, i)) {
            s->model.queues[i].there = false;
            model_raise(&s->model);
        }
}

void judge_queue(struct sim *s, struct req *r)
{
    const struct queue_op *o = &r->op.queue;
    struct model_queue *q = &s->model.queues[r->queue];

    if (o->kind == QUEUE_OP_APPLY) {
        apply_definitions(s, r);
    } else if (!q->there) {
        expect_code(s, r, E_NOT_FOUND);
    } else if (o->kind == QUEUE_OP_STATE) {
        expect_code(s, r, E_OK);
        model_set_queue(q, o->state, q->def);
    } else if (o->kind == QUEUE_OP_RESTART) {
        expect_code(s, r, E_OK);
        q->restarts++;
        model_raise(&s->model);
    } else if (r->queue == MODEL_QUEUES - 1 || jobs_in(s, r->queue) > 0) {
        expect_code(s, r, E_CONFLICT);
    } else {
        expect_code(s, r, E_OK);
        q->there = false;
        model_raise(&s->model);
    }
    if (is_known(r) && r->op.err.code == E_OK)
        check_json(s, r);
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
