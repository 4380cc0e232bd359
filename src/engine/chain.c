/*
 * Chains: where the end of a job or of a step leads.
 *
 * What is made has the params of its cause, the destination's laid over them, then `result` and `cause`.  It is made
 * whatever the state of its queue is.  One that cannot be run is made all the same and fails at once, with the
 * reason: it leaves a trace, and is followed as others are, but for those whose cause never ran either, and
 * those beyond the longest chain: a definition that leads to itself comes to an end.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/json.h"
#include "base/log.h"
#include "core/quote.h"
#include "engine/engine_internal.h"
#include "engine/job_json.h"
#include "engine/links.h"
#include "engine/route.h"
#include "store/store_jobs.h"
#include "store/store_record.h"

#define PARAMS_MAX (4 * JOB_BYTES_MAX)
#define ASTRAY_EVERY_US (1 * US_PER_S)

/* ---- destinations that are not there ---- */

enum err_code chain_astray(struct engine *e, const struct chain_source *source, const char *why,
                           struct err *err)
{
    struct queue *q = source->queue == 0 ? NULL : map_find(&e->queues.by_id, source->queue);
    char line[sizeof(((struct err *)0)->msg) + 80];
    char id[ID_TEXT_SIZE];

    int64_t *told_at = q == NULL ? &e->astray_at : &q->astray_at;

    if (*told_at != 0 && e->now.steady_at - *told_at < ASTRAY_EVERY_US)
        return E_OK;
    *told_at = e->now.steady_at;
    if (q == NULL) {
        log_info("what has ended leads nowhere: %s", why);
        return E_OK;
    }
    snprintf(line, sizeof(line), "the end of job %s leads nowhere: %s", id_format(source->job, id),
             why);
    return queue_note(e, q, "astray", slice_of(line), err);
}

/* ---- making a job ---- */

struct unfit {
    enum job_cause cause;
    struct err why; /* E_OK: it fits */
};

static struct unfit judge(const struct queue *q, const struct chain_source *source,
                          struct slice *params)
{
    struct unfit u = {.cause = JOB_CAUSE_START, .why = ERR_INIT};

    if (source->depth > CHAIN_DEPTH_MAX) {
        u.cause = JOB_CAUSE_DEPENDENCY;
        err_set(&u.why, E_INVALID, "its chain has more than %d jobs, one leading to the next",
                CHAIN_DEPTH_MAX);
    } else if (params->size + source->labels.size > JOB_BYTES_MAX) {
        err_set(&u.why, E_TOO_LARGE, "with its cause's params and result it has more than %zu MiB",
                JOB_BYTES_MAX >> 20);
    } else {
        (void)queue_fills(q, *params, slice_make(NULL, 0), &u.why);
    }
    if (params->size + source->labels.size > JOB_BYTES_MAX)
        *params = SLICE("{}");
    return u;
}

/* Held at first: what waits so may fail without having run. */
static enum err_code make_failed(struct engine *e, const struct submit_item *item, struct plan *p,
                                 const struct unfit *u, struct err *err)
{
    struct slice why = arena_copy(&e->arena, slice_of(u->why.msg));
    bool found = false;
    struct job j;

    if (p->id == 0)
        p->id = engine_new_id(e);
    j = submit_make_job(e, item, p);
    j.state = JOB_HELD;
    if (engine_write(e, err) != E_OK || store_jobs_insert(e->store, &j, 1, err) != E_OK)
        return err->code;
    note_move(e, &j, JOB_NONE, NULL, "submitted");
    e->tally.submitted++;
    if (store_job_brief(e->store, p->id, &e->arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found)
        return store_job_damaged(e->store, p->id, "it is gone", err);
    return job_end_unrun(e, &j, JOB_EV_FAIL, u->cause, why, err);
}

enum err_code chain_make(struct engine *e, const struct chain_source *source, struct plan *p,
                         struct err *err)
{
    struct bill bill = {.parent = source->job, .depth = source->depth, .topic = source->topic};
    struct submit_item item = {.queue = slice_of(p->queue->name),
                               .params = source->params,
                               .labels = source->labels,
                               .priority = source->priority,
                               .bill = bill_format(&bill, &e->arena)};
    struct unfit unfit = judge(p->queue, source, &item.params);

    if (item.params.data != source->params.data)
        p->shared = 0;
    return unfit.why.code == E_OK ? submit_create(e, &item, p, err)
                                  : make_failed(e, &item, p, &unfit, err);
}

/* ---- following ---- */

/* A destination's own params, but what tells of the cause stays. */
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
        if (json_find(params, told[i], &value))
            json_put_raw(&kept, told[i], value);
    buf_add_char(&kept, '}');
    json_add_merged(&both, params, over);
    json_add_merged(&all, buf_slice(&both), buf_slice(&kept));
    return arena_copy(&e->arena, buf_slice(&all));
}

static enum err_code follow_queue(struct engine *e, struct slice name,
                                  const struct chain_source *source, struct err *err)
{
    struct queue *q = queue_find(e, name);
    struct plan plan = {.queue = q};
    struct err why = ERR_INIT;

    if (q != NULL) {
        fanout_use(&e->fanout, 1, source->params.size);
        return chain_make(e, source, &plan, err);
    }
    queue_unknown(e, name, E_NOT_FOUND, &why);
    return chain_astray(e, source, why.msg, err);
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
    return chain_astray(e, source, why.msg, err);
}

static enum err_code follow(struct engine *e, const struct dest *dest,
                            const struct chain_source *source, struct err *err)
{
    struct chain_source own = *source;
    int64_t level;

    own.params = lay_over(e, source->params, dest->params);
    switch (dest->kind) {
    case DEST_QUEUE: return follow_queue(e, dest->name, &own, err);
    case DEST_TOPIC: return follow_topic(e, dest->name, &own, err);
    case DEST_JOIN: return join_arrive(e, dest->name, &own, err);
    case DEST_SIGNAL: return signal_raise(e, dest->name, dest->count, &level, err);
    }
    return E_OK;
}

enum err_code chain_follow(struct engine *e, const struct dest_list *dests,
                           const struct chain_source *source, struct err *err)
{
    for (size_t i = 0; i < dests->count; i++)
        if (follow(e, &dests->items[i], source, err) != E_OK)
            return err->code;
    return E_OK;
}

/* ---- what has ended ---- */

struct cause {
    struct engine *e;
    const struct link_end *end;
    struct arena *arena; /* of what is loaded */
    struct job job;
    struct bill bill;
    struct progress_entry entry; /* how it ended */
    struct slice result;
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

    if (store_job_lean(s, c->end->job, c->arena, &c->job, ret_found, err) != E_OK)
        return err->code;
    if (!*ret_found)
        return E_OK;
    bill_parse(c->job.bill, c->arena, &c->bill);
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

/* Whether what never ran has a cause that never ran. */
static enum err_code never_began(const struct cause *c, bool *ret_never, struct err *err)
{
    struct job parent;
    bool found = false;

    *ret_never = false;
    if (c->end->state != JOB_FAILED || c->job.attempt > 0 || c->bill.parent == 0)
        return E_OK;
    if (store_job_outline(c->e->store, c->bill.parent, c->arena, &parent, &found, err) != E_OK)
        return err->code;
    *ret_never = found && parent.state == JOB_FAILED && parent.attempt == 0;
    return E_OK;
}

static void add_cause(const struct cause *c, struct buf *b)
{
    const struct queue *q = map_find(&c->e->queues.by_id, c->end->queue);
    int step = c->end->step > 0 ? c->end->step : c->job.failed_step;

    buf_add_char(b, '{');
    json_add_id(b, "id", c->end->job);
    if (q != NULL)
        json_put_string(b, "queue", slice_of(q->name));
    json_put_string(b, "state", slice_of(job_state_name(c->end->state)));
    if (step > 0)
        json_put_int(b, "step", step);
    if (c->entry.exited)
        json_put_int(b, "exit", c->entry.exit);
    if (c->entry.cause != JOB_CAUSE_NONE)
        json_put_string(b, "cause", slice_of(job_cause_name(c->entry.cause)));
    if (c->entry.text.size > 0)
        json_put_string(b, "text", c->entry.text);
    buf_add_char(b, '}');
}

/* A result that an earlier job of the chain has given is not this one's. */
static bool is_no_result(void *ctx, struct slice key)
{
    (void)ctx;
    return !json_key_is(key, "result");
}

static struct slice told_params(const struct cause *c)
{
    const struct route_step *step = c->end->step == 0 ? NULL : route_find(&c->bill, c->end->step);
    struct slice own = step == NULL ? slice_make(NULL, 0) : step->params;
    struct slice seen = route_params(c->job.params, c->job.assigned, own, c->arena);
    CLEANUP(buf) struct buf base = BUF_INIT(PARAMS_MAX);
    CLEANUP(buf) struct buf over = BUF_INIT(PARAMS_MAX);
    CLEANUP(buf) struct buf all = BUF_INIT(PARAMS_MAX);

    json_add_kept(&base, seen, is_no_result, NULL);
    buf_add_char(&over, '{');
    if (c->result.size > 0)
        json_put_raw(&over, "result", c->result);
    json_add_key(&over, "cause");
    add_cause(c, &over);
    buf_add_char(&over, '}');
    json_add_merged(&all, buf_slice(&base), buf_slice(&over));
    return arena_copy(&c->e->arena, buf_slice(&all));
}

static enum err_code follow_json(struct cause *c, struct slice dests,
                                 const struct chain_source *source, struct err *err)
{
    struct err ignored = ERR_INIT; /* it was checked when the job was made */
    struct dest_list list;

    if (dests.size == 0 || dest_list_parse(dests, "", c->arena, &list, NULL, &ignored) != E_OK)
        return E_OK;
    return chain_follow(c->e, &list, source, err);
}

/* The step's, then its queue's; or, of the job as a whole, its own. */
static enum err_code follow_all(struct cause *c, const struct dest_list *of_queue, struct err *err)
{
    const struct route_step *step = c->end->step == 0 ? NULL : route_find(&c->bill, c->end->step);
    bool done = c->end->state == JOB_DONE;
    struct chain_source source = {
        .params = told_params(c),
        .labels = arena_copy(&c->e->arena, c->job.labels),
        .job = c->end->job,
        .queue = c->end->queue,
        .depth = c->bill.depth + 1,
        .priority = c->job.priority,
    };

    if (step != NULL &&
        follow_json(c, done ? step->on_success : step->on_failure, &source, err) != E_OK)
        return err->code;
    if (of_queue != NULL && chain_follow(c->e, of_queue, &source, err) != E_OK)
        return err->code;
    if (!c->end->whole)
        return E_OK;
    return follow_json(c, done ? c->bill.on_success : c->bill.on_failure, &source, err);
}

enum err_code chain_ended(struct engine *e, const struct link_end *end, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    const struct queue *q = end->queue == 0 ? NULL : map_find(&e->queues.by_id, end->queue);
    const struct dest_list *of_queue = NULL;
    struct cause c = {.e = e, .end = end, .arena = &arena};
    bool found = false;
    bool never = false;

    if (end->state != JOB_DONE && end->state != JOB_FAILED)
        return E_OK;
    if (q != NULL && (end->step > 0 || !end->routed))
        of_queue = end->state == JOB_DONE ? &q->def.on_success : &q->def.on_failure;
    if (!end->billed && (of_queue == NULL || of_queue->count == 0))
        return E_OK;
    if (load(&c, &found, err) != E_OK || (found && never_began(&c, &never, err) != E_OK))
        return err->code;
    if (!found || never || c.bill.depth > CHAIN_DEPTH_MAX)
        return E_OK;
    return follow_all(&c, of_queue, err);
}
