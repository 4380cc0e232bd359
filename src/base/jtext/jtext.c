/*
 * The checker: one pass over the text, no recursion, no tree.
 *
 * Open arrays and objects are levels on a fixed stack.  The member names of all open objects lie in
 * one pool, those of the innermost object on top; a name is kept as its hash and its place in the
 * text.  A small object compares each name with those before it; a large one sorts its names when
 * it closes, so that no choice of names makes it slow and no secret seed is needed.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/jtext/keys.h"
#include "base/jtext/scan.h"
#include "base/text/utf8.h"

enum { NAME_BYTES_SHOWN = 60 };

#define ARRAY_LEVEL SIZE_MAX

struct checker {
    const char *start;
    const char *at;
    const char *end;
    struct err *err;
    bool escapes; /* the string read last has some */
    size_t depth;
    size_t first_key[JTEXT_DEPTH_MAX]; /* of each level: where its names begin, or ARRAY_LEVEL */
    struct jtext_keys keys;
};

/* Lines and columns count from 1, columns in characters. */
static bool fail(struct checker *c, const char *at, const char *fmt, ...) PRINTF_LIKE(3, 4);

static bool fail(struct checker *c, const char *at, const char *fmt, ...)
{
    char cause[160];
    size_t line = 1;
    size_t column = 1;
    va_list ap;

    for (const char *p = c->start; p < at; p++) {
        column += ((unsigned char)*p & 0xC0) != 0x80;
        if (*p == '\n') {
            line++;
            column = 1;
        }
    }
    va_start(ap, fmt);
    vsnprintf(cause, sizeof(cause), fmt, ap);
    va_end(ap);
    err_set(c->err, E_BAD_REQUEST, "line %zu, column %zu: %s", line, column, cause);
    return false;
}

/* Something else is where `wanted` should be. */
static bool unexpected(struct checker *c, const char *at, const char *wanted)
{
    if (at >= c->end)
        return fail(c, at, "ends too early, %s should follow", wanted);
    if (c->end - at >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        return fail(c, at, "a byte order mark, where %s should stand", wanted);
    size_t n = utf8_step(at, c->end);

    if (n == 0 || (unsigned char)*at < 0x20 || *at == 0x7F)
        return fail(c, at, "byte 0x%02X, where %s should stand", (unsigned char)*at, wanted);
    return fail(c, at, "'%.*s', where %s should stand", (int)n, at, wanted);
}

static inline void skip_space(struct checker *c)
{
    c->at = jtext_skip_space(c->at, c->end);
}

/* A code of four hexadecimal digits at c->at, or -1 with the error set. */
static int32_t take_hex4(struct checker *c)
{
    for (int i = 0; i < 4; i++)
        if (c->at + i >= c->end || jtext_hex(c->at[i]) < 0) {
            unexpected(c, c->at + i, "a hexadecimal digit");
            return -1;
        }
    c->at += 4;
    return (int32_t)jtext_hex4(c->at - 4);
}

/* What follows \u: one code, or a pair of surrogates. */
static bool take_unicode(struct checker *c)
{
    const char *escape = c->at - 2;
    int32_t code = take_hex4(c);

    if (code < 0)
        return false;
    if (code == 0)
        return fail(c, escape, "\\u0000 is not allowed");
    if (code < 0xD800 || code > 0xDFFF)
        return true;
    if (code >= 0xDC00 || (c->at < c->end && *c->at != '\\') ||
        (c->at + 1 < c->end && c->at[1] != 'u'))
        return fail(c, escape, "half a surrogate pair");
    if (c->end - c->at < 2)
        return unexpected(c, c->end, "the other half of a surrogate pair");
    c->at += 2;
    code = take_hex4(c);
    if (code < 0)
        return false;
    if (code < 0xDC00 || code > 0xDFFF)
        return fail(c, escape, "half a surrogate pair");
    return true;
}

static bool take_escape(struct checker *c)
{
    const char *which = c->at + 1;

    c->escapes = true;
    if (which >= c->end)
        return unexpected(c, which, "the rest of an escape");
    c->at += 2;
    switch (*which) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': return true;
    case 'u': return take_unicode(c);
    default: return unexpected(c, which, "one of \" \\ / b f n r t u");
    }
}

/* From the opening quote to behind the closing one. */
static bool take_string(struct checker *c)
{
    c->escapes = false;
    c->at++;
    for (;;) {
        c->at = jtext_skip_run(c->at, c->end, JTEXT_STOP_CONTROL | JTEXT_STOP_HIGH);
        if (c->at == c->end)
            return unexpected(c, c->at, "the end of a string");
        if (*c->at == '"')
            break;
        if (*c->at == '\\') {
            if (!take_escape(c))
                return false;
            continue;
        }
        if ((unsigned char)*c->at < 0x20)
            return fail(c, c->at, "control character 0x%02X in a string, write it as an escape",
                        (unsigned char)*c->at);
        size_t n = utf8_step(c->at, c->end);

        if (n == 0)
            return fail(c, c->at, "not UTF-8 (byte 0x%02X)", (unsigned char)*c->at);
        c->at += n;
    }
    c->at++;
    return true;
}

static bool take_number(struct checker *c)
{
    struct jtext_flaw flaw;
    const char *next = jtext_number_end(c->at, c->end, &flaw);

    if (next == NULL)
        return flaw.wanted != NULL ? unexpected(c, flaw.at, flaw.wanted)
                                   : fail(c, flaw.at, "%s", flaw.cause);
    c->at = next;
    return true;
}

static bool take_word(struct checker *c, struct slice word)
{
    size_t left = (size_t)(c->end - c->at);
    size_t n = left < word.size ? left : word.size;

    if (memcmp(c->at, word.data, n) != 0)
        return unexpected(c, c->at, "a value");
    if (n < word.size)
        return unexpected(c, c->end, "a value");
    c->at += n;
    return true;
}

static bool in_object(const struct checker *c)
{
    return c->depth > 0 && c->first_key[c->depth - 1] != ARRAY_LEVEL;
}

static bool member_twice(struct checker *c, const char *key)
{
    c->at = key;
    if (!take_string(c))
        return false;
    struct slice name = slice_make(key + 1, (size_t)(c->at - key - 2));
    struct slice shown = utf8_cut(name, NAME_BYTES_SHOWN);

    return fail(c, key, "a member '%.*s%s' appears twice", (int)shown.size, shown.data,
                shown.size < name.size ? "…" : "");
}

static bool close_level(struct checker *c)
{
    size_t first = c->first_key[--c->depth];

    c->at++;
    if (first == ARRAY_LEVEL)
        return true;
    const char *twice = jtext_keys_close(&c->keys, first);

    return twice == NULL || member_twice(c, twice);
}

/* The name of a member and its colon. */
static bool take_key(struct checker *c)
{
    skip_space(c);
    const char *key = c->at;

    if (key == c->end || *key != '"')
        return unexpected(c, key, "a member name in quotes");
    if (!take_string(c))
        return false;
    struct slice name = slice_make(key, (size_t)(c->at - key));
    size_t first = c->first_key[c->depth - 1];
    const char *twice = c->escapes ? jtext_keys_add_escaped(&c->keys, first, name)
                                   : jtext_keys_add(&c->keys, first, name);

    if (twice != NULL)
        return member_twice(c, twice);
    skip_space(c);
    if (c->at == c->end || *c->at != ':')
        return unexpected(c, c->at, "':'");
    c->at++;
    return true;
}

enum outcome { BROKEN, OPENED, WHOLE };

static enum outcome take_opening(struct checker *c, size_t first_key, char closing)
{
    if (c->depth == JTEXT_DEPTH_MAX) {
        fail(c, c->at, "nested deeper than %d levels", JTEXT_DEPTH_MAX);
        return BROKEN;
    }
    c->first_key[c->depth++] = first_key;
    c->at++;
    skip_space(c);
    if (c->at == c->end || *c->at != closing)
        return OPENED;
    return close_level(c) ? WHOLE : BROKEN;
}

/* A scalar, an empty array or object, or the opening of one. */
static enum outcome take_value(struct checker *c)
{
    bool ok;

    skip_space(c);
    if (c->at == c->end)
        return unexpected(c, c->at, "a value") ? WHOLE : BROKEN;
    switch (*c->at) {
    case '{': return take_opening(c, c->keys.count, '}');
    case '[': return take_opening(c, ARRAY_LEVEL, ']');
    case '"': ok = take_string(c); break;
    case 't': ok = take_word(c, SLICE("true")); break;
    case 'f': ok = take_word(c, SLICE("false")); break;
    case 'n': ok = take_word(c, SLICE("null")); break;
    default:
        ok = *c->at == '-' || jtext_is_digit(*c->at) ? take_number(c)
                                                     : unexpected(c, c->at, "a value");
    }
    return ok ? WHOLE : BROKEN;
}

/* After a value: all that closes here, then a comma or the end of the document. */
static bool take_separator(struct checker *c)
{
    while (c->depth > 0) {
        bool object = in_object(c);

        skip_space(c);
        if (c->at == c->end)
            return unexpected(c, c->at, object ? "',' or '}'" : "',' or ']'");
        if (*c->at == ',') {
            c->at++;
            return true;
        }
        if (*c->at != (object ? '}' : ']'))
            return unexpected(c, c->at, object ? "',' or '}'" : "',' or ']'");
        if (!close_level(c))
            return false;
    }
    return true;
}

static bool check_value(struct checker *c)
{
    do {
        enum outcome outcome;

        do {
            if (in_object(c) && !take_key(c))
                return false;
            outcome = take_value(c);
        } while (outcome == OPENED);
        if (outcome == BROKEN || !take_separator(c))
            return false;
    } while (c->depth > 0);
    return true;
}

static bool check_document(struct checker *c, struct slice *ret_value)
{
    skip_space(c);
    const char *first = c->at;

    if (!check_value(c))
        return false;
    struct slice value = slice_make(first, (size_t)(c->at - first));

    skip_space(c);
    if (c->at < c->end)
        return unexpected(c, c->at, "the end");
    *ret_value = value;
    return true;
}

bool jtext_is_object(struct slice text)
{
    struct err ignored = ERR_INIT;
    struct slice value;

    return jtext_check(text, &value, &ignored) == E_OK && jtext_type_of(value) == JTEXT_OBJECT;
}

enum err_code jtext_check(struct slice text, struct slice *ret_value, struct err *err)
{
    struct checker c;

    if (text.size > UINT32_MAX)
        return err_set(err, E_TOO_LARGE, "a JSON text is at most 4 GiB");
    c.start = c.at = text.data == NULL ? "" : text.data;
    c.end = c.start + text.size;
    c.err = err;
    c.depth = 0;
    jtext_keys_init(&c.keys, slice_make(c.start, text.size));
    bool ok = check_document(&c, ret_value);

    jtext_keys_deinit(&c.keys);
    return ok ? E_OK : err->code;
}
