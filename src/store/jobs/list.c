/* SPDX-License-Identifier: MIT */
#include "store/jobs/list.h"

#include "store/internal.h"
#include "store/jobs/rows.h"

static const struct {
    enum sql down, up, members; /* the last: downwards, of one group */
} stretches[STRETCH_COUNT] = {
    [STRETCH_LIVE] = {SQL_LIST_JOBS, SQL_WALK_JOBS, SQL_LIST_MEMBERS},
    [STRETCH_ENDED] = {SQL_LIST_ENDED, SQL_WALK_ENDED, SQL_LIST_ENDED_MEMBERS},
    [STRETCH_FAILED] = {SQL_LIST_FAILED, SQL_WALK_FAILED, SQL_LIST_ENDED_MEMBERS},
};

struct list_reader {
    const struct store_walk *walk;
    struct arena arena; /* of one row */
};

static void on_list_row(void *ctx, const struct db_row *row)
{
    struct list_reader *t = ctx;
    struct job j;

    job_from_row(row, &t->arena, &j);
    j.params_match = db_col_int(row, JOB_ROW_END) > 0;
    t->walk->on_job(t->walk->ctx, &j);
    arena_clear(&t->arena);
}

enum err_code store_list_down(struct store *s, const struct store_walk *walk, int64_t below,
                              struct err *err)
{
    struct list_reader t = {.walk = walk};
    const struct db_value args[] = {db_t(walk->text), db_i(walk->reads), db_i(walk->limit),
                                    db_i(below), db_i(walk->group)};
    bool all = walk->group == 0;
    enum err_code code = db_call_rows(
        s->db, all ? stretches[walk->which].down : stretches[walk->which].members,
        (struct db_args){args, all ? 4 : 5}, &(struct db_reader){on_list_row, &t}, err);

    arena_deinit(&t.arena);
    return code;
}

enum err_code store_list_up(struct store *s, const struct store_walk *walk, int64_t above,
                            int64_t last, struct err *err)
{
    struct list_reader t = {.walk = walk};
    enum err_code code = db_rows(s->db, stretches[walk->which].up, on_list_row, &t, err,
                                 db_t(walk->text), db_i(walk->reads), db_i(walk->limit),
                                 db_i(above), db_i(last));

    arena_deinit(&t.arena);
    return code;
}
