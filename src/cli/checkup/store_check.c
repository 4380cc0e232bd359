/* SPDX-License-Identifier: MIT */
#include "cli/checkup/store_check.h"

#include <jansson.h>

#include "base/jtext/jtext.h"
#include "cli/checkup/store_files.h"
#include "cli/view/reply_json.h"

#define FINDINGS_MAX ((size_t)16 << 20)

struct findings {
    struct buf json; /* strings with commas between */
    size_t count;
};

static void on_finding(void *ctx, const char *finding)
{
    struct findings *f = ctx;

    f->count++;
    if (f->json.size > 0)
        buf_add_char(&f->json, ',');
    jtext_add_string(&f->json, slice_of(finding));
}

/* The files, as POST /v1/check would answer. */
static enum err_code check_files(struct cli *cli, struct buf *out, struct err *err)
{
    CLEANUP(store_files) struct store_files files = STORE_FILES_INIT;
    struct findings f = {.json = BUF_INIT(FINDINGS_MAX)};
    enum store_check how = args_has(&cli->args, "full") ? STORE_CHECK_FULL : STORE_CHECK_QUICK;

    if (store_files_open(cli, &files, err) != E_OK)
        return err->code;
    enum err_code code = store_verify(files.store, how, on_finding, &f, err);

    buf_addf(out, "{\"ok\":%s,\"findings\":[", f.count == 0 ? "true" : "false");
    buf_add_slice(out, buf_slice(&f.json));
    buf_add_str(out, "]}");
    buf_deinit(&f.json);
    return code;
}

static enum err_code check(struct cli *cli, struct buf *out, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    const struct client_request r = {
        .method = "POST",
        .path = "/v1/check",
        .body = slice_of(args_has(&cli->args, "full") ? "{\"full\":true}" : "{}"),
        .patience_s = -1, /* minutes, for a large store */
    };
    bool files = false;

    if (store_files_or_call(cli, &r, &reply, &files, err) != E_OK)
        return err->code;
    if (files)
        return check_files(cli, out, err);
    buf_add_slice(out, buf_slice(&reply.text));
    return E_OK;
}

static void print_findings(const json_t *result)
{
    json_t *finding = NULL;

    if (reply_is_true(result, "ok")) {
        puts("the store is sound");
        return;
    }
    for (size_t i = 0; (finding = json_array_get(json_object_get(result, "findings"), i)) != NULL;
         i++)
        printf("%s\n", json_string_value(finding));
    fflush(stdout);
    fputs(
        "waybill: the store is damaged: stop the server, keep a copy of the data directory, and go "
        "back to the last backup\n",
        stderr);
}

int store_check_run(struct cli *cli)
{
    CLEANUP(buf) struct buf text = BUF_INIT(FINDINGS_MAX * 2);
    struct err err = ERR_INIT;

    if (check(cli, &text, &err) != E_OK)
        return cli_fail(cli, &err);
    json_t *result = json_loadb(buf_text(&text), text.size, 0, NULL);
    bool ok = reply_is_true(result, "ok");

    if (cli->json)
        print_json(buf_slice(&text));
    else
        print_findings(result);
    json_decref(result);
    return ok ? CLI_OK : CLI_FAILED;
}
