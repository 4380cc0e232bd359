/*
 * Requests about nouns: METHOD /v1/PLURAL/NAME[/ACTION], for one name or for each word of the line.
 *
 * The noun is that of the verb on the line.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/cli.h"

struct noun_request {
    const char *method; /* NULL: GET */
    const char *name;   /* NULL: the first word of the line */
    const char *action; /* or NULL */
    struct slice body;  /* data NULL: none */
    const char *key;    /* ?key=…; or NULL */
    const char *at;     /* ?at=…, RFC 3339; or NULL */
    const char *query;  /* ?…, escaped; or NULL */
    const char *done;   /* printed after the name if there is no print function: deleted */
    const char *items;  /* with --json print each item of this member; NULL: the whole reply */
};

typedef void noun_print_fn(const struct cli *cli, const char *name, const json_t *reply);

/* Sends one request; prints the reply with `print`, or as it is with --json.  Returns the exit
 * status. */
int noun_send(struct cli *cli, const struct noun_request *r, noun_print_fn *print);

/* The same for each word of the line; returns the first status that is not 0. */
int noun_send_each(struct cli *cli, const struct noun_request *r, noun_print_fn *print);

/* `{"params":{…}}` of the line's -p. */
MUST_CHECK enum err_code noun_add_params(const struct args *a, struct buf *out, struct err *err);
