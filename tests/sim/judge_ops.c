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

/* ---- submit ---- */

/* A known job that has ended is run again, if that was asked for and its queue takes it. */
static enum err_code judge_redo(struct sim *s, const struct model_sub *sub, int64_t id)
{
    const struct model_job *j = model_find(&s->model, id);
    int queue = j->step > 0 ? j->bill.steps[0].queue : j->queue;

    if (!sub->redo || !job_state_ended(j->state))
        return E_OK;
    if (!s->model.queues[queue].there)
        return E_INVALID;
    return queue_state_takes(s->model.queues[queue].state) ? E_OK : E_QUEUE_DOWN;
}

static enum err_code judge_item(struct sim *s, const struct model_sub *sub, int64_t *ret_known)
{
    const struct model_key *key = sub->key < 0 ? NULL : &s->model.keys[sub->key];

    *ret_known = 0;
    if (sub->queue < 0 || !s->model.queues[sub->queue].there)
        return E_INVALID;
    if (key != NULL && key->job != 0) {
        *ret_known = key->job;
        return key->content == sub->content ? judge_redo(s, sub, key->job) : E_CONFLICT;
    }
    if (!queue_state_takes(s->model.queues[sub->queue].state))
        return E_QUEUE_DOWN;
    return judge_bill(s, sub);
}

void judge_add_new(struct sim *s, const struct model_sub *sub, int64_t id, enum judge_new how)
{
    int64_t due_at = sub->delay_us > 0 ? s->now.wall_at + sub->delay_us : sub->due_at;

    judge_note_id(s, id);
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

static enum err_code judge_alone(struct sim *s, const struct req *r, size_t i)
{
    int64_t known;
    enum err_code code = judge_item(s, &r->subs[i], &known);

    for (size_t k = 0; k < i && code == E_OK; k++)
        if (r->subs[i].key >= 0 && r->subs[i].key == r->subs[k].key &&
            r->subs[i].content != r->subs[k].content)
            code = E_CONFLICT;
    return code;
}

/* A key that is known, or comes up again, is a job that waits for nothing new. */
static enum err_code judge_conds_of(struct sim *s, const struct req *r, size_t i, size_t n)
{
    int64_t ids[SIM_ITEMS] = {0};
    bool again = false;

    for (size_t k = 0; k < n; k++) {
        if (r->subs[k].key >= 0)
            ids[k] = s->model.keys[r->subs[k].key].job;
        again = again || (k < i && r->subs[i].key >= 0 && r->subs[k].key == r->subs[i].key);
    }
    return ids[i] != 0 || again ? E_OK : judge_conds(s, r, i, ids);
}

size_t judge_first_refused(struct sim *s, const struct req *r, size_t n, enum err_code *ret_code,
                           enum judge_order order)
{
    int64_t known;
    bool conds = order == JUDGE_WITH_CLASHES;

    for (size_t i = 0; i < n; i++)
        conds = conds && judge_item(s, &r->subs[i], &known) == E_OK;
    for (size_t i = 0; i < n; i++) {
        *ret_code = judge_alone(s, r, i);
        if (*ret_code == E_OK && conds)
            *ret_code = judge_conds_of(s, r, i, n);
        if (*ret_code != E_OK)
            return i;
    }
    for (size_t i = 0; i < n && order == JUDGE_CONDS_LAST; i++)
        if ((*ret_code = judge_conds_of(s, r, i, n)) != E_OK)
            return i;
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

static void run_again(struct sim *s, const struct model_sub *sub, int64_t id)
{
    struct model_act again = {.kind = ACT_RETRY, .anew = true, .label = -1};
    struct model_job *j = model_find(&s->model, id);

    if (sub->redo && job_state_ended(j->state) && model_act(&s->model, j, &again) != E_OK)
        sim_fail(s, "job %lld cannot be run again", (long long)id);
}

/* The id of what the item is: the known job's, or the new one's, which *ret_new says. */
static int64_t id_of_item(struct sim *s, struct req *r, size_t i, int64_t replied,
                          const int64_t *ids, enum judge_new how, bool *ret_new)
{
    const struct model_sub *sub = &r->subs[i];
    bool counts = sub->key >= 0 && how != JUDGE_STAGED; /* its key, now */
    int64_t known = counts ? s->model.keys[sub->key].job : 0;
    int64_t id = 0;

    for (size_t k = 0; k < i && known == 0; k++)
        if (counts && r->subs[k].key == sub->key)
            known = ids[k];
    *ret_new = known == 0;
    if (how == JUDGE_BY_THE_WAY)
        return known != 0 ? known : replied;
    if (known != 0 && is_known(r) && replied != known)
        sim_fail(s, "key %d gave job %lld, it belongs to %lld", sub->key, (long long)replied,
                 (long long)known);
    if (known == 0)
        (void)judge_id_of_new(s, r, replied, sub->params, &id);
    return known != 0 ? known : id;
}

/* All ids are known before the first job is made: they may name each other. */
bool judge_take_items(struct sim *s, struct req *r, const int64_t *replied, size_t first, size_t n,
                      enum judge_new how, int64_t *ret_ids)
{
    bool is_new[SIM_ITEMS] = {false};
    bool all_known = true;

    for (size_t i = first; i < first + n && !s->no_evidence; i++) {
        ret_ids[i] = id_of_item(s, r, i, replied[i], ret_ids, how, &is_new[i]);
        all_known = all_known && !is_new[i];
    }
    for (size_t i = first; i < first + n && !s->no_evidence; i++)
        if (!is_new[i]) /* whatever its place is: others wait for the new run */
            run_again(s, &r->subs[i], ret_ids[i]);
    for (size_t i = first; i < first + n && !s->no_evidence; i++) {
        if (!is_new[i])
            continue;
        judge_add_new(s, &r->subs[i], ret_ids[i], how);
        judge_add_bill(s, r, i, model_find(&s->model, ret_ids[i]), ret_ids, how);
    }
    return all_known;
}

static void submit_whole(struct sim *s, struct req *r)
{
    enum err_code code = E_OK;
    size_t n = r->op.submit.n_items;
    size_t bad = judge_first_refused(s, r, n, &code, JUDGE_CONDS_LAST);
    int64_t replied[SIM_ITEMS] = {0}, made[SIM_ITEMS] = {0};
    struct json_iter it = {.at = NULL};
    struct slice ids;

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
    for (size_t i = 0; i < n; i++)
        replied[i] = next_id(s, r, &it);
    bool all_known = judge_take_items(s, r, replied, 0, n, JUDGE_ON_ITS_OWN, made);

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
        int64_t ids[SIM_ITEMS] = {0};

        if (code == E_OK && known == 0)
            code = judge_conds(s, r, i, ids);
        if (end == NULL)
            sim_fail(s, "%zu lines in the reply, %zu were sent", i, r->op.submit.n_items);
        struct slice line = slice_make(at, (size_t)(end - at)), error;

        if (is_known(r) && json_find(line, "error", &error) != (code != E_OK))
            sim_fail(s, "line %zu should be %s: %.*s", i + 1, err_name(code), (int)line.size,
                     line.data);
        if (is_known(r) && code != E_OK)
            expect_text(s, error, "code", err_name(code));
        else if (code == E_OK) {
            int64_t replied[SIM_ITEMS] = {0};

            replied[i] = is_known(r) ? reply_id(s, line, "id") : 0;
            (void)judge_take_items(s, r, replied, i, 1, JUDGE_ON_ITS_OWN, ids);
        }
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

/* A copy runs from the beginning, waits for nothing and comes from nowhere. */
static void copy_bill(struct model_job *j, const struct model_job *of)
{
    j->bill = of->bill;
    j->bill.n_conds = 0;
    j->bill.changed = 0;
    j->bill.parent = 0;
    j->bill.depth = 0;
    for (int i = 0; i < j->bill.n_steps; i++)
        j->bill.steps[i].skipped = false;
    if (j->bill.n_steps > 0)
        model_step_begin(j, &j->bill.steps[0]);
}

static void make_clone(struct sim *s, struct req *r, const struct model_job *of)
{
    struct model_job like = *of;
    int64_t replied = is_known(r) ? reply_id(s, buf_slice(&r->op.reply), "id") : 0;
    int64_t id;

    model_merge(r->params, of->params, r->act.member, r->act.value);
    if (!judge_id_of_new(s, r, replied, r->params, &id))
        return;
    judge_note_id(s, id);
    struct model_job *j = model_add(&s->model, id, like.queue, 0, s->now.wall_at);

    j->priority = like.priority;
    j->label = like.label;
    j->own_retry = like.own_retry;
    snprintf(j->params, sizeof(j->params), "%s", r->params);
    copy_bill(j, &like);
    if (is_known(r))
        check_act_reply(s, r, j);
}

void judge_act(struct sim *s, struct req *r)
{
    judge_follow(s);
    struct model_job *j = model_find(&s->model, r->op.act.id);
    enum act_kind kind = r->op.act.kind;
    enum err_code code = j == NULL ? E_NOT_FOUND : model_act(&s->model, j, &r->act);

    /* While its end is being told, that is what a refusal says. */
    if (code != E_OK && kind == ACT_RETRY && s->model.n_telling > 0 && is_known(r) &&
        r->op.err.code == E_CONFLICT)
        code = E_CONFLICT;
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
    judge_note_id(s, w->id);
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

static bool is_put(const struct req *r, int queue)
{
    const struct queue_op *o = &r->op.queue;

    return r->put_queue[0] == queue || (o->n_puts > 1 && r->put_queue[1] == queue);
}

static bool is_pruned(const struct sim *s, const struct req *r, int queue)
{
    return r->op.queue.prune && !is_put(r, queue) && s->model.queues[queue].there &&
           queue != MODEL_QUEUES - 1;
}

static bool puts_join(const struct req *r, int join)
{
    for (size_t i = 0; i < r->op.queue.n_joins; i++)
        if (r->put_join[i] == join)
            return true;
    return false;
}

static bool is_join_pruned(const struct sim *s, const struct req *r, int join)
{
    return r->op.queue.prune && !puts_join(r, join) && s->model.links.joins[join].there;
}

/* The model as it would be after the request, to see whether all leads somewhere. */
static void apply_to(struct model *m, const struct sim *s, const struct req *r)
{
    const struct queue_op *o = &r->op.queue;
    bool gone[MODEL_QUEUES];

    for (int i = 0; i < MODEL_QUEUES; i++)
        gone[i] = is_pruned(s, r, i);
    for (int i = 0; i < MODEL_JOINS; i++)
        if (is_join_pruned(s, r, i))
            m->links.joins[i] = (struct model_join){.there = false};
    for (size_t i = 0; i < o->n_puts; i++) {
        struct model_queue *q = &m->queues[r->put_queue[i]];

        if (!q->there || q->def != r->put_def[i] || q->links != r->put_links[i])
            model_raise(m);
        model_set_queue(q, q->there ? q->state : QUEUE_UP, r->put_def[i], r->put_links[i]);
    }
    for (size_t i = 0; i < o->n_joins; i++) {
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
    for (size_t i = 0; i < r->op.queue.n_puts; i++) {
        const struct model_queue_link *l = &model_queue_links[r->put_queue[i]][r->put_links[i]];

        if (!model_leads(&s->model, l->on_success) || !model_leads(&s->model, l->on_failure))
            return true;
    }
    for (size_t i = 0; i < r->op.queue.n_joins; i++)
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
    if (code == E_OK && !r->op.queue.dry_run)
        apply_to(&s->model, s, r);
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
        model_set_queue(q, o->state, q->def, q->links);
    } else if (o->kind == QUEUE_OP_RESTART) {
        expect_code(s, r, E_OK);
        q->restarts++;
        model_raise(&s->model);
    } else if (r->queue == MODEL_QUEUES - 1 || jobs_in(s, r->queue) > 0 ||
               is_led_to(&s->model, DEST_QUEUE, r->queue)) {
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
