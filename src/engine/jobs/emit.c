/*
 * Emit: a running job creates jobs, and saves how far it has got.
 *
 * The requests of an attempt are numbered from 1; a repeated one gets the same reply again.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/jobs/emit.h"

#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/clock/expire.h"
#include "engine/filters/filters.h"
#include "engine/followups/topic.h"
#include "engine/gates/lanes.h"
#include "engine/groups/choose.h"
#include "engine/jobs/rights.h"
#include "engine/jobs/submit.h"
#include "engine/state.h"
#include "store/jobs/emits.h"
#include "store/jobs/jobs.h"

/* ---- may it emit? ---- */

/* Refuses a request that does not come from the worker that runs the job. */
static enum err_code judge_lease(struct engine *e, struct op *op, struct job *j, struct err *err)
{
    const struct emit *x = &op->emit;
    bool found = false;

    if (store_job_load(e->store, x->id, LOAD_STATE, &e->batch.arena, j, &found, err) != E_OK)
        return err->code;
    if (found && j->state == JOB_RUNNING && j->token == x->token)
        return E_OK;
    char text[ID_TEXT_SIZE];

    if (!found) {
        err_set(&op->err, E_NOT_FOUND, "there is no job %s (any more)", id_format(x->id, text));
        return E_OK;
    }
    e->batch.tally.stale++;
    err_set(&op->err, E_STALE_LEASE, "the lease is not valid any more: the job is %s",
            job_state_name(j->state));
    return E_OK;
}

/* On a shared store another server may end the job: its row must say that it has emitted.  On any
 * store it says that the job has opened groups, which do not end before it. */
static enum err_code mark_emitted(struct engine *e, const struct job *was, bool opens,
                                  struct err *err)
{
    struct job now = *was;
    bool hit = false;

    now.emitted = was->emitted || must_tell_store(e);
    now.opened = was->opened || opens;
    if (now.emitted == was->emitted && now.opened == was->opened)
        return E_OK;
    if (store_job_update(e->store, was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, was->id.v, "it is not as it was read", err);
    return E_OK;
}

/* Whether the jobs are staged.  Visible ones are when the job has a saved cursor: the next attempt
 * would restart there and create them again. */
static enum err_code judge_staging(struct engine *e, const struct emit *x, bool *ret_staged,
                                   struct err *err)
{
    struct slice saved = {0};

    *ret_staged = !x->visible;
    if (!x->visible || x->n_jobs == 0 || x->cursor.size > 0)
        return E_OK;
    if (store_cursor_find(e->store, x->id, &e->batch.arena, &saved, err) != E_OK)
        return err->code;
    *ret_staged = saved.size > 0;
    return E_OK;
}

/* Looks up what the filters want to know.  Staged jobs are judged at their release: until then
 * nothing is taken, and nobody is waited for. */
static enum err_code look_at_filters(struct engine *e, const struct submit_item *items, size_t n,
                                     enum submit_keys keys, struct plan *plans, struct err *err)
{
    bool any = false;

    for (size_t i = 0; i < n && e->queues.filtered > 0; i++) {
        if (plans[i].queue == NULL || !queue_has_filters(plans[i].queue))
            continue;
        submit_want_filters(e, &items[i], &plans[i]);
        any = true;
    }
    filters_begin(e);
    if (!any)
        return E_OK;
    return keys == SUBMIT_KEYS_NOW ? filters_look(e, err) : filters_peek(e, err);
}

/* If one job is refused, all are.  *ret_opens: they open groups. */
static enum err_code judge_jobs(struct engine *e, struct op *op, const struct emit *x,
                                const struct group_scope *scope, struct plan *plans,
                                bool *ret_opens, size_t *ret_bad, struct err *err)
{
    enum submit_keys keys = scope->staged ? SUBMIT_KEYS_LATER : SUBMIT_KEYS_NOW;
    size_t bad = 0;

    if (keys == SUBMIT_KEYS_NOW && submit_take_keys(e, x->jobs, x->n_jobs, plans, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < x->n_jobs; i++)
        if (submit_judge(e, &x->jobs[i], keys, &plans[i], err) != E_OK)
            return err->code;
    if (((scope->group != 0 || groups_any_chosen(x->jobs, x->n_jobs)) &&
         groups_choose(e, scope, x->jobs, x->n_jobs, plans, ret_opens, err) != E_OK) ||
        look_at_filters(e, x->jobs, x->n_jobs, keys, plans, err) != E_OK ||
        submit_prepare(e, x->jobs, x->n_jobs, keys, plans, err) != E_OK)
        return err->code;
    if (keys == SUBMIT_KEYS_NOW)
        bad = submit_first_refused(x->jobs, x->n_jobs, plans, &op->err);
    else
        while (bad < x->n_jobs && plans[bad].refused.code == E_OK)
            bad++;
    if (bad == x->n_jobs)
        return E_OK;
    op->err = plans[bad].refused;
    *ret_bad = bad;
    filters_undo(e);
    return E_OK;
}

/* ---- creating ---- */

/* Staged jobs are written at once, not with the batch's other new jobs: the batch may also end the
 * attempt, which needs them in the store. */
static enum err_code make_staged(struct engine *e, const struct emit *x, struct plan *plans,
                                 struct err *err)
{
    struct job *jobs = arena_array(&e->batch.arena, x->n_jobs, sizeof(*jobs));
    size_t n = 0;

    for (size_t i = 0; i < x->n_jobs; i++) {
        if (plan_is_dropped(&plans[i])) {
            drops_note(e, plans[i].queue->id, &plans[i].ruling->drop);
            groups_note_dropped(e, &plans[i]);
            continue;
        }
        if (groups_join(e, &plans[i], err) != E_OK)
            return err->code;
        struct job *j = &jobs[n++];

        *j = submit_make_job(e, &x->jobs[i], &plans[i]);
        j->state = JOB_STAGED;
        if (lane_assign(e, j, err) != E_OK)
            return err->code;
        if (plans[i].after != NULL) /* judged when it is released */
            j->holds |= JOB_HOLD_AFTER;
        expire_note(e, &x->jobs[i], plans[i].queue, plans[i].id);
        effects_move(e, j, JOB_NONE, NULL, "emitted");
        if (submit_keep_progress(e, &x->jobs[i], &plans[i], err) != E_OK)
            return err->code;
    }
    return store_jobs_insert(e->store, jobs, n, err);
}

static bool any_key(const struct emit *x)
{
    for (size_t i = 0; i < x->n_jobs; i++)
        if (x->jobs[i].key.size > 0)
            return true;
    return false;
}

/* Adds the row that answers a repeated request and lists its jobs. */
static enum err_code add_row(struct engine *e, const struct emit *x, int64_t row_id, bool staged,
                             const struct plan *plans, size_t *ret_n, struct err *err)
{
    int64_t *ids = arena_array(&e->batch.arena, x->n_jobs + 1, sizeof(*ids));
    uint64_t *contents = staged && any_key(x)
                             ? arena_array(&e->batch.arena, x->n_jobs, sizeof(*contents))
                             : NULL;
    struct slice dropped = {0};
    size_t n = 0;

    for (size_t i = 0; i < x->n_jobs; i++) {
        if (plan_is_dropped(&plans[i]))
            continue;
        if (contents != NULL)
            contents[n] = x->jobs[i].content;
        ids[n++] = plans[i].id;
    }
    if (n < x->n_jobs) {
        CLEANUP(buf) struct buf json = BUF_INIT(OP_REPLY_MAX);

        submit_add_dropped(&json, plans, x->n_jobs);
        dropped = arena_copy(&e->batch.arena, buf_slice(&json));
    }
    *ret_n = n;
    return store_emit_add(e->store,
                          &(struct stored_emit){.id = row_id,
                                                .owner = x->id,
                                                .token = x->token,
                                                .seq = x->seq,
                                                .visible = x->visible,
                                                .staged = staged && n > 0,
                                                .jobs = ids,
                                                .contents = contents,
                                                .n_jobs = n,
                                                .dropped = dropped},
                          err);
}

static enum err_code make_jobs(struct engine *e, const struct emit *x, int64_t row_id, bool staged,
                               struct plan *plans, size_t *ret_n, struct err *err)
{
    if (engine_write(e, err) != E_OK ||
        (staged ? make_staged(e, x, plans, err)
                : submit_create_all(e, x->jobs, x->n_jobs, plans, err)) != E_OK)
        return err->code;
    return add_row(e, x, row_id, staged, plans, ret_n, err);
}

static struct emitter *emitter_of(struct engine *e, const struct emit *x)
{
    struct emitter *m = map_find(&e->emitters.by_owner, x->id);

    if (m == NULL) {
        m = mem_zalloc(sizeof(*m));
        m->row = (struct stored_emitter){.owner = x->id, .token = x->token};
        map_put(&e->emitters.by_owner, x->id, m);
    }
    return m;
}

static enum err_code note_emit(struct engine *e, const struct emit *x, size_t staged,
                               struct err *err)
{
    struct emitter *m = emitter_of(e, x);

    if (m->row.token != x->token)
        return store_job_damaged(e->store, x->id, "its emits are of another attempt", err);
    m->row.seq = x->seq;
    m->row.staged += (int64_t)staged;
    if (x->cursor.size == 0)
        return store_emitter_put(e->store, &m->row, err);
    if (store_cursor_put(e->store, x->id, x->cursor, err) != E_OK)
        return err->code;
    return emit_release_visible(e, m, x->seq, err);
}

/* ---- the request ---- */

/* `x` is the request with each publication replaced by one job for each subscriber.  The reply has
 * one id for each of its jobs. */
static enum err_code take_all(struct engine *e, struct op *op, const struct emit *x,
                              const struct job *j, size_t *ret_bad, struct err *err)
{
    struct plan *plans = arena_array(&e->batch.arena, x->n_jobs + 1, sizeof(*plans));
    int64_t row_id = engine_new_id(e); /* older than its jobs */
    struct group_scope scope = {
        .group = j->group, .opener = j->id.v, .is_new = !j->opened, .lives = true};
    bool opens = false;
    size_t n = 0;

    if (judge_staging(e, x, &scope.staged, err) != E_OK ||
        judge_jobs(e, op, x, &scope, plans, &opens, ret_bad, err) != E_OK)
        return err->code;
    if (op->err.code != E_OK)
        return E_OK;
    if (make_jobs(e, x, row_id, scope.staged, plans, &n, err) != E_OK ||
        mark_emitted(e, j, opens, err) != E_OK ||
        note_emit(e, x, scope.staged ? n : 0, err) != E_OK)
        return err->code;
    buf_add_char(&op->reply, '{');
    submit_add_ids(&op->reply, plans, x->n_jobs);
    buf_add_char(&op->reply, '}');
    return E_OK;
}

static enum err_code take(struct engine *e, struct op *op, const struct job *j, struct err *err)
{
    struct emit x = op->emit;
    struct topic_list list;
    size_t bad = 0;

    if (x.cursor.size > 0 && !x.may_command &&
        rights_judge_change_of(e, x.id, "cursor", &op->err, err) != E_OK)
        return err->code;
    if (op->err.code != E_OK)
        return E_OK;
    if (rights_judge_emits(e, j, &x.jobs, x.n_jobs, &bad, &op->err, err) != E_OK)
        return err->code;
    if (op->err.code == E_OK && topic_expand(e, x.jobs, x.n_jobs, &list, &bad, &op->err)) {
        x.jobs = list.items;
        x.n_jobs = list.n;
        if (take_all(e, op, &x, j, &bad, err) != E_OK)
            return err->code;
        bad = topic_place(&list, bad);
    }
    if (op->err.code != E_OK)
        op->err.item = (unsigned)bad + 1;
    return E_OK;
}

/* The ids of the row, and null at the places of what was dropped. */
static void add_repeated(struct buf *b, const struct stored_emit *row)
{
    struct jtext_iter drops = jtext_items(row->dropped.size > 0 ? row->dropped : SLICE("[]"));
    struct slice drop;
    struct slice index = {0};
    bool more = jtext_next_item(&drops, &drop);

    buf_add_str(b, "{\"ids\":[");
    for (size_t place = 0, i = 0; i < row->n_jobs || more; place++) {
        if (more && jtext_find(drop, "index", &index) && jtext_int(index) <= (int64_t)place) {
            jtext_add_comma(b);
            buf_add_str(b, "null");
            more = jtext_next_item(&drops, &drop);
        } else if (i < row->n_jobs) {
            submit_add_id(b, row->jobs[i++]);
        }
    }
    buf_add_char(b, ']');
    if (row->dropped.size > 0)
        jtext_put_raw(b, "dropped", row->dropped);
    buf_add_char(b, '}');
}

/* The request was taken already: replies with the same ids. */
static enum err_code repeat(struct engine *e, struct op *op, const struct emitter *m,
                            struct err *err)
{
    struct stored_emit row;

    if (store_emit_find(e->store, &m->row, op->emit.seq, &e->batch.arena, &row, err) != E_OK)
        return err->code;
    if (row.id == 0)
        return store_job_damaged(e->store, op->emit.id, "the row of its emit is missing", err);
    add_repeated(&op->reply, &row);
    return E_OK;
}

enum err_code emit_run(struct engine *e, struct op *op, struct err *err)
{
    const struct emit *x = &op->emit;
    struct emitter *m = NULL;
    struct job j;

    ASSERT(x->n_jobs <= OP_EMIT_MAX && x->seq > 0);
    if (judge_lease(e, op, &j, err) != E_OK)
        return err->code;
    if (op->err.code != E_OK)
        return E_OK;
    if (emitter_find(e, &j, &m, err) != E_OK)
        return err->code;
    int64_t last = m == NULL ? 0 : m->row.seq;

    if (x->seq <= last)
        return repeat(e, op, m, err);
    if (x->seq == last + 1)
        return take(e, op, &j, err);
    err_set(&op->err, E_INVALID, "seq: must be %lld, one more than the last one of this lease",
            (long long)last + 1);
    return E_OK;
}

/* ---- what a finish emits ---- */

struct fanout emit_cost(const struct engine *e, const struct exchange *x)
{
    struct fanout all = {.rows = 0};

    for (size_t i = 0; i < x->n_finish; i++) {
        struct fanout one = topic_cost(e, x->finish[i].emit, x->finish[i].n_emit);

        all.rows += one.rows;
        all.bytes += one.bytes;
    }
    return all;
}

bool emit_is_too_much(const struct engine *e, const struct exchange *x, struct err *refused)
{
    if (x->n_emit == 0 || x->n_finish < 2)
        return false;
    struct fanout cost = emit_cost(e, x);

    return topic_is_too_much(&cost, refused) && err_wrap(refused, "finish") != E_OK;
}

static bool refuse_emitted(const struct topic_list *list, const struct plan *plans, size_t i,
                           struct err *refused)
{
    if (plans[i].refused.code == E_OK)
        return false;
    *refused = plans[i].refused;
    (void)err_wrap(refused, "emit[%zu]", topic_place(list, i));
    return true;
}

enum err_code emit_judge_finish(struct engine *e, const struct job *j,
                                const struct finish_item *item, struct plan **ret_plans,
                                bool *ret_opens, struct err *refused, struct err *err)
{
    const struct group_scope scope = {
        .group = j->group, .opener = j->id.v, .is_new = !j->opened, .lives = true};
    struct topic_list list;
    size_t bad = 0;

    if (!topic_expand(e, item->emit, item->n_emit, &list, &bad, refused)) {
        (void)err_wrap(refused, "emit[%zu]", bad);
        return E_OK;
    }
    struct plan *plans = arena_array(&e->batch.arena, list.n + 1, sizeof(*plans));

    *ret_plans = plans;
    for (size_t i = 0; i < list.n; i++) {
        if (submit_judge(e, &list.items[i], SUBMIT_KEYS_LATER, &plans[i], err) != E_OK)
            return err->code;
        if (refuse_emitted(&list, plans, i, refused))
            return E_OK;
    }
    if ((scope.group != 0 || groups_any_chosen(list.items, list.n)) &&
        groups_choose(e, &scope, list.items, list.n, plans, ret_opens, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < list.n; i++)
        if (refuse_emitted(&list, plans, i, refused))
            return E_OK;
    if (submit_take_keys(e, list.items, list.n, plans, err) != E_OK)
        return err->code;
    /* As for staged jobs, a known key is no error, whatever its content: jobs that would wait for
     * the new job wait for the one that has the key. */
    for (size_t i = 0; i < list.n; i++)
        if (list.items[i].key.size > 0) {
            submit_judge_key(e, &list.items[i], &plans[i]);
            plans[i].refused = ERR_INIT;
        }
    if (look_at_filters(e, list.items, list.n, SUBMIT_KEYS_NOW, plans, err) != E_OK ||
        submit_prepare(e, list.items, list.n, SUBMIT_KEYS_NOW, plans, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < list.n; i++)
        if (refuse_emitted(&list, plans, i, refused)) {
            filters_undo(e);
            break;
        }
    return E_OK;
}

enum err_code emit_make_finish(struct engine *e, const struct finish_item *item, struct plan *plans,
                               struct err *err)
{
    struct err ignored = ERR_INIT;
    struct topic_list list;
    size_t bad;

    if (!topic_expand(e, item->emit, item->n_emit, &list, &bad, &ignored)) /* as it was judged */
        return err_set(err, E_INTERNAL,
                       "the emits of a finish are refused now, after they were accepted: %s",
                       ignored.msg);
    for (size_t i = 0; i < list.n; i++)
        if ((!plans[i].known || plans[i].ruling != NULL) &&
            submit_create_all(e, &list.items[i], 1, &plans[i], err) != E_OK)
            return err->code;
    return E_OK;
}
