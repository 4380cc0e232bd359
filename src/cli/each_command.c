/* SPDX-License-Identifier: MIT */
#include "cli/each_command.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/utf8.h"
#include "core/template.h"

#define SEPARATOR_MAX 64
#define WORD_LIMIT ((size_t)4 << 20)
#define FILLED_LIMIT ((size_t)64 << 20)
#define PATH_STANDARD "/usr/local/bin:/usr/bin:/bin"

/* ---- placeholders ---- */

enum { WHOLE_LINE = 0, NO_PLACEHOLDER = -1 };

/* What begins at the brace `at`: a column's number, WHOLE_LINE, or NO_PLACEHOLDER; *ret_end is behind it. */
static int placeholder(const struct each_command *c, const char *at, const char **ret_end)
{
    int column = 0;
    const char *digit = at + 1;

    if (*digit == '}') {
        *ret_end = digit + 1;
        return WHOLE_LINE;
    }
    if (c->separator.size == 0 || *digit == '0')
        return NO_PLACEHOLDER;
    for (; *digit >= '0' && *digit <= '9'; digit++)
        if (column <= EACH_COLUMNS_MAX)
            column = column * 10 + (*digit - '0');
    if (digit == at + 1 || *digit != '}')
        return NO_PLACEHOLDER;
    *ret_end = digit + 1;
    return column;
}

/* Calls `text` for each stretch of the word and `value` for each placeholder, in their order. */
struct word_parts {
    void (*text)(void *ctx, struct slice text);
    enum err_code (*value)(void *ctx, int column, struct err *err);
    void *ctx;
};

static enum err_code walk_word(const struct each_command *c, const char *word,
                               const struct word_parts *parts, struct err *err)
{
    const char *from = word;
    const char *at = word;

    while ((at = strchr(at, '{')) != NULL) {
        const char *end = NULL;
        int column = placeholder(c, at, &end);

        if (column == NO_PLACEHOLDER) {
            at++;
            continue;
        }
        parts->text(parts->ctx, slice_make(from, (size_t)(at - from)));
        if (parts->value(parts->ctx, column, err) != E_OK)
            return err->code;
        from = at = end;
    }
    parts->text(parts->ctx, slice_of(from));
    return E_OK;
}

/* ---- reading the command ---- */

static void pass_over(void *ctx, struct slice text)
{
    (void)ctx;
    (void)text;
}

static enum err_code note_column(void *ctx, int column, struct err *err)
{
    struct each_command *c = ctx;

    c->appends = false;
    if (column > EACH_COLUMNS_MAX)
        return err_set(err, E_INVALID, "a command can name the columns {1} to {%d}",
                       EACH_COLUMNS_MAX);
    if (column != WHOLE_LINE)
        c->columns |= UINT64_C(1) << (column - 1);
    return E_OK;
}

/* What the server would say to the template, in the words of this verb. */
static enum err_code check_template(const struct each_command *c, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf json = BUF_INIT(WORD_LIMIT);
    struct template_command command;
    struct slice text = {NULL, 0};
    const char *fault_at = NULL;

    each_command_add_template(c, &json);
    if (json_check(buf_slice(&json), &text, err) != E_OK)
        return err->code;
    if (template_command_parse(text, &arena, &command, &fault_at, err) == E_OK)
        return E_OK;
    if (strstr(err->msg, "script") == NULL)
        return err->code;
    return err_set(err, E_INVALID,
                   "a shell would take the line for a part of its script: hand it "
                   "over as an argument, sh -c 'echo \"$1\"' sh {}");
}

enum err_code each_command_init(struct each_command *c, const char *const *words, size_t n_words,
                                struct slice separator, struct err *err)
{
    const struct word_parts parts = {.text = pass_over, .value = note_column, .ctx = c};

    *c = (struct each_command){
        .words = words, .n_words = n_words, .separator = separator, .appends = true};
    if (n_words == 0)
        return err_set(err, E_INVALID, "a command is missing: waybill each -- CMD {}");
    if (words[0][0] == '\0')
        return err_set(err, E_INVALID, "the name of the program is empty");
    for (size_t i = 0; i < n_words; i++) {
        if (!utf8_valid(slice_of(words[i])))
            return err_set(err, E_INVALID, "word %zu of the command is not UTF-8", i + 1);
        if (walk_word(c, words[i], &parts, err) != E_OK)
            return err->code;
    }
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
        return err_set(err, E_INVALID, "--colsep: is empty: give what stands between columns");
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

static void add_escaped_braces(void *ctx, struct slice text)
{
    struct buf *word = ctx;

    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '{')
            buf_add_char(word, '{');
        buf_add_char(word, text.data[i]);
    }
}

static enum err_code add_name(void *ctx, int column, struct err *err)
{
    struct buf *word = ctx;

    (void)err;
    if (column == WHOLE_LINE)
        buf_add_str(word, "{line}");
    else
        buf_addf(word, "{c%d}", column);
    return E_OK;
}

void each_command_add_template(const struct each_command *c, struct buf *out)
{
    CLEANUP(buf) struct buf word = BUF_INIT(WORD_LIMIT);
    const struct word_parts parts = {.text = add_escaped_braces, .value = add_name, .ctx = &word};
    struct err err;

    buf_add_char(out, '[');
    for (size_t i = 0; i < c->n_words; i++) {
        buf_clear(&word);
        enum err_code code = walk_word(c, c->words[i], &parts, &err);

        ASSERT(code == E_OK);
        json_add_comma(out);
        json_add_string(out, buf_slice(&word));
    }
    if (c->appends)
        buf_add_str(out, ",\"{line}\"");
    buf_add_char(out, ']');
}

/* ---- a line ---- */

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

enum err_code each_command_add_params(const struct each_command *c, struct slice line,
                                      struct buf *out, struct err *err)
{
    struct slice columns[EACH_COLUMNS_MAX];

    if (split(c, line, columns, err) != E_OK)
        return err->code;
    buf_add_str(out, "{\"line\":");
    json_add_string(out, line);
    for (uint64_t left = c->columns; left != 0; left &= left - 1) {
        int i = __builtin_ctzll(left);

        if (!utf8_valid(columns[i]))
            return err_set(err, E_INVALID,
                           "has a column that is not UTF-8: --colsep cuts through "
                           "a character");
        buf_addf(out, ",\"c%d\":", i + 1);
        json_add_string(out, columns[i]);
    }
    buf_add_char(out, '}');
    return E_OK;
}

/* ---- all words of a line ---- */

struct filled_word {
    struct buf text;
    struct slice line;
    const struct slice *columns;
};

static void add_text(void *ctx, struct slice text)
{
    buf_add_slice(&((struct filled_word *)ctx)->text, text);
}

static enum err_code add_value(void *ctx, int column, struct err *err)
{
    struct filled_word *w = ctx;

    (void)err;
    buf_add_slice(&w->text, column == WHOLE_LINE ? w->line : w->columns[column - 1]);
    return E_OK;
}

enum err_code each_command_fill(const struct each_command *c, struct slice line,
                                each_word_fn *take_word, void *ctx, struct err *err)
{
    struct slice columns[EACH_COLUMNS_MAX];
    struct filled_word word = {.text = BUF_INIT(FILLED_LIMIT), .line = line, .columns = columns};
    const struct word_parts parts = {.text = add_text, .value = add_value, .ctx = &word};

    if (split(c, line, columns, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < c->n_words; i++) {
        buf_clear(&word.text);
        enum err_code code = walk_word(c, c->words[i], &parts, err);

        ASSERT(code == E_OK);
        take_word(ctx, buf_slice(&word.text));
    }
    if (c->appends)
        take_word(ctx, line);
    buf_deinit(&word.text);
    return E_OK;
}

/* ---- the program ---- */

bool each_command_names_program(const struct each_command *c)
{
    const char *end = NULL;

    for (const char *at = c->words[0]; (at = strchr(at, '{')) != NULL; at++)
        if (placeholder(c, at, &end) != NO_PLACEHOLDER)
            return true;
    return false;
}

/* 0, or why it cannot be started. */
static int program_fault(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    return access(path, X_OK) < 0 ? errno : 0;
}

static int fault_in_path(const char *name)
{
    const char *path = getenv("PATH");
    int worst = ENOENT;

    for (const char *at = path != NULL ? path : PATH_STANDARD; at != NULL;) {
        size_t size = strcspn(at, ":");
        CLEANUP(buf) struct buf file = BUF_INIT(WORD_LIMIT);

        buf_add(&file, size > 0 ? at : ".", size > 0 ? size : 1);
        buf_addf(&file, "/%s", name);
        int fault = program_fault(buf_text(&file));

        if (fault == 0)
            return 0;
        if (fault == EACCES)
            worst = EACCES;
        at = at[size] == ':' ? at + size + 1 : NULL;
    }
    return worst;
}

enum err_code each_command_check_program(const struct each_command *c, struct err *err)
{
    const char *name = c->words[0];

    if (each_command_names_program(c))
        return E_OK;
    bool has_slash = strchr(name, '/') != NULL;
    int fault = has_slash ? program_fault(name) : fault_in_path(name);

    if (fault == 0)
        return E_OK;
    if (fault == ENOENT)
        return err_set(err, E_NOT_FOUND, "there is no program '%.150s'%s", name,
                       has_slash ? "" : " in PATH");
    return err_set(err, E_FORBIDDEN, "the program '%.150s' cannot be started: %s", name,
                   strerror(fault));
}
