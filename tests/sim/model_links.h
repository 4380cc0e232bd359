/*
 * The reference model: what ties jobs together, as plain data.
 *
 * Where ends lead is one of a few lists, named by their number; 0 is none.  What queues lead to
 * never comes back to them: a life must end.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/job/state.h"
#include "core/route/dest.h"
#include "core/route/routing.h"

enum {
    MODEL_QUEUES = 5,
    MODEL_PARAMS = 1200,
    MODEL_SET = 160,
    MODEL_STEPS = 10,
    MODEL_CONDS = 4,
    MODEL_SIGNALS = 3,
    MODEL_TOPICS = 5 + MODEL_QUEUES, /* the last ones are called like the queues */
    MODEL_JOINS = 2,
    MODEL_JOIN_COUNT = 5, /* at most */
    MODEL_JOIN_KEYS = 4,  /* "" and MODEL_KEY_LETTERS */
    MODEL_LISTS = 16,
    MODEL_LINKS = 3, /* ways in which a queue may be linked */
    MODEL_NOTES = 200,
    MODEL_OWED = 400,
    MODEL_PROMISED = 400,
};

/* What an attempt has set: {"s1":value}; value 0: nothing. */
struct model_set {
    int which;
    int64_t value;
};

struct model_step {
    int number;
    int name; /* "n7" */
    int queue;
    int own_retry;  /* -1: the job's */
    int64_t params; /* {"p":value}; 0: none */
    bool goes_on, final;
    bool skipped;               /* it had a status when the job was handed in */
    int on_success, on_failure; /* lists */
};

enum cond_state { COND_OPEN, COND_HOLDS, COND_NEVER };

struct model_cond {
    enum after_kind kind;
    enum after_on on;
    int64_t job;
    int ref;  /* place of the job in its array, from 1 on; 0: by its id */
    int step; /* number; 0: the job itself */
    int signal;
    int64_t count;
    bool take;
    enum cond_state now;
};

struct model_routing {
    struct model_step steps[MODEL_STEPS];
    int n_steps;
    int own_retry; /* of the job: steps may say otherwise */
    int on_success, on_failure;
    struct model_cond conds[MODEL_CONDS];
    int n_conds;
    int64_t parent;
    int depth;
    int topic; /* from 1 on; 0: none */
    /* The length of the record when a person last changed s0: what it set before does not count. */
    int changed;
};

/* What a destination is given. */
struct model_source {
    int64_t job; /* the cause; 0: none */
    int depth;
    int label, priority;
    char params[MODEL_PARAMS];
};

/* An end that leads somewhere. */
struct model_noted {
    struct model_source source;
    int lists[3];
    int step;  /* its number; 0: the job as a whole */
    int place; /* destinations before have been followed */
    bool late; /* earlier batches have left it */
};

/* What the store has of an end that is still to be followed. */
struct model_left {
    int64_t job;
    int step;
    int place;
};

/* A job that must have been made. */
struct model_owed {
    int queue;
    int topic; /* from 1 on; 0: none */
    struct model_source source;
};

/* A job of a publication that is still to be made: its id is fixed. */
struct model_promise {
    int64_t id;
    struct model_owed owed;
};

struct model_join {
    bool there;
    int count; /* arrivals that it takes to fire */
    int64_t fired;
    struct model_arrivals {
        int64_t count;
        int64_t jobs[MODEL_JOIN_COUNT];
        int n_jobs;
    } keys[MODEL_JOIN_KEYS];
};

struct model_links {
    int64_t signals[MODEL_SIGNALS];
    struct model_join joins[MODEL_JOINS];
    struct model_noted notes[MODEL_NOTES]; /* of the batch, and what is left of others */
    size_t n_notes;
    struct model_left left[MODEL_NOTES]; /* as the store has it after the batch */
    size_t n_left;
    bool had_late; /* some were left when the batch began */
    struct model_owed owed[MODEL_OWED];
    size_t n_owed;
    struct model_promise promised[MODEL_PROMISED];
    size_t n_promised;
    int64_t kept, followed; /* promises, and ends later than by their batch, ever */
    int64_t released, doomed, revived, fired, made; /* ever */
};

struct model_list {
    const char *source;
    char json[256]; /* canonical */
    struct model_dest {
        enum dest_kind kind;
        int target; /* queue, topic, join or signal */
        char params[32];
        int64_t count;
    } dests[4];
    int n_dests;
};

/* How a queue may be linked. */
struct model_queue_link {
    int on_success, on_failure;
    const char *subscribe; /* JSON array, or NULL */
    unsigned topics;       /* the same as bits */
};

extern struct model_list model_lists[MODEL_LISTS];
extern struct model_queue_link model_queue_links[MODEL_QUEUES][MODEL_LINKS];
extern const int model_join_then[MODEL_JOINS]; /* lists */
extern const char *const model_queue_names[MODEL_QUEUES];
extern const char *const model_signal_names[MODEL_SIGNALS];
extern const char *const model_topic_names[MODEL_TOPICS];
extern const char *const model_join_names[MODEL_JOINS];
extern const char *const model_join_keys[MODEL_JOIN_KEYS];

/* Whether it leads to a join. */
bool model_list_joins(int list);

/* Reads the lists; once. */
void model_links_init(void);

/* Canonical definition of a join that fires after so many. */
const char *model_join_json(int join, int count);

/* Which of the names it is, or -1. */
int model_named(struct slice name, const char *const *names, int n);
