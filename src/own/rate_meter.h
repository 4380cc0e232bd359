/*
 * How many jobs end a second, for the progress of a run.
 *
 * Pure: the clock is passed in.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/buf.h"

/* A number with commas between its thousands. */
void count_add(struct buf *out, int64_t n);

struct rate_meter_sample {
    int64_t at;
    int64_t ended;
};

/* The recent rate: ends over the last half minute, or since the start if there were none. */
#define RATE_METER_SAMPLES 30
struct rate_meter {
    struct rate_meter_sample samples[RATE_METER_SAMPLES]; /* one a second */
    unsigned next;
    unsigned count;
    struct rate_meter_sample first, last;
};

void rate_note(struct rate_meter *m, int64_t at, int64_t ended);
double rate_now(const struct rate_meter *m);
