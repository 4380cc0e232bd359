/*
 * The header `Range`, for one range of bytes.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

struct http_range {
    bool given;
    int64_t first; /* negative: counted from the end */
    int64_t last;  /* included; INT64_MAX: to the end */
};

/* `bytes=a-b`, `bytes=a-`, `bytes=-n`.  Anything else (other units, several ranges, malformed)
 * counts as not given, as the standard asks. */
struct http_range http_range_parse(struct slice value);
