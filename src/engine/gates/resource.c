/* SPDX-License-Identifier: MIT */
#include "engine/gates/resource.h"

#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "engine/batch/transaction.h"
#include "engine/gates/gating.h"
#include "engine/gates/told.h"
#include "engine/queues/define.h"
#include "engine/shared/news.h"
#include "engine/state.h"

/* ---- definitions ---- */

static enum err_code load_resources(struct engine *e, struct define_set *set, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < e->gates.resources.count; i++) {
        struct gate *g = e->gates.resources.items[i];

        define_set_add(set, &(struct defined){.kind = DEFINITION_RESOURCE,
                                              .name = slice_of(g->name),
                                              .id = g->id,
                                              .own = g});
    }
    return E_OK;
}

static void unknown(const struct engine *e, struct slice name, enum err_code code,
                    struct err *refused)
{
    const char **names = mem_alloc(sizeof(char *) * (e->gates.resources.count + 1));

    for (size_t i = 0; i < e->gates.resources.count; i++)
        names[i] = e->gates.resources.items[i]->name;
    definition_name_unknown(DEFINITION_RESOURCE, name, names, e->gates.resources.count, code,
                            refused);
    free(names);
}

static enum err_code check_exists(struct engine *e, struct slice name, struct err *refused,
                                  struct err *err)
{
    (void)err;
    if (gate_find(e, name) == NULL)
        unknown(e, name, E_INVALID, refused);
    return E_OK;
}

/* The zone must be one that this machine knows. */
static void check_put(const struct defined *d, struct err *refused)
{
    struct resource r;
    struct quote quote;

    if (resource_open(&r, d->put->definition, refused) == E_OK) {
        if (r.def.probe.command.size > 0)
            err_set(refused, E_INVALID, "probe: probes are not built yet");
        resource_close(&r);
    }
    if (refused->code != E_OK)
        (void)err_wrap(refused, "resource %s", quote_text(&quote, d->name));
}

/* Refuses weights that the resource can never grant. */
static void check_link(const struct defined *to, const struct definition_link *link,
                       struct err *refused)
{
    const struct gate *g = to->own;
    struct resource r;

    if (link->weight == 0)
        return;
    if (to->put == NULL) {
        (void)!gate_check_weight(g->rules, link->name, link->weight, refused);
        return;
    }
    if (resource_open(&r, to->put->definition, refused) != E_OK)
        return;
    (void)!gate_check_weight(&r.rules, link->name, link->weight, refused);
    resource_close(&r);
}

static enum err_code put_resource(struct engine *e, const struct definition_put *put, bool dry_run,
                                  enum define_change *ret_change, struct err *err)
{
    struct gate *g = gate_find(e, put->name);
    struct stored_gate row = {.kind = GATE_RESOURCE,
                              .name = put->name,
                              .definition = put->definition};

    *ret_change = g == NULL                                      ? DEFINE_ADDED
                  : slice_is(put->definition, g->resource->json) ? DEFINE_SAME
                                                                 : DEFINE_CHANGED;
    if (*ret_change == DEFINE_SAME || dry_run)
        return E_OK;
    e->batch.queues_changed = true; /* other servers read all definitions again */
    if (engine_write(e, err) != E_OK)
        return err->code;
    gating_redefine(e);
    e->waiting.grants_due = true;
    if (g != NULL) {
        gate_redefine(g, put->definition);
        return store_gate_define(e->store, g->id, put->definition, err);
    }
    row.id = engine_new_id(e);
    if (store_gate_add(e->store, &row, err) != E_OK)
        return err->code;
    gate_add_resource(e, row.id, put->name, put->definition);
    gates_heed_queues(e);
    return E_OK;
}

static enum err_code check_removal(struct engine *e, const struct defined *d, struct err *refused,
                                   struct err *err)
{
    struct stored_gate row;
    struct quote quote;

    if (store_gate_lock(e->store, d->id, &e->batch.arena, &row, err) != E_OK)
        return err->code;
    if (row.in_use > 0)
        err_set(refused, E_CONFLICT, "resource %s is used by running jobs: wait for their end",
                quote_text(&quote, d->name));
    return E_OK;
}

static enum err_code remove_resource(struct engine *e, const struct defined *d, struct err *err)
{
    e->batch.queues_changed = true;
    if (engine_write(e, err) != E_OK || store_gate_remove(e->store, d->id, err) != E_OK)
        return err->code;
    gating_redefine(e);
    gate_remove_resource(e, d->own);
    return E_OK;
}

const struct define_rules resource_define_rules = {
    .load = load_resources,
    .check_exists = check_exists,
    .check_put = check_put,
    .check_link = check_link,
    .put = put_resource,
    .check_removal = check_removal,
    .remove = remove_resource,
};

/* ---- shutting and opening ---- */

enum err_code gate_lock(struct engine *e, int64_t id, struct stored_gate *ret, struct err *err)
{
    struct gate *g = map_find(&e->gates.by_id, id);

    if (engine_write(e, err) != E_OK ||
        store_gate_lock(e->store, id, &e->batch.arena, ret, err) != E_OK)
        return err->code;
    if (ret->id != 0 && g != NULL && !g->changed)
        gate_take_state(e, g, ret);
    return E_OK;
}

static enum err_code write_shut(struct engine *e, int64_t id, const struct gate_pause *pause,
                                struct err *err)
{
    struct stored_gate row = {
        .id = id, .shut_until_at = pause->until_at, .shut_us = pause->for_us, .why = pause->why};
    struct gate *g = map_find(&e->gates.by_id, id);

    if (store_gate_shut(e->store, &row, err) != E_OK)
        return err->code;
    news_add_gate(e, id);
    if (g == NULL)
        return E_OK;
    gate_set_shut(g, pause->until_at, pause->why);
    g->may_be_shut = true;
    gate_news(e, g);
    return E_OK;
}

enum err_code gate_pause(struct engine *e, int64_t id, const struct gate_pause *pause,
                         struct err *err)
{
    struct stored_gate row;

    if (gate_lock(e, id, &row, err) != E_OK)
        return err->code;
    return row.id == 0 || pause->until_at <= row.shut_until_at ? E_OK
                                                               : write_shut(e, id, pause, err);
}

enum err_code resource_op_run(struct engine *e, struct op *op, struct err *err)
{
    const struct resource_op *o = &op->resource;
    struct gate *g = gate_find(e, o->name);
    struct gate_pause pause = {.why = o->why};
    struct stored_gate row;

    if (g == NULL) {
        unknown(e, o->name, E_NOT_FOUND, &op->err);
        return E_OK;
    }
    if (o->kind == RESOURCE_OP_SHUT) {
        pause.for_us = o->for_us;
        pause.until_at = o->until_at > 0 ? o->until_at
                         : o->for_us > 0 ? e->now.wall_at + o->for_us
                                         : TIME_NEVER;
    }
    if (gates_lock_told(e, err) != E_OK || gate_lock(e, g->id, &row, err) != E_OK ||
        write_shut(e, g->id, &pause, err) != E_OK)
        return err->code;
    buf_add_str(&op->reply, "{\"name\":");
    jtext_add_string(&op->reply, o->name);
    jtext_put_bool(&op->reply, "shut", o->kind == RESOURCE_OP_SHUT);
    if (pause.until_at != 0 && pause.until_at != TIME_NEVER)
        jtext_put_time(&op->reply, "until", pause.until_at);
    buf_add_char(&op->reply, '}');
    return E_OK;
}
