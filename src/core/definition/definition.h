/*
 * Definitions: what people write in YAML, checked and turned into what the store keeps.
 *
 * Several files add up; a name that is defined twice in one kind is an error with both places.
 * Errors read "FILE:LINE: cause", with the nearest valid word for a mistyped one.  Pure: the
 * server reads the files.
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
#include "core/definition/kinds.h"

enum {
    DEFINITION_NAMES_MAX = 64,
    DEFINITION_TRIGGERS_MAX = 1000,
    DEFINITION_NETWORKS_MAX = 1000, /* of one trigger */
    DEFINITION_START_MAX = 1000,    /* jobs of `start:` */
};

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

/* A definition of any kind. */
struct definition {
    struct slice name;
    struct slice json; /* canonical; with a mistake empty, or without some members */
    struct definition_place from;
};

/* A definition that names another one. */
struct definition_ref {
    struct definition_link link;
    enum definition_kind owner_kind;
    struct slice owner;
    struct definition_place from;
};

/* A topic that /job_start publishes to without a token, when the request comes from one of
 * these networks. */
struct definition_trigger {
    struct slice name;
    struct cidr *from;
    size_t n_from;
    struct definition_place place;
};

enum { SUBSCRIPTIONS_DEFAULT = 1000, SUBSCRIPTIONS_MAX = 10000 };

/* Each key may be given once, in one file. */
struct definition_server {
    struct slice listen;     /* ADDR:PORT; empty: not given */
    struct slice url;        /* base of full ids, without a slash at its end */
    struct slice token_file; /* absolute when its source has a directory */
    struct slice store;      /* URL of a shared store; empty: the embedded one */
    VEC(struct slice) names; /* host names that requests may use */
    VEC(struct definition_trigger) triggers;
    int subscriptions; /* maximum queues that belong to workers; 0 and no place: not given */

    struct definition_place listen_from, url_from, token_file_from, store_from, names_from;
    struct definition_place subscriptions_from;
};

/* A job of `start:`, as it is written: names in braces are filled by instruction.h. */
struct definition_start_job {
    struct slice json;
    struct slice queue; /* empty: it has none, or a name in braces */
    struct definition_place from;
};

/* What `run` begins with.  Each section may be given once, in one file. */
struct definition_start {
    VEC(struct definition_start_job) jobs;
    struct slice finally;       /* JSON as it is written; empty: not given */
    struct slice finally_queue; /* empty: it names none */
    struct definition_place from, finally_from;
};

/* All mistakes that were found, in order. */
struct definition_faults {
    VEC(struct err) items;
    bool unread; /* a text could not be read: names cannot be checked */
};

enum { DEFINITION_FAULTS_MAX = 100 };

struct definitions {
    struct arena arena;               /* all slices live here */
    struct definition_faults *faults; /* gathers all mistakes; NULL: the first one is the error */
    VEC(struct definition) of[DEFINITION_KINDS];
    VEC(struct definition_ref) refs;
    struct definition_server server;
    struct definition_start start;
};

void definitions_init(struct definitions *d);
void definitions_deinit(struct definitions *d);
CLEANUP_BY_DEINIT(definitions)

/* Adds one YAML text (several documents allowed).  On failure d is as it was before.  Where
 * mistakes are gathered, E_OK means only that the text was read: a definition with a mistake is
 * added with its name and its links, so that names can be checked.  A queue with a command and no
 * `dir` gets the source's directory.  E_INVALID or
 * E_TOO_LARGE. */
MUST_CHECK enum err_code definitions_add_from(struct definitions *d,
                                              const struct definition_source *source,
                                              struct slice text, struct err *err);

/* Checks that every linked definition exists here or is built in, and the rules for all definitions
 * of a kind together (no join leads back to itself).  For files that are meant to
 * be complete: a server also has what was applied before.  E_INVALID: "FILE:LINE: queue 'a':
 * on_success[0]: there is no queue 'x', did you mean 'y'?" */
MUST_CHECK enum err_code definitions_check_names(const struct definitions *d, struct err *err);

void definition_faults_deinit(struct definition_faults *faults);
CLEANUP_BY_DEINIT(definition_faults)

/* Gathers or returns the mistake that a text cannot be read. */
MUST_CHECK enum err_code definitions_unread(const struct definitions *d, struct err *err);

/* Gathers or returns a mistake. */
MUST_CHECK enum err_code definitions_fault(const struct definitions *d, struct err *err);

/* Puts the place in front of a refusal of the engine that begins with a name found here ("queue
 * 'a': on_success[0]: …"); any other stays as it is. */
void definitions_locate(const struct definitions *d, struct err *err);

/* {"queues":{…},"joins":{…}}: the body of POST /v1/definitions; without the sections that have
 * nothing, except `queues`. */
void definitions_json(const struct definitions *d, struct buf *out);

/* Number of definitions of all kinds. */
size_t definitions_count(const struct definitions *d);
