/* SPDX-License-Identifier: MIT */
#include "store/gates/gates.h"

#include <stdlib.h>

#include "base/vec.h"
#include "store/db/columns.h"
#include "store/internal.h"

/* An empty text, not an absent one. */
static struct db_value text_value(struct slice s)
{
    return (struct db_value){.type = DB_TEXT, .s = s};
}

static const struct db_column gate_columns[] = {
    DB_NUMBER(stored_gate, id),
    DB_NUMBER(stored_gate, kind, .min = GATE_RESOURCE, .max = GATE_SAME_NEEDS),
    DB_NUMBER(stored_gate, queue),
    DB_VALUE(DB_COLUMN_TEXT, stored_gate, name),
    DB_VALUE(DB_COLUMN_TEXT, stored_gate, needs),
    DB_NUMBER(stored_gate, lane),
    DB_VALUE(DB_COLUMN_OBJECT, stored_gate, definition),
    DB_NUMBER(stored_gate, in_use),
    DB_VALUE(DB_COLUMN_BYTES, stored_gate, starts),
    DB_NUMBER(stored_gate, shut_until_at),
    DB_NUMBER(stored_gate, shut_us),
    DB_VALUE(DB_COLUMN_TEXT, stored_gate, why),
    DB_NUMBER(stored_gate, probe_until_at),
    DB_VALUE(DB_COLUMN_TEXT, stored_gate, probe_why),
    DB_NUMBER(stored_gate, probed_at),
    DB_NUMBER(stored_gate, wanted),
};
static const struct db_table gate_table = DB_TABLE("gate", stored_gate, gate_columns);

DB_EACH_FN(each_gate, stored_gate, gate_table)

enum err_code store_resources_load(struct store *s, store_gate_fn *on_gate, void *ctx,
                                   struct err *err)
{
    return each_gate(s->db, SQL_RESOURCES_LOAD, DB_ARGS(), on_gate, ctx, err);
}

enum err_code store_resources_list(struct store *s, struct slice above, size_t limit,
                                   store_gate_fn *on_gate, void *ctx, struct err *err)
{
    return each_gate(s->db, SQL_RESOURCES_LIST, DB_ARGS(text_value(above), db_i((int64_t)limit)),
                     on_gate, ctx, err);
}

enum err_code store_resource_find(struct store *s, struct slice name, struct arena *arena,
                                  struct stored_gate *ret, struct err *err)
{
    return db_find(s->db, SQL_RESOURCE_FIND, &gate_table, arena, ret, err, text_value(name));
}

enum err_code store_gate_add(struct store *s, const struct stored_gate *gate, struct err *err)
{
    return db_do(s->db, SQL_GATE_ADD, err, db_i(gate->id), db_i(gate->kind), db_i(gate->queue),
                 text_value(gate->name), text_value(gate->needs), db_i(gate->lane),
                 db_t(gate->definition));
}

enum err_code store_lane_add(struct store *s, const struct stored_gate *gate, bool *ret_new,
                             struct err *err)
{
    struct db_args args = DB_ARGS(db_i(gate->id), db_i(gate->kind), db_i(gate->queue),
                                  text_value(gate->name), text_value(gate->needs),
                                  db_i(gate->lane));
    int64_t added = 0;

    *ret_new = false;
    if (db_do(s->db, SQL_LANE_PUT, err, db_i(gate->id), db_i(gate->queue)) != E_OK)
        return err->code;
    if (s->shared)
        return db_post(s->db, SQL_LANE_ADD, args, err);
    if (db_call_change(s->db, SQL_LANE_ADD, args, &added, err) != E_OK)
        return err->code;
    *ret_new = added > 0;
    return E_OK;
}

#define IN_GATE(member_) DB_NUMBER(ready_lane, gate.member_)

static const struct db_column lane_columns[] = {
    IN_GATE(id),
    IN_GATE(kind),
    IN_GATE(queue),
    DB_VALUE(DB_COLUMN_TEXT, ready_lane, gate.name),
    DB_VALUE(DB_COLUMN_TEXT, ready_lane, gate.needs),
    IN_GATE(lane),
    DB_SKIPPED,
    IN_GATE(in_use),
    DB_VALUE(DB_COLUMN_BYTES, ready_lane, gate.starts),
    IN_GATE(shut_until_at),
    IN_GATE(shut_us),
    DB_VALUE(DB_COLUMN_TEXT, ready_lane, gate.why),
    IN_GATE(probe_until_at),
    DB_VALUE(DB_COLUMN_TEXT, ready_lane, gate.probe_why),
    IN_GATE(probed_at),
    IN_GATE(wanted),
    DB_NUMBER(ready_lane, first),
    DB_NUMBER(ready_lane, priority),
};
static const struct db_table lane_table = DB_TABLE("lane", ready_lane, lane_columns);

DB_EACH_FN(each_lane, ready_lane, lane_table)

enum err_code store_lanes_ready(struct store *s, int64_t queue, store_lane_fn *on_lane, void *ctx,
                                struct err *err)
{
    return each_lane(s->db, SQL_LANES_READY, DB_ARGS(db_i(queue)), on_lane, ctx, err);
}

enum err_code store_lanes_ready_of(struct store *s, const int64_t *lanes, size_t n,
                                   store_lane_fn *on_lane, void *ctx, struct arena *arena,
                                   struct err *err)
{
    struct db_rows rows = store_id_rows(lanes, n, arena);

    return each_lane(s->db, SQL_LANES_READY_OF, DB_ARGS(db_r(&rows)), on_lane, ctx, err);
}

struct queue_numbers {
    void (*on_queue)(void *ctx, int64_t queue);
    void *ctx;
};

static void on_queue_row(void *ctx, const struct db_row *row)
{
    struct queue_numbers *t = ctx;

    t->on_queue(t->ctx, db_col_int(row, 0));
}

enum err_code store_lanes_queues(struct store *s, void (*on_queue)(void *ctx, int64_t queue),
                                 void *ctx, struct err *err)
{
    struct queue_numbers t = {on_queue, ctx};

    return db_call_rows(s->db, SQL_LANES_QUEUES, DB_ARGS(), &(struct db_reader){on_queue_row, &t},
                        err);
}

enum err_code store_gate_define(struct store *s, int64_t id, struct slice definition,
                                struct err *err)
{
    return db_do(s->db, SQL_GATE_DEFINE, err, db_i(id), text_value(definition));
}

enum err_code store_gate_remove(struct store *s, int64_t id, struct err *err)
{
    return db_do(s->db, SQL_GATE_REMOVE, err, db_i(id));
}

enum err_code store_gates_hold(struct store *s, const int64_t *ids, size_t n,
                               store_gate_fn *on_gate, void *ctx, struct arena *arena,
                               struct err *err)
{
    struct db_rows rows = store_id_rows(ids, n, arena);

    return each_gate(s->db, SQL_GATES_HOLD, DB_ARGS(db_r(&rows)), on_gate, ctx, err);
}

enum err_code store_gate_find(struct store *s, int64_t id, struct arena *arena,
                              struct stored_gate *ret, struct err *err)
{
    return db_find(s->db, SQL_GATE_FIND, &gate_table, arena, ret, err, db_i(id));
}

enum err_code store_gate_lock(struct store *s, int64_t id, struct arena *arena,
                              struct stored_gate *ret, struct err *err)
{
    return db_find(s->db, SQL_GATE_LOCK, &gate_table, arena, ret, err, db_i(id));
}

enum err_code store_gate_write(struct store *s, const struct stored_gate *gate, struct err *err)
{
    return db_do(s->db, SQL_GATE_WRITE, err, db_i(gate->id), db_i(gate->in_use), db_b(gate->starts),
                 db_i(gate->wanted));
}

enum err_code store_gate_shut(struct store *s, const struct stored_gate *gate, struct err *err)
{
    return db_do(s->db, SQL_GATE_SHUT, err, db_i(gate->id), db_i(gate->shut_until_at),
                 db_i(gate->shut_us), db_t(gate->why));
}

enum err_code store_gates_bound(struct store *s, int64_t now_at, struct err *err)
{
    return db_do(s->db, SQL_GATES_BOUND, err, db_i(now_at));
}

/* ---- uses ---- */

enum { USE_COLUMNS = 4 };

enum err_code store_uses_add(struct store *s, const struct gate_use *uses, size_t n,
                             struct arena *arena, struct err *err)
{
    struct db_value *values = arena_array(arena, n * USE_COLUMNS, sizeof(*values));
    struct db_rows rows = {values, n, USE_COLUMNS};

    for (size_t i = 0; i < n; i++) {
        values[USE_COLUMNS * i] = db_i(uses[i].job);
        values[USE_COLUMNS * i + 1] = db_i(uses[i].gate);
        values[USE_COLUMNS * i + 2] = db_i(uses[i].weight);
        values[USE_COLUMNS * i + 3] = db_i(uses[i].started_at);
    }
    return n == 0 ? E_OK : db_do(s->db, SQL_USES_ADD, err, db_r(&rows));
}

struct freed_list {
    VEC(struct gate_freed) items;
};

static void on_use_row(void *ctx, const struct db_row *row)
{
    struct freed_list *list = ctx;

    VEC_PUSH(&list->items,
             ((struct gate_freed){.gate = db_col_int(row, 0), .weight = db_col_int(row, 1)}));
}

static int by_gate(const void *a, const void *b)
{
    int64_t x = ((const struct gate_freed *)a)->gate;
    int64_t y = ((const struct gate_freed *)b)->gate;

    return (x > y) - (x < y);
}

/* Sorts, and adds up what comes back to one gate. */
static size_t sum_up(struct gate_freed *items, size_t n)
{
    size_t kept = 0;

    qsort(items, n, sizeof(*items), by_gate);
    for (size_t i = 0; i < n; i++)
        if (kept > 0 && items[kept - 1].gate == items[i].gate)
            items[kept - 1].weight += items[i].weight;
        else
            items[kept++] = items[i];
    return kept;
}

struct freed_set {
    struct gate_freed *items;
    size_t n;
};

static void on_freed_row(void *ctx, const struct db_row *row)
{
    struct freed_set *t = ctx;
    struct gate_freed key = {.gate = db_col_int(row, 0)};
    struct gate_freed *found = bsearch(&key, t->items, t->n, sizeof(key), by_gate);

    if (found == NULL)
        return;
    found->in_use = db_col_int(row, 1);
    found->wanted = db_col_int(row, 2) != 0;
}

static enum err_code free_gates(struct store *s, struct gate_freed *items, size_t n,
                                struct arena *arena, struct err *err)
{
    struct db_value *values = arena_array(arena, n * 2, sizeof(*values));
    struct db_rows rows = {values, n, 2};
    struct freed_set set = {items, n};

    for (size_t i = 0; i < n; i++) {
        values[2 * i] = db_i(items[i].gate);
        values[2 * i + 1] = db_i(items[i].weight);
    }
    return db_rows(s->db, SQL_GATES_FREE, on_freed_row, &set, err, db_r(&rows));
}

enum err_code store_uses_end(struct store *s, const int64_t *jobs, size_t n, struct arena *arena,
                             struct gate_freed **ret_freed, size_t *ret_n, struct err *err)
{
    struct db_rows rows = store_id_rows(jobs, n, arena);
    struct freed_list list = {.items = VEC_INIT};
    enum err_code code = db_rows(s->db, SQL_USES_TAKE, on_use_row, &list, err, db_r(&rows));
    struct gate_freed *freed = arena_array(arena, list.items.count + 1, sizeof(*freed));
    size_t count = 0;

    if (code == E_OK && list.items.count > 0) {
        count = sum_up(list.items.items, list.items.count);
        memcpy(freed, list.items.items, count * sizeof(*freed));
        if (!s->shared)
            code = db_do(s->db, SQL_USES_REMOVE, err, db_r(&rows));
    }
    VEC_DEINIT(&list.items);
    if (code == E_OK && count > 0)
        code = free_gates(s, freed, count, arena, err);
    *ret_freed = freed;
    *ret_n = count;
    return code;
}

enum err_code store_uses_any(struct store *s, bool *ret_any, struct err *err)
{
    return db_call_exists(s->db, SQL_USES_ANY, DB_ARGS(), ret_any, err);
}

static const struct db_column use_columns[] = {
    DB_NUMBER(gate_use, job),
    DB_NUMBER(gate_use, gate),
    DB_NUMBER(gate_use, weight),
    DB_NUMBER(gate_use, started_at),
};
static const struct db_table use_table = DB_TABLE("use of a gate", gate_use, use_columns);

DB_EACH_FN(each_use, gate_use, use_table)

enum err_code store_uses_of_job(struct store *s, int64_t job, store_use_fn *on_use, void *ctx,
                                struct err *err)
{
    return each_use(s->db, SQL_USES_OF, DB_ARGS(db_i(job)), on_use, ctx, err);
}

enum err_code store_uses_of_gate(struct store *s, int64_t gate, size_t limit, store_use_fn *on_use,
                                 void *ctx, struct err *err)
{
    return each_use(s->db, SQL_USES_OF_GATE, DB_ARGS(db_i(gate), db_i((int64_t)limit)), on_use, ctx,
                    err);
}
