/*
 * Definitions: what people write in YAML, checked and turned into what the store keeps.
 *
 * Several files add up; the same queue in two of them is an error that names both places.  Errors read
 * "FILE:LINE: cause", with the nearest valid word for a mistyped one.  Pure: files are read by others.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/vec.h"

struct definition_queue {
    struct slice name;
    struct slice json; /* canonical, see core/queue_def.h */
    struct slice file;
    int line;
};

struct definition_server {
    struct slice listen;     /* ADDR:PORT; empty: not said */
    struct slice url;        /* base of full ids */
    struct slice token_file;
    VEC(struct slice) names; /* host names requests may come in under */
};

struct definitions {
    struct arena arena; /* all slices live here */
    VEC(struct definition_queue) queues;
    struct definition_server server;
};

void definitions_init(struct definitions *d);
void definitions_deinit(struct definitions *d);
static inline void definitions_cleanup(struct definitions *d)
{
    definitions_deinit(d);
}

/* Adds one YAML text (several documents allowed).  On failure d is as it was before. */
MUST_CHECK enum err_code definitions_add(struct definitions *d, const char *file, struct slice text,
                                         struct err *err);

/* {"queues":{…}}: the body of POST /v1/definitions. */
void definitions_json(const struct definitions *d, struct buf *out);
