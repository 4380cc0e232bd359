/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include <jansson.h>

#include "base/jtext/jtext.h"
#include "cli/checkup/store_files.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/view/reply_json.h"

#define PATH_SIZE 4096

/* The server has another working directory. */
static enum err_code make_absolute(const char *dir, struct buf *out, struct err *err)
{
    char here[PATH_SIZE];

    if (dir[0] != '/') {
        if (getcwd(here, sizeof(here)) == NULL)
            return err_errno(err, E_INVALID, "current directory");
        buf_addf(out, "%s/", here);
    }
    buf_add_str(out, dir);
    if (out->overflowed)
        return err_set(err, E_INVALID, "the path of the directory is too long");
    return E_OK;
}

static void print_result(const struct cli *cli, const char *dir, int64_t bytes)
{
    CLEANUP(buf) struct buf line = BUF_INIT((size_t)PATH_SIZE * 4);
    char size[SHORT_TEXT_SIZE];

    if (cli->json) {
        buf_add_str(&line, "{\"dir\":");
        jtext_add_string(&line, slice_of(dir));
        buf_addf(&line, ",\"bytes\":%lld}", (long long)bytes);
        puts(buf_text(&line));
    } else {
        printf("%s  %s\n", dir, bytes_format(bytes, size));
    }
}

static enum err_code backup(struct cli *cli, const char *dir, int64_t *ret_bytes, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf body = BUF_INIT((size_t)PATH_SIZE * 8);

    buf_add_str(&body, "{\"dir\":");
    jtext_add_string(&body, slice_of(dir));
    buf_add_char(&body, '}');
    const struct client_request r = {
        .method = "POST",
        .path = "/v1/backup",
        .body = buf_slice(&body),
        .patience_s = -1, /* as long as the copy takes */
    };
    CLEANUP(store_files) struct store_files files = STORE_FILES_INIT;
    bool use_files = false;

    if (store_files_or_call(cli, &r, &reply, &use_files, err) != E_OK)
        return err->code;
    if (use_files && store_files_open(cli, &files, err) != E_OK)
        return err->code;
    if (use_files)
        return store_backup(files.store, dir, ret_bytes, err);
    *ret_bytes = reply_int(reply.json, "bytes");
    return E_OK;
}

int cmd_backup(struct cli *cli)
{
    CLEANUP(buf) struct buf dir = BUF_INIT(PATH_SIZE * 2 - 1);
    struct err err = ERR_INIT;
    int64_t bytes = 0;

    if (make_absolute(args_word(&cli->args, 0), &dir, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    if (backup(cli, buf_text(&dir), &bytes, &err) != E_OK)
        return cli_fail(cli, &err);
    print_result(cli, buf_text(&dir), bytes);
    return CLI_OK;
}
