/* SPDX-License-Identifier: MIT */
#include "core/gate/rate.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/jtext/jtext.h"
#include "core/object/object.h"
#include "core/object/quote.h"

enum err_code rate_parse(struct slice text, struct rate *ret_rate, struct err *err)
{
    const char *slash = text.size == 0 ? NULL : memchr(text.data, '/', text.size);
    struct rate rate;
    struct quote quote;

    quote_text(&quote, text);
    if (slash == NULL ||
        !slice_number(slice_make(text.data, (size_t)(slash - text.data)), &rate.starts))
        return err_set(err, E_INVALID, "%s is not a rate like 100/1h: starts, a slash, a length",
                       quote.text);
    if (rate.starts < 1 || rate.starts > RATE_STARTS_MAX)
        return err_set(err, E_INVALID, "the rate %s must allow 1 to %d starts", quote.text,
                       RATE_STARTS_MAX);
    struct slice length = slice_make(slash + 1, (size_t)(slice_end(text) - slash - 1));

    if (duration_parse(length, &rate.length_us, err) != E_OK)
        return err_wrap(err, "the rate %s", quote.text);
    if (rate.length_us < RATE_LENGTH_MIN_US || rate.length_us > RATE_LENGTH_MAX_US)
        return err_set(err, E_INVALID, "the length of the rate %s must be from 1ms to 366d",
                       quote.text);
    *ret_rate = rate;
    return E_OK;
}

const char *rate_format(const struct rate *rate, char text[static RATE_TEXT_SIZE])
{
    char length[DURATION_TEXT_SIZE];

    snprintf(text, RATE_TEXT_SIZE, "%" PRId64 "/%s", rate->starts,
             duration_format(rate->length_us, length));
    return text;
}

static enum err_code read_rate(struct object_read *r, void *to, struct slice value)
{
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "a rate like 100/1h", value);
    return rate_parse(jtext_text(value, r->arena), to, r->err);
}

enum err_code rates_read(struct object_read *r, struct slice value, struct rates *ret_rates)
{
    static const struct object_list how = {.what = "rates",
                                           .size = sizeof(struct rate),
                                           .max = RATES_MAX,
                                           .alone = true,
                                           .read = read_rate};
    struct rate *items;
    size_t n;

    if (object_read_list(r, &how, value, &items, &n) != E_OK)
        return r->err->code;
    *ret_rates = (struct rates){.count = n};
    memcpy(ret_rates->items, items, n * sizeof(*items));
    return E_OK;
}

void rates_json(const struct rates *rates, struct buf *out)
{
    char text[RATE_TEXT_SIZE];

    buf_add_char(out, '[');
    for (size_t i = 0; i < rates->count; i++) {
        jtext_add_comma(out);
        jtext_add_string(out, slice_of(rate_format(&rates->items[i], text)));
    }
    buf_add_char(out, ']');
}

int64_t rates_longest_us(const struct rates *rates)
{
    int64_t longest = 0;

    for (size_t i = 0; i < rates->count; i++)
        if (rates->items[i].length_us > longest)
            longest = rates->items[i].length_us;
    return longest;
}
