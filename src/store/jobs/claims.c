/* SPDX-License-Identifier: MIT */
#include "store/jobs/claims.h"

#include <endian.h>

#include "base/clock.h"
#include "store/db/columns.h"
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

#define LEASE_MAX_US (366 * 24 * 60 * US_PER_MIN) /* no server grants a longer one */

static const struct db_column claim_columns[] = {
    DB_NUMBER(stored_claim, token),
    DB_NUMBER(stored_claim, worker),
    DB_NUMBER(stored_claim, lease_us),
    DB_ARRAY(stored_claim, jobs, n_jobs),
};
static const struct db_table claim_table = DB_TABLE("claim", stored_claim, claim_columns);

/* The leases of the jobs of a damaged claim must still be watched. */
static enum err_code each_claim(struct store *s, enum sql sql, struct db_args args,
                                store_claim_fn *on_claim, void *ctx, struct err *err)
{
    CLEANUP(db_list) struct db_list list = {.table = &claim_table};
    enum err_code code = db_each_row(s->db, sql, args, &list, err);
    struct stored_claim *claims = list.items;

    for (size_t i = 0; i < list.n; i++) {
        struct stored_claim *c = &claims[i];

        if (c->token <= 0 || c->worker < 0 || c->lease_us <= 0 || c->lease_us > LEASE_MAX_US) {
            damage_note(s->damage, "claim %lld: impossible row", (long long)c->token);
            c->lease_us = US_PER_MIN;
            c->worker = 0;
        }
        if (c->token > 0)
            on_claim(ctx, c);
    }
    return code;
}

enum err_code store_claims_load(struct store *s, store_claim_fn *on_claim, void *ctx,
                                struct err *err)
{
    return each_claim(s, SQL_CLAIM_LOAD, DB_ARGS(), on_claim, ctx, err);
}

enum err_code store_claims_of_node(struct store *s, uint32_t node, store_claim_fn *on_claim,
                                   void *ctx, struct err *err)
{
    return each_claim(s, SQL_CLAIM_LOAD_NODE, DB_ARGS(db_i(node)), on_claim, ctx, err);
}

enum err_code store_claims_of_worker(struct store *s, int64_t worker, store_claim_fn *on_claim,
                                     void *ctx, struct err *err)
{
    return each_claim(s, SQL_CLAIM_LOAD_WORKER, DB_ARGS(db_i(worker)), on_claim, ctx, err);
}

enum err_code store_claim_lease(struct store *s, int64_t token, int64_t *ret_us, struct err *err)
{
    return db_number_if(s->db, SQL_CLAIM_LEASE, ret_us, err, db_i(token));
}
