/*
 * A run of `each`: who it is, and where it is kept.
 *
 * A run is known by the directory it was started in, its command and its column separator.  It
 * lives in DATA/each/HASH: `lock` is held while a process runs it, `run.json` describes it, `store`
 * is the data directory of its server, `printed` records the printed lines, `finished` is there
 * when all of it has ended; it becomes `reopened` when failed lines of a finished run run again.
 * A finished run stays until the same run starts again, or for a month.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/os/own_dir.h"
#include "each/line/command.h"

#define EACH_RUN_STORE "store"
#define EACH_RUN_PRINTED "printed"
#define EACH_RUN_FINISHED "finished"
#define EACH_RUN_REOPENED "reopened"
#define EACH_RUN_IDENTITY "run.json"
#define EACH_RUN_LOCK "lock"

struct each_run {
    char *dir;          /* of the run */
    char *store;        /* data directory of its server */
    char *cwd;          /* where it was started */
    struct own_dir own; /* `holder` is at it */
    bool is_there;      /* it has a store */
    bool is_finished;   /* and all of it has ended */
    bool has_all_lines; /* the store has all lines of the input */
};

#define EACH_RUN_INIT ((struct each_run){.own = OWN_DIR_INIT})

void each_run_close(struct each_run *r);
static inline void each_run_cleanup(struct each_run *r)
{
    each_run_close(r);
}

/* Makes its directory and takes the lock; *ret_run has a holder when another process holds it. */
MUST_CHECK enum err_code each_run_open(const char *data_dir, const struct each_command *command,
                                       struct each_run *ret_run, struct err *err);

/* Does this command continue a run?  Changes nothing. */
MUST_CHECK enum err_code each_run_find_unfinished(const char *data_dir,
                                                  const struct each_command *command,
                                                  bool *ret_found, struct err *err);

/* The error "this run is already active", with the process id if known. */
enum err_code each_run_busy(const struct each_run *r, struct err *err);

/* Removes what the run before left.  Can be repeated after a kill. */
MUST_CHECK enum err_code each_run_begin_anew(struct each_run *r, struct err *err);

/* All of it has ended. */
MUST_CHECK enum err_code each_run_finish(struct each_run *r, struct err *err);

/* Lines of a finished run run again: until they have ended it is unfinished. */
MUST_CHECK enum err_code each_run_reopen(struct each_run *r, struct err *err);

/* The input of a reopened run has more lines than before. */
MUST_CHECK enum err_code each_run_grows(struct each_run *r, struct err *err);

/* Removes runs that finished more than a month ago; errors are ignored. */
void each_run_sweep(const char *data_dir);

/* Waits until the server of an earlier process, which may still be stopping, has left the store. */
MUST_CHECK enum err_code each_run_wait_for_store(const struct each_run *r, struct err *err);
