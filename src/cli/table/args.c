/* SPDX-License-Identifier: MIT */
#include "cli/table/args.h"

#include "base/clock.h"
#include "base/text/nearest.h"
#include "cli/table/value.h"

void args_deinit(struct args *a)
{
    VEC_DEINIT(&a->options);
    VEC_DEINIT(&a->words);
    VEC_DEINIT(&a->program);
}

static const struct command *command_find(const struct command *table, const char *name)
{
    for (const struct command *c = table; c->name != NULL; c++) {
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

const struct option_spec *command_next_option(const struct command *c, unsigned *i)
{
    unsigned skip = (*i)++;

    for (unsigned list = 0; list <= COMMAND_OPTION_LISTS; list++) {
        const struct option_spec *o = c->options[list];

        if (o == NULL)
            o = command_common;
        for (; o->name != NULL; o++) {
            if (skip-- == 0)
                return o;
        }
        if (c->options[list] == NULL)
            break;
    }
    return NULL;
}

static bool is_number(const char *text)
{
    return text != NULL && *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* A long option ends at `=`, the value of a short one may follow it at once. */
static bool is_foreign(const struct foreign_word *f, const char *at, const char *after)
{
    size_t size = strlen(f->word);

    if (strncmp(at, f->word, size) != 0)
        return false;
    if (f->word[0] == '-' && f->word[1] == '-')
        return at[size] == '\0' || at[size] == '=';
    return !f->number || is_number(at[size] != '\0' ? at + size : after);
}

const char *command_foreign(const struct command *c, const char *at, const char *after)
{
    for (const struct foreign_word *f = c->foreign; f != NULL && f->word != NULL; f++) {
        if (is_foreign(f, at, after))
            return f->advice;
    }
    return NULL;
}

static enum err_code unknown_verb(const struct args *a, const struct command *table,
                                  const char *word, struct err *err)
{
    VEC(const char *) names = VEC_INIT;

    for (const struct command *c = table; c->name != NULL; c++)
        VEC_PUSH(&names, c->name);
    const char *near = nearest_word(slice_of(word), names.items, names.count);

    err_set(err, E_INVALID, "there is no verb '%s%s%s'%s%s%s",
            a->command != NULL ? a->command->name : "", a->command != NULL ? " " : "", word,
            near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
            near != NULL ? "'?" : "");
    VEC_DEINIT(&names);
    return err->code;
}

static enum err_code unknown_option(const struct args *a, struct slice name, struct err *err)
{
    VEC(const char *) names = VEC_INIT;
    const struct option_spec *o = NULL;

    for (unsigned i = 0; (o = command_next_option(a->command, &i)) != NULL;)
        VEC_PUSH(&names, o->name);
    const char *near = nearest_word(name, names.items, names.count);

    err_set(err, E_INVALID, "there is no option --%.*s%s%s%s", (int)name.size, name.data,
            near != NULL ? "; did you mean --" : "", near != NULL ? near : "",
            near != NULL ? "?" : "");
    VEC_DEINIT(&names);
    return err->code;
}

static const struct option_spec *find_long(const struct command *c, struct slice name)
{
    const struct option_spec *o = NULL;

    for (unsigned i = 0; (o = command_next_option(c, &i)) != NULL;) {
        if (slice_is(name, o->name))
            break;
    }
    return o;
}

static const struct option_spec *find_short(const struct command *c, char letter)
{
    const struct option_spec *o = NULL;

    for (unsigned i = 0; (o = command_next_option(c, &i)) != NULL;) {
        if (o->letter == letter)
            break;
    }
    return o;
}

static enum err_code take_option(struct args *a, const struct option_spec *o, const char *value,
                                 struct err *err)
{
    if (strcmp(o->name, "help") == 0)
        a->wants_help = true;
    if (!o->repeats && o->value.type != VALUE_NONE && args_has(a, o->name))
        return err_set(err, E_INVALID, "--%s appears twice", o->name);
    if (value != NULL && value_check(&o->value, value, err) != E_OK)
        return err_wrap(err, "--%s", o->name);
    VEC_PUSH(&a->options, ((struct given_option){.spec = o, .value = value}));
    return E_OK;
}

/* The rest of the line; next() is NULL at its end. */
struct line {
    const char *const *at;
    const char *const *end;
};

static const char *next(struct line *l)
{
    return l->at < l->end ? *l->at++ : NULL;
}

static enum err_code parse_long(struct args *a, const char *text, struct line *l, struct err *err)
{
    struct slice name = slice_make(text, strcspn(text, "="));
    const struct option_spec *o = find_long(a->command, name);
    const char *value = text[name.size] == '=' ? text + name.size + 1 : NULL;

    if (o == NULL)
        return unknown_option(a, name, err);
    if (o->value.type == VALUE_NONE && value != NULL)
        return err_set(err, E_INVALID, "--%s takes no value", o->name);
    if (o->value.type != VALUE_NONE && value == NULL && (value = next(l)) == NULL)
        return err_set(err, E_INVALID, "--%s needs a value: %s", o->name, o->value.name);
    return take_option(a, o, value, err);
}

static enum err_code parse_short(struct args *a, const char *text, struct line *l, struct err *err)
{
    for (; *text != '\0'; text++) {
        const struct option_spec *o = find_short(a->command, *text);

        if (o == NULL)
            return err_set(err, E_INVALID, "there is no option -%c", *text);
        if (o->value.type != VALUE_NONE) {
            const char *value = text[1] != '\0' ? text + 1 : next(l);

            if (value == NULL)
                return err_set(err, E_INVALID, "-%c needs a value: %s", *text, o->value.name);
            return take_option(a, o, value, err);
        }
        if (take_option(a, o, NULL, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

static void take_rest(struct args *a, struct line *l)
{
    const char *word = NULL;

    while ((word = next(l)) != NULL) {
        if (a->command->takes_program)
            VEC_PUSH(&a->program, word);
        else
            VEC_PUSH(&a->words, word);
    }
}

static enum err_code parse_rest(struct args *a, struct line *l, struct err *err)
{
    const char *word = NULL;

    while ((word = next(l)) != NULL) {
        enum err_code code = E_OK;

        if (strcmp(word, "--") == 0)
            take_rest(a, l);
        else if (strncmp(word, "--", 2) == 0)
            code = parse_long(a, word + 2, l, err);
        else if (word[0] == '-' && word[1] != '\0')
            code = parse_short(a, word + 1, l, err);
        else
            VEC_PUSH(&a->words, word);
        if (code != E_OK || a->wants_help)
            return code;
    }
    return E_OK;
}

/* In `each --colsep -- echo`, `--` was taken as the value, and the program is a word too many. */
static enum err_code too_many(const struct args *a, const char *word, struct err *err)
{
    for (size_t i = 0; i < a->options.count && a->command->takes_program; i++) {
        const struct given_option *o = &a->options.items[i];

        if (o->value != NULL && strcmp(o->value, "--") == 0)
            return err_set(err, E_INVALID, "--%s needs a value: %s", o->spec->name,
                           o->spec->value.name);
    }
    return err_set(err, E_INVALID, "'%s' is one word too many", word);
}

static enum err_code check_words(const struct args *a, struct err *err)
{
    const struct argument_spec *spec = a->command->arguments;
    size_t i = 0;

    for (; spec->value.name != NULL; spec++) {
        if (i == a->words.count) {
            if (spec->optional)
                return E_OK;
            return err_set(err, E_INVALID, "%s is missing", spec->value.name);
        }
        do {
            if (value_check(&spec->value, a->words.items[i++], err) != E_OK)
                return spec->value.type == VALUE_CHOICE ? err->code
                                                        : err_wrap(err, "%s", spec->value.name);
        } while (spec->repeats && i < a->words.count);
    }
    if (i < a->words.count)
        return too_many(a, a->words.items[i], err);
    return E_OK;
}

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The verb of a noun; the first one if options follow or the line ends. */
static enum err_code parse_second_verb(struct args *a, struct line *l, struct err *err)
{
    const struct command *first = a->command;
    const struct command *second = first->verbs;

    if (l->at < l->end && asks_for_help(*l->at)) {
        a->wants_help = true;
        return E_OK;
    }
    if (l->at < l->end && **l->at != '-') {
        second = command_find(first->verbs, *l->at);
        if (second == NULL)
            return unknown_verb(a, first->verbs, *l->at, err);
        l->at++;
    }
    a->parent = first;
    a->command = second;
    return E_OK;
}

static enum err_code parse_verb(struct args *a, const struct command *table, struct line *l,
                                struct err *err)
{
    const char *word = next(l);

    if (word == NULL)
        return err_set(err, E_INVALID, "say what to do");
    if (word[0] == '-')
        return err_set(err, E_INVALID, "the verb comes first, then its options: '%s'", word);
    const struct command *c = command_find(table, word);

    if (c == NULL)
        return unknown_verb(a, table, word, err);
    a->command = c;
    return c->verbs != NULL ? parse_second_verb(a, l, err) : E_OK;
}

enum err_code args_parse(struct args *a, const struct command *table, int argc,
                         const char *const *argv, struct err *err)
{
    struct line l = {.at = argv, .end = argv + argc};

    *a = ARGS_INIT;
    if (parse_verb(a, table, &l, err) != E_OK)
        return err->code;
    if (a->wants_help)
        return E_OK;
    if (parse_rest(a, &l, err) != E_OK)
        return err->code;
    return a->wants_help ? E_OK : check_words(a, err);
}

const struct given_option *args_next(const struct args *a, const char *option, size_t *i)
{
    ASSERT(find_long(a->command, slice_of(option)) != NULL);
    while (*i < a->options.count) {
        const struct given_option *given = &a->options.items[(*i)++];

        if (strcmp(given->spec->name, option) == 0)
            return given;
    }
    return NULL;
}

static const struct given_option *find_given(const struct args *a, const char *option)
{
    const struct given_option *found = NULL;
    const struct given_option *given = NULL;

    for (size_t i = 0; (given = args_next(a, option, &i)) != NULL;)
        found = given;
    return found;
}

bool args_has(const struct args *a, const char *option)
{
    return find_given(a, option) != NULL;
}

const char *args_text(const struct args *a, const char *option)
{
    const struct given_option *given = find_given(a, option);

    return given != NULL ? given->value : NULL;
}

int64_t args_int(const struct args *a, const char *option, int64_t otherwise)
{
    const char *text = args_text(a, option);

    return text != NULL ? strtoll(text, NULL, 10) : otherwise;
}

int64_t args_duration_us(const struct args *a, const char *option, int64_t otherwise)
{
    const char *text = args_text(a, option);
    struct err err = ERR_INIT;
    int64_t us = 0;

    if (text == NULL)
        return otherwise;
    ASSERT(duration_parse(slice_of(text), &us, &err) == E_OK); /* value_check took it */
    return us;
}

const char *args_word(const struct args *a, size_t i)
{
    return i < a->words.count ? a->words.items[i] : NULL;
}
