/*
 * Filters: which jobs a list shows or a bulk action changes.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/op.h"
#include "store/jobs/list.h"

/* `queue` is the id of the filter's queue, 0 for any. */
bool filter_matches(const struct job_filter *f, int64_t queue, const struct job *j);

/* Whether live, or ended, jobs can match at all. */
bool filter_wants_live(const struct job_filter *f);
bool filter_wants_ended(const struct job_filter *f);
bool filter_wants_only_failed(const struct job_filter *f);

/* What a walk has to read for the filter; the walk itself searches params for the text. */
enum store_walk_reads filter_reads(const struct job_filter *f);

/* The filter as it is stored; `target` is the queue that MOVE moves jobs to. */
void filter_to_json(const struct job_filter *f, struct slice target, struct buf *out);
void filter_from_json(struct slice json, struct arena *arena, struct job_filter *ret_filter,
                      struct slice *ret_target);
