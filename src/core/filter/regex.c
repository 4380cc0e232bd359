/* SPDX-License-Identifier: MIT */
#include "core/filter/regex.h"

#include <string.h>

#include "base/compiler.h"
#include "base/text/utf8.h"

enum { RANGES_MAX = 2000, DEPTH_MAX = 100 };

enum op { OP_SET, OP_SPLIT, OP_JUMP, OP_BEGIN, OP_END, OP_MATCH };

/* Jumps are relative, so that a piece of the program can be moved and copied. */
struct step {
    enum op op;
    int to;       /* JUMP: where; SPLIT: the other way than the next step */
    bool negated; /* SET: all characters but these */
    unsigned first, n;
};

struct range {
    unsigned from, to;
};

struct regex {
    struct step *steps;
    struct range *ranges;
    size_t n_steps;
};

struct parser {
    struct slice text;
    size_t at;
    int depth;
    struct step steps[REGEX_STEPS_MAX];
    size_t n_steps;
    struct range ranges[RANGES_MAX];
    size_t n_ranges;
    struct err *err;
};

/* ---- characters ---- */

static unsigned decode(const char *at, size_t size)
{
    static const unsigned char first_bits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    unsigned c = (unsigned char)at[0];

    if (size < 2)
        return c;
    ASSERT(size < ARRAY_LEN(first_bits));
    c &= first_bits[size];
    for (size_t i = 1; i < size; i++)
        c = c << 6 | ((unsigned char)at[i] & 0x3F);
    return c;
}

/* Bytes that are no UTF-8 are characters of their own. */
static unsigned next_char(struct slice text, size_t *at)
{
    size_t size = utf8_step(text.data + *at, slice_end(text));
    unsigned c = decode(text.data + *at, size);

    *at += size == 0 ? 1 : size;
    return c;
}

static bool ended(const struct parser *p)
{
    return p->at >= p->text.size;
}

static bool looks_at(const struct parser *p, char c)
{
    return !ended(p) && p->text.data[p->at] == c;
}

static bool take(struct parser *p, char c)
{
    bool is = looks_at(p, c);

    p->at += is;
    return is;
}

/* ---- making the program ---- */

static enum err_code add_step(struct parser *p, struct step step)
{
    if (p->n_steps == REGEX_STEPS_MAX)
        return err_set(p->err, E_INVALID,
                       "the regex is too large: it may have %d steps, and "
                       "repeats count as copies",
                       REGEX_STEPS_MAX);
    p->steps[p->n_steps++] = step;
    return E_OK;
}

static enum err_code insert_step(struct parser *p, size_t i, struct step step)
{
    if (add_step(p, step) != E_OK)
        return p->err->code;
    memmove(p->steps + i + 1, p->steps + i, (p->n_steps - 1 - i) * sizeof(step));
    p->steps[i] = step;
    return E_OK;
}

static enum err_code add_range(struct parser *p, unsigned from, unsigned to)
{
    if (p->n_ranges == RANGES_MAX)
        return err_set(p->err, E_INVALID, "the regex has too many characters in brackets");
    p->ranges[p->n_ranges++] = (struct range){from, to};
    return E_OK;
}

static enum err_code add_char(struct parser *p, unsigned c)
{
    struct step set = {.op = OP_SET, .first = (unsigned)p->n_ranges, .n = 1};

    return add_range(p, c, c) != E_OK ? p->err->code : add_step(p, set);
}

/* ---- classes ---- */

static const struct {
    const char *name;
    char letter; /* \d; 0: none */
    const char *ranges;
} classes[] = {
    {"digit", 'd', "09"},
    {"word", 'w', "09AZaz__"},
    {"space", 's', "\t\r  "},
    {"alpha", 0, "AZaz"},
    {"alnum", 0, "09AZaz"},
    {"upper", 0, "AZ"},
    {"lower", 0, "az"},
    {"blank", 0, "\t\t  "},
    {"punct", 0, "!/:@[`{~"},
    {"xdigit", 0, "09AFaf"},
    {"print", 0, " ~"},
    {"graph", 0, "!~"},
    {"cntrl", 0, "\1\x1f\x7f\x7f"},
};

static enum err_code add_class(struct parser *p, size_t i)
{
    for (const char *r = classes[i].ranges; *r != '\0'; r += 2)
        if (add_range(p, (unsigned char)r[0], (unsigned char)r[1]) != E_OK)
            return p->err->code;
    return E_OK;
}

/* ARRAY_LEN(classes): none. */
static size_t class_of_letter(char c)
{
    size_t i = 0;

    while (i < ARRAY_LEN(classes) && (classes[i].letter == 0 || classes[i].letter != c))
        i++;
    return i;
}

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Behind a backslash outside of brackets. */
static enum err_code parse_escape(struct parser *p)
{
    if (ended(p))
        return err_set(p->err, E_INVALID, "the regex ends in a single backslash");
    char c = p->text.data[p->at];
    size_t class = class_of_letter((char)(c | 0x20));

    if (is_letter_or_digit(c) && class < ARRAY_LEN(classes)) {
        struct step set = {.op = OP_SET, .first = (unsigned)p->n_ranges, .negated = c < 'a'};

        p->at++;
        if (add_class(p, class) != E_OK)
            return p->err->code;
        set.n = (unsigned)p->n_ranges - set.first;
        return add_step(p, set);
    }
    if (is_letter_or_digit(c))
        return err_set(p->err, E_INVALID, "\\%c at byte %zu is not supported in a regex", c,
                       p->at - 1);
    return add_char(p, next_char(p->text, &p->at));
}

/* ---- brackets ---- */

/* "[:digit:]" */
static enum err_code parse_class(struct parser *p, bool *ret_is)
{
    struct slice rest = slice_make(p->text.data + p->at, p->text.size - p->at);

    *ret_is = false;
    if (rest.size < 2 || rest.data[0] != '[' || strchr(":.=", rest.data[1]) == NULL)
        return E_OK;
    for (size_t i = 0; i < ARRAY_LEN(classes); i++) {
        size_t size = strlen(classes[i].name);

        if (rest.data[1] == ':' && rest.size >= size + 4 &&
            memcmp(rest.data + 2, classes[i].name, size) == 0 &&
            memcmp(rest.data + 2 + size, ":]", 2) == 0) {
            p->at += size + 4;
            *ret_is = true;
            return add_class(p, i);
        }
    }
    return err_set(p->err, E_INVALID, "at byte %zu of the regex must be a class like [:digit:]",
                   p->at);
}

/* One character, or *ret_class when a backslash names a class. */
static enum err_code parse_member(struct parser *p, unsigned *ret_char, bool *ret_class)
{
    *ret_class = false;
    if (take(p, '\\') && !ended(p) && is_letter_or_digit(p->text.data[p->at])) {
        size_t class = class_of_letter(p->text.data[p->at]);

        if (class == ARRAY_LEN(classes))
            return err_set(p->err, E_INVALID, "\\%c at byte %zu is not supported in brackets",
                           p->text.data[p->at], p->at - 1);
        p->at++;
        *ret_class = true;
        return add_class(p, class);
    }
    if (ended(p))
        return err_set(p->err, E_INVALID, "a bracket of the regex is not closed");
    *ret_char = next_char(p->text, &p->at);
    return E_OK;
}

static enum err_code parse_item(struct parser *p)
{
    size_t at = p->at;
    unsigned from;
    unsigned to;
    bool class;

    if (parse_class(p, &class) != E_OK || class)
        return class ? E_OK : p->err->code;
    if (parse_member(p, &from, &class) != E_OK || class)
        return class ? E_OK : p->err->code;
    to = from;
    if (looks_at(p, '-') && p->at + 1 < p->text.size && p->text.data[p->at + 1] != ']') {
        p->at++;
        if (parse_member(p, &to, &class) != E_OK)
            return p->err->code;
        if (class || to < from)
            return err_set(p->err, E_INVALID, "the range at byte %zu of the regex is empty", at);
    }
    return add_range(p, from, to);
}

static enum err_code parse_brackets(struct parser *p)
{
    struct step set = {.op = OP_SET, .first = (unsigned)p->n_ranges};
    size_t from = p->at;

    set.negated = take(p, '^');
    for (bool first = true; first || !take(p, ']'); first = false) {
        if (ended(p))
            return err_set(p->err, E_INVALID, "the bracket at byte %zu of the regex is not closed",
                           from - 1);
        if (parse_item(p) != E_OK)
            return p->err->code;
    }
    set.n = (unsigned)p->n_ranges - set.first;
    return add_step(p, set);
}

/* ---- repeats ---- */

static bool parse_number(struct parser *p, int *ret_n)
{
    size_t from = p->at;
    int n = 0;

    while (!ended(p) && p->text.data[p->at] >= '0' && p->text.data[p->at] <= '9' &&
           p->at - from < 4)
        n = n * 10 + (p->text.data[p->at++] - '0');
    *ret_n = n;
    return p->at > from;
}

/* "{2,5}" behind its brace; *ret_max -1: without end. */
static enum err_code parse_bounds(struct parser *p, int *ret_min, int *ret_max)
{
    size_t at = p->at - 1;
    bool good = parse_number(p, ret_min);

    *ret_max = *ret_min;
    if (good && take(p, ',') && !parse_number(p, ret_max))
        *ret_max = -1;
    if (!good || !take(p, '}'))
        return err_set(p->err, E_INVALID,
                       "the brace at byte %zu of the regex must be a repeat like {2,5}, or be "
                       "written \\{",
                       at);
    if (*ret_min > REGEX_REPEAT_MAX || *ret_max > REGEX_REPEAT_MAX ||
        (*ret_max >= 0 && *ret_max < *ret_min))
        return err_set(p->err, E_INVALID,
                       "the repeat at byte %zu of the regex must go up, to at most %d", at,
                       REGEX_REPEAT_MAX);
    return E_OK;
}

static enum err_code add_copy(struct parser *p, size_t from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (add_step(p, p->steps[from + i]) != E_OK)
            return p->err->code;
    return E_OK;
}

/* Goes round the last n steps: any number of times, or at least once. */
static enum err_code loop(struct parser *p, size_t from, bool at_least_once)
{
    int n = (int)(p->n_steps - from);

    if (at_least_once)
        return add_step(p, (struct step){.op = OP_SPLIT, .to = -n});
    if (insert_step(p, from, (struct step){.op = OP_SPLIT, .to = n + 2}) != E_OK)
        return p->err->code;
    return add_step(p, (struct step){.op = OP_JUMP, .to = -n - 1});
}

static enum err_code repeat(struct parser *p, size_t from, int min, int max)
{
    size_t n = p->n_steps - from;

    if (max == 0) {
        p->n_steps = from;
        return E_OK;
    }
    if (max < 0 && min <= 1)
        return loop(p, from, min == 1);
    for (int i = 1; i < min; i++)
        if (add_copy(p, from, n) != E_OK)
            return p->err->code;
    if (max < 0)
        return loop(p, p->n_steps - n, true);
    int optional = max - (min == 0 ? 1 : min); /* copies still to come, each with its way out */

    if (min == 0 && insert_step(p, from++,
                                (struct step){.op = OP_SPLIT,
                                              .to = (int)n + 1 + optional * ((int)n + 1)}) != E_OK)
        return p->err->code;
    for (; optional > 0; optional--) {
        struct step out = {.op = OP_SPLIT, .to = optional * ((int)n + 1)};

        if (add_step(p, out) != E_OK || add_copy(p, from, n) != E_OK)
            return p->err->code;
    }
    return E_OK;
}

static enum err_code parse_repeats(struct parser *p, size_t from)
{
    for (;;) {
        int min = 0;
        int max = -1;

        if (take(p, '+'))
            min = 1;
        else if (take(p, '?'))
            max = 1;
        else if (take(p, '{')) {
            if (parse_bounds(p, &min, &max) != E_OK)
                return p->err->code;
        } else if (!take(p, '*'))
            return E_OK;
        if (repeat(p, from, min, max) != E_OK)
            return p->err->code;
    }
}

/* ---- the grammar ---- */

static enum err_code parse_branches(struct parser *p);

static enum err_code parse_group(struct parser *p)
{
    size_t at = p->at - 1;

    if (++p->depth > DEPTH_MAX)
        return err_set(p->err, E_INVALID, "the regex has more than %d parentheses in each other",
                       DEPTH_MAX);
    if (parse_branches(p) != E_OK)
        return p->err->code;
    p->depth--;
    if (!take(p, ')'))
        return err_set(p->err, E_INVALID, "the parenthesis at byte %zu of the regex is not closed",
                       at);
    return E_OK;
}

static enum err_code parse_atom(struct parser *p)
{
    switch (p->text.data[p->at]) {
    case '(': p->at++; return parse_group(p);
    case '[': p->at++; return parse_brackets(p);
    case '\\': p->at++; return parse_escape(p);
    case '^': p->at++; return add_step(p, (struct step){.op = OP_BEGIN});
    case '$': p->at++; return add_step(p, (struct step){.op = OP_END});
    case '.': p->at++; return add_step(p, (struct step){.op = OP_SET, .negated = true});
    case '*':
    case '+':
    case '?':
    case '{':
        return err_set(p->err, E_INVALID, "'%c' at byte %zu of the regex has nothing to repeat",
                       p->text.data[p->at], p->at);
    default: return add_char(p, next_char(p->text, &p->at));
    }
}

static enum err_code parse_branches(struct parser *p)
{
    size_t from = p->n_steps;

    while (!ended(p) && !looks_at(p, '|') && !(looks_at(p, ')') && p->depth > 0)) {
        size_t atom = p->n_steps;

        if (parse_atom(p) != E_OK || parse_repeats(p, atom) != E_OK)
            return p->err->code;
    }
    if (!take(p, '|'))
        return E_OK;
    int n = (int)(p->n_steps - from);

    if (insert_step(p, from, (struct step){.op = OP_SPLIT, .to = n + 2}) != E_OK ||
        add_step(p, (struct step){.op = OP_JUMP}) != E_OK)
        return p->err->code;
    size_t jump = p->n_steps - 1;

    if (parse_branches(p) != E_OK)
        return p->err->code;
    p->steps[jump].to = (int)(p->n_steps - jump);
    return E_OK;
}

enum err_code regex_parse(struct slice text, struct arena *arena, const struct regex **ret_regex,
                          struct err *err)
{
    CLEANUP(arena) struct arena own = ARENA_INIT;
    struct parser *p = arena_alloc(&own, sizeof(*p)); /* too large for the stack of a thread */

    if (text.size > REGEX_TEXT_MAX)
        return err_set(err, E_INVALID, "a regex has at most %d bytes, not %zu", REGEX_TEXT_MAX,
                       text.size);
    p->text = text;
    p->err = err;
    p->at = p->n_steps = p->n_ranges = 0;
    p->depth = 0;
    if (parse_branches(p) != E_OK || add_step(p, (struct step){.op = OP_MATCH}) != E_OK)
        return err->code;
    struct regex *re = arena_zalloc(arena, sizeof(*re));

    re->n_steps = p->n_steps;
    re->steps = arena_array(arena, p->n_steps, sizeof(struct step));
    memcpy(re->steps, p->steps, p->n_steps * sizeof(struct step));
    re->ranges = arena_array(arena, p->n_ranges + 1, sizeof(struct range));
    memcpy(re->ranges, p->ranges, p->n_ranges * sizeof(struct range));
    *ret_regex = re;
    return E_OK;
}

/* ---- matching: all ways at once ---- */

struct places {
    unsigned short steps[REGEX_STEPS_MAX]; /* SET and MATCH */
    size_t n;
};

struct run {
    const struct regex *re;
    bool at_begin, at_end;
    unsigned seen_at[REGEX_STEPS_MAX]; /* the number of the character for which it was added */
    unsigned now;
};

/* Adds all steps that are reached from there without a character; true when the text matches. */
static bool reach(struct run *run, struct places *to, size_t from)
{
    unsigned short stack[REGEX_STEPS_MAX + 1];
    size_t depth = 0;

    stack[depth++] = (unsigned short)from;
    while (depth > 0) {
        size_t i = stack[--depth];
        const struct step *s = &run->re->steps[i];

        if (run->seen_at[i] == run->now)
            continue;
        run->seen_at[i] = run->now;
        if (s->op == OP_MATCH)
            return true;
        if (s->op == OP_SET)
            to->steps[to->n++] = (unsigned short)i;
        if (s->op == OP_SPLIT || s->op == OP_JUMP)
            stack[depth++] = (unsigned short)((int)i + s->to);
        if (s->op == OP_SPLIT || (s->op == OP_BEGIN && run->at_begin) ||
            (s->op == OP_END && run->at_end))
            stack[depth++] = (unsigned short)(i + 1);
    }
    return false;
}

static bool has_char(const struct regex *re, const struct step *s, unsigned c)
{
    for (unsigned i = s->first; i < s->first + s->n; i++)
        if (c >= re->ranges[i].from && c <= re->ranges[i].to)
            return !s->negated;
    return s->negated;
}

bool regex_matches(const struct regex *re, struct slice text)
{
    struct run run = {.re = re, .now = 1, .at_begin = true, .at_end = text.size == 0};
    struct places here = {.n = 0};
    struct places next;

    ASSERT(text.size <= REGEX_SUBJECT_MAX);
    if (reach(&run, &here, 0))
        return true;
    for (size_t at = 0; at < text.size;) {
        unsigned c = next_char(text, &at);

        run.now++;
        run.at_begin = false;
        run.at_end = at == text.size;
        next.n = 0;
        for (size_t i = 0; i < here.n; i++)
            if (has_char(re, &re->steps[here.steps[i]], c) &&
                reach(&run, &next, here.steps[i] + 1u))
                return true;
        if (reach(&run, &next, 0)) /* a match may begin anywhere */
            return true;
        here = next;
    }
    return false;
}
