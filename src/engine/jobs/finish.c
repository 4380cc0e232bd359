/*
 * Finish: a worker reports how an attempt ended.
 *
 * The token alone decides.  A repeated finish with the same outcome is answered ok, as the first
 * reply may have been lost; any other finish under an old token is stale.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/jobs/finish.h"

#include "base/jtext/jtext.h"
#include "core/group/merge_patch.h"
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/followups/route.h"
#include "engine/followups/signal.h"
#include "engine/gates/told.h"
#include "engine/jobs/job_end.h"
#include "engine/jobs/rights.h"
#include "engine/queues/change.h"
#include "engine/queues/queue_log.h"
#include "engine/reads/job_json.h"
#include "engine/state.h"
#include "store/jobs/emits.h"
#include "store/jobs/jobs.h"
#include "store/jobs/record.h"

/* The queue's retry policy, overridden by the job's own. */
static enum err_code policy_of(struct engine *e, const struct queue *q, const struct job *j,
                               struct retry_policy *ret_policy, struct err *err)
{
    struct err ignored = ERR_INIT;
    struct slice options = {0};
    struct slice own;

    *ret_policy = q->def.retry;
    if (store_job_options(e->store, j->id.v, &e->batch.arena, &options, err) != E_OK)
        return err->code;
    /* It was checked at the submit: if it cannot be parsed now, the queue's policy counts. */
    if (options.size > 0 && jtext_find(options, "retry", &own) &&
        retry_policy_parse(own, &q->def.retry, ret_policy, &ignored) != E_OK)
        *ret_policy = q->def.retry;
    return E_OK;
}

static const char *word_for(enum job_event event, enum job_outcome outcome)
{
    switch (event) {
    case JOB_EV_DONE: return "done";
    case JOB_EV_FAIL: return "failed";
    case JOB_EV_CANCEL: return "cancelled";
    case JOB_EV_RETURN: return "returned";
    case JOB_EV_LOSE: return "lost";
    case JOB_EV_DEFER: return outcome == JOB_OUT_LATER ? "later" : "retry";
    case JOB_EV_WAKE:
    case JOB_EV_HOLD:
    case JOB_EV_CLAIM:
    case JOB_EV_RELAY:
    case JOB_EV_AGAIN:
    case JOB_EV_STEP:
    case JOB_EVENT_COUNT: break;
    }
    return "moved";
}

/* Adds the attempt to the job's record.  The last attempt of an ended job is in its row instead,
 * unless it has more data than fits there. */
static enum err_code write_end(struct engine *e, const struct job *was, struct job *now,
                               const struct attempt_gain *gain, struct err *err)
{
    struct progress_entry entry = job_last_entry(now);
    bool ended = job_state_ended(now->state);
    bool hit = false;

    entry.set = gain->set;
    if (now->outcome != JOB_OUT_RETURNED && (!ended || gain->set.size > 0 || now->step > 0) &&
        store_progress_add(e->store, was->id.v, &entry, err) != E_OK)
        return err->code;
    if (ended)
        now->result = gain->result.size > 0 ? gain->result : gain->set;
    if ((ended ? store_job_end(e->store, was, now, &hit, err)
               : store_job_update(e->store, was, now, &hit, err)) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, was->id.v, "it is not as it was read", err);
    return E_OK;
}

/* A cursor belongs to one step.  It is kept when the job fails in that step, which may be run
 * again. */
static enum err_code forget_cursor(struct engine *e, const struct job *was, const struct job *now,
                                   struct err *err)
{
    bool stays = now->state == JOB_FAILED && now->failed_step == was->step;

    return stays ? E_OK : store_cursor_remove(e->store, was->id.v, err);
}

/* Adds the end of an attempt to the totals.  A step that another one follows does not end the
 * job. */
static void tally_end(struct engine *e, const struct job *now, enum job_event event,
                      enum job_outcome outcome)
{
    bool goes_on = (event == JOB_EV_DONE || event == JOB_EV_FAIL) && !job_state_ended(now->state);

    e->batch.tally.outcomes[outcome] += !goes_on;
    e->batch.tally.failed += now->state == JOB_FAILED;
    e->batch.tally.cancelled += event == JOB_EV_CANCEL;
    e->batch.tally.retried += event == JOB_EV_DEFER && outcome == JOB_OUT_FAILED;
}

/* The step ended before the cancel reached it: cancels the job before its next step. */
static enum err_code cancel_rest(struct engine *e, const struct job *was, const struct job *now,
                                 struct err *err)
{
    if (!was->cancelling || now->state != JOB_READY || now->step == was->step)
        return E_OK;
    return job_end_unrun(e, now, JOB_EV_CANCEL, JOB_CAUSE_CANCELLED, slice_make(NULL, 0), err);
}

enum err_code attempt_end_run(struct engine *e, const struct job *was,
                              const struct attempt_end *end, const struct attempt_gain *gain,
                              struct err *err)
{
    struct queue *q = queue_by_id(e, was->queue);
    struct retry_policy policy = q->def.retry;
    struct job now = *was;

    if (end->outcome == JOB_OUT_FAILED && policy_of(e, q, was, &policy, err) != E_OK)
        return err->code;
    enum job_event event = attempt_apply(&now, end, &policy, &e->rng);
    bool failed = now.failures > was->failures; /* no failure: a cancel, `later` by an exit rule */
    bool step_ends = was->step > 0 && (event == JOB_EV_DONE || event == JOB_EV_FAIL);

    now.emitted = false;
    if (engine_write(e, err) != E_OK ||
        (step_ends ? route_step_end(e, was, &now, event, gain, err)
                   : write_end(e, was, &now, gain, err)) != E_OK ||
        emit_attempt_ended(e, was, event == JOB_EV_DONE, err) != E_OK ||
        (step_ends && event == JOB_EV_FAIL && forget_cursor(e, was, &now, err) != E_OK))
        return err->code;
    effects_move(e, &now, JOB_RUNNING, q,
                 now.state == JOB_READY && step_ends ? "step" : word_for(event, end->outcome));
    VEC_PUSH(&e->batch.ended_attempts, ((struct attempt_ref){was->id.v, was->token}));
    tally_end(e, &now, event, end->outcome);
    if (step_ends && cancel_rest(e, was, &now, err) != E_OK)
        return err->code;
    if ((failed || end->outcome == JOB_OUT_LOST) &&
        queue_note_attempt(e, q, &now, failed ? "failed" : "lost", err) != E_OK)
        return err->code;
    bool counted = was->failures > 0; /* the streak counts a job once, however often it fails */

    if (end->outcome != JOB_OUT_DONE && (!failed || counted))
        return E_OK;
    return queue_count_streak(e, q, failed ? was->id.v : 0, err);
}

/* How the claim with that token ended; JOB_OUT_NONE when that is not known. */
static enum err_code outcome_of(struct engine *e, const struct job *j, int64_t token,
                                enum job_outcome *ret_outcome, struct err *err)
{
    bool last_ended = j->state != JOB_RUNNING;

    if ((last_ended && token == j->token) || (!last_ended && token == j->prev_token)) {
        *ret_outcome = j->outcome;
        return E_OK;
    }
    return store_progress_find(e->store, j->id.v, token, ret_outcome, err);
}

/* The job does not run under that token: the finish is a repetition, or stale. */
static enum err_code judge_late(struct engine *e, const struct finish_item *item,
                                struct err *refused, struct err *err)
{
    enum job_outcome outcome = JOB_OUT_NONE;
    bool found = false;
    struct job j;

    if (store_job_load(e->store, item->id, LOAD_STATE, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found) {
        err_set(refused, E_NOT_FOUND, "there is no such job (any more)");
        return E_OK;
    }
    if (outcome_of(e, &j, item->token, &outcome, err) != E_OK)
        return err->code;
    if (outcome == item->outcome)
        return E_OK;
    e->batch.tally.stale++;
    if (outcome == JOB_OUT_NONE || outcome == JOB_OUT_LOST)
        err_set(refused, E_STALE_LEASE, "the lease is not valid any more: the job is %s",
                job_state_name(j.state));
    else
        err_set(refused, E_STALE_LEASE, "this attempt was finished already, as %s",
                job_outcome_name(outcome));
    return E_OK;
}

static void add_result(struct op *op, const struct finish_item *item, const struct err *refused,
                       bool again)
{
    struct buf *b = &op->reply;

    jtext_add_comma(b);
    buf_add_char(b, '{');
    jtext_add_id(b, "id", item->id);
    if (refused->code != E_OK) {
        op->answer_now = true;
        jtext_add_key(b, "error");
        jtext_add_error(b, refused);
    } else {
        buf_add_str(b, again ? ",\"ok\":true,\"again\":true" : ",\"ok\":true");
    }
    buf_add_char(b, '}');
}

/* Adds the job's new state to the reply, unless the outcome says it: a failed attempt may be
 * retried. */
static enum err_code add_state(struct engine *e, struct op *op, const struct finish_item *item,
                               struct err *err)
{
    bool found = false;
    struct job j;

    if (item->outcome == JOB_OUT_DONE)
        return E_OK;
    if (store_job_load(e->store, item->id, LOAD_STATE, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found)
        return E_OK;
    op->reply.size--; /* the brace */
    jtext_put_string(&op->reply, "state", slice_of(job_state_name(j.state)));
    buf_add_char(&op->reply, '}');
    return E_OK;
}

/* Jobs, signals and steps: they count only when the attempt is done, and are judged then. */
static bool brings_more(const struct finish_item *item)
{
    return item->n_emit > 0 || item->n_raises > 0 || item->steps.size > 0 || item->group.size > 0;
}

static struct finish_item without_more(const struct finish_item *told)
{
    struct finish_item item = *told;

    item.n_emit = item.n_raises = 0;
    item.steps = item.group = slice_make(NULL, 0);
    return item;
}

static bool is_sound(const struct finish_item *item, struct err *refused)
{
    if (item->outcome == JOB_OUT_LATER && !item->delayed)
        err_set(refused, E_INVALID, "'later' needs a delay");
    else if (item->set.size + item->result.size > JOB_BYTES_MAX)
        err_set(refused, E_TOO_LARGE, "'set' and 'result' have more than %zu MiB",
                JOB_BYTES_MAX >> 20);
    return refused->code == E_OK;
}

static struct attempt_end end_of(const struct engine *e, const struct finish_item *item)
{
    const char *text = item->text.data == NULL ? "" : item->text.data;

    return (struct attempt_end){
        .outcome = item->outcome,
        .cause = item->cause,
        .exited = item->exited,
        .exit = item->exit,
        .final = item->final,
        .delayed = item->delayed,
        .delay_us = item->delay_us,
        .text = slice_make(item->has_text ? text : NULL, item->has_text ? item->text.size : 0),
        .now_at = e->now.wall_at,
    };
}

/* A smaller `set` is not checked against the job's size: routes have few steps. */
enum { LITTLE_SET = 1000 };

/* What steps set is stored with the job, as later steps get it: refuses what makes the job too
 * large. */
static enum err_code judge_set(struct engine *e, const struct op *op, const struct job *j,
                               struct slice set, struct err *refused, struct err *err)
{
    const struct slice none = {0};
    bool found = false;
    struct job whole;

    if (!op->exchange.may_command &&
        rights_judge_change_of(e, j->id.v, "set", refused, err) != E_OK)
        return err->code;
    if (set.size <= LITTLE_SET || refused->code != E_OK)
        return E_OK;
    if (store_job_load(e->store, j->id.v, LOAD_PAYLOAD, &e->batch.arena, &whole, &found, err) !=
        E_OK)
        return err->code;
    if (!found)
        return store_job_damaged(e->store, j->id.v, "its row is missing", err);
    size_t rest = whole.params.size + whole.routing.size;

    if (rest + whole.assigned.size + set.size <= JOB_BYTES_MAX ||
        rest + route_params(whole.assigned, set, none, &e->batch.arena).size <= JOB_BYTES_MAX)
        return E_OK;
    err_set(refused, E_TOO_LARGE,
            "set: the job would be larger than %zu MiB with all values that its steps have set",
            JOB_BYTES_MAX >> 20);
    return E_OK;
}

/* Judges the emitted jobs; item->emit becomes the jobs with the limits of this one. */
static enum err_code judge_emits(struct engine *e, struct job *j, struct finish_item *item,
                                 struct plan **ret_plans, struct err *refused, struct err *err)
{
    bool opens = false;
    size_t bad = 0;

    if (rights_judge_emits(e, j, &item->emit, item->n_emit, &bad, refused, err) != E_OK)
        return err->code;
    if (refused->code != E_OK) {
        (void)err_wrap(refused, "emit[%zu]", bad);
        return E_OK;
    }
    if (emit_judge_finish(e, j, item, ret_plans, &opens, refused, err) != E_OK)
        return err->code;
    j->opened = j->opened || opens;
    return E_OK;
}

/* Patches of a finish: one object, or an array of them. */
struct patches {
    struct slice one; /* data NULL: of the array */
    struct jtext_iter items;
};

static struct patches patches_of(struct slice value)
{
    if (jtext_type_of(value) == JTEXT_ARRAY)
        return (struct patches){.items = jtext_items(value)};
    return (struct patches){.one = value, .items = jtext_items(SLICE("[]"))};
}

static bool next_patch(struct patches *p, struct slice *ret)
{
    if (p->one.data == NULL)
        return jtext_next_item(&p->items, ret);
    *ret = p->one;
    p->one = slice_make(NULL, 0);
    return true;
}

/* Data of the job's group, or of the root: refuses what makes it too large.  Mostly the sizes alone
 * say that it does not. */
static enum err_code judge_group(struct engine *e, const struct job *j, struct slice patch,
                                 struct err *refused, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct group_batch *b = &e->batch.groups;
    int64_t group = j->group != 0 ? j->group : GROUP_ROOT;
    struct merge_patches all = {.arena = &arena};
    int64_t size = 0;
    struct stored_group g;
    struct slice one;

    if (store_group_data_size(e->store, group, &size, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < b->patches.count; i++)
        size += b->patches.items[i].group == group ? (int64_t)b->patches.items[i].patch.size : 0;
    if (size + (int64_t)patch.size <= GROUP_DATA_MAX)
        return E_OK;
    if (store_group_load(e->store, group, &arena, &g, err) != E_OK)
        return err->code;
    all.data = g.data;
    for (size_t i = 0; i < b->patches.count; i++)
        if (b->patches.items[i].group == group)
            merge_patches_add(&all, b->patches.items[i].patch);
    for (struct patches it = patches_of(patch); next_patch(&it, &one);)
        merge_patches_add(&all, one);
    if (merge_patches_end(&all).size > GROUP_DATA_MAX)
        err_set(refused, E_TOO_LARGE, "group: its data would have more than %d bytes",
                GROUP_DATA_MAX);
    return E_OK;
}

/* Judges emits and added steps before anything is written; j->opened: the emits open groups. */
static enum err_code judge_more(struct engine *e, struct job *j, struct finish_item *item,
                                struct attempt_gain *gain, struct plan **ret_plans,
                                struct err *refused, struct err *err)
{
    if (item->n_emit > 0 && judge_emits(e, j, item, ret_plans, refused, err) != E_OK)
        return err->code;
    if (item->group.size > 0 && refused->code == E_OK &&
        judge_group(e, j, item->group, refused, err) != E_OK)
        return err->code;
    if (item->steps.size == 0 || refused->code != E_OK)
        return E_OK;
    if (rights_judge_steps(e, j, item->steps, &gain->limits, refused, err) != E_OK)
        return err->code;
    return refused->code != E_OK ? E_OK : route_judge_steps(e, j, item->steps, refused, err);
}

/* Whether emitted jobs have conditions: these may wait for the end of this very job. */
static bool emits_waiters(const struct finish_item *item)
{
    for (size_t i = 0; i < item->n_emit; i++)
        if (item->emit[i].n_after > 0)
            return true;
    return false;
}

static enum err_code make_more(struct engine *e, const struct job *j,
                               const struct finish_item *item, struct plan *plans, struct err *err)
{
    struct slice patch;
    int64_t level;

    for (struct patches it = patches_of(item->group.size > 0 ? item->group : SLICE("[]"));
         next_patch(&it, &patch);)
        VEC_PUSH(&e->batch.groups.patches,
                 ((struct group_patch){j->group != 0 ? j->group : GROUP_ROOT, patch}));
    if (item->n_emit > 0 && emit_make_finish(e, item, plans, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < item->n_raises; i++)
        if (signal_raise(e, item->raises[i].name, item->raises[i].count, &level, err) != E_OK)
            return err->code;
    return E_OK;
}

static enum err_code finish_one(struct engine *e, struct op *op, const struct finish_item *told,
                                struct err *err)
{
    struct attempt_end end = end_of(e, told);
    struct finish_item own = told->outcome == JOB_OUT_DONE ? *told : without_more(told);
    const struct finish_item *item = &own;
    struct attempt_gain gain = {.set = item->set, .result = item->result, .steps = item->steps};
    struct err refused = ERR_INIT;
    struct plan *plans = NULL;
    bool found = false;
    struct job j;

    if (!is_sound(item, &refused)) {
        add_result(op, item, &refused, false);
        return E_OK;
    }
    if (store_job_load(e->store, item->id, LOAD_LIVE, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || j.state != JOB_RUNNING || j.token != item->token) {
        if (judge_late(e, item, &refused, err) != E_OK)
            return err->code;
        add_result(op, item, &refused, true);
        return E_OK;
    }
    if (j.step > 0 && item->set.size > 0 && judge_set(e, op, &j, item->set, &refused, err) != E_OK)
        return err->code;
    if (refused.code == E_OK && brings_more(item) &&
        judge_more(e, &j, &own, &gain, &plans, &refused, err) != E_OK)
        return err->code;
    if (refused.code != E_OK) {
        add_result(op, item, &refused, false);
        return E_OK;
    }
    if ((told->n_uses > 0 || told->busy.name.size > 0) &&
        gates_told(e, &j, told, &end, err) != E_OK)
        return err->code;
    j.awaited = j.awaited || emits_waiters(item);
    if (attempt_end_run(e, &j, &end, &gain, err) != E_OK ||
        (brings_more(item) && make_more(e, &j, item, plans, err) != E_OK))
        return err->code;
    add_result(op, item, &refused, false);
    return add_state(e, op, item, err);
}

enum err_code finish_run(struct engine *e, struct op *op, struct err *err)
{
    const struct exchange *x = &op->exchange;

    jtext_add_key(&op->reply, "results");
    buf_add_char(&op->reply, '[');
    for (size_t i = 0; i < x->n_finish; i++) {
        const struct err fine = ERR_INIT;

        if (op->plain != NULL && op->plain[i])
            add_result(op, &x->finish[i], &fine, false);
        else if (finish_one(e, op, &x->finish[i], err) != E_OK)
            return err->code;
    }
    buf_add_char(&op->reply, ']');
    return E_OK;
}
