/* SPDX-License-Identifier: MIT */
#include "core/quote.h"

#include "base/compiler.h"
#include "base/json.h"
#include "base/utf8.h"

/* C0, DEL and C1, which UTF-8 writes as C2 80 to C2 9F. */
static bool is_control(const char *at, size_t size)
{
    unsigned char first = (unsigned char)at[0];

    return first < 0x20 || first == 0x7F ||
           (size == 2 && first == 0xC2 && (unsigned char)at[1] < 0xA0);
}

/* `used` bytes of the text are there; returns how many are now. */
static size_t append(struct quote *q, size_t used, struct slice more)
{
    ASSERT(used + more.size < sizeof(q->text));
    memcpy(q->text + used, more.data, more.size);
    return used + more.size;
}

const char *quote_text(struct quote *q, struct slice text)
{
    const char *at = text.data;
    const char *end = at + text.size;
    size_t used = append(q, 0, SLICE("'"));

    while (at < end) {
        size_t size = utf8_step(at, end);
        bool plain = size > 0 && !is_control(at, size);
        struct slice shown = plain ? slice_make(at, size) : SLICE("?");

        if (used + shown.size > QUOTE_TEXT_MAX + 1)
            break;
        used = append(q, used, shown);
        at += size == 0 ? 1 : size;
    }
    used = append(q, used, at < end ? SLICE("…'") : SLICE("'"));
    q->text[used] = '\0';
    return q->text;
}

/* ASCII alone. */
static const char *quote_plain(struct quote *q, struct slice text)
{
    bool cut = text.size > QUOTE_TEXT_MAX;
    size_t used = append(q, 0, slice_make(text.data, cut ? QUOTE_TEXT_MAX : text.size));

    used = append(q, used, cut ? SLICE("…") : SLICE(""));
    q->text[used] = '\0';
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

bool text_has_control(struct slice utf8)
{
    for (size_t i = 0; i < utf8.size; i++)
        if (is_control(utf8.data + i, utf8.size - i >= 2 ? 2 : 1))
            return true;
    return false;
}
