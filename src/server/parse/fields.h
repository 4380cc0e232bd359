/*
 * Members of JSON objects that come from outside, read into typed values.
 *
 * For text that json_check has accepted.  An error names the member, what it must be and what it is:
 * "delay: must not be negative".  Texts with escapes are decoded into the arena; others are slices of
 * the text itself.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct field_reader;

/* Reads one member's value into what the reader is filling. */
typedef enum err_code field_fn(struct field_reader *r, struct slice value);

struct field {
    const char *name;
    size_t size;    /* of the name */
    field_fn *read; /* NULL: known to the design, not built yet */
    bool null;      /* null is the same as not given */
};

#define FIELD(text) .name = (text), .size = sizeof(text) - 1

struct field_reader {
    const struct field *fields;
    size_t n_fields;
    const char *what; /* "a job": for messages */
    struct arena *arena;
    struct err *err;
    const char *name; /* of the member being read */
    void *to;         /* what is filled */
    const void *with; /* what else readers need */
};

/* Reads all members.  E_INVALID for an unknown one, with the nearest; E_INVALID when it is no object. */
MUST_CHECK enum err_code fields_read(struct field_reader *r, struct slice object);

/* For readers; each takes the name from the reader. */
MUST_CHECK enum err_code field_text(struct field_reader *r, struct slice value, size_t min,
                                    size_t max, struct slice *ret_text);
MUST_CHECK enum err_code field_int(struct field_reader *r, struct slice value, int64_t min,
                                   int64_t max, int64_t *ret_n);
MUST_CHECK enum err_code field_bool(struct field_reader *r, struct slice value, bool *ret_flag);
MUST_CHECK enum err_code field_object(struct field_reader *r, struct slice value,
                                      struct slice *ret_object);
MUST_CHECK enum err_code field_length(struct field_reader *r, struct slice value, int64_t min_us,
                                      int64_t max_us, int64_t *ret_us);
MUST_CHECK enum err_code field_time(struct field_reader *r, struct slice value, int64_t *ret_at);
MUST_CHECK enum err_code field_id(struct field_reader *r, struct slice value, int64_t *ret_id);

/* "NAME: must be WHAT, not VALUE" */
enum err_code field_refuse(struct field_reader *r, const char *what, struct slice value);
