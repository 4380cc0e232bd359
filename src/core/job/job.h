/*
 * A job as the store keeps it: one row, in `jobs` while it lives and in `ended` afterwards.
 *
 * Texts are borrowed: whoever filled the struct says how long they live (the arena of the batch or
 * of the request).  Instants are 0 when there is none.  Enum numbers are persisted: never renumber.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "base/slice.h"
#include "core/job/state.h"

#define JOB_PRIORITY_MIN (-1000)
#define JOB_PRIORITY_MAX 1000
#define JOB_BYTES_MAX ((size_t)16 << 20) /* params, body, labels and the rest of one job */

/* How the last attempt ended, as reported by its worker or the sweep. */
enum job_outcome {
    JOB_OUT_NONE,
    JOB_OUT_DONE,
    JOB_OUT_FAILED,
    JOB_OUT_LATER,
    JOB_OUT_RETURNED,
    JOB_OUT_CANCELLED,
    JOB_OUT_LOST,
    JOB_OUT_COUNT
};

enum job_cause {
    JOB_CAUSE_NONE,
    JOB_CAUSE_EXIT,
    JOB_CAUSE_SIGNAL,
    JOB_CAUSE_TIMEOUT,
    JOB_CAUSE_MEMORY,
    JOB_CAUSE_LOST,
    JOB_CAUSE_START,
    JOB_CAUSE_PROTOCOL,
    JOB_CAUSE_CANCELLED,
    JOB_CAUSE_DEPENDENCY,
    JOB_CAUSE_EXPIRED, /* it did not start in time */
    JOB_CAUSE_DROPPED,
    JOB_CAUSE_COUNT
};

#define JOB_VERSION_SIZE 17

/* A value that is too large for a list. */
struct job_cut_value {
    struct slice start; /* its first characters */
    int64_t size;       /* in bytes; 0: the job has it whole */
};

struct job_cut {
    struct job_cut_value params, labels, options, result;
};

struct job {
    struct job_id id;
    int64_t queue; /* its number in the store */
    int64_t group; /* the innermost group that it is a member of; 0: none but the root */
    int64_t lane;  /* of its queue: jobs of a lane are started by its limits; 0: none */
    enum job_state state;
    int priority;
    unsigned holds;  /* enum job_hold bits */
    bool cancelling; /* cancel was asked for while it ran */

    int64_t due_at;
    int64_t delay_us;   /* the delay that due_at was computed from; 0: due_at was given */
    int64_t started_at; /* of the current or last attempt */
    int64_t finished_at;
    int64_t lease_until_at;

    int64_t token;      /* of the current or last claim */
    int64_t prev_token; /* of the claim before: its finish may still be repeated */
    enum job_outcome outcome;

    int attempt;  /* claims, without those returned */
    int returned; /* claims returned */
    int failures;
    int lost;
    int laters;

    /* Of jobs with a routing (core/route/routing.h). */
    bool has_dests;      /* its end, or that of a step, has followups */
    int step;            /* number of the current step; 0: it has no route */
    int failed_step;     /* the step that failed: only final ones still run; 0: none */
    int attempts_before; /* attempts of earlier steps, which `attempt` includes */
    bool awaited;        /* jobs may wait for its end */

    bool emitted;   /* shared stores: the attempt that runs has emitted something */
    bool opened;    /* it has opened groups, which do not end before it */
    int64_t closes; /* the group whose finaliser it is; 0: none */
    bool watched;   /* shared stores: a client of some server waits for its end */

    int64_t worker; /* number in the store, 0 for none */
    bool exited;
    int exit; /* exit status, or -N for signal N */
    enum job_cause cause;
    int64_t done, total; /* progress counts; total 0 when unknown */
    int64_t expected_at; /* when it will be done, as its program estimates */

    struct slice key;
    struct slice params;  /* JSON object, as submitted */
    struct slice body;    /* bytes; data NULL when there is none */
    struct slice labels;  /* JSON object, or empty */
    struct slice options; /* JSON object of rarely used fields: retry, timeout, command; or empty */
    struct slice text;    /* status line */
    struct slice unit;    /* of done and total */
    struct slice result;  /* JSON, or empty */
    int64_t log_size;     /* bytes in its log so far; only for a grant */
    struct slice cursor;  /* JSON, or empty; only for a grant */
    struct slice routing; /* JSON, or empty: core/route/routing.h */
    struct slice assigned; /* JSON object of what its steps have set so far, or empty */
    struct job_cut *cut;   /* only in lists: values that are left out here; or NULL */
    bool params_match;     /* only in lists: its params contain the text of the filter */
    int64_t shared; /* new jobs: params and body are in the store already, under this id; else 0 */
};

/* One entry of a job's record: an attempt that has ended. */
struct progress_entry {
    int seq;       /* which attempt of the job it was; below 0: submitted with the job */
    int number;    /* step, 1 for a job without steps */
    int attempt;   /* of the step */
    int64_t token; /* which claim it was */
    enum job_outcome outcome;
    enum job_cause cause;
    bool exited;
    int exit;
    int64_t queue;
    int64_t worker;
    int64_t started_at;
    int64_t ended_at;
    struct slice text;
    struct slice set; /* JSON object, or empty */
};

/* What ties a living job to others, as the store keeps it.  Persisted. */
enum job_tie {
    JOB_TIE_AWAITED = 1,
    JOB_TIE_GROUP = 2,
    JOB_TIE_LANE = 4,
};

/* A number of the job that grows with each grant, at any server. */
int64_t job_fence(const struct job *j);

/* The entry of the attempt that ended last, from the job's own row. */
struct progress_entry job_last_entry(const struct job *j);

extern const char *const job_outcome_names[JOB_OUT_COUNT];
extern const char *const job_cause_names[JOB_CAUSE_COUNT];
const char *job_outcome_name(enum job_outcome o);
const char *job_cause_name(enum job_cause c);

/* The id carries the time of creation, to the millisecond. */
static inline int64_t job_created_at(const struct job *j)
{
    return id_time(j->id.v);
}

/* The version of what people can change of a waiting job (params, labels, priority, due time): it
 * changes with any of them. */
const char *job_version(const struct job *j, char text[static JOB_VERSION_SIZE]);
