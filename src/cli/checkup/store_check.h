/*
 * The store's check: by the server when one runs, else by looking at the files.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "cli/cli.h"

/* `check --store [--full]`: prints what is wrong; CLI_FAILED when anything is. */
int store_check_run(struct cli *cli);
