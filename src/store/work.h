/*
 * Work too large for one transaction: a durable row, worked off in chunks.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

struct store;

struct stored_work {
    int64_t id;
    int kind;
    struct slice args; /* JSON; valid during the callback */
    int phase;         /* which stretch it walks: the engine's numbers */
    int64_t cursor;    /* ids up to here are done */
    int64_t last;      /* ids above came later and are not meant */
    int64_t changed, refused;
    int64_t created_at;
    int64_t finished_at; /* 0: under way */
};

typedef void store_work_fn(void *ctx, const struct stored_work *work);

/* phase, cursor, changed, refused and finished_at begin at 0. */
MUST_CHECK enum err_code store_work_add(struct store *s, const struct stored_work *w,
                                        struct err *err);
MUST_CHECK enum err_code store_work_step(struct store *s, const struct stored_work *w,
                                         struct err *err);
MUST_CHECK enum err_code store_work_load(struct store *s, store_work_fn *on_work, void *ctx,
                                         struct err *err);
MUST_CHECK enum err_code store_work_find(struct store *s, int64_t id, store_work_fn *on_work,
                                         void *ctx, struct err *err);

/* Shared stores: the oldest that is unfinished and that no other server is at; held until the transaction ends. */
MUST_CHECK enum err_code store_work_next(struct store *s, store_work_fn *on_work, void *ctx,
                                         struct err *err);

/* Forgets what finished before. */
MUST_CHECK enum err_code store_work_remove_old(struct store *s, int64_t before_at, struct err *err);
