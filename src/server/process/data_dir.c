/* SPDX-License-Identifier: MIT */
#include "server/process/data_dir.h"

#include "server/server.h"

enum err_code data_dir_open(const char *path, struct own_dir *ret_dir, struct err *err)
{
    struct own_dir d;

    if (own_dir_open(path, "the data directory", SERVER_LOCK_NAME, &d, err) != E_OK)
        return err->code;
    if (own_check(d.fd, "the data directory", path, err) != E_OK) {
        own_dir_close(&d);
        return err->code;
    }
    int holder = d.holder;

    if (holder == 0) {
        *ret_dir = d;
        return E_OK;
    }
    own_dir_close(&d);
    if (holder < 0)
        return err_set(err, E_UNAVAILABLE, "the data directory %s is in use by another server",
                       path);
    return err_set(err, E_UNAVAILABLE,
                   "the data directory %s is in use by the server with process id %d", path,
                   holder);
}
