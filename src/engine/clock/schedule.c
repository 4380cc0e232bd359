/*
 * Schedules as definitions, and what people do with them: run, pause, resume.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "engine/batch/ids.h"
#include "engine/batch/transaction.h"
#include "engine/clock/clock.h"
#include "engine/clock/fire.h"
#include "engine/clock/zone_read.h"
#include "engine/queues/define.h"
#include "engine/reads/job_json.h"

/* ---- definitions ---- */

struct loading {
    struct define_set *set;
    struct arena *arena;
};

static void take(void *ctx, const struct stored_schedule *row)
{
    struct loading *l = ctx;
    struct slice definition = arena_copy(l->arena, row->definition); /* the links borrow it */

    define_set_add(l->set, &(struct defined){.kind = DEFINITION_SCHEDULE,
                                             .name = arena_copy(l->arena, row->name),
                                             .id = row->id,
                                             .links = definition_kinds[DEFINITION_SCHEDULE].links(
                                                 definition, l->arena)});
}

static enum err_code load(struct engine *e, struct define_set *set, struct err *err)
{
    return store_schedules_list(batch_store(e), slice_make(NULL, 0), INT32_MAX, take,
                                &(struct loading){set, batch_arena(e)}, err);
}

static enum err_code check_exists(struct engine *e, struct slice name, struct err *refused,
                                  struct err *err)
{
    struct stored_schedule row;

    if (store_schedule_find(batch_store(e), name, batch_arena(e), &row, err) != E_OK)
        return err->code;
    if (row.id == 0)
        definition_name_unknown(DEFINITION_SCHEDULE, name, NULL, 0, E_INVALID, refused);
    return E_OK;
}

/* The zone must be one of this machine's. */
static void check_put(const struct defined *d, struct err *refused)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(zone) struct zone zone = ZONE_UTC;
    struct schedule_def def;
    struct quote quote;

    if (schedule_def_parse(d->put->definition, &arena, &def, NULL, NULL, refused) != E_OK ||
        zone_read(def.zone, &zone, refused) != E_OK)
        (void)err_wrap(refused, "schedule %s", quote_text(&quote, d->name));
}

/* When its times have changed, those that have passed are not made up for. */
static enum err_code change(struct engine *e, const struct stored_schedule *was,
                            struct slice definition, struct err *err)
{
    struct stored_schedule now = *was;
    struct err ignored = ERR_INIT;
    struct schedule_def before;
    struct err refused = ERR_INIT;
    struct firing f;

    now.definition = definition;
    firing_open(e, &now, &f, &refused);
    if (refused.code != E_OK)
        return err_set(err, E_INTERNAL, "%s", refused.msg);
    if (schedule_def_parse(was->definition, batch_arena(e), &before, NULL, NULL, &ignored) !=
            E_OK ||
        !schedule_same_times(&before, &f.def))
        f.row.last_at = was->last_at > batch_now(e).wall_at ? was->last_at : batch_now(e).wall_at;
    f.row.next_at = was->paused ? TIME_NEVER
                                : firing_next_at(&f.def, f.zone, was->name, f.row.last_at);
    return firing_write(e, was, &f.row, err);
}

static enum err_code add(struct engine *e, const struct definition_put *put, struct err *err)
{
    struct stored_schedule row = {.id = engine_new_id(e),
                                  .name = put->name,
                                  .definition = put->definition,
                                  .last_at = batch_now(e).wall_at};
    struct err refused = ERR_INIT;
    struct firing f;

    firing_open(e, &row, &f, &refused);
    if (refused.code != E_OK)
        return err_set(err, E_INTERNAL, "%s", refused.msg);
    row.next_at = firing_next_at(&f.def, f.zone, row.name, row.last_at);
    return store_schedule_add(batch_store(e), &row, err);
}

static enum err_code put(struct engine *e, const struct definition_put *put, bool dry_run,
                         enum define_change *ret_change, struct err *err)
{
    struct stored_schedule row;

    if (store_schedule_find(batch_store(e), put->name, batch_arena(e), &row, err) != E_OK)
        return err->code;
    *ret_change = row.id == 0                                    ? DEFINE_ADDED
                  : slice_equal(row.definition, put->definition) ? DEFINE_SAME
                                                                 : DEFINE_CHANGED;
    if (*ret_change == DEFINE_SAME || dry_run)
        return E_OK;
    if (engine_write(e, err) != E_OK)
        return err->code;
    clock_look_at(e, 0);
    firing_event(e, put->name, *ret_change == DEFINE_ADDED ? "added" : "changed", NULL);
    return *ret_change == DEFINE_ADDED ? add(e, put, err) : change(e, &row, put->definition, err);
}

static enum err_code check_removal(struct engine *e, const struct defined *d, struct err *refused,
                                   struct err *err)
{
    (void)e;
    (void)d;
    (void)refused;
    (void)err;
    return E_OK;
}

static enum err_code remove_schedule(struct engine *e, const struct defined *d, struct err *err)
{
    firing_event(e, d->name, "removed", NULL);
    return engine_write(e, err) != E_OK ? err->code
                                        : store_schedule_remove(batch_store(e), d->id, err);
}

const struct define_rules schedule_define_rules = {
    .load = load,
    .check_exists = check_exists,
    .check_put = check_put,
    .put = put,
    .check_removal = check_removal,
    .remove = remove_schedule,
};

/* ---- requests ---- */

static enum err_code pause(struct engine *e, struct op *op, const struct stored_schedule *row,
                           struct err *err)
{
    struct stored_schedule now = *row;

    buf_add_str(&op->reply, "{\"name\":");
    jtext_add_string(&op->reply, row->name);
    buf_add_str(&op->reply, ",\"paused\":true}");
    if (row->paused)
        return E_OK;
    now.paused = true;
    now.next_at = TIME_NEVER;
    firing_event(e, row->name, "paused", NULL);
    return firing_write(e, row, &now, err);
}

/* What would have fired meanwhile is not made up for. */
static enum err_code resume(struct engine *e, struct op *op, const struct stored_schedule *row,
                            struct err *err)
{
    struct firing_gap gap = {.count = 0};
    struct firing f;

    buf_add_str(&op->reply, "{\"name\":");
    jtext_add_string(&op->reply, row->name);
    buf_add_str(&op->reply, ",\"paused\":false}");
    if (!row->paused)
        return E_OK;
    firing_open(e, row, &f, &op->err);
    if (op->err.code != E_OK)
        return E_OK;
    if (row->last_at < batch_now(e).wall_at) {
        gap = firing_gap(&f.def, f.zone, row->last_at, batch_now(e).wall_at);
        f.row.last_at = batch_now(e).wall_at;
    }
    f.row.paused = false;
    f.row.next_at = firing_next_at(&f.def, f.zone, row->name, f.row.last_at);
    clock_look_at(e, 0);
    if (firing_note_gap(e, &f, FIRING_SKIPPED, &gap, "it was paused", err) != E_OK)
        return err->code;
    firing_event(e, row->name, "resumed", NULL);
    return firing_write(e, row, &f.row, err);
}

static enum err_code run_now(struct engine *e, struct op *op, const struct stored_schedule *row,
                             struct err *err)
{
    struct stored_firing entry;
    struct quote quote;
    struct firing f;

    firing_open(e, row, &f, &op->err);
    if (op->err.code != E_OK)
        return E_OK;
    if (firing_make(e, &f, batch_now(e).wall_at, "run by hand", &entry, err) != E_OK ||
        firing_write(e, row, &f.row, err) != E_OK)
        return err->code;
    if (entry.state != FIRING_FIRED) {
        err_set(&op->err, E_CONFLICT, "schedule %s made no job: %.*s",
                quote_text(&quote, row->name), (int)(entry.why.size > 150 ? 150 : entry.why.size),
                entry.why.data);
        return E_OK;
    }
    buf_add_str(&op->reply, "{\"name\":");
    jtext_add_string(&op->reply, row->name);
    jtext_put_time(&op->reply, "nominal", entry.nominal_at);
    if (entry.job != 0)
        jtext_add_id(&op->reply, "job", entry.job);
    else
        jtext_put_raw(&op->reply, "job", SLICE("null"));
    jtext_put_string(&op->reply, "why", entry.why);
    buf_add_char(&op->reply, '}');
    op->status = 201;
    return E_OK;
}

enum err_code schedule_op_run(struct engine *e, struct op *op, struct err *err)
{
    struct stored_schedule row;
    struct quote quote;

    if (engine_write(e, err) != E_OK ||
        store_schedule_hold(batch_store(e), op->schedule.name, batch_arena(e), &row, err) != E_OK)
        return err->code;
    if (row.id == 0) {
        err_set(&op->err, E_NOT_FOUND, "there is no schedule %s",
                quote_text(&quote, op->schedule.name));
        return E_OK;
    }
    switch (op->schedule.kind) {
    case SCHEDULE_OP_RUN: return run_now(e, op, &row, err);
    case SCHEDULE_OP_PAUSE: return pause(e, op, &row, err);
    case SCHEDULE_OP_RESUME: return resume(e, op, &row, err);
    }
    return E_OK;
}
