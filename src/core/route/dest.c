/* SPDX-License-Identifier: MIT */
#include "core/route/dest.h"

#include "base/jtext/jtext.h"
#include "base/text/utf8.h"
#include "core/object/object.h"
#include "core/object/quote.h"

static const char *const kind_names[] = {
    [DEST_QUEUE] = "queue", [DEST_TOPIC] = "topic", [DEST_JOIN] = "join", [DEST_SIGNAL] = "signal"};

/* ---- names ---- */

enum err_code dest_name_check(const char *what, struct slice name, struct err *err)
{
    struct quote quote;

    quote_text(&quote, name);
    if (name.size == 0)
        return err_set(err, E_INVALID, "a %s's name must not be empty", what);
    if (name.size > TOPIC_NAME_MAX)
        return err_set(err, E_INVALID, "a %s's name has at most %d bytes: %s", what, TOPIC_NAME_MAX,
                       quote.text);
    if (!utf8_valid(name))
        return err_set(err, E_INVALID, "a %s's name must be UTF-8: %s", what, quote.text);
    if (text_has_control(name))
        return err_set(err, E_INVALID, "a %s's name must not have control characters: %s", what,
                       quote.text);
    if (memchr(name.data, '/', name.size) != NULL)
        return err_set(err, E_INVALID, "a %s's name must not have a '/' in it: %s", what,
                       quote.text);
    if (name.data[0] == '.')
        return err_set(err, E_INVALID, "a %s's name must not begin with a '.': %s", what,
                       quote.text);
    return E_OK;
}

bool topic_matches(struct slice subscription, struct slice topic)
{
    size_t prefix = subscription.size - 1; /* with the dot */

    if (subscription.size < 2 || memcmp(subscription.data + prefix - 1, ".*", 2) != 0)
        return slice_equal(subscription, topic);
    return topic.size >= prefix && memcmp(topic.data, subscription.data, prefix) == 0;
}

/* ---- reading ---- */

struct dest_read {
    struct dest dest;
    bool counted;
    int named; /* members that name a destination */
};

static enum err_code read_name(struct object_read *r, enum dest_kind kind, struct slice value,
                               struct dest *d)
{
    struct quote quote;

    if (jtext_type_of(value) != JTEXT_STRING)
        return err_set(r->err, E_INVALID, "must be the name of a %s, not %s", kind_names[kind],
                       quote_json(&quote, value));
    d->kind = kind;
    d->name = arena_copy(r->arena, jtext_text(value, r->arena));
    return dest_name_check(kind_names[kind], d->name, r->err);
}

static enum err_code read_kind(struct object_read *r, const struct field *f, struct slice value);

static const struct field dest_fields[] = {
    [DEST_QUEUE] = FIELD_CUSTOM("queue", read_kind, .schema = "Text",
                                .help = "Creates a job in this queue."),
    [DEST_TOPIC] = FIELD_CUSTOM(
        "topic", read_kind, .schema = "Text",
        .help = "Creates a job in each queue that is subscribed to this topic."),
    [DEST_JOIN] = FIELD_CUSTOM("join", read_kind, .schema = "Text",
                               .help = "The job arrives at this join."),
    [DEST_SIGNAL] = FIELD_CUSTOM("signal", read_kind, .schema = "Text",
                                 .help = "Raises this signal."),
    FIELD_OBJECT("params", dest_read, dest.params, .schema = "Params",
                 .help = "For a queue or topic: override the params of the job."),
    FIELD_INT64("count", dest_read, dest.count, FIELD_GIVEN(dest_read, counted), .min = 1,
                .max = SIGNAL_COUNT_MAX,
                .help = "For a signal: raised by this number (default 1)."),
};

static enum err_code read_kind(struct object_read *r, const struct field *f, struct slice value)
{
    struct dest_read *d = r->to;

    d->named++;
    return read_name(r, (enum dest_kind)(f - dest_fields), value, &d->dest);
}

static enum err_code check_dest(struct object_read *r, struct slice value)
{
    const struct dest_read *d = r->to;
    const char *kind = kind_names[d->dest.kind];

    (void)value;
    if (d->named != 1)
        return err_set(r->err, E_INVALID, "must have one of queue, topic, join and signal");
    if (d->dest.params.size > 0 && d->dest.kind != DEST_QUEUE && d->dest.kind != DEST_TOPIC) {
        r->key = "params";
        return err_set(r->err, E_INVALID, "is for queues and topics, not for a %s", kind);
    }
    if (d->counted && d->dest.kind != DEST_SIGNAL) {
        r->key = "count";
        return err_set(r->err, E_INVALID, "is for signals, not for a %s", kind);
    }
    return E_OK;
}

const struct object dest_object = {.what = "a destination",
                                   .schema = "DestinationObject",
                                   OBJECT_FIELDS(dest_fields),
                                   .check = check_dest};

static enum err_code read_dest(struct object_read *r, void *to, struct slice value)
{
    struct dest_read d = {.dest.count = 1};
    void *outer = r->to;
    enum err_code code;

    if (jtext_type_of(value) == JTEXT_STRING) {
        code = read_name(r, DEST_QUEUE, value, &d.dest);
    } else if (jtext_type_of(value) == JTEXT_OBJECT) {
        r->to = &d;
        code = object_read(r, &dest_object, value);
        r->to = outer;
    } else {
        code = object_must_be(
            r, "the name of a queue, or {queue: …}, {topic: …}, {join: …} or {signal: …}", value);
    }
    *(struct dest *)to = d.dest;
    return code;
}

enum err_code dest_list_read(struct object_read *r, struct slice value, struct dest_list *ret_list)
{
    static const struct object_list how = {.what = "destinations",
                                           .size = sizeof(struct dest),
                                           .max = DEST_MAX,
                                           .alone = true,
                                           .read = read_dest};

    return object_read_list(r, &how, value, &ret_list->items, &ret_list->count);
}

enum err_code dest_list_parse(struct slice json, const char *what, struct arena *arena,
                              struct dest_list *ret_list, const char **fault_at, struct err *err)
{
    struct object_read r = {.arena = arena, .err = err, .key = what, .copies = true};

    if (dest_list_read(&r, json, ret_list) == E_OK)
        return E_OK;
    if (fault_at != NULL)
        *fault_at = r.fault_at == NULL ? json.data : r.fault_at;
    return object_blame(&r);
}

bool dest_list_is_sound(const struct dest_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].name.size == 0)
            return false;
    return list->count > 0;
}

/* ---- writing ---- */

void dest_list_json(const struct dest_list *list, struct buf *out)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        const struct dest *d = &list->items[i];

        buf_add_str(out, i > 0 ? ",{" : "{");
        jtext_put_string(out, kind_names[d->kind], d->name);
        if (d->params.size > 0)
            jtext_put_raw(out, "params", d->params);
        if (d->kind == DEST_SIGNAL && d->count != 1)
            jtext_put_int(out, "count", d->count);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

enum err_code dest_list_read_canonical(struct object_read *r, struct slice value,
                                       struct slice *ret_json)
{
    CLEANUP(buf) struct buf out = BUF_INIT(value.size * 6 + DEST_MAX * 32); /* every byte escaped */
    struct dest_list list;

    if (dest_list_read(r, value, &list) != E_OK)
        return r->err->code;
    *ret_json = (struct slice){0};
    if (list.count == 0)
        return E_OK;
    dest_list_json(&list, &out);
    ASSERT(!out.overflowed);
    *ret_json = arena_copy(r->arena, buf_slice(&out));
    return E_OK;
}

enum err_code dest_list_canonical(struct slice json, const char *what, struct arena *arena,
                                  struct slice *ret_json, struct err *err)
{
    struct object_read r = {.arena = arena, .err = err, .key = what, .copies = true};

    return dest_list_read_canonical(&r, json, ret_json) == E_OK ? E_OK : object_blame(&r);
}
