/* SPDX-License-Identifier: MIT */
#include "engine/gates/gating.h"

#include <stdlib.h>

#include "engine/batch/transaction.h"
#include "engine/gates/lines.h"
#include "engine/state.h"

/* A reservation ends after this time without a claim. */
#define ASKED_US (10 * US_PER_S)

/* ---- making ---- */

bool needs_are_fixed(const struct needs *needs)
{
    for (size_t i = 0; i < needs->count; i++)
        if (needs->items[i].weight == 0)
            return false;
    return true;
}

static void access_free(struct access *a)
{
    for (size_t i = 0; i < a->n_needs; i++) {
        struct gate *g = a->needs[i].gate;
        size_t kept = 0;

        for (size_t k = 0; k < g->waiting.count; k++)
            if (g->waiting.items[k] != a)
                g->waiting.items[kept++] = g->waiting.items[k];
        g->waiting.count = kept;
        if (g->reserved_for == a)
            g->reserved_for = NULL;
    }
    VEC_DEINIT(&a->lines);
    free(a->needs);
    free(a->needs_json);
    free(a);
}

/* Gates that do not exist make it broken: nothing starts by it. */
struct access *access_new(struct engine *e, struct queue *q, const struct needs *needs,
                          struct slice json)
{
    struct access *a = mem_zalloc(sizeof(*a));

    a->queue = q;
    a->needs_json = mem_strndup(json.data, json.size);
    a->needs = mem_zalloc(sizeof(*a->needs) * (needs->count + 1));
    for (size_t i = 0; i < needs->count; i++) {
        struct gate *g = gate_find(e, needs->items[i].name);

        if (need_is_of_host(needs->items[i].name))
            continue;
        if (g == NULL || needs->items[i].weight == 0)
            a->is_broken = true;
        else
            a->needs[a->n_needs++] = (struct access_need){g, needs->items[i].weight};
    }
    return a;
}

static void gating_free(struct engine *e, struct gating *g)
{
    lines_free(e, g);
    for (size_t i = 0; i < g->accesses.count; i++)
        access_free(g->accesses.items[i]);
    VEC_DEINIT(&g->accesses);
    free(g);
}

void gating_drop(struct engine *e, struct queue *q)
{
    if (q->gating != NULL)
        gating_free(e, q->gating);
    q->gating = NULL;
    q->gating_generation = 0;
}

void gating_drop_all(struct engine *e)
{
    VEC_CLEAR(&e->batch.gates.bookings);
    VEC_CLEAR(&e->batch.gates.changed);
    VEC_CLEAR(&e->batch.gates.held);
    for (size_t i = 0; i < e->queues.count; i++)
        gating_drop(e, e->queues.items[i]);
}

void gating_redefine(struct engine *e)
{
    gating_drop_all(e);
    e->gates.generation++;
}

static struct gating *make_gating(struct engine *e, struct queue *q)
{
    struct gating *g = mem_zalloc(sizeof(*g));
    CLEANUP(buf) struct buf json = BUF_INIT(DEFINITION_JSON_MAX);
    struct needs none = {.count = 0};
    const struct needs *own = needs_are_fixed(&q->def.needs) ? &q->def.needs : &none;

    needs_json(own, &json);
    VEC_PUSH(&g->accesses, access_new(e, q, own, buf_slice(&json)));
    g->plain = (struct line){.access = g->accesses.items[0], .ready = &q->ready};
    line_insert(&g->plain);
    g->lane_rules = lane_rules(&q->def.lane);
    q->gating = g;
    e->gates.in_force = true;
    return g;
}

struct access *access_get(struct engine *e, struct queue *q, struct slice needs_json)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct gating *g = q->gating;
    struct err err = ERR_INIT;
    struct needs needs;
    struct access *a;

    for (size_t i = 0; i < g->accesses.count; i++)
        if (slice_is(needs_json, g->accesses.items[i]->needs_json))
            return g->accesses.items[i];
    if (needs_parse(needs_json, &arena, &needs, &err) != E_OK) {
        a = access_new(e, q, &(struct needs){.count = 0}, needs_json);
        a->is_broken = true;
    } else {
        a = access_new(e, q, &needs, needs_json);
    }
    VEC_PUSH(&g->accesses, a);
    return a;
}

struct gating *gating_of(struct engine *e, struct queue *q)
{
    if (q->gating_generation == e->gates.generation)
        return q->gating;
    gating_drop(e, q);
    q->gating_generation = e->gates.generation;
    bool asked = q->def.needs.count > 0 || q->def.lane.key_text.size > 0 || q->has_lanes;

    return asked ? make_gating(e, q) : NULL;
}

struct gating *gating_make(struct engine *e, struct queue *q)
{
    struct gating *g = gating_of(e, q);

    q->has_lanes = true;
    return g != NULL ? g : make_gating(e, q);
}

/* ---- judging ---- */

void access_look_again(struct engine *e, struct access *a)
{
    if (a->blocked_until_at == 0)
        return;
    a->blocked_until_at = 0;
    e->waiting.grants_due = true;
}

static void wake_at(struct engine *e, int64_t at)
{
    if (at < e->gates.wake_at)
        e->gates.wake_at = at;
}

static void wait_for(struct access *a, struct gate *g)
{
    for (size_t i = 0; i < g->waiting.count; i++)
        if (g->waiting.items[i] == a)
            return;
    VEC_PUSH(&g->waiting, a);
}

static bool reservation_holds(const struct engine *e, const struct access *a)
{
    return a->lacks_slots && a->lines.count > 0 && a->looked_at > e->now.steady_at - ASKED_US;
}

static void end_reservation(struct access *a)
{
    a->overtaken = 0;
    for (size_t i = 0; i < a->n_needs; i++)
        if (a->needs[i].gate->reserved_for == a)
            a->needs[i].gate->reserved_for = NULL;
}

static struct gate_verdict judge_gate(const struct engine *e, const struct access *a,
                                      const struct access_need *need)
{
    struct gate *g = need->gate;
    struct gate_state state = gate_state_of(g);

    if (g->resource != NULL && g->resource->is_broken)
        return (struct gate_verdict){.by = GATE_BLOCKED_SHUT, .until_at = TIME_NEVER};
    if (g->reserved_for != NULL && g->reserved_for != a) {
        if (reservation_holds(e, g->reserved_for))
            state.in_use += g->reserved;
        else
            end_reservation(g->reserved_for);
    }
    return gate_judge(g->rules, &state, e->now.wall_at, need->weight);
}

static void block(struct engine *e, struct access *a, int64_t until_at)
{
    a->lacks_slots = until_at == 0;
    a->blocked_until_at = until_at == 0 ? TIME_NEVER : until_at;
    if (!a->lacks_slots)
        end_reservation(a);
    wake_at(e, a->blocked_until_at);
}

/* Whether all gates of the access are open.  A gate that another server judges is looked at again
 * soon. */
static enum err_code judge(struct engine *e, struct access *a, bool *ret_open, struct err *err)
{
    struct gate **gates = arena_array(&e->batch.arena, a->n_needs + 1, sizeof(*gates));
    bool refused = false;
    int64_t until_at = 0;

    *ret_open = false;
    for (size_t i = 0; i < a->n_needs; i++)
        gates[i] = a->needs[i].gate;
    if (gates_hold(e, gates, a->n_needs, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < a->n_needs; i++)
        if (!gates[i]->known)
            return E_OK;
    for (size_t i = 0; i < a->n_needs; i++) {
        struct gate_verdict v = judge_gate(e, a, &a->needs[i]);

        if (v.by == GATE_OK)
            continue;
        refused = true;
        wait_for(a, gates[i]);
        if (v.by != GATE_BLOCKED_SLOTS && v.until_at > until_at)
            until_at = v.until_at;
        if (must_tell_store(e) && !gates[i]->wanted) {
            gates[i]->wanted = true;
            gate_note_changed(e, gates[i]);
        }
    }
    if (refused)
        block(e, a, until_at);
    else
        a->lacks_slots = a->told = false;
    *ret_open = !refused;
    return E_OK;
}

/* ---- choosing ---- */

enum err_code gating_begin(struct engine *e, struct queue *q, struct err *err)
{
    struct gating *g = q->gating;

    g->claim++;
    lines_resume(g);
    return lines_load(e, q, err);
}

/* The first job of a line that the claimer takes, NULL: none. */
static const struct ready_ref *first_of(const struct queue *q, const struct line *l,
                                        gating_skip_fn *skips)
{
    size_t i = 0;
    const struct ready_ref *ref = ready_at(l->ready, i);

    while (ref != NULL && skips != NULL && skips(q, ref->id))
        ref = ready_at(l->ready, ++i);
    return ref;
}

/* The first line of an access that has a job to start; *ret_line NULL: none. */
static enum err_code best_of(struct engine *e, struct access *a, gating_skip_fn *skips,
                             struct line **ret_line, struct ready_ref *ret_ref, struct err *err)
{
    struct gating *g = a->queue->gating;
    bool judged = false;

    *ret_line = NULL;
    if (a->is_broken)
        return E_OK;
    a->looked_at = e->now.steady_at;
    if (a->blocked_until_at > e->now.wall_at) {
        wake_at(e, a->blocked_until_at);
        return E_OK;
    }
    while (a->lines.count > 0) {
        struct line *l = a->lines.items[0];
        bool open = true;

        if (l->ready->count == 0 && !l->ready->complete && l->taken_in != g->claim &&
            line_fill(e, a->queue, l, skips == NULL, err) != E_OK)
            return err->code;
        const struct ready_ref *first = first_of(a->queue, l, skips);

        if (first == NULL) {
            line_rest(g, l);
            continue;
        }
        if (line_refresh(l, *first) != l)
            continue;
        if (!judged && judge(e, a, &open, err) != E_OK)
            return err->code;
        judged = true;
        if (!open)
            return E_OK;
        if (lane_is_judged(l) && line_judge(e, g, l, &open, err) != E_OK)
            return err->code;
        if (!open)
            continue;
        *ret_ref = *first;
        *ret_line = l;
        return E_OK;
    }
    return E_OK;
}

enum err_code gating_best(struct engine *e, struct queue *q, gating_skip_fn *skips,
                          struct line **ret_line, struct ready_ref *ret_ref, struct err *err)
{
    struct gating *g = q->gating;
    struct line *best = NULL;
    struct ready_ref best_ref = {0};

    wake_at(e, lines_unpark(e, g));
    for (size_t i = 0; i < g->accesses.count; i++) {
        struct line *l = NULL;
        struct ready_ref ref;

        if (best_of(e, g->accesses.items[i], skips, &l, &ref, err) != E_OK)
            return err->code;
        if (l == NULL || (best != NULL && !line_comes_before(l, best)))
            continue;
        best = l;
        best_ref = ref;
    }
    *ret_line = best;
    *ret_ref = best_ref;
    return E_OK;
}

bool gating_may_start(struct engine *e, struct queue *q)
{
    struct gating *g = gating_of(e, q);

    lines_resume(g);
    wake_at(e, lines_unpark(e, g));
    for (size_t i = 0; i < g->accesses.count; i++) {
        struct access *a = g->accesses.items[i];

        if (a->is_broken || a->lines.count == 0)
            continue;
        a->looked_at = e->now.steady_at;
        if (a->blocked_until_at > e->now.wall_at)
            wake_at(e, a->blocked_until_at);
        else if (a->lines.count > 1 || !ready_is_known_empty(a->lines.items[0]->ready))
            return true;
    }
    return (!g->loaded && q->has_lanes) || g->unknown.count > 0;
}

/* ---- booking ---- */

/* Jobs that come before this one, and lack only slots, are overtaken by it. */
static void overtake(struct engine *e, struct gate *g, const struct access *by,
                     struct ready_ref ref)
{
    for (size_t i = 0; i < g->waiting.count; i++) {
        struct access *a = g->waiting.items[i];
        bool is_free = true;

        if (a == by || !reservation_holds(e, a) ||
            !ready_comes_before(a->lines.items[0]->head, ref) || ++a->overtaken < OVERTAKEN_MAX)
            continue;
        for (size_t k = 0; k < a->n_needs; k++)
            is_free = is_free && (a->needs[k].gate->reserved_for == NULL ||
                                  a->needs[k].gate->reserved_for == a);
        for (size_t k = 0; is_free && k < a->n_needs; k++) {
            a->needs[k].gate->reserved_for = a;
            a->needs[k].gate->reserved = a->needs[k].weight;
        }
    }
}

static void book(struct engine *e, struct line *l, struct ready_ref ref)
{
    struct access *a = l->access;

    for (size_t i = 0; i < a->n_needs; i++) {
        overtake(e, a->needs[i].gate, a, ref);
        gate_book(e, a->needs[i].gate, a->needs[i].weight);
    }
    end_reservation(a);
    if (lane_counts(l))
        gate_book(e, l->lane, 1);
    VEC_PUSH(&e->batch.gates.bookings, ((struct booking){ref.id, l}));
}

/* Who was refused meanwhile may try again. */
static void unbook(struct engine *e, const struct line *l)
{
    for (size_t i = 0; i < l->access->n_needs; i++) {
        gate_unbook(e, l->access->needs[i].gate, l->access->needs[i].weight);
        gate_news(e, l->access->needs[i].gate);
    }
    if (!lane_counts(l))
        return;
    gate_unbook(e, l->lane, 1);
    gate_news(e, l->lane);
}

void gating_take(struct engine *e, struct queue *q, struct line *l, struct ready_ref ref)
{
    struct gating *g = q->gating;

    ready_remove(l->ready, ref);
    book(e, l, ref);
    l->served = ++g->serial;
    if (l->lane != NULL)
        l->lane->served = l->served;
    if (l->ready->count > 0) {
        l->head = *ready_first(l->ready);
        line_fix(l);
        return;
    }
    if (!l->ready->complete)
        l->taken_in = g->claim;
    line_fix(l);
}

void gating_put_back(struct engine *e, struct queue *q, struct ready_ref ref)
{
    struct gate_batch *b = &e->batch.gates;
    size_t i = 0;

    (void)q;
    while (i < b->bookings.count && b->bookings.items[i].job != ref.id)
        i++;
    if (i == b->bookings.count)
        return;
    struct line *l = b->bookings.items[i].line;

    for (b->bookings.count--; i < b->bookings.count; i++)
        b->bookings.items[i] = b->bookings.items[i + 1];
    unbook(e, l);
    ready_put_back(l->ready, ref);
    line_insert(l);
    (void)line_refresh(l, *ready_first(l->ready));
}

bool gating_has_booked(const struct engine *e, int64_t job)
{
    for (size_t i = 0; i < e->batch.gates.bookings.count; i++)
        if (e->batch.gates.bookings.items[i].job == job)
            return true;
    return false;
}

static void note_uses(struct engine *e, const struct line *l, int64_t job)
{
    const struct access *a = l->access;

    for (size_t i = 0; i < a->n_needs; i++)
        VEC_PUSH(&e->batch.gates.uses, ((struct gate_use){job, a->needs[i].gate->id,
                                                          a->needs[i].weight, e->now.wall_at}));
    if (lane_counts(l))
        VEC_PUSH(&e->batch.gates.uses, ((struct gate_use){job, l->lane->id, 1, e->now.wall_at}));
}

void gating_granted(struct engine *e, const struct job *jobs, size_t n)
{
    struct gate_batch *b = &e->batch.gates;

    for (size_t i = 0, k = 0; i < n && k < b->bookings.count; i++) {
        struct booking *booking = &b->bookings.items[k];

        if (booking->job != jobs[i].id.v)
            continue;
        k++;
        if (jobs[i].state == JOB_RUNNING) {
            note_uses(e, booking->line, booking->job);
            continue;
        }
        unbook(e, booking->line);
        if (jobs[i].state != JOB_READY)
            continue;
        ready_put_back(booking->line->ready, (struct ready_ref){jobs[i].priority, jobs[i].id.v});
        line_insert(booking->line);
        (void)line_refresh(booking->line, *ready_first(booking->line->ready));
    }
    VEC_CLEAR(&b->bookings);
}
