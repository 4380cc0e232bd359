/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/request/token_file.h"
#include "core/definition/definition.h"
#include "core/definition/store_url.h"
#include "server/limits.h"
#include "server/server.h"
#include "worker/client/url.h"

/* The process list shows our arguments to everybody on this machine. */
static enum err_code take_store(const struct args *a, char **ret_url, struct err *err)
{
    const char *given = args_text(a, "store");
    const char *from = given != NULL ? "--store" : "WAYBILL_STORE";
    const char *url = given != NULL ? given
                                    : getenv("WAYBILL_STORE"); /* NOLINT(concurrency-mt-unsafe) */

    if (url == NULL || (given == NULL && *url == '\0'))
        return E_OK;
    if (store_url_check(slice_of(url), err) != E_OK)
        return err_wrap(err, "%s", from);
    *ret_url = mem_strdup(url);
    if (given != NULL)
        store_url_hide((char *)(uintptr_t)given);
    return E_OK;
}

static enum err_code gather(const struct cli *cli, struct server_config *config, struct buf *token,
                            struct err *err)
{
    const char *token_file = args_text(&cli->args, "token-file");

    if (token_file == NULL)
        return E_OK;
    if (token_file_read(token_file, token, err) != E_OK)
        return err->code;
    config->token = buf_text(token);
    return E_OK;
}

/* Errors that refuse a request are mistakes in the line or in a file here. */
static int refuse(const struct cli *cli, const struct definition_faults *faults,
                  const struct err *err)
{
    int status = faults->items.count == 0 ? cli_fail(cli, err) : CLI_USAGE;

    for (size_t i = 0; i < faults->items.count; i++)
        (void)cli_fail(cli, &faults->items.items[i]);
    return status == CLI_REFUSED || status == CLI_NOT_FOUND ? CLI_USAGE : status;
}

static enum err_code check_lengths(const struct server_config *c, struct err *err)
{
    if (c->client_stall_us < STALL_MIN_US || c->client_stall_us > STALL_MAX_US)
        return err_set(err, E_INVALID, "--client-stall: must be from 1s to 24h");
    if (c->worker_silence_us < SILENCE_MIN_US || c->worker_silence_us > SILENCE_MAX_US)
        return err_set(err, E_INVALID, "--worker-silence: must be from 1s to 24h");
    return E_OK;
}

int cmd_serve(struct cli *cli)
{
    const struct args *a = &cli->args;
    VEC(const char *) definitions = VEC_INIT;
    CLEANUP(buf) struct buf token = BUF_INIT(TOKEN_FILE_MAX + 1);
    CLEANUP(mem) char *data_dir = NULL;
    CLEANUP(mem) char *default_dir = NULL;
    CLEANUP(mem) char *store = NULL;
    const struct given_option *given = NULL;
    CLEANUP(definition_faults) struct definition_faults faults = {.items = VEC_INIT};
    const char *worker_words[] = {"--log-level", args_text(a, "log-level")};
    struct err err = ERR_INIT;
    struct err none = ERR_INIT;
    struct server_config config = {
        .faults = &faults,
        .listen = args_text(a, "listen"),
        .slots = (int)args_int(a, "jobs", cli_cores()),
        .worker_options = worker_words,
        .n_worker_options = worker_words[1] != NULL ? ARRAY_LEN(worker_words) : 0,
        .trust_clock = args_has(a, "trust-clock"),
        .client_stall_us = args_duration_us(a, "client-stall", STALL_US),
        .worker_silence_us = args_duration_us(a, "worker-silence", SILENCE_US),
    };

    if (client_data_dir(args_text(a, "data"), &data_dir, &err) != E_OK ||
        take_store(a, &store, &err) != E_OK || gather(cli, &config, &token, &err) != E_OK ||
        check_lengths(&config, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    cli_set_log_level(a);
    for (size_t i = 0; (given = args_next(a, "config", &i)) != NULL;)
        VEC_PUSH(&definitions, given->value);
    config.data_dir = data_dir;
    config.store_url = store;
    config.definitions = definitions.items;
    config.n_definitions = definitions.count;
    if (client_default_data_dir(&default_dir, &none) == E_OK)
        config.default_data_dir = default_dir;
    enum err_code code = server_run(&config, &err);

    VEC_DEINIT(&definitions);
    return code == E_OK ? CLI_OK : refuse(cli, &faults, &err);
}
