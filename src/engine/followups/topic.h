/*
 * Topics: publishing creates a job in each subscribed queue.
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

/* Publishes to a topic that is a destination; *ret_n: number of subscribed queues. */
MUST_CHECK enum err_code topic_publish(struct engine *e, struct slice topic,
                                       const struct chain_source *source, size_t *ret_n,
                                       struct err *err);

/* Counts the subscribed queues. */
size_t topic_count(const struct engine *e, struct slice topic);

/* The key of the job in queue `q` of a publication under `key`. */
struct slice topic_key(struct engine *e, struct slice key, const struct queue *q);

/* ---- emits to topics ---- */

/* Emitted items, with publications expanded to one item for each subscriber: first one for each
 * given item, in their order, then the items for the other subscribers. */
struct topic_list {
    const struct submit_item *items;
    size_t n;
    const size_t *from; /* index of the given item of each; NULL: the lists are the same */
};

/* How many jobs the items become, and how many bytes their labels, options and routes take. */
struct fanout topic_cost(const struct engine *e, const struct submit_item *items, size_t n);

/* Whether the cost is more than one request may emit; sets `refused` then. */
bool topic_is_too_much(const struct fanout *cost, struct err *refused);

/* False: an item is refused; *ret_bad is its index. */
bool topic_expand(struct engine *e, const struct submit_item *items, size_t n,
                  struct topic_list *ret_list, size_t *ret_bad, struct err *refused);

/* Index of the given item of list->items[i]. */
size_t topic_place(const struct topic_list *list, size_t i);
