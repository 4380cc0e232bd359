/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdlib.h>

#include "base/vec.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/request/token_file.h"
#include "core/definition/definition.h"
#include "engine/op.h"
#include "server/process/definition_files.h"
#include "worker/worker.h"

/* The parts of a configuration that are lists. */
struct lists {
    struct definitions definitions;
    VEC(const char *) queues;
    VEC(const char *) topics;
    VEC(struct worker_own_queue) own;
};

static enum err_code read_lists(const struct args *a, struct lists *l, struct err *err)
{
    const struct given_option *given = NULL;

    for (size_t i = 0; (given = args_next(a, "queue", &i)) != NULL;)
        VEC_PUSH(&l->queues, given->value);
    for (size_t i = 0; (given = args_next(a, "subscribe", &i)) != NULL;)
        VEC_PUSH(&l->topics, given->value);
    for (size_t i = 0; (given = args_next(a, "config", &i)) != NULL;) {
        if (definitions_read(&l->definitions, given->value, err) != E_OK)
            return err->code;
    }
    for (size_t i = 0; i < l->definitions.of[DEFINITION_QUEUE].count; i++) {
        const struct worker_own_queue own = {
            .name = l->definitions.of[DEFINITION_QUEUE].items[i].name,
            .definition = l->definitions.of[DEFINITION_QUEUE].items[i].json,
        };

        VEC_PUSH(&l->own, own);
    }
    if (args_has(a, "own-only") && l->own.count == 0)
        return err_set(err, E_INVALID, "--own-only needs the worker's own definitions: -c FILE");
    return E_OK;
}

static void fill(const struct args *a, const struct lists *l, struct worker_config *c)
{
    c->client.url = args_text(a, "server");
    c->client.option = "--server";
    /* --data says where our own state is; the server is looked for there if none is named. */
    if (c->client.url == NULL && getenv("WAYBILL_URL") == NULL) /* NOLINT(concurrency-mt-unsafe) */
        c->client.data_dir = args_text(a, "data");
    c->client.insecure = args_has(a, "insecure");
    c->data_dir = args_text(a, "data");
    c->name = args_text(a, "name");
    c->queues = l->queues.items;
    c->n_queues = l->queues.count;
    c->slots = (int)args_int(a, "jobs", 0);
    c->own = l->own.items;
    c->n_own = l->own.count;
    c->own_only = args_has(a, "own-only");
    c->topics = l->topics.items;
    c->n_topics = l->topics.count;
    c->lifetime_us = args_duration_us(a, "lifetime", WORKER_LIFETIME_US);
    c->grace_us = args_duration_us(a, "grace", WORKER_GRACE_US);
    c->lease_us = args_duration_us(a, "lease", WORKER_LEASE_US);
}

/* The programs we run must not inherit the descriptor. */
static enum err_code take_parent_fd(const struct args *a, int *ret_fd, struct err *err)
{
    int fd = (int)args_int(a, "parent-fd", -1);

    if (fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return err_errno(err, E_INVALID, "--parent-fd %d", fd);
    *ret_fd = fd;
    return E_OK;
}

/* Errors that refuse a request are mistakes in the line or in a file here. */
static enum err_code run(const struct args *a, struct lists *lists, struct err *err)
{
    struct worker_config config = {.slots = 0};
    CLEANUP(buf) struct buf token = BUF_INIT(TOKEN_FILE_MAX + 1);
    const char *token_file = args_text(a, "token-file");
    int parent_fd = -1;

    if (read_lists(a, lists, err) != E_OK || take_parent_fd(a, &parent_fd, err) != E_OK ||
        (token_file != NULL && token_file_read(token_file, &token, err) != E_OK)) {
        err->code = E_INVALID;
        return err->code;
    }
    fill(a, lists, &config);
    config.client.token = token_file != NULL ? buf_text(&token) : NULL;
    config.announces = parent_fd < 0;
    if (config.lease_us < LEASE_MIN_US || config.lease_us > LEASE_MAX_US)
        return err_set(err, E_INVALID, "--lease: must be from 1s to 24h");
    if (args_has(a, "lifetime") && config.n_topics == 0)
        return err_set(err, E_INVALID, "--lifetime goes with --subscribe");
    if (config.lifetime_us < WORKER_LIFETIME_MIN_US || config.lifetime_us > WORKER_LIFETIME_MAX_US)
        return err_set(err, E_INVALID, "--lifetime: must be from 1s to 10000d");
    return worker_run(&config, parent_fd, err);
}

int cmd_worker(struct cli *cli)
{
    struct lists lists = {.queues = VEC_INIT};
    struct err err = ERR_INIT;

    cli_set_log_level(&cli->args);
    definitions_init(&lists.definitions);
    enum err_code code = run(&cli->args, &lists, &err);

    definitions_deinit(&lists.definitions);
    VEC_DEINIT(&lists.queues);
    VEC_DEINIT(&lists.topics);
    VEC_DEINIT(&lists.own);
    if (code == E_OK)
        return CLI_OK;
    cli->misconfigured = code == E_INVALID;
    return cli_fail(cli, &err);
}
