/*
 * A load generator: one thread, many connections, raw sockets and epoll, with almost no overhead.
 *
 * Three parts.  A protocol (struct load_protocol) knows how to say submit, claim and finish to one
 * kind of server, and what its answers mean; it sends nothing by itself.  A workload
 * (workload.c) decides what to ask for next, in the same way whatever the protocol.  The core
 * (load.c) moves bytes, keeps time and counts.  Waybill's own protocol is http.h; others may
 * be added without touching the core.
 *
 * Load goes to loopback addresses and Unix sockets only, and is bounded in time and, if wanted, in
 * count.  A request without a reply after LOAD_PATIENCE_US fails the run.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/socket.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define LOAD_PATIENCE_US (60 * INT64_C(1000000))
#define LOAD_BUFFER_MAX (64U << 20)
#define LOAD_CONNECTIONS_MAX 1000
#define LOAD_BATCH_MAX 1000
#define LOAD_SERVERS_MAX 16

/* The 200 bytes every job carries: params of a Waybill job, body of any other. */
extern const struct slice load_payload;

/* Lengths of time in buckets less than 2 % wide. */
#define LOAD_BUCKETS 2048
struct load_histogram {
    uint64_t counts[LOAD_BUCKETS];
    uint64_t total;
    int64_t max_us;
};

void load_histogram_add(struct load_histogram *h, int64_t us);

/* The length that `share` (0 … 1) of all lengths do not pass; 0 when there are none. */
int64_t load_histogram_at(const struct load_histogram *h, double share);

struct load_address {
    union {
        struct sockaddr any;
        struct sockaddr_storage room;
        struct sockaddr_un local;
    } at;
    socklen_t size;
};

/* `127.0.0.1:PORT`, `localhost:PORT`, `[::1]:PORT` or `unix:PATH`. */
MUST_CHECK enum err_code load_address_parse(const char *text, struct load_address *ret_address,
                                            struct err *err);

enum load_kind {
    LOAD_SUBMIT,  /* submits of `batch` jobs, each connection one request after the other */
    LOAD_LIVES,   /* as many submits as claims and finishes: the depth stays what it was */
    LOAD_LATENCY, /* one submit at a time, to a claimer that waits on a second connection */
};

struct load_plan {
    struct load_address addresses[LOAD_SERVERS_MAX]; /* connections go to them in turn */
    unsigned servers;
    const char *queue;
    const char *group; /* that the jobs join; NULL: none */
    enum load_kind kind;
    unsigned connections;
    unsigned batch;
    uint64_t max_jobs; /* 0: bounded by time alone */
    int64_t warm_us;   /* not counted */
    int64_t run_us;
};

struct load_report {
    uint64_t jobs;      /* answered while it counted */
    int64_t elapsed_us; /* how long it counted */
    uint64_t submitted; /* over the whole run, warming up and ending included */
    uint64_t finished;
    int64_t cpu_us; /* used up by the generator itself */
    struct load_histogram latency;
};

/* What an answer says has happened.  `unclaimed` is what a claim asked for and did not get. */
struct load_events {
    unsigned submitted;
    unsigned claimed;
    unsigned unclaimed;
    unsigned finished;
};

struct load_conn {
    int fd;
    unsigned index;
    struct buf in; /* from in_at on not yet understood */
    size_t in_at;
    struct buf out; /* from out_at on not yet sent */
    size_t out_at;
    bool watches_out;
    const struct load_plan *plan;
    void *talk; /* the protocol's own part */

    /* The workload's own part. */
    unsigned submits; /* asked for, not answered */
    unsigned claims;
    unsigned finishes;
    unsigned cycle;    /* submitted in this round, not yet claimed for */
    int64_t in_flight; /* submitted less finished: below 0 when others' jobs came here */
    bool idle;
    int64_t asked_at;
};

/* Where it connects to. */
static inline const struct load_address *load_address_of(const struct load_conn *c)
{
    return &c->plan->addresses[c->index % c->plan->servers];
}

struct load_protocol {
    bool pipelines; /* claims may follow submits without waiting for their answers */
    bool pushes;    /* jobs come by themselves after the first claim, `batch` in hand at most */

    /* Gives the connection its `talk`, and its fd where connecting takes more than an address. */
    enum err_code (*open)(struct load_conn *c, struct err *err);
    void (*close)(struct load_conn *c);

    /* Each adds its request to c->out.  `claim` also finishes what is held; both it and `finish`
     * return how many jobs they finish. */
    void (*submit)(struct load_conn *c, unsigned jobs);
    unsigned (*claim)(struct load_conn *c, unsigned jobs, unsigned wait_s);
    unsigned (*finish)(struct load_conn *c);

    /* Parses one or more replies.  Uses 0 bytes of `in` when a reply is incomplete. */
    enum err_code (*input)(struct load_conn *c, struct slice in, size_t *ret_used,
                           struct load_events *events, struct err *err);
};

struct load {
    const struct load_protocol *protocol;
    const struct load_plan *plan;
    struct load_report *report;
    struct load_conn *conns;
    int epoll_fd;
    unsigned busy; /* connections that still wait for something */
    bool stopped;
    int64_t now_at; /* of the monotonic clock, as all instants here */
    int64_t count_from_at;
    int64_t until_at;
    int64_t last_at;  /* of the last job counted */
    int64_t alarm_at; /* calls load_workload_alarm; TIME_NEVER: none */
    uint64_t begun;
};

/* Runs the plan to its end.  E_UNAVAILABLE: no connection, or lost; E_TOO_SLOW: no answer. */
MUST_CHECK enum err_code load_run(const struct load_protocol *protocol,
                                  const struct load_plan *plan, struct load_report *ret_report,
                                  struct err *err);

/* For workloads: no new jobs may be started. */
bool load_over(const struct load *l);

/* For workloads: how many of `jobs` may still be begun; 0 when the run is over. */
unsigned load_take(struct load *l, unsigned jobs);

/* For workloads: counts `n` completed jobs, and the time since the instant they were asked for. */
void load_count(struct load *l, unsigned jobs);
void load_time(struct load *l, int64_t since_at);

/* For workloads: the connection waits for nothing more. */
void load_idle(struct load *l, struct load_conn *c);

/* The workload's side: what to ask first, after an answer, and when the alarm goes off. */
void load_workload_start(struct load *l, struct load_conn *c);
void load_workload_next(struct load *l, struct load_conn *c, const struct load_events *events);
void load_workload_alarm(struct load *l);
