/*
 * How the load generator speaks to RabbitMQ: AMQP 0-9-1 to a durable quorum queue, persistent
 * messages, publisher confirms, prefetch and manual acknowledgement.
 *
 * librabbitmq opens the connection, the channel and the queue.  From then on the frames are ours:
 * ready-made publishes in one send, a small scanner for confirms and deliveries, one `multiple`
 * acknowledgement for all that one read has brought.  The client is thus no dearer than the others.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "load/load.h"

extern const struct load_protocol rabbit;

/* Deletes the queue, if it is there, and declares it anew. */
MUST_CHECK enum err_code rabbit_renew(const struct load_address *address, const char *queue,
                                      struct err *err);

/* How many messages wait in the queue. */
MUST_CHECK enum err_code rabbit_depth(const struct load_address *address, const char *queue,
                                      uint64_t *ret_depth, struct err *err);

/* Which publishes of a channel are confirmed, by their tags: 1, 2, 3 … */
struct rabbit_confirms {
    uint64_t up_to;                 /* all of them up to here are */
    bool early[2 * LOAD_BATCH_MAX]; /* and those above that, by tag modulo the size */
};

/* Confirms may come out of order, one by one or all up to a tag.  Returns how many are new. */
unsigned rabbit_confirm(struct rabbit_confirms *c, uint64_t tag, bool multiple);
