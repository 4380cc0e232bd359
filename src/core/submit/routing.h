/*
 * The rarely used part of a submitted job: its route, where its end leads, what it waits for.
 *
 * For job.c, which collects the values.  This file checks them and makes the routing
 * (core/route/routing.h) and the first step of them, in the arena.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/route/routing.h"
#include "core/submit/job.h"

/* As written; empty: not given. */
struct routing_values {
    struct slice steps, progress, after, on_success, on_failure;
    int64_t parent; /* 0: none */
};

static inline bool routing_values_any(const struct routing_values *v)
{
    return v->steps.size + v->progress.size + v->after.size + v->on_success.size +
                   v->on_failure.size >
               0 ||
           v->parent != 0;
}

/* The sum of all routings of one request.  Bounded, because a small request can expand to much
 * memory, held until it is answered. */
struct routing_sum {
    size_t steps; /* and entries of records */
    size_t conditions;
    size_t bytes; /* of routings */
};

/* Fills routing, progress and after of the item. With a route, item->options are the job's own and
 * become those of the step it begins with, and so do queue, step and step_params. E_INVALID;
 * E_FORBIDDEN for a step's command; E_TOO_LARGE when the request exceeds a bound. */
MUST_CHECK enum err_code parse_routing(const struct routing_values *values,
                                       const struct submit_source *source, struct arena *arena,
                                       struct submit_item *item, struct err *err);

/* Steps that a running job adds to its route.  E_INVALID, E_FORBIDDEN, E_TOO_LARGE. */
MUST_CHECK enum err_code parse_added_steps(struct slice steps, const struct submit_source *source,
                                           struct arena *arena, struct route_step **ret_steps,
                                           size_t *ret_n, struct err *err);
