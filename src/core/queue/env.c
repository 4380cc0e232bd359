/* SPDX-License-Identifier: MIT */
#include "core/queue/env.h"

#include <inttypes.h>

#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "core/queue/def.h"
#include "core/queue/values.h"

static bool is_name(struct slice name)
{
    for (size_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return name.size > 0 && name.size <= QUEUE_ENV_NAME_MAX;
}

enum err_code queue_env_check_name(struct slice name, struct err *err)
{
    struct quote quote;

    if (!is_name(name))
        return err_set(
            err, E_INVALID,
            "%s is not a variable's name: letters, digits and _, no digit first, at most "
            "%d",
            quote_text(&quote, name), QUEUE_ENV_NAME_MAX);
    if (name.size >= strlen(QUEUE_ENV_OWN) &&
        memcmp(name.data, QUEUE_ENV_OWN, strlen(QUEUE_ENV_OWN)) == 0)
        return err_set(err, E_INVALID,
                       "%s: names that begin with " QUEUE_ENV_OWN " are reserved for the worker",
                       quote_text(&quote, name));
    return E_OK;
}

static enum err_code add_variable(struct object_read *r, struct slice name, struct slice value,
                                  size_t *size, struct buf *out)
{
    struct slice text = jtext_text(name, r->arena);
    struct quote quote;

    r->fault_at = name.data;
    if (queue_env_check_name(text, r->err) != E_OK)
        return r->err->code;
    if (jtext_type_of(value) != JTEXT_STRING)
        return err_set(r->err, E_INVALID, "%.*s must be text, not %s (put it in quotes)",
                       (int)text.size, text.data, quote_json(&quote, value));
    struct slice content = jtext_text(value, r->arena);

    *size += text.size + content.size + 2;
    jtext_put_string(out, arena_strdup(r->arena, text), content);
    return E_OK;
}

enum err_code queue_env_read(struct object_read *r, const struct field *f, struct slice value)
{
    CLEANUP(buf) struct buf out = BUF_INIT(value.size * 6 + 2); /* every byte escaped */
    struct slice name;
    struct slice variable;
    struct quote quote;
    size_t size = 0;

    if (jtext_type_of(value) != JTEXT_OBJECT)
        return err_set(r->err, E_INVALID, "must be a map of names to texts, not %s",
                       quote_json(&quote, value));
    if (jtext_count_members(value) > QUEUE_ENV_NAMES_MAX)
        return err_set(r->err, E_INVALID, "must have at most %d variables, not %zu",
                       QUEUE_ENV_NAMES_MAX, jtext_count_members(value));
    buf_add_char(&out, '{');
    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &name, &variable);)
        if (add_variable(r, name, variable, &size, &out) != E_OK && !object_goes_on(r))
            return r->err->code;
    buf_add_char(&out, '}');
    r->fault_at = NULL;
    if (size > (size_t)f->max)
        return err_set(r->err, E_INVALID, "must have at most %" PRId64 " bytes, not %zu", f->max,
                       size);
    ASSERT(!out.overflowed);
    ((struct queue_def *)r->to)->env = arena_copy(r->arena, buf_slice(&out));
    return E_OK;
}
