/* SPDX-License-Identifier: MIT */
#include "engine/followups/route.h"

#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "core/program/template.h"
#include "engine/gates/lanes.h"
#include "engine/jobs/rights.h"
#include "engine/queues/define.h"
#include "engine/reads/job_json.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"
#include "store/jobs/record.h"
#include "store/links/links.h"

/* ---- params of a step ---- */

static struct slice merged(struct slice base, struct slice over, struct arena *arena)
{
    CLEANUP(buf) struct buf b = BUF_INIT(4 * JOB_BYTES_MAX);

    if (over.size == 0 || base.size == 0)
        return over.size == 0 ? base : over;
    jtext_add_merged(&b, base, over);
    return arena_copy(arena, buf_slice(&b));
}

struct slice route_params(struct slice params, struct slice assigned, struct slice step_params,
                          struct arena *arena)
{
    return merged(merged(params, assigned, arena), step_params, arena);
}

struct slice route_sees(struct engine *e, const struct job *j, struct slice params)
{
    const struct route_step *step;
    struct routing routing;

    if (j->step == 0)
        return params;
    routing_parse(j->routing, &e->batch.arena, &routing);
    step = route_find(&routing, j->step);
    return route_params(params, j->assigned, step == NULL ? slice_make(NULL, 0) : step->params,
                        &e->batch.arena);
}

struct slice route_claim_members(const struct routing *routing, const struct job *j,
                                 struct arena *arena)
{
    CLEANUP(buf) struct buf b = BUF_INIT(JOB_BYTES_MAX);
    const struct route_step *step = j->step == 0 ? NULL : route_find(routing, j->step);

    if (step != NULL) {
        jtext_add_key(&b, "step");
        buf_add_char(&b, '{');
        jtext_put_int(&b, "number", step->number);
        jtext_put_string(&b, "name", step->name);
        if (step->final)
            jtext_put_bool(&b, "final", true);
        buf_add_char(&b, '}');
    }
    if (routing->parent != 0)
        jtext_add_id(&b, "parent", routing->parent);
    return arena_copy(arena, buf_slice(&b));
}

/* ---- new jobs ---- */

static enum err_code judge_step(struct engine *e, const struct route_step *step,
                                struct err *refused)
{
    const struct queue *q = queue_find(e, step->queue);
    struct quote quote;

    if (q == NULL)
        return queue_unknown(e, step->queue, E_INVALID, refused);
    if (step->command.size > 0 && !q->def.own_command)
        return err_set(
            refused, E_INVALID,
            "queue %s accepts no jobs with their own command: it needs 'own_command: true'",
            quote_text(&quote, step->queue));
    return E_OK;
}

/* The lists are canonical JSON, or empty. */
static enum err_code judge_dests(struct engine *e, struct slice on_success, struct slice on_failure,
                                 struct err *refused, struct err *err)
{
    const struct {
        const char *name;
        struct slice json;
    } lists[] = {{"on_success", on_success}, {"on_failure", on_failure}};

    for (size_t i = 0; i < ARRAY_LEN(lists) && refused->code == E_OK; i++) {
        struct dest_list dests;

        if (lists[i].json.size == 0)
            continue;
        if (dest_list_parse(lists[i].json, lists[i].name, &e->batch.arena, &dests, NULL, refused) !=
            E_OK)
            return E_OK;
        if (define_check_dests(e, &dests, refused, err) != E_OK)
            return err->code;
        if (refused->code != E_OK)
            (void)err_wrap(refused, "%s", lists[i].name);
    }
    return E_OK;
}

static enum err_code judge_whole_step(struct engine *e, const struct route_step *step,
                                      struct err *refused, struct err *err)
{
    if (judge_step(e, step, refused) != E_OK)
        return E_OK;
    return judge_dests(e, step->on_success, step->on_failure, refused, err);
}

enum err_code route_judge(struct engine *e, const struct submit_item *item, struct err *refused,
                          struct err *err)
{
    const struct routing *routing = item->routing;
    struct quote quote;

    for (size_t i = 0; i < routing->n_steps && refused->code == E_OK; i++) {
        const struct route_step *step = &routing->steps[i];

        if (judge_whole_step(e, step, refused, err) != E_OK)
            return err->code;
        if (refused->code != E_OK)
            (void)err_wrap(refused, "steps[%zu] (%s)", i, quote_text(&quote, step->name));
    }
    if (refused->code != E_OK)
        return E_OK;
    return judge_dests(e, routing->on_success, routing->on_failure, refused, err);
}

/* ---- adding steps ---- */

static enum err_code load_routing(struct engine *e, int64_t id, struct job *ret_job,
                                  struct routing *ret_routing, struct err *err)
{
    bool found = false;

    if (store_job_load(e->store, id, LOAD_PAYLOAD, &e->batch.arena, ret_job, &found, err) != E_OK)
        return err->code;
    if (!found)
        return store_job_damaged(e->store, id, "its row is missing", err);
    routing_parse(ret_job->routing, &e->batch.arena, ret_routing);
    return E_OK;
}

enum err_code route_judge_steps(struct engine *e, const struct job *j, struct slice steps,
                                struct err *refused, struct err *err)
{
    struct quote quote;
    struct routing routing;
    struct job whole;

    if (j->step == 0) {
        err_set(refused, E_INVALID, "steps: the job has no route that a step could be added to");
        return E_OK;
    }
    if (load_routing(e, j->id.v, &whole, &routing, err) != E_OK)
        return err->code;
    size_t before = routing.n_steps;
    size_t at = route_end_of_work(&routing);

    if (route_add(&routing, j->step, steps, &e->batch.arena, refused) != E_OK)
        return E_OK;
    for (size_t i = at; i < at + routing.n_steps - before && refused->code == E_OK; i++) {
        if (judge_whole_step(e, &routing.steps[i], refused, err) != E_OK)
            return err->code;
        if (refused->code != E_OK)
            (void)err_wrap(refused, "steps: %s", quote_text(&quote, routing.steps[i].name));
    }
    return E_OK;
}

/* ---- the end of a step ---- */

struct turn {
    struct engine *e;
    const struct job *was;
    struct job *now;
    struct routing routing;
    struct job carried;    /* the job with its payload */
    struct slice assigned; /* by all steps so far */
};

static void note_step(const struct turn *t, int number, int64_t queue, bool failed)
{
    followups_add(t->e, &(struct followup_end){.job = t->was->id.v,
                                               .queue = queue,
                                               .state = failed ? JOB_FAILED : JOB_DONE,
                                               .step = number,
                                               .routed = true,
                                               .awaited = t->was->awaited,
                                               .has_dests = true});
}

/* After the failure of a step with on_error: stop only final steps are run. */
static void mark_failed(struct turn *t, const struct route_step *step)
{
    if (t->now->failed_step == 0 && step->on_error == STEP_STOP)
        t->now->failed_step = step->number;
}

/* Resets what belongs to the attempts of the step before. */
static void begin_step(struct job *j, const struct queue *q, const struct route_step *step)
{
    j->queue = q->id;
    j->step = step->number;
    j->attempts_before = j->attempt;
    j->failures = j->lost = j->laters = 0;
    j->exited = j->cancelling = false;
    j->exit = 0;
    j->cause = JOB_CAUSE_NONE;
    j->due_at = j->delay_us = j->done = j->total = j->expected_at = 0;
    j->text = j->unit = slice_make(NULL, 0);
}

/* A step whose queue does not exist fails without having run. */
static enum err_code fail_unreached(struct turn *t, const struct route_step *step, struct err *err)
{
    struct engine *e = t->e;
    struct job *now = t->now;
    struct err why = ERR_INIT;

    queue_unknown(e, step->queue, E_INVALID, &why);
    now->attempt++;
    struct progress_entry entry = {
        .seq = now->attempt,
        .number = step->number,
        .attempt = 1,
        .outcome = JOB_OUT_FAILED,
        .cause = JOB_CAUSE_START,
        .queue = t->was->queue,
        .started_at = e->now.wall_at,
        .ended_at = e->now.wall_at,
        .text = arena_copy(&e->batch.arena, slice_of(why.msg)),
    };

    mark_failed(t, step);
    note_step(t, step->number, 0, true); /* it ended in no queue */
    return store_progress_add(e->store, t->was->id.v, &entry, err);
}

/* Finds the next step whose queue exists; *ret_step NULL: the route has ended. */
static enum err_code find_next(struct turn *t, const struct route_step **ret_step,
                               struct queue **ret_queue, struct err *err)
{
    int at = t->was->step;

    for (;;) {
        *ret_step = route_next(&t->routing, at, t->now->failed_step != 0);
        if (*ret_step == NULL)
            return E_OK;
        *ret_queue = queue_find(t->e, (*ret_step)->queue);
        if (*ret_queue != NULL)
            return E_OK;
        at = (*ret_step)->number;
        if (fail_unreached(t, *ret_step, err) != E_OK)
            return err->code;
    }
}

/* The lane of the job in its next queue, by what the step sees. */
static enum err_code assign_lane(struct turn *t, const struct route_step *step,
                                 struct slice options, struct err *err)
{
    struct engine *e = t->e;
    bool found = false;
    struct job whole;

    t->now->lane = 0;
    if (!lane_is_asked(queue_by_id(e, t->now->queue), options))
        return E_OK;
    if (store_job_load(e->store, t->now->id.v, LOAD_PAYLOAD, &e->batch.arena, &whole, &found,
                       err) != E_OK)
        return err->code;
    struct slice params = route_params(found ? whole.params : slice_make(NULL, 0), t->assigned,
                                       step->params, &e->batch.arena);

    return lane_assign_by(e, t->now, params, options, err);
}

static enum err_code go_on(struct turn *t, const struct route_step *step, struct queue *q,
                           const struct attempt_gain *gain, struct err *err)
{
    struct engine *e = t->e;
    struct job *now = t->now;
    const struct slice as_it_is = slice_make(NULL, 0);
    struct slice options = route_options(&t->routing, step, &e->batch.arena);
    bool hit = false;

    if (options.data == NULL)
        options = SLICE(""); /* clears them */
    begin_step(now, q, step);
    now->state = job_state_next(JOB_RUNNING, JOB_EV_STEP);
    if (assign_lane(t, step, options, err) != E_OK)
        return err->code;
    if (gain->result.size > 0 &&
        store_job_keep_result(e->store, now->id.v, gain->result, err) != E_OK)
        return err->code;
    if (store_job_set_route(e->store, now->id.v, options,
                            gain->steps.size > 0 ? routing_format(&t->routing, &e->batch.arena)
                                                 : as_it_is,
                            gain->set.size > 0 ? t->assigned : as_it_is, err) != E_OK ||
        store_job_update(e->store, t->was, now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, now->id.v, "it is not as it was read", err);
    return E_OK;
}

/* Copies the end of the step that failed the route to the job. */
struct failed_entry {
    int number;
    struct job *job;
    struct arena *arena;
};

static void take_failed(void *ctx, const struct progress_entry *entry)
{
    struct failed_entry *f = ctx;

    if (entry->number != f->number || entry->outcome == JOB_OUT_DONE)
        return;
    f->job->exited = entry->exited;
    f->job->exit = entry->exit;
    f->job->cause = entry->cause == JOB_CAUSE_NONE ? JOB_CAUSE_EXIT : entry->cause;
    f->job->text = arena_copy(f->arena, entry->text);
}

/* A failed job gets exit, cause and text of the step that failed it.  A job whose last step failed
 * with on_error: continue is done. */
static enum err_code judge_whole(struct turn *t, struct err *err)
{
    struct job *now = t->now;
    struct failed_entry failed = {now->failed_step, now, &t->e->batch.arena};

    now->state = job_state_next(JOB_RUNNING, now->failed_step != 0 ? JOB_EV_FAIL : JOB_EV_DONE);
    if (now->failed_step != 0)
        return store_progress_load(t->e->store, now->id.v, take_failed, &failed, err);
    now->exited = true;
    now->exit = 0;
    now->cause = JOB_CAUSE_NONE;
    return E_OK;
}

static enum err_code end_route(struct turn *t, const struct attempt_gain *gain, struct err *err)
{
    struct job *now = t->now;
    bool hit = false;

    if (judge_whole(t, err) != E_OK)
        return err->code;
    if (gain->result.size > 0)
        now->result = gain->result;
    else if (t->carried.result.size == 0)
        now->result = t->assigned;
    if (gain->set.size > 0 && store_job_set_route(t->e->store, now->id.v, slice_make(NULL, 0),
                                                  slice_make(NULL, 0), t->assigned, err) != E_OK)
        return err->code;
    if (store_job_end(t->e->store, t->was, now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(t->e->store, now->id.v, "it is not as it was read", err);
    return E_OK;
}

/* The steps were judged before (route_judge_steps). */
static enum err_code add_steps(struct turn *t, const struct attempt_gain *gain, struct err *err)
{
    struct err refused = ERR_INIT;
    size_t before = t->routing.n_steps;
    size_t at = route_end_of_work(&t->routing);

    if (gain->steps.size > 0 &&
        route_add(&t->routing, t->was->step, gain->steps, &t->e->batch.arena, &refused) != E_OK)
        return err_set(err, E_INTERNAL, "steps cannot be added, although they were accepted: %s",
                       refused.msg);
    if (gain->limits.size > 0)
        rights_limit_steps(t->routing.steps + at, t->routing.n_steps - before, gain->limits);
    return E_OK;
}

enum err_code route_step_end(struct engine *e, const struct job *was, struct job *now,
                             enum job_event event, const struct attempt_gain *gain, struct err *err)
{
    struct turn t = {.e = e, .was = was, .now = now};
    struct progress_entry entry = job_last_entry(now);
    const struct route_step *next = NULL;
    struct queue *q = NULL;

    entry.set = gain->set;
    if (load_routing(e, was->id.v, &t.carried, &t.routing, err) != E_OK ||
        store_progress_add(e->store, was->id.v, &entry, err) != E_OK ||
        add_steps(&t, gain, err) != E_OK)
        return err->code;
    const struct route_step *step = route_find(&t.routing, was->step);

    if (step == NULL)
        return store_job_damaged(e->store, was->id.v, "its step is not on its route", err);
    t.assigned = merged(t.carried.assigned, gain->set, &e->batch.arena);
    if (event == JOB_EV_FAIL)
        mark_failed(&t, step);
    note_step(&t, step->number, was->queue, event == JOB_EV_FAIL);
    if (find_next(&t, &next, &q, err) != E_OK)
        return err->code;
    return next == NULL ? end_route(&t, gain, err) : go_on(&t, next, q, gain, err);
}
