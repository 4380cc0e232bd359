/*
 * Metrics in the text format of Prometheus.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/slice.h"
#include "store/store.h"

struct server;

/* What was read from the store. */
struct metrics_of_store {
    const struct store_facts *facts;
    struct slice counts;                    /* reply of QUERY_COUNTS */
    struct slice signals, joins, schedules; /* replies of QUERY_SIGNALS, QUERY_JOINS … */
};

/* HTTP thread.  `store` is NULL when it is unavailable: then only what is known without it is
 * written. */
void metrics_write(struct buf *out, const struct server *server,
                   const struct metrics_of_store *store);
