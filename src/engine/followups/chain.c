/*
 * Chains: creates the jobs that follow the end of another job, and passes params to them.
 *
 * A new job gets the params of its cause, overridden by the destination's, then `result` and
 * `cause` (follow.c).  It is created whatever the state of its queue.  A job that cannot run is
 * created too, and fails at once with the reason, so that it can be seen.  Its end is followed like
 * any other, except when its cause never ran either, or when the chain is longer than
 * CHAIN_DEPTH_MAX: a definition that names itself as a destination must not run forever.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/followups/chain.h"

#include <stdio.h>

#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "core/object/quote.h"
#include "engine/batch/effects.h"
#include "engine/batch/transaction.h"
#include "engine/filters/filters.h"
#include "engine/followups/join.h"
#include "engine/followups/signal.h"
#include "engine/followups/spread.h"
#include "engine/followups/topic.h"
#include "engine/jobs/submit.h"
#include "engine/queues/accept.h"
#include "engine/queues/queue_log.h"
#include "engine/reads/job_json.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"

#define PARAMS_MAX (4 * JOB_BYTES_MAX)
#define MISSING_DEST_EVERY_US (1 * US_PER_S)

/* ---- missing destinations ---- */

enum err_code chain_missing_dest(struct engine *e, const struct chain_source *source,
                                 const char *why, struct err *err)
{
    struct queue *q = source->queue == 0 ? NULL : map_find(&e->queues.by_id, source->queue);
    char line[sizeof(((struct err *)0)->msg) + 80];
    char id[ID_TEXT_SIZE];

    int64_t *told_at = q == NULL ? &e->followups.missing_dest_at : &q->missing_dest_at;

    if (*told_at != 0 && e->now.steady_at - *told_at < MISSING_DEST_EVERY_US)
        return E_OK;
    *told_at = e->now.steady_at;
    if (q == NULL) {
        log_info("a destination of an ended job is missing: %s", why);
        return E_OK;
    }
    snprintf(line, sizeof(line), "a destination of job %s is missing: %s",
             id_format(source->job, id), why);
    return queue_note(e, q, "astray", slice_of(line), err);
}

/* ---- creating a job ---- */

struct unfit {
    enum job_cause cause;
    struct err why; /* E_OK: the job can run */
};

static struct unfit judge(const struct queue *q, const struct chain_source *source,
                          struct slice *params)
{
    struct unfit u = {.cause = JOB_CAUSE_START, .why = ERR_INIT};

    if (source->unfit != NULL) {
        u.why = *source->unfit;
    } else if (source->depth > CHAIN_DEPTH_MAX) {
        u.cause = JOB_CAUSE_DEPENDENCY;
        err_set(&u.why, E_INVALID,
                "its chain has more than %d jobs, each started by the one before", CHAIN_DEPTH_MAX);
    } else if (params->size + source->labels.size > JOB_BYTES_MAX) {
        err_set(&u.why, E_TOO_LARGE,
                "it has more than %zu MiB with the params and result of its cause",
                JOB_BYTES_MAX >> 20);
    } else {
        (void)queue_check_params(q, *params, slice_make(NULL, 0), &u.why);
    }
    if (params->size + source->labels.size > JOB_BYTES_MAX)
        *params = SLICE("{}");
    return u;
}

/* Creates the job as failed.  It is written with the batch's other new jobs, so that jobs of one
 * cause share their params.  Its end is noted only then, as following it reads the store. */
static enum err_code make_failed(struct engine *e, const struct submit_item *item, struct plan *p,
                                 const struct unfit *u, struct err *err)
{
    if (p->id == 0)
        p->id = engine_new_id(e);
    struct job j = submit_make_job(e, item, p);

    if (engine_write(e, err) != E_OK)
        return err->code;
    j.state = JOB_HELD; /* a held job may fail without having run */
    effects_move(e, &j, JOB_NONE, NULL, "submitted");
    e->batch.tally.submitted++;
    j.state = job_state_next(j.state, JOB_EV_FAIL);
    j.cause = u->cause;
    j.text = arena_copy(&e->batch.arena, slice_of(u->why.msg));
    j.finished_at = e->now.wall_at;
    VEC_PUSH(&e->batch.new_jobs, j);
    VEC_PUSH(&e->batch.unfit_jobs, j);
    return E_OK;
}

void chain_note_unfit(struct engine *e)
{
    for (size_t i = 0; i < e->batch.unfit_jobs.count; i++) {
        const struct job *j = &e->batch.unfit_jobs.items[i];

        effects_move(e, j, JOB_HELD, queue_by_id(e, j->queue), job_state_name(j->state));
        e->batch.tally.failed++;
    }
    VEC_CLEAR(&e->batch.unfit_jobs);
}

enum err_code chain_make(struct engine *e, const struct chain_source *source, struct plan *p,
                         struct err *err)
{
    struct routing routing = {.parent = source->job,
                              .depth = source->depth,
                              .topic = source->topic};
    struct submit_item item = {.queue = slice_of(p->queue->name),
                               .params = source->params,
                               .labels = source->labels,
                               .priority = source->priority,
                               .routing = &routing};
    struct unfit unfit = judge(p->queue, source, &item.params);

    if (item.params.data != source->params.data)
        p->shared = 0;
    if (unfit.why.code != E_OK)
        return make_failed(e, &item, p, &unfit, err);
    if (!queue_has_filters(p->queue) || p->closes != 0) /* filters do not judge finalisers */
        return submit_create(e, &item, p, err);
    struct routing *kept = arena_alloc(&e->batch.arena, sizeof(*kept));

    *kept = routing;
    item.routing = kept;
    filters_defer(e, &item, p);
    return E_OK;
}

/* ---- following ---- */

/* Merges the destination's params, which must not override the members about the cause. */
static struct slice lay_over(struct engine *e, struct slice params, struct slice over)
{
    static const char *const told[] = {"result", "cause", "join"};
    CLEANUP(buf) struct buf kept = BUF_INIT(PARAMS_MAX);
    CLEANUP(buf) struct buf both = BUF_INIT(PARAMS_MAX);
    CLEANUP(buf) struct buf all = BUF_INIT(PARAMS_MAX);
    struct slice value;

    if (over.size == 0)
        return params;
    buf_add_char(&kept, '{');
    for (size_t i = 0; i < ARRAY_LEN(told); i++)
        if (jtext_find(params, told[i], &value))
            jtext_put_raw(&kept, told[i], value);
    buf_add_char(&kept, '}');
    jtext_add_merged(&both, params, over);
    jtext_add_merged(&all, buf_slice(&both), buf_slice(&kept));
    return arena_copy(&e->batch.arena, buf_slice(&all));
}

static enum err_code follow_queue(struct engine *e, struct slice name,
                                  const struct chain_source *source, struct err *err)
{
    struct queue *q = queue_find(e, name);
    struct plan plan = {.queue = q, .group = source->group};
    struct err why = ERR_INIT;

    if (q != NULL)
        return chain_make(e, source, &plan, err);
    queue_unknown(e, name, E_NOT_FOUND, &why);
    return chain_missing_dest(e, source, why.msg, err);
}

static enum err_code follow_topic(struct engine *e, struct slice name,
                                  const struct chain_source *source, struct err *err)
{
    struct err why = ERR_INIT;
    struct quote quote;
    size_t n = 0;

    if (topic_publish(e, name, source, &n, err) != E_OK)
        return err->code;
    if (n > 0)
        return E_OK;
    err_set(&why, E_NOT_FOUND, "nobody is subscribed to topic %s", quote_text(&quote, name));
    return chain_missing_dest(e, source, why.msg, err);
}

enum err_code chain_follow_one(struct engine *e, const struct dest *dest,
                               const struct chain_source *source, struct err *err)
{
    struct chain_source own = *source;
    int64_t level;

    own.params = lay_over(e, source->params, dest->params);
    /* The caller counts the source's params; labels are stored with each job. */
    fanout_use(&e->batch.followups.fanout, 1,
               source->labels.size +
                   (own.params.data == source->params.data ? 0 : own.params.size));
    switch (dest->kind) {
    case DEST_QUEUE: return follow_queue(e, dest->name, &own, err);
    case DEST_TOPIC: return follow_topic(e, dest->name, &own, err);
    case DEST_JOIN: return join_arrive(e, dest->name, &own, err);
    case DEST_SIGNAL: return signal_raise(e, dest->name, dest->count, &level, err);
    }
    return E_OK;
}

enum err_code chain_follow(struct engine *e, const struct dest_list *dests,
                           const struct chain_source *source, size_t *place, struct err *err)
{
    for (; *place < dests->count && !fanout_is_used_up(e); (*place)++)
        if (chain_follow_one(e, &dests->items[*place], source, err) != E_OK)
            return err->code;
    return E_OK;
}
