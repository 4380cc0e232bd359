/*
 * The heartbeat of the local worker: is its loop alive?
 *
 * Every quarter of the limit one byte goes to the worker, which sends it back from its loop; a
 * stopped one (SIGSTOP, deadlock) does not.  It is taken for hung when a question has been open
 * for the whole limit.  A late look means that this process, or the machine, was stopped: the
 * question then counts from that look on, so that the worker has the full limit again.  HTTP
 * thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct heartbeat {
    int fd;           /* our end, which does not block; -1: none */
    int64_t limit_us; /* for an answer */
    int64_t look_at;  /* the next look is due then */
    int64_t asked_at; /* the oldest question without an answer; 0: none */
    int64_t heard_at; /* the last sign of life */
};

/* `fd` stays the caller's. */
void heartbeat_begin(struct heartbeat *p, int fd, int64_t limit_us, int64_t now_at);

/* Takes what was answered and asks again; to be called at p->look_at.  False: it is hung. */
bool heartbeat_look(struct heartbeat *p, int64_t now_at);
