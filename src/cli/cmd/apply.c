/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/view/reply_json.h"
#include "core/definition/definition.h"
#include "server/process/definition_files.h"

#define DEFINITIONS_MAX ((size_t)64 << 20)

static void print_changes(const struct cli *cli, const json_t *reply)
{
    size_t changed = 0;
    json_t *change = NULL;

    for (size_t i = 0; (change = json_array_get(json_object_get(reply, "changes"), i)) != NULL;
         i++) {
        const char *what = reply_text(change, "change");
        enum colour colour = strcmp(what, "added") == 0     ? COLOUR_GREEN
                             : strcmp(what, "removed") == 0 ? COLOUR_RED
                                                            : COLOUR_YELLOW;

        if (strcmp(what, "same") == 0)
            continue;
        changed++;
        printf("%s %s  %s%s%s%s\n", reply_text(change, "kind"), reply_text(change, "name"),
               screen_on(&cli->screen, colour), what, screen_off(&cli->screen, colour),
               strcmp(what, "kept") == 0 ? ": there are jobs in it" : "");
    }
    if (changed == 0)
        puts("nothing changes");
    else if (reply_is_true(reply, "dry_run"))
        puts("dry run: nothing has been changed");
}

enum how { AS_ASKED, DRY_RUN };

static enum err_code send_definitions(struct cli *cli, const struct definitions *d, enum how how,
                                      struct client_reply *reply, struct err *err)
{
    CLEANUP(buf) struct buf body = BUF_INIT(DEFINITIONS_MAX);
    CLEANUP(buf) struct buf path = BUF_INIT(200);

    definitions_json(d, &body);
    if (body.overflowed)
        return err_set(err, E_TOO_LARGE, "the definitions are larger than %zu MiB",
                       DEFINITIONS_MAX >> 20);
    buf_addf(&path, "/v1/definitions?prune=%d&dry_run=%d", args_has(&cli->args, "prune"),
             how == DRY_RUN || args_has(&cli->args, "dry-run"));
    const struct client_request r = {
        .method = "POST",
        .path = buf_text(&path),
        .body = buf_slice(&body),
    };

    return cli_call(cli, &r, reply, err);
}

static void add_refusal(struct definition_faults *faults, const struct definitions *d,
                        const struct err *refused)
{
    struct err err = *refused;

    definitions_locate(d, &err);
    VEC_PUSH(&faults->items, err);
}

/* All that the server has refused, each with its place. */
static void gather_refusals(const struct definitions *d, const struct client_reply *reply,
                            const struct err *refused, struct definition_faults *faults)
{
    const json_t *error = json_object_get(reply->json, "error");
    const json_t *all = json_object_get(json_object_get(error, "detail"), "errors");

    if (json_array_size(all) == 0)
        add_refusal(faults, d, refused);
    for (size_t i = 0; i < json_array_size(all); i++) {
        struct err err = ERR_INIT;
        const char *text = json_string_value(json_array_get(all, i));

        (void)err_set(&err, refused->code, "%s", text == NULL ? refused->msg : text);
        add_refusal(faults, d, &err);
    }
}

static int fail_all(struct cli *cli, const struct definition_faults *faults)
{
    int status = CLI_OK;

    for (size_t i = 0; i < faults->items.count; i++)
        status = cli_fail(cli, &faults->items.items[i]);
    return status;
}

/* The sections that only `serve` or `run` reads. */
static void tell_passed_over(const struct definitions *d)
{
    const struct definition_place places[] = {
        d->server.listen_from, d->server.url_from,   d->server.token_file_from,
        d->server.store_from,  d->server.names_from, d->server.subscriptions_from,
    };

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (places[i].line == 0)
            continue;
        fprintf(stderr, "waybill: %s: the section 'server' is ignored: only 'serve -c' reads it\n",
                places[i].file.data);
        break;
    }
    if (d->start.from.line > 0 || d->start.finally_from.line > 0)
        fprintf(stderr,
                "waybill: %s: the sections 'start' and 'finally' are ignored: only 'run' reads "
                "them\n",
                (d->start.from.line > 0 ? d->start.from : d->start.finally_from).file.data);
    if (d->server.triggers.count > 0)
        fprintf(stderr,
                "waybill: %s: the section 'triggers' is ignored: only 'serve -c' reads it\n",
                d->server.triggers.items[0].place.file.data);
}

int cmd_apply(struct cli *cli)
{
    CLEANUP(definitions) struct definitions d;
    CLEANUP(definition_faults) struct definition_faults faults = {.items = VEC_INIT};
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;

    definitions_init(&d);
    d.faults = &faults;
    for (size_t i = 0; i < cli->args.words.count; i++) {
        if (definitions_read(&d, cli->args.words.items[i], &err) != E_OK)
            break; /* too many */
    }
    if (faults.items.count > 0) {
        /* A server, where one answers, knows which of their names lead nowhere. */
        if (!faults.unread && send_definitions(cli, &d, DRY_RUN, &reply, &err) == E_INVALID)
            gather_refusals(&d, &reply, &err, &faults);
        (void)fail_all(cli, &faults);
        return CLI_USAGE;
    }
    if (send_definitions(cli, &d, AS_ASKED, &reply, &err) != E_OK) {
        gather_refusals(&d, &reply, &err, &faults);
        return fail_all(cli, &faults);
    }
    tell_passed_over(&d);
    if (cli->json)
        print_json(buf_slice(&reply.text));
    else
        print_changes(cli, reply.json);
    return CLI_OK;
}
