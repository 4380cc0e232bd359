/*
 * Queries: what is read, never changed.  Run on reader threads, each with a read-only store of its
 * own.
 *
 * A query has a time limit: E_TOO_SLOW.  A list reads a bounded number of rows, far below that: it
 * may return a short page with a cursor.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/op.h"
#include "store/groups/groups.h"

struct store;

/* Every kind of query: its function, query_NAME, and the names that are loaded before it.
 *
 *   JOB        one job, whole: {"id",…}
 *   JOBS       {"jobs":[…],"cursor"}
 *   LOG        bytes of a job's log
 *   LOG_TIMES  {"times":[[OFFSET,"…"],…],"attempts":[[NUMBER,OFFSET],…]}
 *   QUEUES     {"queues":[…]} with counts
 *   QUEUE_LOG  {"log":[…]}: what happened to it, the newest first
 *   QUEUE      one queue: state, definition, counts, oldest ready job
 *   WORKERS    {"workers":[…]}
 *   COUNTS     {"counts":{"QUEUE":{"ready":1,…}},"states":{…}}
 *   BULKS      {"bulk":[…]}: chunked work under way, or done within a day
 *   BULK       one of them; done ones are kept a day
 *   PLAN       {"action","jobs","more","examples"}: what a bulk action would do
 *   SIGNALS    {"signals":[…],"cursor"}
 *   SIGNAL     one of them, with those who wait for it
 *   JOINS      {"joins":[…],"cursor"}
 *   JOIN       one of them, with what has arrived
 *   RESOURCES  {"resources":[…],"cursor"}
 *   RESOURCE   one of them, with the jobs that use it
 *   SCHEDULES  {"schedules":[…],"cursor"}
 *   SCHEDULE   one of them, with its next times and what became of the last ones
 *   TOPICS     {"topics":[…]} with the queues that are subscribed
 *   TOPIC      one of them
 *   GROUPS     {"groups":[…],"cursor"}
 *   GROUP      one of them
 *   GROUP_RESULTS  NDJSON: ended members, a page of them
 */
#define QUERY_KINDS(X)                                          \
    X(JOB, job, QUERY_QUEUE_NAMES | QUERY_WORKER_NAMES)         \
    X(JOBS, jobs, QUERY_QUEUE_NAMES | QUERY_WORKER_NAMES)       \
    X(LOG, log, 0)                                              \
    X(LOG_TIMES, log_times, 0)                                  \
    X(QUEUES, queues, QUERY_QUEUE_NAMES | QUERY_WORKER_NAMES)   \
    X(QUEUE_LOG, queue_log, QUERY_QUEUE_NAMES)                  \
    X(DROPS, drops, QUERY_QUEUE_NAMES)                          \
    X(QUEUE, queue, QUERY_QUEUE_NAMES | QUERY_WORKER_NAMES)     \
    X(WORKERS, workers, QUERY_QUEUE_NAMES | QUERY_WORKER_NAMES) \
    X(COUNTS, counts, QUERY_QUEUE_NAMES)                        \
    X(BULKS, bulks, 0)                                          \
    X(BULK, bulk, 0)                                            \
    X(PLAN, plan, QUERY_QUEUE_NAMES | QUERY_WORKER_NAMES)       \
    X(SIGNALS, signals, 0)                                      \
    X(SIGNAL, signal, 0)                                        \
    X(JOINS, joins, 0)                                          \
    X(JOIN, join, 0)                                            \
    X(RESOURCES, resources, QUERY_QUEUE_NAMES)                  \
    X(RESOURCE, resource, QUERY_QUEUE_NAMES)                    \
    X(SCHEDULES, schedules, 0)                                  \
    X(SCHEDULE, schedule, 0)                                    \
    X(TOPICS, topics, QUERY_QUEUE_NAMES)                        \
    X(TOPIC, topic, QUERY_QUEUE_NAMES)                          \
    X(GROUPS, groups, 0)                                        \
    X(GROUP, group, 0)                                          \
    X(GROUP_RESULTS, group_results, QUERY_QUEUE_NAMES)

enum { QUERY_QUEUE_NAMES = 1, QUERY_WORKER_NAMES = 2 };

#define QUERY_KIND(kind, function, names) QUERY_##kind,
enum query_kind { QUERY_KINDS(QUERY_KIND) QUERY_KIND_COUNT };
#undef QUERY_KIND

struct query {
    enum query_kind kind;
    int64_t id;                  /* JOB, LOG, BULK */
    struct slice name;           /* QUEUE, QUEUE_LOG, DROPS, SIGNAL, JOIN, SCHEDULE, TOPIC */
    struct job_filter filter;    /* JOBS, PLAN */
    struct groups_wanted groups; /* GROUPS: kind, parent, state */
    int64_t last_id;             /* GROUP_RESULTS, in and out: the last member that was read */
    enum job_action_kind action; /* PLAN; `name` is the queue that MOVE goes to */
    bool whole;                  /* JOBS: values of any size, but no bodies */
    int limit;                   /* of lists: 1 to 1000; SCHEDULE: how many next times */
    int64_t from_at;             /* SCHEDULE: next times after this; 0: after now */
    struct slice cursor;    /* JOBS: empty: from the newest; others: data NULL: from the first */
    int64_t offset, length; /* LOG: length < 0: to the end; offset < 0: from the end */
    int64_t now_at;
    int64_t at;      /* RESOURCE: as it will be then; 0: now */
    const char *url; /* base of full ids; NULL: none */

    struct arena arena; /* for the input */
    struct err err;
    struct buf reply;
    int64_t log_size;  /* LOG, out: bytes in all */
    int64_t log_first; /* LOG, out: offset of the first byte in `reply` */
    bool log_ended;    /* LOG, out: the job has ended, nothing more will come */
    bool ended;        /* JOB, GROUP_RESULTS (nothing is left), out */

    void (*done)(struct query *q);
    void *owner;
    struct query *next;
};

void query_init(struct query *q, enum query_kind kind);
void query_deinit(struct query *q);

void query_run(struct store *store, struct query *q);
