/*
 * The verbs of the nouns, for the table of commands.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "cli/table/command.h"

extern const struct command queue_verbs[];
extern const struct command topic_verbs[];
extern const struct command signal_verbs[];
extern const struct command join_verbs[];
extern const struct command workers_verbs[];
