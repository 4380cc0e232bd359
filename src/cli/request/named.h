/*
 * Requests about a thing with a name: METHOD /v1/KIND/NAME[/…], for one or for each word of the line.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/cli.h"

struct named_request {
    const char *method; /* NULL: GET */
    const char *kind;   /* topics */
    const char *name;
    struct slice body; /* data NULL: none */
    const char *key;   /* ?key=…; or NULL */
};

MUST_CHECK enum err_code named_call(struct cli *cli, const struct named_request *r,
                                    struct client_reply *reply, struct err *err);

typedef void named_print_fn(const struct cli *cli, const json_t *answer);

/* One request; prints the answer, as it came or by `print`.  The exit status. */
int named_one(struct cli *cli, const struct named_request *r, named_print_fn *print);

/* The same for each word of the line; the first status that is not 0. */
int named_each(struct cli *cli, const char *method, const char *kind, named_print_fn *print);

typedef void named_table_fn(const struct cli *cli, const json_t *items);

/* All of a list, page by page: as JSON, with --names the names alone, else as `print` has it. */
int named_list(struct cli *cli, const char *kind, named_table_fn *print);

/* `{"params":{…}}` of the line's -p. */
MUST_CHECK enum err_code named_params(const struct args *a, struct buf *out, struct err *err);
