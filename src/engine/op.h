/*
 * Operations: what the outside asks of the engine.
 *
 * An op is made and owned by a boundary (the HTTP thread, a test), filled with input, handed to the
 * engine, and comes back through `done` after the commit that decided it is on stable storage; then
 * `err` or `status` and `reply` say what to answer.  Between the two it belongs to the engine's
 * thread. Input is never changed by the engine: a batch that was rolled back runs the same ops
 * again.
 *
 * Slices of the input live in the op's own arena or in memory that outlives the op.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/definition/kinds.h"
#include "core/group/choice.h"
#include "core/job/job.h"
#include "core/queue/def.h"
#include "core/route/routing.h"
#include "core/submit/item.h"
#include "store/jobs/logs.h"

enum {
    OP_ITEMS_MAX = 10000, /* jobs, finishes or touches in one request */
    OP_CLAIM_MAX = 1000,  /* jobs granted to one claim */
    OP_CLAIM_QUEUES_MAX = 1000,
    OP_EMIT_MAX = 1000, /* jobs of one emit; OP_ITEMS_MAX with those for subscribers */
};

#define OP_REPLY_MAX ((size_t)64 << 20)
#define LEASE_DEFAULT_US (60 * INT64_C(1000000))
#define LEASE_MIN_US (1 * INT64_C(1000000))
#define LEASE_MAX_US (24 * 3600 * INT64_C(1000000))
#define WAIT_MAX_US (60 * INT64_C(1000000))

/* ---- submit ---- */

enum submit_mode {
    SUBMIT_ONE,   /* {"id"} */
    SUBMIT_ARRAY, /* {"ids"}: all or nothing; an error carries `item` */
    SUBMIT_LINES, /* one reply line an item: good ones stay */
};

struct submit {
    enum submit_mode mode;
    const struct submit_item *items;
    size_t n_items;
    size_t first_line; /* SUBMIT_LINES: number of the first line, from 1 */
    bool dry_run;      /* checks and plans, creates nothing */
    int64_t first_id;  /* out: the first job's id */
    bool goes_on;    /* SUBMIT_LINES: more lines of the request may follow, which join its groups */
    bool is_over;    /* SUBMIT_LINES: none follow; there may be no items */
    int64_t request; /* in and out: what has opened the groups of the request; 0: none so far */
};

/* ---- logs ---- */

struct log_append {
    int64_t id; /* of the job; unused in a finish or touch, which has its own id and token */
    int64_t token;
    int64_t offset; /* of `data` in the job's log; bytes that the log has already are skipped */
    struct slice data;
    const struct log_mark *marks; /* in the order of their offsets, all within `data` */
    size_t n_marks;
};

/* ---- finish, touch, claim ---- */

struct signal_raise_item {
    struct slice name;
    int64_t count;
};

/* A resource, or the lane of the job, was found busy. */
struct busy_item {
    struct slice name; /* empty: none */
    int64_t for_us;
    struct slice why;
};

struct finish_item {
    int64_t id;
    int64_t token;            /* LEASE_FORGED: the lease was not granted for the job */
    struct slice lease;       /* as the worker sent it */
    enum job_outcome outcome; /* DONE FAILED LATER RETURNED CANCELLED */
    enum job_cause cause;
    bool exited;
    int exit;
    bool final; /* no retry can help */
    int64_t delay_us;
    bool delayed; /* `delay` was given */
    struct slice text;
    bool has_text;
    struct slice set;               /* JSON object or empty */
    struct slice result;            /* JSON or empty */
    const struct submit_item *emit; /* DONE: created in the same commit */
    size_t n_emit;
    const struct signal_raise_item *raises; /* DONE: raised in the same commit */
    size_t n_raises;
    const struct signal_raise_item *uses; /* what it really used of resources */
    size_t n_uses;
    struct busy_item busy;        /* RETURNED: shuts it for everybody */
    struct slice group;           /* DONE: merge patch for its group's data, or an array of them */
    struct slice steps;           /* DONE: JSON array of steps to add to the route; or empty */
    const struct log_append *log; /* NULL: none */
};

struct touch_item {
    int64_t id;
    int64_t token;
    struct slice lease;
    struct slice text;
    bool has_text;
    int64_t done, total;
    bool has_done;
    struct slice unit; /* of done and total */
    bool has_unit;
    int64_t left_us; /* estimated by the program; below 0: unknown */
    bool has_left;
    const struct log_append *log; /* NULL: none */
};

struct claim_queue {
    struct slice name;
    int max; /* maximum jobs of this queue */
};

struct worker_info {
    struct slice name, host, version; /* name empty: an anonymous claimer */
    int64_t pid;                      /* 0: unknown */
    bool described;                   /* it sends `queues` to `broken` in all its claims */
    struct slice queues;              /* JSON object: name to slots */
    int64_t slots;                    /* 0: unknown */
    struct slice broken;              /* JSON object: queue to reason; or empty */

    /* Which process of that name it is: see instance.c. */
    struct slice instance;        /* empty: not sent */
    const struct slice *previous; /* instances that used its directory before */
    size_t n_previous;
    struct slice boot; /* of its machine */
    bool leaves;       /* and releases the name */
};

enum exchange_parts {
    EXCHANGE_RESULTS = 1, /* reply "results" (finish) */
    EXCHANGE_TOUCHED = 2, /* reply "lost" and "cancel" */
    EXCHANGE_JOBS = 4,    /* reply "jobs": this is a claim */
};

struct exchange {
    unsigned parts;
    const struct finish_item *finish;
    size_t n_finish;
    const struct touch_item *touch;
    size_t n_touch;
    size_t n_emit; /* total of the jobs that the finishes emit */

    struct worker_info worker;
    const struct claim_queue *queues;
    size_t n_queues;
    int max;
    int64_t lease_us;
    int64_t wait_us;
    bool all; /* `touch` is everything this worker holds */
    bool has_definitions;
    int64_t definitions; /* number of those it knows; it gets no jobs unless they are current */
    bool commands;       /* grants only jobs with a command, their own or their queue's */
    bool wake;           /* answers other waiting claims of the same worker */
    bool may_command;    /* it may add commands, and change the params of jobs that have one */
};

/* Whether a finish or a touch has a piece of a log. */
bool exchange_has_logs(const struct exchange *x);

/* ---- emit ---- */

struct emit {
    int64_t id; /* the running job */
    int64_t token;
    struct slice lease;
    int64_t seq; /* counts from 1 for each lease; a repeated one gets the same answer */
    const struct submit_item *jobs;
    size_t n_jobs;
    bool visible;        /* created at once, not staged until the attempt ends */
    struct slice cursor; /* JSON, or empty */
    bool may_command;    /* as in struct exchange */
};

/* ---- filters that are commands ---- */

enum filter_answer_kind { FILTER_SAYS_KEEP, FILTER_SAYS_DROP, FILTER_FAILED };

struct filter_answer {
    int64_t id;
    enum filter_answer_kind kind;
    struct slice params; /* KEEP: JSON object to merge, or empty */
    struct slice text;   /* DROP, FAILED: why */
};

/* A worker sends verdicts, and asks for jobs that wait for one. */
struct filter_ask {
    const struct slice *queues;
    size_t n_queues;
    const struct filter_answer *verdicts;
    size_t n_verdicts;
    int max; /* jobs */
    int64_t wait_us;
};

/* ---- single jobs ---- */

enum job_action_kind {
    ACTION_CANCEL,
    ACTION_RETRY,
    ACTION_HOLD,
    ACTION_RELEASE,
    ACTION_CLONE,
    ACTION_NOW,
    ACTION_MOVE,
    ACTION_PATCH,
    ACTION_DELETE,
    ACTION_COUNT
};

struct job_action {
    enum job_action_kind kind;
    int64_t id;
    struct slice queue; /* MOVE */
    /* PATCH replaces the job's params, RETRY and CLONE merge these over them; empty: unchanged. */
    struct slice params;
    struct slice labels; /* PATCH; empty: unchanged */
    /* PATCH: refused unless job_version of the job equals this; empty: not compared. */
    struct slice version;
    bool has_priority;
    int priority;
    bool has_due;
    int64_t due_at;    /* 0: at once */
    struct slice from; /* RETRY: the number or name of a step; empty: where it failed */
    bool anew;         /* RETRY: from the first step */
    /* RETRY: does not wait for its conditions again, nor bring back the jobs it had cancelled. */
    bool alone;
    bool may_command;  /* it may change the params of a job that has its own command */
    int64_t result_id; /* out: the job the action was about; the new one for CLONE */
};

/* ---- many jobs: one durable row, worked off in chunks ---- */

struct job_filter {
    struct slice queue;  /* empty: any */
    unsigned states;     /* bits 1 << enum job_state; 0: any */
    struct slice labels; /* JSON object of strings, all of which it must have; empty: any */
    /* Must occur in the job's params, own command, key, labels or status text; empty: any. */
    struct slice text;
    int64_t ended_before_at; /* 0: any; else only jobs that ended before it */
    int64_t first_id;        /* only jobs from this id on */
    int64_t last_id;         /* 0: any; else only jobs up to this id */
    int64_t group;           /* 0: any; else only its members */
};

struct bulk {
    enum job_action_kind kind; /* CANCEL RETRY HOLD RELEASE NOW MOVE DELETE */
    struct job_filter filter;
    struct slice queue; /* MOVE */
    bool alone;         /* RETRY: see struct job_action */
};

/* ---- definitions of all kinds ---- */

struct definition_put {
    struct slice name;
    struct slice definition; /* canonical JSON */
};

struct definition_puts {
    const struct definition_put *items; /* NULL: the request says nothing of the kind */
    size_t count;
};

/* Puts a set of definitions, or removes one (E_CONFLICT while it is in use). */
struct define {
    struct definition_puts puts[DEFINITION_KINDS];
    bool prune;   /* removes the defined ones that are not in `puts` */
    bool dry_run; /* judges and answers, changes nothing */

    bool removes; /* the definition of this kind and name, instead of all above */
    enum definition_kind kind;
    struct slice name;

    /* Out: one for each missing name, `err` of the op among them; in the op's arena. */
    struct err *refusals;
    size_t n_refusals;
};

enum { DEFINE_REFUSALS_MAX = 100 };

/* ---- queues ---- */

enum queue_op_kind {
    QUEUE_OP_STATE,
    QUEUE_OP_RESTART, /* workers hand its running jobs back and start its programs anew */
};

struct queue_op {
    enum queue_op_kind kind;
    struct slice name;
    enum queue_state state; /* STATE */
};

/* ---- schedules ---- */

enum schedule_op_kind { SCHEDULE_OP_RUN, SCHEDULE_OP_PAUSE, SCHEDULE_OP_RESUME };

struct schedule_op {
    enum schedule_op_kind kind;
    struct slice name;
};

/* ---- signals, joins, topics ---- */

enum signal_op_kind { SIGNAL_OP_RAISE, SIGNAL_OP_CLEAR };

struct signal_op {
    enum signal_op_kind kind;
    struct slice name;
    int64_t count; /* RAISE: added to the signal */
};

enum join_op_kind { JOIN_OP_ARRIVE, JOIN_OP_CLEAR };

struct join_op {
    enum join_op_kind kind;
    struct slice name;
    struct slice params; /* ARRIVE: JSON object or empty */
    struct slice key;    /* CLEAR: only this key */
    bool has_key;
};

struct publish {
    struct slice topic;
    struct slice params; /* JSON object or empty */
    struct slice body;   /* data NULL: none */
    struct slice labels;
    int priority;
    struct slice key; /* a known one is answered with its earlier ids; or empty */
    uint64_t content;
};

struct subscribe {
    struct slice topic;
    struct slice worker;
    int64_t lifetime_us; /* how long the worker may be absent */
};

/* ---- resources ---- */

enum resource_op_kind { RESOURCE_OP_SHUT, RESOURCE_OP_OPEN };

struct resource_op {
    enum resource_op_kind kind;
    struct slice name;
    int64_t for_us;   /* SHUT; 0: until it is opened */
    int64_t until_at; /* SHUT: instead of for_us; 0: not given */
    struct slice why; /* SHUT; may be empty */
};

/* ---- groups ---- */

enum group_op_kind {
    GROUP_OP_OPEN,
    GROUP_OP_SEAL,
    GROUP_OP_CANCEL,
    GROUP_OP_PAUSE,
    GROUP_OP_RESUME,
    GROUP_OP_PATCH,
};

struct group_op {
    enum group_op_kind kind;
    int64_t id;                 /* all but OPEN */
    struct group_choice choice; /* OPEN */
    int64_t parent;             /* OPEN; 0: the root */
    struct slice key;           /* OPEN: a known one is answered with its group; or empty */
    uint64_t content;           /* OPEN: hash of the request */
    struct slice data;          /* PATCH: JSON object */
    int64_t if_version;         /* PATCH */
    bool has_version;
};

/* ---- waiting ---- */

struct job_wait {
    int64_t id;
    int64_t wait_us; /* answered when the job has ended, or after this time */
};

/* ---- what other servers of a shared store tell ---- */

struct news {
    struct slice text;
    bool missed; /* the connection was lost: news was missed */
};

enum op_kind {
    OP_SUBMIT,
    OP_EXCHANGE,
    OP_ACTION,
    OP_BULK,
    OP_DEFINE,
    OP_QUEUE,
    OP_LOG,
    OP_WAIT,
    OP_EMIT,
    OP_NEWS,
    OP_SIGNAL,
    OP_JOIN,
    OP_PUBLISH,
    OP_SUBSCRIBE,
    OP_FILTER,
    OP_RESOURCE,
    OP_SCHEDULE,
    OP_GROUP,
    OP_KIND_COUNT
};

struct op;
typedef void op_done_fn(struct op *op);
typedef bool op_alive_fn(struct op *op);

struct op {
    enum op_kind kind;
    union {
        struct submit submit;
        struct exchange exchange;
        struct job_action action;
        struct bulk bulk;
        struct define define;
        struct queue_op queue;
        struct log_append log;
        struct job_wait wait;
        struct emit emit;
        struct news news;
        struct signal_op signal;
        struct join_op join;
        struct publish publish;
        struct subscribe subscribe;
        struct filter_ask filter;
        struct resource_op resource;
        struct schedule_op schedule;
        struct group_op group;
    };
    struct arena arena; /* for the input */

    struct err err;   /* E_OK: `status` and `reply` are the answer */
    int status;       /* HTTP: 200, 201, 202 */
    struct buf reply; /* JSON (NDJSON for SUBMIT_LINES) */

    op_done_fn *done; /* called once, on the engine's thread */
    /* Whether the client is still connected: asked before a late grant, and before `all` counts.
     * NULL: it is. */
    op_alive_fn *alive;
    void *owner;
    bool may_use_reserve; /* it may wait beyond waiting_max: see struct engine_config */

    /* The engine's own, between arrival and `done`. */
    struct op *next;
    int64_t deadline_at;      /* steady: a waiting op is answered then */
    struct buf cancels;       /* EXCHANGE: jobs that the worker must stop */
    struct buf logs;          /* EXCHANGE: logs that end elsewhere than the worker assumed */
    const struct job *picked; /* EXCHANGE: RUNNING ones were granted; in the batch's arena */
    size_t n_picked;
    size_t n_granted;
    bool answer_now;     /* EXCHANGE: answered without waiting, because an item failed */
    bool over;           /* WAIT on a shared store: the job has ended or does not exist */
    const int64_t *ids;  /* SUBMIT: of its jobs, in a batch with keys; NULL: not made yet */
    const bool *plain;   /* EXCHANGE: which finishes finish_plain has done */
    void *queues;        /* EXCHANGE: the queues it names, looked up */
    uint64_t generation; /* of the engine's queues when they were looked up */
};

void op_init(struct op *op, enum op_kind kind);
void op_deinit(struct op *op);
