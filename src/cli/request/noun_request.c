/* SPDX-License-Identifier: MIT */
#include "cli/request/noun_request.h"

#include <jansson.h>

#include "base/jtext/jtext.h"
#include "cli/request/filter.h"
#include "cli/table/noun.h"
#include "cli/view/reply_json.h"
#include "worker/client/url.h"

#define PATH_SIZE_MAX 4096

static enum err_code call(struct cli *cli, const struct noun_request *r, const char *name,
                          struct client_reply *reply, struct err *err)
{
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_SIZE_MAX);

    buf_addf(&path, "/v1/%s/", nouns[cli->args.parent->noun]->plural);
    client_add_escaped(&path, slice_of(name));
    if (r->action != NULL)
        buf_addf(&path, "/%s", r->action);
    if (r->key != NULL) {
        buf_add_str(&path, "?key=");
        client_add_escaped(&path, slice_of(r->key));
    }
    if (r->at != NULL)
        buf_addf(&path, "?at=%s", r->at);
    if (r->query != NULL)
        buf_addf(&path, "?%s", r->query);
    if (path.overflowed)
        return err_set(err, E_INVALID, "the name is too long");
    return cli_call(
        cli,
        &(struct client_request){.method = r->method, .path = buf_text(&path), .body = r->body},
        reply, err);
}

int noun_send(struct cli *cli, const struct noun_request *r, noun_print_fn *print)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    const char *name = r->name != NULL ? r->name : args_word(&cli->args, 0);
    struct err err = ERR_INIT;

    if (call(cli, r, name, &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (cli->json && r->items != NULL)
        print_json_items(buf_slice(&reply.text), r->items);
    else if (cli->json)
        print_json(buf_slice(&reply.text));
    else if (print != NULL)
        print(cli, name, reply.json);
    else
        printf("%s  %s\n", name, r->done);
    return CLI_OK;
}

int noun_send_each(struct cli *cli, const struct noun_request *r, noun_print_fn *print)
{
    struct noun_request one = *r;
    int status = CLI_OK;

    for (size_t i = 0; i < cli->args.words.count; i++) {
        one.name = cli->args.words.items[i];
        int sent = noun_send(cli, &one, print);

        if (status == CLI_OK)
            status = sent;
        if (sent == CLI_NO_SERVER)
            break;
    }
    return status;
}

enum err_code noun_add_params(const struct args *a, struct buf *out, struct err *err)
{
    buf_add_str(out, "{\"params\":");
    if (pairs_add_json(a, "param", out, err) != E_OK)
        return err->code;
    buf_add_char(out, '}');
    return E_OK;
}
