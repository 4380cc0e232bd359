/* SPDX-License-Identifier: MIT */
#include "core/group/finaliser.h"

#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "core/program/template.h"

struct filling {
    struct arena *arena;
    const struct template_values *values; /* NULL: only checks */
    struct buf *out;
};

/* The value of a text that is one name and nothing else; false: it is not, or has none. */
static bool whole_value(const struct filling *f, const struct template_text *t,
                        struct slice *ret_value)
{
    if (t->n_parts != 1 || !t->parts[0].named)
        return false;
    const char *name = arena_strdup(f->arena, t->parts[0].text);

    for (size_t i = 0; i < f->values->n_objects; i++)
        if (jtext_find(f->values->objects[i], name, ret_value))
            return true;
    return false;
}

static enum err_code fill_text(const struct filling *f, struct slice value, struct err *err)
{
    struct template_text t;
    struct slice whole;

    if (template_text_parse(jtext_text(value, f->arena), f->arena, &t, err) != E_OK)
        return err->code;
    if (f->values == NULL)
        return E_OK;
    if (whole_value(f, &t, &whole)) {
        buf_add_slice(f->out, whole);
        return E_OK;
    }
    CLEANUP(buf) struct buf text = BUF_INIT(f->out->limit);

    if (template_text_fill(&t, f->values, &text, err) != E_OK)
        return err->code;
    jtext_add_string(f->out, buf_slice(&text));
    return E_OK;
}

static void add(const struct filling *f, struct slice text)
{
    if (f->values != NULL)
        buf_add_slice(f->out, text);
}

/* Values are nested at most JTEXT_DEPTH_MAX deep. */
static enum err_code fill(const struct filling *f, struct slice value, struct err *err)
{
    enum jtext_type type = jtext_type_of(value);
    struct slice item;
    struct slice key;
    struct quote quote;
    bool first = true;

    if (type == JTEXT_STRING)
        return fill_text(f, value, err);
    if (type == JTEXT_ARRAY) {
        add(f, SLICE("["));
        for (struct jtext_iter it = jtext_items(value); jtext_next_item(&it, &item);
             first = false) {
            add(f, first ? SLICE("") : SLICE(","));
            if (fill(f, item, err) != E_OK)
                return err->code;
        }
        add(f, SLICE("]"));
        return E_OK;
    }
    if (type != JTEXT_OBJECT) {
        add(f, value);
        return E_OK;
    }
    add(f, SLICE("{"));
    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &key, &item);
         first = false) {
        add(f, first ? SLICE("") : SLICE(","));
        add(f, key);
        add(f, SLICE(":"));
        if (fill(f, item, err) != E_OK)
            return err_wrap(err, "%s", quote_json(&quote, key));
    }
    add(f, SLICE("}"));
    return E_OK;
}

enum err_code finaliser_check_params(struct slice params, struct arena *arena, struct err *err)
{
    const struct filling f = {.arena = arena};

    return fill(&f, params, err);
}

static struct slice own_values(const struct finaliser_values *v, struct arena *arena)
{
    CLEANUP(buf) struct buf b = BUF_INIT((size_t)64 << 10);

    buf_add_char(&b, '{');
    jtext_put_string(&b, "group", v->id);
    jtext_put_string(&b, "kind", v->kind);
    jtext_put_string(&b, "name", v->name);
    jtext_put_int(&b, "made", v->counts->made);
    jtext_put_int(&b, "done", v->counts->done);
    jtext_put_int(&b, "failed", v->counts->failed);
    jtext_put_int(&b, "cancelled", v->counts->cancelled);
    jtext_put_int(&b, "dropped", v->counts->dropped);
    buf_add_char(&b, '}');
    return arena_copy(arena, buf_slice(&b));
}

enum err_code finaliser_fill_params(struct slice params, const struct finaliser_values *values,
                                    struct arena *arena, struct buf *out, struct err *err)
{
    const struct slice objects[] = {own_values(values, arena),
                                    values->data.size > 0 ? values->data : SLICE("{}")};
    const struct template_values filled = {.objects = objects,
                                           .n_objects = 2,
                                           .id = values->id,
                                           .attempt = 1,
                                           .now_at = values->now_at};
    const struct filling f = {.arena = arena, .values = &filled, .out = out};

    if (params.size == 0)
        params = SLICE("{}");
    return fill(&f, params, err);
}
