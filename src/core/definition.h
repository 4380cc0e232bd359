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

enum {
    DEFINITION_QUEUES_MAX = 10000,
    DEFINITION_NAMES_MAX = 64,
};

#define DEFINITION_JSON_MAX ((size_t)1 << 20) /* of one queue */

/* Where a text comes from. */
struct definition_source {
    const char *file; /* as messages show it */
    const char *dir;  /* the file's absolute directory: relative programs and files are found there;
                       * NULL: they are left as they are */
};

struct definition_place {
    struct slice file;
    int line;
};

struct definition_queue {
    struct slice name;
    struct slice json; /* canonical, see core/queue_def.h */
    struct slice file;
    int line;
};

/* Each key may be given once, in one file. */
struct definition_server {
    struct slice listen;     /* ADDR:PORT; empty: not said */
    struct slice url;        /* base of full ids, without a slash at its end */
    struct slice token_file; /* absolute when its source has a directory */
    struct slice store;      /* URL of a shared store; empty: the embedded one */
    VEC(struct slice) names; /* host names requests may come in under */

    struct definition_place listen_from, url_from, token_file_from, store_from, names_from;
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

/* Adds one YAML text (several documents allowed).  On failure d is as it was before.  A queue with a
 * command gets the source's directory as its `dir`, unless it has one.  E_INVALID or E_TOO_LARGE. */
MUST_CHECK enum err_code definitions_add_from(struct definitions *d,
                                              const struct definition_source *source,
                                              struct slice text, struct err *err);

/* The same for a text whose directory is not known. */
MUST_CHECK enum err_code definitions_add(struct definitions *d, const char *file, struct slice text,
                                         struct err *err);

/* {"queues":{…}}: the body of POST /v1/definitions. */
void definitions_json(const struct definitions *d, struct buf *out);
