/*
 * `add --lines`: many jobs from a file, one JSON object a line.
 *
 * Lines go to the server in pieces; each is committed by itself, good lines stay when others are
 * bad.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/slice.h"
#include "cli/cli.h"

/* `given` is an object: each of its members goes into every line that has none of that name.
 * Prints the ids, and the faults by file and line; returns the exit status. */
int job_lines_add(struct cli *cli, const char *file, struct slice given);
