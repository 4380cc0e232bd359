/* SPDX-License-Identifier: MIT */
#include "cli/request/job_lines.h"

#include <errno.h>
#include <stdio.h>

#include <jansson.h>

#include "base/jtext/jtext.h"
#include "cli/view/reply_json.h"
#include "core/job/job.h"

#define PIECE_BYTES ((size_t)4 << 20)
#define PIECE_MAX (PIECE_BYTES + JOB_BYTES_MAX * 2)

struct lines {
    struct cli *cli;
    const char *file; /* for messages */
    FILE *from;
    struct slice given;
    struct buf piece;
    VEC(size_t) numbers; /* of the lines in the piece */
    size_t number;       /* of the line read last */
    size_t refused;
};

static void fault(struct lines *l, size_t number, const char *message)
{
    fflush(stdout);
    fprintf(stderr, "%s:%zu: %s\n", l->file, number, message);
    l->refused++;
}

static void add_member(struct buf *b, struct slice key, struct slice value)
{
    jtext_add_comma(b);
    buf_add_slice(b, key);
    buf_add_char(b, ':');
    buf_add_slice(b, value);
}

/* The line's own members, then those given for all that it does not have. */
static enum err_code add_line(struct lines *l, struct slice text, struct err *err)
{
    struct slice object;
    struct slice key;
    struct slice value;
    struct slice own;
    CLEANUP(arena) struct arena arena = ARENA_INIT;

    if (text.size > JOB_BYTES_MAX)
        return err_set(err, E_TOO_LARGE, "the job is larger than %zu MiB", JOB_BYTES_MAX >> 20);
    if (jtext_check(text, &object, err) != E_OK)
        return err->code;
    if (jtext_type_of(object) != JTEXT_OBJECT)
        return err_set(err, E_INVALID, "a job is a JSON object, this is %s",
                       jtext_type_name(jtext_type_of(object)));
    buf_add_char(&l->piece, '{');
    for (struct jtext_iter it = jtext_members(object); jtext_next_member(&it, &key, &value);)
        add_member(&l->piece, key, value);
    for (struct jtext_iter it = jtext_members(l->given); jtext_next_member(&it, &key, &value);) {
        if (!jtext_find(object, arena_strdup(&arena, jtext_text(key, &arena)), &own))
            add_member(&l->piece, key, value);
    }
    buf_add_str(&l->piece, "}\n");
    VEC_PUSH(&l->numbers, l->number);
    return E_OK;
}

static enum err_code send_piece(struct lines *l, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    const struct client_request r = {
        .method = "POST",
        .path = "/v1/jobs",
        .body = buf_slice(&l->piece),
        .type = "application/x-ndjson",
    };
    struct client *client = NULL;
    size_t i = 0;

    if (l->numbers.count == 0)
        return E_OK;
    if (cli_client(l->cli, &client, err) != E_OK || client_call(client, &r, &reply, err) != E_OK)
        return err_wrap(err, "%s:%zu and after", l->file, l->numbers.items[0]);
    for (const char *at = buf_text(&reply.text); *at != '\0' && i < l->numbers.count; i++) {
        size_t size = strcspn(at, "\n");
        struct slice line = slice_make(at, size);
        json_t *answer = json_loadb(line.data, line.size, 0, NULL);
        const json_t *error = json_object_get(answer, "error");

        if (error != NULL) {
            fault(l, l->numbers.items[i], reply_text(error, "message"));
        } else if (l->cli->json) {
            print_json(line);
        } else if (json_is_string(json_object_get(answer, "id"))) {
            puts(reply_text(answer, "id"));
        } else {
            fprintf(stderr, "waybill: %s:%zu: dropped by the filter %s\n", l->file,
                    l->numbers.items[i], reply_text(json_object_get(answer, "dropped"), "filter"));
        }
        json_decref(answer);
        at += size + (at[size] == '\n');
    }
    if (i < l->numbers.count)
        return err_set(err, E_UNAVAILABLE, "%s:%zu and after: no answer came", l->file,
                       l->numbers.items[i]);
    buf_clear(&l->piece);
    VEC_CLEAR(&l->numbers);
    return E_OK;
}

static enum err_code take_line(struct lines *l, struct slice text, struct err *err)
{
    struct err bad = ERR_INIT;
    size_t before = l->piece.size;

    l->number++;
    if (strspn(text.data, " \t\r\n") == text.size)
        return E_OK;
    if (add_line(l, text, &bad) != E_OK) {
        l->piece.size = before;
        fault(l, l->number, bad.msg);
        return E_OK;
    }
    if (l->piece.size < PIECE_BYTES || args_has(&l->cli->args, "dry-run"))
        return E_OK;
    return send_piece(l, err);
}

static enum err_code read_lines(struct lines *l, struct err *err)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size = 0;
    enum err_code code = E_OK;
    bool dry = args_has(&l->cli->args, "dry-run");

    while (code == E_OK && (size = getline(&line, &capacity, l->from)) >= 0) {
        code = take_line(l, slice_make(line, (size_t)size), err);
        if (dry) {
            fwrite(buf_text(&l->piece), 1, l->piece.size, stdout);
            buf_clear(&l->piece);
            VEC_CLEAR(&l->numbers);
        }
    }
    if (code == E_OK && ferror(l->from))
        code = err_errno(err, E_INVALID, "read %s", l->file);
    free(line);
    return code == E_OK ? send_piece(l, err) : code;
}

int job_lines_add(struct cli *cli, const char *file, struct slice given)
{
    bool standard = strcmp(file, "-") == 0;
    struct lines l = {.cli = cli,
                      .file = standard ? "standard input" : file,
                      .from = standard ? stdin : fopen(file, "re"),
                      .given = given,
                      .piece = BUF_INIT(PIECE_MAX)};
    struct err err = ERR_INIT;

    if (l.from == NULL)
        return cli_usage(cli, "--lines %s: %s", file, strerror(errno));
    enum err_code code = read_lines(&l, &err);

    if (!standard)
        fclose(l.from);
    buf_deinit(&l.piece);
    VEC_DEINIT(&l.numbers);
    if (code != E_OK)
        return cli_fail(cli, &err);
    return l.refused > 0 ? CLI_REFUSED : CLI_OK;
}
