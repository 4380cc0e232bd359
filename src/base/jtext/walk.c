/*
 * Walking checked text in place.  Every loop is bounded by the text's end all the same, and ends:
 * text that nobody has checked, out of a damaged store, gives values that mean nothing, and does no
 * harm.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "base/jtext/scan.h"
#include "base/text/utf8.h"

/* From an opening quote to behind the closing one. */
static const char *skip_string(const char *at, const char *end)
{
    at = jtext_skip_run(at + 1, end, 0);
    while (at < end && *at == '\\')
        at = jtext_skip_run(end - at > 2 ? at + 2 : end, end, 0);
    return at < end ? at + 1 : end;
}

/* How a byte outside of strings changes the depth; a quote begins a string. */
enum { QUOTE = 2 };

static const int16_t turns[256] = {
    ['"'] = QUOTE, ['{'] = 1, ['['] = 1, ['}'] = -1, [']'] = -1,
};

static const char *skip_container(const char *at, const char *end)
{
    int depth = 0;

    while (at < end) {
        int turn = turns[(unsigned char)*at];

        if (turn == QUOTE) {
            at = skip_string(at, end);
            continue;
        }
        at++;
        depth += turn;
        if (depth == 0)
            return at;
    }
    return end;
}

static const char *skip_scalar(const char *at, const char *end)
{
    while (at < end && *at != ',' && *at != ']' && *at != '}' && !jtext_is_space(*at))
        at++;
    return at;
}

static struct slice take_value(const char **at, const char *end)
{
    const char *first = jtext_skip_space(*at, end);

    if (first == end)
        *at = end;
    else if (*first == '"')
        *at = skip_string(first, end);
    else if (*first == '{' || *first == '[')
        *at = skip_container(first, end);
    else
        *at = skip_scalar(first, end);
    return slice_make(first, (size_t)(*at - first));
}

enum jtext_type jtext_type_of(struct slice value)
{
    if (value.size == 0)
        return JTEXT_NULL;
    switch (value.data[0]) {
    case '{': return JTEXT_OBJECT;
    case '[': return JTEXT_ARRAY;
    case '"': return JTEXT_STRING;
    case 't': return JTEXT_TRUE;
    case 'f': return JTEXT_FALSE;
    case 'n': return JTEXT_NULL;
    default: break;
    }
    for (size_t i = 1; i < value.size; i++)
        if (value.data[i] == '.' || value.data[i] == 'e' || value.data[i] == 'E')
            return JTEXT_REAL;
    return JTEXT_INT;
}

const char *jtext_type_name(enum jtext_type type)
{
    static const char *const names[] = {
        [JTEXT_NULL] = "null",          [JTEXT_FALSE] = "false",      [JTEXT_TRUE] = "true",
        [JTEXT_INT] = "a whole number", [JTEXT_REAL] = "a number",    [JTEXT_STRING] = "a string",
        [JTEXT_ARRAY] = "an array",     [JTEXT_OBJECT] = "an object",
    };

    return names[type];
}

/* What is between the brackets; nothing, when these are not there. */
static struct jtext_iter inside(struct slice value, char opening)
{
    if (value.size < 2 || value.data[0] != opening)
        return (struct jtext_iter){NULL, NULL};
    return (struct jtext_iter){value.data + 1, value.data + value.size - 1};
}

struct jtext_iter jtext_members(struct slice object)
{
    return inside(object, '{');
}

struct jtext_iter jtext_items(struct slice array)
{
    return inside(array, '[');
}

bool jtext_next_item(struct jtext_iter *it, struct slice *ret_value)
{
    const char *at = jtext_skip_space(it->at, it->end);

    if (at < it->end && *at == ',')
        at = jtext_skip_space(at + 1, it->end);
    if (at == it->end)
        return false;
    struct slice value = take_value(&at, it->end);

    it->at = value.size > 0 ? at : it->end; /* a bracket too many ends it */
    if (value.size > 0)
        *ret_value = value;
    return value.size > 0;
}

bool jtext_next_member(struct jtext_iter *it, struct slice *ret_key, struct slice *ret_value)
{
    if (!jtext_next_item(it, ret_key))
        return false;
    const char *at = jtext_skip_space(it->at, it->end);

    if (at < it->end && *at == ':')
        at++;
    *ret_value = take_value(&at, it->end);
    it->at = at;
    return true;
}

static char simple_escape(char which)
{
    switch (which) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return which;
    }
}

size_t jtext_decode_step(const char **at, const char *end, char to[static 4])
{
    const char *p = *at;
    size_t left = (size_t)(end - p);

    if (*p != '\\' || left < 2) {
        to[0] = *p;
        *at = p + 1;
        return 1;
    }
    if (p[1] != 'u' || left < 6) {
        to[0] = simple_escape(p[1]);
        *at = p + 2;
        return 1;
    }
    uint32_t code = jtext_hex4(p + 2);

    *at = p + 6;
    if (code >= 0xD800 && code <= 0xDBFF && left >= 12) {
        code = 0x10000 + ((code - 0xD800) << 10) + (jtext_hex4(p + 8) - 0xDC00);
        *at = p + 12;
    }
    return utf8_encode(code <= 0x10FFFF ? code : 0xFFFD, to);
}

bool jtext_longer_key_is(struct slice key, const char *name, size_t size)
{
    const char *at = key.data + 1;
    const char *end = key.data + key.size - 1;
    size_t matched = 0;

    if (memchr(at, '\\', (size_t)(end - at)) == NULL)
        return false;
    while (at < end) {
        char bytes[4];
        size_t n = jtext_decode_step(&at, end, bytes);

        if (n > size - matched || memcmp(bytes, name + matched, n) != 0)
            return false;
        matched += n;
    }
    return matched == size;
}

bool jtext_find(struct slice object, const char *name, struct slice *ret_value)
{
    struct slice key;
    struct slice value;

    for (struct jtext_iter it = jtext_members(object); jtext_next_member(&it, &key, &value);)
        if (jtext_key_is(key, name)) {
            *ret_value = value;
            return true;
        }
    return false;
}

struct slice jtext_text(struct slice value, struct arena *arena)
{
    if (value.size < 2 || value.data[0] != '"')
        return slice_make("", 0);
    struct slice raw = slice_make(value.data + 1, value.size - 2);

    if (raw.size == 0 || memchr(raw.data, '\\', raw.size) == NULL)
        return raw;
    char *text = arena_alloc(arena, raw.size);
    const char *at = raw.data;
    size_t size = 0;

    while (at < raw.data + raw.size) {
        char bytes[4];
        size_t n = jtext_decode_step(&at, raw.data + raw.size, bytes);

        memcpy(text + size, bytes, n);
        size += n;
    }
    return slice_make(text, size);
}

int64_t jtext_int(struct slice value)
{
    bool negative = value.size > 0 && value.data[0] == '-';
    uint64_t n = 0;

    for (size_t i = negative; i < value.size; i++)
        n = n * 10 + (uint64_t)(value.data[i] - '0');
    return (int64_t)(negative ? 0 - n : n);
}

double jtext_number(struct slice value)
{
    char few[64];
    CLEANUP(mem) char *many = NULL;
    char *text = few;

    if (value.size >= sizeof(few))
        text = many = mem_alloc(value.size + 1);
    memcpy(text, value.data, value.size);
    text[value.size] = '\0';
    return strtod(text, NULL);
}

size_t jtext_count_members(struct slice object)
{
    struct slice key;
    struct slice value;
    size_t count = 0;

    for (struct jtext_iter it = jtext_members(object); jtext_next_member(&it, &key, &value);)
        count++;
    return count;
}

size_t jtext_count_items(struct slice array)
{
    struct slice value;
    size_t count = 0;

    for (struct jtext_iter it = jtext_items(array); jtext_next_item(&it, &value);)
        count++;
    return count;
}
