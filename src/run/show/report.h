/*
 * What came of a run, on standard output: for people, or as one JSON document.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "cli/cli.h"
#include "run/look.h"
#include "run/machine.h"

struct report {
    const struct machine *m;
    const struct look *look;
    const char *state; /* "done", "waiting", "stuck", "stopped", "running", "finished" */
    bool is_ended;     /* nothing is left */
    bool shows_output; /* of the finalisers */
};

/* Prints it. */
MUST_CHECK enum err_code report_print(const struct cli *cli, const struct report *r,
                                      struct err *err);

/* What the failed jobs of the run have printed. */
MUST_CHECK enum err_code report_failed(const struct cli *cli, const struct machine *m,
                                       struct err *err);

/* "waybill run FILE", as it is typed. */
void report_add_command(const struct machine *m, struct buf *out);
