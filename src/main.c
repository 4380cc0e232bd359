/* SPDX-License-Identifier: MIT */
#include "base/os/fault.h"
#include "cli/cli.h"

int main(int argc, char **argv)
{
    if (!fault_init())
        return CLI_USAGE;
    return cli_main(argc, argv);
}
