/*
 * The plan of a job, for people: `add --dry-run`.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "cli/view/screen.h"

/* The server's answer to a submit that is only tried. */
void plan_print(const json_t *answer, const struct screen *s);
