/*
 * The server: HTTP on TCP and on a Unix socket, over one data directory, until it is told to stop.
 *
 * Threads: the caller's becomes the HTTP thread, one engine thread owns the engine and the writing
 * store, readers own a reading store each, and on a shared store one receives notifications of
 * other servers.  They meet in inboxes (inbox.h) and nowhere else.
 *
 * Signals: TERM and INT stop it (a second one at once), HUP reads the definitions again.  They
 * must not be handled elsewhere in the process.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SERVER_LISTEN_DEFAULT "127.0.0.1:6769"
#define SERVER_LISTEN_NONE "none" /* the Unix socket alone */
#define SERVER_LOCK_NAME "waybill.lock"
#define SERVER_SOCKET_NAME "waybill.sock"

struct definition_faults;

/* All texts are the caller's and outlive server_run.  A NULL may be set by the section
 * `server:` of the definitions. */
struct server_config {
    const char *data_dir;     /* made with mode 0700 when it is not there */
    const char *listen;       /* ADDR:PORT, port 0 picks a free one; or SERVER_LISTEN_NONE; NULL:
                                 SERVER_LISTEN_DEFAULT */
    const char *url;          /* base of full ids; NULL: http://ADDR:PORT */
    const char *token;        /* NULL: the first line of `server.token_file`, else none */
    const char *store_url;    /* of a shared store; NULL: the embedded one */
    const char *const *names; /* host names requests may come in under, besides `server.names` */
    size_t n_names;
    const char *const *definitions; /* files and directories, see definition_files.h */
    size_t n_definitions;
    bool trust_clock;             /* though it is more than a year off the store's newest ids */
    int slots;                    /* of the local worker; 0: none */
    const char *default_data_dir; /* there the local worker has a short name; NULL: nowhere */
    int64_t client_stall_us;      /* without one byte of a body, or of a reply taken */
    int64_t worker_silence_us;    /* after which the local worker counts as hung */
    const char *const *worker_options; /* more words for its command line */
    size_t n_worker_options;
    /* Receives all mistakes of the definitions when the server cannot start. */
    struct definition_faults *faults;
};

/* Returns E_OK after a stop that was asked for.  Before it is ready every failure comes back as
 * an error: E_UNAVAILABLE when the directory or the port is in use or the store is of a newer
 * version, E_INVALID for what was configured, E_FULL, E_INTERNAL. */
MUST_CHECK enum err_code server_run(const struct server_config *config, struct err *err);
