/* SPDX-License-Identifier: MIT */
#include "core/queue/values.h"

#include <inttypes.h>

#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "core/program/template.h"
#include "core/queue/def.h"

enum { COMMAND_ARGS_MAX = 4096 };

void queue_json_write(const void *from, const struct field *f, struct buf *out)
{
    buf_add_slice(out, *(const struct slice *)(const void *)((const char *)from + f->offset));
}

/* ---- names ---- */

static bool has_control(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7F)
            return true;
    return false;
}

enum err_code queue_user_check(struct object_read *r, const struct field *f, struct slice value)
{
    struct slice name = *(struct slice *)(void *)((char *)r->to + f->offset);

    if (!has_control(name) && !memchr(name.data, ':', name.size) &&
        !memchr(name.data, '/', name.size))
        return E_OK;
    struct quote quote;

    return err_set(r->err, E_INVALID, "%s is not a user's name", quote_json(&quote, value));
}

enum err_code queue_path_check(struct object_read *r, const struct field *f, struct slice value)
{
    struct slice path = *(struct slice *)(void *)((char *)r->to + f->offset);

    if (path.data[0] == '/' && !has_control(path))
        return E_OK;
    return object_must_be(r, "an absolute path", value);
}

/* ---- commands ---- */

static enum err_code check_script(struct object_read *r, struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (strchr(" \t\r\n", text.data[i]) == NULL)
            return E_OK;
    return err_set(r->err, E_INVALID, "must not be empty");
}

static enum err_code add_arguments(struct object_read *r, struct slice array, size_t *size,
                                   struct buf *out)
{
    size_t count = 0;
    struct slice item;

    buf_add_char(out, '[');
    for (struct jtext_iter it = jtext_items(array); jtext_next_item(&it, &item); count++) {
        struct quote quote;

        r->fault_at = item.data;
        if (jtext_type_of(item) != JTEXT_STRING)
            return err_set(r->err, E_INVALID, "its parts must be texts, not %s (put it in quotes)",
                           quote_json(&quote, item));
        struct slice text = jtext_text(item, r->arena);

        if (count == 0 && text.size == 0)
            return err_set(r->err, E_INVALID, "must begin with the name of a program");
        if (count == COMMAND_ARGS_MAX)
            return err_set(r->err, E_INVALID, "must have at most %d parts", COMMAND_ARGS_MAX);
        *size += text.size + 1;
        jtext_add_comma(out);
        jtext_add_string(out, text);
    }
    r->fault_at = NULL;
    buf_add_char(out, ']');
    return count > 0 ? E_OK : err_set(r->err, E_INVALID, "must name a program");
}

static enum err_code add_command(struct object_read *r, struct slice value, size_t *size,
                                 struct buf *out)
{
    struct quote quote;

    switch (jtext_type_of(value)) {
    case JTEXT_STRING: {
        struct slice text = jtext_text(value, r->arena);

        *size = text.size;
        jtext_add_string(out, text);
        return check_script(r, text);
    }
    case JTEXT_ARRAY: return add_arguments(r, value, size, out);
    case JTEXT_NULL:
    case JTEXT_FALSE:
    case JTEXT_TRUE:
    case JTEXT_INT:
    case JTEXT_REAL:
    case JTEXT_OBJECT: break;
    }
    return err_set(r->err, E_INVALID, "must be a text or a list of texts, not %s%s",
                   quote_json(&quote, value),
                   jtext_type_of(value) == JTEXT_OBJECT ? " (put it in quotes)" : "");
}

/* Refuses the command's names, or notes their mistake for a stored definition. */
static enum err_code template_wrong(struct object_read *r, const struct err *why)
{
    if (r->stored) {
        ((struct queue_def *)r->to)->fault = arena_copy(r->arena, slice_of(why->msg));
        return E_OK;
    }
    *r->err = *why;
    return why->code;
}

static enum err_code read_template(struct object_read *r, struct slice value)
{
    struct template_command *t = arena_zalloc(r->arena, sizeof(*t));
    struct err why = ERR_INIT;
    struct template_fault fault;

    if (template_command_parse(value, r->arena, t, &fault, &why) != E_OK) {
        r->fault_at = r->stored ? NULL : fault.at;
        return template_wrong(r, &why);
    }
    ((struct queue_def *)r->to)->template = t;
    return E_OK;
}

enum err_code queue_resident_check(struct object_read *r, struct slice value)
{
    const struct queue_def *def = r->to;
    struct slice name = slice_make(NULL, 0); /* the first that needs a job */
    struct err why = ERR_INIT;

    (void)value;
    if (def->resident && def->template != NULL)
        name = template_command_name(def->template, "queue");
    if (name.size == 0)
        return E_OK;
    r->key = "command";
    err_set(&why, E_INVALID,
            "{%.*s} cannot be filled in: a resident program is started before it gets a job, which "
            "comes on its standard input",
            (int)name.size, name.data);
    return template_wrong(r, &why);
}

enum err_code queue_command_read(struct object_read *r, const struct field *f, struct slice value)
{
    CLEANUP(buf) struct buf out = BUF_INIT(value.size * 6 + 2); /* every byte escaped */
    size_t size = 0;

    if (add_command(r, value, &size, &out) != E_OK)
        return r->err->code;
    if (size > (size_t)f->max)
        return err_set(r->err, E_INVALID, "must have at most %" PRId64 " bytes, not %zu", f->max,
                       size);
    ASSERT(!out.overflowed);
    ((struct queue_def *)r->to)->command = arena_copy(r->arena, buf_slice(&out));
    return read_template(r, value);
}
