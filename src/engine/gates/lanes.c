/* SPDX-License-Identifier: MIT */
#include "engine/gates/lanes.h"

#include <string.h>

#include "base/jtext/jtext.h"
#include "base/siphash.h"
#include "engine/batch/transaction.h"
#include "engine/followups/route.h"
#include "engine/gates/gating.h"
#include "engine/gates/lines.h"
#include "engine/state.h"

#define LANE_BIT (INT64_C(1) << 62) /* above all other ids, until 2058 */

/* What decides the line of a job. */
struct lane_spec {
    struct slice key; /* of the lane */
    bool keyed;
    struct needs needs;
    bool own_needs; /* other jobs of the queue may need something else */
};

bool lane_is_asked(const struct queue *q, struct slice options)
{
    struct slice value;

    return q->def.lane.key_text.size > 0 || !needs_are_fixed(&q->def.needs) ||
           (options.size > 0 && jtext_find(options, "needs", &value));
}

static enum err_code add_own(struct slice options, const char *name,
                             const struct template_values *values, struct arena *arena,
                             struct lane_spec *s, struct err *err)
{
    struct needs own;
    struct slice json;

    if (options.size == 0 || !jtext_find(options, name, &json))
        return E_OK;
    s->own_needs = true;
    if (needs_parse(json, arena, &own, err) != E_OK)
        return err->code;
    return needs_add(&s->needs, &own, values, arena, err);
}

static enum err_code spec_of(const struct queue *q, struct slice params, struct slice options,
                             struct arena *arena, struct lane_spec *s, struct err *err)
{
    struct slice object = params.size == 0 ? SLICE("{}") : params;
    struct template_values values = {
        .objects = &object, .n_objects = 1, .queue = slice_of(q->name), .attempt = 1};

    *s = (struct lane_spec){.own_needs = !needs_are_fixed(&q->def.needs)};
    if (needs_add(&s->needs, &q->def.needs, &values, arena, err) != E_OK ||
        add_own(options, "needs", &values, arena, s, err) != E_OK ||
        add_own(options, "step_needs", &values, arena, s, err) != E_OK)
        return err->code;
    s->keyed = q->def.lane.key_text.size > 0;
    return s->keyed ? lane_key(&q->def.lane, &values, arena, &s->key, err) : E_OK;
}

static enum err_code check_need(const struct queue *q, const struct need *need, struct err *refused)
{
    const struct gate *g = q->gates == NULL ? NULL : names_find(&q->gates->by_name, need->name);

    if (need_is_of_host(need->name))
        return E_OK;
    if (g != NULL)
        return gate_check_weight(g->rules, need->name, need->weight, refused);
    return err_set(refused, E_INVALID,
                   "there is no resource '%.*s': define it, or see 'waybill resource list'",
                   (int)need->name.size, need->name.data);
}

enum err_code lane_check(const struct queue *q, struct slice params, struct slice options,
                         struct err *refused)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct lane_spec s;

    if (!lane_is_asked(q, options))
        return E_OK;
    if (spec_of(q, params, options, &arena, &s, refused) != E_OK)
        return refused->code;
    for (size_t i = 0; s.own_needs && i < s.needs.count; i++)
        if (check_need(q, &s.needs.items[i], refused) != E_OK)
            return err_wrap(refused, "needs");
    return E_OK;
}

/* ---- rows ---- */

static int64_t id_of(const struct engine *e, const struct stored_gate *row, struct arena *arena)
{
    size_t size = row->name.size + row->needs.size;
    size_t n = 4 + (size + 7) / 8;
    uint64_t *words = arena_array(arena, n, sizeof(*words));
    char *bytes = (char *)(words + 4);

    words[0] = (uint64_t)row->queue;
    words[1] = (uint64_t)row->kind;
    words[2] = row->name.size;
    words[3] = row->needs.size;
    if (row->name.size > 0)
        memcpy(bytes, row->name.data, row->name.size);
    if (row->needs.size > 0)
        memcpy(bytes + row->name.size, row->needs.data, row->needs.size);
    return (int64_t)(siphash_words(&e->lease_key, words, n).v[0] & (uint64_t)(LANE_BIT - 1)) |
           LANE_BIT;
}

/* The line of the row, which is added where it may be missing. */
static enum err_code put_line(struct engine *e, struct queue *q, struct stored_gate *row,
                              struct line **ret_line, struct err *err)
{
    struct gating *g = gating_make(e, q);

    row->queue = q->id;
    row->id = id_of(e, row, &e->batch.arena);
    struct line *l = map_find(&g->lines, row->id);

    if (l == NULL)
        l = line_new(e, q, row);
    if (!l->stored || (must_ask_store(e) && l->stored_in != e->gates.batches)) {
        bool is_new = false;

        if (store_lane_add(e->store, row, &is_new, err) != E_OK)
            return err->code;
        if (is_new && l->lane != NULL && row->kind == GATE_LANE)
            gate_take_state(e, l->lane, row);
        l->stored = true;
        l->stored_in = e->gates.batches;
    }
    *ret_line = l;
    return E_OK;
}

static enum err_code assign(struct engine *e, struct job *j, struct queue *q,
                            const struct lane_spec *s, struct err *err)
{
    CLEANUP(buf) struct buf json = BUF_INIT(DEFINITION_JSON_MAX);
    struct stored_gate lane = {.kind = GATE_LANE, .name = s->key, .needs = SLICE("")};
    struct stored_gate same = {.kind = GATE_SAME_NEEDS, .name = s->key};
    struct line *line = NULL;

    if (s->keyed && put_line(e, q, &lane, &line, err) != E_OK)
        return err->code;
    if (s->own_needs) {
        needs_json(&s->needs, &json);
        same.needs = arena_copy(&e->batch.arena, buf_slice(&json));
        same.lane = lane.id;
        if (same.name.size == 0)
            same.name = SLICE("");
        if (put_line(e, q, &same, &line, err) != E_OK)
            return err->code;
    }
    j->lane = line == NULL ? 0 : line->id;
    return E_OK;
}

enum err_code lane_assign_by(struct engine *e, struct job *j, struct slice params,
                             struct slice options, struct err *err)
{
    struct queue *q = queue_by_id(e, j->queue);
    struct err refused = ERR_INIT;
    struct lane_spec s;

    j->lane = 0;
    if (!lane_is_asked(q, options))
        return E_OK;
    /* Only a step can get here with params that do not fill them: it gets what is certain. */
    if (spec_of(q, params, options, &e->batch.arena, &s, &refused) != E_OK) {
        s = (struct lane_spec){.keyed = q->def.lane.key_text.size > 0, .key = SLICE("")};
        if (needs_are_fixed(&q->def.needs))
            s.needs = q->def.needs;
    }
    if (engine_write(e, err) != E_OK)
        return err->code;
    return assign(e, j, q, &s, err);
}

enum err_code lane_assign(struct engine *e, struct job *j, struct err *err)
{
    if (!lane_is_asked(queue_by_id(e, j->queue), j->options)) {
        j->lane = 0;
        return E_OK;
    }
    return lane_assign_by(e, j, route_sees(e, j, j->params), j->options, err);
}
