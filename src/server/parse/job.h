/*
 * One job as it is handed in: its fields, checked one by one and against each other.
 *
 * For parse_submit.c; see there.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"
#include "engine/op.h"
#include "server/request/auth.h"

struct bill_sum;
struct field_reader;
struct siphash_key;

/* What holds for all jobs of a request. */
struct submit_source {
    enum right right;                 /* own commands are for RIGHT_ADMIN */
    struct slice key;                 /* Idempotency-Key; data NULL: none */
    bool emitted;                     /* by a running job: they may be published instead */
    const struct siphash_key *leases; /* what proves them; not where none are told */
    struct bill_sum *sum; /* of the request so far; NULL: it needs no bound beyond its size */
};

/* Into an item that is all zeros; on failure it holds what was read so far.  E_INVALID, E_TOO_LARGE,
 * E_FORBIDDEN. */
MUST_CHECK enum err_code parse_job(struct slice object, const struct submit_source *source,
                                   struct arena *arena, struct submit_item *item, struct err *err);

/* The fields `body` and `body_base64`; E_INVALID when *ret_body has data already. */
MUST_CHECK enum err_code parse_body(struct field_reader *r, struct slice value,
                                    struct slice *ret_body);
MUST_CHECK enum err_code parse_body_base64(struct field_reader *r, struct slice value,
                                           struct slice *ret_body);

/* An object of at most LABELS_MAX strings.  The error begins with `labels:`. */
MUST_CHECK enum err_code labels_check(struct slice value, struct arena *arena, struct err *err);
