/*
 * Which jobs: the filter of a list, from the query string, and of a bulk action, from JSON.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "core/object/object.h"
#include "engine/op.h"

struct request;

/* queue, state, label.NAME, text, since and id (how it begins). */
MUST_CHECK enum err_code job_filter_from_params(struct request *r, struct job_filter *filter,
                                                struct arena *arena, struct err *err);

/* `?limit=`, 1 to LIST_LIMIT_MAX; `otherwise` when it was not given. */
MUST_CHECK enum err_code limit_from_params(struct request *r, int otherwise, int *ret_limit,
                                           struct err *err);

/* {"queue","state":[…],"labels":{…},"text","older":"7d","since":"2h"}; at least one of them. Fills
 * a struct job_filter; r->with is the time now (const int64_t *), from which `older` and `since`
 * are reckoned. */
extern const struct object filter_object;

/* "a,b" into bits; data NULL: any. */
MUST_CHECK enum err_code job_states_parse(struct slice text, unsigned *ret_states, struct err *err);
