/*
 * Starts the process of the local worker: its name, arguments, environment and descriptors.
 *
 * HTTP thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

struct server;
struct worker_child;

/* HOST-serve, or HOST-serve-XXXX where several servers have that host name; lives in the server's
 * arena. */
const char *worker_exec_name(struct server *s);

/* Starts `waybill worker …` with that end of the pair of sockets.  Returns its pid, or -1 with
 * errno. */
pid_t worker_exec(const struct worker_child *w, int its_end);
