/*
 * The requests of a worker to its server.
 *
 * Three kinds, all POST /v1/claim:
 * - updates send finishes, heartbeats, status and logs, and claim jobs for the free capacity; the
 *   server replies at once, and several may be under way;
 * - one waits for jobs, while there is capacity and nothing to send;
 * - one listens, always: for cancels and changed definitions.
 * The jobs that a request may be granted are reserved, so that never more come than can be started.
 *
 * A worker with topics subscribes before it reads the queues: at its start, after the server was
 * unreachable, and when the queue of a subscription is gone.
 *
 * While the server is unreachable nothing is dropped: requests are made again after growing pauses.
 * After a lost reply the worker lists what it holds ("all"), and the server takes back whatever
 * else it had granted.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct worker;
struct talk_request;
struct async_request;

struct talk {
    struct talk_request *requests; /* under way */
    bool waiting;                  /* one of them is a TALK_WAIT */
    bool listening;
    bool is_refused; /* another worker uses the name */
    bool leaving;    /* the request that gives up the name was sent */
    struct async_request *queues_request;
    struct async_request *subscribe_request;
    size_t subscribed;     /* number of topics subscribed so far, in order */
    int64_t subscribe_at;  /* steady: no earlier than this */
    int reserved;          /* by all requests under way */
    bool woken;            /* the waiting request was told to return */
    int64_t wake_again_at; /* steady: when to tell it again; TIME_NEVER */
    int64_t wake_pause_us;

    bool send_all_held;    /* the next update lists every job held */
    bool send_description; /* the next request has slots, queues and version */
    size_t turn;           /* the queue to name first, when queues take turns */
    int64_t heartbeat_at;  /* steady */
    int64_t resume_at;     /* steady: nothing is sent before */
    int64_t pause_us;
    bool disconnected;   /* and that was logged */
    bool connected_once; /* the server has replied once */
    int64_t silent_at;   /* steady: when silence is logged; 0: not set, TIME_NEVER: it was */

    struct buf body; /* of the request being made */
};

void talk_init(struct worker *w);

/* Cancels all requests under way. */
void talk_deinit(struct worker *w);

/* Sends what is due; called in each pass of the loop. */
void talk_send(struct worker *w);

/* All results have reached the server. */
bool talk_is_quiet(const struct worker *w);

/* Gives up the name at the server; true when that is done, or impossible. */
bool talk_leave(struct worker *w);
