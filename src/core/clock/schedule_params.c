/* SPDX-License-Identifier: MIT */
#include "core/clock/schedule_params.h"

#include <string.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "core/program/template.h"

/* The JSON string that begins at text[i]; its end is the byte behind the closing quote. */
static size_t string_end(struct slice text, size_t i)
{
    for (i++; i < text.size && text.data[i] != '"'; i++)
        if (text.data[i] == '\\')
            i++;
    return i + 1;
}

static enum err_code check_text(struct slice string, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct template_text text;
    struct quote quote;

    if (template_text_parse(jtext_text(string, &arena), &arena, &text, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < text.n_parts; i++) {
        const struct template_part *p = &text.parts[i];

        if (p->named && !slice_is(p->text, "day") && !slice_is(p->text, "now") &&
            !slice_is(p->text, "schedule"))
            return err_set(err, E_INVALID,
                           "a schedule has {day}, {now} and {schedule}, not %s; write {{ for a "
                           "brace",
                           quote_text(&quote, p->text));
    }
    return E_OK;
}

enum err_code schedule_params_check(struct slice params, struct err *err)
{
    for (size_t i = 0; i < params.size; i++) {
        if (params.data[i] != '"')
            continue;
        size_t end = string_end(params, i);

        if (params.data[end] != ':' &&
            check_text(slice_make(params.data + i, end - i), err) != E_OK)
            return err->code;
        i = end - 1;
    }
    return E_OK;
}

static void add_name(struct slice name, const struct schedule_moment *m, struct buf *out)
{
    char text[TIME_TEXT_SIZE];

    if (slice_is(name, "schedule"))
        buf_add_slice(out, m->schedule);
    else if (slice_is(name, "day"))
        buf_add(out, time_format(m->local_at, text), strlen("2026-11-15"));
    else
        buf_add_str(out, time_format(m->nominal_at - m->nominal_at % US_PER_S, text));
}

static enum err_code fill_text(struct slice string, const struct schedule_moment *m,
                               struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf filled = BUF_INIT(out->limit);
    struct template_text text;

    if (memchr(string.data, '{', string.size) == NULL) {
        buf_add_slice(out, string);
        return E_OK;
    }
    if (template_text_parse(jtext_text(string, &arena), &arena, &text, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < text.n_parts; i++)
        if (text.parts[i].named)
            add_name(text.parts[i].text, m, &filled);
        else
            buf_add_slice(&filled, text.parts[i].text);
    jtext_add_string(out, buf_slice(&filled));
    return E_OK;
}

enum err_code schedule_params_fill(struct slice params, const struct schedule_moment *moment,
                                   struct buf *out, struct err *err)
{
    for (size_t i = 0; i < params.size;) {
        if (params.data[i] != '"') {
            buf_add_char(out, params.data[i++]);
            continue;
        }
        size_t end = string_end(params, i);
        struct slice string = slice_make(params.data + i, end - i);

        if (params.data[end] == ':')
            buf_add_slice(out, string);
        else if (fill_text(string, moment, out, err) != E_OK)
            return err->code;
        i = end;
    }
    return out->overflowed ? err_set(err, E_TOO_LARGE, "the params are too large") : E_OK;
}
