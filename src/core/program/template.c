/* SPDX-License-Identifier: MIT */
#include "core/program/template.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/vec.h"
#include "core/object/quote.h"
#include "core/program/template_rules.h"
#include "core/program/template_scan.h"
#include "core/program/template_words.h"

typedef VEC(struct template_part) part_list;

/* ---- reading ---- */

bool template_is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static struct slice cut(struct slice text, size_t from, size_t to)
{
    return slice_make(text.data + from, to - from);
}

enum err_code template_brace_read(struct slice text, size_t at, struct arena *arena,
                                  enum template_brace *ret_kind, struct template_part *ret_part,
                                  size_t *ret_size, struct err *err)
{
    size_t end = at + 1; /* of the name, which does not begin with '-' */
    struct template_part part = {.named = true};

    *ret_kind = TEMPLATE_BRACE_PLAIN;
    if (at + 1 < text.size && text.data[at + 1] == '{') {
        *ret_kind = TEMPLATE_BRACE_ESCAPED;
        return E_OK;
    }
    while (end < text.size &&
           (template_is_name_char(text.data[end]) || (text.data[end] == '-' && end > at + 1)))
        end++;
    if (end == at + 1 || end >= text.size)
        return E_OK;
    size_t close = end;

    if (text.data[end] == ':' && end + 1 < text.size && text.data[end + 1] == '-') {
        const char *brace = memchr(text.data + end, '}', text.size - end);
        struct quote quote;

        if (brace == NULL)
            return err_set(err, E_INVALID, "%s at byte %zu has no '}' at its end",
                           quote_text(&quote, cut(text, at, end + 2)), at);
        close = (size_t)(brace - text.data);
        part.fallback = arena_copy(arena, cut(text, end + 2, close));
        part.has_fallback = true;
    }
    if (text.data[close] != '}')
        return E_OK;
    part.text = arena_copy(arena, cut(text, at + 1, end));
    *ret_kind = TEMPLATE_BRACE_NAME;
    *ret_part = part;
    *ret_size = close + 1 - at;
    return E_OK;
}

static void push_text(part_list *parts, struct slice text, struct arena *arena)
{
    struct template_part part = {.text = text};

    if (text.size == 0)
        return;
    part.text = arena_copy(arena, text);
    VEC_PUSH(parts, part);
}

static enum err_code read_parts(struct slice text, struct arena *arena, part_list *parts,
                                struct err *err)
{
    size_t from = 0; /* start of the text that is in no part yet */

    for (size_t at = 0; at < text.size;) {
        enum template_brace kind;
        struct template_part part;
        size_t size;

        if (text.data[at] != '{' || (at > 0 && text.data[at - 1] == '$')) {
            at++;
            continue;
        }
        if (template_brace_read(text, at, arena, &kind, &part, &size, err) != E_OK)
            return err->code;
        switch (kind) {
        case TEMPLATE_BRACE_PLAIN: at++; break;
        case TEMPLATE_BRACE_ESCAPED:
            push_text(parts, cut(text, from, at + 1), arena);
            from = at += 2;
            break;
        case TEMPLATE_BRACE_NAME:
            push_text(parts, cut(text, from, at), arena);
            VEC_PUSH(parts, part);
            from = at += size;
            break;
        }
    }
    push_text(parts, cut(text, from, text.size), arena);
    return E_OK;
}

enum err_code template_text_parse(struct slice text, struct arena *arena,
                                  struct template_text *ret_text, struct err *err)
{
    part_list parts = VEC_INIT;
    enum err_code code = read_parts(text, arena, &parts, err);

    if (code == E_OK) {
        ret_text->n_parts = parts.count;
        ret_text->parts = arena_array(arena, parts.count, sizeof(struct template_part));
        if (parts.count > 0)
            memcpy(ret_text->parts, parts.items, parts.count * sizeof(struct template_part));
    }
    VEC_DEINIT(&parts);
    return code;
}

/* The brace of `${` is the shell's and stays single: see read_parts. */
void template_add_literal(struct slice text, struct buf *out)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '{' && (i == 0 || text.data[i - 1] != '$'))
            buf_add_char(out, '{');
        buf_add_char(out, text.data[i]);
    }
}

/* ---- names that are always defined ---- */

enum always { ALWAYS_ID, ALWAYS_QUEUE, ALWAYS_ATTEMPT, ALWAYS_NOW, ALWAYS_DAY, ALWAYS_COUNT };

static const char *const always_names[] = {"id", "queue", "attempt", "now", "day"};

/* ALWAYS_COUNT: the name is a param. */
static enum always find_always(struct slice name)
{
    unsigned i = 0;

    while (i < ALWAYS_COUNT && !slice_is(name, always_names[i]))
        i++;
    return (enum always)i;
}

static void add_always(enum always which, const struct template_values *v, struct buf *out)
{
    char text[TIME_TEXT_SIZE];

    switch (which) {
    case ALWAYS_ID: buf_add_slice(out, v->id); break;
    case ALWAYS_QUEUE: buf_add_slice(out, v->queue); break;
    case ALWAYS_ATTEMPT: buf_add_int(out, v->attempt); break;
    case ALWAYS_NOW: buf_add_str(out, time_format(v->now_at - v->now_at % US_PER_S, text)); break;
    case ALWAYS_DAY: buf_add(out, time_format(v->now_at, text), strlen("2026-11-15")); break;
    case ALWAYS_COUNT: break;
    }
}

/* ---- filling ---- */

static bool find_value(const struct slice *objects, size_t count, struct slice name,
                       struct slice *ret_value)
{
    for (size_t i = 0; i < count; i++)
        if (objects[i].size > 0 && jtext_find(objects[i], name.data, ret_value))
            return true;
    return false;
}

static enum err_code missing(struct slice name, struct err *err)
{
    struct quote quote;

    return err_set(err, E_INVALID, "the command needs the param %s, which the job does not have",
                   quote_text(&quote, name));
}

/* Texts without their quotes, other JSON as it is. */
static struct slice value_text(struct slice value, struct arena *arena)
{
    return jtext_type_of(value) == JTEXT_STRING ? jtext_text(value, arena) : value;
}

static enum err_code add_part(const struct template_part *part, const struct template_values *v,
                              struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    enum always always = part->named ? find_always(part->text) : ALWAYS_COUNT;
    struct slice value;

    if (!part->named)
        buf_add_slice(out, part->text);
    else if (always != ALWAYS_COUNT)
        add_always(always, v, out);
    else if (find_value(v->objects, v->n_objects, part->text, &value))
        buf_add_slice(out, value_text(value, &arena));
    else if (part->has_fallback)
        buf_add_slice(out, part->fallback);
    else
        return missing(part->text, err);
    return E_OK;
}

enum err_code template_text_fill(const struct template_text *t,
                                 const struct template_values *values, struct buf *out,
                                 struct err *err)
{
    for (size_t i = 0; i < t->n_parts; i++)
        if (add_part(&t->parts[i], values, out, err) != E_OK)
            return err->code;
    return E_OK;
}

/* ---- commands ---- */

static bool has_need(const struct template_command *c, struct slice name)
{
    for (size_t i = 0; i < c->n_needs; i++)
        if (slice_equal(c->needs[i], name))
            return true;
    return false;
}

static enum err_code collect_needs(struct template_command *c, struct arena *arena, struct err *err)
{
    size_t count = 0;

    for (size_t i = 0; i < c->n_args; i++)
        for (size_t k = 0; k < c->args[i].n_parts; k++)
            count += c->args[i].parts[k].named;
    if (count > TEMPLATE_NAMES_MAX)
        return err_set(err, E_INVALID, "must have at most %d names in braces, not %zu",
                       TEMPLATE_NAMES_MAX, count);
    c->needs = arena_array(arena, count, sizeof(struct slice));
    for (size_t i = 0; i < c->n_args; i++)
        for (size_t k = 0; k < c->args[i].n_parts; k++) {
            const struct template_part *part = &c->args[i].parts[k];

            if (part->named && !part->has_fallback && find_always(part->text) == ALWAYS_COUNT &&
                !has_need(c, part->text))
                c->needs[c->n_needs++] = part->text;
        }
    return E_OK;
}

static struct shell_fault read_word(const struct template_text *t, struct shell_words *w,
                                    struct shell_facts *facts)
{
    struct shell_fault fault = {.where = NULL};

    shell_word_begin(w);
    for (size_t i = 0; i < t->n_parts && fault.where == NULL; i++) {
        const struct template_part *part = &t->parts[i];

        if (part->named)
            fault = shell_word_name(w, facts, (struct shell_name){part->text, 0}, false);
        for (size_t k = 0; !part->named && k < part->text.size; k++)
            shell_word_add(w, part->text.data[k]);
    }
    return fault.where != NULL ? fault : shell_word_end(w, facts);
}

/* [timeout, 5, sh, -c, "… {x} …"] would paste a value into a script. */
static enum err_code check_pasting(const struct template_command *c, struct template_fault *fault,
                                   struct err *err)
{
    struct shell_words words = {.exec = true};
    struct shell_facts facts = {.evaluates = false};

    for (size_t i = 0; i < c->n_args; i++) {
        struct shell_fault found = read_word(&c->args[i], &words, &facts);
        struct quote quote;

        if (found.where == NULL)
            continue;
        fault->arg = i;
        fault->where = found.where;
        fault->place = found.where == rule_in_code     ? TEMPLATE_PLACE_CODE
                       : found.where == rule_in_remote ? TEMPLATE_PLACE_REMOTE
                                                       : TEMPLATE_PLACE_OTHER;
        return err_set(err, E_INVALID, "the name %s in braces is in %s",
                       quote_text(&quote, found.name.name), found.where);
    }
    return E_OK;
}

static enum err_code parse_list(struct slice array, struct arena *arena, struct template_command *c,
                                struct template_fault *fault, struct err *err)
{
    struct slice item;

    c->args = arena_array(arena, jtext_count_items(array), sizeof(struct template_text));
    for (struct jtext_iter it = jtext_items(array); jtext_next_item(&it, &item);) {
        fault->at = item.data;
        if (template_text_parse(jtext_text(item, arena), arena, &c->args[c->n_args++], err) != E_OK)
            return err->code;
    }
    if (check_pasting(c, fault, err) == E_OK)
        return E_OK;
    struct jtext_iter it = jtext_items(array);

    for (size_t i = 0; i <= fault->arg && jtext_next_item(&it, &item); i++)
        fault->at = item.data;
    return err->code;
}

enum err_code template_command_parse(struct slice command, struct arena *arena,
                                     struct template_command *ret_command,
                                     struct template_fault *fault, struct err *err)
{
    struct template_command c = {.shell = jtext_type_of(command) == JTEXT_STRING};
    struct template_fault found = {.at = command.data};
    enum err_code code = c.shell ? template_shell_parse(jtext_text(command, arena), arena, &c, err)
                                 : parse_list(command, arena, &c, &found, err);

    if (code == E_OK) {
        found.at = command.data;
        code = collect_needs(&c, arena, err);
    }
    if (code == E_OK)
        *ret_command = c;
    else if (fault != NULL)
        *fault = found;
    return code;
}

enum err_code template_command_check(const struct template_command *c, const struct slice *objects,
                                     size_t n_objects, struct err *err)
{
    for (size_t i = 0; i < c->n_needs; i++) {
        CLEANUP(arena) struct arena arena = ARENA_INIT;
        struct slice value;
        struct quote quote;

        if (!find_value(objects, n_objects, c->needs[i], &value))
            return missing(c->needs[i], err);
        if (value.size <= TEMPLATE_ARG_MAX)
            continue;
        value = value_text(value, &arena);
        if (value.size > TEMPLATE_ARG_MAX)
            return err_set(err, E_INVALID,
                           "the param %s has %zu bytes, and an argument of a program at most %zu: "
                           "let the program read it from $WAYBILL_JOB_FILE",
                           quote_text(&quote, c->needs[i]), value.size, TEMPLATE_ARG_MAX);
    }
    return E_OK;
}

static enum err_code fill_arg(const struct template_text *t, const struct template_values *values,
                              struct arena *arena, char **ret_arg, struct err *err)
{
    CLEANUP(buf) struct buf out = BUF_INIT(TEMPLATE_ARG_MAX);
    const struct template_part *name = NULL; /* the first, for messages */
    struct quote quote;

    for (size_t i = 0; i < t->n_parts && name == NULL; i++)
        name = t->parts[i].named ? &t->parts[i] : NULL;
    if (template_text_fill(t, values, &out, err) != E_OK)
        return err->code;
    if (out.overflowed)
        return err_set(err, E_INVALID,
                       "the argument with %s has more than %zu bytes: let the program read it "
                       "from $WAYBILL_JOB_FILE",
                       name != NULL ? quote_text(&quote, name->text) : "no name", TEMPLATE_ARG_MAX);
    if (out.size > 0 && memchr(out.data, '\0', out.size) != NULL)
        return err_set(err, E_INVALID, "%s has a NUL byte in it, which an argument cannot have",
                       name != NULL ? quote_text(&quote, name->text) : "an argument");
    *ret_arg = arena_strdup(arena, buf_slice(&out));
    return E_OK;
}

enum err_code template_command_fill(const struct template_command *c,
                                    const struct template_values *values, struct arena *arena,
                                    char ***ret_argv, struct err *err)
{
    char **argv = arena_array(arena, c->n_args + 5, sizeof(char *));
    size_t n = 0;

    if (c->shell) {
        argv[n++] = arena_strdup(arena, SLICE("sh"));
        argv[n++] = arena_strdup(arena, SLICE("-c"));
        argv[n++] = arena_strdup(arena, c->script);
        argv[n++] = arena_strdup(arena, SLICE("sh"));
    }
    for (size_t i = 0; i < c->n_args; i++)
        if (fill_arg(&c->args[i], values, arena, &argv[n++], err) != E_OK)
            return err->code;
    *ret_argv = argv;
    return E_OK;
}

struct slice template_command_name(const struct template_command *c, const char *allowed)
{
    for (size_t i = 0; i < c->n_args; i++)
        for (size_t k = 0; k < c->args[i].n_parts; k++) {
            const struct template_part *part = &c->args[i].parts[k];

            if (part->named && (allowed == NULL || !slice_is(part->text, allowed)))
                return part->text;
        }
    return slice_make(NULL, 0);
}
