/*
 * How many jobs each queue ends a second, from counts seen now and then.
 *
 * Over the last few seconds; deleted jobs make a count smaller, which reads as no ends at all.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

enum { RATE_SAMPLES = 16 };

struct rates {
    struct rate_sample {
        int64_t at;
        json_t *ended; /* queue → jobs ended up to then */
    } samples[RATE_SAMPLES];
    unsigned next; /* the place of the next one */
};

void rates_deinit(struct rates *r);

/* Takes the counts of that instant, and puts QUEUE_RATE into each queue. */
void rates_update(struct rates *r, json_t *queues, int64_t now_at);

/* Some queue had a rate in the last update. */
bool rates_moving(const json_t *queues);
