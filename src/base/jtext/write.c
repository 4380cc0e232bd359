/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/jtext/scan.h"

static void add_escape(struct buf *b, char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't',
    };
    unsigned char byte = (unsigned char)c;

    if (byte >= 0x20)
        buf_add(b, (char[]){'\\', c}, 2);
    else if (letters[byte] != 0)
        buf_add(b, (char[]){'\\', letters[byte]}, 2);
    else
        buf_add(b, (char[]){'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]}, 6);
}

void jtext_add_string(struct buf *b, struct slice utf8)
{
    const char *at = utf8.data;
    const char *end = slice_end(utf8);

    buf_add_char(b, '"');
    while (at < end) {
        const char *special = jtext_skip_run(at, end, JTEXT_STOP_CONTROL);

        buf_add(b, at, (size_t)(special - at));
        at = special;
        if (at < end)
            add_escape(b, *at++);
    }
    buf_add_char(b, '"');
}

void jtext_add_comma(struct buf *b)
{
    if (b->size > 0 && b->data[b->size - 1] != '{' && b->data[b->size - 1] != '[')
        buf_add_char(b, ',');
}

void jtext_add_key(struct buf *b, const char *name)
{
    if (b->size > 0 && b->data[b->size - 1] != '{')
        buf_add_char(b, ',');
    jtext_add_string(b, slice_of(name));
    buf_add_char(b, ':');
}

void jtext_add_time(struct buf *b, int64_t at)
{
    char text[TIME_TEXT_SIZE];

    if (at == 0 || at == TIME_NEVER) {
        buf_add(b, "null", 4);
        return;
    }
    buf_add_char(b, '"');
    buf_add_str(b, time_format(at, text));
    buf_add_char(b, '"');
}

void jtext_add_bool(struct buf *b, bool value)
{
    buf_add_str(b, value ? "true" : "false");
}

void jtext_put_string(struct buf *b, const char *name, struct slice utf8)
{
    jtext_add_key(b, name);
    jtext_add_string(b, utf8);
}

void jtext_put_int(struct buf *b, const char *name, int64_t value)
{
    jtext_add_key(b, name);
    buf_add_int(b, value);
}

void jtext_put_bool(struct buf *b, const char *name, bool value)
{
    jtext_add_key(b, name);
    jtext_add_bool(b, value);
}

void jtext_put_time(struct buf *b, const char *name, int64_t at)
{
    jtext_add_key(b, name);
    jtext_add_time(b, at);
}

void jtext_put_raw(struct buf *b, const char *name, struct slice json)
{
    jtext_add_key(b, name);
    buf_add_slice(b, json);
}

struct slice jtext_compact(struct slice value, struct arena *arena)
{
    char *out = arena_alloc(arena, value.size + 1);
    size_t size = 0;
    bool in_string = false;

    for (size_t i = 0; i < value.size; i++) {
        char c = value.data[i];

        if (!in_string && (c == ' ' || c == '\t' || c == '\n' || c == '\r'))
            continue;
        out[size++] = c;
        if (in_string && c == '\\')
            out[size++] = value.data[++i];
        else if (c == '"')
            in_string = !in_string;
    }
    out[size] = '\0';
    return slice_make(out, size);
}
