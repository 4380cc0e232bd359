/*
 * The store without a server: the shared one that WAYBILL_STORE names, else the files in the data
 * directory, held by the lock that a server takes.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "cli/cli.h"
#include "server/process/data_dir.h"
#include "store/store.h"

struct store_files {
    struct own_dir dir;
    struct store *store;
};

#define STORE_FILES_INIT ((struct store_files){.dir = OWN_DIR_INIT})

void store_files_deinit(struct store_files *f);
CLEANUP_BY_DEINIT(store_files)

/* No server was named, and there is no socket in the data directory: whoever listens elsewhere is
 * another's server. */
MUST_CHECK enum err_code store_files_alone(struct cli *cli, bool *ret_alone, struct err *err);

/* The call failed because nobody is there, and no server was named: the files may be looked at. */
bool store_files_instead(const struct cli *cli, const struct client_reply *reply,
                         const struct err *err);

/* Opens it for reading.  E_UNAVAILABLE: there is none, or it is held. */
MUST_CHECK enum err_code store_files_open(const struct cli *cli, struct store_files *f,
                                          struct err *err);
