/*
 * The health check for monitoring: one line, and the exit status that monitoring plugins have.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "cli/cli.h"

/* 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. */
int health_check(struct cli *cli);
