/* SPDX-License-Identifier: MIT */
#include "engine/followups/after_targets.h"

#include <stdlib.h>

#include "core/object/quote.h"
#include "engine/batch/names.h"
#include "engine/batch/transaction.h"
#include "engine/jobs/submit.h"
#include "store/links/links.h"

struct finding {
    const struct submit_item *items;
    size_t n;
    struct plan *plans;
    struct after_target **targets;
    struct names refs; /* to the item's place, from 1 */
    struct map made;   /* id of a job that this array creates, to its place, from 1 */
    struct map redone; /* the same for known jobs that it runs again, if they have ended */
};

static void list_items(struct finding *g)
{
    for (size_t i = 0; i < g->n; i++) {
        void *place = (void *)(uintptr_t)(i + 1);
        struct slice ref = g->items[i].ref;
        struct quote quote;

        if (plan_is_made(&g->plans[i]))
            map_put(&g->made, g->plans[i].id, place);
        else if (g->plans[i].known && g->items[i].redo &&
                 map_find(&g->redone, g->plans[i].id) == NULL) /* the first runs it again */
            map_put(&g->redone, g->plans[i].id, place);
        if (ref.size == 0)
            continue;
        if (names_find(&g->refs, ref) == NULL)
            names_add(&g->refs, ref, place);
        else
            err_set(&g->plans[i].refused, E_INVALID, "ref: %s appears twice in this request",
                    quote_text(&quote, ref));
    }
}

static void find_by_ref(struct finding *g, size_t item, size_t k, struct after_target *t)
{
    struct slice ref = g->items[item].after[k].ref;
    size_t place = (size_t)(uintptr_t)names_find(&g->refs, ref);
    struct err *refused = &g->plans[item].refused;
    struct quote quote;

    if (place == 0) {
        err_set(refused, E_INVALID, "after[%zu]: %s is neither an id nor the ref of a job here", k,
                quote_text(&quote, ref));
        return;
    }
    t->id = g->plans[place - 1].id;
    if (t->id == 0 && plan_is_dropped(&g->plans[place - 1]))
        err_set(refused, E_CONFLICT, "after[%zu]: a filter drops the job %s", k,
                quote_text(&quote, ref));
}

static void find_target(struct finding *g, size_t item, size_t k, struct after_target *t)
{
    t->id = g->items[item].after[k].job;
    if (t->id == 0)
        find_by_ref(g, item, k, t);
    t->place = (size_t)(uintptr_t)map_find(&g->made, t->id);
    if (t->place > 0)
        g->plans[t->place - 1].awaited = true;
    size_t redone = (size_t)(uintptr_t)map_find(&g->redone, t->id);

    if (t->place == 0 && redone > 0)
        g->plans[redone - 1].awaited = t->again = true;
}

/* Returns how many targets are ids to look up in the store. */
static size_t find_all(struct finding *g, struct arena *arena)
{
    size_t n_ids = 0;

    for (size_t i = 0; i < g->n; i++) {
        const struct submit_item *item = &g->items[i];

        if (item->n_after == 0 || !plan_is_made(&g->plans[i]))
            continue;
        g->targets[i] = arena_array(arena, item->n_after, sizeof(struct after_target));
        for (size_t k = 0; k < item->n_after && plan_is_made(&g->plans[i]); k++)
            if (item->after[k].kind == AFTER_JOB) {
                find_target(g, i, k, &g->targets[i][k]);
                n_ids += g->targets[i][k].id != 0 && g->targets[i][k].place == 0;
            }
    }
    return n_ids;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static size_t sort_unique(int64_t *ids, size_t n)
{
    size_t kept = 0;

    qsort(ids, n, sizeof(ids[0]), by_number);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || ids[kept - 1] != ids[i])
            ids[kept++] = ids[i];
    return kept;
}

/* ---- targets in the store ---- */

static bool is_stored(const struct after_target *t)
{
    return t->id != 0 && t->place == 0;
}

static void take_states(struct finding *g, const int64_t *ids, size_t n_ids,
                        const enum job_state *states)
{
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; g->targets[i] != NULL && k < g->items[i].n_after; k++) {
            struct after_target *t = &g->targets[i][k];

            if (!is_stored(t))
                continue;
            const int64_t *at = bsearch(&t->id, ids, n_ids, sizeof(*ids), by_number);

            ASSERT(at != NULL);
            t->state = states[at - ids];
            t->again = t->again && job_state_ended(t->state);
        }
}

/* Reads the states of all targets; locks live ones and marks them as awaited, so that none ends
 * before the waits are written. */
static enum err_code await(struct finding *g, struct engine *e, size_t n_ids, struct err *err)
{
    int64_t *ids = arena_array(batch_arena(e), n_ids, sizeof(*ids));
    size_t n = 0;

    if (n_ids == 0)
        return E_OK;
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; g->targets[i] != NULL && k < g->items[i].n_after; k++)
            if (is_stored(&g->targets[i][k]))
                ids[n++] = g->targets[i][k].id;
    ASSERT(n == n_ids);
    n = sort_unique(ids, n);
    enum job_state *states = arena_array(batch_arena(e), n, sizeof(*states));

    if (engine_write(e, err) != E_OK || submit_flush(e, err) != E_OK ||
        store_jobs_await(batch_store(e), ids, n, states, batch_arena(e), err) != E_OK)
        return err->code;
    take_states(g, ids, n, states);
    return E_OK;
}

enum err_code after_find_targets(struct engine *e, const struct submit_item *items, size_t n,
                                 struct plan *plans, struct after_target ***ret, struct err *err)
{
    struct finding g = {.items = items, .n = n, .plans = plans};

    g.targets = arena_array(batch_arena(e), n, sizeof(*g.targets));
    list_items(&g);
    enum err_code code = await(&g, e, find_all(&g, batch_arena(e)), err);

    names_deinit(&g.refs);
    map_deinit(&g.made);
    map_deinit(&g.redone);
    *ret = g.targets;
    return code;
}
