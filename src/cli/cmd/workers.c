/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "base/clock.h"
#include "base/json/json.h"
#include "base/text/nearest.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/view/answer.h"
#include "cli/view/worker_view.h"

#define RUNNING_MAX "1000" /* what one page of a list has at most */

int cmd_workers_list(struct cli *cli)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;

    if (cli_get(cli, "/v1/workers", &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (cli->json) {
        print_json_items(buf_slice(&reply.text), "workers");
        return CLI_OK;
    }
    worker_table(json_object_get(reply.json, "workers"), clock_wall_us(), &cli->screen);
    return CLI_OK;
}

static enum err_code no_worker(const json_t *workers, const char *name, struct err *err)
{
    VEC(const char *) names = VEC_INIT;
    json_t *worker = NULL;

    for (size_t i = 0; (worker = json_array_get(workers, i)) != NULL; i++)
        VEC_PUSH(&names, answer_text(worker, "name"));
    const char *near = nearest_word(slice_of(name), names.items, names.count);

    err_set(err, E_NOT_FOUND, "there is no worker '%s'%s%s%s", name,
            near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
            near != NULL ? "'?" : "");
    VEC_DEINIT(&names);
    return err->code;
}

/* The worker of that name as JSON text; the server has no page for one alone. */
static bool find_text(struct slice reply, size_t place, struct slice *ret_worker)
{
    struct slice workers;

    if (!json_find(reply, "workers", &workers))
        return false;
    for (struct json_iter it = json_items(workers); json_next_item(&it, ret_worker);) {
        if (place-- == 0)
            return true;
    }
    return false;
}

/* What there is to know: the workers, and the jobs that run. */
struct facts {
    struct client_reply workers;
    struct client_reply running;
};

static enum err_code get_facts(struct cli *cli, struct facts *f, struct err *err)
{
    if (cli_get(cli, "/v1/workers", &f->workers, err) != E_OK || cli->json)
        return err->code;
    return cli_get(cli, "/v1/jobs?state=running&limit=" RUNNING_MAX, &f->running, err);
}

static enum err_code show_one(const struct cli *cli, const struct facts *f, const char *name,
                              struct err *err)
{
    const json_t *workers = json_object_get(f->workers.json, "workers");
    json_t *worker = NULL;
    struct slice text;

    for (size_t i = 0; (worker = json_array_get(workers, i)) != NULL; i++) {
        if (strcmp(answer_text(worker, "name"), name) != 0)
            continue;
        if (!cli->json)
            worker_page(worker, json_object_get(f->running.json, "jobs"), clock_wall_us(),
                        &cli->screen);
        else if (find_text(buf_slice(&f->workers.text), i, &text))
            print_json(text);
        return E_OK;
    }
    return no_worker(workers, name, err);
}

int cmd_workers_show(struct cli *cli)
{
    struct facts f = {CLIENT_REPLY_INIT, CLIENT_REPLY_INIT};
    struct err err = ERR_INIT;
    int status = CLI_OK;

    if (get_facts(cli, &f, &err) != E_OK)
        status = cli_fail(cli, &err);
    for (size_t i = 0; err.code == E_OK && i < cli->args.words.count; i++) {
        struct err one = ERR_INIT;

        if (show_one(cli, &f, cli->args.words.items[i], &one) != E_OK)
            status = cli_fail(cli, &one);
    }
    client_reply_deinit(&f.workers);
    client_reply_deinit(&f.running);
    return status;
}
