/*
 * Rates: at most N starts in any window of some length, written "100/1h".
 *
 * A start of weight w counts as w starts.  A gate may have several rates and obeys all of them.
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/slice.h"

struct object_read;

enum {
    RATE_STARTS_MAX = 10000,
    RATES_MAX = 8, /* of one gate */
    RATE_TEXT_SIZE = DURATION_TEXT_SIZE + 8,
};

#define RATE_LENGTH_MIN_US US_PER_MS
#define RATE_LENGTH_MAX_US (366 * US_PER_DAY)

struct rate {
    int64_t starts; /* 1 to RATE_STARTS_MAX */
    int64_t length_us;
};

struct rates {
    struct rate items[RATES_MAX];
    size_t count;
};

/* "100/1h", "1/500ms", "5/2s".  E_INVALID says what to write. */
MUST_CHECK enum err_code rate_parse(struct slice text, struct rate *ret_rate, struct err *err);

/* The same text again, with the length in its shortest form. */
const char *rate_format(const struct rate *rate, char text[static RATE_TEXT_SIZE]);

/* Reads the member of `r`: one rate or a list of them. */
MUST_CHECK enum err_code rates_read(struct object_read *r, struct slice value,
                                    struct rates *ret_rates);

/* Adds the canonical JSON: a list, also of one. */
void rates_json(const struct rates *rates, struct buf *out);

/* The length of the longest window; 0 when there is no rate. */
int64_t rates_longest_us(const struct rates *rates);
