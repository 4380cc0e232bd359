/*
 * The step of a batch that fires the schedules that are due.
 *
 * Each due schedule is locked, what is due is decided by core/clock/firing.h, and the job, the
 * entry and the settled time are written by one commit.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/clock/fire.h"

#include <stdio.h>

#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "core/clock/schedule_params.h"
#include "core/object/quote.h"
#include "engine/batch/transaction.h"
#include "engine/filters/filters.h"
#include "engine/followups/chain.h"
#include "engine/followups/topic.h"
#include "engine/jobs/job_action.h"
#include "engine/jobs/submit.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"
#include "store/shared.h"

enum { DUE_SCHEDULES = 20 };

#define PARAMS_MAX (4 * JOB_BYTES_MAX)
#define FAULT_PAUSE_US US_PER_MIN /* before a schedule that cannot be read is looked at again */

const char *const firing_state_names[FIRING_STATE_COUNT] = {
    [FIRING_FIRED] = "fired",
    [FIRING_SKIPPED] = "skipped",
    [FIRING_MISSED] = "missed",
    [FIRING_REFUSED] = "refused",
};

void firing_open(struct engine *e, const struct stored_schedule *row, struct firing *ret,
                 struct err *refused)
{
    struct quote quote;

    *ret = (struct firing){.row = *row};
    if (schedule_def_parse(row->definition, &e->batch.arena, &ret->def, NULL, NULL, refused) ==
        E_OK)
        ret->zone = clock_zone_find(e, ret->def.zone, refused);
    if (refused->code != E_OK)
        (void)err_wrap(refused, "schedule %s", quote_text(&quote, row->name));
}

void firing_event(struct engine *e, struct slice name, const char *what,
                  const struct stored_firing *entry)
{
    if (e->config.on_event == NULL)
        return;
    VEC_PUSH(&e->batch.events, ((struct event){.kind = EVENT_SCHEDULE,
                                               .at = e->now.wall_at,
                                               .queue = arena_copy(&e->batch.arena, name),
                                               .id = entry == NULL ? 0 : entry->job,
                                               .nominal_at = entry == NULL ? 0 : entry->nominal_at,
                                               .what = what}));
}

static enum err_code keep(struct engine *e, struct firing *f, struct stored_firing *entry,
                          struct err *err)
{
    entry->schedule = f->row.id;
    entry->seq = ++f->row.entries;
    entry->at = e->now.wall_at;
    if (entry->count == 0) {
        entry->count = 1;
        entry->until_at = entry->nominal_at;
    }
    f->row.fired += entry->state == FIRING_FIRED;
    f->row.missed += entry->state == FIRING_MISSED ? entry->count : 0;
    f->row.skipped += entry->state == FIRING_SKIPPED ? entry->count : 0;
    e->batch.tally.fired += entry->state == FIRING_FIRED;
    firing_event(e, f->row.name, firing_state_names[entry->state], entry);
    return store_firing_add(e->store, entry, err);
}

enum err_code firing_note_gap(struct engine *e, struct firing *f, enum firing_state state,
                              const struct firing_gap *gap, const char *why, struct err *err)
{
    struct stored_firing entry = {.state = state,
                                  .nominal_at = gap->first_at,
                                  .until_at = gap->last_at,
                                  .count = gap->count,
                                  .why = slice_of(why)};

    return gap->count == 0 ? E_OK : keep(e, f, &entry, err);
}

enum err_code firing_write(struct engine *e, const struct stored_schedule *was,
                           const struct stored_schedule *now, struct err *err)
{
    bool hit = false;

    if (store_schedule_update(e->store, was, now, &hit, err) != E_OK)
        return err->code;
    return hit ? E_OK : store_give_way(e->store, err);
}

/* ---- the job of the firing before ---- */

/* What to do about it, by `overlap`. */
struct overlap {
    bool skip;
    struct after_cond after; /* job 0: none */
    char why[160];
};

static enum err_code judge_overlap(struct engine *e, const struct firing *f, struct overlap *ret,
                                   struct err *err)
{
    struct job_action cancel = {.kind = ACTION_CANCEL, .id = f->row.job};
    struct job_action_result result = {.cancelling = true};
    char id[ID_TEXT_SIZE];
    bool found = false;
    struct job j;

    if (f->def.overlap == OVERLAP_ALL || f->row.job == 0)
        return E_OK;
    if (submit_flush(e, err) != E_OK || lock_job(e, f->row.job, err) != E_OK ||
        store_job_load(e->store, f->row.job, LOAD_LIVE, &e->batch.arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || job_state_ended(j.state))
        return E_OK;
    id_format(j.id.v, id);
    ret->skip = f->def.overlap == OVERLAP_SKIP;
    snprintf(ret->why, sizeof(ret->why), ret->skip ? "job %s is %s" : "after job %s", id,
             job_state_name(j.state));
    if (f->def.overlap == OVERLAP_REPLACE) {
        snprintf(ret->why, sizeof(ret->why), "replaces job %s", id);
        if (job_action_apply(e, &cancel, &j, &result, err) != E_OK)
            return err->code;
    }
    if (!ret->skip && result.cancelling)
        ret->after = (struct after_cond){.kind = AFTER_JOB, .on = AFTER_END, .job = j.id.v};
    return E_OK;
}

/* ---- making ---- */

static struct slice labels_of(struct engine *e, const struct firing *f, int64_t nominal_at)
{
    CLEANUP(buf) struct buf labels = BUF_INIT(2000);

    buf_add_char(&labels, '{');
    jtext_put_string(&labels, "schedule", f->row.name);
    jtext_put_time(&labels, "nominal", nominal_at);
    buf_add_char(&labels, '}');
    return arena_copy(&e->batch.arena, buf_slice(&labels));
}

static enum err_code params_of(struct engine *e, const struct firing *f, int64_t nominal_at,
                               struct slice *ret_params, struct err *refused)
{
    CLEANUP(buf) struct buf params = BUF_INIT(PARAMS_MAX);
    struct schedule_moment moment = {.schedule = f->row.name,
                                     .nominal_at = nominal_at,
                                     .local_at = zone_local(f->zone, nominal_at)};

    if (schedule_params_fill(f->def.params, &moment, &params, refused) != E_OK)
        return refused->code;
    *ret_params = arena_copy(&e->batch.arena, buf_slice(&params));
    return E_OK;
}

static void add_reason(struct engine *e, struct stored_firing *entry, const char *why)
{
    CLEANUP(buf) struct buf both = BUF_INIT(1000);

    buf_add_slice(&both, entry->why);
    buf_addf(&both, "%s%s", entry->why.size > 0 ? ", " : "", why);
    entry->why = arena_copy(&e->batch.arena, buf_slice(&both));
}

static enum err_code publish(struct engine *e, const struct firing *f,
                             const struct submit_item *item, struct stored_firing *entry,
                             struct err *refused, struct err *err)
{
    struct chain_source source = {.params = item->params.size > 0 ? item->params : SLICE("{}"),
                                  .labels = item->labels,
                                  .depth = 1,
                                  .topic = f->def.topic};
    char why[100];
    struct quote quote;
    size_t n = 0;

    if (topic_publish(e, f->def.topic, &source, &n, err) != E_OK)
        return err->code;
    if (n == 0) {
        err_set(refused, E_NOT_FOUND, "nobody is subscribed to topic %s",
                quote_text(&quote, f->def.topic));
        return E_OK;
    }
    snprintf(why, sizeof(why), "published to %zu queue%s", n, n == 1 ? "" : "s");
    add_reason(e, entry, why);
    return E_OK;
}

static enum err_code submit(struct engine *e, struct submit_item *item, struct stored_firing *entry,
                            struct err *refused, struct err *err)
{
    struct plan plan = {.id = 0};

    if (submit_judge(e, item, SUBMIT_KEYS_NOW, &plan, err) != E_OK)
        return err->code;
    if (plan.refused.code == E_OK && queue_has_filters(plan.queue)) {
        filters_begin(e);
        submit_want_filters(e, item, &plan);
        if (filters_look(e, err) != E_OK)
            return err->code;
    }
    if (plan.refused.code == E_OK &&
        submit_prepare(e, item, 1, SUBMIT_KEYS_NOW, &plan, err) != E_OK)
        return err->code;
    if (submit_create_all(e, item, 1, &plan, err) != E_OK)
        return err->code;
    *refused = plan.refused;
    if (plan_is_dropped(&plan))
        err_set(refused, E_CONFLICT, "dropped: %.*s", (int)plan.ruling->drop.text.size,
                plan.ruling->drop.text.data);
    else if (refused->code == E_OK)
        entry->job = plan.id;
    return E_OK;
}

static enum err_code make(struct engine *e, struct firing *f, struct stored_firing *entry,
                          struct err *refused, struct err *err)
{
    struct submit_item item = {.queue = f->def.queue, .labels = labels_of(e, f, entry->nominal_at)};
    struct overlap overlap = {.skip = false};

    if (f->def.params.size > 0 && params_of(e, f, entry->nominal_at, &item.params, refused) != E_OK)
        return E_OK;
    if (judge_overlap(e, f, &overlap, err) != E_OK)
        return err->code;
    if (overlap.why[0] != '\0')
        add_reason(e, entry, overlap.why);
    if (overlap.skip) {
        entry->state = FIRING_SKIPPED;
        return E_OK;
    }
    if (f->def.topic.size > 0)
        return publish(e, f, &item, entry, refused, err);
    if (overlap.after.job != 0) {
        item.after = &overlap.after;
        item.n_after = 1;
    }
    return submit(e, &item, entry, refused, err);
}

enum err_code firing_make(struct engine *e, struct firing *f, int64_t nominal_at, const char *why,
                          struct stored_firing *ret_entry, struct err *err)
{
    struct stored_firing entry = {.state = FIRING_FIRED,
                                  .nominal_at = nominal_at,
                                  .why = slice_of(why)};
    struct err refused = ERR_INIT;

    if (make(e, f, &entry, &refused, err) != E_OK)
        return err->code;
    if (refused.code != E_OK) {
        entry.state = FIRING_REFUSED;
        entry.why = arena_copy(&e->batch.arena, slice_of(refused.msg));
    }
    if (entry.job != 0)
        f->row.job = entry.job;
    *ret_entry = entry;
    return keep(e, f, ret_entry, err);
}

/* ---- what is due ---- */

/* A clock that was ahead and was set back comes to times again of which some have fired. */
static enum err_code fire_once(struct engine *e, struct firing *f, int64_t nominal_at,
                               struct err *err)
{
    int64_t late_us = e->now.wall_at - nominal_at - f->def.jitter_us;
    char length[DURATION_TEXT_SIZE];
    struct stored_firing entry;
    char why[80] = "";
    bool fired = false;

    if (store_firings_fired(e->store, f->row.id, nominal_at, &fired, err) != E_OK)
        return err->code;
    if (fired)
        return E_OK;
    if (late_us >= FIRING_GRACE_US)
        snprintf(why, sizeof(why), "made up for, %s late",
                 duration_format(late_us - late_us % US_PER_S, length));
    return firing_make(e, f, nominal_at, why, &entry, err);
}

static enum err_code settle(struct engine *e, const struct stored_schedule *row, struct err *err)
{
    struct err refused = ERR_INIT;
    struct firing f;

    firing_open(e, row, &f, &refused);
    if (refused.code != E_OK) {
        log_warn("%s; it does not fire", refused.msg);
        f.row.next_at = e->now.wall_at + FAULT_PAUSE_US;
        return firing_write(e, row, &f.row, err);
    }
    struct firing_plan plan = firing_plan(&f.def, f.zone, row->name, row->last_at, e->now.wall_at);

    if (firing_note_gap(e, &f, FIRING_MISSED, &plan.missed, "no server looked in time", err) !=
        E_OK)
        return err->code;
    for (size_t i = 0; i < plan.n_fires; i++)
        if (fire_once(e, &f, plan.fires[i], err) != E_OK)
            return err->code;
    f.row.last_at = plan.last_at;
    f.row.next_at = plan.next_at;
    return firing_write(e, row, &f.row, err);
}

/* The clock was set back.  What it had passed over then comes again: those times were missed, so
 * they may fire now. */
static enum err_code rewind_one(struct engine *e, const struct stored_schedule *row,
                                struct err *err)
{
    struct err refused = ERR_INIT;
    int64_t first_at = 0;
    struct firing f;

    if (store_firings_missed(e->store, row->id, e->now.wall_at, &first_at, err) != E_OK)
        return err->code;
    firing_open(e, row, &f, &refused);
    if (first_at == 0 || refused.code != E_OK)
        return E_OK;
    f.row.last_at = first_at > e->now.wall_at ? first_at - 1 : e->now.wall_at;
    if (!row->paused)
        f.row.next_at = firing_next_at(&f.def, f.zone, row->name, f.row.last_at);
    return firing_write(e, row, &f.row, err);
}

struct due {
    VEC(struct stored_schedule) rows;
    struct arena *arena;
};

static void due_cleanup(struct due *d)
{
    VEC_DEINIT(&d->rows);
}

static void take(void *ctx, const struct stored_schedule *row)
{
    struct due *d = ctx;
    struct stored_schedule copy = *row;

    copy.name = arena_copy(d->arena, row->name);
    copy.definition = arena_copy(d->arena, row->definition);
    VEC_PUSH(&d->rows, copy);
}

static enum err_code rewind_all(struct engine *e, struct err *err)
{
    CLEANUP(due) struct due ahead = {.rows = VEC_INIT, .arena = &e->batch.arena};

    if (store_schedules_ahead(e->store, e->now.wall_at, take, &ahead, err) != E_OK)
        return err->code;
    if (ahead.rows.count > 0 && engine_write(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < ahead.rows.count; i++)
        if (rewind_one(e, &ahead.rows.items[i], err) != E_OK)
            return err->code;
    e->clock.was_set = false; /* a batch that fails sets it again */
    return E_OK;
}

enum err_code schedules_fire(struct engine *e, struct err *err)
{
    CLEANUP(due) struct due due = {.rows = VEC_INIT, .arena = &e->batch.arena};

    if (e->clock.fire_at > e->now.wall_at || sweep_rests(e))
        return E_OK;
    if (e->clock.was_set && rewind_all(e, err) != E_OK)
        return err->code;
    if (store_schedules_due(e->store, e->now.wall_at, DUE_SCHEDULES, take, &due, err) != E_OK)
        return err->code;
    if (due.rows.count > 0 && engine_write(e, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < due.rows.count; i++)
        if (settle(e, &due.rows.items[i], err) != E_OK)
            return err->code;
    if (store_schedules_next(e->store, &e->clock.fire_at, err) != E_OK)
        return err->code;
    if (must_ask_store(e) && due.rows.count < DUE_SCHEDULES &&
        e->clock.fire_at < e->now.wall_at + LOCKED_PAUSE_US)
        e->clock.fire_at = e->now.wall_at + LOCKED_PAUSE_US; /* locked by another server */
    return E_OK;
}
