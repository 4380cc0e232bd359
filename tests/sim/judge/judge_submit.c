/*
 * What becomes of submits: of one job, of an array as a whole, of lines one by one.
 */
/* SPDX-License-Identifier: MIT */
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "sim.h"

/* A known job that has ended is run again, if that was asked for and its queue takes it. */
static enum err_code judge_redo(struct sim *s, const struct model_sub *sub, int64_t id)
{
    const struct model_job *j = model_find(&s->model, id);
    int queue = j->step > 0 ? j->routing.steps[0].queue : j->queue;

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
    return judge_routing(s, sub);
}

void judge_add_new(struct sim *s, const struct model_sub *sub, int64_t id, enum judge_new how)
{
    int64_t due_at = sub->delay_us > 0 ? s->now.wall_at + sub->delay_us : sub->due_at;

    judge_note_id(s, id);
    struct model_job *j = model_add(&s->model, id, sub->queue, due_at, s->now.wall_at);

    j->delay_us = j->due_at > 0 ? sub->delay_us : 0;
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
static int64_t next_id(struct sim *s, const struct req *r, struct jtext_iter *it)
{
    struct slice value;
    int64_t id = 0;

    if (!is_known(r))
        return 0;
    if (r->op.submit.mode == SUBMIT_ONE)
        return reply_id(s, buf_slice(&r->op.reply), "id");
    struct arena arena = ARENA_INIT;

    if (!jtext_next_item(it, &value) || !id_parse(jtext_text(value, &arena), &id))
        sim_fail(s, "too few ids in %s", buf_text(&r->op.reply));
    arena_deinit(&arena);
    return id;
}

/* One that the same array makes is not there yet when the others are run again. */
static void run_again(struct sim *s, const struct model_sub *sub, int64_t id)
{
    struct model_act again = {.kind = ACTION_RETRY, .anew = true, .label = -1};
    struct model_job *j = model_find(&s->model, id);

    if (j != NULL && sub->redo && job_state_ended(j->state) &&
        model_act(&s->model, j, &again) != E_OK)
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
        if (!is_new
                [i]) { /* it may be one of this array that was cancelled as soon as it was made */
            run_again(s, &r->subs[i], ret_ids[i]);
            continue;
        }
        judge_add_new(s, &r->subs[i], ret_ids[i], how);
        judge_add_routing(s, r, i, model_find(&s->model, ret_ids[i]), ret_ids, how);
    }
    return all_known;
}

static void submit_whole(struct sim *s, struct req *r)
{
    enum err_code code = E_OK;
    size_t n = r->op.submit.n_items;
    size_t bad = judge_first_refused(s, r, n, &code, JUDGE_CONDS_LAST);
    int64_t replied[SIM_ITEMS] = {0}, made[SIM_ITEMS] = {0};
    struct jtext_iter it = {.at = NULL};
    struct slice ids;

    expect_code(s, r, code);
    if (bad < n) {
        unsigned item = r->op.submit.mode == SUBMIT_ARRAY ? (unsigned)bad + 1 : 0;

        if (is_known(r) && r->op.err.item != item)
            sim_fail(s, "item %u is blamed, it should be %u", r->op.err.item, item);
        return;
    }
    if (is_known(r) && r->op.submit.mode == SUBMIT_ARRAY) {
        if (!jtext_find(buf_slice(&r->op.reply), "ids", &ids))
            sim_fail(s, "no ids in %s", buf_text(&r->op.reply));
        it = jtext_items(ids);
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

        if (is_known(r) && jtext_find(line, "error", &error) != (code != E_OK))
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
