/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/nearest.h"
#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/cmd.h"

static const struct column columns[] = {
    {.title = "WORKER"},
    {.title = "HOST"},
    {.title = "PID", .right = true},
    {.title = "VERSION"},
    {.title = "RUNNING", .right = true},
    {.title = "SEEN", .right = true},
    {.title = "QUEUES"},
};

static void add_queues(struct buf *b, json_t *queues)
{
    for (void *it = json_object_iter(queues); it != NULL; it = json_object_iter_next(queues, it))
        buf_addf(b, "%s%s:%" PRId64, b->size > 0 ? " " : "", json_object_iter_key(it),
                 (int64_t)json_integer_value(json_object_iter_value(it)));
}

static void add_row(struct table *t, const json_t *worker)
{
    CLEANUP(buf) struct buf queues = BUF_INIT(4096);
    char age[SHORT_TEXT_SIZE];
    int64_t pid = answer_int(worker, "pid");

    table_add(t, COLOUR_PLAIN, answer_text(worker, "name"));
    table_add(t, COLOUR_PLAIN, answer_text(worker, "host"));
    if (pid > 0)
        table_addf(t, COLOUR_PLAIN, "%" PRId64, pid);
    else
        table_add(t, COLOUR_PLAIN, "");
    table_add(t, COLOUR_PLAIN, answer_text(worker, "version"));
    table_add_count(t, COLOUR_BLUE, answer_int(worker, "running"));
    table_addf(t, COLOUR_PLAIN, "%s ago",
               age_format(clock_wall_us() - answer_time(worker, "seen_at"), age));
    add_queues(&queues, json_object_get(worker, "queues"));
    table_add(t, COLOUR_PLAIN, buf_text(&queues));
}

int cmd_workers_list(struct cli *cli)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(table) struct table t;
    struct err err = ERR_INIT;
    json_t *worker = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    if (cli_get(cli, "/v1/workers", &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (cli->json) {
        print_json_items(buf_slice(&reply.text), "workers");
        return CLI_OK;
    }
    for (size_t i = 0; (worker = json_array_get(json_object_get(reply.json, "workers"), i)) != NULL;
         i++)
        add_row(&t, worker);
    if (t.cells.count > 0)
        table_print(&t, &cli->screen);
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

static enum err_code show_one(const struct cli *cli, const struct client_reply *reply,
                              const char *name, struct table *t, struct err *err)
{
    const json_t *workers = json_object_get(reply->json, "workers");
    json_t *worker = NULL;
    struct slice text;

    for (size_t i = 0; (worker = json_array_get(workers, i)) != NULL; i++) {
        if (strcmp(answer_text(worker, "name"), name) != 0)
            continue;
        if (!cli->json)
            add_row(t, worker);
        else if (find_text(buf_slice(&reply->text), i, &text))
            print_json(text);
        return E_OK;
    }
    return no_worker(workers, name, err);
}

int cmd_workers_show(struct cli *cli)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(table) struct table t;
    struct err err = ERR_INIT;
    int status = CLI_OK;

    table_init(&t, columns, ARRAY_LEN(columns));
    if (cli_get(cli, "/v1/workers", &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    for (size_t i = 0; i < cli->args.words.count; i++) {
        if (show_one(cli, &reply, cli->args.words.items[i], &t, &err) != E_OK)
            status = cli_fail(cli, &err);
    }
    if (t.cells.count > 0)
        table_print(&t, &cli->screen);
    return status;
}
