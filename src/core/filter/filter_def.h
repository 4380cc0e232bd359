/*
 * The filters of a queue: what decides, when a job is created, whether it is kept.
 *
 * A list of items, each with one of unique, limit, match and command.  All must keep the job; they
 * are judged in their order.  Kept as canonical JSON: members in the order of the tables, none
 * with its default.
 *
 * Pure; slices live in the arena.
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
#include "core/filter/match.h"
#include "core/program/template.h"

struct object_read;

enum {
    FILTERS_MAX = 16, /* of one queue */
    UNIQUE_TEMPLATE_MAX = 4096,
    UNIQUE_KEY_MAX = 4000, /* bytes of a key with its names filled in */
};

enum filter_kind { FILTER_UNIQUE, FILTER_LIMIT, FILTER_MATCH, FILTER_COMMAND, FILTER_KINDS };

/* Numbers are in stores. */
enum filter_scope {
    SCOPE_GROUP,      /* the innermost group */
    SCOPE_GROUP_KIND, /* the nearest group of a kind, else root */
    SCOPE_QUEUE,
    SCOPE_ALL,
};

enum filter_counts { COUNTS_ALL, COUNTS_LIVING };

enum filter_clash { CLASH_DROP, CLASH_REJECT, CLASH_JOIN, CLASH_REPLACE, CLASH_REUSE };

struct filter_where {
    enum filter_scope scope;
    struct slice group_kind; /* SCOPE_GROUP_KIND */
};

struct filter_unique {
    struct slice key_text;
    struct template_text key;
    struct filter_where where;
    int64_t for_us; /* how long a key is known after its job was made; 0: for ever */
    unsigned counts;
    unsigned on_clash;
    int64_t max_us; /* CLASH_REPLACE: how long a job may be put off; 0: without end */
};

struct filter_limit {
    int64_t pending;
    struct filter_where where;
    unsigned on_clash; /* CLASH_DROP, CLASH_REJECT */
};

struct filter_command {
    struct slice command; /* canonical JSON */
    const struct template_command *template;
    int64_t timeout_us; /* of one answer */
};

struct filter {
    enum filter_kind kind;
    union {
        struct filter_unique unique;
        struct filter_limit limit;
        struct match match;
        struct filter_command command;
    };
};

struct filters {
    struct filter *items;
    size_t count;
};

const char *filter_kind_name(enum filter_kind kind);

/* Reads the member of `r`, a list; r->copies is set.  E_INVALID: "filters[1].unique.key: …". */
MUST_CHECK enum err_code filters_read(struct object_read *r, struct slice value,
                                      struct filters *ret_filters);
void filters_json(const struct filters *filters, struct buf *out);

/* The kind of group that a filter names, or empty: it must be defined. */
struct slice filter_group_kind(const struct filter *f);

/* Whether a filter of the list runs a program, which needs the directory of the definition. */
bool filters_run_program(const struct filters *filters);

/* The key of a job.  E_INVALID: a name that cannot be filled, or a key that is too long. */
MUST_CHECK enum err_code unique_key(const struct filter_unique *u,
                                    const struct template_values *values, struct arena *arena,
                                    struct slice *ret_key, struct err *err);
