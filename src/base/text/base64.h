/*
 * Base64 as in RFC 4648, with its padding and nothing else in between.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"

void base64_add(struct buf *b, struct slice bytes);

/* False when it is malformed. */
MUST_CHECK bool base64_decode(struct slice text, struct arena *arena, struct slice *ret_bytes);
