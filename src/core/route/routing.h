/*
 * A job's routing: its route, where its end leads, what it waits for and where it came from.
 *
 * Most jobs have none.  It is made with the job, kept as canonical JSON beside the job's params,
 * and changes only when steps are added:
 *
 *   {"steps":[{"number":1,"name":"extract","queue":"shelf","command":…,"params":{…},
 *              "timeout":…,"retry":{…},"needs":{…},"limits":{…},"on_error":"continue","final":true,
 *              "on_success":[…],"on_failure":[…]}],
 *    "options":{…},"skip":[3],"on_success":[…],"on_failure":[…],
 *    "after":[{"job":"ID","step":4,"on":"success"},{"signal":"NAME","count":10,"take":true}],
 *    "changed":{"date":7},"parent":"ID","depth":3,"topic":"NAME"}
 *
 * The job's row (struct job) has the current step, and whether the route has failed.  The rules
 * here are pure: they decide what comes next.
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
#include "core/route/dest.h"

struct object;

enum {
    ROUTE_STEPS_MAX = 1000,
    STEP_NAME_MAX = 200,
    STEP_NUMBER_MAX = 1000000,
    CHAIN_DEPTH_MAX = 1000, /* jobs of a longer chain fail */
    AFTER_MAX = 100000,     /* conditions of one job */
};

enum step_on_error { STEP_STOP, STEP_CONTINUE };

struct route_step {
    int number; /* unique in the route; an added step has the next free one */
    struct slice name;
    struct slice queue;
    struct slice command;                /* JSON, or empty: its queue's */
    struct slice params;                 /* JSON object, or empty */
    struct slice timeout;                /* JSON, or empty */
    struct slice retry;                  /* JSON object, or empty */
    struct slice needs;                  /* JSON object, or empty */
    struct slice limits;                 /* of a command that a job has emitted; or empty */
    enum step_on_error on_error;         /* what happens to the route when the step fails */
    bool final;                          /* runs also when the route has failed */
    struct slice on_success, on_failure; /* canonical JSON of destinations, or empty */
};

struct routing {
    struct route_step *steps;
    size_t n_steps;
    struct slice options; /* of the job: for every step without options of its own */
    int *skip;            /* numbers of steps that had a status when the job was submitted */
    size_t n_skip;
    struct slice on_success, on_failure; /* of the job */
    struct slice after;                  /* canonical JSON array, or empty */
    /* JSON object, or empty: params that a person has changed, each with the last attempt whose
     * `set` of that name no longer counts. */
    struct slice changed;
    int64_t parent;     /* the job whose end made this one; 0: none */
    int depth;          /* number of jobs in the chain before it */
    struct slice topic; /* that it was published to, or empty */
    int64_t group;      /* of publications: the group that their jobs go into; 0: none */
};

/* Reads the canonical JSON; slices point into the arena or into `json`. */
void routing_parse(struct slice json, struct arena *arena, struct routing *ret_routing);

/* The canonical JSON; empty for a routing without members. */
struct slice routing_format(const struct routing *routing, struct arena *arena);

/* Estimated bytes of its JSON; 0 for a routing without members. */
size_t routing_size(const struct routing *routing);

/* Whether one of its steps has its own command. */
bool routing_has_command(const struct routing *routing);

/* Whether the end of the job, or of one of its steps, has followups. */
bool routing_is_followed(const struct routing *routing);

/* ---- steps as they come from outside ---- */

extern const struct object step_object;
extern const struct object record_object;
extern const struct object after_object; /* one condition, other than a job's id */

/* Steps of a new job, or some that are added (`after_number` is the highest number in use, 0 for
 * none): a list, or one step.  Understands seed 000's names too.  E_INVALID: "steps[6].queue:
 * …". */
MUST_CHECK enum err_code route_steps_parse(struct slice json, int after_number, struct arena *arena,
                                           struct route_step **ret_steps, size_t *ret_n,
                                           struct err *err);

/* An entry of the record that is submitted with a job. */
struct route_status {
    int number;
    bool has_status;              /* a step without one is still run */
    int status;                   /* exit status, or -N for signal N */
    int64_t started_at, ended_at; /* 0: unknown */
    struct slice text;
    struct slice set; /* JSON object, or empty */
};

/* Reads `progress` of a submitted job, also with seed 000's names; each entry must have a step.
 * E_INVALID: "progress[2].number: …". */
MUST_CHECK enum err_code route_progress_parse(struct slice json, const struct routing *routing,
                                              struct arena *arena,
                                              struct route_status **ret_entries, size_t *ret_n,
                                              struct err *err);

/* Marks the steps that have a status in the submitted record as skipped. */
void route_skip(struct routing *routing, const struct route_status *entries, size_t n,
                struct arena *arena);

/* ---- what comes next ---- */

/* The first step to run; NULL when nothing is left. */
const struct route_step *route_first(const struct routing *routing);

/* The step after `number`; in a route that has failed, the next final one. */
const struct route_step *route_next(const struct routing *routing, int number, bool failed);

/* Its place in the route, from 0; n_steps when there is no step of that number. */
size_t route_place(const struct routing *routing, int number);

/* NULL when there is no step of that number. */
const struct route_step *route_find(const struct routing *routing, int number);

/* By its number or by its name, the number first.  E_INVALID: none, or several, have the name. */
MUST_CHECK enum err_code route_select(const struct routing *routing, struct slice step,
                                      const struct route_step **ret_step, struct err *err);

/* Index of the first of the final steps at the end: steps are added before them. */
size_t route_end_of_work(const struct routing *routing);

/* Adds steps to the route of a job that is at step `at`: before the final ones at its end.
 * E_INVALID: the route has come to its final steps, or becomes too long. */
MUST_CHECK enum err_code route_add(struct routing *routing, int at, struct slice steps,
                                   struct arena *arena, struct err *err);

/* The options in force at a step: its own timeout, retry (key by key) and command over the job's.
 * Empty when there are none. */
struct slice route_options(const struct routing *routing, const struct route_step *step,
                           struct arena *arena);

/* ---- after ---- */

enum after_kind { AFTER_JOB = 1, AFTER_SIGNAL, AFTER_GROUP };  /* persisted */
enum after_on { AFTER_SUCCESS = 1, AFTER_FAILURE, AFTER_END }; /* persisted */

struct after_cond {
    enum after_kind kind;
    enum after_on on;
    int64_t job;       /* JOB: its id; 0 when it is named by its ref */
    struct slice ref;  /* JOB of the same array */
    struct slice step; /* JOB: a step's number or name; empty: the job itself */
    struct slice signal;
    int64_t group; /* GROUP: its id */
    int64_t count; /* SIGNAL: the level it must have */
    bool take;     /* SIGNAL: the release lowers it by `count` */
};

/* Reads `after` of a submitted job: one condition or a list.  Where refs are allowed, a text
 * that is no id is a ref.  E_INVALID: "after[3].on: …". */
MUST_CHECK enum err_code after_parse(struct slice json, struct arena *arena,
                                     struct after_cond **ret_conds, size_t *ret_n, struct err *err);

/* Adds the condition as it is kept and shown: with ids instead of refs, and step numbers
 * (`step_number`, 0: none) instead of names. */
void after_cond_json(const struct after_cond *cond, int64_t job, int step_number, struct buf *out);

enum after_verdict { AFTER_OPEN, AFTER_HOLDS, AFTER_NEVER };

/* What the end of a job, or of one of its steps, means for a condition on it.  `state` is a state
 * that ended (for a step JOB_DONE or JOB_FAILED), JOB_NONE when the job is gone. */
enum after_verdict after_judge_end(enum after_on on, int state);
