/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "base/jtext/jtext.h"
#include "cli/request/filter.h"
#include "cli/request/job_text.h"
#include "cli/request/noun_request.h"
#include "cli/table/command_options.h"
#include "cli/table/noun.h"
#include "core/route/dest.h"

#define BODY_MAX JOB_TEXT_MAX

static enum err_code publish_text(const struct args *a, struct buf *out, struct err *err)
{
    if (noun_add_params(a, out, err) != E_OK)
        return err->code;
    out->size--; /* the closing brace is added again below */
    if (args_has(a, "label")) {
        jtext_add_key(out, "labels");
        if (pairs_add_json(a, "label", out, err) != E_OK)
            return err->code;
    }
    if (job_body_add(a, out, err) != E_OK)
        return err->code;
    if (args_has(a, "priority"))
        jtext_put_int(out, "priority", args_int(a, "priority", 0));
    buf_add_char(out, '}');
    return E_OK;
}

static void print_ids(const struct cli *cli, const char *name, const json_t *reply)
{
    const json_t *ids = json_object_get(reply, "ids");

    (void)cli;
    (void)name;
    for (size_t i = 0; i < json_array_size(ids); i++)
        puts(json_string_value(json_array_get(ids, i)));
}

static int publish(struct cli *cli)
{
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);
    struct err err = ERR_INIT;

    if (publish_text(&cli->args, &body, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    return noun_send(cli, &(struct noun_request){.method = "POST", .body = buf_slice(&body)},
                     print_ids);
}

static const struct option_spec publish_options[] = {
    {
        .name = "body",
        .letter = 'b',
        .value = {.type = VALUE_TEXT, .name = "X|@FILE|-"},
        .help = "The body: text X, the content of FILE, or standard input",
    },
    {
        .name = "priority",
        .value = {.type = VALUE_INT, .name = "N", .min = JOB_PRIORITY_MIN, .max = JOB_PRIORITY_MAX},
        .help = "Priority, -1000 to 1000; higher starts first (default 0)",
    },
    {
        .name = "label",
        .letter = 'l',
        .repeats = true,
        .value = {.type = VALUE_PAIR, .name = "K=V"},
        .help = "Add a label to the jobs, for filters",
    },
    {.name = NULL},
};

const struct command topic_verbs[] = {
    NOUN_LIST("List all topics and the queues subscribed to them"),
    NOUN_SHOW(NOUN_TOPIC, "Show the queues subscribed to a topic"),
    {
        .name = "publish",
        .help = "Create a job in every subscribed queue and print the ids",
        .about = "Same as GET /job_start?job_name=NAME&K=V",
        .examples = "waybill topic publish import_category_dump -p date=2026_11_15",
        .arguments = {NOUN_NAME(NOUN_TOPIC)},
        .options = {param_option, publish_options, server_options},
        .run = publish,
    },
    {.name = NULL},
};

/* ---- how they are shown ---- */

const struct noun topic_noun = {
    .name = "topic",
    .plural = "topics",
    .check_name = dest_name_check,
    .columns = {{.title = "TOPIC", .member = "name"},
                {.title = "QUEUES", .member = "queues", .write = view_names}},
    .page = {{.title = "", .member = "queues", .write = view_lines}},
};
