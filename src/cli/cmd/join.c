/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "cli/cmd/cmd.h"
#include "cli/request/noun_request.h"
#include "cli/view/reply_json.h"

#define BODY_MAX ((size_t)16 << 20)

static void print_arrival(const struct cli *cli, const char *name, const json_t *reply)
{
    (void)cli;
    if (reply_is_true(reply, "fired"))
        printf("%s  fired\n", name);
    else
        printf("%s  %" PRId64 " arrived\n", name, reply_int(reply, "count"));
}

int cmd_join_arrive(struct cli *cli)
{
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);
    struct err err = ERR_INIT;

    if (noun_add_params(&cli->args, &body, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    return noun_send(cli, &(struct noun_request){.method = "POST", .body = buf_slice(&body)},
                     print_arrival);
}

int cmd_join_clear(struct cli *cli)
{
    return noun_send(cli,
                     &(struct noun_request){.method = "DELETE",
                                            .key = args_text(&cli->args, "key"),
                                            .done = "cleared"},
                     NULL);
}
