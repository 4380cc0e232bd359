/*
 * Topics: a job in each subscribed queue.
 *
 * Within the batch's transaction; what is returned lives in the batch's arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "core/route/fanout.h"
#include "engine/op.h"

struct chain_source;
struct engine;
struct queue;

MUST_CHECK enum err_code publish_run(struct engine *e, struct op *op, struct err *err);

/* Publishes because of an end: a job in each subscribed queue, of which there are *ret_n. */
MUST_CHECK enum err_code topic_publish(struct engine *e, struct slice topic,
                                       const struct chain_source *source, size_t *ret_n,
                                       struct err *err);

/* How many queues are subscribed. */
size_t topic_count(const struct engine *e, struct slice topic);

/* The key of a queue's job in a publication under `key`: each has its own. */
struct slice topic_key(struct engine *e, struct slice key, const struct queue *q);

/* ---- emits to topics ---- */

/* Emitted items, with those for topics expanded: first one for each item that was given, in their
 * order, then those for the other subscribers. */
struct topic_list {
    const struct submit_item *items;
    size_t n;
    const size_t *from; /* index of the given item each comes from; NULL: they are the same */
};

/* How many jobs the items become, and the bytes that are stored for each of these. */
struct fanout topic_cost(const struct engine *e, const struct submit_item *items, size_t n);

/* Whether that is more than one request may emit; then `refused` says so. */
bool topic_is_too_much(const struct fanout *cost, struct err *refused);

/* False: one of them is refused, *ret_bad says which. */
bool topic_expand(struct engine *e, const struct submit_item *items, size_t n,
                  struct topic_list *ret_list, size_t *ret_bad, struct err *refused);

/* Index of the given item that the i-th of the list comes from. */
size_t topic_place(const struct topic_list *list, size_t i);
