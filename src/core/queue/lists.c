/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "core/queue/def.h"
#include "core/queue/values.h"

/* ---- destinations ---- */

enum err_code queue_dests_read(struct object_read *r, const struct field *f, struct slice value)
{
    return dest_list_read(r, value, (struct dest_list *)(void *)((char *)r->to + f->offset));
}

void queue_dests_write(const void *from, const struct field *f, struct buf *out)
{
    dest_list_json((const struct dest_list *)(const void *)((const char *)from + f->offset), out);
}

/* ---- needs ---- */

enum err_code queue_needs_read(struct object_read *r, const struct field *f, struct slice value)
{
    struct needs *needs = (struct needs *)(void *)((char *)r->to + f->offset);

    if (needs_read(r, value, needs) != E_OK)
        return r->err->code;
    for (size_t i = 0; i < needs->count; i++)
        if (need_is_of_host(needs->items[i].name))
            return err_set(r->err, E_INVALID,
                           "%s: needs that are counted by worker are not built yet",
                           needs->items[i].name.data);
    return E_OK;
}

void queue_needs_write(const void *from, const struct field *f, struct buf *out)
{
    needs_json((const struct needs *)(const void *)((const char *)from + f->offset), out);
}

/* ---- lanes ---- */

enum err_code queue_lane_read(struct object_read *r, const struct field *f, struct slice value)
{
    return lane_def_read(r, value, (struct lane_def *)(void *)((char *)r->to + f->offset));
}

void queue_lane_write(const void *from, const struct field *f, struct buf *out)
{
    lane_def_json((const struct lane_def *)(const void *)((const char *)from + f->offset), out);
}

/* ---- topics ---- */

/* A `*` elsewhere looks like a pattern and matches nothing.  Stores may have such names. */
static enum err_code check_pattern(struct slice topic, struct err *err)
{
    const char *star = memchr(topic.data, '*', topic.size);
    struct quote quote;

    if (star == NULL ||
        (star > topic.data && star[-1] == '.' && star + 1 == topic.data + topic.size))
        return E_OK;
    return err_set(
        err, E_INVALID,
        "%s: a '*' is allowed only at the end, after a '.': site.* means all topics that begin "
        "with 'site.'",
        quote_text(&quote, topic));
}

static enum err_code read_topic(struct object_read *r, void *to, struct slice value)
{
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "the name of a topic or a list of them", value);
    struct slice topic = arena_copy(r->arena, jtext_text(value, r->arena));

    *(struct slice *)to = topic;
    if (dest_name_check("topic", topic, r->err) != E_OK)
        return r->err->code;
    return r->stored ? E_OK : check_pattern(topic, r->err);
}

enum err_code queue_topics_read(struct object_read *r, const struct field *f, struct slice value)
{
    struct queue_def *def = r->to;
    const struct object_list how = {.what = "topics",
                                    .size = sizeof(struct slice),
                                    .max = (size_t)f->max,
                                    .alone = true,
                                    .read = read_topic};

    return object_read_list(r, &how, value, &def->subscribe, &def->n_subscribe);
}

void queue_topics_write(const void *from, const struct field *f, struct buf *out)
{
    const struct queue_def *def = from;

    (void)f;
    buf_add_char(out, '[');
    for (size_t i = 0; i < def->n_subscribe; i++) {
        jtext_add_comma(out);
        jtext_add_string(out, def->subscribe[i]);
    }
    buf_add_char(out, ']');
}

/* ---- filters ---- */

enum err_code queue_filters_read(struct object_read *r, const struct field *f, struct slice value)
{
    return filters_read(r, value, (struct filters *)(void *)((char *)r->to + f->offset));
}

void queue_filters_write(const void *from, const struct field *f, struct buf *out)
{
    filters_json((const struct filters *)(const void *)((const char *)from + f->offset), out);
}
