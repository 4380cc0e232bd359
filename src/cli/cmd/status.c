/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/live/overview.h"

int cmd_status(struct cli *cli)
{
    CLEANUP(overview) struct overview o = OVERVIEW_INIT;
    struct err err = ERR_INIT;

    o.folds = !args_has(&cli->args, "all");
    if (overview_get(cli, &o, &err) != E_OK)
        return cli_fail(cli, &err);
    if (cli->json)
        overview_print_json(&o);
    else
        overview_print(cli, &cli->screen, &o, clock_wall_us());
    return CLI_OK;
}
