/*
 * Short names of jobs: the first characters of an id, or `@last`.
 *
 * A line's jobs are turned into whole ids before its command runs, so that no command need know of
 * it.
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
