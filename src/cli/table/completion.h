/*
 * Shell completions, made from the table of commands.
 *
 * Names of queues are asked of the server at the moment of completing, and are never evaluated.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"

/* `shell` is bash, zsh or fish. */
void completion_script(const char *shell, struct buf *out);
