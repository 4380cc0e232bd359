/* SPDX-License-Identifier: MIT */
#include "core/program/template_rules.h"
#include "core/program/template_scan.h"
#include "core/program/template_script.h"

static enum err_code misplaced(struct script *s, size_t at, struct slice name, const char *where)
{
    return err_set(s->err, E_INVALID, "{%.*s} at byte %zu is in %s", (int)name.size, name.data, at,
                   where);
}

/* The number of the positional parameter of a name, from 1. */
static size_t number_of(struct script *s, const struct template_part *part)
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

enum err_code script_fault(struct script *s, struct shell_fault fault)
{
    return fault.where == NULL ? E_OK : misplaced(s, fault.name.at, fault.name.name, fault.where);
}

static struct shell_words *words_below(struct script *s, size_t i)
{
    while (s->stack[i].place != IN_PLAIN && s->stack[i].place != IN_BACKTICK)
        i--;
    return &s->stack[i].words;
}

/* Refuses a name where the shell would run its value as code.  `printed`: by $(…). */
static enum err_code judge_name(struct script *s, struct shell_name name, bool printed)
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
            return misplaced(s, name.at, name.name,
                             "a here-document that a shell runs, where it would be code: pass it "
                             "as an argument");
        if (f->place == IN_HERE) {
            shell_prints(words_below(s, i), &s->facts, name);
            return E_OK;
        }
    }
    return script_fault(s, shell_word_name(&s->stack[i].words, &s->facts, name, printed));
}

enum err_code script_end_brackets(struct script *s)
{
    const struct frame *f = script_top(s);
    struct shell_fault output = f->words.output;
    bool result = f->result;

    script_pop(s);
    if (output.where == NULL)
        return E_OK;
    if (result)
        return judge_name(s, output.name, true);
    words_below(s, s->depth - 1)->says = output;
    return E_OK;
}

static enum err_code add_parameter(struct script *s, const struct template_part *part, size_t size)
{
    const struct frame *f = script_top(s);
    bool quoted = f->place == IN_DOUBLE || f->place == IN_HERE || f->quoted;

    if (judge_name(s, (struct shell_name){part->text, s->at}, false) != E_OK)
        return s->err->code;
    if (s->body > 0)
        return misplaced(s, s->at, part->text,
                         "a function, which has its own parameters: pass it as an argument");
    size_t number = number_of(s, part);

    if (s->names.count > TEMPLATE_NAMES_MAX)
        return err_set(s->err, E_INVALID, "must have at most %d names in braces",
                       TEMPLATE_NAMES_MAX);
    buf_addf(&s->out, quoted ? "${%zu}" : "\"${%zu}\"", number);
    s->at += size;
    return E_OK;
}

enum err_code script_read_brace(struct script *s)
{
    enum template_brace kind;
    struct template_part part;
    size_t size;

    if (template_brace_read(s->text, s->at, s->arena, &kind, &part, &size, s->err) != E_OK)
        return s->err->code;
    switch (kind) {
    case TEMPLATE_BRACE_NAME: return add_parameter(s, &part, size);
    case TEMPLATE_BRACE_ESCAPED:
        script_literal(s, '{');
        script_copy(s, 1);
        s->at++;
        return E_OK;
    case TEMPLATE_BRACE_PLAIN: break;
    }
    script_literal(s, '{');
    script_copy(s, 1);
    return E_OK;
}

enum err_code script_copy_quoted(struct script *s, size_t end, const char *where)
{
    struct slice text = slice_make(s->text.data, end);

    while (s->at < end) {
        enum template_brace kind = TEMPLATE_BRACE_PLAIN;
        struct err unended = ERR_INIT; /* a default without an end is not a name */
        struct template_part part;
        size_t size;

        if (script_peek(s, 0) == '{' &&
            template_brace_read(text, s->at, s->arena, &kind, &part, &size, &unended) == E_OK &&
            kind == TEMPLATE_BRACE_NAME)
            return misplaced(s, s->at, part.text, where);
        script_copy(s, 1);
        s->at += kind == TEMPLATE_BRACE_ESCAPED;
    }
    return E_OK;
}

enum err_code script_read_dollar_single(struct script *s)
{
    size_t end = s->at + 2;

    while (end < s->text.size && s->text.data[end] != '\'')
        end += s->text.data[end] == '\\' ? 2 : 1; /* a backslash quotes */
    script_literal(s, '$');
    script_copy(s, 2);
    if (script_copy_quoted(s, end < s->text.size ? end : s->text.size,
                           "$'…', where the shell fills in nothing: use double quotes") != E_OK)
        return s->err->code;
    script_copy(s, 1);
    return E_OK;
}

enum err_code script_read_single(struct script *s)
{
    size_t from = s->at + 1;
    const char *end = from < s->text.size ? memchr(s->text.data + from, '\'', s->text.size - from)
                                          : NULL;
    size_t to = end != NULL ? (size_t)(end - s->text.data) : s->text.size;

    for (size_t i = from; i < to; i++)
        script_literal(s, s->text.data[i]);
    if (script_top(s)->place == IN_PLAIN || script_top(s)->place == IN_BACKTICK)
        shell_word_begin(&script_top(s)->words);
    script_copy(s, 1);
    if (script_copy_quoted(
            s, to,
            "single quotes, where the shell fills in nothing: use double quotes, or write "
            "{{ for a brace") != E_OK)
        return s->err->code;
    script_copy(s, 1);
    return E_OK;
}

void script_take_names(const struct script *s, struct arena *arena, struct template_command *c)
{
    c->n_args = s->names.count;
    c->args = arena_array(arena, c->n_args, sizeof(struct template_text));
    for (size_t i = 0; i < c->n_args; i++) {
        struct template_part *part = arena_alloc(arena, sizeof(*part));

        *part = s->names.items[i];
        c->args[i] = (struct template_text){.parts = part, .n_parts = 1};
    }
}
