/*
 * The tree is built from libyaml's events, by recursion that YAML_DEPTH_MAX bounds.
 */
/* SPDX-License-Identifier: MIT */
#include "core/definition/yaml.h"

#include <yaml.h>

#include "base/vec.h"
#include "core/definition/yaml_scalar.h"
#include "core/object/quote.h"

struct anchor {
    struct slice name;
    const struct yaml_value *value;
};

struct yaml_read {
    const char *file;
    struct slice text;
    struct arena *arena;
    struct err *err;
    yaml_parser_t parser;
    size_t values;
    VEC(struct anchor) anchors; /* the newest last: a name may be used again */
};

static void event_cleanup(yaml_event_t *event)
{
    yaml_event_delete(event);
}

static int line_of(yaml_mark_t mark)
{
    return (int)mark.line + 1;
}

/* For `return fail_at(r, line, err_set(…))`. */
static enum err_code fail_at(struct yaml_read *r, int line, enum err_code code)
{
    (void)code;
    return yaml_err_at(r->err, r->file, line);
}

/* ---- errors of libyaml ---- */

static int line_of_offset(const struct yaml_read *r, size_t offset)
{
    int line = 1;

    for (size_t i = 0; i < offset && i < r->text.size; i++)
        line += r->text.data[i] == '\n';
    return line;
}

/* libyaml counts characters, not bytes: look at the line instead.  Without the spaces that
 * indent it. */
static struct slice indented_line(const struct yaml_read *r, int line)
{
    const char *at = r->text.data;
    const char *end = slice_end(r->text);

    for (; line > 1 && at < end; at++)
        line -= *at == '\n';
    while (at < end && *at == ' ')
        at++;
    const char *stop = at == end ? NULL : memchr(at, '\n', (size_t)(end - at));

    return slice_make(at, (size_t)((stop == NULL ? end : stop) - at));
}

/* First character of the value, after `key: ` or `- `. */
static char value_begins_with(struct slice line)
{
    const char *colon = memmem(line.data, line.size, ": ", 2);
    const char *at = colon != NULL ? colon + 1 : line.data + slice_begins(line, SLICE("- "));

    while (at < slice_end(line) && *at == ' ')
        at++;
    return at < slice_end(line) ? *at : '\0';
}

/* `command: {x} foo`: YAML reads a map, a list or a quoted text that ends before the line does. */
static bool add_hint(const struct yaml_read *r, int line, struct err *err)
{
    char first = value_begins_with(indented_line(r, line));
    bool opens = strstr(r->parser.problem, "did not find expected key") != NULL;
    bool strange = strstr(r->parser.problem, "cannot start any token") != NULL;

    if (first == '\0' || strchr(opens ? "{[\"'" : strange ? "@`%" : "", first) == NULL)
        return false;
    (void)err_set(err, E_INVALID, "%s: a text that begins with %c must be in quotes as a whole",
                  r->parser.problem, first);
    return true;
}

static enum err_code syntax_error(struct yaml_read *r)
{
    const yaml_parser_t *p = &r->parser;
    int line = line_of(p->problem_mark);

    ASSERT(p->error != YAML_MEMORY_ERROR);
    if (p->error == YAML_READER_ERROR)
        return fail_at(r, line_of_offset(r, p->problem_offset),
                       err_set(r->err, E_INVALID, "this is not text in UTF-8: %s", p->problem));
    bool strange = strstr(p->problem, "cannot start any token") != NULL ||
                   strstr(p->problem, "found a tab") != NULL;

    if (strange && slice_begins(indented_line(r, line), SLICE("\t")))
        return fail_at(r, line, err_set(r->err, E_INVALID, "a tab cannot indent, use spaces"));
    if (strstr(p->problem, "mapping values are not allowed") != NULL)
        return fail_at(r, line,
                       err_set(r->err, E_INVALID, "%s: a text with ': ' in it must be in quotes",
                               p->problem));
    if (add_hint(r, line, r->err))
        return yaml_err_at(r->err, r->file, line);
    if (p->context != NULL)
        return fail_at(r, line,
                       err_set(r->err, E_INVALID, "%s (%s that began in line %d)", p->problem,
                               p->context, line_of(p->context_mark)));
    return fail_at(r, line, err_set(r->err, E_INVALID, "%s", p->problem));
}

static enum err_code next_event(struct yaml_read *r, yaml_event_t *event)
{
    return yaml_parser_parse(&r->parser, event) ? E_OK : syntax_error(r);
}

/* ---- values ---- */

static enum err_code new_value(struct yaml_read *r, enum yaml_type type, int line,
                               struct yaml_value **ret_value)
{
    if (++r->values > YAML_VALUES_MAX)
        return fail_at(r, line,
                       err_set(r->err, E_TOO_LARGE, "more than %d values, aliases replaced",
                               YAML_VALUES_MAX));
    struct yaml_value *v = arena_zalloc(r->arena, sizeof(*v));

    v->type = type;
    v->line = line;
    *ret_value = v;
    return E_OK;
}

static enum err_code too_deep(struct yaml_read *r, int line)
{
    return fail_at(r, line, err_set(r->err, E_INVALID, "more than %d levels deep", YAML_DEPTH_MAX));
}

#define TAG_PREFIX "tag:yaml.org,2002:" /* written `!!` */

static enum err_code check_tag(struct yaml_read *r, const yaml_char_t *raw, int line,
                               bool *ret_text)
{
    const char *tag = (const char *)raw;
    const char *before = "";
    struct quote quote;

    *ret_text = tag != NULL && strcmp(tag, YAML_STR_TAG) == 0;
    if (tag == NULL || *ret_text)
        return E_OK;
    if (strncmp(tag, TAG_PREFIX, strlen(TAG_PREFIX)) == 0) {
        before = "!!";
        tag += strlen(TAG_PREFIX);
    }
    return fail_at(r, line,
                   err_set(r->err, E_INVALID, "the tag %s%s is not understood, leave it out",
                           before, quote_text(&quote, slice_of(tag))));
}

static enum err_code add_anchor(struct yaml_read *r, const yaml_char_t *name,
                                const struct yaml_value *v)
{
    if (name == NULL)
        return E_OK;
    if (r->anchors.count == YAML_ANCHORS_MAX)
        return fail_at(r, v->line,
                       err_set(r->err, E_TOO_LARGE, "more than %d anchors", YAML_ANCHORS_MAX));
    struct anchor a = {arena_copy(r->arena, slice_of((const char *)name)), v};

    VEC_PUSH(&r->anchors, a);
    return E_OK;
}

/* A copy keeps the lines of the original: a mistake must be fixed there. */
static enum err_code copy_value(struct yaml_read *r, const struct yaml_value *from, int depth,
                                struct yaml_value **ret_value)
{
    bool nests = from->type == YAML_T_LIST || from->type == YAML_T_MAP;
    struct yaml_value *v;

    if (depth == YAML_DEPTH_MAX && nests)
        return too_deep(r, from->line);
    if (new_value(r, from->type, from->line, &v) != E_OK)
        return r->err->code;
    v->text = from->text;
    v->name = from->name;
    v->name_line = from->name_line;
    struct yaml_value **link = &v->first;

    for (const struct yaml_value *c = from->first; c != NULL; c = c->next) {
        if (copy_value(r, c, depth + 1, link) != E_OK)
            return r->err->code;
        link = &(*link)->next;
    }
    *ret_value = v;
    return E_OK;
}

/* An anchor is known once its value is complete: nothing can contain itself. */
static enum err_code read_alias(struct yaml_read *r, const yaml_event_t *event, int depth,
                                struct yaml_value **ret_value)
{
    struct slice name = slice_of((const char *)event->data.alias.anchor);
    struct quote quote;

    for (size_t i = r->anchors.count; i-- > 0;)
        if (slice_equal(r->anchors.items[i].name, name))
            return copy_value(r, r->anchors.items[i].value, depth, ret_value);
    return fail_at(r, line_of(event->start_mark),
                   err_set(r->err, E_INVALID, "there is no anchor %s before this",
                           quote_text(&quote, name)));
}

static enum err_code read_scalar(struct yaml_read *r, const yaml_event_t *event,
                                 struct yaml_value **ret_value)
{
    int line = line_of(event->start_mark);
    struct slice text = slice_make((const char *)event->data.scalar.value,
                                   event->data.scalar.length);
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct yaml_value *v;
    bool is_text;

    if (new_value(r, YAML_T_TEXT, line, &v) != E_OK ||
        check_tag(r, event->data.scalar.tag, line, &is_text) != E_OK)
        return r->err->code;
    if (memchr(text.data, '\0', text.size) != NULL)
        return fail_at(r, line, err_set(r->err, E_INVALID, "a text must not have a NUL in it"));
    if (!plain || is_text)
        v->text = arena_copy(r->arena, text);
    else if (yaml_scalar_resolve(text, r->arena, v, r->err) != E_OK)
        return fail_at(r, line, r->err->code);
    *ret_value = v;
    return add_anchor(r, event->data.scalar.anchor, v);
}

static enum err_code read_value(struct yaml_read *r, const yaml_event_t *event, int depth,
                                struct yaml_value **ret_value);

static enum err_code read_list(struct yaml_read *r, const yaml_event_t *start, int depth,
                               struct yaml_value **ret_value)
{
    struct yaml_value *v;
    bool is_text;

    if (new_value(r, YAML_T_LIST, line_of(start->start_mark), &v) != E_OK ||
        check_tag(r, start->data.sequence_start.tag, v->line, &is_text) != E_OK)
        return r->err->code;
    for (struct yaml_value **link = &v->first;; link = &(*link)->next) {
        CLEANUP(event) yaml_event_t event = {.type = YAML_NO_EVENT};

        if (next_event(r, &event) != E_OK)
            return r->err->code;
        if (event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (read_value(r, &event, depth, link) != E_OK)
            return r->err->code;
    }
    *ret_value = v;
    return add_anchor(r, start->data.sequence_start.anchor, v);
}

/* ---- maps ---- */

static int compare_names(const void *a, const void *b)
{
    const struct yaml_value *x = *(const struct yaml_value *const *)a;
    const struct yaml_value *y = *(const struct yaml_value *const *)b;
    size_t common = x->name.size < y->name.size ? x->name.size : y->name.size;
    int order = common == 0 ? 0 : memcmp(x->name.data, y->name.data, common);

    if (order != 0)
        return order;
    if (x->name.size != y->name.size)
        return x->name.size < y->name.size ? -1 : 1;
    return x->name_line - y->name_line;
}

static enum err_code check_names(struct yaml_read *r, const struct yaml_value *map, size_t count)
{
    CLEANUP(mem) const struct yaml_value **sorted = mem_alloc((count + 1) * sizeof(*sorted));
    struct quote quote;
    size_t n = 0;

    for (const struct yaml_value *c = map->first; c != NULL; c = c->next)
        sorted[n++] = c;
    qsort(sorted, n, sizeof(sorted[0]), compare_names);
    for (size_t i = 1; i < n; i++)
        if (slice_equal(sorted[i - 1]->name, sorted[i]->name))
            return fail_at(r, sorted[i]->name_line,
                           err_set(r->err, E_INVALID, "%s appears twice, first in line %d",
                                   quote_text(&quote, sorted[i]->name), sorted[i - 1]->name_line));
    return E_OK;
}

/* The name of a member is text as written, whatever a value of that form would mean. */
static enum err_code read_name(struct yaml_read *r, const yaml_event_t *event,
                               struct slice *ret_name)
{
    int line = line_of(event->start_mark);

    if (event->type != YAML_SCALAR_EVENT)
        return fail_at(r, line,
                       err_set(r->err, E_INVALID, "the name of a member must be plain text"));
    struct slice name = slice_make((const char *)event->data.scalar.value,
                                   event->data.scalar.length);
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    bool is_text;

    if (check_tag(r, event->data.scalar.tag, line, &is_text) != E_OK)
        return r->err->code;
    if (event->data.scalar.anchor != NULL)
        return fail_at(r, line, err_set(r->err, E_INVALID, "the name of a member has no anchor"));
    if (memchr(name.data, '\0', name.size) != NULL)
        return fail_at(r, line, err_set(r->err, E_INVALID, "a name must not have a NUL in it"));
    if (plain && name.size == 0)
        return fail_at(r, line, err_set(r->err, E_INVALID, "a name is missing before the ':'"));
    if (plain && slice_is(name, "<<"))
        return fail_at(r, line,
                       err_set(r->err, E_INVALID,
                               "merge keys (<<) are not understood, "
                               "write the members out"));
    *ret_name = arena_copy(r->arena, name);
    return E_OK;
}

static enum err_code read_member(struct yaml_read *r, const yaml_event_t *name_event, int depth,
                                 struct yaml_value **ret_value)
{
    CLEANUP(event) yaml_event_t event = {.type = YAML_NO_EVENT};
    struct yaml_value *v;
    struct slice name;

    if (read_name(r, name_event, &name) != E_OK || next_event(r, &event) != E_OK ||
        read_value(r, &event, depth, &v) != E_OK)
        return r->err->code;
    v->name = name;
    v->name_line = line_of(name_event->start_mark);
    *ret_value = v;
    return E_OK;
}

static enum err_code read_map(struct yaml_read *r, const yaml_event_t *start, int depth,
                              struct yaml_value **ret_value)
{
    struct yaml_value *v;
    size_t count = 0;
    bool is_text;

    if (new_value(r, YAML_T_MAP, line_of(start->start_mark), &v) != E_OK ||
        check_tag(r, start->data.mapping_start.tag, v->line, &is_text) != E_OK)
        return r->err->code;
    for (struct yaml_value **link = &v->first;; link = &(*link)->next, count++) {
        CLEANUP(event) yaml_event_t event = {.type = YAML_NO_EVENT};

        if (next_event(r, &event) != E_OK)
            return r->err->code;
        if (event.type == YAML_MAPPING_END_EVENT)
            break;
        if (read_member(r, &event, depth, link) != E_OK)
            return r->err->code;
    }
    if (check_names(r, v, count) != E_OK)
        return r->err->code;
    *ret_value = v;
    return add_anchor(r, start->data.mapping_start.anchor, v);
}

/* `depth` is that of the container of the value, 0 for a document. */
static enum err_code read_value(struct yaml_read *r, const yaml_event_t *event, int depth,
                                struct yaml_value **ret_value)
{
    int line = line_of(event->start_mark);
    bool container = event->type == YAML_SEQUENCE_START_EVENT ||
                     event->type == YAML_MAPPING_START_EVENT;

    if (container && depth == YAML_DEPTH_MAX)
        return too_deep(r, line);
    if (event->type == YAML_SCALAR_EVENT)
        return read_scalar(r, event, ret_value);
    if (event->type == YAML_ALIAS_EVENT)
        return read_alias(r, event, depth, ret_value);
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return read_list(r, event, depth + 1, ret_value);
    if (event->type == YAML_MAPPING_START_EVENT)
        return read_map(r, event, depth + 1, ret_value);
    return fail_at(r, line, err_set(r->err, E_INVALID, "a value is missing"));
}

/* ---- documents ---- */

static enum err_code read_documents(struct yaml_read *r, struct yaml_value **ret_documents)
{
    struct yaml_value *first = NULL;

    for (struct yaml_value **link = &first;;) {
        CLEANUP(event) yaml_event_t event = {.type = YAML_NO_EVENT};

        if (next_event(r, &event) != E_OK)
            return r->err->code;
        if (event.type == YAML_STREAM_END_EVENT)
            break;
        if (event.type == YAML_DOCUMENT_START_EVENT) /* anchors are a document's own */
            VEC_CLEAR(&r->anchors);
        if (event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_START_EVENT ||
            event.type == YAML_DOCUMENT_END_EVENT)
            continue;
        if (read_value(r, &event, 0, link) != E_OK)
            return r->err->code;
        link = &(*link)->next;
    }
    *ret_documents = first;
    return E_OK;
}

enum err_code yaml_parse(const char *file, struct slice text, struct arena *arena,
                         struct yaml_value **ret_documents, struct err *err)
{
    struct yaml_read r = {.file = file, .text = text, .arena = arena, .err = err};

    ASSERT(yaml_parser_initialize(&r.parser));
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.data, text.size);
    enum err_code code = read_documents(&r, ret_documents);

    yaml_parser_delete(&r.parser);
    VEC_DEINIT(&r.anchors);
    return code;
}
