/* SPDX-License-Identifier: MIT */
#include "core/object/quote.h"

#include "base/compiler.h"
#include "base/json/json.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"

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
        struct slice shown = printable(at, size) ? slice_make(at, size) : SLICE("?");

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
    for (const char *at = utf8.data; at < slice_end(utf8);) {
        size_t size = utf8_step(at, slice_end(utf8));

        if (is_control(at, size))
            return true;
        at += size == 0 ? 1 : size;
    }
    return false;
}
