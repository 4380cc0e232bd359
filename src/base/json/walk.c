/*
 * Walking checked text in place.  Every loop is bounded by the text's end all the same, and ends:
 * text that nobody has checked, out of a damaged store, gives values that mean nothing, and does no
 * harm.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/json/json.h"
#include "base/json/scan.h"
#include "base/text/utf8.h"

/* From an opening quote to behind the closing one. */
static const char *skip_string(const char *at, const char *end)
{
    at = json_skip_run(at + 1, end, 0);
    while (at < end && *at == '\\')
        at = json_skip_run(end - at > 2 ? at + 2 : end, end, 0);
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
    while (at < end && *at != ',' && *at != ']' && *at != '}' && !json_is_space(*at))
        at++;
    return at;
}

static struct slice take_value(const char **at, const char *end)
{
    const char *first = json_skip_space(*at, end);

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

enum json_type json_type_of(struct slice value)
{
    if (value.size == 0)
        return JSON_T_NULL;
    switch (value.data[0]) {
    case '{': return JSON_T_OBJECT;
    case '[': return JSON_T_ARRAY;
    case '"': return JSON_T_STRING;
    case 't': return JSON_T_TRUE;
    case 'f': return JSON_T_FALSE;
    case 'n': return JSON_T_NULL;
    default: break;
    }
    for (size_t i = 1; i < value.size; i++)
        if (value.data[i] == '.' || value.data[i] == 'e' || value.data[i] == 'E')
            return JSON_T_REAL;
    return JSON_T_INT;
}

const char *json_type_name(enum json_type type)
{
    static const char *const names[] = {
        [JSON_T_NULL] = "null",      [JSON_T_FALSE] = "false",
        [JSON_T_TRUE] = "true",      [JSON_T_INT] = "a whole number",
        [JSON_T_REAL] = "a number",  [JSON_T_STRING] = "a string",
        [JSON_T_ARRAY] = "an array", [JSON_T_OBJECT] = "an object",
    };

    return names[type];
}

/* What is between the brackets; nothing, when these are not there. */
static struct json_iter inside(struct slice value, char opening)
{
    if (value.size < 2 || value.data[0] != opening)
        return (struct json_iter){NULL, NULL};
    return (struct json_iter){value.data + 1, value.data + value.size - 1};
}

struct json_iter json_members(struct slice object)
{
    return inside(object, '{');
}

struct json_iter json_items(struct slice array)
{
    return inside(array, '[');
}

bool json_next_item(struct json_iter *it, struct slice *ret_value)
{
    const char *at = json_skip_space(it->at, it->end);

    if (at < it->end && *at == ',')
        at = json_skip_space(at + 1, it->end);
    if (at == it->end)
        return false;
    struct slice value = take_value(&at, it->end);

    it->at = value.size > 0 ? at : it->end; /* a bracket too many ends it */
    if (value.size > 0)
        *ret_value = value;
    return value.size > 0;
}

bool json_next_member(struct json_iter *it, struct slice *ret_key, struct slice *ret_value)
{
    if (!json_next_item(it, ret_key))
        return false;
    const char *at = json_skip_space(it->at, it->end);

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

size_t json_decode_step(const char **at, const char *end, char to[static 4])
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
    uint32_t code = json_hex4(p + 2);

    *at = p + 6;
    if (code >= 0xD800 && code <= 0xDBFF && left >= 12) {
        code = 0x10000 + ((code - 0xD800) << 10) + (json_hex4(p + 8) - 0xDC00);
        *at = p + 12;
    }
    return utf8_encode(code <= 0x10FFFF ? code : 0xFFFD, to);
}

bool json_longer_key_is(struct slice key, const char *name, size_t size)
{
    const char *at = key.data + 1;
    const char *end = key.data + key.size - 1;
    size_t matched = 0;

    if (memchr(at, '\\', (size_t)(end - at)) == NULL)
        return false;
    while (at < end) {
        char bytes[4];
        size_t n = json_decode_step(&at, end, bytes);

        if (n > size - matched || memcmp(bytes, name + matched, n) != 0)
            return false;
        matched += n;
    }
    return matched == size;
}

bool json_find(struct slice object, const char *name, struct slice *ret_value)
{
    struct slice key;
    struct slice value;

    for (struct json_iter it = json_members(object); json_next_member(&it, &key, &value);)
        if (json_key_is(key, name)) {
            *ret_value = value;
            return true;
        }
    return false;
}

struct slice json_text(struct slice value, struct arena *arena)
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
        size_t n = json_decode_step(&at, raw.data + raw.size, bytes);

        memcpy(text + size, bytes, n);
        size += n;
    }
    return slice_make(text, size);
}

int64_t json_int(struct slice value)
{
    bool negative = value.size > 0 && value.data[0] == '-';
    uint64_t n = 0;

    for (size_t i = negative; i < value.size; i++)
        n = n * 10 + (uint64_t)(value.data[i] - '0');
    return (int64_t)(negative ? 0 - n : n);
}

double json_number(struct slice value)
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

size_t json_count_members(struct slice object)
{
    struct slice key;
    struct slice value;
    size_t count = 0;

    for (struct json_iter it = json_members(object); json_next_member(&it, &key, &value);)
        count++;
    return count;
}

size_t json_count_items(struct slice array)
{
    struct slice value;
    size_t count = 0;

    for (struct json_iter it = json_items(array); json_next_item(&it, &value);)
        count++;
    return count;
}
