/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/jtext/jtext.h"
#include "core/definition/yaml.h"

enum { FILE_SHOWN_MAX = 72 }; /* bytes of a path in a message, so that the cause still fits */

static void add_value(struct yaml_value *v, struct buf *out)
{
    v->jtext_at = out->size;
    switch (v->type) {
    case YAML_T_PLAIN: buf_add_slice(out, v->text); return;
    case YAML_T_TEXT: jtext_add_string(out, v->text); return;
    case YAML_T_LIST: buf_add_char(out, '['); break;
    case YAML_T_MAP: buf_add_char(out, '{'); break;
    }
    for (struct yaml_value *c = v->first; c != NULL && !out->overflowed; c = c->next) {
        if (c != v->first)
            buf_add_char(out, ',');
        c->name_json_at = out->size;
        if (v->type == YAML_T_MAP) {
            jtext_add_string(out, c->name);
            buf_add_char(out, ':');
        }
        add_value(c, out);
    }
    buf_add_char(out, v->type == YAML_T_LIST ? ']' : '}');
}

enum err_code yaml_json(struct yaml_value *v, struct buf *out, struct err *err)
{
    add_value(v, out);
    if (out->overflowed)
        return err_set(err, E_TOO_LARGE, "this is larger than %zu bytes", out->limit);
    return E_OK;
}

int yaml_line_at(const struct yaml_value *v, size_t jtext_at)
{
    for (;;) {
        const struct yaml_value *inner = NULL;

        for (const struct yaml_value *c = v->first; c != NULL && c->name_json_at <= jtext_at;
             c = c->next)
            inner = c;
        if (inner == NULL)
            return v->line;
        if (jtext_at < inner->jtext_at)
            return inner->name_line;
        v = inner;
    }
}

const char *yaml_place_format(const char *file, int line, char text[static YAML_PLACE_SIZE])
{
    size_t size = strlen(file);
    size_t from = size > FILE_SHOWN_MAX ? size - FILE_SHOWN_MAX : 0;

    while (from > 0 && ((unsigned char)file[from] & 0xC0) == 0x80)
        from++;
    snprintf(text, YAML_PLACE_SIZE, "%s%s:%d", from > 0 ? "…" : "", file + from, line);
    return text;
}

enum err_code yaml_err_at(struct err *err, const char *file, int line)
{
    char place[YAML_PLACE_SIZE];

    return err_wrap(err, "%s", yaml_place_format(file, line, place));
}
