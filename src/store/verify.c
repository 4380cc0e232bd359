/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "store/internal.h"

static const enum sql invariants[] = {
    SQL_VERIFY_COUNTS,  SQL_VERIFY_STATES,   SQL_VERIFY_TWICE,     SQL_VERIFY_QUEUES,
    SQL_VERIFY_KEYS,    SQL_VERIFY_CLAIMS,   SQL_VERIFY_PROGRESS,  SQL_VERIFY_PAYLOAD,
    SQL_VERIFY_SHARED,  SQL_VERIFY_LOGS,     SQL_VERIFY_LOG_TIMES, SQL_VERIFY_QUEUE_LOG,
    SQL_VERIFY_STAGED,  SQL_VERIFY_EMITS,    SQL_VERIFY_CURSORS,   SQL_VERIFY_WAITS,
    SQL_VERIFY_UNDONE,  SQL_VERIFY_ARRIVALS, SQL_VERIFY_ROUTES,    SQL_VERIFY_FANOUTS,
    SQL_VERIFY_FIRINGS, SQL_VERIFY_HOLDS,    SQL_VERIFY_LEASES,    SQL_VERIFY_GATES,
    SQL_VERIFY_GROUPS,  SQL_VERIFY_UNIQUES,
};

struct findings {
    store_finding_fn *on_finding;
    void *ctx;
    struct store_damage *damage;
    int count;
};

static void pass_on(void *ctx, const char *finding)
{
    struct findings *t = ctx;

    t->count++;
    damage_note(t->damage, "a check found: %s", finding);
    t->on_finding(t->ctx, finding);
}

static void on_violation(void *ctx, const struct db_row *row)
{
    pass_on(ctx, db_col_text(row, 0).data);
}

enum err_code store_verify(struct store *s, enum store_check how, store_finding_fn *on_finding,
                           void *ctx, struct err *err)
{
    struct findings t = {.on_finding = on_finding, .ctx = ctx, .damage = s->damage};
    char damage[DAMAGE_TEXT_SIZE];
    bool damaged = store_read_damage(s, damage);

    if (damaged)
        on_finding(ctx, damage);
    else if (s->log_lost)
        on_finding(ctx, STORE_LOG_LOST);
    if (s->db->driver->check != NULL && s->db->driver->check(s->db, how, pass_on, &t, err) != E_OK)
        return err->code;
    if (how == STORE_CHECK_QUICK || t.count > 0) /* damaged tables are not compared */
        return E_OK;
    /* One transaction, so that all tables are read at the same instant. */
    if (db_begin(s->db, err) != E_OK)
        return err->code;
    enum err_code code = E_OK;

    for (size_t i = 0; i < ARRAY_LEN(invariants) && code == E_OK; i++)
        if (s->shared || sql_texts[invariants[i]].sqlite != NULL) /* some need a shared store */
            code = db_rows(s->db, invariants[i], on_violation, &t, err);
    db_rollback(s->db);
    if (code == E_OK && t.count == 0) {
        if (damaged)
            (void)unlink(s->damage_path);
        damage_clear(s->damage);
    }
    return code;
}
