/*
 * The talk with the server: what a worker asks, tells and is told.
 *
 * Three kinds of requests, all POST /v1/claim:
 * - short ones tell whatever there is to tell (ends, heartbeats, status, logs) and take jobs for the room
 *   that there is; they are answered at once, and several may be under way;
 * - one that waits for jobs, while there is room and nothing to tell;
 * - one that listens, always: for cancels and for changed definitions.
 * What a request under way may be granted is reserved, so that no job comes for which there is no room.
 *
 * Besides, before it asks for the queues, a worker with topics tells the server of each that it is subscribed to:
 * at its start, when the server was away, and when a queue of its own is gone.
 *
 * When the server is away, nothing is forgotten: requests are made anew with growing pauses.  After a reply that
 * was lost the worker says what it holds ("all"), and whatever else was granted to it goes back.
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
    bool waiting;                  /* one of them waits for jobs */
    bool listening;
    bool is_refused; /* another worker has the name */
    bool leaving;    /* the name was given back, or is about to be */
    struct async_request *queues_request;
    struct async_request *subscribe_request;
    size_t subscribed;     /* so many of the topics, the first ones, are told */
    int64_t subscribe_at;  /* steady: not before */
    int reserved;          /* jobs that requests under way may be granted */
    bool woken;            /* the one that waits has been told to return */
    int64_t wake_again_at; /* steady: it was not there yet when it was told so; TIME_NEVER */
    int64_t wake_pause_us;

    bool send_all_held;    /* the next claim tells all that is held */
    bool send_description; /* the next request says what this worker is */
    size_t turn;           /* the queue that is named first, when not all can be */
    int64_t heartbeat_at;  /* steady: the next heartbeat */
    int64_t resume_at;     /* steady: the server was away; nothing is sent before */
    int64_t pause_us;
    bool disconnected;   /* said so in the log */
    bool connected_once; /* the server has answered once */
    int64_t silent_at; /* steady: no answer until then is told; 0: not set, TIME_NEVER: was told */

    struct buf body; /* of the request being made */
};

void talk_init(struct worker *w);

/* Forgets all requests under way. */
void talk_deinit(struct worker *w);

/* Sends what is to be sent now; called once a pass of the loop. */
void talk_send(struct worker *w);

/* Everything that was to be told is with the server. */
bool talk_is_quiet(const struct worker *w);

/* Gives the name back to the server; true when that was done, or cannot be. */
bool talk_leave(struct worker *w);
