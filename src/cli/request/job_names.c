/* SPDX-License-Identifier: MIT */
#include "cli/request/job_names.h"

#include <string.h>

#include <jansson.h>

#include "base/id.h"
#include "cli/request/last_job.h"
#include "cli/view/job_summary.h"
#include "cli/view/reply_json.h"
#include "worker/client/url.h"

enum { CANDIDATES_SHOWN = 10 };

bool job_name_is_short(const char *text)
{
    size_t size = strlen(text);
    int64_t first;
    int64_t last;

    if (strcmp(text, JOB_LAST) == 0)
        return true;
    return size >= JOB_PREFIX_MIN && size < ID_TEXT_SIZE - 1 &&
           id_prefix(slice_of(text), &first, &last);
}

static int find_last(struct cli *cli, const char **ret_id)
{
    struct client *client = NULL;
    struct err err = ERR_INIT;
    char id[ID_TEXT_SIZE];

    if (cli_client(cli, &client, &err) != E_OK)
        return cli_fail(cli, &err);
    if (!last_job_find(client_server(client), id)) {
        err_set(&err, E_NOT_FOUND, JOB_LAST ": you have added no job to %s yet",
                client_server(client));
        return cli_fail(cli, &err);
    }
    *ret_id = arena_strdup(&cli->arena, slice_of(id));
    return CLI_OK;
}

static int ambiguous(const char *prefix, const json_t *jobs, bool more)
{
    fprintf(stderr, "waybill: several job ids start with %s; give more characters\n", prefix);
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *job = json_array_get(jobs, i);
        CLEANUP(buf) struct buf line = BUF_INIT(1024);
        CLEANUP(buf) struct buf clean = BUF_INIT(1024);

        buf_addf(&line, "  %s  %-9s  %s  ", reply_text(job, "id"), reply_text(job, "state"),
                 reply_text(job, "queue"));
        job_summary(job, &line);
        clean_text(&clean, buf_slice(&line));
        fprintf(stderr, "%s\n", buf_text(&clean));
    }
    if (more)
        fprintf(stderr, "  and more\n");
    return CLI_USAGE;
}

/* A page may be empty although more follow: continues until a job is found or no page is left. */
static enum err_code find_jobs(struct cli *cli, const char *prefix, struct client_reply *page,
                               struct err *err)
{
    CLEANUP(buf) struct buf path = BUF_INIT(4096);
    CLEANUP(mem) char *cursor = mem_strdup("");

    do {
        buf_clear(&path);
        buf_addf(&path, "/v1/jobs?limit=%d&id=%s", CANDIDATES_SHOWN, prefix);
        if (*cursor != '\0')
            buf_addf(&path, "&cursor=%s", cursor);
        client_reply_deinit(page);
        *page = CLIENT_REPLY_INIT;
        if (cli_get(cli, buf_text(&path), page, err) != E_OK)
            return err->code;
        free(cursor);
        cursor = mem_strdup(reply_text(page->json, "cursor"));
    } while (*cursor != '\0' && json_array_size(json_object_get(page->json, "jobs")) == 0);
    return E_OK;
}

static int find_by_prefix(struct cli *cli, const char *prefix, const char **ret_id)
{
    CLEANUP(client_reply) struct client_reply page = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;

    if (find_jobs(cli, prefix, &page, &err) != E_OK)
        return cli_fail(cli, &err);
    const json_t *jobs = json_object_get(page.json, "jobs");
    size_t count = json_array_size(jobs);

    if (count == 0) {
        err_set(&err, E_NOT_FOUND, "no job id starts with %s", prefix);
        return cli_fail(cli, &err);
    }
    if (count > 1)
        return ambiguous(prefix, jobs, *reply_text(page.json, "cursor") != '\0');
    *ret_id = arena_strdup(&cli->arena, slice_of(reply_text(json_array_get(jobs, 0), "id")));
    return CLI_OK;
}

static int resolve(struct cli *cli, const char **word)
{
    if (!job_name_is_short(*word))
        return CLI_OK;
    return strcmp(*word, JOB_LAST) == 0 ? find_last(cli, word) : find_by_prefix(cli, *word, word);
}

/* --after ID, ID:end, ID/STEP: a short name of the job may stand for its id. */
static int resolve_after(struct cli *cli, struct given_option *given)
{
    CLEANUP(buf) struct buf whole = BUF_INIT(4096);

    if (strcmp(given->spec->name, "after") != 0)
        return CLI_OK;
    size_t size = strcspn(given->value, ":/");
    const char *id = arena_strdup(&cli->arena, slice_make(given->value, size));
    int status = resolve(cli, &id);

    if (status != CLI_OK)
        return status;
    buf_addf(&whole, "%s%s", id, given->value + size);
    if (!whole.overflowed) /* else it is no id, and is refused as it was given */
        given->value = arena_strdup(&cli->arena, buf_slice(&whole));
    return CLI_OK;
}

int job_names_resolve(struct cli *cli)
{
    struct args *a = &cli->args;
    bool jobs = a->command->arguments[0].value.type == VALUE_JOB;
    int status = CLI_OK;

    for (size_t i = 0; jobs && i < a->words.count && status == CLI_OK; i++)
        status = resolve(cli, &a->words.items[i]);
    for (size_t i = 0; i < a->options.count && status == CLI_OK; i++)
        status = resolve_after(cli, &a->options.items[i]);
    return status;
}
