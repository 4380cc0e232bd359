/*
 * Commands for people: as they would be typed into a shell.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "base/slice.h"

/* One word of a shell's command line, with quotes where they are needed. */
void command_add_word(struct buf *out, struct slice word);

/* A command that is filled in: a list as words, a text as it is. */
void command_add_words(struct buf *out, const json_t *command);

/* A job's or a queue's `command`, a template: a list as words, of which literal braces are shown
 * single; a text as it is.  Nothing for anything else. */
void command_add_text(struct buf *out, const json_t *command);
