/*
 * The server of a run: a child on the run's store, reached by its Unix socket alone.
 *
 * It ends with this process in any case: the kernel signals it when our main thread is gone.  Start
 * it before the worker, which takes every child that comes later for a job's.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct each_server {
    pid_t pid;
    int out_fd; /* its standard output; ends with it */
    char *url;  /* unix:PATH */
};

#define EACH_SERVER_INIT ((struct each_server){.out_fd = -1})

/* Returns when it is ready.  E_UNAVAILABLE: it is not, and has said why on standard error. */
MUST_CHECK enum err_code each_server_start(struct each_server *s, const char *data_dir,
                                           struct err *err);

/* Stops it and waits until it has closed its store; kills it if that takes too long. */
void each_server_stop(struct each_server *s);
static inline void each_server_cleanup(struct each_server *s)
{
    each_server_stop(s);
}
