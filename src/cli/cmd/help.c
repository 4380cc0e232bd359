/* SPDX-License-Identifier: MIT */
#include <jansson.h>

#include "base/jtext/jtext.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/table/completion.h"
#include "cli/table/help.h"

#define TABLE_JSON_MAX ((size_t)1 << 20)

static void add_text(struct buf *b, const char *key, const char *text)
{
    if (text == NULL)
        return;
    jtext_put_string(b, key, slice_of(text));
}

static void add_options(struct buf *b, const struct command *c)
{
    const struct option_spec *o = NULL;

    jtext_add_key(b, "options");
    buf_add_char(b, '[');
    for (unsigned i = 0; (o = command_next_option(c, &i)) != NULL;) {
        const char letter[2] = {o->letter, '\0'};

        jtext_add_comma(b);
        buf_add_char(b, '{');
        add_text(b, "name", o->name);
        add_text(b, "letter", o->letter != '\0' ? letter : NULL);
        add_text(b, "value", o->value.name);
        jtext_put_bool(b, "repeats", o->repeats);
        add_text(b, "help", o->help);
        buf_add_char(b, '}');
    }
    buf_add_char(b, ']');
}

static void add_table(struct buf *b, const struct command *table)
{
    buf_add_char(b, '[');
    for (const struct command *c = table; c->name != NULL; c++) {
        jtext_add_comma(b);
        buf_add_char(b, '{');
        add_text(b, "name", c->name);
        add_text(b, "help", c->help);
        if (c->verbs != NULL) {
            jtext_add_key(b, "verbs");
            add_table(b, c->verbs);
        } else {
            jtext_add_key(b, "arguments");
            buf_add_char(b, '[');
            for (const struct argument_spec *a = c->arguments; a->value.name != NULL; a++) {
                jtext_add_comma(b);
                buf_add_char(b, '{');
                add_text(b, "name", a->value.name);
                jtext_put_bool(b, "optional", a->optional);
                jtext_put_bool(b, "repeats", a->repeats);
                buf_add_char(b, '}');
            }
            buf_add_char(b, ']');
            add_options(b, c);
        }
        buf_add_char(b, '}');
    }
    buf_add_char(b, ']');
}

int cmd_help(struct cli *cli)
{
    CLEANUP(buf) struct buf json = BUF_INIT(TABLE_JSON_MAX);

    if (args_has(&cli->args, "markdown")) {
        help_markdown(stdout);
    } else if (cli->json) {
        buf_add_str(&json, "{\"verbs\":");
        add_table(&json, commands);
        buf_add_char(&json, '}');
        ASSERT(!json.overflowed);
        puts(buf_text(&json));
    } else if (cli->args.words.count > 0) {
        /* `help queue pause` is `queue pause --help`. */
        const char *second = args_word(&cli->args, 1);
        const char *line[] = {args_word(&cli->args, 0), second != NULL ? second : "--help",
                              "--help"};
        CLEANUP(args) struct args about = ARGS_INIT;
        struct err err = ERR_INIT;

        if (cli->args.words.count > 2)
            return cli_usage(cli, "'%s' is one word too many", args_word(&cli->args, 2));
        if (args_parse(&about, commands, ARRAY_LEN(line), line, &err) != E_OK)
            return cli_usage(cli, "%s", err.msg);
        help_command(stdout, about.parent, about.command, cli->screen.width);
        return CLI_OK;
    } else {
        help_overview(stdout, cli->screen.width);
    }
    return CLI_OK;
}

int cmd_version(struct cli *cli)
{
    puts(cli->json ? "{\"version\":\"" WAYBILL_VERSION "\"}" : "waybill " WAYBILL_VERSION);
    return CLI_OK;
}

int cmd_completion(struct cli *cli)
{
    const char *shell = args_word(&cli->args, 0);
    CLEANUP(buf) struct buf script = BUF_INIT(TABLE_JSON_MAX);

    completion_script(shell, &script);
    ASSERT(!script.overflowed);
    if (!cli->json) {
        fputs(buf_text(&script), stdout);
        return CLI_OK;
    }
    CLEANUP(buf) struct buf json = BUF_INIT(TABLE_JSON_MAX * 2);

    buf_addf(&json, "{\"shell\":\"%s\",\"script\":", shell);
    jtext_add_string(&json, buf_slice(&script));
    buf_add_char(&json, '}');
    puts(buf_text(&json));
    return CLI_OK;
}
