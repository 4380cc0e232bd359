/*
 * String commands: a script in which each name becomes a quoted positional parameter.
 *
 * The script is read as the shell reads it, as far as quoting goes: a stack of what we are in
 * (double quotes, `$(…)`, backticks, `${…}`, `$((…))`, here-documents) tells whether a parameter
 * needs quotes of its own.  Where that reading is wrong, a value may be split into words: the
 * script has parameters in it and no values.  Where the shell would evaluate a parameter's value
 * once more, a name is refused: arithmetic and subscripts are found here, by their brackets, the
 * rest by the words in front of it (template_words.h).
 */
/* SPDX-License-Identifier: MIT */
#include "base/vec.h"
#include "core/object/quote.h"
#include "core/program/template_rules.h"
#include "core/program/template_scan.h"
#include "core/program/template_words.h"

enum { DEPTH_MAX = 64, HERE_MAX = 8 };

enum place {
    IN_PLAIN, /* the script itself, or $(…) */
    IN_DOUBLE,
    IN_BACKTICK,
    IN_BRACE,      /* ${…} */
    IN_ARITHMETIC, /* $((…)), ((…)), $[…] */
    IN_SUBSCRIPT,  /* a[…] */
    IN_HERE,       /* a here-document whose parameters are filled in */
};

struct frame {
    enum place place;
    bool result;   /* IN_PLAIN, IN_BACKTICK: what it prints stands in the script: $(…), <(…) */
    bool quoted;   /* IN_BRACE: inside double quotes or a here-document */
    bool pattern;  /* IN_BRACE: quotes mean something, as after # and % */
    bool operand;  /* IN_BRACE: the variable's name has ended */
    bool offset;   /* IN_BRACE: behind it stand offset and length, which are arithmetic */
    char closer;   /* IN_ARITHMETIC: `)` or `]` */
    size_t parens; /* open ones inside */
    struct shell_words words; /* IN_PLAIN, IN_BACKTICK */
};

struct here {
    struct slice end; /* the line that ends it */
    bool quoted;      /* nothing is filled in */
    bool code;        /* a shell runs it */
    bool indented;    /* <<- */
};

struct scan {
    struct slice text;
    size_t at;
    struct buf out;
    struct frame stack[DEPTH_MAX];
    size_t depth;
    struct here here[HERE_MAX]; /* begun on this line, or being read */
    size_t n_here;
    bool line_start; /* IN_HERE: the next line may be its last */
    bool function;   /* `name()` was read: a body follows */
    size_t body;     /* braces open in a function's body */
    VEC(struct template_part) names;
    struct shell_facts facts;
    struct arena *arena;
    struct err *err;
};

/* ---- moving on ---- */

static struct frame *top(struct scan *s)
{
    return &s->stack[s->depth - 1];
}

static char peek(const struct scan *s, size_t ahead)
{
    return s->at + ahead < s->text.size ? s->text.data[s->at + ahead] : '\0';
}

static void copy(struct scan *s, size_t count)
{
    if (count > s->text.size - s->at)
        count = s->text.size - s->at;
    buf_add(&s->out, s->text.data + s->at, count);
    s->at += count;
}

static enum err_code push(struct scan *s, struct frame frame)
{
    if (s->depth == DEPTH_MAX)
        return err_set(s->err, E_INVALID, "the script is nested more than %d deep at byte %zu",
                       DEPTH_MAX, s->at);
    s->stack[s->depth++] = frame;
    return E_OK;
}

static void pop(struct scan *s)
{
    if (s->depth > 1)
        s->depth--;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Ends a word of the script; so does its end, which reads as NUL. */
static bool ends_word(char c)
{
    return c == '\0' || strchr(" \t\n;&|()<>", c) != NULL;
}

static bool at_word_start(const struct scan *s)
{
    return s->at == 0 || ends_word(s->text.data[s->at - 1]) || s->text.data[s->at - 1] == '`';
}

/* A character of the word that the command line reads; in double quotes it is one as well. */
static void literal(struct scan *s, char c)
{
    struct frame *f = top(s);

    if (f->place == IN_DOUBLE && s->depth > 1)
        f--;
    if (f->place == IN_PLAIN || f->place == IN_BACKTICK)
        shell_word_add(&f->words, c);
}

/* ---- names ---- */

static enum err_code misplaced(struct scan *s, size_t at, struct slice name, const char *where)
{
    return err_set(s->err, E_INVALID, "{%.*s} at byte %zu stands in %s", (int)name.size, name.data,
                   at, where);
}

/* The number of its positional parameter, from 1. */
static size_t number_of(struct scan *s, const struct template_part *part)
{
    for (size_t i = 0; i < s->names.count; i++) {
        const struct template_part *known = &s->names.items[i];

        if (slice_equal(known->text, part->text) && known->has_fallback == part->has_fallback &&
            slice_equal(known->fallback, part->fallback))
            return i + 1;
    }
    VEC_PUSH(&s->names, *part);
    return s->names.count;
}

static enum err_code faulty(struct scan *s, struct shell_fault fault)
{
    return fault.where == NULL ? E_OK : misplaced(s, fault.name.at, fault.name.name, fault.where);
}

static struct shell_words *words_below(struct scan *s, size_t i)
{
    while (s->stack[i].place != IN_PLAIN && s->stack[i].place != IN_BACKTICK)
        i--;
    return &s->stack[i].words;
}

/* Whether the shell takes a value for what it is here, and not as code.  `printed`: by $(…). */
static enum err_code judge_name(struct scan *s, struct shell_name name, bool printed)
{
    size_t i = s->depth - 1;

    for (; s->stack[i].place != IN_PLAIN && s->stack[i].place != IN_BACKTICK; i--) {
        struct frame *f = &s->stack[i];

        if (f->place == IN_ARITHMETIC || f->offset)
            return misplaced(s, name.at, name.name, rule_in_arithmetic);
        if (f->place == IN_SUBSCRIPT)
            return misplaced(s, name.at, name.name,
                             "a subscript, which a shell evaluates: check it, put it into a "
                             "variable, and use that");
        if (f->place == IN_HERE && s->here[0].code)
            return misplaced(
                s, name.at, name.name,
                "a here-document that a shell runs, where it would be code: hand it over "
                "as an argument");
        if (f->place == IN_HERE) {
            shell_prints(words_below(s, i), &s->facts, name);
            return E_OK;
        }
    }
    return faulty(s, shell_word_name(&s->stack[i].words, &s->facts, name, printed));
}

/* A command line in brackets has ended: what it prints is a value where they stand. */
static enum err_code end_brackets(struct scan *s)
{
    const struct frame *f = top(s);
    struct shell_fault output = f->words.output;
    bool result = f->result;

    pop(s);
    if (output.where == NULL)
        return E_OK;
    if (result)
        return judge_name(s, output.name, true);
    words_below(s, s->depth - 1)->says = output;
    return E_OK;
}

static enum err_code add_parameter(struct scan *s, const struct template_part *part, size_t size)
{
    const struct frame *f = top(s);
    bool quoted = f->place == IN_DOUBLE || f->place == IN_HERE || f->quoted;

    if (judge_name(s, (struct shell_name){part->text, s->at}, false) != E_OK)
        return s->err->code;
    if (s->body > 0)
        return misplaced(
            s, s->at, part->text,
            "a function, which has parameters of its own: hand it over as an argument");
    size_t number = number_of(s, part);

    if (s->names.count > TEMPLATE_NAMES_MAX)
        return err_set(s->err, E_INVALID, "must have at most %d names in braces",
                       TEMPLATE_NAMES_MAX);
    buf_addf(&s->out, quoted ? "${%zu}" : "\"${%zu}\"", number);
    s->at += size;
    return E_OK;
}

static enum err_code read_brace(struct scan *s)
{
    enum template_brace kind;
    struct template_part part;
    size_t size;

    if (template_brace_read(s->text, s->at, s->arena, &kind, &part, &size, s->err) != E_OK)
        return s->err->code;
    switch (kind) {
    case TEMPLATE_BRACE_NAME: return add_parameter(s, &part, size);
    case TEMPLATE_BRACE_ESCAPED:
        literal(s, '{');
        copy(s, 1);
        s->at++;
        return E_OK;
    case TEMPLATE_BRACE_PLAIN: break;
    }
    literal(s, '{');
    copy(s, 1);
    return E_OK;
}

/* Text that the shell takes as it is, up to `end`: no name may stand in it. */
static enum err_code copy_quoted(struct scan *s, size_t end, const char *where)
{
    struct slice text = slice_make(s->text.data, end);

    while (s->at < end) {
        enum template_brace kind = TEMPLATE_BRACE_PLAIN;
        struct err unended = ERR_INIT; /* a default without an end is no name */
        struct template_part part;
        size_t size;

        if (peek(s, 0) == '{' &&
            template_brace_read(text, s->at, s->arena, &kind, &part, &size, &unended) == E_OK &&
            kind == TEMPLATE_BRACE_NAME)
            return misplaced(s, s->at, part.text, where);
        copy(s, 1);
        s->at += kind == TEMPLATE_BRACE_ESCAPED;
    }
    return E_OK;
}

/* $'…', where a backslash quotes. */
static enum err_code read_dollar_single(struct scan *s)
{
    size_t end = s->at + 2;

    while (end < s->text.size && s->text.data[end] != '\'')
        end += s->text.data[end] == '\\' ? 2 : 1;
    literal(s, '$');
    copy(s, 2);
    if (copy_quoted(s, end < s->text.size ? end : s->text.size,
                    "$'…', where the shell fills in nothing: use double quotes") != E_OK)
        return s->err->code;
    copy(s, 1);
    return E_OK;
}

static enum err_code read_single(struct scan *s)
{
    size_t from = s->at + 1;
    const char *end = from < s->text.size ? memchr(s->text.data + from, '\'', s->text.size - from)
                                          : NULL;
    size_t to = end != NULL ? (size_t)(end - s->text.data) : s->text.size;

    for (size_t i = from; i < to; i++)
        literal(s, s->text.data[i]);
    if (top(s)->place == IN_PLAIN || top(s)->place == IN_BACKTICK)
        shell_word_begin(&top(s)->words);
    copy(s, 1);
    if (copy_quoted(s, to,
                    "single quotes, where the shell fills in nothing: use double quotes, or write "
                    "{{ for a brace") != E_OK)
        return s->err->code;
    copy(s, 1);
    return E_OK;
}

/* ---- here-documents ---- */

static size_t line_end(const struct scan *s, size_t from)
{
    const char *end = from < s->text.size ? memchr(s->text.data + from, '\n', s->text.size - from)
                                          : NULL;

    return end != NULL ? (size_t)(end - s->text.data) : s->text.size;
}

static bool is_last_line(const struct scan *s, const struct here *h, size_t from)
{
    size_t end = line_end(s, from);

    while (h->indented && from < end && s->text.data[from] == '\t')
        from++;
    return slice_equal(slice_make(s->text.data + from, end - from), h->end);
}

/* << and its word, with whatever quotes are in it. */
static enum err_code begin_here(struct scan *s)
{
    struct here *h = &s->here[s->n_here];
    CLEANUP(buf) struct buf word = BUF_INIT(s->text.size);

    if (s->n_here == HERE_MAX)
        return err_set(s->err, E_INVALID, "has more than %d here-documents on one line", HERE_MAX);
    copy(s, 2);
    *h = (struct here){.indented = peek(s, 0) == '-'};
    copy(s, h->indented);
    while (is_blank(peek(s, 0)))
        copy(s, 1);
    for (char quote = '\0'; s->at < s->text.size; copy(s, 1)) {
        char c = peek(s, 0);

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

static void forget_here(struct scan *s)
{
    s->n_here--;
    memmove(&s->here[0], &s->here[1], s->n_here * sizeof(s->here[0]));
}

/* At the start of a line: here-documents that were begun on the one before. */
static enum err_code enter_here(struct scan *s)
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

            if (copy_quoted(s, end,
                            "a here-document whose end is quoted, where the shell fills "
                            "in nothing") != E_OK)
                return s->err->code;
            copy(s, 1);
            if (last)
                break;
        }
        forget_here(s);
    }
    return E_OK;
}

/* ---- what begins at a character ---- */

static bool is_variable_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* ${x#'…'}: behind the variable stands a pattern. */
static bool has_pattern(const struct scan *s)
{
    size_t i = 2;

    while (is_variable_char(peek(s, i)))
        i++;
    return i > 2 && peek(s, i) != '\0' && strchr("#%/", peek(s, i)) != NULL;
}

static enum err_code read_dollar(struct scan *s)
{
    const struct frame *f = top(s);
    bool quoted = f->place == IN_DOUBLE || f->place == IN_HERE || f->quoted;
    struct frame inner = {.place = IN_PLAIN, .result = true};
    size_t size = 2;

    literal(s, '$');
    if (peek(s, 1) == '[') {
        inner = (struct frame){.place = IN_ARITHMETIC, .closer = ']'};
    } else if (peek(s, 1) == '{') {
        inner = (struct frame){.place = IN_BRACE, .quoted = quoted, .pattern = has_pattern(s)};
    } else if (peek(s, 1) == '(' && peek(s, 2) == '(') {
        inner = (struct frame){.place = IN_ARITHMETIC, .closer = ')'};
        size = 3;
    } else if (peek(s, 1) != '(') {
        copy(s, peek(s, 1) == '$' ? 2 : 1);
        return E_OK;
    }
    copy(s, size);
    return push(s, inner);
}

/* ; & | newline ( ) < >, as the command line sees it. */
static enum err_code operator_here(struct scan *s)
{
    struct slice rest = slice_make(s->text.data + s->at, s->text.size - s->at);
    bool reads_code = false;
    struct shell_fault fault = shell_operator(&top(s)->words, &s->facts, rest, &reads_code);

    for (size_t i = 0; reads_code && i < s->n_here; i++)
        s->here[i].code = true;
    return faulty(s, fault);
}

/* The command line ends: at the end of the script, of $(…) or of a backtick. */
static enum err_code end_line(struct scan *s)
{
    bool ignored = false;

    return faulty(s, shell_operator(&top(s)->words, &s->facts, SLICE("\n"), &ignored));
}

/* Backticks do not nest: a second one ends the first, whatever is open in between. */
static enum err_code read_backtick(struct scan *s)
{
    for (size_t i = s->depth; i > 1; i--)
        if (s->stack[i - 1].place == IN_BACKTICK) {
            s->depth = i;
            enum err_code code = end_line(s);

            copy(s, 1);
            return code == E_OK ? end_brackets(s) : code;
        }
    literal(s, '$');
    copy(s, 1);
    return push(s, (struct frame){.place = IN_BACKTICK, .result = true});
}

static enum err_code read_close(struct scan *s)
{
    struct frame *f = top(s);
    bool ends_pattern = f->words.in_pattern;

    if (operator_here(s) != E_OK)
        return s->err->code;
    copy(s, 1);
    if (f->parens > 0)
        f->parens--;
    else if (!ends_pattern && f->place != IN_BACKTICK && s->depth > 1)
        return end_brackets(s);
    return E_OK;
}

/* `f()`, ((…)), a=(…), or a subshell. */
static enum err_code read_open(struct scan *s)
{
    struct frame inner = {.place = IN_PLAIN};
    size_t size = 1;
    size_t i = 1;

    while (is_blank(peek(s, i)))
        i++;
    if (peek(s, i) == ')')
        s->function = true;
    else if (peek(s, 1) == '(')
        inner = (struct frame){.place = IN_ARITHMETIC, .closer = ')'};
    inner.words.in_list = s->at > 0 && s->text.data[s->at - 1] == '=';
    if (inner.place == IN_ARITHMETIC)
        size = 2;
    bool stays = top(s)->words.in_test || top(s)->words.in_pattern;

    if (operator_here(s) != E_OK)
        return s->err->code;
    copy(s, size);
    if (!stays || inner.place == IN_ARITHMETIC)
        return push(s, inner);
    top(s)->parens += top(s)->words.in_test;
    return E_OK;
}

/* Braces that stand alone open and close the body of a function. */
static void note_group(struct scan *s)
{
    bool alone = at_word_start(s) && ends_word(peek(s, 1));

    if (peek(s, 0) == '{' && alone && (s->function || s->body > 0)) {
        s->function = false;
        s->body++;
    } else if (peek(s, 0) == '}' && alone && s->body > 0) {
        s->body--;
    }
}

static enum err_code read_newline(struct scan *s)
{
    if (operator_here(s) != E_OK)
        return s->err->code;
    copy(s, 1);
    return enter_here(s);
}

/* < > and their kind, to the end of the operator. */
static enum err_code read_redirection(struct scan *s)
{
    struct shell_words *w = &top(s)->words;
    size_t size = 1;

    if (peek(s, 1) == '(') { /* <(…) is a word */
        shell_word_add(w, '$');
        copy(s, 2);
        return push(s, (struct frame){.place = IN_PLAIN, .result = true});
    }
    if (peek(s, 0) == '<' && peek(s, 1) == '<' && peek(s, 2) != '<' && !w->in_test) {
        if (faulty(s, shell_word_end(w, &s->facts)) != E_OK)
            return s->err->code;
        shell_here_document(w);
        return begin_here(s);
    }
    if (operator_here(s) != E_OK)
        return s->err->code;
    while (size < 3 && peek(s, size) != '\0' && strchr("<>&|", peek(s, size)) != NULL)
        size++;
    copy(s, w->in_test ? 1 : size);
    return E_OK;
}

static enum err_code read_operator(struct scan *s)
{
    if (operator_here(s) != E_OK)
        return s->err->code;
    copy(s, 1);
    return E_OK;
}

static enum err_code read_blank(struct scan *s)
{
    struct shell_words *w = &top(s)->words;

    if (faulty(s, shell_word_end(w, &s->facts)) != E_OK)
        return s->err->code;
    s->function = s->function || shell_defines_function(w);
    copy(s, 1);
    return E_OK;
}

/* In a word: a[ opens a subscript. */
static enum err_code read_bracket(struct scan *s)
{
    bool opens = shell_word_takes_subscript(&top(s)->words);

    literal(s, '[');
    copy(s, 1);
    return opens ? push(s, (struct frame){.place = IN_SUBSCRIPT}) : E_OK;
}

/* ---- places ---- */

/* What means the same everywhere but in single quotes. */
static enum err_code read_common(struct scan *s)
{
    switch (peek(s, 0)) {
    case '\\':
        if (peek(s, 1) != '\n')
            literal(s, peek(s, 1));
        copy(s, 2);
        return E_OK;
    case '$': return read_dollar(s);
    case '`': return read_backtick(s);
    case '{': return read_brace(s);
    default:
        literal(s, peek(s, 0));
        copy(s, 1);
        return E_OK;
    }
}

static enum err_code read_quote(struct scan *s)
{
    copy(s, 1);
    return push(s, (struct frame){.place = IN_DOUBLE});
}

static enum err_code read_plain(struct scan *s)
{
    note_group(s);
    switch (peek(s, 0)) {
    case '\'': return read_single(s);
    case '"': shell_word_begin(&top(s)->words); return read_quote(s);
    case '#':
        if (!at_word_start(s))
            return read_common(s);
        copy(s, line_end(s, s->at) - s->at);
        return E_OK;
    case ' ':
    case '\t': return read_blank(s);
    case ';':
    case '&':
    case '|': return read_operator(s);
    case '(': return read_open(s);
    case ')': return read_close(s);
    case '[': return read_bracket(s);
    case '\n': return read_newline(s);
    case '<':
    case '>': return read_redirection(s);
    case '$': return peek(s, 1) == '\'' ? read_dollar_single(s) : read_dollar(s);
    default: return read_common(s);
    }
}

static enum err_code read_double(struct scan *s)
{
    if (peek(s, 0) != '"')
        return read_common(s);
    copy(s, 1);
    pop(s);
    return E_OK;
}

/* The name of the variable, up to what is to be done with it.  ${x:1} has an offset, ${x:-1} a
 * default. */
static void note_operand(struct scan *s)
{
    struct frame *f = top(s);
    bool first = s->text.data[s->at - 1] == '{' && s->at > 1 && s->text.data[s->at - 2] == '$';
    char next = peek(s, 1);

    if (f->operand || first || is_variable_char(peek(s, 0)) || strchr("[]", peek(s, 0)) != NULL)
        return;
    f->operand = true;
    f->offset = peek(s, 0) == ':' && (next == '\0' || strchr("-=+?", next) == NULL);
}

static enum err_code read_in_brace(struct scan *s)
{
    const struct frame *f = top(s);

    note_operand(s);
    switch (peek(s, 0)) {
    case '[': copy(s, 1); return f->operand ? E_OK : push(s, (struct frame){.place = IN_SUBSCRIPT});
    case '}':
        copy(s, 1);
        pop(s);
        return E_OK;
    case '"': return read_quote(s);
    case '\'':
        if (!f->quoted || f->pattern)
            return read_single(s);
        copy(s, 1);
        return E_OK;
    default: return read_common(s);
    }
}

/* What is in pairs, to the `closer` that belongs to the one before it. */
static enum err_code read_paired(struct scan *s, char opener, char closer)
{
    struct frame *f = top(s);
    char c = peek(s, 0);

    if (c == '"')
        return read_quote(s);
    if (c != opener && c != closer)
        return read_common(s);
    copy(s, 1);
    if (c == opener)
        f->parens++;
    else if (f->parens > 0)
        f->parens--;
    else
        pop(s);
    return E_OK;
}

static enum err_code read_arithmetic(struct scan *s)
{
    struct frame *f = top(s);

    if (f->closer == ']')
        return read_paired(s, '[', ']');
    if (peek(s, 0) == ')' && f->parens == 0 && peek(s, 1) == ')')
        copy(s, 1);
    else if (peek(s, 0) == ')' &&
             f->parens == 0) { /* ((a); b) was no arithmetic: it goes on as commands */
        *f = (struct frame){.place = IN_PLAIN};
        copy(s, 1);
        return E_OK;
    }
    return read_paired(s, '(', ')');
}

static enum err_code read_subscript(struct scan *s)
{
    return peek(s, 0) == '\'' ? read_single(s) : read_paired(s, '[', ']');
}

static enum err_code read_here(struct scan *s)
{
    bool first = s->line_start;

    s->line_start = false;
    if (first && is_last_line(s, &s->here[0], s->at)) {
        copy(s, line_end(s, s->at) + 1 - s->at);
        forget_here(s);
        pop(s);
        return enter_here(s);
    }
    if (peek(s, 0) == '\n')
        s->line_start = true;
    return read_common(s);
}

static enum err_code (*const readers[])(struct scan *s) = {
    [IN_PLAIN] = read_plain,         [IN_DOUBLE] = read_double, [IN_BACKTICK] = read_plain,
    [IN_BRACE] = read_in_brace,      [IN_HERE] = read_here,     [IN_ARITHMETIC] = read_arithmetic,
    [IN_SUBSCRIPT] = read_subscript,
};

/* ---- the whole ---- */

static void take_names(const struct scan *s, struct arena *arena, struct template_command *c)
{
    c->n_args = s->names.count;
    c->args = arena_array(arena, c->n_args, sizeof(struct template_text));
    for (size_t i = 0; i < c->n_args; i++) {
        struct template_part *part = arena_alloc(arena, sizeof(*part));

        *part = s->names.items[i];
        c->args[i] = (struct template_text){.parts = part, .n_parts = 1};
    }
}

static enum err_code end_script(struct scan *s)
{
    s->depth = 1;
    return end_line(s) != E_OK ? s->err->code : faulty(s, shell_end(&s->facts));
}

enum err_code template_shell_parse(struct slice text, struct arena *arena,
                                   struct template_command *ret_command, struct err *err)
{
    struct scan s = {
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
        code = readers[top(&s)->place](&s);
    if (code == E_OK)
        code = end_script(&s);
    if (code == E_OK) {
        ASSERT(!s.out.overflowed);
        ret_command->script = arena_copy(arena, buf_slice(&s.out));
        take_names(&s, arena, ret_command);
    }
    VEC_DEINIT(&s.names);
    buf_deinit(&s.out);
    return code;
}
