/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/object/object.h"

/* Adds a reference to a named schema, or one written with single quotes. */
static void add_given(struct buf *out, const char *schema)
{
    if (schema[0] != '{')
        buf_addf(out, "{\"$ref\":\"#/components/schemas/%s\"}", schema);
    for (const char *p = schema; *p != '\0' && schema[0] == '{'; p++)
        buf_add_char(out, *p == '\'' ? '"' : *p);
}

/* Plain types, and those that have a schema of their own. */
static const struct {
    const char *type, *min, *max;
    const char *schema;
} types[] = {
    [FIELD_T_TEXT] = {"string", "minLength", "maxLength", NULL}, /* bytes: also of characters */
    [FIELD_T_INT] = {"integer", "minimum", "maximum", NULL},
    [FIELD_T_INT64] = {"integer", "minimum", "maximum", NULL},
    [FIELD_T_REAL] = {"number", "minimum", "maximum", NULL},
    [FIELD_T_BOOL] = {.type = "boolean"},
    [FIELD_T_OBJECT] = {.type = "object"},
    [FIELD_T_LENGTH] = {.schema = "Length"},
    [FIELD_T_SIZE] = {.schema = "Size"},
    [FIELD_T_TIME] = {.schema = "Time"},
    [FIELD_T_ID] = {.schema = "Id"},
    [FIELD_T_UNBUILT] = {.type = NULL},
};

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
    const char *type = types[f->type].type;

    if (type != NULL) {
        buf_addf(out, f->null ? "{\"type\":[\"%s\",\"null\"]" : "{\"type\":\"%s\"", type);
        if (types[f->type].min != NULL && f->min != 0)
            jtext_put_int(out, types[f->type].min, f->min);
        if (types[f->type].max != NULL && f->max != INT64_MAX)
            jtext_put_int(out, types[f->type].max, f->max);
        buf_add_char(out, '}');
    } else if (types[f->type].schema != NULL) {
        add_given(out, types[f->type].schema);
    } else if (f->type == FIELD_T_WORD) {
        add_words(out, f);
    } else if (f->type == FIELD_T_MEMBERS) {
        object_schema(f->of, out);
    } else {
        buf_add_str(out, "{}");
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
