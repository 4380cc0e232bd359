/*
 * Definitions: what people write in YAML, checked and turned into what the store keeps.
 *
 * Several files add up; the same queue, join or trigger in two of them is an error that names both places.  Errors read
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
#include "core/definition/cidr.h"
#include "core/route/dest.h"

enum {
    DEFINITION_QUEUES_MAX = 10000,
    DEFINITION_JOINS_MAX = 10000,
    DEFINITION_NAMES_MAX = 64,
    DEFINITION_TRIGGERS_MAX = 1000,
    DEFINITION_NETWORKS_MAX = 1000, /* of one trigger */
};

#define DEFINITION_JSON_MAX ((size_t)1 << 20) /* of one queue or join */

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

struct definition_join {
    struct slice name;
    struct slice json; /* canonical, see core/join_def.h */
    struct definition_place from;
};

/* A name that something leads to. */
struct definition_ref {
    enum dest_kind kind;
    struct slice name;
    const char *owner_kind; /* of what leads there: "queue" or "join" */
    struct slice owner;
    const char *key; /* "on_success" */
    size_t index;    /* in its list */
    struct definition_place from;
};

/* A topic that /job_start publishes to without a token, when the request comes from one of these networks. */
struct definition_trigger {
    struct slice name;
    struct cidr *from;
    size_t n_from;
    struct definition_place place;
};

enum { SUBSCRIPTIONS_DEFAULT = 1000, SUBSCRIPTIONS_MAX = 10000 };

/* Each key may be given once, in one file. */
struct definition_server {
    struct slice listen;     /* ADDR:PORT; empty: not said */
    struct slice url;        /* base of full ids, without a slash at its end */
    struct slice token_file; /* absolute when its source has a directory */
    struct slice store;      /* URL of a shared store; empty: the embedded one */
    VEC(struct slice) names; /* host names requests may come in under */
    VEC(struct definition_trigger) triggers;
    int subscriptions; /* how many queues of workers' own there may be; 0 and no place: not said */

    struct definition_place listen_from, url_from, token_file_from, store_from, names_from;
    struct definition_place subscriptions_from;
};

/* Every mistake that was found, in order. */
struct definition_faults {
    VEC(struct err) items;
    bool unread; /* a whole text is missing: names cannot be judged */
};

enum { DEFINITION_FAULTS_MAX = 100 };

struct definitions {
    struct arena arena; /* all slices live here */
    struct definition_faults *
        faults; /* NULL: the first mistake ends a reading; else it goes on, and they are all here */
    VEC(struct definition_queue) queues;
    VEC(struct definition_join) joins;
    VEC(struct definition_ref) refs;
    struct definition_server server;
};

void definitions_init(struct definitions *d);
void definitions_deinit(struct definitions *d);
static inline void definitions_cleanup(struct definitions *d)
{
    definitions_deinit(d);
}

/* Adds one YAML text (several documents allowed).  On failure d is as it was before.  Where mistakes are gathered
 * E_OK says only that it was read; a queue with a mistake is there under its name and with what it leads to, so that
 * names can be judged.
 * A queue with a command gets the source's directory as its `dir`, unless it has one.  E_INVALID or E_TOO_LARGE. */
MUST_CHECK enum err_code definitions_add_from(struct definitions *d,
                                              const struct definition_source *source,
                                              struct slice text, struct err *err);

/* The same for a text whose directory is not known. */
MUST_CHECK enum err_code definitions_add(struct definitions *d, const char *file, struct slice text,
                                         struct err *err);

/* Whether every queue and join that something leads to is among the definitions, or built in, and no join leads
 * back to itself.  For files that are
 * meant to be whole: a server also knows what it was told before.  E_INVALID: "FILE:LINE: queue 'a':
 * on_success[0]: there is no queue 'x', did you mean 'y'?" */
MUST_CHECK enum err_code definitions_check_names(const struct definitions *d, struct err *err);

void definition_faults_deinit(struct definition_faults *faults);
static inline void definition_faults_cleanup(struct definition_faults *faults)
{
    definition_faults_deinit(faults);
}

/* The mistake is that a whole text cannot be read: gathered, or returned. */
MUST_CHECK enum err_code definitions_unread(const struct definitions *d, struct err *err);

/* A mistake: gathered, or returned. */
MUST_CHECK enum err_code definitions_fault(const struct definitions *d, struct err *err);

/* A refusal of the engine that begins with one of those names ("queue 'a': on_success[0]: …") gets its place in
 * front; any other stays as it is. */
void definitions_locate(const struct definitions *d, struct err *err);

/* {"queues":{…},"joins":{…}}: the body of POST /v1/definitions; without joins where there are none. */
void definitions_json(const struct definitions *d, struct buf *out);
