/*
 * The keys of a queue's definition: one table, the single source of their names, types, bounds,
 * defaults and meaning.  Reading, writing, error messages and docs/definitions.md follow it.
 *
 * The order of the table is the order of canonical JSON, which is kept in stores: add new keys where
 * they read well, never reorder old ones.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum queue_key_kind {
    QUEUE_KEY_COMMAND, /* struct slice, canonical JSON: a string or a non-empty array of strings */
    QUEUE_KEY_TEXT,    /* struct slice; bounds are bytes */
    QUEUE_KEY_NAME,    /* struct slice, as in a user's name; bounds are bytes */
    QUEUE_KEY_PATH,    /* struct slice, absolute; bounds are bytes */
    QUEUE_KEY_COUNT,   /* int */
    QUEUE_KEY_NUMBER,  /* int64_t */
    QUEUE_KEY_NICE,    /* int64_t, and limits.niced */
    QUEUE_KEY_REAL,    /* double; bounds are whole */
    QUEUE_KEY_LENGTH,  /* int64_t microseconds */
    QUEUE_KEY_SIZE,    /* int64_t bytes */
    QUEUE_KEY_BOOL,    /* bool */
    QUEUE_KEY_DESTS,   /* struct dest_list */
    QUEUE_KEY_TOPICS,  /* subscribe and n_subscribe; bounds are their number */
    QUEUE_KEY_ENV,     /* struct slice, canonical JSON: an object of strings; bounds are bytes */
    QUEUE_KEY_EXITS,   /* retry.exits and retry.n_exits */
    QUEUE_KEY_OBJECT,  /* has members; no field of its own */
    QUEUE_KEY_KINDS
};

struct queue_key {
    const char *name;
    enum queue_key_kind kind;
    size_t offset;        /* of its field in struct queue_def */
    int64_t min, max;     /* in the unit of its field */
    const char *standard; /* the default as JSON; NULL: the field is zero */
    const char *absent;   /* what that means to people; NULL: `standard` says it */
    const char *meaning;  /* for people, one sentence, Markdown */
    bool ours;            /* written by the engine, never by people */
    const struct queue_key *members;
    size_t n_members;
};

enum { QUEUE_KEYS_MAX = 24 }; /* in one object */

/* A queue's definition as a key: its members are the keys of the first level. */
extern const struct queue_key queue_key_root;

/* `retry` alone: such a policy may come with a job, too. */
extern const struct queue_key queue_key_retry;
