/*
 * `each`: a durable xargs.
 *
 * Lines of input become jobs of a queue in the run's own store, kept by the run's own server
 * (own_server); a worker in this process runs them.  Everything happens in one loop: input
 * (each_input), programs (worker/worker.h), output (each_order, each_out).  Printed lines are
 * recorded (each_printed): a killed run continues with nothing lost and little printed twice.
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
    int64_t rate_starts; /* maximum starts … */
    int64_t rate_per_us; /* … in this time; 0: no limit */
    int64_t retries;
    int64_t timeout_us; /* 0: none */
    char line_end;
    bool json;               /* a document for each line that has ended */
    struct outputs *outputs; /* filters of output for people */
    bool keeps_order;
    bool again;  /* start over, discard the earlier run */
    bool failed; /* run the failed lines again, read no input */
    struct each_halt halt;
    const char *results; /* a directory that gets the outputs of each line as files; or NULL */
};

/* Runs it; returns the exit status. */
int each_run_all(struct cli *cli, const struct each_options *options);

/* Prints the commands that each_run_all would run; returns the exit status. */
int each_dry_run(struct cli *cli, const struct each_options *options);

/* Lists the runs of the data directory that are not finished; returns the exit status. */
int each_list_unfinished(struct cli *cli);

/* Prints what the failed lines of the run have printed; returns the exit status. */
int each_show_failed(struct cli *cli, const struct each_command *command);
