/* SPDX-License-Identifier: MIT */
#include "store/jobs/list.h"

#include "store/internal.h"
#include "store/jobs/rows.h"

static const struct {
    enum sql down, up;
} stretches[STRETCH_COUNT] = {
    [STRETCH_LIVE] = {SQL_LIST_JOBS, SQL_WALK_JOBS},
    [STRETCH_ENDED] = {SQL_LIST_ENDED, SQL_WALK_ENDED},
    [STRETCH_FAILED] = {SQL_LIST_FAILED, SQL_WALK_FAILED},
};

struct list_taker {
    store_job_fn *on_job;
    void *ctx;
    struct arena arena; /* of one row */
};

static void take_listed(void *ctx, const struct db_row *row)
{
    struct list_taker *t = ctx;
    struct job j;

    job_from_row(row, &t->arena, &j);
    t->on_job(t->ctx, &j);
    arena_clear(&t->arena);
}

enum err_code store_list_down(struct store *s, enum store_stretch which, int64_t below, int limit,
                              store_job_fn *on_job, void *ctx, struct err *err)
{
    struct list_taker t = {.on_job = on_job, .ctx = ctx};
    enum err_code code = db_do_rows(s->db, stretches[which].down, take_listed, &t, err, db_i(below),
                                    db_i(limit));

    arena_deinit(&t.arena);
    return code;
}

enum err_code store_list_up(struct store *s, enum store_stretch which, int64_t above, int64_t last,
                            int limit, store_job_fn *on_job, void *ctx, struct err *err)
{
    struct list_taker t = {.on_job = on_job, .ctx = ctx};
    enum err_code code = db_do_rows(s->db, stretches[which].up, take_listed, &t, err, db_i(above),
                                    db_i(last), db_i(limit));

    arena_deinit(&t.arena);
    return code;
}
