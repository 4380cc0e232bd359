/* SPDX-License-Identifier: MIT */
#include "core/group/choice.h"

#include "base/id.h"
#include "base/jtext/jtext.h"
#include "core/group/finaliser.h"
#include "core/group/group_def.h"
#include "core/group/row.h"

struct open_values {
    struct group_choice choice;
    bool sealed;
};

enum err_code group_check_kind(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    (void)value;
    return group_kind_check(((struct group_choice *)r->to)->kind, r->err);
}

enum err_code group_check_data(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    if (value.size > GROUP_DATA_MAX)
        return err_set(r->err, E_TOO_LARGE, "must have at most %d bytes, not %zu", GROUP_DATA_MAX,
                       value.size);
    return E_OK;
}

enum err_code group_read_finally(struct object_read *r, const struct field *f, struct slice value)
{
    struct group_choice *to = r->to;
    CLEANUP(buf) struct buf b = BUF_INIT(GROUP_DATA_MAX);
    bool copied = r->copies;
    struct dest finally;

    (void)f;
    r->copies = true;
    enum err_code code = finally_read(r, value, &finally);

    r->copies = copied;
    if (code != E_OK || (finally.params.size > 0 &&
                         finaliser_check_params(finally.params, r->arena, r->err) != E_OK))
        return r->err->code;
    finally_json(&finally, &b);
    if (b.overflowed)
        return err_set(r->err, E_TOO_LARGE, "must have at most %d bytes", GROUP_DATA_MAX);
    to->finally = arena_copy(r->arena, buf_slice(&b));
    return E_OK;
}

static const struct field open_fields[] = {
    FIELD_TEXT("open", open_values, choice.kind, .null = true, .min = 1, .max = GROUP_NAME_MAX,
               .check = group_check_kind, .help = "Its kind, one of `groups:`."),
    FIELD_TEXT("name", open_values, choice.name, .null = true, .max = GROUP_NAME_MAX,
               .help = "The same kind and name is the same group, for one job or request."),
    FIELD_OBJECT("data", open_values, choice.data, .null = true, .check = group_check_data,
                 .schema = "Params", .help = "What its members share."),
    FIELD_BOOL("sealed", open_values, sealed, .null = true,
               .help = "false: it does not end before it is sealed."),
    FIELD_CUSTOM("finally", group_read_finally, .null = true, .schema = "Finally",
                 .help = "Instead of the kind's."),
};

const struct object group_open_object = {.what = "group",
                                         .schema = "GroupToOpen",
                                         OBJECT_FIELDS(open_fields),
                                         .hint = "{open: KIND, name: TEXT}"};

enum err_code group_id_parse(struct slice text, int64_t *ret_id, struct err *err)
{
    if (slice_is(text, "root")) {
        *ret_id = GROUP_ROOT;
        return E_OK;
    }
    if (id_parse(text, ret_id) && *ret_id > 0)
        return E_OK;
    return err_set(err, E_INVALID, "is not the id of a group");
}

enum err_code group_choice_read(struct object_read *r, const struct field *f, struct slice value)
{
    struct open_values *values = arena_zalloc(r->arena, sizeof(*values));
    struct err ignored = ERR_INIT;

    *(const struct group_choice **)(void *)((char *)r->to + f->offset) = &values->choice;
    if (jtext_type_of(value) == JTEXT_OBJECT) {
        values->sealed = true;
        if (object_read_in(r, &group_open_object, value, values) != E_OK)
            return r->err->code;
        values->choice.unsealed = !values->sealed;
        return E_OK;
    }
    if (jtext_type_of(value) != JTEXT_STRING ||
        group_id_parse(jtext_text(value, r->arena), &values->choice.id, &ignored) != E_OK)
        return object_must_be(r, "the id of a group, or {open: KIND, name: TEXT}", value);
    return E_OK;
}

enum err_code group_finally_parse(struct slice json, struct arena *arena, struct dest *ret,
                                  struct err *err)
{
    struct object_read r = {.arena = arena, .err = err, .copies = true};

    return finally_read(&r, json, ret);
}
