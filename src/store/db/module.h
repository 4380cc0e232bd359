/*
 * Databases that live in a module of their own: who does not use them does not carry their libraries.
 *
 * A module is a shared object NAME.so with one visible function.  It is searched in $WAYBILL_MODULES, beside
 * the running program (in a build directory: at its root), and in the directory of the installation, loaded on
 * first use and kept until the process ends.  It must be of the program's own version: the seam is no public
 * interface.  Any thread may load.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "store/db/db.h"

#define DB_MODULE_SYMBOL "waybill_db_module"

/* What the program lends to a module, which includes nothing of the store. */
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

/* Grows with whatever the two sides share. */
#define DB_SEAM (sizeof(struct db_driver) + sizeof(struct db) + sizeof(struct db_call) + SQL_COUNT)

struct db_listener;

/* The text is NULL after a connection that was lost is there again. */
typedef void db_news_fn(void *ctx, const char *text);

struct db_wait {
    int stop_fd; /* the wait ends when it can be read; -1: none */
    int timeout_ms;
    db_news_fn *on_news;
    void *ctx;
};

struct db_module {
    const char *version;
    size_t seam; /* DB_SEAM: of programs and modules that were not built together */
    enum err_code (*open)(const struct db_config *config, struct db **ret_db, struct err *err);

    /* Never fails for want of a connection: it keeps trying while it waits. */
    enum err_code (*listener_open)(const struct db_config *config,
                                   struct db_listener **ret_listener, struct err *err);
    void (*listener_wait)(struct db_listener *l, const struct db_wait *wait);
    void (*listener_close)(struct db_listener *l);
};

typedef const struct db_module *db_module_fn(void);

/* E_INVALID when the URL is of no database that we know, E_UNAVAILABLE when its module cannot be loaded. */
MUST_CHECK enum err_code db_module_for(const char *url, const struct db_module **ret_module,
                                       struct err *err);

extern const struct db_host db_host;
