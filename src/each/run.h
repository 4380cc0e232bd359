/*
 * A run of `each`: who it is, and where it is kept.
 *
 * A run is known by the directory it was started in, its command and its column separator.  It
 * lives in DATA/each/HASH (own/run_dir.h); beside what every run has, `printed` records the printed
 * lines, and `finished` becomes `reopened` when failed lines of a finished run run again.
 * A finished run stays until the same run starts again, or for a month.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "each/line/command.h"
#include "own/run_dir.h"

#define EACH_RUN_KIND "each"
#define EACH_RUN_PRINTED "printed"
#define EACH_RUN_REOPENED "reopened"

struct each_run {
    struct run_dir dir;
    char *cwd;          /* where it was started */
    bool has_all_lines; /* the store has all lines of the input */
};

#define EACH_RUN_INIT ((struct each_run){.dir = RUN_DIR_INIT})

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
