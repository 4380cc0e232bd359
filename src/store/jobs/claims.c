/* SPDX-License-Identifier: MIT */
#include "store/jobs/claims.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "store/internal.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN, "ids are kept as little endian bytes");

enum err_code store_claim_add(struct store *s, const struct store_claim *claim, const int64_t *jobs,
                              size_t n, struct err *err)
{
    struct slice bytes = slice_make((const char *)jobs, n * sizeof(jobs[0]));

    return db_do(s->db, SQL_CLAIM_ADD, err, db_i(claim->token), db_i(claim->node),
                 db_i(claim->worker), db_i(claim->lease_us), db_b(bytes));
}

enum err_code store_claim_remove(struct store *s, int64_t token, struct err *err)
{
    return db_do(s->db, SQL_CLAIM_REMOVE, err, db_i(token));
}

#define LEASE_SANE_US (366 * 24 * 60 * US_PER_MIN)

struct claim_taker {
    store_claim_fn *on_claim;
    void *ctx;
};

static void take_claim(void *ctx, const struct db_row *row)
{
    struct claim_taker *t = ctx;
    struct slice bytes = db_col_blob(row, 3);
    size_t n = bytes.size / sizeof(int64_t);
    CLEANUP(mem) int64_t *jobs = mem_alloc(n * sizeof(int64_t) + 1);

    memcpy(jobs, bytes.data, n * sizeof(int64_t));
    struct stored_claim c = {
        .token = db_col_int(row, 0),
        .worker = db_col_int(row, 1),
        .lease_us = db_col_int(row, 2),
        .jobs = jobs,
        .n_jobs = n,
    };

    if (c.token <= 0 || c.worker < 0 || c.lease_us <= 0 || c.lease_us > LEASE_SANE_US) {
        damage_note(row->db->damage, "claim %lld cannot be", (long long)c.token);
        c.lease_us = US_PER_MIN;
        c.worker = 0;
    }
    if (c.token > 0) /* its jobs are looked after all the same */
        t->on_claim(t->ctx, &c);
}

enum err_code store_claims_load(struct store *s, store_claim_fn *on_claim, void *ctx,
                                struct err *err)
{
    struct claim_taker t = {on_claim, ctx};
    struct db_taker taker = {.on_row = take_claim, .ctx = &t};

    return db_one(s->db, SQL_CLAIM_LOAD, NULL, 0, &taker, err);
}

enum err_code store_claims_of_node(struct store *s, uint32_t node, store_claim_fn *on_claim,
                                   void *ctx, struct err *err)
{
    struct claim_taker t = {on_claim, ctx};

    return db_do_rows(s->db, SQL_CLAIM_LOAD_NODE, take_claim, &t, err, db_i(node));
}

enum err_code store_claims_of_worker(struct store *s, int64_t worker, store_claim_fn *on_claim,
                                     void *ctx, struct err *err)
{
    struct claim_taker t = {on_claim, ctx};

    return db_do_rows(s->db, SQL_CLAIM_LOAD_WORKER, take_claim, &t, err, db_i(worker));
}

enum err_code store_claim_lease(struct store *s, int64_t token, int64_t *ret_us, struct err *err)
{
    struct taken_int got = {0};

    if (db_do_rows(s->db, SQL_CLAIM_LEASE, take_one_int, &got, err, db_i(token)) != E_OK)
        return err->code;
    if (got.found)
        *ret_us = got.value;
    return E_OK;
}
