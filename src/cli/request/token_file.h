/*
 * A token in a file: its first line.  A process list shows arguments to everybody, a file has a
 * mode.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/err.h"

enum { TOKEN_FILE_MAX = 4096 };

/* `token` has room for TOKEN_FILE_MAX + 1 bytes.  E_INVALID: "--token-file FILE: cause".  One that
 * others can write is refused as own_check says. */
MUST_CHECK enum err_code token_file_read(const char *file, struct buf *token, struct err *err);
