/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/object/object.h"

static void add_reference(struct buf *out, const char *name)
{
    buf_addf(out, "{\"$ref\":\"#/components/schemas/%s\"}", name);
}

/* Adds a reference to a named schema, or one written with single quotes. */
static void add_given(struct buf *out, const char *schema)
{
    if (schema[0] != '{') {
        add_reference(out, schema);
        return;
    }
    for (const char *p = schema; *p != '\0'; p++)
        buf_add_char(out, *p == '\'' ? '"' : *p);
}

static void add_type(struct buf *out, const char *type, const struct field *f)
{
    if (f->null)
        buf_addf(out, "{\"type\":[\"%s\",\"null\"]", type);
    else
        buf_addf(out, "{\"type\":\"%s\"", type);
}

/* A bound in bytes also holds for characters. */
static void add_bounds(struct buf *out, const char *min, const char *max, const struct field *f)
{
    if (f->min != 0)
        jtext_put_int(out, min, f->min);
    if (f->max != INT64_MAX)
        jtext_put_int(out, max, f->max);
    buf_add_char(out, '}');
}

static void add_words(struct buf *out, const struct field *f)
{
    buf_add_str(out, "{\"enum\":[");
    for (int64_t i = f->min; i <= f->max; i++) {
        jtext_add_comma(out);
        jtext_add_string(out, slice_of(f->words[i]));
    }
    buf_add_str(out, f->null ? ",null]}" : "]}");
}

static void add_by_type(struct buf *out, const struct field *f)
{
    switch (f->type) {
    case FIELD_T_TEXT:
        add_type(out, "string", f);
        add_bounds(out, "minLength", "maxLength", f);
        break;
    case FIELD_T_INT:
    case FIELD_T_INT64:
        add_type(out, "integer", f);
        add_bounds(out, "minimum", "maximum", f);
        break;
    case FIELD_T_REAL:
        add_type(out, "number", f);
        add_bounds(out, "minimum", "maximum", f);
        break;
    case FIELD_T_BOOL:
        add_type(out, "boolean", f);
        buf_add_char(out, '}');
        break;
    case FIELD_T_OBJECT:
        add_type(out, "object", f);
        buf_add_char(out, '}');
        break;
    case FIELD_T_LENGTH: add_reference(out, "Length"); break;
    case FIELD_T_SIZE: add_reference(out, "Size"); break;
    case FIELD_T_TIME: add_reference(out, "Time"); break;
    case FIELD_T_ID: add_reference(out, "Id"); break;
    case FIELD_T_WORD: add_words(out, f); break;
    case FIELD_T_MEMBERS: object_schema(f->of, out); break;
    case FIELD_T_JSON:
    case FIELD_T_CUSTOM:
    case FIELD_T_IGNORED:
    case FIELD_T_UNBUILT: buf_add_str(out, "{}"); break;
    }
}

static void add_property(struct buf *out, const char *name, const struct field *f)
{
    jtext_add_key(out, name);
    size_t from = out->size;

    if (f->schema != NULL)
        add_given(out, f->schema);
    else
        add_by_type(out, f);
    if (f->help == NULL || out->overflowed)
        return;
    out->size--; /* the description goes before the closing brace */
    if (out->size > from + 1)
        buf_add_char(out, ',');
    buf_add_str(out, "\"description\":");
    jtext_add_string(out, slice_of(f->help));
    buf_add_char(out, '}');
}

void object_schema(const struct object *table, struct buf *out)
{
    bool needs = false;

    buf_add_str(out, "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[");
    for (size_t i = 0; i < table->n_fields; i++)
        if (table->fields[i].required) {
            needs = true;
            jtext_add_comma(out);
            jtext_add_string(out, slice_of(table->fields[i].name));
        }
    ASSERT(needs == table->needs);
    buf_add_str(out, "],\"properties\":{");
    for (size_t i = 0; i < table->n_fields; i++) {
        const struct field *f = &table->fields[i];

        if (f->ours || f->type == FIELD_T_UNBUILT)
            continue;
        add_property(out, f->name, f);
        if (f->other != NULL)
            add_property(out, f->other, f);
    }
    buf_add_str(out, "}}");
}
