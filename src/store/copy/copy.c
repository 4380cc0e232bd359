/* SPDX-License-Identifier: MIT */
#include "store/copy/copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/os/fault.h"
#include "core/queue/def.h"
#include "store/copy/guard.h"
#include "store/copy/rows.h"
#include "store/internal.h"
#include "store/meta.h"
#include "store/sqlite/wal_mark.h"

enum {
    COMMIT_ROWS = 4000,
    COMMIT_BYTES = 16 << 20,
    META_KEY_MAX = 63,
};

/* Numbers by name, as the target is to have them. */
struct fact {
    char key[META_KEY_MAX + 1];
    int64_t value;
};

struct facts {
    VEC(struct fact) list; /* in the order of the keys */
};

struct copying {
    const struct store_copy *how;
    struct store *from, *to, *reader; /* the last reads the target back */
    struct store_copy_result *result;
    struct store_copy_progress progress;
    int64_t guard; /* of the source */
    int64_t mark;
    int64_t ids_floor; /* no id was ever above */
    struct facts facts;
    bool in_transaction; /* of the target */
    int64_t rows, bytes; /* in it */
};

static void tell(struct copying *c, const char *table)
{
    c->progress.table = table;
    if (c->how->on_progress != NULL)
        c->how->on_progress(c->how->ctx, &c->progress);
}

/* ---- the target's transactions ---- */

/* Each makes sure that the target is still ours. */
static enum err_code begin(struct copying *c, struct err *err)
{
    int64_t mark = 0;

    if (c->in_transaction)
        return E_OK;
    if (db_begin(c->to->db, err) != E_OK)
        return err->code;
    c->in_transaction = true;
    c->rows = c->bytes = 0;
    if (store_meta_get(c->to, META_COPYING, &mark, err) != E_OK)
        return err->code;
    return mark == c->mark
               ? E_OK
               : err_set(err, E_CONFLICT, "somebody else has begun to copy into the same store");
}

static enum err_code commit(struct copying *c, struct err *err)
{
    if (!c->in_transaction)
        return E_OK;
    c->in_transaction = false;
    if (db_commit(c->to->db, DB_SYNC_NOW, err) != E_OK) {
        db_rollback(c->to->db);
        return err->code;
    }
    (void)fault_hit("copy.committed");
    return E_OK;
}

/* ---- the target before ---- */

static enum err_code clear(struct copying *c, struct err *err)
{
    for (int i = 0; i < SQL_TABLE_COUNT; i++)
        if (db_rows(c->to->db, sql_tables[i].clear, NULL, NULL, err) != E_OK)
            return err_wrap(err, "empty %s of the target", sql_tables[i].name);
    return db_rows(c->to->db, SQL_COPY_CLEAR_META, NULL, NULL, err);
}

/* The mark comes in a transaction with the judgement that nothing is lost by it. */
static enum err_code mark_target(struct copying *c, struct err *err)
{
    int64_t earlier = 0;

    if (db_begin(c->to->db, err) != E_OK)
        return err->code;
    c->in_transaction = true;
    if (store_meta_get(c->to, META_COPYING, &earlier, err) != E_OK ||
        (earlier == 0 && copy_require_empty(c->to, err) != E_OK) ||
        store_meta_set(c->to, META_COPYING, c->mark, err) != E_OK || clear(c, err) != E_OK)
        return err->code;
    return commit(c, err);
}

/* ---- rows ---- */

static enum err_code add_part(struct copying *c, const struct copy_walk *w, struct err *err)
{
    if (begin(c, err) != E_OK || copy_walk_add(w, c->to->db, err) != E_OK)
        return err->code;
    c->rows += (int64_t)w->n_rows;
    c->bytes += (int64_t)w->n_bytes;
    if (w->table->by_id && copy_walk_id(w) > c->ids_floor)
        c->ids_floor = copy_walk_id(w);
    return c->rows >= COMMIT_ROWS || c->bytes >= COMMIT_BYTES ? commit(c, err) : E_OK;
}

typedef enum err_code part_fn(struct copying *c, const struct copy_walk *w, struct err *err);

/* Reads a table in parts, each of which goes to on_part (NULL: it is only summed). */
static enum err_code walk_table(struct copying *c, const struct sql_table *table, struct db *db,
                                part_fn *on_part, struct store_copy_side *side, struct err *err)
{
    CLEANUP(copy_walk) struct copy_walk w;
    struct store_copy_progress before = c->progress;

    copy_walk_init(&w, table);
    do {
        if (copy_walk_next(&w, db, err) != E_OK ||
            (on_part != NULL && w.n_rows > 0 && on_part(c, &w, err) != E_OK))
            return err->code;
        c->progress.rows = before.rows + w.sum.rows;
        c->progress.bytes = before.bytes + w.sum.bytes;
        tell(c, table->name);
    } while (w.n_rows > 0);
    *side = (struct store_copy_side){.rows = w.sum.rows, .sum = w.sum.sum};
    return E_OK;
}

/* ---- facts ---- */

static void on_fact_row(void *ctx, const struct db_row *row)
{
    struct facts *facts = ctx;
    struct slice key = db_col_text(row, 0);
    struct fact f = {.value = db_col_int(row, 1)};

    if (slice_is(key, "version") || slice_is(key, "running") || slice_is(key, WAL_MARK_KEY) ||
        slice_is(key, META_COPYING)) /* each store keeps these for itself */
        return;
    ASSERT(key.size <= META_KEY_MAX); /* they are ours */
    memcpy(f.key, key.data, key.size);
    VEC_PUSH(&facts->list, f);
}

static enum err_code facts_read(struct facts *facts, struct store *s, struct err *err)
{
    VEC_CLEAR(&facts->list);
    if (db_rows(s->db, SQL_COPY_READ_META, on_fact_row, facts, err) != E_OK)
        return err_wrap(err, "read the numbers");
    return E_OK;
}

static int compare_facts(const void *a, const void *b)
{
    return strcmp(((const struct fact *)a)->key, ((const struct fact *)b)->key);
}

static void facts_raise(struct facts *facts, const char *key, int64_t value)
{
    struct fact f = {.value = value};

    for (size_t i = 0; i < facts->list.count; i++)
        if (strcmp(facts->list.items[i].key, key) == 0) {
            if (facts->list.items[i].value < value)
                facts->list.items[i].value = value;
            return;
        }
    snprintf(f.key, sizeof(f.key), "%s", key);
    VEC_PUSH(&facts->list, f);
    qsort(facts->list.items, facts->list.count, sizeof(f), compare_facts);
}

static struct store_copy_side facts_sum(const struct facts *facts)
{
    struct copy_sum sum = {0};

    for (size_t i = 0; i < facts->list.count; i++) {
        const struct fact *f = &facts->list.items[i];
        const struct db_value row[] = {{.type = DB_TEXT, .s = slice_of(f->key)}, db_i(f->value)};

        copy_sum_add(&sum, row, ARRAY_LEN(row));
    }
    return (struct store_copy_side){.rows = sum.rows, .sum = sum.sum};
}

/* Copied last, when the highest id is known. */
static enum err_code copy_facts(struct copying *c, struct store_copy_side *side, struct err *err)
{
    int64_t marks = 0;

    if (facts_read(&c->facts, c->from, err) != E_OK ||
        copy_ids_marks(c->from, &marks, err) != E_OK || begin(c, err) != E_OK)
        return err->code;
    facts_raise(&c->facts, META_IDS, marks > c->ids_floor ? marks : c->ids_floor);
    for (size_t i = 0; i < c->facts.list.count; i++)
        if (store_meta_set(c->to, c->facts.list.items[i].key, c->facts.list.items[i].value, err) !=
            E_OK)
            return err->code;
    if (copy_leave_claims(c->to, err) != E_OK || copy_analyze(c->to, err) != E_OK)
        return err->code;
    *side = facts_sum(&c->facts);
    return E_OK;
}

/* ---- copying ---- */

static enum err_code copy_all(struct copying *c, struct err *err)
{
    struct store_copy_table *tables = c->result->tables;

    c->progress = (struct store_copy_progress){.stage = STORE_COPY_ROWS};
    if (db_begin(c->from->db, err) != E_OK || copy_guard_stands(c->from, c->guard, err) != E_OK)
        return err_wrap(err, "the source");
    for (int i = 0; i < SQL_TABLE_COUNT; i++) {
        tables[i].name = sql_tables[i].name;
        if (walk_table(c, &sql_tables[i], c->from->db, add_part, &tables[i].from, err) != E_OK)
            return err->code;
    }
    tables[SQL_TABLE_COUNT].name = "numbers";
    if (copy_facts(c, &tables[SQL_TABLE_COUNT].from, err) != E_OK || commit(c, err) != E_OK)
        return err->code;
    db_rollback(c->from->db);
    c->result->bytes = c->progress.bytes;
    return E_OK;
}

/* ---- comparing ---- */

static enum err_code sum_all(struct copying *c, struct err *err)
{
    struct store_copy_table *tables = c->result->tables;

    c->progress = (struct store_copy_progress){.stage = STORE_COPY_COMPARE};
    tell(c, sql_tables[0].name);
    if (db_begin(c->reader->db, err) != E_OK)
        return err->code;
    for (int i = 0; i < SQL_TABLE_COUNT; i++)
        if (walk_table(c, &sql_tables[i], c->reader->db, NULL, &tables[i].to, err) != E_OK)
            return err->code;
    if (facts_read(&c->facts, c->reader, err) != E_OK)
        return err->code;
    tables[SQL_TABLE_COUNT].to = facts_sum(&c->facts);
    db_rollback(c->reader->db);
    return E_OK;
}

static void on_finding(void *ctx, const char *finding)
{
    struct copying *c = ctx;

    c->result->findings++;
    if (c->how->on_finding != NULL)
        c->how->on_finding(c->how->ctx, finding);
}

static enum err_code compare(struct copying *c, struct err *err)
{
    struct store_config config = c->how->to;

    config.mode = STORE_READ;
    config.half_copied = true;
    if (store_open(&config, &c->reader, err) != E_OK || sum_all(c, err) != E_OK)
        return err_wrap(err, "read the target back");
    c->result->agrees = true;
    for (int i = 0; i < STORE_COPY_TABLES; i++)
        if (!store_copy_table_agrees(&c->result->tables[i]))
            c->result->agrees = false;
    return E_OK;
}

/* Whatever the source was, the target must be sound by itself. */
static enum err_code verify(struct copying *c, struct err *err)
{
    c->progress.stage = STORE_COPY_VERIFY;
    tell(c, NULL);
    if (c->result->agrees &&
        (begin(c, err) != E_OK || copy_mark_emitters(c->to, err) != E_OK || commit(c, err) != E_OK))
        return err->code;
    if (store_verify(c->reader, STORE_CHECK_FULL, on_finding, c, err) != E_OK)
        return err_wrap(err, "verify the target");
    if (c->result->findings > 0)
        c->result->agrees = false;
    return E_OK;
}

/* ---- the two stores ---- */

static enum err_code open_both(struct copying *c, struct err *err)
{
    struct store_config from = c->how->from;
    struct store_config to = c->how->to;

    from.mode = STORE_READ;
    to.mode = STORE_WRITE;
    to.half_copied = true;
    if (store_open(&from, &c->from, err) != E_OK || copy_require_version(c->from, err) != E_OK ||
        copy_guard(c->from, &c->guard, err) != E_OK)
        return err_wrap(err, "the source");
    if (store_open(&to, &c->to, err) != E_OK || copy_guard_target(c->to, c->from, err) != E_OK)
        return err_wrap(err, "the target");
    return E_OK;
}

static enum err_code run(struct copying *c, struct err *err)
{
    if (open_both(c, err) != E_OK)
        return err->code;
    if (mark_target(c, err) != E_OK)
        return err_wrap(err, "the target");
    if (copy_all(c, err) != E_OK || compare(c, err) != E_OK || verify(c, err) != E_OK)
        return err->code;
    if (!c->result->agrees)
        return E_OK;
    if (begin(c, err) != E_OK || db_rows(c->to->db, SQL_COPY_UNMARK, NULL, NULL, err) != E_OK)
        return err->code;
    if (commit(c, err) != E_OK)
        return err_wrap(err, "the copy is whole, but if a server will not open it, repeat it");
    return E_OK; /* from here on it is a store like any other */
}

enum err_code store_copy_run(const struct store_copy *copy, struct store_copy_result *ret_result,
                             struct err *err)
{
    struct store_copy_result result = {.agrees = false};
    struct copying c = {.how = copy, .result = &result, .mark = clock_wall_us()};
    enum err_code code = run(&c, err);

    if (c.to != NULL)
        db_rollback(c.to->db);
    store_close(c.reader);
    store_close(c.to);
    store_close(c.from);
    VEC_DEINIT(&c.facts.list);
    if (code == E_OK)
        *ret_result = result;
    return code;
}
