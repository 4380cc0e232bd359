/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "cli/answer.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "core/definition.h"
#include "server/definition_files.h"

#define DEFINITIONS_MAX ((size_t)64 << 20)

static enum colour change_colour(const char *change)
{
    if (strcmp(change, "added") == 0)
        return COLOUR_GREEN;
    if (strcmp(change, "removed") == 0)
        return COLOUR_RED;
    return COLOUR_YELLOW;
}

static void print_changes(const struct cli *cli, const json_t *reply)
{
    size_t changed = 0;
    json_t *change = NULL;

    for (size_t i = 0; (change = json_array_get(json_object_get(reply, "changes"), i)) != NULL;
         i++) {
        const char *what = answer_text(change, "change");
        enum colour colour = change_colour(what);

        if (strcmp(what, "same") == 0)
            continue;
        changed++;
        printf("%s %s  %s%s%s%s\n", answer_text(change, "kind"), answer_text(change, "name"),
               screen_on(&cli->screen, colour), what, screen_off(&cli->screen, colour),
               strcmp(what, "kept") == 0 ? ": there are jobs in it" : "");
    }
    if (changed == 0)
        puts("nothing changes");
    else if (answer_is_true(reply, "dry_run"))
        puts("dry run: nothing has been changed");
}

static enum err_code send_definitions(struct cli *cli, const struct definitions *d,
                                      struct client_reply *reply, struct err *err)
{
    CLEANUP(buf) struct buf body = BUF_INIT(DEFINITIONS_MAX);
    CLEANUP(buf) struct buf path = BUF_INIT(200);

    definitions_json(d, &body);
    if (body.overflowed)
        return err_set(err, E_TOO_LARGE, "the definitions are larger than %zu MiB",
                       DEFINITIONS_MAX >> 20);
    buf_addf(&path, "/v1/definitions?prune=%d&dry_run=%d", args_has(&cli->args, "prune"),
             args_has(&cli->args, "dry-run"));
    const struct client_request r = {
        .method = "POST",
        .path = buf_text(&path),
        .body = buf_slice(&body),
    };

    return cli_call(cli, &r, reply, err);
}

/* The sections that say something to `serve` alone. */
static void tell_passed_over(const struct definitions *d)
{
    const struct definition_place places[] = {
        d->server.listen_from, d->server.url_from,   d->server.token_file_from,
        d->server.store_from,  d->server.names_from, d->server.subscriptions_from,
    };

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (places[i].line == 0)
            continue;
        fprintf(stderr,
                "waybill: %s: the section 'server' is passed over: only 'serve -c' reads it\n",
                places[i].file.data);
        break;
    }
    if (d->server.triggers.count > 0)
        fprintf(stderr,
                "waybill: %s: the section 'triggers' is passed over: only 'serve -c' reads it\n",
                d->server.triggers.items[0].place.file.data);
}

int cmd_apply(struct cli *cli)
{
    CLEANUP(definitions) struct definitions d;
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;

    definitions_init(&d);
    for (size_t i = 0; i < cli->args.words.count; i++) {
        if (definitions_read(&d, cli->args.words.items[i], &err) != E_OK) {
            (void)cli_fail(cli, &err);
            return CLI_USAGE;
        }
    }
    if (send_definitions(cli, &d, &reply, &err) != E_OK) {
        definitions_locate(&d, &err);
        return cli_fail(cli, &err);
    }
    tell_passed_over(&d);
    if (cli->json)
        print_json(buf_slice(&reply.text));
    else
        print_changes(cli, reply.json);
    return CLI_OK;
}
