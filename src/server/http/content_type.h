/*
 * The content type of a body.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/slice.h"

enum content_type { CONTENT_JSON, CONTENT_LINES, CONTENT_OTHER };

/* The value of a Content-Type header.  JSON in all its names, none at all, and what `curl -d`
 * says are JSON. */
enum content_type content_type_parse(struct slice value);
