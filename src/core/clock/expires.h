/*
 * The expiry of jobs: `expires: "2h"` after a job was made, or an instant.  A job that has not
 * started by then is cancelled.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "core/object/object.h"

/* All zero: it does not expire. */
struct expires {
    int64_t after_us; /* since the job was made; 0: `at` holds */
    int64_t at;
};

/* A key `expires`, whose value in the struct is a struct expires. */
field_fn expires_read;
field_write_fn expires_write;

/* The value as JSON, which expires_read has accepted; empty: none. */
struct expires expires_parse(struct slice json);

/* The instant for a job that is made now; 0: none. */
int64_t expires_at(const struct expires *x, int64_t now_at);
