/* SPDX-License-Identifier: MIT */
#include "engine/gates/told.h"

#include "base/os/log.h"
#include "engine/batch/batch.h"
#include "engine/batch/transaction.h"
#include "engine/gates/resource.h"

/* The attempt ends as `later`: nothing else could stop it from being started again at once. */
static void put_off(struct engine *e, const struct busy_item *busy, struct attempt_end *end)
{
    CLEANUP(buf) struct buf text = BUF_INIT(1000);

    end->outcome = JOB_OUT_LATER;
    end->delayed = true;
    end->delay_us = busy->for_us;
    if (slice_is(busy->name, "lane"))
        buf_add_str(&text, "said that its lane is busy, and has none");
    else
        buf_addf(&text, "said that '%.*s' is busy: there is no such resource",
                 (int)(busy->name.size > 80 ? 80 : busy->name.size), busy->name.data);
    end->text = arena_copy(batch_arena(e), buf_slice(&text));
}

static void note_busy(struct engine *e, const struct job *j, const struct busy_item *busy,
                      struct attempt_end *end)
{
    bool lane = slice_is(busy->name, "lane");
    const struct gate *g = lane ? NULL : gate_find(e, busy->name);

    if (lane ? j->lane == 0 : g == NULL) {
        put_off(e, busy, end);
        return;
    }
    VEC_PUSH(&current_batch(e)->gates.told, ((struct gate_told){.gate = g == NULL ? 0 : g->id,
                                                                .line = j->lane,
                                                                .job = j->id.v,
                                                                .used = -1,
                                                                .for_us = busy->for_us,
                                                                .why = busy->why}));
}

void gates_told(struct engine *e, const struct job *j, const struct finish_item *item,
                struct attempt_end *end)
{
    for (size_t i = 0; i < item->n_uses; i++) {
        const struct gate *g = gate_find(e, item->uses[i].name);

        if (g == NULL)
            log_info("a job has told the use of '%.*s', which is no resource",
                     (int)item->uses[i].name.size, item->uses[i].name.data);
        else
            VEC_PUSH(
                &current_batch(e)->gates.told,
                ((struct gate_told){.gate = g->id, .job = j->id.v, .used = item->uses[i].count}));
    }
    if (item->busy.name.size > 0 && item->outcome == JOB_OUT_RETURNED)
        note_busy(e, j, &item->busy, end);
}

/* ---- carrying out ---- */

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

enum err_code gates_carry_out(struct engine *e, struct err *err)
{
    struct gate_batch *b = &current_batch(e)->gates;

    for (size_t i = 0; i < b->told.count; i++) {
        const struct gate_told *told = &b->told.items[i];

        if ((told->used < 0 ? shut(e, told, err) : book_use(e, told, err)) != E_OK)
            return err->code;
    }
    VEC_CLEAR(&b->told);
    return E_OK;
}
