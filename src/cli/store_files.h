/*
 * The store without a server: its files in the data directory.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "cli/cli.h"
#include "store/store.h"

/* The call failed because nobody is there, and no server was named: the files may be looked at. */
bool store_files_instead(const struct cli *cli, const struct client_reply *reply,
                         const struct err *err);

/* Opens the store of the data directory for reading. */
MUST_CHECK enum err_code store_files_open(const struct cli *cli, struct store **ret_store,
                                          struct err *err);
