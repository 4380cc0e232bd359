/*
 * Commands given as a text: a script in which each name becomes a quoted positional parameter.
 *
 * Quoting is read as the shell reads it: a stack of open places (double quotes, `$(…)`, backticks,
 * `${…}`, `$((…))`, here-documents) decides whether a parameter needs its own quotes.  If that
 * reading is wrong, a value may be split into words, but is never code: the script contains
 * parameters, not values.  Where the shell would evaluate a parameter's value once more, a name is
 * refused: arithmetic and subscripts are found here by their brackets, the rest by the words before
 * it (template_words.h).
 */
/* SPDX-License-Identifier: MIT */
#include "core/program/template_rules.h"
#include "core/program/template_scan.h"
#include "core/program/template_script.h"

/* ---- moving on ---- */

static enum err_code push(struct script *s, struct frame frame)
{
    if (s->depth == SCRIPT_DEPTH_MAX)
        return err_set(s->err, E_INVALID, "the script is nested more than %d deep at byte %zu",
                       SCRIPT_DEPTH_MAX, s->at);
    s->stack[s->depth++] = frame;
    return E_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Whether the character ends a word; NUL is the end of the script. */
static bool ends_word(char c)
{
    return c == '\0' || strchr(" \t\n;&|()<>", c) != NULL;
}

static bool at_word_start(const struct script *s)
{
    return s->at == 0 || ends_word(s->text.data[s->at - 1]) || s->text.data[s->at - 1] == '`';
}

/* ---- here-documents ---- */

static size_t line_end(const struct script *s, size_t from)
{
    const char *end = from < s->text.size ? memchr(s->text.data + from, '\n', s->text.size - from)
                                          : NULL;

    return end != NULL ? (size_t)(end - s->text.data) : s->text.size;
}

static bool is_last_line(const struct script *s, const struct here *h, size_t from)
{
    size_t end = line_end(s, from);

    while (h->indented && from < end && s->text.data[from] == '\t')
        from++;
    return slice_equal(slice_make(s->text.data + from, end - from), h->end);
}

/* Reads << and its word, with its quotes. */
static enum err_code begin_here(struct script *s)
{
    struct here *h = &s->here[s->n_here];
    CLEANUP(buf) struct buf word = BUF_INIT(s->text.size);

    if (s->n_here == SCRIPT_HERE_MAX)
        return err_set(s->err, E_INVALID, "has more than %d here-documents on one line",
                       SCRIPT_HERE_MAX);
    script_copy(s, 2);
    *h = (struct here){.indented = script_peek(s, 0) == '-'};
    script_copy(s, h->indented);
    while (is_blank(script_peek(s, 0)))
        script_copy(s, 1);
    for (char quote = '\0'; s->at < s->text.size; script_copy(s, 1)) {
        char c = script_peek(s, 0);

        if (quote == '\0' && ends_word(c))
            break;
        if (quote == '\0' && (c == '\'' || c == '"')) {
            quote = c;
            h->quoted = true;
        } else if (quote != '\0' && c == quote) {
            quote = '\0';
        } else if (c == '\\' && quote != '\'') {
            h->quoted = true;
        } else {
            buf_add_char(&word, c);
        }
    }
    h->end = arena_copy(s->arena, buf_slice(&word));
    s->n_here++;
    return E_OK;
}

static void forget_here(struct script *s)
{
    s->n_here--;
    memmove(&s->here[0], &s->here[1], s->n_here * sizeof(s->here[0]));
}

/* At the start of a line: reads the here-documents that began on the one before. */
static enum err_code enter_here(struct script *s)
{
    while (s->n_here > 0) {
        const struct here *h = &s->here[0];

        if (!h->quoted) {
            s->line_start = true;
            return push(s, (struct frame){.place = IN_HERE});
        }
        while (s->at < s->text.size) {
            size_t end = line_end(s, s->at);
            bool last = is_last_line(s, h, s->at);

            if (script_copy_quoted(s, end,
                                   "a here-document whose end is quoted, where the shell fills "
                                   "in nothing") != E_OK)
                return s->err->code;
            script_copy(s, 1);
            if (last)
                break;
        }
        forget_here(s);
    }
    return E_OK;
}

/* ---- what begins at a character ---- */

/* ${x#'…'}: a pattern follows the variable. */
static bool has_pattern(const struct script *s)
{
    size_t i = 2;

    while (template_is_name_char(script_peek(s, i)))
        i++;
    return i > 2 && script_peek(s, i) != '\0' && strchr("#%/", script_peek(s, i)) != NULL;
}

static enum err_code read_dollar(struct script *s)
{
    const struct frame *f = script_top(s);
    bool quoted = f->place == IN_DOUBLE || f->place == IN_HERE || f->quoted;
    struct frame inner = {.place = IN_PLAIN, .result = true};
    size_t size = 2;

    script_literal(s, '$');
    if (script_peek(s, 1) == '[') {
        inner = (struct frame){.place = IN_ARITHMETIC, .closer = ']'};
    } else if (script_peek(s, 1) == '{') {
        inner = (struct frame){.place = IN_BRACE, .quoted = quoted, .pattern = has_pattern(s)};
    } else if (script_peek(s, 1) == '(' && script_peek(s, 2) == '(') {
        inner = (struct frame){.place = IN_ARITHMETIC, .closer = ')'};
        size = 3;
    } else if (script_peek(s, 1) != '(') {
        script_copy(s, script_peek(s, 1) == '$' ? 2 : 1);
        return E_OK;
    }
    script_copy(s, size);
    return push(s, inner);
}

/* ; & | newline ( ) < >, as the command line sees it. */
static enum err_code operator_here(struct script *s)
{
    struct slice rest = slice_make(s->text.data + s->at, s->text.size - s->at);
    bool reads_code = false;
    struct shell_fault fault = shell_operator(&script_top(s)->words, &s->facts, rest, &reads_code);

    for (size_t i = 0; reads_code && i < s->n_here; i++)
        s->here[i].code = true;
    return script_fault(s, fault);
}

/* The command line ends: at the end of the script, of $(…) or of a backtick. */
static enum err_code end_line(struct script *s)
{
    bool ignored = false;

    return script_fault(s, shell_operator(&script_top(s)->words, &s->facts, SLICE("\n"), &ignored));
}

/* Backticks do not nest: a second one ends the first, whatever is open in between. */
static enum err_code read_backtick(struct script *s)
{
    for (size_t i = s->depth; i > 1; i--)
        if (s->stack[i - 1].place == IN_BACKTICK) {
            s->depth = i;
            enum err_code code = end_line(s);

            script_copy(s, 1);
            return code == E_OK ? script_end_brackets(s) : code;
        }
    script_literal(s, '$');
    script_copy(s, 1);
    return push(s, (struct frame){.place = IN_BACKTICK, .result = true});
}

static enum err_code read_close(struct script *s)
{
    struct frame *f = script_top(s);
    bool ends_pattern = f->words.in_pattern;

    if (operator_here(s) != E_OK)
        return s->err->code;
    script_copy(s, 1);
    if (f->parens > 0)
        f->parens--;
    else if (!ends_pattern && f->place != IN_BACKTICK && s->depth > 1)
        return script_end_brackets(s);
    return E_OK;
}

/* `f()`, ((…)), a=(…), or a subshell. */
static enum err_code read_open(struct script *s)
{
    struct frame inner = {.place = IN_PLAIN};
    size_t size = 1;
    size_t i = 1;

    while (is_blank(script_peek(s, i)))
        i++;
    if (script_peek(s, i) == ')')
        s->function = true;
    else if (script_peek(s, 1) == '(')
        inner = (struct frame){.place = IN_ARITHMETIC, .closer = ')'};
    inner.words.in_list = s->at > 0 && s->text.data[s->at - 1] == '=';
    if (inner.place == IN_ARITHMETIC)
        size = 2;
    bool stays = script_top(s)->words.in_test || script_top(s)->words.in_pattern;

    if (operator_here(s) != E_OK)
        return s->err->code;
    script_copy(s, size);
    if (!stays || inner.place == IN_ARITHMETIC)
        return push(s, inner);
    script_top(s)->parens += script_top(s)->words.in_test;
    return E_OK;
}

/* Counts braces that are words: they open and close the body of a function. */
static void note_group(struct script *s)
{
    bool alone = at_word_start(s) && ends_word(script_peek(s, 1));

    if (script_peek(s, 0) == '{' && alone && (s->function || s->body > 0)) {
        s->function = false;
        s->body++;
    } else if (script_peek(s, 0) == '}' && alone && s->body > 0) {
        s->body--;
    }
}

/* Reads a redirection, to the end of its operator. */
static enum err_code read_redirection(struct script *s)
{
    struct shell_words *w = &script_top(s)->words;
    size_t size = 1;

    if (script_peek(s, 1) == '(') { /* <(…) is a word */
        shell_word_add(w, '$');
        script_copy(s, 2);
        return push(s, (struct frame){.place = IN_PLAIN, .result = true});
    }
    if (script_peek(s, 0) == '<' && script_peek(s, 1) == '<' && script_peek(s, 2) != '<' &&
        !w->in_test) {
        if (script_fault(s, shell_word_end(w, &s->facts)) != E_OK)
            return s->err->code;
        w->own_input = true;
        return begin_here(s);
    }
    if (operator_here(s) != E_OK)
        return s->err->code;
    while (size < 3 && script_peek(s, size) != '\0' && strchr("<>&|", script_peek(s, size)) != NULL)
        size++;
    script_copy(s, w->in_test ? 1 : size);
    return E_OK;
}

static enum err_code read_blank(struct script *s)
{
    struct shell_words *w = &script_top(s)->words;

    if (script_fault(s, shell_word_end(w, &s->facts)) != E_OK)
        return s->err->code;
    s->function = s->function || (w->rule != NULL && w->rule->kind == RULE_FUNCTION);
    script_copy(s, 1);
    return E_OK;
}

/* In a word: a[ opens a subscript. */
static enum err_code read_bracket(struct script *s)
{
    bool opens = shell_word_takes_subscript(&script_top(s)->words);

    script_literal(s, '[');
    script_copy(s, 1);
    return opens ? push(s, (struct frame){.place = IN_SUBSCRIPT}) : E_OK;
}

/* ---- places ---- */

/* Reads what means the same everywhere except in single quotes. */
static enum err_code read_common(struct script *s)
{
    switch (script_peek(s, 0)) {
    case '\\':
        if (script_peek(s, 1) != '\n')
            script_literal(s, script_peek(s, 1));
        script_copy(s, 2);
        return E_OK;
    case '$': return read_dollar(s);
    case '`': return read_backtick(s);
    case '{': return script_read_brace(s);
    default:
        script_literal(s, script_peek(s, 0));
        script_copy(s, 1);
        return E_OK;
    }
}

static enum err_code read_quote(struct script *s)
{
    script_copy(s, 1);
    return push(s, (struct frame){.place = IN_DOUBLE});
}

static enum err_code read_plain(struct script *s)
{
    note_group(s);
    switch (script_peek(s, 0)) {
    case '\'': return script_read_single(s);
    case '"': shell_word_begin(&script_top(s)->words); return read_quote(s);
    case '#':
        if (!at_word_start(s))
            return read_common(s);
        script_copy(s, line_end(s, s->at) - s->at);
        return E_OK;
    case ' ':
    case '\t': return read_blank(s);
    case ';':
    case '&':
    case '|':
    case '\n': {
        bool ends_line = script_peek(s, 0) == '\n';

        if (operator_here(s) != E_OK)
            return s->err->code;
        script_copy(s, 1);
        return ends_line ? enter_here(s) : E_OK;
    }
    case '(': return read_open(s);
    case ')': return read_close(s);
    case '[': return read_bracket(s);
    case '<':
    case '>': return read_redirection(s);
    case '$': return script_peek(s, 1) == '\'' ? script_read_dollar_single(s) : read_dollar(s);
    default: return read_common(s);
    }
}

static enum err_code read_double(struct script *s)
{
    if (script_peek(s, 0) != '"')
        return read_common(s);
    script_copy(s, 1);
    script_pop(s);
    return E_OK;
}

/* Notes the end of the variable's name, and what follows: ${x:1} has an offset, ${x:-1} a
 * default. */
static void note_operand(struct script *s)
{
    struct frame *f = script_top(s);
    bool first = s->text.data[s->at - 1] == '{' && s->at > 1 && s->text.data[s->at - 2] == '$';
    char next = script_peek(s, 1);

    if (f->operand || first || template_is_name_char(script_peek(s, 0)) ||
        strchr("[]", script_peek(s, 0)) != NULL)
        return;
    f->operand = true;
    f->offset = script_peek(s, 0) == ':' && (next == '\0' || strchr("-=+?", next) == NULL);
}

static enum err_code read_in_brace(struct script *s)
{
    const struct frame *f = script_top(s);

    note_operand(s);
    switch (script_peek(s, 0)) {
    case '[':
        script_copy(s, 1);
        return f->operand ? E_OK : push(s, (struct frame){.place = IN_SUBSCRIPT});
    case '}':
        script_copy(s, 1);
        script_pop(s);
        return E_OK;
    case '"': return read_quote(s);
    case '\'':
        if (!f->quoted || f->pattern)
            return script_read_single(s);
        script_copy(s, 1);
        return E_OK;
    default: return read_common(s);
    }
}

/* Reads one character of arithmetic or a subscript, up to the `closer` that ends it. */
static enum err_code read_paired(struct script *s, char opener, char closer)
{
    struct frame *f = script_top(s);
    char c = script_peek(s, 0);

    if (c == '"')
        return read_quote(s);
    if (c != opener && c != closer)
        return read_common(s);
    script_copy(s, 1);
    if (c == opener)
        f->parens++;
    else if (f->parens > 0)
        f->parens--;
    else
        script_pop(s);
    return E_OK;
}

static enum err_code read_arithmetic(struct script *s)
{
    struct frame *f = script_top(s);

    if (f->closer == ']')
        return read_paired(s, '[', ']');
    if (script_peek(s, 0) == ')' && f->parens == 0 && script_peek(s, 1) == ')')
        script_copy(s, 1);
    else if (script_peek(s, 0) == ')' &&
             f->parens == 0) { /* ((a); b) is no arithmetic: it continues as commands */
        *f = (struct frame){.place = IN_PLAIN};
        script_copy(s, 1);
        return E_OK;
    }
    return read_paired(s, '(', ')');
}

static enum err_code read_subscript(struct script *s)
{
    return script_peek(s, 0) == '\'' ? script_read_single(s) : read_paired(s, '[', ']');
}

static enum err_code read_here(struct script *s)
{
    bool first = s->line_start;

    s->line_start = false;
    if (first && is_last_line(s, &s->here[0], s->at)) {
        script_copy(s, line_end(s, s->at) + 1 - s->at);
        forget_here(s);
        script_pop(s);
        return enter_here(s);
    }
    if (script_peek(s, 0) == '\n')
        s->line_start = true;
    return read_common(s);
}

static enum err_code (*const readers[])(struct script *s) = {
    [IN_PLAIN] = read_plain,         [IN_DOUBLE] = read_double, [IN_BACKTICK] = read_plain,
    [IN_BRACE] = read_in_brace,      [IN_HERE] = read_here,     [IN_ARITHMETIC] = read_arithmetic,
    [IN_SUBSCRIPT] = read_subscript,
};

/* ---- the whole ---- */

enum err_code template_shell_parse(struct slice text, struct arena *arena,
                                   struct template_command *ret_command, struct err *err)
{
    struct script s = {
        .text = text,
        .out = BUF_INIT(text.size * 4 + 64), /* {a} becomes "${1000}" */
        .stack = {{.place = IN_PLAIN}},
        .depth = 1,
        .names = VEC_INIT,
        .arena = arena,
        .err = err,
    };
    enum err_code code = E_OK;

    while (code == E_OK && s.at < text.size)
        code = readers[script_top(&s)->place](&s);
    s.depth = 1;
    if (code == E_OK)
        code = end_line(&s);
    if (code == E_OK)
        code = script_fault(&s, shell_end(&s.facts));
    if (code == E_OK) {
        ASSERT(!s.out.overflowed);
        ret_command->script = arena_copy(arena, buf_slice(&s.out));
        script_take_names(&s, arena, ret_command);
    }
    VEC_DEINIT(&s.names);
    buf_deinit(&s.out);
    return code;
}
