/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include <jansson.h>

#include "base/jtext/jtext.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/request/bulk.h"
#include "cli/request/filter.h"
#include "cli/request/last_job.h"
#include "cli/table/value.h"
#include "cli/view/reply_json.h"
#include "core/job/state.h"

#define BODY_MAX ((size_t)4 << 20)

/* Actions on jobs, single and in bulk. */
struct act {
    const char *verb;
    const char *action;  /* the server's word */
    const char *done;    /* for people */
    const char *option;  /* whose pairs go along, */
    const char *members; /* and under which name */
};

static const struct act acts[] = {
    {.verb = "cancel", .action = "cancel", .done = "cancelled"},
    {.verb = "retry", .action = "retry", .done = "retried", .option = "set", .members = "params"},
    {.verb = "hold", .action = "hold", .done = "held"},
    {.verb = "release", .action = "release", .done = "released"},
    {.verb = "clone", .action = "clone", .option = "param", .members = "params"},
    {.verb = "now", .action = "now", .done = "made ready"},
    {.verb = "move", .action = "move", .done = "moved"},
    {.verb = "rm", .action = "delete", .done = "deleted"},
};

static bool is_move(const struct act *act)
{
    return strcmp(act->verb, "move") == 0;
}

static bool is_retry(const struct act *act)
{
    return strcmp(act->verb, "retry") == 0;
}

/* The step to start at, or NULL. */
static const char *from_step(const struct cli *cli, const struct act *act)
{
    return is_retry(act) ? args_text(&cli->args, "from") : NULL;
}

/* What goes along with each job; stays empty when there is nothing. */
static enum err_code act_body(const struct cli *cli, const struct act *act, struct buf *body,
                              struct err *err)
{
    const char *from = from_step(cli, act);

    buf_add_char(body, '{');
    if (is_move(act))
        jtext_put_string(body, "queue", slice_of(args_text(&cli->args, "to")));
    if (act->option != NULL && args_has(&cli->args, act->option)) {
        jtext_add_key(body, act->members);
        if (pairs_add_json(&cli->args, act->option, body, err) != E_OK)
            return err->code;
    }
    if (from != NULL && strspn(from, "0123456789") == strlen(from) && *from >= '1' &&
        strlen(from) < 10)
        jtext_put_raw(body, "from", slice_of(from));
    else if (from != NULL)
        jtext_put_string(body, "from", slice_of(from)); /* the name of a step */
    if (is_retry(act) && args_has(&cli->args, "alone"))
        jtext_put_bool(body, "alone", true);
    buf_add_char(body, '}');
    if (body->size == strlen("{}"))
        buf_clear(body);
    return E_OK;
}

static void print_reply(const struct cli *cli, const struct act *act, struct slice id,
                        const struct client_reply *reply)
{
    const char *state = reply_text(reply->json, "state");
    int64_t revived = reply_int(reply->json,
                                "revived"); /* jobs that come back with a retried one */

    if (cli->json) {
        print_json(buf_slice(&reply->text));
        return;
    }
    if (strcmp(act->verb, "clone") == 0) {
        puts(reply_text(reply->json, "id"));
        return;
    }
    if (reply_is_true(reply->json, "cancelling"))
        state = "cancelling";
    printf("%.*s  %s", (int)id.size, id.data, *state != '\0' ? state : act->done);
    if (revived > 0)
        printf("; %" PRId64 "%s job%s it had cancelled come%s back", revived,
               reply_is_true(reply->json, "revived_more") ? " or more" : "",
               revived == 1 ? "" : "s", revived == 1 ? "s" : "");
    putchar('\n');
}

static int act_on(struct cli *cli, const struct act *act, struct slice id, struct slice body)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct err err = ERR_INIT;
    char path[64];
    bool deletes = strcmp(act->verb, "rm") == 0;

    snprintf(path, sizeof(path), "/v1/jobs/%.*s%s%s", (int)id.size, id.data, deletes ? "" : "/",
             deletes ? "" : act->action);
    const struct client_request r = {
        .method = deletes ? "DELETE" : "POST",
        .path = path,
        .body = body,
    };

    if (cli_call(cli, &r, &reply, &err) == E_OK) {
        if (strcmp(act->verb, "clone") == 0)
            last_job_keep(client_server(cli->client), reply_text(reply.json, "id"));
        print_reply(cli, act, id, &reply);
        return CLI_OK;
    }
    if (err.code != E_UNAVAILABLE && memmem(err.msg, strlen(err.msg), id.data, id.size) == NULL)
        (void)err_wrap(&err, "%.*s", (int)id.size, id.data); /* which of them */
    return cli_fail(cli, &err);
}

static int act_on_filter(struct cli *cli, const struct act *act)
{
    if (act->option != NULL && args_has(&cli->args, act->option))
        return cli_usage(cli, "--%s goes with ids, not with a filter", act->option);
    if (from_step(cli, act) != NULL)
        return cli_usage(cli, "--from goes with ids, not with a filter");
    return bulk_act(cli, &(struct bulk_request){
                             .action = act->action,
                             .done = act->done,
                             .to_queue = is_move(act) ? args_text(&cli->args, "to") : NULL,
                             .alone = is_retry(act) && args_has(&cli->args, "alone"),
                         });
}

int cmd_act(struct cli *cli)
{
    const struct act *act = acts;
    size_t ids = cli->args.words.count;
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);
    struct err err = ERR_INIT;
    int status = CLI_OK;

    while (strcmp(act->verb, cli->args.command->name) != 0) {
        act++;
        ASSERT(act < acts + ARRAY_LEN(acts));
    }
    bool filters = act->done != NULL && filter_given(&cli->args);

    if (is_move(act) && !args_has(&cli->args, "to"))
        return cli_usage(cli, "say where to: --to QUEUE");
    if (ids == 0 && !filters)
        return cli_usage(cli,
                         "say which jobs: ids, or --queue --state --label --text --since --older");
    if (ids > 0 && filters)
        return cli_usage(cli, "say ids or a filter, not both");
    if (filters)
        return act_on_filter(cli, act);
    if (act->done != NULL && args_has(&cli->args, "dry-run"))
        return cli_usage(cli, "--dry-run goes with a filter, not with ids");
    if (act_body(cli, act, &body, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    for (size_t i = 0; i < ids; i++) {
        int one = act_on(cli, act, value_job(cli->args.words.items[i]), buf_slice(&body));

        if (status == CLI_OK)
            status = one;
        if (one == CLI_NO_SERVER)
            break;
    }
    return status;
}

/* The first of the states that is not one of an ended job; empty: none. */
static struct slice find_not_ended(const char *states)
{
    for (;;) {
        struct slice word = slice_make(states, strcspn(states, ","));

        if (!job_state_ended(job_state_parse(word)))
            return word;
        if (states[word.size] == '\0')
            return slice_make(NULL, 0);
        states += word.size + 1;
    }
}

int cmd_prune(struct cli *cli)
{
    const char *states = args_text(&cli->args, "state");
    struct slice bad = states != NULL ? find_not_ended(states) : slice_make(NULL, 0);

    if (!filter_given(&cli->args))
        return cli_usage(cli,
                         "say which jobs: --older D, or --queue --state --label --text --since");
    if (bad.size > 0)
        return cli_usage(cli, "%.*s jobs have not ended: 'waybill rm' deletes those", (int)bad.size,
                         bad.data);
    return bulk_act(cli, &(struct bulk_request){
                             .action = "delete",
                             .done = "deleted",
                             .states = "done,failed,cancelled,relayed",
                         });
}
