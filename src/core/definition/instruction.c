/* SPDX-License-Identifier: MIT */
#include "core/definition/instruction.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/definition/yaml.h"
#include "core/object/quote.h"
#include "core/program/template.h"

enum { TEXT_MAX = 1 << 20 };

/* ---- values ---- */

static int compare_values(const void *a, const void *b)
{
    const struct instruction_value *x = a;
    const struct instruction_value *y = b;

    size_t size = x->key.size < y->key.size ? x->key.size : y->key.size;
    int order = memcmp(x->key.data, y->key.data, size);

    return order != 0 ? order : (x->key.size > y->key.size) - (x->key.size < y->key.size);
}

/* What `{KEY}` can name. */
static bool is_name(struct slice key)
{
    for (size_t i = 0; i < key.size; i++) {
        char c = key.data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!is_letter && !(c >= '0' && c <= '9') && !(c == '-' && i > 0))
            return false;
    }
    return key.size > 0;
}

enum err_code instruction_init(struct instruction *in, struct instruction_value *values, size_t n,
                               int64_t now_at, struct err *err)
{
    struct quote quote;

    if (n > INSTRUCTION_VALUES_MAX)
        return err_set(err, E_INVALID, "more than %d values", INSTRUCTION_VALUES_MAX);
    if (n > 0)
        qsort(values, n, sizeof(*values), compare_values);
    for (size_t i = 0; i < n; i++) {
        if (!is_name(values[i].key))
            return err_set(err, E_INVALID, "%s is no name: letters, digits, _ and -",
                           quote_text(&quote, values[i].key));
        if (i > 0 && slice_equal(values[i].key, values[i - 1].key))
            return err_set(err, E_INVALID, "%s is given twice", quote_text(&quote, values[i].key));
    }
    *in = (struct instruction){.values = values, .n_values = n, .now_at = now_at};
    return E_OK;
}

void instruction_name(const struct instruction *in, struct buf *out)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf name = BUF_INIT(TEXT_MAX * 2);

    for (size_t i = 0; i < in->n_values; i++) {
        const struct instruction_value *v = &in->values[i];
        bool is_text = jtext_type_of(v->json) == JTEXT_STRING;

        buf_add_str(&name, i > 0 ? " " : "");
        buf_add_slice(&name, v->key);
        buf_add_str(&name, is_text ? "=" : ":=");
        buf_add_slice(&name,
                      is_text ? jtext_text(v->json, &arena) : jtext_compact(v->json, &arena));
    }
    if (in->n_values == 0)
        buf_add_str(&name, "start");
    if (name.size <= INSTRUCTION_NAME_MAX && !text_has_control(buf_slice(&name))) {
        buf_add_str(out, buf_text(&name));
        return;
    }
    struct slice beginning = utf8_cut(buf_slice(&name), INSTRUCTION_NAME_MAX - 20);

    for (size_t i = 0; i < beginning.size; i++)
        buf_add_char(out, (unsigned char)beginning.data[i] < ' ' || beginning.data[i] == 0x7f
                              ? ' '
                              : beginning.data[i]);
    buf_addf(out, "… %016" PRIx64, slice_hash(buf_slice(&name)));
}

/* ---- filling ---- */

struct filling {
    struct instruction *in;
    struct arena *arena;
    struct err *err;
};

static struct instruction_value *find_value(struct instruction *in, struct slice name)
{
    for (size_t i = 0; i < in->n_values; i++)
        if (slice_equal(in->values[i].key, name)) {
            in->values[i].is_used = true;
            return &in->values[i];
        }
    return NULL;
}

static bool add_instant(const struct filling *f, struct slice name, struct buf *out)
{
    char text[TIME_TEXT_SIZE];

    time_format(f->in->now_at / US_PER_S * US_PER_S, text);
    if (slice_is(name, "now"))
        buf_add_str(out, text);
    else if (slice_is(name, "day"))
        buf_add(out, text, strlen("2026-11-15"));
    else
        return false;
    return true;
}

static enum err_code add_part(struct filling *f, const struct template_part *part, struct buf *text)
{
    const struct instruction_value *v = part->named ? find_value(f->in, part->text) : NULL;
    int shown = (int)(part->text.size > 80 ? 80 : part->text.size);

    if (!part->named)
        buf_add_slice(text, part->text);
    else if (v != NULL && jtext_type_of(v->json) == JTEXT_STRING)
        buf_add_slice(text, jtext_text(v->json, f->arena));
    else if (v != NULL)
        buf_add_slice(text, v->json);
    else if (part->has_fallback)
        buf_add_slice(text, part->fallback);
    else if (!add_instant(f, part->text, text))
        return err_set(f->err, E_INVALID, "{%.*s} has no value: add %.*s=VALUE to the command",
                       shown, part->text.data, shown, part->text.data);
    return E_OK;
}

/* A text of the file: as JSON, with its names filled. */
static enum err_code fill_text(struct filling *f, struct slice value, struct buf *out)
{
    CLEANUP(buf) struct buf text = BUF_INIT(TEXT_MAX * 4);
    struct template_text t;

    if (template_text_parse(jtext_text(value, f->arena), f->arena, &t, f->err) != E_OK)
        return f->err->code;
    if (t.n_parts == 1 && t.parts[0].named) {
        const struct instruction_value *v = find_value(f->in, t.parts[0].text);

        if (v != NULL) {
            buf_add_slice(out, v->json);
            return E_OK;
        }
    }
    for (size_t i = 0; i < t.n_parts; i++)
        if (add_part(f, &t.parts[i], &text) != E_OK)
            return f->err->code;
    if (text.overflowed)
        return err_set(f->err, E_TOO_LARGE, "a text with its names filled is too large");
    jtext_add_string(out, buf_slice(&text));
    return E_OK;
}

/* Behind the closing quote of the string that begins at `at`. */
static const char *string_end(const char *at)
{
    for (at++; *at != '"'; at++)
        at += *at == '\\';
    return at + 1;
}

/* Copies checked JSON without white space between its parts; every string that is no key is
 * filled. */
static enum err_code fill_json(struct filling *f, struct slice json, struct buf *out)
{
    const char *at = json.data;

    while (at < slice_end(json)) {
        if (*at != '"') {
            buf_add_char(out, *at++);
            continue;
        }
        const char *end = string_end(at);
        struct slice value = slice_make(at, (size_t)(end - at));

        if (end < slice_end(json) && *end == ':')
            buf_add_slice(out, value);
        else if (fill_text(f, value, out) != E_OK)
            return f->err->code;
        at = end;
    }
    return E_OK;
}

/* ---- jobs ---- */

static bool is_given(const struct instruction *in, struct slice key, struct arena *arena)
{
    struct slice name = jtext_text(key, arena);

    for (size_t i = 0; i < in->n_values; i++)
        if (!in->values[i].is_used && slice_equal(in->values[i].key, name))
            return true;
    return false;
}

/* The params of the file, and the values that no job names. */
static void add_params(const struct filling *f, struct slice params, struct buf *out)
{
    struct slice key;
    struct slice value;

    jtext_add_key(out, "params");
    buf_add_char(out, '{');
    if (params.size > 0 && jtext_type_of(params) == JTEXT_OBJECT)
        for (struct jtext_iter it = jtext_members(params); jtext_next_member(&it, &key, &value);) {
            if (is_given(f->in, key, f->arena))
                continue;
            jtext_add_comma(out);
            buf_add_slice(out, key);
            buf_add_char(out, ':');
            buf_add_slice(out, value);
        }
    for (size_t i = 0; i < f->in->n_values; i++) {
        if (f->in->values[i].is_used)
            continue;
        jtext_add_comma(out);
        jtext_add_string(out, f->in->values[i].key);
        buf_add_char(out, ':');
        buf_add_slice(out, f->in->values[i].json);
    }
    buf_add_char(out, '}');
}

static void add_job(const struct filling *f, struct slice job, struct slice group, struct buf *out)
{
    struct slice params = {NULL, 0};
    struct slice key;
    struct slice value;

    buf_add_char(out, '{');
    for (struct jtext_iter it = jtext_members(job); jtext_next_member(&it, &key, &value);) {
        if (jtext_key_is(key, "params")) {
            params = value;
            continue;
        }
        jtext_add_comma(out);
        buf_add_slice(out, key);
        buf_add_char(out, ':');
        buf_add_slice(out, value);
    }
    add_params(f, params, out);
    if (group.size > 0)
        jtext_put_string(out, "group", group);
    buf_add_char(out, '}');
}

enum err_code instruction_fill(struct instruction *in, const struct definition_start *start,
                               struct slice group, struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct filling f = {in, &arena, err};
    struct slice *filled = arena_array(&arena, start->jobs.count + 1, sizeof(*filled));

    for (size_t i = 0; i < in->n_values; i++)
        in->values[i].is_used = false;
    for (size_t i = 0; i < start->jobs.count; i++) {
        const struct definition_start_job *job = &start->jobs.items[i];
        CLEANUP(buf) struct buf json = BUF_INIT(TEXT_MAX * 8);

        if (fill_json(&f, jtext_compact(job->json, &arena), &json) != E_OK) {
            (void)err_wrap(err, "start[%zu]", i);
            return yaml_err_at(err, job->from.file.data, job->from.line);
        }
        if (json.overflowed)
            return err_set(err, E_TOO_LARGE, "start[%zu]: the job is too large", i);
        filled[i] = arena_copy(&arena, buf_slice(&json));
    }
    buf_add_char(out, '[');
    for (size_t i = 0; i < start->jobs.count; i++) {
        jtext_add_comma(out);
        add_job(&f, filled[i], group, out);
    }
    buf_add_char(out, ']');
    return out->overflowed ? err_set(err, E_TOO_LARGE, "the jobs of start: are too large") : E_OK;
}
