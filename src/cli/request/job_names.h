/*
 * Names of jobs: the first characters of an id, `@last`, or the URL of a job.
 *
 * A line's short names are turned into whole ids before its command runs, so that no command need
 * know of them.  A URL of another server is refused.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "cli/cli.h"

enum { JOB_PREFIX_MIN = 4 };

#define JOB_LAST "@last"

/* `@last`, or at least JOB_PREFIX_MIN characters of an id. */
bool job_name_is_short(const char *text);

/* Asks the server where that is needed.  CLI_OK, or what the line exits with: the cause has been
 * printed. */
int job_names_resolve(struct cli *cli);
