/* SPDX-License-Identifier: MIT */
#include "engine/gates/gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/log.h"
#include "engine/batch/transaction.h"
#include "engine/clock/zone_read.h"
#include "engine/gates/gating.h"
#include "engine/gates/lines.h"
#include "engine/gates/told.h"
#include "engine/shared/news.h"
#include "engine/state.h"

#define WINDOW_BYTES_MAX ((size_t)1 << 20)

/* ---- definitions ---- */

void resource_close(struct resource *r)
{
    free(r->json);
    zone_deinit(&r->zone);
    arena_deinit(&r->arena);
    *r = (struct resource){.arena = ARENA_INIT};
}

enum err_code resource_open(struct resource *r, struct slice json, struct err *err)
{
    *r = (struct resource){.json = mem_strndup(json.data, json.size), .arena = ARENA_INIT};
    if (resource_def_parse(slice_of(r->json), &r->arena, &r->def, NULL, NULL, err) != E_OK ||
        zone_read(r->def.zone, &r->zone, err) != E_OK) {
        resource_close(r);
        return err->code;
    }
    r->rules = resource_rules(&r->def, &r->zone);
    return E_OK;
}

/* A definition that cannot be used here, of a newer waybill or with a zone that this machine
 * lacks, is one that never opens: nothing starts by guesswork. */
static struct resource *take_definition(struct slice name, struct slice json)
{
    struct resource *r = mem_zalloc(sizeof(*r));
    struct err err = ERR_INIT;

    if (resource_open(r, json, &err) == E_OK)
        return r;
    log_warn("resource %.*s: %s", (int)name.size, name.data, err.msg);
    *r = (struct resource){.json = mem_strndup(json.data, json.size), .arena = ARENA_INIT};
    r->is_broken = true;
    return r;
}

/* ---- the list ---- */

void gates_init(struct gate_list *gates)
{
    *gates = (struct gate_list){.wake_at = TIME_NEVER, .generation = 1};
}

static void forget_state(struct gate *g)
{
    free((void *)(uintptr_t)g->shut.why.data);
    free((void *)(uintptr_t)g->probe.why.data);
    g->shut = g->probe = (struct gate_shut){0};
    window_deinit(&g->window);
    g->window = WINDOW_INIT;
    g->known = g->changed = g->held_elsewhere = false;
}

void gate_free(struct gate *g)
{
    forget_state(g);
    if (g->resource != NULL) {
        resource_close(g->resource);
        free(g->resource);
    }
    VEC_DEINIT(&g->waiting);
    VEC_DEINIT(&g->parked);
    free(g->name);
    free(g);
}

static void free_resources(struct engine *e)
{
    struct gate_list *l = &e->gates;

    names_deinit(&l->by_name);
    l->by_name = NAMES_INIT;
    for (size_t i = 0; i < l->resources.count; i++) {
        map_remove(&l->by_id, l->resources.items[i]->id);
        gate_free(l->resources.items[i]);
    }
    VEC_CLEAR(&l->resources);
}

void gates_deinit(struct engine *e)
{
    free_resources(e);
    VEC_DEINIT(&e->gates.resources);
    map_deinit(&e->gates.by_id);
    VEC_DEINIT(&e->batch.gates.changed);
    VEC_DEINIT(&e->batch.gates.uses);
    VEC_DEINIT(&e->batch.gates.held);
    VEC_DEINIT(&e->batch.gates.bookings);
    VEC_DEINIT(&e->batch.gates.told);
}

struct gate *gate_find(const struct engine *e, struct slice name)
{
    return names_find(&e->gates.by_name, name);
}

struct gate *gate_by_id(const struct engine *e, int64_t id)
{
    return map_find(&e->gates.by_id, id);
}

struct gate *gate_add_resource(struct engine *e, int64_t id, struct slice name, struct slice json)
{
    struct gate *g = mem_zalloc(sizeof(*g));

    g->id = id;
    g->kind = GATE_RESOURCE;
    g->name = mem_strndup(name.data, name.size);
    g->resource = take_definition(name, json);
    g->rules = &g->resource->rules;
    VEC_PUSH(&e->gates.resources, g);
    names_add(&e->gates.by_name, slice_of(g->name), g);
    map_put(&e->gates.by_id, id, g);
    return g;
}

void gate_redefine(struct gate *g, struct slice json)
{
    resource_close(g->resource);
    free(g->resource);
    g->resource = take_definition(slice_of(g->name), json);
    g->rules = &g->resource->rules;
}

void gate_remove_resource(struct engine *e, struct gate *g)
{
    struct gate_list *l = &e->gates;
    size_t kept = 0;

    for (size_t i = 0; i < l->resources.count; i++)
        if (l->resources.items[i] != g)
            l->resources.items[kept++] = l->resources.items[i];
    l->resources.count = kept;
    names_remove(&l->by_name, slice_of(g->name));
    map_remove(&l->by_id, g->id);
    gate_free(g);
}

static void take_resource(void *ctx, const struct stored_gate *row)
{
    struct engine *e = ctx;

    if (gate_find(e, row->name) == NULL)
        gate_add_resource(e, row->id, row->name, row->definition);
}

enum err_code gates_load(struct engine *e, struct err *err)
{
    bool used = false;

    gating_drop_all(e);
    free_resources(e);
    e->gates.generation++;
    if (store_resources_load(e->store, take_resource, e, err) != E_OK ||
        store_uses_any(e->store, &used, err) != E_OK)
        return err->code;
    e->gates.in_force = used;
    return E_OK;
}

/* Needs name resources, so that lanes are all that is left. */
void gates_heed_queues(struct engine *e)
{
    bool in_force = e->gates.in_force || e->gates.resources.count > 0;

    for (size_t i = 0; i < e->queues.count && !in_force; i++)
        in_force = e->queues.items[i]->has_lanes || e->queues.items[i]->def.lane.key_text.size > 0;
    e->gates.in_force = in_force;
}

/* Lines are read again as well. */
void gates_forget(struct engine *e)
{
    gating_redefine(e);
    for (size_t i = 0; i < e->gates.resources.count; i++)
        forget_state(e->gates.resources.items[i]);
    e->waiting.grants_due = true;
}

/* ---- states ---- */

struct gate_state gate_state_of(const struct gate *g)
{
    return (struct gate_state){
        .in_use = g->in_use, .window = &g->window, .shut = g->shut, .probe = g->probe};
}

static struct gate_shut take_shut(int64_t until_at, struct slice why)
{
    struct gate_shut shut = {.until_at = until_at};

    if (why.size > 0)
        shut.why = slice_make(mem_strndup(why.data, why.size), why.size);
    return shut;
}

void gate_set_shut(struct gate *g, int64_t until_at, struct slice why)
{
    free((void *)(uintptr_t)g->shut.why.data);
    g->shut = take_shut(until_at, why);
}

void gate_take_state(struct engine *e, struct gate *g, const struct stored_gate *row)
{
    struct err err = ERR_INIT;

    forget_state(g);
    g->in_use = row->in_use;
    g->shut = take_shut(row->shut_until_at, row->why);
    g->probe = take_shut(row->probe_until_at, row->probe_why);
    g->wanted = row->wanted;
    if (row->starts.size > 0 && window_decode(row->starts, &g->window, &err) != E_OK) {
        log_warn("gate %s: the starts that it remembers cannot be read: %s", g->name, err.msg);
        g->window = WINDOW_INIT;
    }
    g->known = true;
    if (must_ask_store(e))
        VEC_PUSH(&e->batch.gates.held, g);
}

static void take_held(void *ctx, const struct stored_gate *row)
{
    struct engine *e = ctx;
    struct gate *g = map_find(&e->gates.by_id, row->id);

    if (g != NULL)
        gate_take_state(e, g, row);
}

enum err_code gates_hold(struct engine *e, struct gate *const *gates, size_t n, struct err *err)
{
    int64_t *ids = arena_array(&e->batch.arena, n + 1, sizeof(*ids));
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (!gates[i]->known && !gates[i]->held_elsewhere)
            ids[count++] = gates[i]->id;
    if (count > 0 &&
        store_gates_hold(e->store, ids, count, take_held, e, &e->batch.arena, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n; i++) {
        struct gate *g = gates[i];

        if (!g->known && !g->held_elsewhere && must_ask_store(e)) {
            g->held_elsewhere = true;
            VEC_PUSH(&e->batch.gates.held, g);
        }
        if (g->known)
            window_settle(&g->window, &g->rules->rates, e->now.wall_at);
        if (g->held_elsewhere)
            e->shared.saw_held_gate = true;
    }
    return E_OK;
}

void gate_note_changed(struct engine *e, struct gate *g)
{
    if (g->changed)
        return;
    g->changed = true;
    VEC_PUSH(&e->batch.gates.changed, g);
}

void gate_book(struct engine *e, struct gate *g, int64_t weight)
{
    g->in_use += weight;
    if (g->rules->rates.count > 0)
        window_add(&g->window, e->now.wall_at, weight);
    gate_note_changed(e, g);
}

void gate_unbook(struct engine *e, struct gate *g, int64_t weight)
{
    g->in_use -= weight;
    if (g->rules->rates.count > 0)
        window_adjust(&g->window, e->now.wall_at, -weight);
    gate_note_changed(e, g);
}

/* ---- the end of attempts ---- */

static void note_freed(struct engine *e, const struct gate_freed *freed)
{
    struct gate *g = map_find(&e->gates.by_id, freed->gate);

    if (g == NULL)
        return;
    if (g->known)
        g->in_use = freed->in_use;
    gate_news(e, g);
    if (freed->wanted)
        news_add_gate(e, g->id);
}

enum err_code gates_release(struct engine *e, struct err *err)
{
    size_t n = e->batch.ended_attempts.count;
    struct gate_freed *freed = NULL;
    size_t n_freed = 0;

    if (n == 0 || !e->gates.in_force)
        return E_OK;
    if (gates_carry_out(e, err) != E_OK)
        return err->code;
    int64_t *jobs = arena_array(&e->batch.arena, n, sizeof(*jobs));

    for (size_t i = 0; i < n; i++)
        jobs[i] = e->batch.ended_attempts.items[i].job;
    if (engine_write(e, err) != E_OK ||
        store_uses_end(e->store, jobs, n, &e->batch.arena, &freed, &n_freed, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n_freed; i++)
        note_freed(e, &freed[i]);
    return E_OK;
}

/* ---- writing ---- */

static enum err_code write_gate(struct engine *e, struct gate *g, struct err *err)
{
    CLEANUP(buf) struct buf starts = BUF_INIT(WINDOW_BYTES_MAX);
    struct stored_gate row = {.id = g->id, .in_use = g->in_use, .wanted = g->wanted};

    window_settle(&g->window, &g->rules->rates, e->now.wall_at);
    window_encode(&g->window, &starts);
    if (starts.size > 0)
        row.starts = buf_slice(&starts);
    g->changed = false;
    return store_gate_write(e->store, &row, err);
}

static int by_gate_id(const void *a, const void *b)
{
    int64_t x = (*(struct gate *const *)a)->id;
    int64_t y = (*(struct gate *const *)b)->id;

    return (x > y) - (x < y);
}

enum err_code gates_write(struct engine *e, struct err *err)
{
    struct gate_batch *b = &e->batch.gates;

    if (b->changed.count == 0)
        return E_OK;
    if (engine_write(e, err) != E_OK)
        return err->code;
    qsort(b->changed.items, b->changed.count, sizeof(b->changed.items[0]), by_gate_id);
    for (size_t i = 0; i < b->changed.count; i++)
        if (write_gate(e, b->changed.items[i], err) != E_OK)
            return err->code;
    VEC_CLEAR(&b->changed);
    if (store_uses_add(e->store, b->uses.items, b->uses.count, &e->batch.arena, err) != E_OK)
        return err->code;
    VEC_CLEAR(&b->uses);
    return E_OK;
}

void gates_clear(struct engine *e)
{
    struct gate_batch *b = &e->batch.gates;

    e->gates.batches++;
    for (size_t i = 0; i < b->changed.count; i++)
        b->changed.items[i]->changed = false;
    VEC_CLEAR(&b->changed);
    VEC_CLEAR(&b->uses);
    VEC_CLEAR(&b->bookings);
    VEC_CLEAR(&b->told);
    b->told_locked = false;
    for (size_t i = 0; i < b->held.count; i++)
        forget_state(b->held.items[i]);
    VEC_CLEAR(&b->held);
}

/* ---- waking ---- */

void gate_news(struct engine *e, struct gate *g)
{
    for (size_t i = 0; i < g->waiting.count; i++)
        access_look_again(e, g->waiting.items[i]);
    lane_look_again(e, g);
}

void gates_wake(struct engine *e)
{
    if (e->gates.wake_at > e->now.wall_at)
        return;
    e->gates.wake_at = TIME_NEVER;
    e->waiting.grants_due = true;
}

int64_t gates_next_at(const struct engine *e)
{
    return e->waiting.claims == NULL ? TIME_NEVER : e->gates.wake_at;
}
