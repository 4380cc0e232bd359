/* SPDX-License-Identifier: MIT */
#include "engine/queues/queue.h"

#include <stdlib.h>

#include "engine/batch/names.h"
#include "engine/batch/transaction.h"
#include "engine/claims/ready.h"
#include "engine/gates/gating.h"
#include "engine/queues/queue_log.h"
#include "engine/queues/subscribers.h"
#include "engine/state.h"
#include "store/queues.h"

#define DEFAULT_DEFINITION "{\"own_command\":true}"

/* ---- looking up ---- */

struct queue *queue_find(const struct engine *e, struct slice name)
{
    return names_find(&e->queues.by_name, name);
}

struct queue *queue_by_id(const struct engine *e, int64_t id)
{
    struct queue *q = map_find(&e->queues.by_id, id);

    if (q != NULL)
        return q;
    struct err ignored = ERR_INIT;

    (void)store_queue_damaged(e->store, id, &ignored); /* every job's queue exists */
    return e->missing_queue;
}

struct queue *queue_new_missing(void)
{
    struct queue *q = mem_zalloc(sizeof(*q));

    q->name = mem_strdup("(lost)"); /* a name that no queue can have */
    q->state = QUEUE_DOWN;
    ready_init(&q->ready);
    queue_define(q, SLICE("{}"));
    return q;
}

enum err_code queue_unknown(const struct engine *e, struct slice name, enum err_code code,
                            struct err *err)
{
    const char **names = mem_alloc(sizeof(char *) * (e->queues.count + 1));

    for (size_t i = 0; i < e->queues.count; i++)
        names[i] = e->queues.items[i]->name;
    definition_name_unknown(DEFINITION_QUEUE, name, names, e->queues.count, code, err);
    free(names);
    return code;
}

int64_t definitions_number(const struct engine *e)
{
    return e->definitions;
}

/* ---- loading ---- */

void queue_free(struct queue *q)
{
    free(q->name);
    free(q->json);
    ready_deinit(&q->ready);
    map_deinit(&q->commandless);
    arena_deinit(&q->arena);
    free(q);
}

static void list_deinit(struct queue_list *list)
{
    names_deinit(&list->by_name);
    map_deinit(&list->by_id);
    for (size_t i = 0; i < list->count; i++)
        queue_free(list->items[i]);
    VEC_DEINIT(list);
}

/* The others keep their order: the first queue of a topic is the same on all servers. */
void queue_unlist(struct engine *e, struct queue *q)
{
    struct queue_list *list = &e->queues;

    names_remove(&list->by_name, slice_of(q->name));
    map_remove(&list->by_id, q->id);
    list->filtered -= q->def.filters.count > 0;
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] != q)
            list->items[kept++] = list->items[i];
    list->count = kept;
    gating_drop(e, q);
    e->generation++;
}

void queues_free(struct engine *e)
{
    list_deinit(&e->queues);
}

void queues_reset_ready(struct engine *e)
{
    for (size_t i = 0; i < e->queues.count; i++) {
        ready_reset(&e->queues.items[i]->ready);
        e->queues.items[i]->attempt_logged_at = 0; /* its last line may have been rolled back */
    }
}

void queue_define(struct queue *q, struct slice json)
{
    struct err err = ERR_INIT;
    struct queue_def def;
    struct arena arena = ARENA_INIT;
    char *copy = mem_strndup(json.data, json.size);

    q->needs_newer = queue_def_parse_stored(slice_of(copy), &arena, &def, &err) != E_OK;
    if (q->needs_newer) {
        struct slice why = slice_of(err.msg);

        ASSERT(queue_def_parse_stored(SLICE("{}"), &arena, &def, &err) == E_OK);
        def.fault = slice_of(arena_strdup(&arena, why));
    }
    free(q->json);
    arena_deinit(&q->arena);
    q->json = copy;
    q->arena = arena;
    q->def = def;
}

static void take_queue(void *ctx, const struct stored_queue *row)
{
    struct engine *e = ctx;
    struct err ignored = ERR_INIT;

    if (map_find(&e->queues.by_id, row->id) != NULL || queue_find(e, row->name) != NULL) {
        (void)store_queue_damaged(e->store, row->id, &ignored);
        return;
    }
    struct queue *q = mem_zalloc(sizeof(*q));

    q->gates = &e->gates;
    q->id = row->id;
    q->name = mem_strndup(row->name.data, row->name.size);
    q->state = row->state;
    q->streak = row->streak;
    q->changed_at = row->changed_at;
    q->restarts = row->restarts;
    ready_init(&q->ready);
    queue_define(q, row->definition);
    VEC_PUSH(&e->queues, q);
    e->queues.filtered += q->def.filters.count > 0;
    names_add(&e->queues.by_name, slice_of(q->name), q);
    map_put(&e->queues.by_id, q->id, q);
    e->generation++;
}

enum err_code queue_add(struct engine *e, struct slice name, struct slice definition,
                        struct err *err)
{
    struct stored_queue row = {
        .name = name, .state = QUEUE_UP, .definition = definition, .changed_at = e->now.wall_at};

    if (engine_write(e, err) != E_OK || store_queue_add(e->store, &row, &row.id, err) != E_OK)
        return err->code;
    take_queue(e, &row);
    return queue_note(e, queue_find(e, name), "made", slice_make(NULL, 0), err);
}

enum err_code queue_add_default(struct engine *e, struct err *err)
{
    if (queue_find(e, SLICE(DEFAULT_QUEUE)) != NULL)
        return E_OK;
    e->batch.queues_changed = true;
    return queue_add(e, SLICE(DEFAULT_QUEUE), SLICE(DEFAULT_DEFINITION), err);
}

/* Keeps the members that are not stored. */
static void keep_unstored(struct engine *e, const struct queue_list *old)
{
    for (size_t i = 0; i < old->count; i++) {
        struct queue *q = map_find(&e->queues.by_id, old->items[i]->id);

        if (q == NULL)
            continue;
        q->attempt_logged_at = old->items[i]->attempt_logged_at;
        q->unlogged_attempts = old->items[i]->unlogged_attempts;
        q->missing_dest_at = old->items[i]->missing_dest_at;
        q->worker_absent_at = old->items[i]->worker_absent_at;
        q->ready_unannounced = old->items[i]->ready_unannounced;
    }
}

static void note_lanes(void *ctx, int64_t queue)
{
    struct engine *e = ctx;
    struct queue *q = map_find(&e->queues.by_id, queue);

    if (q != NULL)
        q->has_lanes = true;
}

enum err_code queues_load(struct engine *e, struct err *err)
{
    int64_t definitions = 0;

    if (gates_load(e, err) != E_OK)
        return err->code;
    struct queue_list old = e->queues;

    e->queues = (struct queue_list){.items = NULL};
    if (store_definitions_get(e->store, &definitions, err) != E_OK ||
        store_queues_load(e->store, take_queue, e, err) != E_OK) {
        queues_free(e);
        e->queues = old;
        return err->code;
    }
    keep_unstored(e, &old);
    list_deinit(&old);
    if (store_lanes_queues(e->store, note_lanes, e, err) != E_OK)
        return err->code;
    gates_heed_queues(e);
    e->definitions = definitions;
    e->generation++;
    subscribers_watch(e);
    return E_OK;
}
