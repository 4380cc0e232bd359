/*
 * Help, made from the table of commands.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>

#include "cli/table/command.h"

/* `screen`: columns of the terminal, 0 when it is none.  Lines are wrapped to it, and never longer
 * than is good to read. */

/* All verbs, one line each. */
void help_overview(FILE *to, int screen);

/* One command with its arguments and options; `parent` NULL unless it is a verb's verb. */
void help_command(FILE *to, const struct command *parent, const struct command *c, int screen);

/* The whole command line as a page of Markdown: docs/cli.md. */
void help_markdown(FILE *to);
