/* SPDX-License-Identifier: MIT */
#include "core/object/quote.h"

#include "base/buf.h"
#include "base/compiler.h"
#include "base/jtext/jtext.h"
#include "base/text/nearest.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"

enum { KEYS_SHOWN = 1000 }; /* bytes */

/* Appends at `used`; returns the new size of the text. */
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

/* For ASCII only. */
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
    switch (jtext_type_of(value)) {
    case JTEXT_NULL:
    case JTEXT_FALSE:
    case JTEXT_TRUE:
    case JTEXT_INT:
    case JTEXT_REAL: return quote_plain(q, value);
    case JTEXT_STRING: {
        CLEANUP(arena) struct arena arena = ARENA_INIT;

        return quote_text(q, jtext_text(value, &arena));
    }
    case JTEXT_ARRAY:
    case JTEXT_OBJECT: break;
    }
    return quote_plain(q, slice_of(jtext_type_name(jtext_type_of(value))));
}

enum err_code unknown_key(struct slice name, const char *const *words, size_t n, size_t n_shown,
                          struct err *err)
{
    CLEANUP(buf) struct buf all = BUF_INIT(KEYS_SHOWN);
    const char *near = nearest_word(name, words, n);
    struct quote quote;

    quote_text(&quote, name);
    if (near != NULL)
        return err_set(err, E_INVALID, "unknown key %s, did you mean '%s'?", quote.text, near);
    for (size_t i = 0; i < n_shown; i++)
        buf_addf(&all, " %s", words[i]);
    return err_set(err, E_INVALID, "unknown key %s, the keys are:%s", quote.text, buf_text(&all));
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
