/*
 * The verbs that every noun has: `list` and `show`, as its struct says.
 */
/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "base/clock.h"
#include "cli/request/noun_request.h"
#include "cli/table/noun.h"
#include "cli/view/reply_json.h"
#include "worker/client/url.h"

#define PATH_SIZE_MAX 4096

/* Gets all pages; prints each with --json, otherwise adds its items to `all`. */
static enum err_code get_all(struct cli *cli, const char *plural, json_t *all, struct err *err)
{
    CLEANUP(mem) char *cursor = mem_strdup("");

    do {
        CLEANUP(client_reply) struct client_reply page = CLIENT_REPLY_INIT;
        CLEANUP(buf) struct buf path = BUF_INIT(PATH_SIZE_MAX);

        buf_addf(&path, "/v1/%s", plural);
        if (*cursor != '\0') {
            buf_add_str(&path, "?cursor=");
            client_add_escaped(&path, slice_of(cursor));
        }
        if (cli_get(cli, buf_text(&path), &page, err) != E_OK)
            return err->code;
        if (cli->json)
            print_json_items(buf_slice(&page.text), plural);
        else
            json_array_extend(all, json_object_get(page.json, plural));
        free(cursor);
        cursor = mem_strdup(reply_text(page.json, "cursor"));
    } while (*cursor != '\0');
    return E_OK;
}

int noun_list(struct cli *cli)
{
    enum noun_id id = cli->args.parent->noun;
    json_t *all = json_array();
    struct err err = ERR_INIT;
    int status = CLI_OK;

    if (get_all(cli, nouns[id]->plural, all, &err) != E_OK)
        status = cli_fail(cli, &err);
    else if (args_has(&cli->args, "names"))
        for (size_t i = 0; i < json_array_size(all); i++)
            puts(reply_text(json_array_get(all, i),
                            nouns[id]->key != NULL ? nouns[id]->key : "name"));
    else if (json_array_size(all) == 0 && !cli->json)
        fprintf(stderr, "there are no %s\n", nouns[id]->plural);
    else
        noun_print_table(id, all, clock_wall_us(), &cli->screen);
    json_decref(all);
    return status;
}

static void print_page(const struct cli *cli, const char *name, const json_t *item)
{
    (void)name;
    noun_print_page(cli->args.parent->noun, item, clock_wall_us(), &cli->screen);
}

int noun_show(struct cli *cli)
{
    return noun_send_each(cli, &(struct noun_request){.method = NULL}, print_page);
}
