/*
 * Bulk actions: an action on all jobs that match a filter, kept as one row and done in chunks.
 *
 * A chunk reads a range of ids, applies the action to the jobs that match and moves the row's
 * cursor, all in one transaction: after a crash the action continues at the cursor.  Jobs created
 * after the request are left out.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/jobs/bulk.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "engine/batch/transaction.h"
#include "engine/followups/follow.h"
#include "engine/jobs/filter.h"
#include "engine/jobs/job_action.h"
#include "engine/queues/queue_log.h"
#include "engine/reads/job_json.h"
#include "engine/shared/news.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"
#include "store/jobs/list.h"
#include "store/work.h"

enum { CHUNK_ROWS = 500 };

/* A bulk action walks live jobs first, then ended ones; it skips a phase that its action cannot
 * change. */
enum bulk_phase { BULK_LIVE, BULK_ENDED };

#define WAITING (1u << JOB_HELD | 1u << JOB_SCHEDULED | 1u << JOB_READY)
#define ENDED (1u << JOB_DONE | 1u << JOB_FAILED | 1u << JOB_CANCELLED | 1u << JOB_RELAYED)

static const struct {
    const char *name;
    unsigned states; /* of the jobs that the action can change */
    bool live, ended;
} actions[ACTION_COUNT] = {
    [ACTION_CANCEL] = {"cancel", WAITING | 1u << JOB_RUNNING, true, false},
    [ACTION_RETRY] = {"retry", ENDED, false, true},
    [ACTION_HOLD] = {"hold", WAITING, true, false},
    [ACTION_RELEASE] = {"release", 1u << JOB_HELD, true, false},
    [ACTION_NOW] = {"now", 1u << JOB_HELD | 1u << JOB_SCHEDULED, true, false},
    [ACTION_MOVE] = {"move", WAITING, true, false},
    [ACTION_DELETE] = {"delete", WAITING | ENDED, true, true},
};

bool bulk_action_means(enum job_action_kind kind, enum job_state state)
{
    return (actions[kind].states & 1u << state) != 0;
}

const char *bulk_action_name(int kind)
{
    return actions[kind].name;
}

static bool wants(const struct bulk_work *w, enum bulk_phase phase)
{
    return phase == BULK_LIVE ? actions[w->row.kind].live && filter_wants_live(&w->filter)
                              : actions[w->row.kind].ended && filter_wants_ended(&w->filter);
}

/* ---- rows ---- */

static bool is_alone(struct slice args)
{
    struct slice value;

    return jtext_find(args, "alone", &value) && slice_is(value, "true");
}

static void take_work(void *ctx, const struct stored_work *row)
{
    struct engine *e = ctx;

    if (row->finished_at != 0)
        return;
    struct bulk_work *w = mem_zalloc(sizeof(*w));

    w->row = *row;
    w->row.args = arena_copy(&w->arena, row->args);
    filter_from_json(w->row.args, &w->arena, &w->filter, &w->queue);
    w->alone = is_alone(w->row.args);
    VEC_PUSH(&e->bulk, w);
}

enum err_code bulk_load(struct engine *e, struct err *err)
{
    return store_work_load(e->store, take_work, e, err);
}

static void work_free(struct bulk_work *w)
{
    arena_deinit(&w->arena);
    free(w);
}

void bulk_free(struct engine *e)
{
    for (size_t i = 0; i < e->bulk.count; i++)
        work_free(e->bulk.items[i]);
    VEC_DEINIT(&e->bulk);
}

/* ---- the request ---- */

static bool check(struct engine *e, struct op *op)
{
    const struct bulk *b = &op->bulk;
    const struct queue *target = b->kind == ACTION_MOVE ? queue_find(e, b->queue) : NULL;

    if (b->filter.queue.size > 0 && queue_find(e, b->filter.queue) == NULL)
        queue_unknown(e, b->filter.queue, E_INVALID, &op->err);
    else if (b->kind == ACTION_MOVE && target == NULL)
        queue_unknown(e, b->queue, E_INVALID, &op->err);
    else if (target != NULL && !queue_state_takes(target->state))
        err_set(&op->err, E_QUEUE_DOWN, "queue '%s' is %s and takes no jobs", target->name,
                queue_state_name(target->state));
    return op->err.code == E_OK;
}

enum err_code bulk_begin(struct engine *e, const struct bulk *bulk, int64_t *ret_id,
                         struct err *err)
{
    CLEANUP(buf) struct buf args = BUF_INIT(OP_REPLY_MAX);

    filter_to_json(&bulk->filter, bulk->queue, &args);
    if (bulk->alone) {
        args.size--; /* drops the closing brace, which is added again below */
        jtext_put_bool(&args, "alone", true);
        buf_add_char(&args, '}');
    }
    int64_t last = e->ids.gen.last;

    if (must_ask_store(e) && store_job_newest(e->store, &last, err) != E_OK)
        return err->code;
    struct stored_work row = {.id = engine_new_id(e),
                              .kind = (int)bulk->kind,
                              .args = buf_slice(&args),
                              .last = last,
                              .created_at = e->now.wall_at};

    if (engine_write(e, err) != E_OK || store_work_add(e->store, &row, err) != E_OK)
        return err->code;
    take_work(e, &row);
    *ret_id = row.id;
    return E_OK;
}

enum err_code bulk_run(struct engine *e, struct op *op, struct err *err)
{
    int64_t id = 0;

    if (!check(e, op))
        return E_OK;
    if (bulk_begin(e, &op->bulk, &id, err) != E_OK)
        return err->code;
    op->status = 202;
    buf_add_char(&op->reply, '{');
    jtext_add_id(&op->reply, "id", id);
    buf_addf(&op->reply, ",\"action\":\"%s\",\"state\":\"working\"}", actions[op->bulk.kind].name);
    return E_OK;
}

/* ---- a chunk ---- */

struct stretch {
    struct engine *e;
    const struct bulk_work *work;
    int64_t queue;
    VEC(int64_t) matches;
    int rows;
    int64_t last_id;
};

static void take_row(void *ctx, const struct job *j)
{
    struct stretch *s = ctx;

    s->rows++;
    s->last_id = j->id.v;
    if (j->state != JOB_NONE && filter_matches(&s->work->filter, s->queue, j))
        VEC_PUSH(&s->matches, j->id.v);
}

/* *ret_wait: the jobs that follow its end are still being created; until then the job must not
 * change. */
static enum err_code apply_to(struct engine *e, struct bulk_work *w, const struct stretch *s,
                              int64_t id, bool *ret_wait, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT; /* jobs may be large: one at a time */
    struct job_action action = {
        .kind = (enum job_action_kind)w->row.kind,
        .id = id,
        .queue = w->queue,
        .alone = w->alone,
        .may_command = true}; /* only the administrator starts bulk actions */
    struct job_action_result result;
    bool found = false;
    struct job j;

    if (lock_job(e, id, err) != E_OK ||
        store_job_load(e->store, id, LOAD_PAYLOAD, &arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || !filter_matches(&w->filter, s->queue, &j)) /* another server has changed it */
        return E_OK;
    if ((action.kind == ACTION_DELETE || action.kind == ACTION_RETRY) &&
        follow_is_left(e, id, ret_wait, err) != E_OK)
        return err->code;
    if (*ret_wait && e->followups.has_skipped_fanouts && !e->followups.has_fanouts) {
        *ret_wait = false; /* what is left is damaged and stays: waiting would never end */
        w->row.refused++;
        return E_OK;
    }
    if (*ret_wait)
        return E_OK;
    if (job_action_apply(e, &action, &j, &result, err) != E_OK)
        return err->code;
    w->row.changed += result.changed;
    w->row.refused += result.refused.code != E_OK;
    return E_OK;
}

static enum err_code apply_to_all(struct engine *e, struct bulk_work *w, struct stretch *s,
                                  struct err *err)
{
    bool wait = false;

    for (size_t i = 0; i < s->matches.count && !wait; i++) {
        int64_t id = s->matches.items[i];

        if (!job_is_skipped(e, id) && apply_to(e, w, s, id, &wait, err) != E_OK)
            return skip_damaged_job(e, id, err);
        if (wait) { /* the next chunk begins with this job */
            s->rows = CHUNK_ROWS;
            s->last_id = id - 1;
            e->bulk.bulk_at = e->now.steady_at + LOCKED_PAUSE_US;
        }
    }
    return E_OK;
}

static enum err_code walk(struct engine *e, struct bulk_work *w, struct stretch *s, struct err *err)
{
    const struct store_walk walk = {
        .which = w->row.phase == BULK_LIVE              ? STRETCH_LIVE
                 : filter_wants_only_failed(&w->filter) ? STRETCH_FAILED
                                                        : STRETCH_ENDED,
        .text = w->filter.text,
        .reads = filter_reads(&w->filter),
        .limit = CHUNK_ROWS,
        .on_job = take_row,
        .ctx = s,
    };
    int64_t above = w->row.cursor < w->filter.first_id ? w->filter.first_id - 1 : w->row.cursor;

    if (store_list_up(e->store, &walk, above, w->row.last, err) != E_OK &&
        !err->bad_row) /* a row that cannot be read does not match */
        return err->code;
    *err = ERR_INIT;
    return apply_to_all(e, w, s, err);
}

static void advance(struct engine *e, struct bulk_work *w, const struct stretch *s)
{
    if (s->rows == CHUNK_ROWS) {
        w->row.cursor = s->last_id;
        return;
    }
    w->row.cursor = 0;
    if (w->row.phase == BULK_LIVE) {
        w->row.phase = BULK_ENDED;
        return;
    }
    w->row.finished_at = e->now.wall_at;
    VEC_PUSH(&e->batch.ended, w->row.id);
    news_add_ended(e, w->row.id);
}

/* Whether the action deletes all ready jobs of its queue. */
static bool empties(const struct bulk_work *w)
{
    const struct job_filter *f = &w->filter;

    return w->row.kind == ACTION_DELETE && (f->states == 0 || f->states & 1u << JOB_READY) &&
           f->labels.size == 0 && f->text.size == 0 && f->ended_before_at == 0 && f->first_id == 0;
}

static enum err_code note_emptied(struct engine *e, const struct queue *q,
                                  const struct bulk_work *w, struct err *err)
{
    char text[80];

    snprintf(text, sizeof(text), "%lld jobs removed, by request", (long long)w->row.changed);
    return queue_note(e, q, "emptied", slice_of(text), err);
}

int64_t bulk_due_at(const struct engine *e)
{
    return e->bulk.count > 0 || e->bulk.has_work ? e->bulk.bulk_at : TIME_NEVER;
}

bool bulk_is_due(const struct engine *e)
{
    return bulk_due_at(e) <= e->now.steady_at;
}

/* On a shared store any server may have done the last chunk: memory may be out of date. */
static enum err_code load_next(struct engine *e, struct err *err)
{
    bulk_free(e);
    if (store_work_next(e->store, take_work, e, err) != E_OK)
        return err->code;
    e->bulk.has_work = e->bulk.count > 0;
    return E_OK;
}

enum err_code bulk_step(struct engine *e, struct err *err)
{
    if (must_ask_store(e) && load_next(e, err) != E_OK)
        return err->code;
    if (e->bulk.count == 0)
        return E_OK;
    struct bulk_work *w = e->bulk.items[0];
    struct queue *q = w->filter.queue.size > 0 ? queue_find(e, w->filter.queue) : NULL;
    struct stretch s = {.e = e, .work = w, .queue = q == NULL ? 0 : q->id};
    enum err_code code = engine_write(e, err) == E_OK ? followups_follow(e, err) : err->code;
    bool gone = w->filter.queue.size > 0 && q == NULL;

    if (code == E_OK && !gone && wants(w, (enum bulk_phase)w->row.phase))
        code = walk(e, w, &s, err);
    if (code == E_OK) {
        advance(e, w, &s);
        code = store_work_step(e->store, &w->row, err);
    }
    if (code == E_OK && w->row.finished_at != 0 && empties(w) && q != NULL)
        code = note_emptied(e, q, w, err);
    VEC_DEINIT(&s.matches);
    if (code == E_OK && w->row.finished_at != 0) {
        work_free(w);
        for (size_t i = 1; i < e->bulk.count; i++)
            e->bulk.items[i - 1] = e->bulk.items[i];
        e->bulk.count--;
    }
    return code;
}
