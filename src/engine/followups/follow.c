/*
 * Follows the end of a job or step: creates the jobs that its destinations name.
 *
 * The commit that ends the job follows its destinations one by one, up to the size of a commit; the
 * rest is stored as a row of `follows` for the next commits.  These read params and result from the
 * job again: until the row is removed, an ended job is neither run again nor removed, and a job
 * with a next step is held.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/followups/follow.h"

#include "base/jtext/jtext.h"
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/followups/chain.h"
#include "engine/followups/route.h"
#include "engine/followups/spread.h"
#include "engine/jobs/job_end.h"
#include "engine/reads/job_json.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"
#include "store/jobs/record.h"
#include "store/links/fanout.h"
#include "store/links/links.h"

#define PARAMS_MAX (4 * JOB_BYTES_MAX)

enum { OF_STEP, OF_QUEUE, OF_JOB, LISTS };

struct cause {
    struct engine *e;
    const struct stored_follow *end;
    struct arena *arena; /* of loaded values */
    struct job job;
    struct routing routing;
    struct progress_entry entry; /* its last attempt */
    struct slice result;
    struct dest_list lists[LISTS];
};

static void take_entry(void *ctx, const struct progress_entry *entry)
{
    struct cause *c = ctx;

    if (entry->number != c->end->step)
        return;
    c->entry = *entry;
    c->entry.text = arena_copy(c->arena, entry->text);
    c->entry.set = arena_copy(c->arena, entry->set);
}

static enum err_code load(struct cause *c, bool *ret_found, struct err *err)
{
    struct store *s = c->e->store;

    if (store_job_load(s, c->end->job, LOAD_PAYLOAD, c->arena, &c->job, ret_found, err) != E_OK)
        return err->code;
    if (!*ret_found)
        return E_OK;
    routing_parse(c->job.routing, c->arena, &c->routing);
    c->result = c->job.result;
    c->entry = job_last_entry(&c->job);
    if (c->end->step == 0)
        return E_OK;
    if (store_progress_load(s, c->end->job, take_entry, c, err) != E_OK)
        return err->code;
    if (c->result.size == 0)
        c->result = c->entry.set;
    return E_OK;
}

/* Whether neither the job nor its cause ever ran. */
static enum err_code never_began(const struct cause *c, bool *ret_never, struct err *err)
{
    struct job parent;
    bool found = false;

    *ret_never = false;
    if (c->end->state != JOB_FAILED || c->job.attempt > 0 || c->routing.parent == 0)
        return E_OK;
    if (store_job_load(c->e->store, c->routing.parent, LOAD_STATE, c->arena, &parent, &found,
                       err) != E_OK)
        return err->code;
    *ret_never = found && parent.state == JOB_FAILED && parent.attempt == 0;
    return E_OK;
}

static void add_cause(const struct cause *c, struct buf *b)
{
    const struct queue *q = map_find(&c->e->queues.by_id, c->end->queue);
    int step = c->end->step > 0 ? c->end->step : c->job.failed_step;

    buf_add_char(b, '{');
    jtext_add_id(b, "id", c->end->job);
    if (q != NULL)
        jtext_put_string(b, "queue", slice_of(q->name));
    jtext_put_string(b, "state", slice_of(job_state_name(c->end->state)));
    if (step > 0)
        jtext_put_int(b, "step", step);
    if (c->entry.exited)
        jtext_put_int(b, "exit", c->entry.exit);
    if (c->entry.cause != JOB_CAUSE_NONE)
        jtext_put_string(b, "cause", slice_of(job_cause_name(c->entry.cause)));
    if (c->entry.text.size > 0)
        jtext_put_string(b, "text", c->entry.text);
    buf_add_char(b, '}');
}

/* Drops `result` from the params: it is that of an earlier job of the chain. */
static bool is_no_result(void *ctx, struct slice key)
{
    (void)ctx;
    return !jtext_key_is(key, "result");
}

static struct slice told_params(const struct cause *c)
{
    const struct route_step *step = c->end->step == 0 ? NULL
                                                      : route_find(&c->routing, c->end->step);
    struct slice own = step == NULL ? slice_make(NULL, 0) : step->params;
    struct slice seen = route_params(c->job.params, c->job.assigned, own, c->arena);
    CLEANUP(buf) struct buf base = BUF_INIT(PARAMS_MAX);
    CLEANUP(buf) struct buf over = BUF_INIT(PARAMS_MAX);
    CLEANUP(buf) struct buf all = BUF_INIT(PARAMS_MAX);

    jtext_add_kept(&base, seen, is_no_result, NULL);
    buf_add_char(&over, '{');
    if (c->result.size > 0)
        jtext_put_raw(&over, "result", c->result);
    jtext_add_key(&over, "cause");
    add_cause(c, &over);
    buf_add_char(&over, '}');
    jtext_add_merged(&all, buf_slice(&base), buf_slice(&over));
    return arena_copy(&c->e->batch.arena, buf_slice(&all));
}

/* ---- destinations ---- */

static void parse_list(struct cause *c, struct slice dests, struct dest_list *ret)
{
    struct err ignored = ERR_INIT; /* it was checked at the submit, or when the queue was defined */

    if (dests.size > 0 && dest_list_parse(dests, "", c->arena, ret, NULL, &ignored) != E_OK)
        *ret = (struct dest_list){.count = 0};
}

/* In this order: the step's list, its queue's and, if the whole job has ended, the job's own. */
static void find_lists(struct cause *c, const struct dest_list *of_queue)
{
    const struct route_step *step = c->end->step == 0 ? NULL
                                                      : route_find(&c->routing, c->end->step);
    bool done = c->end->state == JOB_DONE;

    if (step != NULL)
        parse_list(c, done ? step->on_success : step->on_failure, &c->lists[OF_STEP]);
    if (of_queue != NULL)
        c->lists[OF_QUEUE] = *of_queue;
    else
        parse_list(c, c->end->dests, &c->lists[OF_QUEUE]);
    if (c->end->whole)
        parse_list(c, done ? c->routing.on_success : c->routing.on_failure, &c->lists[OF_JOB]);
}

static size_t count_dests(const struct cause *c)
{
    return c->lists[OF_STEP].count + c->lists[OF_QUEUE].count + c->lists[OF_JOB].count;
}

static const struct dest *dest_at(const struct cause *c, size_t place)
{
    size_t list = 0;

    for (; place >= c->lists[list].count; list++)
        place -= c->lists[list].count;
    return &c->lists[list].items[place];
}

/* Follows destinations from *place on, up to the size of the commit, but at least one: loading the
 * end alone may have used up the round trips, and the end must make progress. */
static enum err_code follow_some(struct cause *c, size_t *place, struct err *err)
{
    struct engine *e = c->e;
    struct chain_source source = {
        .params = told_params(c),
        .labels = arena_copy(&e->batch.arena, c->job.labels),
        .job = c->end->job,
        .queue = c->end->queue,
        .depth = c->routing.depth + 1,
        .priority = c->job.priority,
        .group = c->job.group,
    };

    for (size_t first = *place;
         *place < count_dests(c) && (*place == first || !fanout_is_used_up(e)); (*place)++)
        if (chain_follow_one(e, dest_at(c, *place), &source, err) != E_OK)
            return err->code;
    /* The params stay in memory until the commit.  Counted last, so that at least one destination
     * is followed. */
    fanout_use(&e->batch.followups.fanout, 0, source.params.size);
    return E_OK;
}

/* Loads the end and its destinations; *ret_leads: there are any to follow. */
static enum err_code look(struct cause *c, const struct dest_list *of_queue, bool *ret_leads,
                          struct err *err)
{
    bool found = false;
    bool never = false;

    *ret_leads = false;
    if (load(c, &found, err) != E_OK || (found && never_began(c, &never, err) != E_OK))
        return err->code;
    if (!found || never || c->routing.depth > CHAIN_DEPTH_MAX)
        return E_OK;
    find_lists(c, of_queue);
    *ret_leads = count_dests(c) > 0;
    return E_OK;
}

/* ---- ends that are too large for one commit ---- */

/* Holds a job before its next step until all destinations of the last one are followed. */
static enum err_code set_held(struct engine *e, int64_t job, enum job_event event, struct err *err)
{
    bool found = false;
    bool hit = false;
    struct job was;

    if (store_job_load(e->store, job, LOAD_LIVE, &e->batch.arena, &was, &found, err) != E_OK)
        return err->code;
    if (!found || (event == JOB_EV_WAKE && !(was.holds & JOB_HOLD_FOLLOWUPS)))
        return E_OK;
    struct job now = was;

    now.holds = event == JOB_EV_HOLD ? was.holds | JOB_HOLD_FOLLOWUPS
                                     : was.holds & ~(unsigned)JOB_HOLD_FOLLOWUPS;
    job_settle(e, &now);
    if (now.state == JOB_NONE)
        return store_job_damaged(e->store, job, "its step has ended, but the job is not waiting",
                                 err);
    if (engine_write(e, err) != E_OK || store_job_update(e->store, &was, &now, &hit, err) != E_OK)
        return err->code;
    if (!hit)
        return store_job_damaged(e->store, job, "it is not as it was read", err);
    struct queue *q = queue_by_id(e, was.queue);

    if (was.state == JOB_READY)
        effects_unready(e, q, &was);
    effects_move(e, &now, was.state, q, event == JOB_EV_HOLD ? "held" : "released");
    return E_OK;
}

/* Stores the queue's destinations as they are now: its definition may change. */
static enum err_code put_off(struct engine *e, struct stored_follow *f,
                             const struct dest_list *of_queue, int64_t group, struct err *err)
{
    CLEANUP(buf) struct buf dests = BUF_INIT(PARAMS_MAX);

    if (of_queue != NULL && of_queue->count > 0)
        dest_list_json(of_queue, &dests);
    f->dests = buf_slice(&dests);
    f->id = engine_new_id(e);
    fanout_put_off(e, f->id);
    if (f->whole) /* its group must not end before these jobs are made */
        groups_owe(e, group, 1);
    if (engine_write(e, err) != E_OK || store_follow_add(e->store, f, err) != E_OK)
        return err->code;
    return f->whole || f->step == 0 ? E_OK : set_held(e, f->job, JOB_EV_HOLD, err);
}

enum err_code follow_end(struct engine *e, const struct followup_end *end, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct queue *q = end->queue == 0 ? NULL : map_find(&e->queues.by_id, end->queue);
    const struct dest_list *of_queue = NULL;
    struct stored_follow f = {.job = end->job,
                              .queue = end->queue,
                              .state = end->state,
                              .step = end->step,
                              .whole = end->whole};
    struct cause c = {.e = e, .end = &f, .arena = &arena};
    bool leads = false;

    if (end->state != JOB_DONE && end->state != JOB_FAILED)
        return E_OK;
    if (q != NULL && (end->step > 0 || !end->routed))
        of_queue = end->state == JOB_DONE ? &q->def.on_success : &q->def.on_failure;
    if (!end->has_dests && (of_queue == NULL || of_queue->count == 0))
        return E_OK;
    if (fanout_is_used_up(e) && of_queue != NULL && of_queue->count > 0)
        return put_off(e, &f, of_queue, end->group,
                       err); /* it has destinations: no need to load it now */
    if (look(&c, of_queue, &leads, err) != E_OK)
        return err->code;
    if (!leads)
        return E_OK;
    if (!fanout_is_used_up(e) && follow_some(&c, &f.place, err) != E_OK)
        return err->code;
    return f.place == count_dests(&c) ? E_OK : put_off(e, &f, of_queue, end->group, err);
}

/* ---- unfinished ends ---- */

static enum err_code close_follow(struct engine *e, const struct stored_follow *f, int64_t group,
                                  struct err *err)
{
    if (f->whole)
        groups_owe(e, group, -1);
    if (store_follow_remove(e->store, f->id, err) != E_OK)
        return err->code;
    return f->whole || f->step == 0 ? E_OK : set_held(e, f->job, JOB_EV_WAKE, err);
}

static enum err_code go_on(struct engine *e, struct stored_follow *f, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct cause c = {.e = e, .end = f, .arena = &arena};
    bool leads = false;

    if (engine_write(e, err) != E_OK || look(&c, NULL, &leads, err) != E_OK ||
        (leads && follow_some(&c, &f->place, err) != E_OK))
        return err->code;
    /* The row itself; counted last, so that at least one destination is followed. */
    fanout_use(&e->batch.followups.fanout, 1, 0);
    return f->place < count_dests(&c) ? store_follow_place(e->store, f->id, f->place, err)
                                      : close_follow(e, f, c.job.group, err);
}

/* A job with a next step is changed when its end has been followed.  All servers lock jobs before
 * signals and joins, and the batch may hold locks on these already.  So the job is locked first,
 * without waiting, and its end is skipped for now if another server has locked it. */
static enum err_code hold_job(struct engine *e, const struct stored_follow *f, bool *ret_busy,
                              struct err *err)
{
    *ret_busy = false;
    if (!must_ask_store(e) || f->id == 0 || f->whole || f->step == 0)
        return E_OK;
    return store_waiters_hold(e->store, &f->job, 1, ret_busy, &e->batch.arena, err);
}

/* The first row that can be read and whose job is not skipped as damaged. */
static enum err_code next_readable(struct engine *e, struct stored_follow *ret, struct err *err)
{
    while (store_follow_next(e->store, ret->id, &e->batch.arena, ret, err) != E_OK ||
           (ret->id != 0 && job_is_skipped(e, ret->job))) {
        if (err->code != E_OK && (!err->bad_row || !fanout_is_skipped(e, ret->id)))
            return skip_damaged_fanout(e, "end", ret->id, err);
        *err = ERR_INIT;
        e->followups.has_skipped_fanouts = true;
    }
    return E_OK;
}

static enum err_code next(struct engine *e, struct stored_follow *ret, struct err *err)
{
    bool busy = true;

    for (ret->id = 0; busy;) {
        if (next_readable(e, ret, err) != E_OK || hold_job(e, ret, &busy, err) != E_OK)
            return err->code;
        if (busy)
            fanouts_pause(e);
    }
    return E_OK;
}

enum err_code follow_work(struct engine *e, bool *ret_over, struct err *err)
{
    struct stored_follow f;

    if (next(e, &f, err) != E_OK)
        return err->code;
    *ret_over = fanout_is_for_later(e, f.id);
    if (*ret_over)
        return E_OK;
    return go_on(e, &f, err) == E_OK ? E_OK : skip_damaged_job(e, f.job, err);
}

enum err_code follow_is_left(struct engine *e, int64_t job, bool *ret_left, struct err *err)
{
    *ret_left = false;
    return fanouts_may_exist(e) ? store_follow_has(e->store, job, ret_left, err) : E_OK;
}
