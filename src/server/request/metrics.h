/*
 * Figures for monitoring, in the text form of Prometheus.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/slice.h"
#include "store/store.h"

struct server;

/* What the store told. */
struct metrics_of_store {
    const struct store_facts *facts;
    struct slice counts;         /* reply of QUERY_COUNTS */
    struct slice signals, joins; /* replies of QUERY_SIGNALS and QUERY_JOINS */
};

/* HTTP thread.  `store` is NULL when it could not be asked: only what is known without it is
 * written. */
void metrics_write(struct buf *out, const struct server *server,
                   const struct metrics_of_store *store);
