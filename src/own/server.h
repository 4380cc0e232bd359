/*
 * The server of a run: a child on the run's store, reached by its Unix socket, and over TCP only
 * where that is asked for.
 *
 * It ends with this process in any case: the kernel signals it when our main thread is gone.  Start
 * it before a worker in this process, which takes every child that comes later for a job's.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct own_server_config {
    const char *data_dir;
    const char *listen;     /* ADDR:PORT; NULL: the Unix socket alone */
    const char *token_file; /* NULL: none */
    int slots;              /* of its local worker; 0: it has none */
};

struct own_server {
    pid_t pid;
    int out_fd; /* its standard output; ends with it */
    char *url;  /* unix:PATH */
    char *http; /* http://ADDR:PORT where it listens; or NULL */
};

#define OWN_SERVER_INIT ((struct own_server){.out_fd = -1})

/* Returns when it is ready.  E_UNAVAILABLE: it is not, and has said why on standard error. */
MUST_CHECK enum err_code own_server_start(struct own_server *s,
                                          const struct own_server_config *config, struct err *err);

/* Stops it and waits until it has closed its store; kills it if that takes too long. */
void own_server_stop(struct own_server *s);
static inline void own_server_cleanup(struct own_server *s)
{
    own_server_stop(s);
}
