/* SPDX-License-Identifier: MIT */
#include "cli/help.h"

#include <string.h>

#include "base/buf.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/cmd.h"

#define LINE_WIDTH 96
#define OPTION_COLUMN 30

static const char *const group_titles[GROUP_COUNT] = {
    [GROUP_JOBS] = "Jobs",
    [GROUP_QUEUES] = "Queues, workers, definitions",
    [GROUP_SERVER] = "The server and its store",
    [GROUP_IN_JOB] = "Inside a job",
    [GROUP_OTHER] = "And",
};

static const char environment_help[] =
    "WAYBILL_URL     the server: http://…, https://… or unix:PATH; without it the socket in the data\n"
    "                directory, if there is one, else http://127.0.0.1:6769\n"
    "WAYBILL_DATA    the data directory; without it /var/lib/waybill for root, else\n"
    "                ~/.local/share/waybill\n"
    "WAYBILL_STORE   the store that servers share, a URL like postgresql://USER@HOST/DATABASE: for\n"
    "                serve, and for check --store where no server runs; without it the store is in\n"
    "                the data directory\n"
    "WAYBILL_TOKEN   the token for what needs one\n"
    "NO_COLOR        no colours, please\n";

static const struct {
    int status;
    const char *help;
} statuses[] = {
    {CLI_OK, "fine"},
    {CLI_FAILED, "the work failed"},
    {CLI_USAGE, "the line or the file is wrong"},
    {CLI_NOT_FOUND, "there is no such thing"},
    {CLI_REFUSED, "the server refuses it"},
    {CLI_NO_SERVER, "no server, or it cannot now"},
    {CLI_NOT_NOW, "not now: try again later"},
};

static void print_lines(FILE *to, const char *text, const char *before)
{
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");

        fprintf(to, "%s%.*s\n", before, (int)size, text);
        text += size + (text[size] == '\n');
    }
}

void help_overview(FILE *to)
{
    fputs("waybill: a durable work queue\n\nusage: waybill VERB [arguments and options]\n", to);
    for (int group = 0; group < GROUP_COUNT; group++) {
        fprintf(to, "\n%s\n", group_titles[group]);
        for (const struct command *c = commands; c->name != NULL; c++) {
            if ((int)c->group == group)
                fprintf(to, "  %-11s %s\n", c->name, c->help);
        }
    }
    fputs("\nEnvironment\n", to);
    print_lines(to, environment_help, "  ");
    fputs("\nExit status\n", to);
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        fprintf(to, "  %-11d %s\n", statuses[i].status, statuses[i].help);
    fputs("\n'waybill VERB --help' explains a verb.\n", to);
}

/* waybill queue pause NAME… [options] */
static void add_synopsis(struct buf *b, const struct command *parent, const struct command *c)
{
    buf_addf(b, "waybill %s%s%s", parent != NULL ? parent->name : "", parent != NULL ? " " : "",
             c->name);
    if (c->verbs != NULL)
        buf_add_str(b, " VERB");
    for (const struct argument_spec *a = c->arguments; a->value.name != NULL; a++)
        buf_addf(b, " %s%s%s%s", a->optional ? "[" : "", a->value.name, a->repeats ? "…" : "",
                 a->optional ? "]" : "");
    buf_add_str(b, " [options]");
    if (c->takes_program)
        buf_add_str(b, " [-- CMD…]");
}

/* `-p, --param K=V` */
static void add_option_form(struct buf *b, const struct option_spec *o)
{
    if (o->letter != '\0')
        buf_addf(b, "-%c, ", o->letter);
    buf_addf(b, "--%s", o->name);
    if (o->value.type != VALUE_NONE)
        buf_addf(b, " %s", o->value.name);
}

static void add_option_help(struct buf *b, const struct option_spec *o)
{
    buf_addf(b, "%s%s", o->help, o->repeats ? " (may be repeated)" : "");
}

/* Words from the current column on, wrapped and indented. */
static void print_wrapped(FILE *to, const char *text, size_t column)
{
    size_t at = column;

    while (*text != '\0') {
        size_t size = strcspn(text, " ");
        size_t width = text_columns(slice_make(text, size));

        if (at > column && at + 1 + width > LINE_WIDTH) {
            fprintf(to, "\n%*s", (int)column, "");
            at = column;
        } else if (at > column) {
            fputc(' ', to);
            at++;
        }
        fwrite(text, 1, size, to);
        at += width;
        text += size + (text[size] == ' ');
    }
    fputc('\n', to);
}

static void print_option(FILE *to, const struct option_spec *o)
{
    CLEANUP(buf) struct buf form = BUF_INIT(200);

    add_option_form(&form, o);
    size_t width = text_columns(buf_slice(&form)) + (o->letter != '\0' ? 2 : 6);

    fprintf(to, "%s%s", o->letter != '\0' ? "  " : "      ", buf_text(&form));
    if (width + 1 > OPTION_COLUMN)
        fprintf(to, "\n%*s", OPTION_COLUMN, "");
    else
        fprintf(to, "%*s", (int)(OPTION_COLUMN - width), "");
    CLEANUP(buf) struct buf help = BUF_INIT(1000);

    add_option_help(&help, o);
    print_wrapped(to, buf_text(&help), OPTION_COLUMN);
}

static void print_verbs(FILE *to, const struct command *c)
{
    for (const struct command *v = c->verbs; v->name != NULL; v++)
        fprintf(to, "  %-10s %s%s\n", v->name, v->help,
                v == c->verbs ? " (when no verb is given)" : "");
    fprintf(to, "\n'waybill %s VERB --help' explains one of them, with its options.\n\n", c->name);
}

void help_command(FILE *to, const struct command *parent, const struct command *c)
{
    CLEANUP(buf) struct buf synopsis = BUF_INIT(400);
    const struct option_spec *o = NULL;

    add_synopsis(&synopsis, parent, c);
    fprintf(to, "usage: %s\n\n%s.\n", buf_text(&synopsis), c->help);
    if (c->about != NULL)
        print_lines(to, c->about, "");
    fputc('\n', to);
    if (c->verbs != NULL)
        print_verbs(to, c);
    for (unsigned i = 0; (o = command_next_option(c, &i)) != NULL;)
        print_option(to, o);
    if (c->examples != NULL) {
        fputs("\nFor example\n", to);
        print_lines(to, c->examples, "  ");
    }
}

/* A cell of a table: `|` would end it. */
static void print_cell(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '|')
            fputc('\\', to);
        fputc(*text, to);
    }
}

static void markdown_options(FILE *to, const struct command *c)
{
    const struct option_spec *o = NULL;

    fputs("\n| option | |\n|---|---|\n", to);
    for (unsigned i = 0; (o = command_next_option(c, &i)) != NULL;) {
        CLEANUP(buf) struct buf form = BUF_INIT(200);
        CLEANUP(buf) struct buf help = BUF_INIT(1000);

        add_option_form(&form, o);
        add_option_help(&help, o);
        fputs("| `", to);
        print_cell(to, buf_text(&form));
        fputs("` | ", to);
        print_cell(to, buf_text(&help));
        fputs(" |\n", to);
    }
}

static void markdown_command(FILE *to, const struct command *parent, const struct command *c)
{
    CLEANUP(buf) struct buf synopsis = BUF_INIT(400);

    add_synopsis(&synopsis, parent, c);
    fprintf(to, "\n### %s%s%s\n\n%s.", parent != NULL ? parent->name : "",
            parent != NULL ? " " : "", c->name, c->help);
    if (c->about != NULL)
        fprintf(to, "\n%s", c->about);
    fprintf(to, "\n\n```\n%s\n```\n", buf_text(&synopsis));
    if (c->verbs != NULL) {
        for (const struct command *v = c->verbs; v->name != NULL; v++)
            markdown_command(to, c, v);
        return;
    }
    markdown_options(to, c);
    if (c->examples != NULL)
        fprintf(to, "\n```sh\n%s\n```\n", c->examples);
}

void help_markdown(FILE *to)
{
    fputs(
        "# The command line\n\n"
        "Made from the table in `src/cli/commands.c` by `waybill help --markdown`.\n\n"
        "Options may stand anywhere after the verb; `--x=y` is `--x y`; after `--` there are none.\n"
        "Times: `500ms 10s 5m 2h 30d`, or a number of seconds.\n\n"
        "```\n",
        to);
    fputs(environment_help, to);
    fputs("```\n\n| exit status | |\n|---|---|\n", to);
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++)
        fprintf(to, "| %d | %s |\n", statuses[i].status, statuses[i].help);
    for (int group = 0; group < GROUP_COUNT; group++) {
        fprintf(to, "\n## %s\n", group_titles[group]);
        for (const struct command *c = commands; c->name != NULL; c++) {
            if ((int)c->group == group)
                markdown_command(to, NULL, c);
        }
    }
}
