/*
 * Reads one submitted job: its fields, checked one by one and against each other.
 *
 * The text is walked in place: params, labels and the rest stay slices of it.  Read by the server
 * when a job arrives, and by a worker when a program emits one, so that the program learns its
 * mistake.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/object/object.h"
#include "core/submit/item.h"

enum {
    LABELS_MAX = 64,
    LABEL_BYTES_MAX = 1024,
    KEY_BYTES_MAX = 512,
    REF_BYTES_MAX = 200,
};

struct routing_sum;
struct siphash_key;

/* What all jobs of a request share. */
struct submit_source {
    const char *no_commands;          /* why jobs may not have commands; NULL: they may */
    struct slice key;                 /* Idempotency-Key; data NULL: none */
    bool emitted;                     /* by a running job: may be published, too */
    const struct siphash_key *leases; /* proves leases; unset where requests have none */
    struct routing_sum *sum;          /* of the request so far; NULL: only its size is bounded */
};

/* `item` is all zeros, and stays so on failure.  E_INVALID, E_TOO_LARGE, E_FORBIDDEN. */
MUST_CHECK enum err_code parse_job(struct slice object, const struct submit_source *source,
                                   struct arena *arena, struct submit_item *item, struct err *err);

/* One of a list, for object_read_list; r->with is a struct submit_source. */
object_item_fn job_read;

/* `body`, or `body_base64` by the name of the row: bytes, of which one may be given. */
field_fn body_read;

/* An object of at most LABELS_MAX strings, kept as written. */
field_fn labels_read;

extern const struct object job_object;
