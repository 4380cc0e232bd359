/*
 * Changes of queues: definitions, states, restarts, removal.
 *
 * A change that workers must know (of definitions, restarts, the set of queues) raises the number
 * of the definitions in the same commit.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/queues/change.h"

#include <stdio.h>
#include <string.h>

#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "engine/batch/counts.h"
#include "engine/batch/transaction.h"
#include "engine/followups/spread.h"
#include "engine/gates/gating.h"
#include "engine/queues/define.h"
#include "engine/queues/queue_log.h"
#include "engine/queues/subscribers.h"
#include "engine/state.h"
#include "store/filters/drops.h"
#include "store/filters/uniques.h"
#include "store/meta.h"
#include "store/queue_log.h"
#include "store/queues.h"

/* ---- one queue ---- */

/* Makes workers read the definitions again; once a batch is enough. */
static enum err_code raise_definitions(struct engine *e, struct err *err)
{
    e->batch.queues_changed = true; /* a batch that fails reads the number again */
    e->waiting.grants_due = true;
    if (e->batch.definitions_raised)
        return E_OK;
    e->batch.definitions_raised = true;
    e->definitions++;
    if (engine_write(e, err) != E_OK)
        return err->code;
    return store_definitions_set(e->store, e->definitions, err);
}

static void tell_queue(struct engine *e, const struct queue *q, enum queue_state state,
                       const char *what)
{
    if (e->config.on_event != NULL)
        VEC_PUSH(&e->batch.events,
                 ((struct event){.kind = EVENT_QUEUE,
                                 .at = e->now.wall_at,
                                 .queue = arena_copy(&e->batch.arena, slice_of(q->name)),
                                 .queue_state = state,
                                 .what = what}));
}

/* Writes the queue with this state and definition; the rest as it is in memory. */
static enum err_code write_row(struct engine *e, const struct queue *q, enum queue_state state,
                               struct slice definition, struct err *err)
{
    struct stored_queue row = {.id = q->id,
                               .state = state,
                               .definition = definition,
                               .streak = q->streak,
                               .changed_at = q->changed_at,
                               .restarts = q->restarts};

    e->batch.queues_changed = true;
    return engine_write(e, err) != E_OK ? err->code : store_queue_set(e->store, &row, err);
}

static enum err_code write_queue(struct engine *e, struct queue *q, enum queue_state state,
                                 struct slice definition, struct err *err)
{
    q->streak = 0;
    q->changed_at = e->now.wall_at;
    if (write_row(e, q, state, definition, err) != E_OK)
        return err->code;
    tell_queue(e, q, state, state == q->state ? "defined" : queue_state_name(state));
    q->state = state;
    e->waiting.grants_due = true;
    return E_OK;
}

enum err_code queue_set_state(struct engine *e, struct queue *q, enum queue_state state,
                              const char *why, struct err *err)
{
    if (write_queue(e, q, state, slice_of(q->json), err) != E_OK)
        return err->code;
    return queue_note(e, q, queue_state_name(state), slice_of(why), err);
}

/* Stops a queue after too many failures in a row, until somebody resumes it. */
static enum err_code stop_queue(struct engine *e, struct queue *q, int failures, int64_t last,
                                struct err *err)
{
    char id[ID_TEXT_SIZE];
    char why[100];

    if (failures == 1)
        snprintf(why, sizeof(why), "stop_after: job %s failed", id_format(last, id));
    else
        snprintf(why, sizeof(why), "stop_after: %d jobs failed in a row, the last was %s", failures,
                 id_format(last, id));
    return queue_set_state(e, q, q->state == QUEUE_UP ? QUEUE_PAUSE : QUEUE_DOWN, why, err);
}

static enum err_code restart(struct engine *e, struct queue *q, struct err *err)
{
    q->restarts++;
    if (must_ask_store(e))
        q->streak = -1; /* unknown here: the store has it */
    if (write_row(e, q, q->state, slice_of(q->json), err) != E_OK ||
        raise_definitions(e, err) != E_OK)
        return err->code;
    tell_queue(e, q, q->state, "restart");
    return queue_note(e, q, "restart", SLICE("by request"), err);
}

/* Counts the ends of attempts of one queue, in the order they came. */
static enum err_code write_streak(struct engine *e, const struct streak_end *ends, size_t n,
                                  struct err *err)
{
    struct queue *q = ends[0].queue;
    bool any_failed = false;
    int streak = 0;

    for (size_t i = 0; i < n; i++)
        any_failed = any_failed || ends[i].failed != 0;
    if (any_failed && store_queue_streak_lock(e->store, q->id, &streak, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++) {
        streak = ends[i].failed != 0 ? streak + 1 : 0;
        if (streak < q->def.stop_after || !queue_state_starts(q->state))
            continue;
        if (stop_queue(e, q, streak, ends[i].failed, err) != E_OK)
            return err->code;
        streak = 0;
    }
    return store_queue_streak_set(e->store, q->id, streak, err);
}

static int64_t next_queue(const struct engine *e, int64_t above)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < e->batch.streak_ends.count; i++) {
        int64_t id = e->batch.streak_ends.items[i].queue->id;

        if (id > above && id < next)
            next = id;
    }
    return next;
}

/* All servers count one streak.  It is written at the end of the batch, in the order of the
 * queues: servers that lock rows in different orders would wait for each other. */
enum err_code queue_write_streaks(struct engine *e, struct err *err)
{
    struct streak_end *ends = arena_array(&e->batch.arena, e->batch.streak_ends.count + 1,
                                          sizeof(*ends));

    for (int64_t id = next_queue(e, 0); id != INT64_MAX; id = next_queue(e, id)) {
        size_t n = 0;

        for (size_t i = 0; i < e->batch.streak_ends.count; i++)
            if (e->batch.streak_ends.items[i].queue->id == id)
                ends[n++] = e->batch.streak_ends.items[i];
        if (write_streak(e, ends, n, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

enum err_code queue_count_streak(struct engine *e, struct queue *q, int64_t failed, struct err *err)
{
    int streak = failed != 0 ? q->streak + 1 : 0;

    if (q->def.stop_after == 0)
        return E_OK;
    if (must_ask_store(e)) {
        VEC_PUSH(&e->batch.streak_ends, ((struct streak_end){q, failed}));
        return E_OK;
    }
    if (streak == q->streak)
        return E_OK;
    if (streak >= q->def.stop_after && queue_state_starts(q->state))
        return stop_queue(e, q, streak, failed, err);
    q->streak = streak;
    return write_row(e, q, q->state, slice_of(q->json), err);
}

/* Includes what this batch changed, which is not in the stored counts yet, and published jobs that
 * are still to be created. */
enum err_code queue_count_jobs(struct engine *e, const struct queue *q, int64_t *ret_n,
                               struct err *err)
{
    int64_t published = 0;
    int64_t n = 0;

    if (store_counts_queue(e->store, q->id, &n, err) != E_OK ||
        spread_count(e, q, &published, err) != E_OK)
        return err->code;
    *ret_n = n + published + counts_of(&e->batch.counts, q->id);
    return E_OK;
}

enum err_code queue_remove(struct engine *e, struct queue *q, struct err *err)
{
    e->batch.queues_changed = true;
    if (engine_write(e, err) != E_OK || store_counts_remove(e->store, q->id, err) != E_OK ||
        store_queue_log_remove(e->store, q->id, err) != E_OK ||
        store_drops_remove(e->store, q->id, err) != E_OK ||
        store_scope_gone(e->store, unique_scope_queue(q->id), err) != E_OK ||
        store_queue_remove(e->store, q->id, err) != E_OK || raise_definitions(e, err) != E_OK)
        return err->code;
    tell_queue(e, q, 0, "removed");
    queue_unlist(e, q);
    e->sweep.retain_at = 0; /* retention must forget its jobs */
    e->sweep.uniques_at = 0;
    e->waiting.grants_due = true;
    counts_forget(&e->batch.counts, q->id);
    VEC_PUSH(&e->batch.gone_queues, q); /* events of the batch still name it */
    return E_OK;
}

/* ---- definitions ---- */

enum err_code queue_make(struct engine *e, struct slice name, struct slice definition,
                         struct err *err)
{
    e->batch.queues_changed = true;
    if (queue_add(e, name, definition, err) != E_OK || raise_definitions(e, err) != E_OK)
        return err->code;
    gates_heed_queues(e);
    tell_queue(e, queue_find(e, name), QUEUE_UP, "defined");
    return E_OK;
}

enum err_code queue_redefine(struct engine *e, struct queue *q, struct slice definition,
                             struct err *err)
{
    if (queue_note_changed(e, q, definition, err) != E_OK ||
        write_queue(e, q, q->state, definition, err) != E_OK || raise_definitions(e, err) != E_OK)
        return err->code;
    e->queues.filtered -= q->def.filters.count > 0;
    gating_drop(e, q);
    queue_define(q, definition);
    gates_heed_queues(e);
    desk_redefined(e);
    e->queues.filtered += q->def.filters.count > 0;
    e->sweep.retain_at = 0;
    return E_OK;
}

static enum err_code load_queues(struct engine *e, struct define_set *set, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < e->queues.count; i++) {
        struct queue *q = e->queues.items[i];
        bool is_subscriber = q->def.subscriber_worker.size > 0;
        struct defined d = {
            .kind = DEFINITION_QUEUE,
            .name = slice_of(q->name),
            .id = q->id,
            .own = q,
            .is_kept = is_subscriber || strcmp(q->name, DEFAULT_QUEUE) == 0,
            .follows = is_subscriber ? q->def.subscriber_topic : slice_make(NULL, 0),
            .links = definition_links_of_queue(&q->def, &e->batch.arena),
        };

        define_set_add(set, &d);
    }
    return E_OK;
}

static enum err_code check_exists(struct engine *e, struct slice name, struct err *refused,
                                  struct err *err)
{
    (void)err;
    if (queue_find(e, name) == NULL)
        queue_unknown(e, name, E_INVALID, refused);
    return E_OK;
}

/* A worker's own queue has the definition of its topic's queue. */
static void check_put(const struct defined *d, struct err *refused)
{
    const struct queue *q = d->own;
    struct quote quotes[3];

    if (q != NULL && q->def.subscriber_worker.size > 0)
        err_set(refused, E_CONFLICT,
                "queue %s belongs to worker %s, which is subscribed to topic %s: define the "
                "queue of that name instead",
                quote_text(&quotes[0], d->name), quote_text(&quotes[1], q->def.subscriber_worker),
                quote_text(&quotes[2], q->def.subscriber_topic));
}

static enum err_code put_queue(struct engine *e, const struct definition_put *put, bool dry_run,
                               enum define_change *ret_change, struct err *err)
{
    struct queue *q = queue_find(e, put->name);

    *ret_change = q == NULL                            ? DEFINE_ADDED
                  : slice_is(put->definition, q->json) ? DEFINE_SAME
                                                       : DEFINE_CHANGED;
    if (*ret_change == DEFINE_SAME || dry_run)
        return E_OK;
    if ((q == NULL ? queue_make(e, put->name, put->definition, err)
                   : queue_redefine(e, q, put->definition, err)) != E_OK)
        return err->code;
    return subscribers_follow(e, queue_find(e, put->name), err);
}

static enum err_code check_removal(struct engine *e, const struct defined *d, struct err *refused,
                                   struct err *err)
{
    int64_t n = 0;

    if (slice_is(d->name, DEFAULT_QUEUE)) {
        err_set(refused, E_CONFLICT,
                "the queue '" DEFAULT_QUEUE "' is built in and cannot be removed");
        return E_OK;
    }
    if (queue_count_jobs(e, d->own, &n, err) != E_OK)
        return err->code;
    if (n > 0)
        err_set(refused, E_CONFLICT,
                "queue '%s' has %lld jobs: remove them first ('waybill rm --queue')",
                ((struct queue *)d->own)->name, (long long)n);
    return E_OK;
}

static enum err_code remove_queue(struct engine *e, const struct defined *d, struct err *err)
{
    return queue_remove(e, d->own, err);
}

const struct define_rules queue_define_rules = {
    .load = load_queues,
    .check_exists = check_exists,
    .check_put = check_put,
    .put = put_queue,
    .check_removal = check_removal,
    .remove = remove_queue,
};

/* ---- states ---- */

enum err_code queue_op_run(struct engine *e, struct op *op, struct err *err)
{
    const struct queue_op *o = &op->queue;
    struct queue *q = queue_find(e, o->name);

    if (q == NULL) {
        queue_unknown(e, o->name, E_NOT_FOUND, &op->err);
        return E_OK;
    }
    buf_add_str(&op->reply, "{\"name\":");
    jtext_add_string(&op->reply, o->name);
    if (o->kind == QUEUE_OP_STATE) {
        buf_addf(&op->reply, ",\"state\":\"%s\"}", queue_state_name(o->state));
        return q->state == o->state ? E_OK : queue_set_state(e, q, o->state, "by request", err);
    }
    buf_addf(&op->reply, ",\"restarts\":%lld}", (long long)q->restarts + 1);
    return restart(e, q, err);
}
