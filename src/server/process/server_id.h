/*
 * The lasting name of a server on a shared store: a random id, made once and kept in the data
 * directory.
 *
 * A server takes over the claims of the last server with its name, so no two may have the same.
 * The lock of the data directory keeps two from using one file; the file also says on which host
 * and in which directory it was made, so that in a copy of the directory a new one is made.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "base/id.h"

#define SERVER_ID_NAME "server-id"

/* The directory is held by us.  E_FULL, E_FORBIDDEN or E_INTERNAL when it cannot be read or
 * written. */
MUST_CHECK enum err_code server_id_get(int dir_fd, const char *host,
                                       char ret_id[static ID_TEXT_SIZE], struct err *err);
