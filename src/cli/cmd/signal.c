/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "cli/cmd/cmd.h"
#include "cli/request/noun_request.h"
#include "cli/view/reply_json.h"

static void print_level(const struct cli *cli, const char *name, const json_t *signal)
{
    (void)cli;
    printf("%s  %" PRId64 "\n", name, reply_int(signal, "count"));
}

int cmd_signal_raise(struct cli *cli)
{
    CLEANUP(buf) struct buf body = BUF_INIT(100);
    const char *count = args_word(&cli->args, 1);

    buf_addf(&body, "{\"count\":%lld}", count != NULL ? strtoll(count, NULL, 10) : 1);
    return noun_send(cli, &(struct noun_request){.method = "POST", .body = buf_slice(&body)},
                     print_level);
}

int cmd_signal_clear(struct cli *cli)
{
    return noun_send_each(cli, &(struct noun_request){.method = "DELETE"}, print_level);
}
