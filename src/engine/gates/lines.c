/* SPDX-License-Identifier: MIT */
#include "engine/gates/lines.h"

#include <stdlib.h>

#include "engine/shared/news.h"
#include "engine/state.h"
#include "store/jobs/ready.h"

enum {
    LINE_MAX = 32,      /* jobs of a lane that are listed at once */
    UNTOLD_MAX = 50,    /* lanes that news names; more: all of the queue */
    UNKNOWN_MAX = 1000, /* lanes that are read one by one; more: all of the queue */
};

/* ---- the heap of an access ---- */

bool line_comes_before(const struct line *a, const struct line *b)
{
    if (a->head.priority != b->head.priority)
        return a->head.priority > b->head.priority;
    if (a->served != b->served && a->lane != NULL && b->lane != NULL)
        return a->served < b->served;
    return a->head.id < b->head.id;
}

static void set_place(struct access *a, size_t i, struct line *l)
{
    a->lines.items[i] = l;
    l->at = i + 1;
}

static void move_up(struct access *a, size_t i, struct line *l)
{
    while (i > 0 && line_comes_before(l, a->lines.items[(i - 1) / 2])) {
        set_place(a, i, a->lines.items[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    set_place(a, i, l);
}

static void move_down(struct access *a, size_t i, struct line *l)
{
    for (size_t child; (child = 2 * i + 1) < a->lines.count; i = child) {
        if (child + 1 < a->lines.count &&
            line_comes_before(a->lines.items[child + 1], a->lines.items[child]))
            child++;
        if (!line_comes_before(a->lines.items[child], l))
            break;
        set_place(a, i, a->lines.items[child]);
    }
    set_place(a, i, l);
}

void line_fix(struct line *l)
{
    struct access *a = l->access;

    if (l->at == 0)
        return;
    move_up(a, l->at - 1, l);
    move_down(a, l->at - 1, l);
}

void line_insert(struct line *l)
{
    struct access *a = l->access;

    if (l->at != 0 || l->parked_until_at != 0 || l->deferred)
        return;
    VEC_PUSH(&a->lines, l);
    move_up(a, a->lines.count - 1, l);
}

void line_remove(struct line *l)
{
    struct access *a = l->access;
    size_t i = l->at - 1;

    if (l->at == 0)
        return;
    struct line *last = a->lines.items[--a->lines.count];

    l->at = 0;
    if (last == l)
        return;
    set_place(a, i, last);
    line_fix(last);
}

struct line *line_refresh(struct line *l, struct ready_ref head)
{
    uint64_t served = l->lane == NULL ? l->served : l->lane->served;

    if (l->head.id != head.id || l->head.priority != head.priority || l->served != served) {
        l->head = head;
        l->served = served;
        line_fix(l);
    }
    return l->access->lines.count == 0 ? NULL : l->access->lines.items[0];
}

/* ---- resting ---- */

static bool is_plain(const struct line *l)
{
    return l->id == 0;
}

void line_rest(struct gating *g, struct line *l)
{
    line_remove(l);
    if (!is_plain(l) && l->ready->complete && l->ready->count == 0)
        return; /* who adds a job brings it back */
    l->deferred = true;
    VEC_PUSH(&g->deferred, l);
}

void lines_resume(struct gating *g)
{
    for (size_t i = 0; i < g->deferred.count; i++) {
        g->deferred.items[i]->deferred = false;
        line_insert(g->deferred.items[i]);
    }
    VEC_CLEAR(&g->deferred);
}

/* Its list must be forgotten after the batch. */
static void note_filled(struct engine *e, struct gating *g, struct line *l)
{
    if (l->listed || !must_ask_store(e))
        return;
    l->listed = true;
    VEC_PUSH(&g->filled, l);
}

static enum err_code fill_lane(struct engine *e, struct gating *g, struct line *l, struct err *err)
{
    bool others = false;

    note_filled(e, g, l);
    if (!must_ask_store(e) || e->shared.only_server)
        return ready_fill(l->ready, e->store, l->id, err);
    if (ready_fill_held(l->ready, e->store, l->id, LINE_MAX, err) != E_OK)
        return err->code;
    if (l->ready->complete && store_ready_others(e->store, l->id, l->ready->refs, l->ready->count,
                                                 &e->batch.arena, &others, err) != E_OK)
        return err->code;
    if (others) {
        e->shared.saw_held_gate = true;
        l->ready->complete = false;
    }
    return E_OK;
}

enum err_code line_fill(struct engine *e, struct queue *q, struct line *l, bool held,
                        struct err *err)
{
    return is_plain(l) ? shared_fill_ready(e, q, held, err) : fill_lane(e, q->gating, l, err);
}

void gating_clear(struct engine *e, struct queue *q)
{
    struct gating *g = q->gating;

    if (g == NULL)
        return;
    for (size_t i = 0; i < g->filled.count; i++) {
        struct line *l = g->filled.items[i];

        l->listed = false;
        if (!e->shared.only_server && !ready_is_known_empty(l->ready))
            ready_reset(l->ready);
    }
    VEC_CLEAR(&g->filled);
}

/* ---- lanes ---- */

bool lane_counts(const struct line *l)
{
    return l->lane != NULL && (l->lane->rules->slots > 0 || l->lane->rules->rates.count > 0);
}

bool lane_is_judged(const struct line *l)
{
    return l->lane != NULL && (lane_counts(l) || l->lane->may_be_shut);
}

static struct gate *get_lane(struct engine *e, struct gating *g, int64_t id, struct slice key)
{
    struct gate *lane = map_find(&g->lanes, id);

    if (lane != NULL)
        return lane;
    lane = mem_zalloc(sizeof(*lane));
    lane->id = id;
    lane->kind = GATE_LANE;
    lane->name = mem_strndup(key.data == NULL ? "" : key.data, key.size);
    lane->rules = &g->lane_rules;
    map_put(&g->lanes, id, lane);
    map_put(&e->gates.by_id, id, lane);
    return lane;
}

struct line *line_new(struct engine *e, struct queue *q, const struct stored_gate *row)
{
    struct gating *g = q->gating;
    struct line *l = mem_zalloc(sizeof(*l));
    int64_t lane = row->kind == GATE_LANE ? row->id : row->lane;

    l->id = row->id;
    l->ready = &l->list;
    ready_init(l->ready);
    l->list.most = LINE_MAX;
    l->access = row->kind == GATE_LANE ? g->accesses.items[0] : access_get(e, q, row->needs);
    if (lane != 0)
        l->lane = get_lane(e, g, lane, row->name);
    map_put(&g->lines, l->id, l);
    return l;
}

/* ---- parked ---- */

static void park_until(struct engine *e, struct gating *g, struct line *l, int64_t until_at)
{
    size_t i = g->parked.count;

    if (until_at < e->gates.wake_at)
        e->gates.wake_at = until_at;
    l->parked_until_at = until_at;
    VEC_PUSH(&g->parked, l);
    for (; i > 0 && g->parked.items[(i - 1) / 2]->parked_until_at > until_at; i = (i - 1) / 2)
        g->parked.items[i] = g->parked.items[(i - 1) / 2];
    g->parked.items[i] = l;
}

static struct line *take_parked(struct gating *g)
{
    struct line *first = g->parked.items[0];
    struct line *last = g->parked.items[--g->parked.count];
    size_t i = 0;

    for (size_t child; (child = 2 * i + 1) < g->parked.count; i = child) {
        if (child + 1 < g->parked.count &&
            g->parked.items[child + 1]->parked_until_at < g->parked.items[child]->parked_until_at)
            child++;
        if (g->parked.items[child]->parked_until_at >= last->parked_until_at)
            break;
        g->parked.items[i] = g->parked.items[child];
    }
    if (g->parked.count > 0)
        g->parked.items[i] = last;
    return first;
}

int64_t lines_unpark(struct engine *e, struct gating *g)
{
    while (g->parked.count > 0 && g->parked.items[0]->parked_until_at <= e->now.wall_at) {
        struct line *l = take_parked(g);

        l->parked_until_at = 0;
        line_insert(l);
    }
    return g->parked.count == 0 ? TIME_NEVER : g->parked.items[0]->parked_until_at;
}

void lane_look_again(struct engine *e, struct gate *lane)
{
    for (size_t i = 0; i < lane->parked.count; i++) {
        lane->parked.items[i]->parked_until_at = 0;
        line_insert(lane->parked.items[i]);
        e->waiting.grants_due = true;
    }
    VEC_CLEAR(&lane->parked);
}

enum err_code line_judge(struct engine *e, struct gating *g, struct line *l, bool *ret_open,
                         struct err *err)
{
    struct gate *lane = l->lane;

    *ret_open = false;
    if (gates_hold(e, &lane, 1, err) != E_OK)
        return err->code;
    if (!lane->known) { /* another server judges it */
        line_rest(g, l);
        return E_OK;
    }
    struct gate_state state = gate_state_of(lane);
    struct gate_verdict v = gate_judge(lane->rules, &state, e->now.wall_at, 1);

    *ret_open = v.by == GATE_OK;
    if (*ret_open)
        return E_OK;
    line_remove(l);
    if (v.until_at != TIME_NEVER) {
        park_until(e, g, l, v.until_at);
        return E_OK;
    }
    l->parked_until_at = TIME_NEVER;
    VEC_PUSH(&lane->parked, l);
    if (must_tell_store(e) && !lane->wanted) {
        lane->wanted = true;
        gate_note_changed(e, lane);
    }
    return E_OK;
}

/* ---- which lanes have ready jobs ---- */

struct loading {
    struct engine *e;
    struct queue *q;
};

static void take_lane(void *ctx, const struct ready_lane *row)
{
    struct loading *t = ctx;
    struct gating *g = t->q->gating;
    struct line *l = map_find(&g->lines, row->gate.id);

    if (row->gate.kind != GATE_LANE && row->gate.kind != GATE_SAME_NEEDS)
        return;
    if (l == NULL)
        l = line_new(t->e, t->q, &row->gate);
    l->stored = true;
    if (l->lane != NULL && row->gate.kind == GATE_LANE) {
        l->lane->may_be_shut = l->lane->may_be_shut || row->gate.shut_until_at > 0;
        if (!must_ask_store(t->e) && !l->lane->known)
            gate_take_state(t->e, l->lane, &row->gate);
    }
    if (l->at == 0)
        l->head = (struct ready_ref){row->priority, row->first};
    if (ready_is_known_empty(l->ready))
        ready_reset(l->ready);
    line_insert(l);
}

enum err_code lines_load(struct engine *e, struct queue *q, struct err *err)
{
    struct gating *g = q->gating;
    struct loading t = {e, q};

    if (!q->has_lanes)
        return E_OK;
    if (!g->loaded) {
        if (store_lanes_ready(e->store, q->id, take_lane, &t, err) != E_OK)
            return err->code;
    } else if (g->unknown.count > 0 &&
               store_lanes_ready_of(e->store, g->unknown.items, g->unknown.count, take_lane, &t,
                                    &e->batch.arena, err) != E_OK) {
        return err->code;
    }
    g->loaded = true;
    VEC_CLEAR(&g->unknown);
    return E_OK;
}

void gating_add_ready(struct engine *e, struct queue *q, const struct job *j)
{
    struct gating *g = gating_make(e, q);
    struct line *l = map_find(&g->lines, j->lane);
    struct ready_ref ref = {j->priority, j->id.v};

    if (!g->loaded)
        return;
    if (l == NULL) {
        VEC_PUSH(&g->unknown, j->lane);
        return;
    }
    note_filled(e, g, l);
    ready_add(l->ready, ref);
    if (l->at == 0)
        l->head = ready_first(l->ready) != NULL ? *ready_first(l->ready) : ref;
    line_insert(l);
    if (ready_first(l->ready) != NULL)
        (void)line_refresh(l, *ready_first(l->ready));
}

void gating_remove_ready(struct engine *e, struct queue *q, const struct job *j)
{
    struct gating *g = gating_of(e, q);
    struct line *l = g == NULL ? NULL : map_find(&g->lines, j->lane);

    if (l != NULL)
        ready_remove(l->ready, (struct ready_ref){j->priority, j->id.v});
}

/* ---- other servers ---- */

/* While it is blocked, others are told once: they look, and are blocked themselves. */
static bool is_news(const struct engine *e, struct access *a)
{
    if (a->blocked_until_at <= e->now.wall_at)
        return true;
    bool first = !a->told;

    a->told = true;
    return first;
}

bool gating_must_tell(struct engine *e, struct queue *q)
{
    struct gating *g = q->gating;
    const struct ready *r = &q->ready;

    for (size_t i = 0; i < g->filled.count && g->untold.count <= UNTOLD_MAX; i++) {
        struct line *l = g->filled.items[i];

        if ((l->ready->count > 0 || !l->ready->complete) && l->parked_until_at == 0 &&
            is_news(e, l->access))
            VEC_PUSH(&g->untold, l->id);
    }
    return (r->count > 0 || (q->made_ready && !r->complete)) && is_news(e, g->plain.access);
}

void gating_tell(struct engine *e, struct queue *q)
{
    struct gating *g = q->gating;

    if (g == NULL || g->untold.count == 0)
        return;
    if (g->untold.count > UNTOLD_MAX)
        news_add_lane(e, q->id, 0);
    for (size_t i = 0; g->untold.count <= UNTOLD_MAX && i < g->untold.count; i++)
        news_add_lane(e, q->id, g->untold.items[i]);
    VEC_CLEAR(&g->untold);
}

void gating_hear(struct engine *e, struct queue *q, int64_t lane)
{
    struct gating *g = gating_make(e, q);
    struct line *l = map_find(&g->lines, lane);

    e->waiting.grants_due = true;
    if (l != NULL) {
        ready_reset(l->ready);
        line_insert(l);
    } else if (lane == 0 || g->unknown.count > UNKNOWN_MAX) {
        g->loaded = false;
        VEC_CLEAR(&g->unknown);
    } else {
        VEC_PUSH(&g->unknown, lane);
    }
}

void lines_free(struct engine *e, struct gating *g)
{
    int64_t id;
    void *item;

    for (size_t i = 0; map_next(&g->lines, &i, &id, &item);) {
        ready_deinit(&((struct line *)item)->list);
        free(item);
    }
    for (size_t i = 0; map_next(&g->lanes, &i, &id, &item);) {
        map_remove(&e->gates.by_id, id);
        gate_free(item);
    }
    map_deinit(&g->lines);
    map_deinit(&g->lanes);
    VEC_DEINIT(&g->parked);
    VEC_DEINIT(&g->filled);
    VEC_DEINIT(&g->deferred);
    VEC_DEINIT(&g->unknown);
    VEC_DEINIT(&g->untold);
}
