/*
 * Destinations: where the end of a job, a step or a join leads.
 *
 * Written as a list: a queue's name, or {queue, params}, {topic, params}, {join}, {signal, count}.
 * Kept as canonical JSON: every item an object, members in this order, none with its default.
 *
 * Pure.  Slices of a parsed list live in the arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct object;
struct object_read;

enum {
    DEST_MAX = 100,      /* of one list */
    TOPIC_NAME_MAX = 200 /* bytes; the same for signals and joins */
};

#define SIGNAL_COUNT_MAX INT64_C(1000000000000)

enum dest_kind { DEST_QUEUE, DEST_TOPIC, DEST_JOIN, DEST_SIGNAL };

struct dest {
    enum dest_kind kind;
    struct slice name;
    struct slice params; /* QUEUE, TOPIC: JSON object, overrides the job's; or empty */
    int64_t count;       /* SIGNAL: raised by this */
};

struct dest_list {
    struct dest *items;
    size_t count;
};

extern const struct object dest_object; /* one destination, other than a queue's name */

/* Reads a list of destinations, or a single one. `what` is the dotted name of the value for
 * messages ("on_success"). E_INVALID: "on_success[2].join: …". On failure *fault_at (unless NULL)
 * is the value to blame. */
MUST_CHECK enum err_code dest_list_parse(struct slice json, const char *what, struct arena *arena,
                                         struct dest_list *ret_list, const char **fault_at,
                                         struct err *err);

/* The same for the member that `r` reads; r->copies is set. With r->faults, destinations with a
 * mistake have no name. */
MUST_CHECK enum err_code dest_list_read(struct object_read *r, struct slice value,
                                        struct dest_list *ret_list);

/* Whether the list has items and each of them has a name. */
bool dest_list_is_sound(const struct dest_list *list);

/* Checks and makes canonical; *ret_json is in the arena, empty when the list is. */
MUST_CHECK enum err_code dest_list_read_canonical(struct object_read *r, struct slice value,
                                                  struct slice *ret_json);
MUST_CHECK enum err_code dest_list_canonical(struct slice json, const char *what,
                                             struct arena *arena, struct slice *ret_json,
                                             struct err *err);

void dest_list_json(const struct dest_list *list, struct buf *out);

/* 1 to TOPIC_NAME_MAX bytes of UTF-8, no control characters, no '/', not starting with '.'.
 * `what`: "topic", "signal", "join". */
MUST_CHECK enum err_code dest_name_check(const char *what, struct slice name, struct err *err);

/* A subscription is a topic's name, or ends in ".*": then it matches all topics that begin with
 * the text before the '*'. */
bool topic_matches(struct slice subscription, struct slice topic);
