/* SPDX-License-Identifier: MIT */
#include "each/line/command.h"

#include <errno.h>

#include "base/jtext/jtext.h"
#include "base/text/utf8.h"
#include "cli/request/program_find.h"
#include "core/program/template.h"
#include "each/line/placeholder.h"

#define SEPARATOR_MAX 64
#define WORD_LIMIT ((size_t)4 << 20)
#define FILLED_LIMIT ((size_t)64 << 20)

/* ---- reading the command ---- */

static void pass_over(void *ctx, struct slice text)
{
    (void)ctx;
    (void)text;
}

static enum err_code note_column(struct each_command *c, int column, struct err *err)
{
    if (c->lines > 1 && (size_t)column > c->lines)
        return err_set(err, E_INVALID, "{%d}: a command has %zu lines (-N)", column, c->lines);
    if (c->lines > 1)
        return E_OK;
    if (!each_has_columns(c))
        return err_set(
            err, E_INVALID,
            "{%d}: a line is one value: give --colsep or -N (in a pattern write {%d,%d})", column,
            column, column);
    if (column > EACH_COLUMNS_MAX)
        return err_set(err, E_INVALID, "a command can name the columns {1} to {%d}",
                       EACH_COLUMNS_MAX);
    c->columns |= UINT64_C(1) << (column - 1);
    return E_OK;
}

struct reading {
    struct each_command *command;
    const char *word;
};

static enum err_code note_placeholder(void *ctx, const struct placeholder *p, struct err *err)
{
    const struct reading *r = ctx;
    struct each_command *c = r->command;

    c->parts |= 1U << p->part;
    if (p->part != EACH_NUMBER)
        c->appends = false;
    if (p->part == EACH_COLUMN)
        return note_column(c, p->column, err);
    if (c->lines > 1 && p->part < EACH_NUMBER && !each_is_spread(c, r->word))
        return err_set(err, E_INVALID,
                       "with -N, %s is several lines and must be a separate word: {1}, "
                       "{2}, … are single lines",
                       each_placeholders[p->part].text);
    return E_OK;
}

/* The typed word of an argument of the template; NULL for the appended line. */
static const char *typed_word(const struct each_command *c, size_t arg)
{
    for (size_t i = 0; i < c->n_words; i++) {
        size_t n_args = each_is_spread(c, c->words[i]) ? c->lines : 1;

        if (arg < n_args)
            return c->words[i];
        arg -= n_args;
    }
    return NULL;
}

/* Why a line cannot be at this place, in the words that were typed. */
static enum err_code misplaced(const struct each_command *c, const struct template_fault *fault,
                               struct err *err)
{
    const char *word = typed_word(c, fault->arg);
    char shown[64] = "the line at the end";

    if (word != NULL)
        snprintf(shown, sizeof(shown), "'%.50s'", word);
    switch (fault->place) {
    case TEMPLATE_PLACE_CODE:
        return err_set(err, E_INVALID,
                       "a shell would take the line for a part of its script: hand it "
                       "over as an argument, sh -c 'echo \"$1\"' sh {}");
    case TEMPLATE_PLACE_REMOTE:
        return err_set(err, E_INVALID,
                       "%s is run by a shell on the other side, where the line would be code: send "
                       "it on standard input, "
                       "sh -c 'printf \"%%s\\0\" \"$1\" | ssh host \"xargs -0 rm --\"' sh {}",
                       shown);
    case TEMPLATE_PLACE_OTHER: break;
    }
    return err_set(err, E_INVALID, "%s: %s is in %s", shown, word != NULL ? "the line" : "it",
                   fault->where);
}

/* Checks the template as the server would, with errors in the words of this verb. */
static enum err_code check_template(const struct each_command *c, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf json = BUF_INIT(WORD_LIMIT);
    struct template_command command;
    struct slice text = {NULL, 0};
    struct template_fault fault;

    each_command_add_template(c, c->lines, &json);
    if (jtext_check(buf_slice(&json), &text, err) != E_OK)
        return err->code;
    if (template_command_parse(text, &arena, &command, &fault, err) == E_OK)
        return E_OK;
    return fault.where != NULL ? misplaced(c, &fault, err) : err->code;
}

static enum err_code read_words(struct each_command *c, struct err *err)
{
    struct reading reading = {.command = c};
    const struct word_parts parts = {.text = pass_over, .value = note_placeholder, .ctx = &reading};

    for (size_t i = 0; i < c->n_words; i++) {
        reading.word = c->words[i];
        if (!utf8_valid(slice_of(c->words[i])))
            return err_set(err, E_INVALID, "word %zu of the command is not UTF-8", i + 1);
        if (each_word_walk(c, c->words[i], &parts, err) != E_OK)
            return err->code;
    }
    if (c->appends)
        c->parts |= 1U << EACH_LINE;
    return E_OK;
}

/* A quoted shell command line; no program in PATH has such a name. */
static bool is_shell_line(const struct each_command *c)
{
    return c->n_words == 1 && c->words[0][strcspn(c->words[0], " /")] == ' ';
}

static enum err_code check_line(const struct each_command *c, struct err *err)
{
    if (!is_shell_line(c) || !each_command_names_program(c))
        return E_OK;
    return err_set(err, E_INVALID,
                   "'%.60s' is one word, and no shell reads the command: leave the quotes out, or "
                   "give waybill each -- sh -c 'CMD \"$1\"' sh {}",
                   c->words[0]);
}

enum err_code each_command_init(struct each_command *c, const char *const *words, size_t n_words,
                                const struct each_cut *cut, struct err *err)
{
    *c = (struct each_command){.words = words,
                               .n_words = n_words,
                               .separator = cut->separator,
                               .lines = cut->lines,
                               .appends = true};
    ASSERT(cut->lines > 0 && cut->lines <= EACH_LINES_MAX);
    if (n_words == 0)
        return err_set(err, E_INVALID, "a command is missing: waybill each -- CMD {}");
    if (words[0][0] == '\0')
        return err_set(err, E_INVALID, "the name of the program is empty");
    if (cut->lines > 1 && cut->separator.size > 0)
        return err_set(err, E_INVALID, "-N and --colsep exclude each other");
    if (read_words(c, err) != E_OK || check_line(c, err) != E_OK)
        return err->code;
    return check_template(c, err);
}

static int escape_value(char c)
{
    switch (c) {
    case 't': return '\t';
    case 'n': return '\n';
    case '0': return '\0';
    case '\\': return '\\';
    default: return -1;
    }
}

enum err_code each_separator_parse(const char *text, struct buf *out, struct err *err)
{
    if (text[0] == '\0')
        return err_set(err, E_INVALID, "--colsep: is empty: give the column separator");
    for (const char *at = text; *at != '\0'; at++) {
        int escaped = *at == '\\' ? escape_value(at[1]) : -1;

        buf_add_char(out, escaped >= 0 ? (char)escaped : *at);
        if (escaped >= 0)
            at++;
    }
    if (out->size > SEPARATOR_MAX || out->overflowed)
        return err_set(err, E_INVALID, "--colsep: is longer than %d bytes", SEPARATOR_MAX);
    return E_OK;
}

/* ---- the queue's command ---- */

struct template_word {
    const struct each_command *command;
    size_t n_lines;
    struct buf text;
};

static void add_literal(void *ctx, struct slice text)
{
    template_add_literal(text, &((struct template_word *)ctx)->text);
}

/* The name of a param; `line` is which of several, from 1, or 0. */
static void add_param_name(struct buf *out, enum each_part part, size_t line)
{
    buf_add_str(out, each_placeholders[part].param);
    if (line > 0)
        buf_addf(out, "%zu", line);
}

/* A line that this job does not have fills in as nothing. */
static enum err_code add_name(void *ctx, const struct placeholder *p, struct err *err)
{
    struct template_word *w = ctx;
    bool is_line = p->part == EACH_COLUMN && w->command->lines > 1;

    (void)err;
    if (is_line && (size_t)p->column > w->n_lines)
        return E_OK;
    buf_add_char(&w->text, '{');
    add_param_name(&w->text, is_line ? EACH_LINE : p->part, (size_t)p->column);
    buf_add_char(&w->text, '}');
    return E_OK;
}

static void add_spread(struct buf *out, enum each_part part, size_t n_lines)
{
    for (size_t line = 1; line <= n_lines; line++) {
        jtext_add_comma(out);
        buf_add_str(out, "\"{");
        add_param_name(out, part, line);
        buf_add_str(out, "}\"");
    }
}

void each_command_add_template(const struct each_command *c, size_t n_lines, struct buf *out)
{
    struct template_word word = {.command = c, .n_lines = n_lines, .text = BUF_INIT(WORD_LIMIT)};
    const struct word_parts parts = {.text = add_literal, .value = add_name, .ctx = &word};
    struct err err;

    buf_add_char(out, '[');
    for (size_t i = 0; i < c->n_words; i++) {
        if (each_is_spread(c, c->words[i])) {
            add_spread(out, each_placeholder_at(c, c->words[i], c->words[i]).part, n_lines);
            continue;
        }
        buf_clear(&word.text);
        enum err_code code = each_word_walk(c, c->words[i], &parts, &err);

        ASSERT(code == E_OK);
        jtext_add_comma(out);
        jtext_add_string(out, buf_slice(&word.text));
    }
    if (c->appends && c->lines > 1)
        add_spread(out, EACH_LINE, n_lines);
    else if (c->appends)
        buf_add_str(out, ",\"{line}\"");
    buf_add_char(out, ']');
    buf_deinit(&word.text);
}

/* ---- the params of a job ---- */

static struct slice next_column(struct slice *rest, struct slice separator)
{
    const char *end = memmem(rest->data, rest->size, separator.data, separator.size);
    struct slice column = *rest;

    if (end == NULL) {
        *rest = slice_make(NULL, 0);
        return column;
    }
    column.size = (size_t)(end - rest->data);
    rest->data = end + separator.size;
    rest->size -= column.size + separator.size;
    return column;
}

/* The columns that the command names, by number - 1. */
static enum err_code split(const struct each_command *c, struct slice line,
                           struct slice columns[static EACH_COLUMNS_MAX], struct err *err)
{
    struct slice rest = slice_make(line.data == NULL ? "" : line.data, line.size);
    int wanted = c->columns == 0 ? 0 : 64 - __builtin_clzll(c->columns);

    for (int i = 0; i < wanted; i++) {
        if (rest.data == NULL)
            return err_set(err, E_INVALID, "has %d column%s, and the command wants {%d}", i,
                           i == 1 ? "" : "s", wanted);
        columns[i] = next_column(&rest, c->separator);
    }
    return E_OK;
}

static enum err_code add_columns(const struct each_command *c, struct slice line, struct buf *out,
                                 struct err *err)
{
    struct slice columns[EACH_COLUMNS_MAX];

    if (split(c, line, columns, err) != E_OK)
        return err->code;
    for (uint64_t left = c->columns; left != 0; left &= left - 1) {
        int i = __builtin_ctzll(left);

        if (!utf8_valid(columns[i]))
            return err_set(err, E_INVALID,
                           "has a column that is not UTF-8: --colsep cuts through "
                           "a character");
        buf_addf(out, ",\"c%d\":", i + 1);
        jtext_add_string(out, columns[i]);
    }
    return E_OK;
}

/* `line`: what people see of the job, all lines of it. */
static void add_shown_line(const struct each_item *item, struct buf *out)
{
    CLEANUP(buf) struct buf all = BUF_INIT(FILLED_LIMIT);

    buf_add_str(out, "{\"line\":");
    if (item->n_lines == 1) {
        jtext_add_string(out, item->lines[0]);
        return;
    }
    for (size_t i = 0; i < item->n_lines; i++) {
        if (i > 0)
            buf_add_char(&all, '\n');
        buf_add_slice(&all, item->lines[i]);
    }
    jtext_add_string(out, buf_slice(&all));
}

enum err_code each_command_add_params(const struct each_command *c, const struct each_item *item,
                                      struct buf *out, struct err *err)
{
    unsigned parts = c->parts;

    if (c->lines > 1 && (parts & 1U << EACH_COLUMN) != 0)
        parts |= 1U << EACH_LINE;
    add_shown_line(item, out);
    for (enum each_part part = EACH_LINE; part < EACH_NUMBER; part++)
        if ((parts & 1U << part) != 0 && (part != EACH_LINE || c->lines > 1)) {
            /* A part of each line; those of several lines are numbered. */
            for (size_t i = 0; i < item->n_lines; i++) {
                buf_add_str(out, ",\"");
                add_param_name(out, part, c->lines > 1 ? i + 1 : 0);
                buf_add_str(out, "\":");
                jtext_add_string(out, each_path_part(part, item->lines[i]));
            }
        }
    if ((parts & 1U << EACH_NUMBER) != 0)
        jtext_put_int(out, each_placeholders[EACH_NUMBER].param, item->number);
    if (c->columns != 0 && add_columns(c, item->lines[0], out, err) != E_OK)
        return err->code;
    buf_add_char(out, '}');
    return E_OK;
}

/* ---- all words of a job ---- */

struct filled_word {
    const struct each_command *command;
    const struct each_item *item;
    struct buf text;
    const struct slice *columns;
};

static void add_text(void *ctx, struct slice text)
{
    buf_add_slice(&((struct filled_word *)ctx)->text, text);
}

static enum err_code add_value(void *ctx, const struct placeholder *p, struct err *err)
{
    struct filled_word *w = ctx;

    (void)err;
    if (p->part == EACH_NUMBER)
        buf_add_int(&w->text, w->item->number);
    else if (p->part != EACH_COLUMN)
        buf_add_slice(&w->text, each_path_part(p->part, w->item->lines[0]));
    else if (w->command->lines == 1)
        buf_add_slice(&w->text, w->columns[p->column - 1]);
    else if ((size_t)p->column <= w->item->n_lines)
        buf_add_slice(&w->text, w->item->lines[p->column - 1]);
    return E_OK;
}

static void take_spread(const struct each_item *item, enum each_part part, each_word_fn *take_word,
                        void *ctx)
{
    for (size_t i = 0; i < item->n_lines; i++)
        take_word(ctx, each_path_part(part, item->lines[i]));
}

enum err_code each_command_fill(const struct each_command *c, const struct each_item *item,
                                each_word_fn *take_word, void *ctx, struct err *err)
{
    struct slice columns[EACH_COLUMNS_MAX];
    struct filled_word word = {
        .command = c, .item = item, .text = BUF_INIT(FILLED_LIMIT), .columns = columns};
    const struct word_parts parts = {.text = add_text, .value = add_value, .ctx = &word};

    if (c->columns != 0 && split(c, item->lines[0], columns, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < c->n_words; i++) {
        if (each_is_spread(c, c->words[i])) {
            take_spread(item, each_placeholder_at(c, c->words[i], c->words[i]).part, take_word,
                        ctx);
            continue;
        }
        buf_clear(&word.text);
        enum err_code code = each_word_walk(c, c->words[i], &parts, err);

        ASSERT(code == E_OK);
        take_word(ctx, buf_slice(&word.text));
    }
    if (c->appends)
        take_spread(item, EACH_LINE, take_word, ctx);
    buf_deinit(&word.text);
    return E_OK;
}

/* ---- the program ---- */

bool each_command_names_program(const struct each_command *c)
{
    for (const char *at = c->words[0]; (at = strchr(at, '{')) != NULL; at++)
        if (each_placeholder_at(c, c->words[0], at).size > 0)
            return true;
    return false;
}

enum err_code each_command_check_program(const struct each_command *c, struct err *err)
{
    const char *name = c->words[0];

    if (each_command_names_program(c))
        return E_OK;
    int fault = program_fault(name);

    if (fault == 0)
        return E_OK;
    if (fault == ENOENT)
        return err_set(err, E_NOT_FOUND, "there is no program '%.150s'%s%s", name,
                       strchr(name, '/') != NULL ? "" : " in PATH",
                       is_shell_line(c) ? ": it is one word, leave the quotes out" : "");
    return err_set(err, E_FORBIDDEN, "the program '%.150s' cannot be started: %s", name,
                   strerror(fault));
}
