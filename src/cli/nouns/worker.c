/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/text/nearest.h"
#include "cli/cli.h"
#include "cli/table/command_options.h"
#include "cli/table/noun.h"
#include "cli/view/reply_json.h"
#include "cli/view/worker_view.h"

#define RUNNING_MAX "1000" /* the server's maximum for one page */

/* The worker at that place of the list, as JSON text: the server has no request for one worker. */
static bool find_text(struct slice reply, size_t place, struct slice *ret_worker)
{
    struct slice workers;

    if (!jtext_find(reply, "workers", &workers))
        return false;
    for (struct jtext_iter it = jtext_items(workers); jtext_next_item(&it, ret_worker);) {
        if (place-- == 0)
            return true;
    }
    return false;
}

/* Shows the worker of that name, if it is in the list; `running` are the jobs of all workers. */
static enum err_code show_one(const struct cli *cli, const struct client_reply *list,
                              json_t *running, const char *name, struct err *err)
{
    const json_t *workers = json_object_get(list->json, "workers");
    json_t *worker = NULL;
    struct slice text;

    for (size_t i = 0; (worker = json_array_get(workers, i)) != NULL; i++) {
        if (strcmp(reply_text(worker, "name"), name) != 0)
            continue;
        if (cli->json && find_text(buf_slice(&list->text), i, &text))
            print_json(text);
        if (cli->json)
            return E_OK;
        json_object_set(worker, WORKER_JOBS, running);
        noun_print_page(NOUN_WORKER, worker, clock_wall_us(), &cli->screen);
        return E_OK;
    }
    VEC(const char *) names = VEC_INIT;

    for (size_t i = 0; (worker = json_array_get(workers, i)) != NULL; i++)
        VEC_PUSH(&names, reply_text(worker, "name"));
    const char *near = nearest_word(slice_of(name), names.items, names.count);

    err_set(err, E_NOT_FOUND, "there is no worker '%s'%s%s%s", name,
            near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
            near != NULL ? "'?" : "");
    VEC_DEINIT(&names);
    return err->code;
}

static int show(struct cli *cli)
{
    CLEANUP(client_reply) struct client_reply list = CLIENT_REPLY_INIT;
    CLEANUP(client_reply) struct client_reply running = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;
    int status = CLI_OK;

    if (cli_get(cli, "/v1/workers", &list, &err) != E_OK)
        return cli_fail(cli, &err);
    if (!cli->json &&
        cli_get(cli, "/v1/jobs?state=running&limit=" RUNNING_MAX, &running, &err) != E_OK)
        return cli_fail(cli, &err);
    for (size_t i = 0; i < cli->args.words.count; i++) {
        struct err one = ERR_INIT;

        if (show_one(cli, &list, json_object_get(running.json, "jobs"), cli->args.words.items[i],
                     &one) != E_OK)
            status = cli_fail(cli, &one);
    }
    return status;
}

const struct command worker_verbs[] = {
    NOUN_LIST("List all workers and what they are running"),
    {
        .name = "show",
        .help = "Show a worker: queues, running jobs, broken programs",
        .arguments = {NOUN_NAMES(NOUN_WORKER)},
        .options = {server_options},
        .run = show,
    },
    {.name = NULL},
};

/* ---- how they are shown ---- */

const struct noun worker_noun = {
    .name = "worker",
    .command = "workers",
    .plural = "workers",
    .columns =
        {{.title = "WORKER", .member = "name"},
         {.title = "HOST", .member = "host"},
         {.title = "PID", .member = "pid", .write = view_nonzero, .right = true},
         {.title = "VERSION", .member = "version"},
         {.title = "RUNNING", .member = "running", .write = worker_write_running, .right = true},
         {.title = "SEEN", .member = "seen_at", .write = worker_write_seen, .right = true},
         {.title = "QUEUES", .member = "queues", .write = worker_write_queues}},
    .page = {{.title = "host", .member = "host"},
             {.title = "pid", .member = "pid", .write = view_nonzero},
             {.title = "version", .member = "version"},
             {.title = "instance", .member = "instance", .write = worker_write_instance},
             {.title = "stopped", .member = "seen_at", .write = worker_write_stopped_at},
             {.title = "seen", .member = "seen_at", .write = worker_write_seen_at},
             {.title = "slots", .member = "slots", .write = worker_write_slots},
             {.title = "queues", .member = "queues", .write = worker_write_queue_lines},
             {.title = "broken", .member = "broken", .write = worker_write_broken_lines},
             {.title = "running", .member = WORKER_JOBS, .write = worker_write_jobs}},
};
