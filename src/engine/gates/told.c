/* SPDX-License-Identifier: MIT */
#include "engine/gates/told.h"

#include <stdlib.h>

#include "base/os/log.h"
#include "engine/batch/batch.h"
#include "engine/batch/transaction.h"
#include "engine/gates/resource.h"
#include "engine/shared/shared.h"

struct wanted_use {
    int64_t gate;
    struct gate_use found;
};

static void take_use(void *ctx, const struct gate_use *use)
{
    struct wanted_use *w = ctx;

    if (use->gate == w->gate)
        w->found = *use;
}

/* A job may speak of what it needs: others depend on the resource. */
static enum err_code is_needed(struct engine *e, const struct job *j, const struct gate *g,
                               bool *ret_needed, struct err *err)
{
    struct wanted_use use = {.gate = g == NULL ? 0 : g->id};

    if (g != NULL && store_uses_of_job(batch_store(e), j->id.v, take_use, &use, err) != E_OK)
        return err->code;
    *ret_needed = use.found.gate != 0;
    return E_OK;
}

static void fail_attempt(struct engine *e, const struct busy_item *busy, struct attempt_end *end)
{
    CLEANUP(buf) struct buf text = BUF_INIT(1000);

    end->outcome = JOB_OUT_FAILED;
    end->cause = JOB_CAUSE_PROTOCOL;
    if (slice_is(busy->name, "lane"))
        buf_add_str(&text, "said that its lane is busy, and has none");
    else
        buf_addf(&text, "said that '%.*s' is busy: that is no resource that it needs",
                 (int)(busy->name.size > 80 ? 80 : busy->name.size), busy->name.data);
    end->text = arena_copy(batch_arena(e), buf_slice(&text));
}

static enum err_code note_busy(struct engine *e, const struct job *j, const struct busy_item *busy,
                               struct attempt_end *end, struct err *err)
{
    bool lane = slice_is(busy->name, "lane");
    const struct gate *g = lane ? NULL : gate_find(e, busy->name);
    bool needed = j->lane != 0;

    if (!lane && is_needed(e, j, g, &needed, err) != E_OK)
        return err->code;
    if (!needed) {
        fail_attempt(e, busy, end);
        return E_OK;
    }
    VEC_PUSH(&current_batch(e)->gates.told, ((struct gate_told){.gate = g == NULL ? 0 : g->id,
                                                                .line = j->lane,
                                                                .job = j->id.v,
                                                                .used = -1,
                                                                .for_us = busy->for_us,
                                                                .why = busy->why}));
    return E_OK;
}

enum err_code gates_told(struct engine *e, const struct job *j, const struct finish_item *item,
                         struct attempt_end *end, struct err *err)
{
    for (size_t i = 0; i < item->n_uses; i++) {
        const struct gate *g = gate_find(e, item->uses[i].name);
        bool needed = false;

        if (is_needed(e, j, g, &needed, err) != E_OK)
            return err->code;
        if (!needed)
            log_info("a job has told the use of '%.*s', which it does not need",
                     (int)item->uses[i].name.size, item->uses[i].name.data);
        else
            VEC_PUSH(
                &current_batch(e)->gates.told,
                ((struct gate_told){.gate = g->id, .job = j->id.v, .used = item->uses[i].count}));
    }
    if (item->busy.name.size > 0 && item->outcome == JOB_OUT_RETURNED)
        return note_busy(e, j, &item->busy, end, err);
    return E_OK;
}

/* ---- carrying out ---- */

/* Books the difference to what the job was granted; all of it, if it was granted nothing. */
static enum err_code book_use(struct engine *e, const struct gate_told *told, struct err *err)
{
    struct gate *g = gate_by_id(e, told->gate);
    struct wanted_use use = {.gate = told->gate};
    struct stored_gate row;

    if (g == NULL || g->rules->rates.count == 0)
        return E_OK;
    if (gate_lock(e, told->gate, &row, err) != E_OK ||
        store_uses_of_job(batch_store(e), told->job, take_use, &use, err) != E_OK)
        return err->code;
    if (row.id == 0)
        return E_OK;
    window_settle(&g->window, &g->rules->rates, batch_now(e).wall_at);
    if (use.found.gate != 0)
        window_adjust(&g->window, use.found.started_at, told->used - use.found.weight);
    else if (told->used > 0)
        window_add(&g->window, batch_now(e).wall_at, told->used);
    gate_note_changed(e, g);
    gate_news(e, g);
    return E_OK;
}

static enum err_code shut(struct engine *e, const struct gate_told *told, struct err *err)
{
    const struct gate_pause pause = {.until_at = batch_now(e).wall_at + told->for_us,
                                     .for_us = told->for_us,
                                     .why = told->why};
    int64_t gate = told->gate;
    struct stored_gate row;

    if (gate == 0) { /* jobs with the same needs are in a lane of several lines, or in none */
        if (gate_lock(e, told->line, &row, err) != E_OK)
            return err->code;
        gate = row.kind == GATE_SAME_NEEDS && row.lane != 0 ? row.lane : row.id;
    }
    return gate == 0 ? E_OK : gate_pause(e, gate, &pause, err);
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

enum err_code gates_lock_told(struct engine *e, struct err *err)
{
    struct batch *b = current_batch(e);
    int64_t *ids = arena_array(batch_arena(e), b->gates.told.count + b->n_ops + 1, sizeof(*ids));
    size_t n = 0;

    if (!must_ask_store(e) || b->gates.told_locked)
        return E_OK;
    b->gates.told_locked = true;
    for (size_t i = 0; i < b->gates.told.count; i++)
        if (b->gates.told.items[i].gate != 0)
            ids[n++] = b->gates.told.items[i].gate;
    for (size_t i = 0; i < b->n_ops; i++) {
        const struct gate *g = b->ops[i]->kind == OP_RESOURCE
                                   ? gate_find(e, b->ops[i]->resource.name)
                                   : NULL;

        if (g != NULL)
            ids[n++] = g->id;
    }
    qsort(ids, n, sizeof(*ids), by_number);
    for (size_t i = 0; i < n; i++) {
        struct stored_gate row;

        if ((i == 0 || ids[i] != ids[i - 1]) && gate_lock(e, ids[i], &row, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

enum err_code gates_carry_out(struct engine *e, struct err *err)
{
    struct gate_batch *b = &current_batch(e)->gates;

    if (b->told.count > 0 && gates_lock_told(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < b->told.count; i++) {
        const struct gate_told *told = &b->told.items[i];

        if ((told->used < 0 ? shut(e, told, err) : book_use(e, told, err)) != E_OK)
            return err->code;
    }
    VEC_CLEAR(&b->told);
    return E_OK;
}
