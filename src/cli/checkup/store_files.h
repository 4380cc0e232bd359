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

/* Sends the request.  No server was named and none is there: *ret_files is true, and the files may
 * be looked at instead. */
MUST_CHECK enum err_code store_files_or_call(struct cli *cli, const struct client_request *r,
                                             struct client_reply *reply, bool *ret_files,
                                             struct err *err);

/* Opens it for reading.  E_UNAVAILABLE: there is none, or it is held. */
MUST_CHECK enum err_code store_files_open(const struct cli *cli, struct store_files *f,
                                          struct err *err);
