/* SPDX-License-Identifier: MIT */
#include "server/http/content_type.h"

#include <stdbool.h>
#include <strings.h>

#include "base/compiler.h"

static const struct {
    const char *name;
    enum content_type type;
} known[] = {
    {"application/json", CONTENT_JSON},
    {"text/json", CONTENT_JSON},
    {"application/x-ndjson", CONTENT_LINES},
    {"application/jsonl", CONTENT_LINES},
    {"application/x-www-form-urlencoded", CONTENT_JSON},
};

static bool is(struct slice text, const char *name)
{
    return text.size == strlen(name) && strncasecmp(text.data, name, text.size) == 0;
}

enum content_type content_type_parse(struct slice value)
{
    if (value.size == 0)
        return CONTENT_JSON;
    const char *semicolon = memchr(value.data, ';', value.size);

    if (semicolon != NULL)
        value.size = (size_t)(semicolon - value.data);
    while (value.size > 0 && value.data[value.size - 1] == ' ')
        value.size--;

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (is(value, known[i].name))
            return known[i].type;
    if (value.size > 5 && is(slice_make(value.data + value.size - 5, 5), "+json"))
        return CONTENT_JSON;
    return CONTENT_OTHER;
}
