/*
 * Settings: the command line first, then the section `server:` of its definitions, then
 * the defaults.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "server/request/auth.h"

struct definitions;
struct listeners;
struct server_config;

struct settings {
    const char *listen; /* ADDR:PORT */
    const char *url;    /* NULL: from the address */
    const char *store;  /* URL of a shared store; NULL: the embedded one */
    struct slice token; /* empty: none */
    VEC(struct slice) names;
    int subscriptions; /* how many queues of workers' own there may be */
};

/* Reads all definition files of the configuration into `d`, which is empty and gathers
 * mistakes.  E_INVALID and others: all that is wrong is among its faults, and the first is the
 * error.  Names are checked only when there are other mistakes: a name may also be in the
 * store, which the engine checks. */
MUST_CHECK enum err_code settings_read_definitions(const struct server_config *config,
                                                   struct definitions *d, struct err *err);

/* Texts live in the arena or with the configuration.  E_INVALID: the store's URL or token_file;
 * E_NOT_FOUND, E_FORBIDDEN: token_file. */
MUST_CHECK enum err_code settings_make(const struct server_config *config,
                                       const struct definitions *d, struct arena *arena,
                                       struct settings *ret_settings, struct err *err);
/* Checks the `server` sections before anything is opened: a token that cannot be read or used,
 * an address that is none, or one beyond this machine without a token.  Errors have their
 * place, and are gathered where the definitions gather them. */
MUST_CHECK enum err_code settings_check(const struct server_config *config,
                                        const struct definitions *d, struct err *err);

void settings_deinit(struct settings *s);

/* Settings of authentication, once the sockets are open.  E_INVALID when an address beyond
 * loopback is to be served without a token. */
MUST_CHECK enum err_code settings_auth(const struct settings *s, const struct listeners *ls,
                                       struct auth_settings *ret_auth, struct err *err);
