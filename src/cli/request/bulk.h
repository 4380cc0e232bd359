/*
 * One action on many jobs: asked for once, worked off by the server, waited for here.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/slice.h"
#include "cli/cli.h"

struct bulk_request {
    const char *action;   /* cancel retry hold release now move delete */
    const char *done;     /* for people: "cancelled" */
    const char *states;   /* when no --state is given; NULL: any */
    const char *to_queue; /* move */
    bool alone;           /* retry */
    const char
        *queue; /* all jobs of this one; NULL: those of the filter in the command's options */
};

/* Shows how far it is, prints what came of it, returns the
 * exit status. */
int bulk_act(struct cli *cli, const struct bulk_request *request);
