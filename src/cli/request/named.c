/* SPDX-License-Identifier: MIT */
#include "cli/request/named.h"

#include <jansson.h>

#include "base/json/json.h"
#include "cli/request/filter.h"
#include "cli/view/answer.h"
#include "worker/client/url.h"

#define PATH_SIZE_MAX 4096

enum err_code named_call(struct cli *cli, const struct named_request *r, struct client_reply *reply,
                         struct err *err)
{
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_SIZE_MAX);

    buf_addf(&path, "/v1/%s/", r->kind);
    client_add_escaped(&path, slice_of(r->name));
    if (r->key != NULL) {
        buf_add_str(&path, "?key=");
        client_add_escaped(&path, slice_of(r->key));
    }
    if (path.overflowed)
        return err_set(err, E_INVALID, "the name is too long");
    return cli_call(
        cli,
        &(struct client_request){.method = r->method, .path = buf_text(&path), .body = r->body},
        reply, err);
}

int named_one(struct cli *cli, const struct named_request *r, named_print_fn *print)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;

    if (named_call(cli, r, &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (cli->json)
        print_json(buf_slice(&reply.text));
    else
        print(cli, reply.json);
    return CLI_OK;
}

int named_each(struct cli *cli, const char *method, const char *kind, named_print_fn *print)
{
    int status = CLI_OK;

    for (size_t i = 0; i < cli->args.words.count; i++) {
        const struct named_request r = {
            .method = method,
            .kind = kind,
            .name = cli->args.words.items[i],
        };
        int one = named_one(cli, &r, print);

        if (status == CLI_OK)
            status = one;
        if (one == CLI_NO_SERVER)
            break;
    }
    return status;
}

/* ---- lists ---- */

static void add_path(const char *kind, const char *cursor, struct buf *out)
{
    buf_addf(out, "/v1/%s", kind);
    if (*cursor == '\0')
        return;
    buf_add_str(out, "?cursor=");
    client_add_escaped(out, slice_of(cursor));
}

static void take_page(const struct cli *cli, const char *kind, const struct client_reply *page,
                      json_t *all)
{
    const json_t *items = json_object_get(page->json, kind);
    json_t *item = NULL;

    if (cli->json)
        print_json_items(buf_slice(&page->text), kind);
    else
        for (size_t i = 0; (item = json_array_get(items, i)) != NULL; i++)
            json_array_append(all, item);
}

static enum err_code get_all(struct cli *cli, const char *kind, json_t *all, struct err *err)
{
    CLEANUP(mem) char *cursor = mem_strdup("");

    do {
        CLEANUP(client_reply) struct client_reply page = CLIENT_REPLY_INIT;
        CLEANUP(buf) struct buf path = BUF_INIT(PATH_SIZE_MAX);

        add_path(kind, cursor, &path);
        if (cli_get(cli, buf_text(&path), &page, err) != E_OK)
            return err->code;
        take_page(cli, kind, &page, all);
        free(cursor);
        cursor = mem_strdup(answer_text(page.json, "cursor"));
    } while (*cursor != '\0');
    return E_OK;
}

int named_list(struct cli *cli, const char *kind, named_table_fn *print)
{
    json_t *all = json_array();
    struct err err = ERR_INIT;
    int status = CLI_OK;

    if (get_all(cli, kind, all, &err) != E_OK)
        status = cli_fail(cli, &err);
    else if (args_has(&cli->args, "names"))
        for (size_t i = 0; i < json_array_size(all); i++)
            puts(answer_text(json_array_get(all, i), "name"));
    else if (json_array_size(all) > 0)
        print(cli, all);
    json_decref(all);
    return status;
}

enum err_code named_params(const struct args *a, struct buf *out, struct err *err)
{
    buf_add_str(out, "{\"params\":");
    if (pairs_add_json(a, "param", out, err) != E_OK)
        return err->code;
    buf_add_char(out, '}');
    return E_OK;
}
