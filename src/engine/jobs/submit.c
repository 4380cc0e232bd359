/*
 * Submit: creates one job, an array as a whole, or jobs line by line.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/jobs/submit.h"

#include "base/jtext/jtext.h"
#include "engine/batch/effects.h"
#include "engine/batch/names.h"
#include "engine/batch/transaction.h"
#include "engine/clock/expire.h"
#include "engine/filters/filters.h"
#include "engine/followups/after.h"
#include "engine/followups/after_targets.h"
#include "engine/followups/chain.h"
#include "engine/followups/route.h"
#include "engine/followups/waiter.h"
#include "engine/gates/lanes.h"
#include "engine/groups/choose.h"
#include "engine/jobs/job_action.h"
#include "engine/jobs/keys.h"
#include "engine/queues/accept.h"
#include "engine/reads/job_json.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"
#include "store/jobs/logs.h"
#include "store/jobs/record.h"
#include "store/links/links.h"

/* ---- keys ---- */

/* An item without a queue is refused anyway: its key is not taken. */
static bool has_key(struct engine *e, const struct submit_item *item)
{
    return item->key.size > 0 && item->parse_err == NULL && queue_find(e, item->queue) != NULL;
}

static bool any_key(const struct submit_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (items[i].key.size > 0)
            return true;
    return false;
}

/* Items without a key get their ids here too, so that ids are in the order of the items. */
enum err_code submit_prepare_keys(struct engine *e, struct err *err)
{
    struct op **ops = e->batch.ops;
    size_t n = e->batch.n_ops;
    bool any = false;

    for (size_t i = 0; i < n && !any; i++)
        any = ops[i]->kind == OP_SUBMIT && any_key(ops[i]->submit.items, ops[i]->submit.n_items);
    if (!any)
        return E_OK;
    if (keys_open(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++) {
        const struct submit *s = &ops[i]->submit;

        if (ops[i]->kind != OP_SUBMIT)
            continue;
        int64_t *ids = arena_array(&e->batch.arena, s->n_items, sizeof(*ids));

        for (size_t k = 0; k < s->n_items; k++) {
            ids[k] = s->dry_run ? 0 : engine_new_id(e);
            if (has_key(e, &s->items[k]))
                keys_want(e, s->items[k].key, ids[k], s->items[k].content);
        }
        ops[i]->ids = ids;
    }
    return keys_look(e, err) != E_OK ? err->code : keys_take(e, err);
}

/* ---- groups ---- */

/* The groups that jobs of the request name or open.  Those of NDJSON are known by a number that its
 * chunks share. */
static enum err_code choose_groups(struct engine *e, struct submit *s,
                                   const struct submit_item *items, size_t n, struct plan *plans,
                                   struct err *err)
{
    struct group_scope scope = {.is_new = s->request == 0, .lives = s->goes_on};
    bool opens = false;

    if (!groups_any_chosen(items, n))
        return E_OK;
    if (s->request == 0)
        s->request = engine_new_id(e);
    scope.opener = s->request;
    scope.node = s->goes_on ? (int64_t)e->node + 1 : 0;
    return groups_choose(e, &scope, items, n, plans, &opens, err);
}

enum err_code submit_look_at_filters(struct engine *e, struct err *err)
{
    bool any = false;

    for (size_t i = 0; i < e->batch.n_ops && e->queues.filtered > 0; i++) {
        struct submit *s = &e->batch.ops[i]->submit;

        for (size_t k = 0; e->batch.ops[i]->kind == OP_SUBMIT && k < s->n_items; k++) {
            struct plan p = {.queue = queue_find(e, s->items[k].queue)};

            if (p.queue == NULL || !queue_has_filters(p.queue))
                continue;
            if (choose_groups(e, s, &s->items[k], 1, &p, err) != E_OK)
                return err->code;
            submit_want_filters(e, &s->items[k], &p);
            any = true;
        }
    }
    return any ? filters_look(e, err) : E_OK;
}

enum err_code submit_take_keys(struct engine *e, const struct submit_item *items, size_t n,
                               struct plan *plans, struct err *err)
{
    if (!any_key(items, n))
        return E_OK;
    if (keys_open(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++) {
        plans[i].new_id = engine_new_id(e);
        if (items[i].key.size > 0)
            keys_want(e, items[i].key, plans[i].new_id, items[i].content);
    }
    return keys_look(e, err) != E_OK ? err->code : keys_take(e, err);
}

void submit_judge_key(struct engine *e, const struct submit_item *item, struct plan *p)
{
    const struct key_entry *k = keys_get(e, item->key);

    p->known = key_is_known(k);
    if (p->known)
        p->id = k->who.job;
    if (p->known && k->who.content != item->content) {
        char text[ID_TEXT_SIZE];

        err_set(&p->refused, E_CONFLICT,
                "the key '%.*s' belongs to job %s, which has other content",
                (int)(item->key.size > 60 ? 60 : item->key.size), item->key.data,
                id_format(p->id, text));
    }
}

/* ---- judging ---- */

/* What the steps have set that the job is submitted as having run. */
static struct slice assigned_before(struct engine *e, const struct submit_item *item)
{
    struct slice assigned = {0};

    for (size_t i = 0; i < item->n_progress; i++)
        assigned = route_params(assigned, item->progress[i].set, slice_make(NULL, 0),
                                &e->batch.arena);
    return assigned;
}

/* Whether its queues accept it. */
static enum err_code judge_queues(struct engine *e, const struct submit_item *item, struct plan *p,
                                  struct err *err)
{
    struct slice params = item->params;

    if (item->step > 0)
        params = route_params(params, assigned_before(e, item), item->step_params, &e->batch.arena);
    if (queue_accepts(p->queue, params, item->options, &p->refused) != E_OK ||
        item->routing == NULL)
        return E_OK;
    return route_judge(e, item, &p->refused, err);
}

static struct job_action again_of(const struct plan *p)
{
    return (struct job_action){.kind = ACTION_RETRY, .id = p->id, .anew = true, .alone = true};
}

/* Whether the known job can be run again, if it has ended. */
static enum err_code judge_redo(struct engine *e, struct plan *p, struct err *err)
{
    struct job_action again = again_of(p);
    bool found = false;
    struct job j;

    if (store_job_load(e->store, p->id, LOAD_ALL, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || !job_state_ended(j.state))
        return E_OK;
    return job_action_judge_retry(e, &again, &j, &p->refused, err);
}

enum err_code submit_judge(struct engine *e, const struct submit_item *item, enum submit_keys keys,
                           struct plan *p, struct err *err)
{
    if (item->parse_err != NULL) {
        p->refused = *item->parse_err;
        return E_OK;
    }
    p->queue = queue_find(e, item->queue);
    if (p->queue == NULL) {
        if (item->step > 0)
            return route_judge(e, item, &p->refused, err); /* its error names the step */
        queue_unknown(e, item->queue, E_INVALID, &p->refused);
        return E_OK;
    }
    if (keys == SUBMIT_KEYS_NOW && item->key.size > 0)
        submit_judge_key(e, item, p);
    if (p->refused.code != E_OK)
        return E_OK;
    if (p->known)
        return item->redo ? judge_redo(e, p, err) : E_OK;
    expire_judge(e, item, &p->refused);
    if (p->refused.code != E_OK)
        return E_OK;
    return judge_queues(e, item, p, err);
}

/* ---- filters ---- */

bool plan_is_dropped(const struct plan *p)
{
    return p->ruling != NULL && p->ruling->verdict == VERDICT_DROP;
}

static struct filter_job filter_job_of(struct engine *e, const struct submit_item *item,
                                       const struct plan *p)
{
    struct slice params = item->params;

    if (item->step > 0)
        params = route_params(params, assigned_before(e, item), item->step_params, &e->batch.arena);
    bool opens = p->opening != NULL && !p->opening->exists;

    return (struct filter_job){.queue = p->queue,
                               .params = params,
                               .group = p->group,
                               .opening = opens ? p->opening : NULL,
                               .id = p->id};
}

void submit_want_filters(struct engine *e, const struct submit_item *item, const struct plan *p)
{
    struct filter_job j = filter_job_of(e, item, p);

    filters_want(e, &j);
}

/* A job that another one stands for is known. */
static void judge_filters(struct engine *e, const struct submit_item *item, enum submit_keys when,
                          struct plan *p)
{
    struct filter_job j = filter_job_of(e, item, p);
    struct filter_ruling *ruling = arena_alloc(&e->batch.arena, sizeof(*ruling));

    if (when == SUBMIT_KEYS_NOW)
        filters_judge(e, &j, ruling);
    else
        filters_preview(e, &j, ruling);
    p->ruling = ruling;
    p->refused = ruling->refused;
    if (ruling->verdict == VERDICT_JOIN || ruling->verdict == VERDICT_REPLACE)
        p->known = true;
    if (p->known || ruling->verdict == VERDICT_DROP)
        p->id = ruling->drop.job;
}

/* ---- preparing: ids and conditions ---- */

static int64_t id_for(struct engine *e, const struct plan *p)
{
    return p->new_id != 0 ? p->new_id : engine_new_id(e);
}

/* A key that appears again in the same array means the job that had it first. */
static void give_id(struct engine *e, struct names *keys, const struct submit_item *item,
                    struct plan *p)
{
    struct plan *first = item->key.size > 0 ? names_find(keys, item->key) : NULL;

    if (first != NULL) {
        p->known = !plan_is_dropped(first);
        p->ruling = p->known ? NULL : first->ruling; /* what is to be done for it is done once */
        p->id = first->id;
        return;
    }
    p->id = id_for(e, p);
    if (item->key.size > 0)
        names_add(keys, item->key, p);
}

enum err_code submit_prepare(struct engine *e, const struct submit_item *items, size_t n,
                             enum submit_keys when, struct plan *plans, struct err *err)
{
    CLEANUP(names) struct names keys = NAMES_INIT;
    struct after_plan *after = NULL;
    bool any_after = false;

    for (size_t i = 0; i < n; i++) {
        if (plan_is_made(&plans[i]) && when == SUBMIT_KEYS_NOW)
            give_id(e, &keys, &items[i], &plans[i]);
        else if (plan_is_made(&plans[i]))
            plans[i].id = id_for(e, &plans[i]);
        if (plan_is_made(&plans[i]) && queue_has_filters(plans[i].queue))
            judge_filters(e, &items[i], when, &plans[i]);
        any_after = any_after || items[i].n_after > 0;
    }
    if (!any_after)
        return E_OK;
    if (after_judge(e, items, n, plans, &after, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (items[i].n_after > 0 && plan_is_made(&plans[i]))
            plans[i].after = &after[i];
    return E_OK;
}

/* ---- creating ---- */

static bool must_wait(const struct plan *p)
{
    return p->after != NULL && (p->after->n_waits > 0 || p->after->never);
}

static unsigned holds_of(const struct plan *p)
{
    return (must_wait(p) ? JOB_HOLD_AFTER : 0u) |
           (p->ruling != NULL && p->ruling->held ? JOB_HOLD_FILTER : 0u);
}

static void add_routing(struct engine *e, const struct submit_item *item, const struct plan *p,
                        struct job *j)
{
    struct routing routing = {0};

    if (item->routing != NULL)
        routing = *item->routing;
    if (p->after != NULL)
        routing.after = p->after->json;
    j->routing = routing_format(&routing, &e->batch.arena);
    j->has_dests = routing_is_followed(&routing);
    j->step = item->step;
    j->assigned = assigned_before(e, item);
}

struct job submit_make_job(struct engine *e, const struct submit_item *item, const struct plan *p)
{
    int64_t due_at = item->delay_us > 0 ? e->now.wall_at + item->delay_us : item->due_at;
    bool later = due_at > e->now.wall_at;
    struct job j = {
        .id = {p->id},
        .queue = p->queue->id,
        .state = holds_of(p) != 0 ? JOB_HELD
                 : later          ? JOB_SCHEDULED
                                  : JOB_READY,
        .priority = item->priority,
        .due_at = later ? due_at : 0,
        .delay_us = later ? item->delay_us : 0,
        .holds = holds_of(p),
        .awaited = p->awaited,
        .key = item->key,
        .params = item->params,
        .body = item->body,
        .labels = item->labels,
        .options = item->options,
        .shared = p->shared,
        .group = p->group,
        .closes = p->closes,
    };

    if (item->routing != NULL || p->after != NULL)
        add_routing(e, item, p, &j);
    return j;
}

enum err_code submit_keep_progress(struct engine *e, const struct submit_item *item,
                                   const struct plan *p, struct err *err)
{
    for (size_t i = 0; i < item->n_progress; i++) {
        const struct route_status *s = &item->progress[i];
        struct progress_entry entry = {
            .seq = (int)i - (int)item->n_progress,
            .number = s->number,
            .attempt = 1,
            .outcome = !s->has_status   ? JOB_OUT_LOST
                       : s->status == 0 ? JOB_OUT_DONE
                                        : JOB_OUT_FAILED,
            .exited = s->has_status,
            .exit = s->status,
            .queue = p->queue->id,
            .started_at = s->started_at,
            .ended_at = s->ended_at,
            .text = s->text,
            .set = s->set,
        };

        if (store_progress_add(e->store, p->id, &entry, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* One of its conditions is impossible: the job is created all the same, to show why it ended. */
static enum err_code cancel_at_once(struct engine *e, const struct plan *p, struct err *err)
{
    bool found = false;
    struct job j;

    if (submit_flush(e, err) != E_OK ||
        store_job_load(e->store, p->id, LOAD_LIVE, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found)
        return store_job_damaged(e->store, p->id, "its row is missing", err);
    return after_cancel(e, &j, p->after->lost, slice_of(p->after->why), err);
}

enum err_code submit_create(struct engine *e, const struct submit_item *item, struct plan *p,
                            struct err *err)
{
    if (p->id == 0)
        p->id = id_for(e, p);
    if (engine_write(e, err) != E_OK || groups_join(e, p, err) != E_OK)
        return err->code;
    struct job j = submit_make_job(e, item, p);

    if (lane_assign(e, &j, err) != E_OK)
        return err->code;
    VEC_PUSH(&e->batch.new_jobs, j);
    if (item->key.size > 0)
        keys_use(e, item->key, p->id, item->content);
    expire_note(e, item, p->queue, p->id);
    effects_move(e, &j, JOB_NONE, NULL, "submitted");
    e->batch.tally.submitted++;
    if (submit_keep_progress(e, item, p, err) != E_OK)
        return err->code;
    if (j.holds & JOB_HOLD_FILTER && desk_add(e, &j, err) != E_OK)
        return err->code;
    if (p->after == NULL)
        return E_OK;
    return p->after->never ? cancel_at_once(e, p, err) : after_make(e, p->after, err);
}

/* The job that has the key is run again from its beginning, if it has ended. */
static enum err_code redo(struct engine *e, struct plan *p, struct err *err)
{
    struct job_action again = again_of(p);
    struct job_action_result result;
    bool found = false;
    struct job j;

    if (lock_job(e, p->id, err) != E_OK ||
        store_job_load(e->store, p->id, LOAD_ALL, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || !job_state_ended(j.state))
        return E_OK;
    if (job_action_apply(e, &again, &j, &result, err) != E_OK ||
        store_log_size(e->store, p->id, &p->log_size, err) != E_OK)
        return err->code;
    p->refused = result.refused;
    p->redone = true;
    return p->awaited ? store_jobs_await(e->store, &p->id, 1, &j.state, &e->batch.arena, err)
                      : E_OK;
}

size_t submit_first_refused(const struct submit_item *items, size_t n, struct plan *plans,
                            struct err *ret_refused)
{
    CLEANUP(names) struct names keys = NAMES_INIT;

    for (size_t i = 0; i < n; i++) {
        const struct submit_item *item = &items[i];

        if (plans[i].refused.code == E_OK && item->key.size > 0) {
            const struct submit_item *other = names_find(&keys, item->key);

            if (other == NULL)
                names_add(&keys, item->key, (void *)(uintptr_t)item);
            else if (other->content != item->content)
                err_set(&plans[i].refused, E_CONFLICT,
                        "the key '%.*s' appears twice in this request, with different content",
                        (int)(item->key.size > 60 ? 60 : item->key.size), item->key.data);
        }
        if (plans[i].refused.code != E_OK) {
            *ret_refused = plans[i].refused;
            return i;
        }
    }
    return n;
}

static void add_drop(struct buf *b, const struct filter_drop *drop)
{
    jtext_put_string(b, "filter", slice_of(filter_kind_name(drop->filter)));
    jtext_put_string(b, "text", drop->text);
    if (drop->job != 0)
        jtext_add_id(b, "job", drop->job);
    else
        jtext_put_raw(b, "job", SLICE("null"));
}

/* "id":"…", or "id":null,"dropped":{…} */
static void add_id(struct buf *b, const struct plan *p)
{
    if (!plan_is_dropped(p)) {
        jtext_add_id(b, "id", p->id);
        return;
    }
    jtext_put_raw(b, "id", SLICE("null"));
    jtext_add_key(b, "dropped");
    buf_add_char(b, '{');
    add_drop(b, &p->ruling->drop);
    buf_add_char(b, '}');
}

void submit_add_dropped(struct buf *b, const struct plan *plans, size_t n)
{
    buf_add_char(b, '[');
    for (size_t i = 0; i < n; i++) {
        if (!plan_is_dropped(&plans[i]))
            continue;
        jtext_add_comma(b);
        buf_add_char(b, '{');
        jtext_put_int(b, "index", (int64_t)i);
        add_drop(b, &plans[i].ruling->drop);
        buf_add_char(b, '}');
    }
    buf_add_char(b, ']');
}

void submit_add_ids(struct buf *b, const struct plan *plans, size_t n)
{
    bool any = false;

    jtext_add_key(b, "ids");
    buf_add_char(b, '[');
    for (size_t i = 0; i < n; i++) {
        if (!plan_is_dropped(&plans[i])) {
            submit_add_id(b, plans[i].id);
            continue;
        }
        jtext_add_comma(b);
        buf_add_str(b, "null");
        any = true;
    }
    buf_add_char(b, ']');
    if (!any)
        return;
    jtext_add_key(b, "dropped");
    submit_add_dropped(b, plans, n);
}

static void add_line(struct buf *b, size_t line, const struct plan *p)
{
    buf_add_char(b, '{');
    if (p->refused.code == E_OK) {
        add_id(b, p);
    } else {
        jtext_put_int(b, "line", (int64_t)line);
        jtext_add_key(b, "error");
        jtext_add_error(b, &p->refused);
    }
    buf_add_str(b, "}\n");
}

void submit_add_id(struct buf *b, int64_t id)
{
    char text[ID_TEXT_SIZE];

    jtext_add_comma(b);
    buf_add_char(b, '"');
    buf_add_str(b, id_format(id, text));
    buf_add_char(b, '"');
}

static void add_reply(struct op *op, const struct plan *plans)
{
    const struct submit *s = &op->submit;
    struct buf *b = &op->reply;
    bool all_known = true;

    for (size_t i = 0; i < s->n_items; i++)
        all_known = all_known && (plans[i].known || plan_is_dropped(&plans[i]));
    op->status = all_known ? 200 : 201;
    if (s->mode == SUBMIT_ONE) {
        buf_add_char(b, '{');
        add_id(b, &plans[0]);
        if (plans[0].redone)
            jtext_put_int(b, "log_size", plans[0].log_size);
        buf_add_char(b, '}');
        return;
    }
    buf_add_char(b, '{');
    submit_add_ids(b, plans, s->n_items);
    buf_add_char(b, '}');
}

/* ---- clashes that another job stands for ---- */

/* The new job is done at once, with the result of the other. */
static enum err_code reuse(struct engine *e, const struct submit_item *item, struct plan *p,
                           struct err *err)
{
    if (submit_create(e, item, p, err) != E_OK || submit_flush(e, err) != E_OK)
        return err->code;
    return filters_end_released(e, p->ruling, p->id, err);
}

/* The waiting job gets the params of the new one, or, if that may not be, the new one is dropped:
 * it is too late to refuse the request, whose other jobs may be made already. */
static enum err_code replace(struct engine *e, const struct submit_item *item, struct plan *p,
                             struct err *err)
{
    int64_t due_at = item->delay_us > 0 ? e->now.wall_at + item->delay_us : item->due_at;
    struct err refused = ERR_INIT;

    if (filters_replace(e, p->ruling, item->params, due_at, &refused, err) != E_OK)
        return err->code;
    if (refused.code == E_OK)
        return E_OK;
    struct filter_ruling *drop = arena_zalloc(&e->batch.arena, sizeof(*drop));

    drop->verdict = VERDICT_DROP;
    drop->drop = (struct filter_drop){FILTER_UNIQUE,
                                      arena_copy(&e->batch.arena, slice_of(refused.msg)),
                                      p->ruling->drop.job};
    drops_note(e, p->queue->id, &drop->drop);
    p->ruling = drop;
    p->known = false;
    return E_OK;
}

static enum err_code stand_in(struct engine *e, const struct submit_item *item, struct plan *p,
                              struct err *err)
{
    switch (p->ruling->verdict) {
    case VERDICT_REPLACE: return replace(e, item, p, err);
    case VERDICT_REUSE: return reuse(e, item, p, err);
    case VERDICT_KEEP:
    case VERDICT_DROP:
    case VERDICT_REFUSE:
    case VERDICT_JOIN: break;
    }
    return E_OK;
}

/* Nobody is there to be refused. */
static const struct filter_ruling *unasked_drop(struct engine *e, const struct plan *p)
{
    struct filter_ruling *drop = arena_alloc(&e->batch.arena, sizeof(*drop));

    *drop = *p->ruling;
    drop->verdict = VERDICT_DROP;
    if (drop->drop.text.size == 0)
        drop->drop.text = arena_copy(&e->batch.arena, slice_of(p->refused.msg));
    return drop;
}

static enum err_code make(struct engine *e, const struct submit_item *item, struct plan *p,
                          struct err *err)
{
    if (p->refused.code != E_OK)
        return E_OK;
    if (plan_is_dropped(p)) {
        drops_note(e, p->queue->id, &p->ruling->drop);
        groups_note_dropped(e, p);
        return E_OK;
    }
    if (p->ruling != NULL && p->ruling->verdict != VERDICT_KEEP)
        return stand_in(e, item, p, err);
    if (!p->known)
        return submit_create(e, item, p, err);
    return item->redo ? redo(e, p, err) : E_OK;
}

enum err_code submit_make_unasked(struct engine *e, const struct submit_item *item, struct plan *p,
                                  struct err *err)
{
    if (p->id == 0)
        p->id = id_for(e, p);
    judge_filters(e, item, SUBMIT_KEYS_NOW, p);
    if (p->refused.code != E_OK)
        p->ruling = unasked_drop(e, p);
    p->refused = ERR_INIT;
    return make(e, item, p, err);
}

static enum err_code run_lines(struct engine *e, struct op *op, struct plan *plans, struct err *err)
{
    struct submit *s = &op->submit;

    for (size_t i = 0; i < s->n_items; i++) {
        struct plan *p = &plans[i];

        filters_begin(e);
        if (submit_judge(e, &s->items[i], SUBMIT_KEYS_NOW, p, err) != E_OK ||
            choose_groups(e, s, &s->items[i], 1, p, err) != E_OK ||
            submit_prepare(e, &s->items[i], 1, SUBMIT_KEYS_NOW, p, err) != E_OK ||
            make(e, &s->items[i], p, err) != E_OK)
            return err->code;
        if (p->refused.code != E_OK)
            filters_undo(e);
        add_line(&op->reply, s->first_line + i, p);
    }
    if (s->is_over && s->request != 0)
        VEC_PUSH(&e->batch.groups.openers, s->request);
    return E_OK;
}

enum err_code submit_create_all(struct engine *e, const struct submit_item *items, size_t n,
                                struct plan *plans, struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (make(e, &items[i], &plans[i], err) != E_OK)
            return err->code;
    return E_OK;
}

/* False: one job is refused, so all are. */
static bool all_sound(struct op *op, struct plan *plans)
{
    const struct submit *s = &op->submit;
    size_t bad = submit_first_refused(s->items, s->n_items, plans, &op->err);

    if (bad < s->n_items)
        op->err.item = s->mode == SUBMIT_ARRAY ? (unsigned)bad + 1 : 0;
    return bad == s->n_items;
}

/* Whether preparing it may have refused one. */
static bool judged_late(const struct submit *s, const struct plan *plans)
{
    for (size_t i = 0; i < s->n_items; i++)
        if (s->items[i].n_after > 0 || plans[i].ruling != NULL)
            return true;
    return false;
}

static enum err_code run_whole(struct engine *e, struct op *op, struct plan *plans, struct err *err)
{
    struct submit *s = &op->submit;

    for (size_t i = 0; i < s->n_items; i++)
        if (submit_judge(e, &s->items[i], SUBMIT_KEYS_NOW, &plans[i], err) != E_OK)
            return err->code;
    if (choose_groups(e, s, s->items, s->n_items, plans, err) != E_OK)
        return err->code;
    if (!all_sound(op, plans))
        return E_OK;
    filters_begin(e);
    if (submit_prepare(e, s->items, s->n_items, SUBMIT_KEYS_NOW, plans, err) != E_OK)
        return err->code;
    bool refused = judged_late(s, plans) && !all_sound(op, plans);

    if (refused || s->dry_run)
        filters_undo(e);
    if (refused)
        return E_OK;
    if (s->dry_run) {
        submit_add_plan(e, op, plans);
        return E_OK;
    }
    if (submit_create_all(e, s->items, s->n_items, plans, err) != E_OK)
        return err->code;
    s->first_id = s->n_items > 0 ? plans[0].id : 0;
    add_reply(op, plans);
    return E_OK;
}

enum err_code submit_flush(struct engine *e, struct err *err)
{
    if (filters_make_deferred(e, err) != E_OK)
        return err->code;
    if (store_jobs_insert(e->store, e->batch.new_jobs.items, e->batch.new_jobs.count, err) != E_OK)
        return err->code;
    e->batch.new_jobs.count = 0;
    chain_note_unfit(e);
    return expire_flush(e, err);
}

enum err_code submit_run(struct engine *e, struct op *op, struct err *err)
{
    struct plan *plans = arena_array(&e->batch.arena, op->submit.n_items, sizeof(struct plan));

    ASSERT(op->submit.n_items <= OP_ITEMS_MAX);
    for (size_t i = 0; i < op->submit.n_items && op->ids != NULL; i++)
        plans[i].new_id = op->ids[i];
    return op->submit.mode == SUBMIT_LINES ? run_lines(e, op, plans, err)
                                           : run_whole(e, op, plans, err);
}
