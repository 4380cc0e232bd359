/* SPDX-License-Identifier: MIT */
#include "cli/view/reply_json.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"

const char *reply_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text != NULL ? text : "";
}

int64_t reply_int(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    return json_is_real(value) ? (int64_t)json_real_value(value) : json_integer_value(value);
}

int64_t reply_time(const json_t *object, const char *name)
{
    struct err err = ERR_INIT;
    int64_t at = 0;

    return time_parse(slice_of(reply_text(object, name)), &at, &err) == E_OK ? at : 0;
}

bool reply_is_true(const json_t *object, const char *name)
{
    return json_is_true(json_object_get(object, name));
}

char *reply_json(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    bool empty = (json_is_object(value) && json_object_size(value) == 0) ||
                 (json_is_array(value) && json_array_size(value) == 0);

    if (value == NULL || json_is_null(value) || empty)
        return NULL;
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

void print_json(struct slice json)
{
    bool in_string = false;

    for (size_t i = 0; i < json.size; i++) {
        char c = json.data[i];

        if (in_string && c == '\\' && i + 1 < json.size) {
            putchar(c);
            c = json.data[++i];
        } else if (c == '"') {
            in_string = !in_string;
        } else if (!in_string && (c == '\n' || c == '\r' || c == ' ' || c == '\t')) {
            continue;
        }
        putchar(c);
    }
    putchar('\n');
}

void print_json_items(struct slice object, const char *name)
{
    struct slice array;
    struct slice item;

    if (!jtext_find(object, name, &array) || jtext_type_of(array) != JTEXT_ARRAY)
        return;
    for (struct jtext_iter it = jtext_items(array); jtext_next_item(&it, &item);)
        print_json(item);
}
