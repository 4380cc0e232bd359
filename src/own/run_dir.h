/*
 * The directory of a run that needs no daemon (`each`, `run`): DATA/KIND/HASH.
 *
 * `lock` is held while a process works on the run, `run.json` says which run it is, `store` is the
 * data directory of its server, `finished` is there when all of it has ended.  Whatever else is in
 * it belongs to the kind.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/os/own_dir.h"
#include "base/slice.h"

#define RUN_DIR_STORE "store"
#define RUN_DIR_FINISHED "finished"
#define RUN_DIR_IDENTITY "run.json"
#define RUN_DIR_LOCK "lock"

#define RUN_DIR_IDENTITY_MAX ((size_t)1 << 20)

struct run_dir {
    char *path;
    char *store;        /* data directory of its server */
    struct own_dir own; /* `holder` is at it */
    bool is_there;      /* it has a store */
    bool is_finished;   /* and all of it has ended */
};

#define RUN_DIR_INIT ((struct run_dir){.own = OWN_DIR_INIT})

void run_dir_close(struct run_dir *d);
static inline void run_dir_cleanup(struct run_dir *d)
{
    run_dir_close(d);
}

/* Sets the paths; `kind` is the directory below DATA.  Touches no file. */
MUST_CHECK enum err_code run_dir_name(struct run_dir *d, const char *data_dir, const char *kind,
                                      struct slice identity, struct err *err);

/* Makes the named directory and takes the lock; it has a holder when another process holds it.
 * E_CONFLICT: the directory is of a run with another identity. */
MUST_CHECK enum err_code run_dir_open(struct run_dir *d, struct slice identity, struct err *err);

/* The error "this run is already active", with the process id if known. */
enum err_code run_dir_busy(const struct run_dir *d, struct err *err);

/* Of a file in it. */
bool run_dir_has(const struct run_dir *d, const char *name);

/* On disk when it returns: content, and its name. */
MUST_CHECK enum err_code run_dir_write(const struct run_dir *d, const char *name,
                                       struct slice content, struct err *err);

/* A file that is not there stays so. */
MUST_CHECK enum err_code run_dir_remove(const struct run_dir *d, const char *name, struct err *err);

/* Removes the store, the files `names` (up to a NULL) and `finished`, this last: a process killed
 * in between starts here again. */
MUST_CHECK enum err_code run_dir_clear(struct run_dir *d, const char *const *names,
                                       struct err *err);

/* All of it has ended. */
MUST_CHECK enum err_code run_dir_finish(struct run_dir *d, struct err *err);

/* Removes the runs below DATA/KIND that finished longer ago than that; errors are ignored. */
void run_dir_sweep(const char *data_dir, const char *kind, int64_t keep_us);

/* Waits until the server of an earlier process, which may still be stopping, has left the store. */
MUST_CHECK enum err_code run_dir_wait_for_store(const struct run_dir *d, struct err *err);
