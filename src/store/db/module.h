/*
 * Databases in loadable modules, so that the program does not need their libraries.
 *
 * A module is a shared object NAME.so with one visible function.  It is searched in
 * $WAYBILL_MODULES, beside the running program (in a build directory: at its root) and in the
 * installation's module directory, loaded on first use and kept until the process ends.  Its
 * version must be the program's: the interface is not public.  Any thread may load.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "store/db/db.h"

#define DB_MODULE_SYMBOL "waybill_db_module"

/* What a module gets from the program: it includes nothing else of the store. */
struct db_host {
    const struct sql_text *texts;
    int n_texts;
    const struct sql_migration *migrations;
    int n_migrations;
    bool (*fault_hit)(const char *name);
};

struct db_config {
    const struct db_host *host;
    const char *url;
    bool read_only;
    int64_t read_limit_us; /* 0: none */
};

/* Changes when something that both sides share changes. */
#define DB_SEAM (sizeof(struct db_driver) + sizeof(struct db) + sizeof(struct db_call) + SQL_COUNT)

struct db_listener;

/* The text is NULL after a reconnect. */
typedef void db_news_fn(void *ctx, const char *text);

struct db_wait {
    int stop_fd; /* the wait ends when it is readable; -1: none */
    int timeout_ms;
    db_news_fn *on_news;
    void *ctx;
};

struct db_module {
    const char *version;
    size_t seam; /* DB_SEAM: tells a module that was built from other sources */
    enum err_code (*open)(const struct db_config *config, struct db **ret_db, struct err *err);

    /* Does not fail when the database is unreachable: listener_wait reconnects. */
    enum err_code (*listener_open)(const struct db_config *config,
                                   struct db_listener **ret_listener, struct err *err);
    void (*listener_wait)(struct db_listener *l, const struct db_wait *wait);
    void (*listener_close)(struct db_listener *l);
};

typedef const struct db_module *db_module_fn(void);

/* E_INVALID: unknown kind of URL; E_UNAVAILABLE: the module cannot be loaded. */
MUST_CHECK enum err_code db_module_for(const char *url, const struct db_module **ret_module,
                                       struct err *err);

extern const struct db_host db_host;
