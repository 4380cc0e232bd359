/*
 * How a run went: for people, on standard error, and as an exit status.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "cli/cli.h"
#include "each/line/command.h"
#include "own/bar.h"

struct each_end {
    const struct each_command *command;
    const char *server_url;
    struct run_result result;
    bool finished; /* all of it, or with --failed all failed lines */
    bool is_open;  /* with --failed: lines or outputs are left, or lines may not have been read */
    int64_t unprinted;
    bool halted;   /* by --halt */
    int signal;    /* that ended it; 0: none */
    int out_fault; /* errno of standard output; 0: none */
    struct err err;
};

/* Says how it went, and what to do next; returns the exit status. */
int each_report(const struct cli *cli, const struct each_end *end);
