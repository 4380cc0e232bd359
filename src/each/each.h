/*
 * `each`: a durable xargs.
 *
 * Lines of input become jobs of a queue in a store of the run's own, which a server of its own keeps
 * (each_server); a worker in this process carries them out.  Everything happens in one loop: input
 * (each_input), programs (worker/worker.h), output (each_order, each_out).  What is printed is marked
 * (each_printed), so that a run that was killed goes on with nothing lost and little twice.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/cli.h"
#include "each/halt.h"
#include "each/line/command.h"

struct each_options {
    const struct each_command *command;
    int in;              /* where lines are read from */
    int slots;           /* 0: one a core */
    int64_t rate_starts; /* at most so many starts … */
    int64_t rate_per_us; /* … in this time; 0: no limit */
    int64_t retries;
    int64_t timeout_us; /* 0: none */
    char line_end;
    bool json;               /* a document for each line that has ended */
    struct outputs *outputs; /* of what is for people */
    bool keeps_order;
    bool again;  /* begin anew, whatever there was */
    bool failed; /* run what has failed once more, read no input */
    struct each_halt halt;
    const char *results; /* a directory that gets the outputs of each line as files; or NULL */
};

/* Runs it; returns the exit status. */
int each_run_all(struct cli *cli, const struct each_options *options);

/* Lists the runs of the data directory that are not finished; returns the exit status. */
int each_list_unfinished(struct cli *cli);

/* Prints what the failed lines of the run have printed; returns the exit status. */
int each_show_failed(struct cli *cli, const struct each_command *command);
