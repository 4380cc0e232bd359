/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "base/json/json.h"
#include "cli/cmd/cmd.h"
#include "cli/request/filter.h"
#include "cli/request/job_text.h"
#include "cli/request/named.h"
#include "cli/view/answer.h"

#define BODY_MAX JOB_TEXT_MAX

/* A queue of a list: its name alone, or an object with it. */
static const char *queue_name(const json_t *queue)
{
    return json_is_string(queue) ? json_string_value(queue) : answer_text(queue, "name");
}

static void print_topics(const struct cli *cli, const json_t *topics)
{
    static const struct column columns[] = {{.title = "TOPIC"}, {.title = "QUEUES"}};
    CLEANUP(table) struct table t;
    const json_t *topic = NULL;

    table_init(&t, columns, ARRAY_LEN(columns));
    for (size_t i = 0; (topic = json_array_get(topics, i)) != NULL; i++) {
        CLEANUP(buf) struct buf names = BUF_INIT((size_t)64 << 10);
        const json_t *queues = json_object_get(topic, "queues");

        for (size_t n = 0; n < json_array_size(queues); n++)
            buf_addf(&names, "%s%s", n > 0 ? ", " : "", queue_name(json_array_get(queues, n)));
        table_add(&t, COLOUR_PLAIN, answer_text(topic, "name"));
        table_add(&t, COLOUR_PLAIN, buf_text(&names));
    }
    table_print(&t, &cli->screen);
}

int cmd_topic_list(struct cli *cli)
{
    return named_list(cli, "topics", print_topics);
}

static void print_topic(const struct cli *cli, const json_t *topic)
{
    const json_t *queues = json_object_get(topic, "queues");

    (void)cli;
    printf("topic %s\n", answer_text(topic, "name"));
    for (size_t i = 0; i < json_array_size(queues); i++)
        printf("  %s\n", queue_name(json_array_get(queues, i)));
}

int cmd_topic_show(struct cli *cli)
{
    return named_each(cli, "GET", "topics", print_topic);
}

/* ---- publish ---- */

static enum err_code publish_text(const struct args *a, struct buf *out, struct err *err)
{
    if (named_params(a, out, err) != E_OK)
        return err->code;
    out->size--; /* its end comes once more */
    if (args_has(a, "label")) {
        json_add_key(out, "labels");
        if (pairs_add_json(a, "label", out, err) != E_OK)
            return err->code;
    }
    if (job_body_add(a, out, err) != E_OK)
        return err->code;
    if (args_has(a, "priority"))
        json_put_int(out, "priority", args_int(a, "priority", 0));
    buf_add_char(out, '}');
    return E_OK;
}

static void print_ids(const struct cli *cli, const json_t *answer)
{
    const json_t *ids = json_object_get(answer, "ids");

    (void)cli;
    for (size_t i = 0; i < json_array_size(ids); i++)
        puts(json_string_value(json_array_get(ids, i)));
}

int cmd_topic_publish(struct cli *cli)
{
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);
    struct err err = ERR_INIT;

    if (publish_text(&cli->args, &body, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    return named_one(cli,
                     &(struct named_request){.method = "POST",
                                             .kind = "topics",
                                             .name = args_word(&cli->args, 0),
                                             .body = buf_slice(&body)},
                     print_ids);
}
