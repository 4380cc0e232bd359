/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "cli/request/filter.h"
#include "cli/request/noun_request.h"
#include "cli/table/command_options.h"
#include "cli/table/noun.h"
#include "cli/view/reply_json.h"
#include "core/group/choice.h"

#define BODY_MAX ((size_t)4 << 20)

enum { BAR_COLUMNS = 20, TREE_DEPTH = 20, TREE_GROUPS = 200 };

/* ---- actions ---- */

static void print_acted(const struct cli *cli, const char *name, const json_t *reply)
{
    (void)cli;
    printf("%s  %s%s%s\n", name,
           reply_is_true(reply, "cancelling") ? "being cancelled" : reply_text(reply, "state"),
           reply_is_true(reply, "sealed") ? ", sealed" : "",
           reply_is_true(reply, "paused") ? ", paused" : "");
}

static int act(struct cli *cli, const char *action)
{
    return noun_send_each(cli, &(struct noun_request){.method = "POST", .action = action},
                          print_acted);
}

static int seal(struct cli *cli)
{
    return act(cli, "seal");
}

static int cancel(struct cli *cli)
{
    return act(cli, "cancel");
}

static int pause_groups(struct cli *cli)
{
    return act(cli, "pause");
}

static int resume(struct cli *cli)
{
    return act(cli, "resume");
}

static void print_version(const struct cli *cli, const char *name, const json_t *reply)
{
    (void)cli;
    printf("%s  version %" PRId64 "\n", name, reply_int(reply, "version"));
}

static int set(struct cli *cli)
{
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);
    const char *version = args_text(&cli->args, "if-version");
    struct err err = ERR_INIT;

    buf_add_str(&body, "{\"data\":");
    if (pairs_add_json(&cli->args, "param", &body, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    if (version != NULL)
        jtext_put_raw(&body, "if_version", slice_of(version));
    buf_add_char(&body, '}');
    return noun_send(cli, &(struct noun_request){.method = "PATCH", .body = buf_slice(&body)},
                     print_version);
}

static void add_text(const struct args *a, const char *option, const char *member, struct buf *out)
{
    const char *text = args_text(a, option);

    if (text != NULL)
        jtext_put_string(out, member, slice_of(text));
}

static int open_group(struct cli *cli)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_MAX);
    const struct args *a = &cli->args;
    struct err err = ERR_INIT;

    buf_add_char(&body, '{');
    if (args_word(a, 0) != NULL)
        jtext_put_string(&body, "open", slice_of(args_word(a, 0)));
    add_text(a, "name", "name", &body);
    add_text(a, "parent", "parent", &body);
    add_text(a, "key", "key", &body);
    if (args_has(a, "sealed"))
        jtext_put_bool(&body, "sealed", true);
    if (args_has(a, "param")) {
        jtext_add_key(&body, "data");
        if (pairs_add_json(a, "param", &body, &err) != E_OK)
            return cli_usage(cli, "%s", err.msg);
    }
    buf_add_char(&body, '}');
    if (cli_call(cli,
                 &(struct client_request){
                     .method = "POST", .path = "/v1/groups", .body = buf_slice(&body)},
                 &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (cli->json)
        print_json(buf_slice(&reply.text));
    else
        puts(reply_text(reply.json, "id"));
    return CLI_OK;
}

/* ---- the tree ---- */

struct tree {
    struct cli *cli;
    int left; /* groups that may still be drawn */
};

static void draw(const struct tree *t, const json_t *group, int depth)
{
    CLEANUP(buf) struct buf bar = BUF_INIT(4096);
    const json_t *counts = json_object_get(group, "counts");
    int64_t ended = reply_int(counts, "done") + reply_int(counts, "failed") +
                    reply_int(counts, "cancelled");
    const char *kind = reply_text(group, "kind");
    const char *name = reply_text(group, "name");
    FILE *out = screen_out(&t->cli->screen);

    fprintf(out, "%*s%s%s%s%s%s  %s%s", 2 * depth, "", reply_text(group, "id"),
            *kind != '\0' ? " " : "", kind, *name != '\0' ? " " : "", name,
            reply_is_true(group, "cancelling") ? "being cancelled" : reply_text(group, "state"),
            reply_is_true(group, "paused") ? ", paused" : "");
    if (counts != NULL) {
        bar_add(&bar, ended, reply_int(counts, "made"), BAR_COLUMNS);
        fprintf(out, "  %s %" PRId64 "/%" PRId64, buf_text(&bar), ended, reply_int(counts, "made"));
    }
    if (reply_int(counts, "failed") > 0)
        fprintf(out, ", %" PRId64 " failed", reply_int(counts, "failed"));
    if (reply_int(counts, "dropped") > 0)
        fprintf(out, ", %" PRId64 " dropped", reply_int(counts, "dropped"));
    fputc('\n', out);
}

/* The groups below, the newest first.  Recursion is as deep as the tree that is drawn. */
static enum err_code draw_below(struct tree *t, const char *id, int depth, struct err *err)
{
    CLEANUP(client_reply) struct client_reply page = CLIENT_REPLY_INIT;
    char path[100];
    const json_t *group;
    size_t i;

    if (depth > TREE_DEPTH || t->left <= 0)
        return E_OK;
    snprintf(path, sizeof(path), "/v1/groups?limit=%d&parent=%.40s", TREE_GROUPS, id);
    if (cli_get(t->cli, path, &page, err) != E_OK)
        return err->code;
    json_array_foreach(json_object_get(page.json, "groups"), i, group)
    {
        if (t->left-- <= 0)
            break;
        draw(t, group, depth);
        if (draw_below(t, reply_text(group, "id"), depth + 1, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

static int show_one(struct cli *cli, const char *id)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    struct tree tree = {.cli = cli, .left = TREE_GROUPS};
    struct err err = ERR_INIT;
    char path[100];

    snprintf(path, sizeof(path), "/v1/groups/%.60s", id);
    if (cli_get(cli, path, &reply, &err) != E_OK)
        return cli_fail(cli, &err);
    if (cli->json) {
        print_json(buf_slice(&reply.text));
        return CLI_OK;
    }
    draw(&tree, reply.json, 0);
    noun_print_page(NOUN_GROUP, reply.json, clock_wall_us(), &cli->screen);
    if (draw_below(&tree, reply_text(reply.json, "id"), 1, &err) != E_OK)
        return cli_fail(cli, &err);
    if (tree.left <= 0)
        printf("  … and more\n");
    return CLI_OK;
}

static int show(struct cli *cli)
{
    int status = CLI_OK;

    for (size_t i = 0; i < cli->args.words.count && status == CLI_OK; i++)
        status = show_one(cli, cli->args.words.items[i]);
    return status;
}

/* ---- the verbs ---- */

static const struct option_spec open_options[] = {
    {
        .name = "name",
        .value = {.type = VALUE_TEXT, .name = "TEXT"},
        .help = "Its name",
    },
    {
        .name = "parent",
        .value = {.type = VALUE_NOUN, .noun = NOUN_GROUP, .name = "ID"},
        .help = "The group it is in (default root)",
    },
    {
        .name = "key",
        .letter = 'k',
        .value = {.type = VALUE_TEXT, .name = "K"},
        .help = "The same key is the same group",
    },
    {
        .name = "sealed",
        .help = "It ends as soon as nothing in it lives",
    },
    {.name = NULL},
};

static const struct option_spec version_option[] = {
    {
        .name = "if-version",
        .value = {.type = VALUE_INT, .name = "N", .max = INT64_MAX},
        .help = "Only while the data has this version",
    },
    {.name = NULL},
};

const struct command group_verbs[] = {
    NOUN_LIST("List groups, the newest first"),
    {
        .name = "show",
        .help = "Show groups and the tree below each",
        .arguments = {NOUN_NAMES(NOUN_GROUP)},
        .options = {server_options},
        .run = show,
    },
    {
        .name = "open",
        .help = "Open a group, print its id; it ends after 'seal'",
        .examples = "waybill group open site --name example.org -p depth:=3",
        .arguments = {{.value = {.type = VALUE_TEXT, .name = "KIND"}, .optional = true}},
        .options = {open_options, param_option, server_options},
        .run = open_group,
    },
    NOUN_ACT(NOUN_GROUP, "seal", "Let groups end when nothing in them lives", seal),
    NOUN_ACT(NOUN_GROUP, "cancel", "Cancel groups and everything below them", cancel),
    NOUN_ACT(NOUN_GROUP, "pause", "Start nothing of groups and of what is below them",
             pause_groups),
    NOUN_ACT(NOUN_GROUP, "resume", "Resume paused groups", resume),
    {
        .name = "set",
        .help = "Change the data of a group; -p K:=null removes a member",
        .examples = "waybill group set root -p limit:=5",
        .arguments = {NOUN_NAME(NOUN_GROUP)},
        .options = {param_option, version_option, server_options},
        .run = set,
    },
    {.name = NULL},
};

/* ---- how they are shown ---- */

static enum err_code check_id(const char *noun, struct slice name, struct err *err)
{
    int64_t id;

    (void)noun;
    return group_id_parse(name, &id, err);
}

static void write_count(const char *member, const struct view_source *from, struct view_text *out)
{
    const json_t *counts = json_object_get(from->item, "counts");

    if (counts != NULL)
        buf_addf(&out->text, "%" PRId64, reply_int(counts, member));
}

static void write_counted(const struct view_field *f, const struct view_source *from,
                          struct view_text *out)
{
    write_count(f->member, from, out);
}

static void write_data(const struct view_field *f, const struct view_source *from,
                       struct view_text *out)
{
    const json_t *data = json_object_get(from->item, f->member);
    CLEANUP(mem)
    char *text = data == NULL || json_object_size(data) == 0
                     ? NULL
                     : json_dumps(data, JSON_COMPACT | JSON_ENCODE_ANY);

    if (text != NULL)
        buf_add_str(&out->text, text);
}

const struct noun group_noun = {
    .name = "group",
    .key = "id",
    .plural = "groups",
    .check_name = check_id,
    .columns = {{.title = "GROUP", .member = "id"},
                {.title = "KIND", .member = "kind"},
                {.title = "NAME", .member = "name"},
                {.title = "STATE", .member = "state"},
                {.title = "WAITING", .member = "waiting", .write = write_counted, .right = true},
                {.title = "RUNNING", .member = "running", .write = write_counted, .right = true},
                {.title = "DONE", .member = "done", .write = write_counted, .right = true},
                {.title = "FAILED", .member = "failed", .write = write_counted, .right = true},
                {.title = "GROUPS", .member = "groups", .write = write_counted, .right = true},
                {.title = "OPENED", .member = "created_at", .write = view_ago, .right = true}},
    .page = {{.title = "parent", .member = "parent"},
             {.title = "waiting", .member = "waiting", .write = write_counted},
             {.title = "running", .member = "running", .write = write_counted},
             {.title = "done", .member = "done", .write = write_counted},
             {.title = "failed", .member = "failed", .write = write_counted},
             {.title = "cancelled", .member = "cancelled", .write = write_counted},
             {.title = "data", .member = "data", .write = write_data},
             {.title = "version", .member = "version", .write = view_int},
             {.title = "finaliser", .member = "finaliser"},
             {.title = "ended", .member = "ended_at", .write = view_ago}},
};
