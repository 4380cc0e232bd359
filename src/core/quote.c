/* SPDX-License-Identifier: MIT */
#include "core/quote.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"
#include "base/utf8.h"

/* C0, DEL and C1, which UTF-8 writes as C2 80 to C2 9F. */
static bool is_control(const char *at, size_t size)
{
    unsigned char first = (unsigned char)at[0];

    return first < 0x20 || first == 0x7F ||
           (size == 2 && first == 0xC2 && (unsigned char)at[1] < 0xA0);
}

const char *quote_text(struct quote *q, struct slice text)
{
    const char *at = text.data;
    const char *end = at + text.size;
    size_t used = 0;

    q->text[used++] = '\'';
    while (at < end) {
        size_t size = utf8_step(at, end);
        bool plain = size > 0 && !is_control(at, size);
        struct slice shown = plain ? slice_make(at, size) : SLICE("?");

        if (used + shown.size > QUOTE_TEXT_MAX + 1)
            break;
        memcpy(q->text + used, shown.data, shown.size);
        used += shown.size;
        at += size == 0 ? 1 : size;
    }
    snprintf(q->text + used, sizeof(q->text) - used, "%s'", at < end ? "…" : "");
    return q->text;
}

static const char *quote_plain(struct quote *q, struct slice text)
{
    int size = text.size > QUOTE_TEXT_MAX ? QUOTE_TEXT_MAX : (int)text.size;

    snprintf(q->text, sizeof(q->text), "%.*s%s", size, text.data,
             text.size > QUOTE_TEXT_MAX ? "…" : "");
    return q->text;
}

const char *quote_json(struct quote *q, struct slice value)
{
    switch (json_type_of(value)) {
    case JSON_T_NULL:
    case JSON_T_FALSE:
    case JSON_T_TRUE:
    case JSON_T_INT:
    case JSON_T_REAL: return quote_plain(q, value);
    case JSON_T_STRING: {
        CLEANUP(arena) struct arena arena = ARENA_INIT;

        return quote_text(q, json_text(value, &arena));
    }
    case JSON_T_ARRAY:
    case JSON_T_OBJECT: break;
    }
    return quote_plain(q, slice_of(json_type_name(json_type_of(value))));
}
