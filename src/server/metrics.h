/*
 * Figures for monitoring, in the text form of Prometheus.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/slice.h"
#include "store/store.h"

struct server;

/* HTTP thread.  `counts` is the reply of QUERY_COUNTS; `facts` is NULL when the store could not be asked, and
 * only what is known without it is written. */
void metrics_write(struct buf *out, const struct server *server, struct slice counts,
                   const struct store_facts *facts);
