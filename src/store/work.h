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
    int phase;         /* numbers of the engine */
    int64_t cursor;    /* jobs up to this id are done */
    int64_t last;      /* jobs above this id are excluded: they came later */
    int64_t changed, refused;
    int64_t created_at;
    int64_t finished_at; /* 0: unfinished */
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

/* Shared stores: locks the oldest unfinished work that no other server has locked. */
MUST_CHECK enum err_code store_work_next(struct store *s, store_work_fn *on_work, void *ctx,
                                         struct err *err);

/* Removes work that finished earlier. */
MUST_CHECK enum err_code store_work_remove_old(struct store *s, int64_t before_at, struct err *err);
