/* SPDX-License-Identifier: MIT */
#include "cli/checkup/store_files.h"

#include <sys/stat.h>

#include "core/definition/store_url.h"
#include "worker/client/url.h"

#define PATH_SIZE 4096

enum err_code store_files_or_call(struct cli *cli, const struct client_request *r,
                                  struct client_reply *reply, bool *ret_files, struct err *err)
{
    const char *url = getenv("WAYBILL_URL"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
    bool is_named = args_has(&cli->args, "url") ||
                    (url != NULL && *url != '\0' && !args_has(&cli->args, "data"));
    struct client *client = NULL;

    if (cli_client(cli, &client, err) != E_OK)
        return err->code;
    /* Without a socket in the data directory, whoever listens elsewhere is another's server. */
    *ret_files = !is_named && !client_is_local(client);
    if (*ret_files || cli_call(cli, r, reply, err) == E_OK)
        return E_OK;
    *ret_files = err->code == E_UNAVAILABLE && reply->status == 0 && !is_named;
    return *ret_files ? E_OK : err->code;
}

void store_files_deinit(struct store_files *f)
{
    store_close(f->store);
    own_dir_close(&f->dir);
}

enum err_code store_files_open(const struct cli *cli, struct store_files *f, struct err *err)
{
    const char *url = getenv("WAYBILL_STORE"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
    CLEANUP(mem) char *dir = NULL;
    char path[PATH_SIZE];
    struct stat st;

    if (url != NULL && *url != '\0') {
        /* A shared store needs no lock of ours. */
        const struct store_config config = {.url = url, .mode = STORE_READ};

        if (store_url_check(slice_of(url), err) != E_OK)
            return err_wrap(err, "WAYBILL_STORE");
        return store_open(&config, &f->store, err);
    }
    if (client_data_dir(args_text(&cli->args, "data"), &dir, err) != E_OK)
        return err->code;
    int size = snprintf(path, sizeof(path), "%s/waybill.db", dir);

    if (size < 0 || (size_t)size >= sizeof(path) || stat(path, &st) < 0)
        return err_set(err, E_UNAVAILABLE,
                       "neither a server nor a store at %s: name it with --data or --url", dir);
    if (data_dir_open(dir, &f->dir, err) != E_OK)
        return err->code;
    return store_open(&(struct store_config){.dir = dir, .mode = STORE_READ}, &f->store, err);
}
