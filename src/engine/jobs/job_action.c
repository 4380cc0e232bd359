/* SPDX-License-Identifier: MIT */
#include "engine/jobs/job_action.h"

#include "base/jtext/jtext.h"
#include "engine/batch/counts.h"
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/claims/ready.h"
#include "engine/followups/after.h"
#include "engine/followups/follow.h"
#include "engine/followups/pending_wakeups.h"
#include "engine/followups/revive.h"
#include "engine/followups/route.h"
#include "engine/followups/waiter.h"
#include "engine/gates/lanes.h"
#include "engine/groups/choose.h"
#include "engine/jobs/job_end.h"
#include "engine/jobs/rights.h"
#include "engine/queues/accept.h"
#include "engine/reads/job_json.h"
#include "engine/shared/news.h"
#include "engine/state.h"
#include "store/jobs/emits.h"
#include "store/jobs/jobs.h"
#include "store/jobs/ready.h"
#include "store/jobs/record.h"
#include "store/links/links.h"

typedef enum err_code action_fn(struct engine *e, const struct job_action *action,
                                const struct job *j, struct job_action_result *ret,
                                struct err *err);

static enum err_code refuse(struct job_action_result *ret, const struct job *j, const char *instead)
{
    err_set(&ret->refused, E_CONFLICT, "the job is %s: %s", job_state_name(j->state), instead);
    return E_OK;
}

/* Writes a judged change of a live job. */
static enum err_code change(struct engine *e, const struct job *was, const struct job *now,
                            const char *what, struct job_action_result *ret, struct err *err)
{
    struct queue *from = queue_by_id(e, was->queue);
    bool hit = false;

    if (now->state == JOB_NONE)
        return store_job_damaged(e->store, was->id.v, "its state contradicts its other fields",
                                 err);
    if (engine_write(e, err) != E_OK || store_job_update(e->store, was, now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, was->id.v, "it is not as it was read", err);
    if (was->state == JOB_READY)
        effects_unready(e, from, was);
    effects_move(e, now, was->state, from, what);
    ret->state = now->state;
    ret->changed = true;
    return E_OK;
}

static enum err_code cancel(struct engine *e, const struct job_action *action, const struct job *j,
                            struct job_action_result *ret, struct err *err)
{
    struct job now = *j;
    bool hit = false;

    (void)action;
    if (j->state == JOB_CANCELLED)
        return E_OK;
    if (job_state_ended(j->state))
        return refuse(ret, j, "an ended job cannot be cancelled");
    if (engine_write(e, err) != E_OK)
        return err->code;
    if (j->state == JOB_RUNNING) {
        ret->cancelling = now.cancelling = true;
        if (j->cancelling)
            return E_OK;
        ret->changed = true;
        VEC_PUSH(&e->batch.new_cancels,
                 ((struct cancel_note){.lease = {j->id.v, j->token, job_fence(j)},
                                       .worker = j->worker}));
        news_add_cancel(e, &e->batch.new_cancels.items[e->batch.new_cancels.count - 1]);
        return store_job_update(e->store, j, &now, &hit, err);
    }
    ret->state = JOB_CANCELLED;
    ret->changed = true;
    return job_end_unrun(e, j, JOB_EV_CANCEL, JOB_CAUSE_CANCELLED, slice_make(NULL, 0), err);
}

/* Whether the queue would accept a submit with these params. */
static bool takes(const struct queue *q, const struct job *j, struct slice params,
                  struct job_action_result *ret)
{
    return queue_accepts(q, params, j->options, &ret->refused) == E_OK;
}

static bool fits(const struct job *j, struct slice params, struct slice labels,
                 struct job_action_result *ret)
{
    size_t size = params.size + labels.size + j->body.size + j->options.size + j->key.size +
                  j->routing.size + j->assigned.size;

    if (size > JOB_BYTES_MAX)
        err_set(&ret->refused, E_TOO_LARGE, "the job would be larger than %zu MiB",
                JOB_BYTES_MAX >> 20);
    return size <= JOB_BYTES_MAX;
}

/* Merges the action's params into the job's; false when the job would be too large. */
static bool merge_params(struct engine *e, const struct job_action *action, const struct job *j,
                         struct slice *ret_params, struct job_action_result *ret)
{
    CLEANUP(buf) struct buf b = BUF_INIT(2 * JOB_BYTES_MAX + 16);

    *ret_params = j->params;
    if (action->params.size == 0)
        return true;
    jtext_add_merged(&b, j->params, action->params);
    if (!fits(j, buf_slice(&b), j->labels, ret))
        return false;
    *ret_params = arena_copy(&e->batch.arena, buf_slice(&b));
    return true;
}

/* Copies the last attempt from the job's row to its record: a new attempt will overwrite it. */
static enum err_code keep_last_entry(struct engine *e, const struct job *j, struct err *err)
{
    struct progress_entry entry = job_last_entry(j);
    enum job_outcome known = JOB_OUT_NONE;

    if (j->attempt == 0 || j->outcome == JOB_OUT_NONE)
        return E_OK;
    if (store_progress_find(e->store, j->id.v, j->token, &known, err) != E_OK)
        return err->code;
    return known != JOB_OUT_NONE || j->outcome == JOB_OUT_RETURNED
               ? E_OK
               : store_progress_add(e->store, j->id.v, &entry, err);
}

/* The row of the job that is run again.  It keeps the token and outcome of the last claim, as its
 * finish may still be repeated. */
static struct job begun_again(const struct job *j)
{
    return (struct job){
        .id = j->id,
        .queue = j->queue,
        .state = job_state_next(j->state, JOB_EV_AGAIN),
        .priority = j->priority,
        .outcome = j->outcome,
        .has_dests = j->has_dests,
        .attempt = j->attempt,
        .token = j->token,
        .prev_token = j->prev_token,
        .returned = j->returned,
        .group = j->group,
        .lane = j->lane,
        .closes = j->closes,
    };
}

static enum err_code revive(struct engine *e, const struct job_action *action, const struct job *j,
                            const struct job *now, struct slice params,
                            struct job_action_result *ret, struct err *err)
{
    if (engine_write(e, err) != E_OK || keep_last_entry(e, j, err) != E_OK ||
        store_job_revive(e->store, now, err) != E_OK)
        return err->code;
    if (action->params.size > 0 &&
        store_job_change_payload(e->store, j->id.v, params, slice_make(NULL, 0), err) != E_OK)
        return err->code;
    effects_move(e, now, j->state, queue_by_id(e, j->queue), "retry");
    ret->state = now->state;
    ret->changed = true;
    return E_OK;
}

/* Judges how an ended job is run again, or refuses it.  Fills `again` if the job has a route. */
static enum err_code judge_retry(struct engine *e, const struct job_action *action,
                                 const struct job *j, struct slice *params,
                                 struct route_again *again, struct job_action_result *ret,
                                 struct err *err)
{
    bool telling = false;

    if (!job_state_ended(j->state))
        return refuse(ret, j, "only an ended job can be run again ('now' starts a waiting one)");
    if (end_is_pending(e, j->id.v, &telling, err) != E_OK)
        return err->code;
    if (telling)
        err_set(&ret->refused, E_CONFLICT,
                "the jobs that follow its end are still being created: try again in a moment");
    else if (j->step == 0 && action->from.size > 0)
        err_set(&ret->refused, E_INVALID, "from: the job has no steps");
    if (ret->refused.code != E_OK || !merge_params(e, action, j, params, ret))
        return E_OK;
    if (j->step == 0) {
        (void)takes(queue_by_id(e, j->queue), j, *params, ret);
        return E_OK;
    }
    if (route_again(e, action, j, *params, again, &ret->refused, err) != E_OK)
        return err->code;
    if (ret->refused.code == E_OK)
        (void)queue_accepts(again->queue, again->params, again->options, &ret->refused);
    return E_OK;
}

enum err_code job_action_judge_retry(struct engine *e, const struct job_action *action,
                                     const struct job *j, struct err *refused, struct err *err)
{
    struct job_action_result result = {.state = j->state, .refused = ERR_INIT};
    struct route_again again;
    struct slice params;

    if (judge_retry(e, action, j, &params, &again, &result, err) != E_OK)
        return err->code;
    *refused = result.refused;
    return E_OK;
}

/* A job that was cancelled because of a condition waits for that condition again.  If it is still
 * impossible the job stays cancelled, and is revived with the job that makes it so now. */
static enum err_code wait_again(struct engine *e, const struct job_action *action,
                                const struct job *j, struct job *now, struct job_action_result *ret,
                                struct err *err)
{
    struct after_never never = {.is = false};
    bool held = false;

    if (j->cause != JOB_CAUSE_DEPENDENCY)
        return E_OK;
    if (engine_write(e, err) != E_OK ||
        (!action->alone && after_release(e, j, &held, &never, err) != E_OK))
        return err->code;
    if (never.is) {
        err_set(&ret->refused, E_CONFLICT,
                "its condition cannot be met: %s; retry that, or this one with --alone", never.why);
        return never.by == 0 ? E_OK : store_undone_put(e->store, j->id.v, never.by, err);
    }
    if (held) {
        now->holds |= JOB_HOLD_AFTER;
        job_settle(e, now);
    }
    return store_undone_remove(e->store, j->id.v, err);
}

/* Runs the job again as judge_retry has decided. */
static enum err_code begin_again(struct engine *e, const struct job_action *action,
                                 const struct job *j, struct job *now,
                                 const struct route_again *again, struct slice params,
                                 struct job_action_result *ret, struct err *err)
{
    const struct slice none = SLICE("");

    if (j->step == 0)
        return lane_assign_by(e, now, params, j->options, err) != E_OK
                   ? err->code
                   : revive(e, action, j, now, params, ret, err);
    now->queue = again->queue->id;
    now->step = again->step;
    now->attempts_before = j->attempt;
    if (lane_assign_by(e, now, again->params, again->options, err) != E_OK ||
        revive(e, action, j, now, params, ret, err) != E_OK ||
        (again->step != j->step && store_cursor_remove(e->store, j->id.v, err) != E_OK))
        return err->code;
    return store_job_set_route(e->store, j->id.v, again->options.size > 0 ? again->options : none,
                               again->routing, again->assigned.size > 0 ? again->assigned : none,
                               err);
}

static enum err_code retry(struct engine *e, const struct job_action *action, const struct job *j,
                           struct job_action_result *ret, struct err *err)
{
    struct job now = begun_again(j);
    struct route_again again;
    struct slice params;

    if (judge_retry(e, action, j, &params, &again, ret, err) != E_OK)
        return err->code;
    if (ret->refused.code == E_OK && wait_again(e, action, j, &now, ret, err) != E_OK)
        return err->code;
    if (ret->refused.code != E_OK)
        return E_OK;
    if (begin_again(e, action, j, &now, &again, params, ret, err) != E_OK)
        return err->code;
    return action->alone ? E_OK : revive_begin(e, j->id.v, err);
}

static enum err_code hold(struct engine *e, const struct job_action *action, const struct job *j,
                          struct job_action_result *ret, struct err *err)
{
    struct job now = *j;

    (void)action;
    if (!job_state_waits(j->state))
        return refuse(ret, j, "only a waiting job can be held");
    if (j->holds & JOB_HOLD_HAND)
        return E_OK;
    now.holds |= JOB_HOLD_HAND;
    job_settle(e, &now);
    return change(e, j, &now, "held", ret, err);
}

static enum err_code release(struct engine *e, const struct job_action *action, const struct job *j,
                             struct job_action_result *ret, struct err *err)
{
    struct job now = *j;

    (void)action;
    if (job_state_ended(j->state))
        return refuse(ret, j, "an ended job cannot be released");
    if (!(j->holds & JOB_HOLD_HAND))
        return E_OK;
    now.holds &= ~(unsigned)JOB_HOLD_HAND;
    job_settle(e, &now);
    return change(e, j, &now, "released", ret, err);
}

static enum err_code start_now(struct engine *e, const struct job_action *action,
                               const struct job *j, struct job_action_result *ret, struct err *err)
{
    struct job now = *j;

    (void)action;
    if (job_state_ended(j->state))
        return refuse(ret, j, "'retry' runs it again");
    if (j->due_at == 0 || j->state == JOB_RUNNING)
        return E_OK;
    now.due_at = now.delay_us = 0;
    job_settle(e, &now);
    return change(e, j, &now, "now", ret, err);
}

static enum err_code move(struct engine *e, const struct job_action *action, const struct job *j,
                          struct job_action_result *ret, struct err *err)
{
    struct queue *q = queue_find(e, action->queue);
    struct job now = *j;

    if (q == NULL) {
        queue_unknown(e, action->queue, E_INVALID, &ret->refused);
        return E_OK;
    }
    if (!job_state_waits(j->state))
        return refuse(ret, j, "only a waiting job can be moved");
    if (q->id == j->queue || !takes(q, j, route_sees(e, j, j->params), ret))
        return E_OK;
    now.queue = q->id;
    if (lane_assign(e, &now, err) != E_OK)
        return err->code;
    return change(e, j, &now, "moved", ret, err);
}

static enum err_code patch(struct engine *e, const struct job_action *action, const struct job *j,
                           struct job_action_result *ret, struct err *err)
{
    struct job now = *j;

    char version[JOB_VERSION_SIZE];

    if (!job_state_waits(j->state))
        return refuse(ret, j, "only a waiting job can be changed");
    if (j->holds & JOB_HOLD_FOLLOWUPS)
        return refuse(
            ret, j,
            "the jobs that follow its last step are still being created: try again in a moment");
    if (action->version.size > 0 && !slice_is(action->version, job_version(j, version))) {
        err_set(&ret->refused, E_PRECONDITION,
                "the job has changed meanwhile: read it again first");
        return E_OK;
    }
    if (!fits(j, action->params.size > 0 ? action->params : j->params,
              action->labels.size > 0 ? action->labels : j->labels, ret))
        return E_OK;
    if (action->params.size > 0 &&
        queue_check_params(queue_by_id(e, j->queue), route_sees(e, j, action->params), j->options,
                           &ret->refused) != E_OK)
        return E_OK;
    if (action->has_priority)
        now.priority = action->priority;
    if (action->has_due) {
        now.due_at = action->due_at;
        now.delay_us = 0;
    }
    if (action->params.size + action->labels.size > 0 &&
        (engine_write(e, err) != E_OK ||
         store_job_change_payload(e->store, j->id.v, action->params, action->labels, err) != E_OK))
        return err->code;
    if (action->params.size > 0 &&
        lane_assign_by(e, &now, route_sees(e, j, action->params), j->options, err) != E_OK)
        return err->code;
    job_settle(e, &now);
    return change(e, j, &now, "changed", ret, err);
}

/* A copy is a member of the same group if that is open. */
static enum err_code stay_in_group(struct engine *e, const struct job *j, struct job *copy,
                                   struct err *err)
{
    struct err closed = ERR_INIT;
    struct stored_group group;

    if (j->group == 0)
        return E_OK;
    if (store_group_bare(e->store, j->group, &e->batch.arena, &group, err) != E_OK)
        return err->code;
    if (group.id == 0)
        return E_OK;
    group_refuse_closed(&group, &closed);
    if (closed.code == E_OK) {
        copy->group = j->group;
        groups_delta(e, j->group)->joined = true;
    }
    return E_OK;
}

static enum err_code clone(struct engine *e, const struct job_action *action, const struct job *j,
                           struct job_action_result *ret, struct err *err)
{
    struct job copy = {
        .id = {engine_new_id(e)},
        .queue = j->queue,
        .state = JOB_READY,
        .priority = j->priority,
        .body = j->body,
        .labels = j->labels,
        .options = j->options,
    };

    if (!merge_params(e, action, j, &copy.params, ret))
        return E_OK;
    if (j->routing.size > 0 && route_copy(e, j, action->params, &copy, &ret->refused) != E_OK)
        return E_OK;
    if (queue_accepts(queue_by_id(e, copy.queue), route_sees(e, &copy, copy.params), copy.options,
                      &ret->refused) != E_OK)
        return E_OK;
    if (engine_write(e, err) != E_OK || stay_in_group(e, j, &copy, err) != E_OK ||
        lane_assign(e, &copy, err) != E_OK || store_jobs_insert(e->store, &copy, 1, err) != E_OK)
        return err->code;
    effects_move(e, &copy, JOB_NONE, NULL, "submitted");
    e->batch.tally.submitted++;
    ret->id = copy.id.v;
    ret->state = copy.state;
    return E_OK;
}

static enum err_code remove_job(struct engine *e, const struct job_action *action,
                                const struct job *j, struct job_action_result *ret, struct err *err)
{
    struct queue *q = queue_by_id(e, j->queue);

    bool left = false;

    (void)action;
    if (j->state == JOB_RUNNING)
        return refuse(ret, j, "cancel it first");
    if (follow_is_left(e, j->id.v, &left, err) != E_OK)
        return err->code;
    if (left)
        return refuse(
            ret, j, "the jobs that follow its end are still being created: try again in a moment");
    if (engine_write(e, err) != E_OK || after_forget(e, j, err) != E_OK ||
        store_job_remove(e->store, j, err) != E_OK)
        return err->code;
    counts_add(&e->batch.counts, q->id, j->state, -1);
    if (j->state == JOB_READY)
        effects_unready(e, q, j);
    groups_removed(e, j);
    effects_removed(e, j);
    effects_event(e, j, q, "deleted");
    e->batch.tally.deleted++;
    e->batch.removed_some = true;
    ret->removed = ret->changed = true;
    return E_OK;
}

static action_fn *const actions[ACTION_COUNT] = {
    [ACTION_CANCEL] = cancel,   [ACTION_RETRY] = retry, [ACTION_HOLD] = hold,
    [ACTION_RELEASE] = release, [ACTION_CLONE] = clone, [ACTION_NOW] = start_now,
    [ACTION_MOVE] = move,       [ACTION_PATCH] = patch, [ACTION_DELETE] = remove_job,
};

/* A staged job belongs to the job that emitted it until that job ends. */
static enum err_code refuse_staged(struct engine *e, const struct job *j,
                                   struct job_action_result *ret, struct err *err)
{
    char text[ID_TEXT_SIZE];
    int64_t owner = 0;

    if (store_emit_owner(e->store, j->id.v, &owner, err) != E_OK)
        return err->code;
    err_set(&ret->refused, E_CONFLICT,
            "the job is staged: it belongs to job %s, which emitted it, until that job ends",
            id_format(owner, text));
    return E_OK;
}

/* Names what the action changes about how the job runs, or returns NULL.  Empty params that are
 * merged change nothing; another queue has another user and other limits. */
static const char *changes_run(struct engine *e, const struct job_action *action,
                               const struct job *j)
{
    const struct queue *q;

    switch (action->kind) {
    case ACTION_RETRY:
    case ACTION_CLONE:
        return action->params.size > 0 && jtext_count_members(action->params) > 0 ? "params" : NULL;
    case ACTION_PATCH: return action->params.size > 0 ? "params" : NULL;
    case ACTION_MOVE:
        q = queue_find(e, action->queue);
        return q != NULL && q->id != j->queue ? "queue" : NULL;
    case ACTION_CANCEL:
    case ACTION_HOLD:
    case ACTION_RELEASE:
    case ACTION_NOW:
    case ACTION_DELETE:
    case ACTION_COUNT: break;
    }
    return NULL;
}

enum err_code job_action_apply(struct engine *e, const struct job_action *action,
                               const struct job *j, struct job_action_result *ret, struct err *err)
{
    *ret = (struct job_action_result){.id = j->id.v, .state = j->state};
    if (j->state == JOB_STAGED)
        return refuse_staged(e, j, ret, err);
    const char *changed = action->may_command ? NULL : changes_run(e, action, j);

    if (changed != NULL)
        rights_judge_change(e, j, changed, &ret->refused);
    if (ret->refused.code != E_OK)
        return E_OK;
    return actions[action->kind](e, action, j, ret, err);
}

static void add_reply(struct op *op, const struct job_action_result *r)
{
    struct buf *b = &op->reply;

    buf_add_char(b, '{');
    jtext_add_id(b, "id", r->id);
    if (r->removed) {
        buf_add_str(b, ",\"deleted\":true}");
        return;
    }
    jtext_put_string(b, "state", slice_of(job_state_name(r->state)));
    if (r->cancelling)
        buf_add_str(b, ",\"cancelling\":true");
    if (r->revived.jobs > 0)
        jtext_put_int(b, "revived", (int64_t)r->revived.jobs);
    if (r->revived.more)
        jtext_put_bool(b, "revived_more", true);
    buf_add_char(b, '}');
    op->status = r->cancelling ? 202 : op->action.kind == ACTION_CLONE ? 201 : 200;
}

enum err_code job_action_run(struct engine *e, struct op *op, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT; /* a job may be large: freed after each op */
    struct job_action_result result;
    bool found = false;
    struct job j;

    if (followups_follow(e, err) != E_OK || lock_job(e, op->action.id, err) != E_OK ||
        store_job_load(e->store, op->action.id, LOAD_ALL, &arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found) {
        char text[ID_TEXT_SIZE];

        err_set(&op->err, E_NOT_FOUND, "there is no job %s (any more)",
                id_format(op->action.id, text));
        return E_OK;
    }
    if (job_action_apply(e, &op->action, &j, &result, err) != E_OK)
        return err->code;
    if (result.refused.code != E_OK) {
        op->err = result.refused;
        return E_OK;
    }
    op->action.result_id = result.id;
    if (op->action.kind == ACTION_RETRY && !op->action.alone && result.changed &&
        revive_count(e, op->action.id, &result.revived, err) != E_OK)
        return err->code;
    add_reply(op, &result);
    return E_OK;
}
