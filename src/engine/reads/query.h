/*
 * Queries: what is read, never changed.  Run on reader threads, each with a read-only store of its own.
 *
 * A query has a time limit: E_TOO_SLOW.  A list reads a bounded number of rows: it comes back short with a
 * cursor long before.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "engine/op.h"

struct store;

enum query_kind {
    QUERY_JOB,       /* one job, whole: {"id",…} */
    QUERY_JOBS,      /* {"jobs":[…],"cursor"} */
    QUERY_LOG,       /* bytes of a job's log */
    QUERY_LOG_TIMES, /* {"times":[[OFFSET,"…"],…],"attempts":[[NUMBER,OFFSET],…]} */
    QUERY_QUEUES,    /* {"queues":[…]} with counts */
    QUERY_QUEUE_LOG, /* {"log":[…]}: what happened to it, the newest first */
    QUERY_QUEUE,     /* one queue: state, definition, counts, oldest ready job */
    QUERY_WORKERS,   /* {"workers":[…]} */
    QUERY_COUNTS,    /* {"counts":{"QUEUE":{"ready":1,…}},"states":{…}} */
    QUERY_BULKS,     /* {"bulk":[…]}: chunked work under way, or done within a day */
    QUERY_BULK,      /* one of them; done ones are kept a day */
    QUERY_PLAN,      /* {"action","jobs","more","examples"}: what a bulk action would do */
    QUERY_SIGNALS,   /* {"signals":[…],"cursor"} */
    QUERY_SIGNAL,    /* one of them, with those who wait for it */
    QUERY_JOINS,     /* {"joins":[…],"cursor"} */
    QUERY_JOIN,      /* one of them, with what has arrived */
    QUERY_TOPICS,    /* {"topics":[…]} with the queues that are subscribed */
    QUERY_TOPIC,     /* one of them */
    QUERY_KIND_COUNT
};

struct query {
    enum query_kind kind;
    int64_t id;               /* JOB, LOG, BULK */
    struct slice name;        /* QUEUE, QUEUE_LOG, SIGNAL, JOIN, TOPIC */
    struct job_filter filter; /* JOBS, PLAN */
    enum act_kind act;        /* PLAN; `name` is the queue that MOVE goes to */
    bool whole;               /* JOBS: values of any size, but no bodies */
    int limit;                /* of lists: 1 to 1000 */
    struct slice cursor;      /* JOBS: empty: from the newest; others: data NULL: from the first */
    int64_t offset, length; /* LOG: length < 0: to the end; offset < 0: that many before the end */
    int64_t now_at;
    const char *url; /* base of full ids; NULL: none */

    struct arena arena; /* for the input */
    struct err err;
    struct buf reply;
    int64_t log_size;  /* LOG, out: bytes in all */
    int64_t log_first; /* LOG, out: offset of the first byte in `reply` */
    bool log_ended;    /* LOG, out: the job has ended, nothing more will come */
    bool ended;        /* JOB, out */

    void (*done)(struct query *q);
    void *owner;
    struct query *next;
};

void query_init(struct query *q, enum query_kind kind);
void query_deinit(struct query *q);

void query_run(struct store *store, struct query *q);
