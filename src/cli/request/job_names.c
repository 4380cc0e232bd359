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

/* ---- URLs ---- */

/* The server in the URL of a job; empty: it is none. */
static struct slice server_in(const char *text)
{
    const char *path = strstr(text, "/v1/jobs/");
    bool is_url = strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;

    return is_url && path != NULL ? slice_make(text, (size_t)(path - text)) : SLICE("");
}

/* Without what may differ in URLs of one server. */
static void add_plain(struct buf *out, struct slice url)
{
    static const char *const own[] = {"://localhost", "://[::1]"};

    while (url.size > 0 && url.data[url.size - 1] == '/')
        url.size--;
    buf_add_slice(out, url);
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        const char *found = strstr(buf_text(out), own[i]);
        size_t size = strlen(own[i]);

        if (found != NULL && (found[size] == '\0' || found[size] == ':')) {
            CLEANUP(mem) char *rest = mem_strdup(found + size);

            out->size = (size_t)(found - out->data);
            buf_addf(out, "://127.0.0.1%s", rest);
        }
    }
}

static bool is_same_url(struct slice a, const char *b)
{
    CLEANUP(buf) struct buf x = BUF_INIT(4096);
    CLEANUP(buf) struct buf y = BUF_INIT(4096);

    add_plain(&x, a);
    add_plain(&y, slice_of(b));
    return strcmp(buf_text(&x), buf_text(&y)) == 0;
}

/* Its own URL, or that of a server that shares its store. */
static bool is_url_of(const json_t *server, struct slice url)
{
    const json_t *servers = json_object_get(server, "servers");

    if (is_same_url(url, reply_text(server, "url")))
        return true;
    for (size_t i = 0; i < json_array_size(servers); i++)
        if (is_same_url(url, reply_text(json_array_get(servers, i), "url")))
            return true;
    return false;
}

/* The URL of a job names its server: another one is not asked instead. */
static int check_server(struct cli *cli, const char *word)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct slice url = server_in(word);
    struct client *client = NULL;
    struct err err = ERR_INIT;

    if (url.size == 0)
        return CLI_OK;
    if (cli_client(cli, &client, &err) != E_OK)
        return cli_fail(cli, &err);
    if (is_same_url(url, client_server(client)))
        return CLI_OK;
    if (cli_get(cli, "/v1/server", &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (is_url_of(reply.json, url))
        return CLI_OK;
    err_set(&err, E_CONFLICT,
            "the job belongs to another server, %.*s: give --url %.*s, or only the id for a job of "
            "%s",
            (int)url.size, url.data, (int)url.size, url.data, client_server(client));
    return cli_fail(cli, &err);
}

/* ---- all of them ---- */

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
    if (server_in(given->value).size > 0)
        return check_server(cli, given->value);
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

    for (size_t i = 0; jobs && i < a->words.count && status == CLI_OK; i++) {
        status = check_server(cli, a->words.items[i]);
        if (status == CLI_OK)
            status = resolve(cli, &a->words.items[i]);
    }
    for (size_t i = 0; i < a->options.count && status == CLI_OK; i++)
        status = resolve_after(cli, &a->options.items[i]);
    return status;
}
