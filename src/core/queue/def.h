/*
 * The definition of a queue: as written by people, checked and filled with the defaults.
 *
 * A definition is kept in the store as canonical JSON (keys in the order of the table in keys.c,
 * only those that were given). queue_def_parse reads both that and what comes from outside; the
 * table is the single source of keys, types, bounds, help and documentation.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/clock/expires.h"
#include "core/filter/filter_def.h"
#include "core/gate/lane_def.h"
#include "core/gate/needs.h"
#include "core/job/retry.h"
#include "core/route/dest.h"

struct object_faults;
struct object_read;
struct template_command;

#define QUEUE_NAME_MAX 200
#define QUEUE_SLOTS_ALL 0

/* Numbers are persisted. */
enum queue_state { QUEUE_UP = 1, QUEUE_PAUSE, QUEUE_DRAIN, QUEUE_DOWN };

const char *queue_state_name(enum queue_state s);

static inline bool queue_state_takes(enum queue_state s)
{
    return s == QUEUE_UP || s == QUEUE_PAUSE;
}

static inline bool queue_state_starts(enum queue_state s)
{
    return s == QUEUE_UP || s == QUEUE_DRAIN;
}

struct queue_limits {
    int64_t memory; /* bytes; 0: none */
    int64_t cpu_us;
    int64_t files;
    int64_t nice;
    bool niced;
    struct slice user;
};

struct queue_def {
    struct slice command; /* canonical JSON: a string (sh -c) or an array of strings; empty: none */
    const struct template_command *template; /* the command's; NULL when there is none */
    struct slice fault;   /* of a stored definition: why its command cannot be run; else empty */
    struct slice dir;     /* of the definition file: programs with a slash are relative to it */
    struct slice workdir; /* where programs run; empty: a directory for each job */
    struct slice env;     /* canonical JSON object of strings, or empty */
    struct slice description; /* for people */
    int slots;                /* at once on one worker; QUEUE_SLOTS_ALL: all of the worker's */
    int64_t timeout_us;       /* 0: none */
    struct expires expires;   /* of jobs that do not say their own */
    struct retry_policy retry;
    int stop_after; /* failures in a row that pause the queue; 0: never */
    bool strict;
    bool resident;
    bool own_command;
    bool may_emit_command; /* jobs that its jobs emit may have a command */
    int64_t idle_us;       /* idle time after which a resident program is stopped */
    struct queue_limits limits;
    int64_t keep_done_us; /* retention of done, cancelled and relayed jobs */
    int64_t keep_failed_us;
    int64_t keep_log; /* bytes of log kept for a job */

    struct needs needs;   /* what its jobs take of resources while they run */
    struct lane_def lane; /* key_text empty: no lanes */

    struct dest_list on_success, on_failure; /* where the end of a job in it leads */
    struct slice *subscribe;                 /* topics, or prefixes of them: topic_matches */
    size_t n_subscribe;

    struct filters filters; /* which new jobs are kept */

    /* For a worker's own queue, made by the engine; else empty. */
    struct slice subscriber_topic, subscriber_worker;
    int64_t subscriber_lifetime_us; /* how long the worker may be absent */
};

/* Checks a JSON object (already accepted by jtext_check) and fills the struct; slices live in the
 * arena. E_INVALID: the message begins with the dotted key and, for an unknown one, names the
 * nearest. */
MUST_CHECK enum err_code queue_def_parse(struct slice json, struct arena *arena,
                                         struct queue_def *ret_def, struct err *err);

/* The same for a stored definition.  If the rules for commands have become stricter since it was
 * stored, `fault` says what is wrong with it.  Only here `subscriber` is accepted. */
MUST_CHECK enum err_code queue_def_parse_stored(struct slice json, struct arena *arena,
                                                struct queue_def *ret_def, struct err *err);

/* As queue_def_parse; on failure *fault_at is the value or the member's name in `json` that is to
 * blame. With `faults`, which may be NULL, mistakes in members go there and the other members are
 * still read. */
MUST_CHECK enum err_code queue_def_parse_at(struct slice json, struct arena *arena,
                                            struct queue_def *ret_def, struct object_faults *faults,
                                            const char **fault_at, struct err *err);

/* Adds the canonical JSON of a definition: E_INVALID as queue_def_parse, E_TOO_LARGE for `out`. */
MUST_CHECK enum err_code queue_def_canonical(struct slice json, struct buf *out, struct err *err);

/* The definition of a worker's own queue: `json` is the canonical definition of the topic's queue,
 * or empty. */
struct queue_subscriber {
    struct slice topic;
    struct slice worker;
    int64_t lifetime_us;
};
void queue_def_subscriber(struct slice json, const struct queue_subscriber *subscriber,
                          struct buf *out);

/* Reads the member of `r`, in a job or a step, as the value of a queue's key ("command", "timeout",
 * "retry").  *ret_json, unless that is NULL, is canonical and in the arena. */
MUST_CHECK enum err_code queue_def_value(struct object_read *r, const char *key, struct slice value,
                                         struct slice *ret_json);

/* A retry policy from JSON laid over `base` (a job's own `retry` over its queue's).  E_INVALID: the
 * message begins with the dotted key, "retry.first: …". */
MUST_CHECK enum err_code retry_policy_parse(struct slice json, const struct retry_policy *base,
                                            struct retry_policy *ret_policy, struct err *err);

/* Reads the `limits` of a job: canonical, or empty when there are none.  Slices live in the
 * arena. */
MUST_CHECK enum err_code queue_limits_parse(struct slice json, struct arena *arena,
                                            struct queue_limits *ret_limits, struct err *err);
struct slice queue_limits_format(const struct queue_limits *limits, struct arena *arena);

/* The limits of a command that came with `own` limits into a queue: the stricter of each, and its
 * own user, or the queue's where it has none. */
struct queue_limits queue_limits_for(const struct queue_limits *own,
                                     const struct queue_limits *queue);

/* 1 to QUEUE_NAME_MAX bytes of UTF-8, no control characters, no '/', not starting with '.'. */
MUST_CHECK enum err_code queue_name_check(struct slice name, struct err *err);
