/* SPDX-License-Identifier: MIT */
#include "cli/table/help.h"

#include <string.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/table/args.h"

#define LINE_WIDTH 96 /* longer ones are hard to read */
#define LINE_WIDTH_MIN 20
#define OPTION_COLUMN 30
#define OPTION_COLUMN_NARROW 8 /* on a screen where the other leaves too little */
#define NARROW 60

static const char *const group_titles[GROUP_COUNT] = {
    [GROUP_JOBS] = "Jobs",
    [GROUP_QUEUES] = "Queues, workers, definitions",
    [GROUP_SERVER] = "The server and its store",
    [GROUP_IN_JOB] = "Inside a job",
    [GROUP_OTHER] = "Other",
};

static const char environment_help[] =
    "WAYBILL_URL     URL of the server: http://…, https://… or unix:PATH.  Default: the socket in\n"
    "                WAYBILL_DATA; if that is not set, the socket in the default data directory\n"
    "                if it exists, else http://127.0.0.1:6769\n"
    "WAYBILL_DATA    data directory.  Default: /var/lib/waybill for root, else\n"
    "                $XDG_DATA_HOME/waybill or ~/.local/share/waybill\n"
    "WAYBILL_STORE   URL of a store shared by several servers: postgresql://USER@HOST/DATABASE.\n"
    "                Used by serve, and by check --store without a server.  Default: the store in\n"
    "                the data directory\n"
    "WAYBILL_TOKEN   the server's token.  It is sent over https, to Unix sockets and to loopback\n"
    "                addresses; WAYBILL_INSECURE=1 (or --insecure) also allows plain http:// to\n"
    "                other machines\n"
    "XDG_STATE_HOME  directory for the ids behind @last.  Default: ~/.local/state\n"
    "NO_COLOR        if set, print no colours\n";

static const struct {
    int status;
    const char *help;
} statuses[] = {
    {CLI_OK, "success"},
    {CLI_FAILED, "the work failed"},
    {CLI_USAGE, "usage error, or a mistake in a file"},
    {CLI_NOT_FOUND, "not found"},
    {CLI_REFUSED, "refused by the server"},
    {CLI_NO_SERVER, "no server, or temporarily unavailable"},
    {CLI_NOT_NOW, "nothing can run now: try again later"},
};

static size_t line_width(int screen)
{
    if (screen <= 0 || screen > LINE_WIDTH)
        return LINE_WIDTH;
    return screen < LINE_WIDTH_MIN ? LINE_WIDTH_MIN : (size_t)screen;
}

/* Where a text goes: from that column on, up to the width. */
struct margin {
    size_t column;
    size_t width;
};

/* Words from the current column on, wrapped and indented; without the end of the last line. */
static void put_words(FILE *to, struct slice text, struct margin m, size_t *at)
{
    const char *end = slice_end(text);

    for (const char *word = text.data; word < end;) {
        const char *space = memchr(word, ' ', (size_t)(end - word));
        size_t size = (size_t)((space != NULL ? space : end) - word);
        size_t width = text_columns(slice_make(word, size));

        if (*at > m.column && *at + 1 + width > m.width) {
            fprintf(to, "\n%*s", (int)m.column, "");
            *at = m.column;
        } else if (*at > m.column) {
            fputc(' ', to);
            ++*at;
        }
        fwrite(word, 1, size, to);
        *at += width;
        word += size + (space != NULL);
    }
}

static void print_wrapped(FILE *to, const char *text, struct margin m)
{
    size_t at = m.column;

    put_words(to, slice_of(text), m, &at);
    fputc('\n', to);
}

/*
 * Prints text whose lines were broken by hand: unchanged where it fits, else wrapped.  A line that
 * ends with a full stop or a colon then ends a paragraph.
 */
static void print_text(FILE *to, const char *text, size_t width)
{
    bool fits = true;

    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n")) {
        line += *line == '\n';
        fits &= text_columns(slice_make(line, strcspn(line, "\n"))) <= width;
    }
    for (size_t at = 0; *text != '\0';) {
        size_t size = strcspn(text, "\n");
        bool ends = fits || text[size] == '\0' ||
                    (size > 0 && strchr(".:", text[size - 1]) != NULL);

        put_words(to, slice_make(text, size), (struct margin){0, width}, &at);
        text += size + (text[size] == '\n');
        if (ends) {
            fputc('\n', to);
            at = 0;
        }
    }
}

static void print_lines(FILE *to, const char *text, const char *before)
{
    while (*text != '\0') {
        size_t size = strcspn(text, "\n");

        fprintf(to, "%s%.*s\n", before, (int)size, text);
        text += size + (text[size] == '\n');
    }
}

/* A name, and its meaning in a column beside it. */
static void print_entry(FILE *to, const char *name, const char *help, struct margin m)
{
    fprintf(to, "  %-*s ", (int)m.column - 3, name);
    print_wrapped(to, help, m);
}

/* `NAME   what it is,` and continuation lines below it. */
static void print_environment(FILE *to, size_t width)
{
    for (const char *at = environment_help; *at != '\0';) {
        CLEANUP(buf) struct buf help = BUF_INIT(1000);
        size_t name = strcspn(at, " ");
        CLEANUP(mem) char *word = mem_strndup(at, name);

        do {
            at += name + strspn(at + name, " ");
            name = 0;
            size_t size = strcspn(at, "\n");

            if (help.size > 0)
                buf_add_char(&help, ' ');
            buf_add(&help, at, size);
            at += size + 1;
        } while (*at == ' ');
        print_entry(to, word, buf_text(&help), (struct margin){18, width});
    }
}

void help_overview(FILE *to, int screen)
{
    size_t width = line_width(screen);

    fputs("waybill: a durable work queue\n\n", to);
    print_text(to, "usage: waybill VERB [arguments and options]", width);
    for (int group = 0; group < GROUP_COUNT; group++) {
        fprintf(to, "\n%s\n", group_titles[group]);
        for (const struct command *c = commands; c->name != NULL; c++) {
            if ((int)c->group == group)
                print_entry(to, c->name, c->help, (struct margin){14, width});
        }
    }
    fputs("\nEnvironment\n", to);
    print_environment(to, width);
    fputs("\nExit status\n", to);
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        char number[8];

        snprintf(number, sizeof(number), "%d", statuses[i].status);
        print_entry(to, number, statuses[i].help, (struct margin){14, width});
    }
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

static void print_option(FILE *to, const struct option_spec *o, size_t width)
{
    CLEANUP(buf) struct buf form = BUF_INIT(200);
    CLEANUP(buf) struct buf help = BUF_INIT(1000);
    size_t column = width < NARROW ? OPTION_COLUMN_NARROW : OPTION_COLUMN;

    add_option_form(&form, o);
    size_t used = text_columns(buf_slice(&form)) + (o->letter != '\0' ? 2 : 6);

    fprintf(to, "%s%s", o->letter != '\0' ? "  " : "      ", buf_text(&form));
    if (used + 1 > column)
        fprintf(to, "\n%*s", (int)column, "");
    else
        fprintf(to, "%*s", (int)(column - used), "");
    add_option_help(&help, o);
    print_wrapped(to, buf_text(&help), (struct margin){column, width});
}

void help_command(FILE *to, const struct command *parent, const struct command *c, int screen)
{
    CLEANUP(buf) struct buf synopsis = BUF_INIT(400);
    CLEANUP(buf) struct buf summary = BUF_INIT(400);
    const struct option_spec *o = NULL;
    size_t width = line_width(screen);

    add_synopsis(&synopsis, parent, c);
    fprintf(to, "usage: ");
    print_wrapped(to, buf_text(&synopsis), (struct margin){strlen("usage: "), width});
    fputc('\n', to);
    buf_addf(&summary, "%s.", c->help);
    print_text(to, buf_text(&summary), width);
    if (c->about != NULL)
        print_text(to, c->about, width);
    fputc('\n', to);
    if (c->verbs != NULL) {
        for (const struct command *v = c->verbs; v->name != NULL; v++) {
            CLEANUP(buf) struct buf help = BUF_INIT(1000);

            buf_addf(&help, "%s%s", v->help, v == c->verbs ? " (when no verb is given)" : "");
            print_entry(to, v->name, buf_text(&help), (struct margin){13, width});
        }
        CLEANUP(buf) struct buf more = BUF_INIT(200);

        buf_addf(&more, "'waybill %s VERB --help' explains one of them, with its options.",
                 c->name);
        fputc('\n', to);
        print_text(to, buf_text(&more), width);
        fputc('\n', to);
    }
    for (unsigned i = 0; (o = command_next_option(c, &i)) != NULL;)
        print_option(to, o, width);
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
        fprintf(to, "\n\n%s", c->about);
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
        "`waybill help --markdown` generates this page from `src/cli/table/commands.c`.\n\n"
        "Options may appear anywhere after the verb. `--x=y` is the same as `--x y`. Options end "
        "at `--`.\nDurations are `500ms 10s 5m 2h 30d`, or a number of seconds.\n\n"
        "`ID` is one of these:\n\n"
        "- the id of a job, in upper or lower case;\n"
        "- the first characters of an id, at least 4. If several ids start with them, the command "
        "lists\n  the candidates and exits with 2;\n"
        "- the URL of a job;\n"
        "- `@last`: the job you last added to this server. The ids are kept in\n"
        "  `$XDG_STATE_HOME/waybill/last-jobs` (default `~/.local/state`).\n\n"
        "`add --after` takes the same.\n\n"
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
