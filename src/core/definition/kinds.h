/*
 * Kinds of definitions: everything that people define by name, in files and over HTTP.
 *
 * One row of the table is one kind.  It gives the kind its section in files and in POST
 * /v1/definitions, its path below /v1, its words in messages, and says how a definition is read,
 * made canonical, and which other definitions it names.  What happens to a definition in the store
 * is a row of engine/queues/define.h.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/queue/def.h"
#include "core/route/dest.h"

/* In the order in which they are read, applied and listed in replies. */
enum definition_kind {
    DEFINITION_QUEUE,
    DEFINITION_JOIN,
    DEFINITION_RESOURCE,
    DEFINITION_SCHEDULE,
    DEFINITION_GROUP,
    DEFINITION_KINDS
};

enum { DEFINITIONS_MAX = 10000 }; /* of one kind, in one set of files */

#define DEFINITION_JSON_MAX ((size_t)1 << 20) /* of one definition */

/* A definition names another one, which must exist as long as it does. */
struct definition_link {
    enum definition_kind to;
    struct slice name;
    const char *key; /* the member that has the name: "on_success" */
    size_t index;    /* in that member's list; or DEFINITION_LINK_ALONE */
    int64_t weight;  /* of a need; 0: not known before a job is added */
};

#define DEFINITION_LINK_ALONE ((size_t)-1) /* the member is no list */

/* Adds the place of the link in its definition: "on_success[2]", "queue". */
void definition_link_place(const struct definition_link *link, struct buf *out);

struct definition_links {
    struct definition_link *items;
    size_t count;
};

/* Adds the destinations that are definitions.  A destination without a name (its mistake is
 * reported elsewhere) is left out. */
void definition_links_add(struct definition_links *links, struct arena *arena, const char *key,
                          const struct dest_list *dests);

/* The links of a parsed queue. */
struct definition_links definition_links_of_queue(const struct queue_def *def, struct arena *arena);

/* Whether a destination of that kind is a definition, and of which kind. */
bool definition_of_dest(enum dest_kind dest, enum definition_kind *ret_kind);

/* "there is no queue 'X', did you mean 'Y'?"; returns `code`. */
enum err_code definition_name_unknown(enum definition_kind kind, struct slice name,
                                      const char *const *names, size_t count, enum err_code code,
                                      struct err *err);

/* One definition of a file while it is read. */
struct definition_input {
    struct slice json;            /* checked */
    struct slice dir;             /* absolute directory of the file; empty: unknown */
    struct object_faults *faults; /* takes mistakes in members; its `count` is 0 at first */
    struct arena *arena;

    struct definition_links links; /* out: also of a definition with a mistake in another member */
    const char *fault_at; /* out, on failure: the part of `json` to blame; NULL: all of it */
};

/* A definition among all of its kind, and the definitions it names. */
struct definition_node {
    struct slice name;
    struct definition_links links;
};

struct definition_kind_row {
    const char *name;     /* "queue": in messages and replies */
    const char *section;  /* "queues": in files, in bodies and in paths */
    bool may_be_null;     /* `name:` alone is a definition */
    const char *built_in; /* name of one that always exists; NULL: none */

    enum err_code (*check_name)(struct slice name, struct err *err);

    /* Checks a definition and adds its canonical JSON.  When mistakes were taken by `faults`,
     * only the links are kept, so that the names can still be checked. */
    enum err_code (*read)(struct definition_input *in, struct buf *out, struct err *err);

    /* The same for JSON from elsewhere.  Canonical JSON is stored and compared. */
    enum err_code (*canonical)(struct slice json, struct buf *out, struct err *err);

    /* The links of a canonical definition; none when it cannot be read. */
    struct definition_links (*links)(struct slice json, struct arena *arena);

    /* Checks all definitions of the kind together: *ret_bad is the one to blame.  NULL: nothing
     * to check. */
    enum err_code (*check_all)(const struct definition_node *nodes, size_t n, struct arena *arena,
                               size_t *ret_bad, struct err *err);
};

extern const struct definition_kind_row definition_kinds[DEFINITION_KINDS];
