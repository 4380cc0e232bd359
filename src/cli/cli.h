/*
 * The command line: one invocation, from its arguments to its exit status.
 *
 * Answers go to standard output, errors to standard error as "waybill: cause".  An error is printed
 * once, where a command gives up.  When standard output is closed early, the rest is silence.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/table/args.h"
#include "cli/view/output.h"
#include "cli/view/screen.h"
#include "worker/client/client.h"

/* Exit statuses; part of the public interface. */
enum {
    CLI_OK = 0,
    CLI_FAILED = 1, /* the work failed */
    CLI_USAGE = 2,
    CLI_NOT_FOUND = 3,
    CLI_REFUSED = 4,
    CLI_NO_SERVER = 5, /* or temporarily unavailable */
    CLI_NOT_NOW = 75,
};

struct cli {
    struct args args;
    struct screen screen;
    bool json;
    struct outputs *outputs; /* filters of output for people; NULL with --json */
    struct client *client;   /* opened on first use */
    bool misconfigured;      /* the client could not be opened: wrong URL or token */
    struct arena arena;      /* what the line's words were converted to */
};

/* Runs one line, with argv[0]; returns the exit status. */
int cli_main(int argc, char **argv);

int cli_exit_status(enum err_code code);

/* Prints the error; returns its exit status. */
int cli_fail(const struct cli *cli, const struct err *err);

/* Prints a usage error of the command and where to read on; returns CLI_USAGE. */
int cli_usage(const struct cli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* When the first word of a line that takes `-- CMD` is a program: says how it is written. */
void cli_hint_program(const struct cli *cli);

/* Processors that we may use. */
int cli_cores(void);

/* As --log-level says. */
void cli_set_log_level(const struct args *a);

/* Which server the line names; for a client beside the one of this invocation. */
struct client_config cli_client_config(const struct cli *cli);

/* The client of this invocation. */
MUST_CHECK enum err_code cli_client(struct cli *cli, struct client **ret_client, struct err *err);

#define CLI_PATIENCE_S 10 /* with a server that says nothing, unless it was asked to wait */

/* One call to the server; `reply` must be empty and gets the JSON (unless on_data takes it). */
MUST_CHECK enum err_code cli_call(struct cli *cli, const struct client_request *request,
                                  struct client_reply *reply, struct err *err);

/* GET of a path. */
MUST_CHECK enum err_code cli_get(struct cli *cli, const char *path, struct client_reply *reply,
                                 struct err *err);
