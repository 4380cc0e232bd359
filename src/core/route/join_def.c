/* SPDX-License-Identifier: MIT */
#include "core/route/join_def.h"

#include "base/jtext/jtext.h"
#include "core/object/object.h"

enum { KEY_TEMPLATE_MAX = 4096 };

static enum err_code check_key(struct object_read *r, const struct field *f, struct slice value)
{
    struct join_def *def = r->to;

    (void)f;
    (void)value;
    return template_text_parse(def->key_text, r->arena, &def->key, r->err);
}

static enum err_code read_then(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    return dest_list_read(r, value, &((struct join_def *)r->to)->then);
}

static const struct field join_fields[] = {
    FIELD_TEXT("key", join_def, key_text, .max = KEY_TEMPLATE_MAX, .check = check_key,
               .help = "Jobs with the same key meet; names in braces are filled from the params."),
    FIELD_INT64("count", join_def, count, .required = true, .min = 1, .max = JOIN_COUNT_MAX,
                .help = "number of arrivals that make it fire"),
    FIELD_CUSTOM("then", read_then, .required = true, .schema = "Destinations",
                 .help = "where to continue when it fires"),
};

static enum err_code check_join(struct object_read *r, struct slice value)
{
    (void)value;
    if (((struct join_def *)r->to)->then.count > 0)
        return E_OK;
    r->key = "then";
    return err_set(r->err, E_INVALID, "must not be empty");
}

const struct object join_object = {.what = "a join",
                                   .schema = "JoinDefinition",
                                   OBJECT_FIELDS(join_fields),
                                   .needs = true,
                                   .check = check_join,
                                   .hint = "{count: 10, then: [summary]}"};

enum err_code join_def_parse(struct slice json, struct arena *arena, struct join_def *ret_def,
                             const char **fault_at, struct err *err)
{
    struct join_def def = {0};
    struct object_read r = {.to = &def, .arena = arena, .err = err, .copies = true};

    if (object_read(&r, &join_object, json) != E_OK) {
        if (fault_at != NULL)
            *fault_at = r.fault_at == NULL ? json.data : r.fault_at;
        return err->code;
    }
    *ret_def = def;
    return E_OK;
}

enum err_code join_def_canonical(struct slice json, struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct join_def def;

    if (join_def_parse(json, &arena, &def, NULL, err) != E_OK)
        return err->code;
    buf_add_char(out, '{');
    if (def.key_text.size > 0)
        jtext_put_string(out, "key", def.key_text);
    jtext_put_int(out, "count", def.count);
    jtext_add_key(out, "then");
    dest_list_json(&def.then, out);
    buf_add_char(out, '}');
    if (out->overflowed)
        return err_set(err, E_TOO_LARGE, "a join's definition is too large");
    return E_OK;
}
