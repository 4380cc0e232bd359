/* SPDX-License-Identifier: MIT */
#include "server/http/range.h"

struct http_range http_range_parse(struct slice value)
{
    static const struct slice unit = {"bytes=", sizeof("bytes=") - 1};
    const struct http_range none = {.given = false, .first = 0, .last = INT64_MAX};
    struct http_range range = {.given = true, .first = 0, .last = INT64_MAX};

    if (value.size <= unit.size || memcmp(value.data, unit.data, unit.size) != 0)
        return none;
    struct slice text = slice_make(value.data + unit.size, value.size - unit.size);
    const char *dash = memchr(text.data, '-', text.size);

    if (dash == NULL)
        return none;
    struct slice from = slice_make(text.data, (size_t)(dash - text.data));
    struct slice to = slice_make(dash + 1, text.size - from.size - 1);

    if (from.size == 0) {
        if (!slice_number(to, &range.first) || range.first == 0)
            return none;
        range.first = -range.first;
        return range;
    }
    if (!slice_number(from, &range.first) || (to.size > 0 && !slice_number(to, &range.last)) ||
        range.last < range.first)
        return none;
    return range;
}
