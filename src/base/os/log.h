/*
 * The log of the process: one line an event, on standard error.
 *
 * Only boundaries log: a request, a command, a loop callback.  Lines carry a level and, unless
 * systemd's journal reads them (JOURNAL_STREAM is set: then <N> prefixes), a time.  May be called
 * from any thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/compiler.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level); /* finer lines are not written; INFO at start */

void log_error(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_warn(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_info(const char *fmt, ...) PRINTF_LIKE(1, 2);
void log_debug(const char *fmt, ...) PRINTF_LIKE(1, 2);
