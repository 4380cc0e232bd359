/*
 * Reading the objects of a list by a table of their members: steps of a route, entries of a record.
 *
 * A message begins with the place: "steps[6].queue: …", "progress[2]: …".  A member that is null is not said.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct item_read {
    const char *list; /* its name: "steps" */
    size_t index;     /* the item that is read */
    const char *key;  /* its member that is read, as it came */
    void *to;         /* the struct that is filled */
    struct arena *arena;
    struct err *err;
};

typedef enum err_code item_fn(struct item_read *r, struct slice value);

struct item_key {
    const char *name;
    const char *other; /* the same thing in other words, or NULL */
    item_fn *read;     /* NULL: the member is passed over */
};

enum { ITEM_KEYS_MAX = 16 };

struct item_table {
    const struct item_key *keys;
    size_t n_keys;
    const char *shown; /* those that people should write */
};

MUST_CHECK enum err_code item_read_members(struct item_read *r, const struct item_table *table,
                                           struct slice object);

/* These put the place in front of what r->err says, and return its code. */
enum err_code item_blame_member(struct item_read *r);
enum err_code item_blame(struct item_read *r);

/* "steps[0].name: must be a text, not 7" */
enum err_code item_must_be(struct item_read *r, const char *what, struct slice value);

/* Values; texts and objects (without their white space) are copied into the arena. */
MUST_CHECK enum err_code item_whole(struct item_read *r, struct slice value, int min, int max,
                                    int *ret_n);
MUST_CHECK enum err_code item_text(struct item_read *r, struct slice value, size_t max,
                                   struct slice *ret_text);
MUST_CHECK enum err_code item_object(struct item_read *r, struct slice value,
                                     struct slice *ret_json);
