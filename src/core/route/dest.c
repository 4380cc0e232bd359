/* SPDX-License-Identifier: MIT */
#include "core/route/dest.h"

#include <inttypes.h>

#include "base/json/json.h"
#include "base/text/utf8.h"
#include "core/object/quote.h"
#include "core/object/unknown_key.h"

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
    const char *what;
    size_t index;
    bool listed; /* it is one of a list, and `index` says which */
    struct arena *arena;
    const struct dest_faults *faults; /* or NULL */
    const char *fault_at;
    struct err *err;
};

/* "what[2]" in front of the message; and ".member", unless that is NULL. */
static enum err_code blame(struct dest_read *r, const char *member, const char *fault_at)
{
    const char *dot = member == NULL ? "" : ".";

    r->fault_at = fault_at;
    member = member == NULL ? "" : member;
    if (r->listed)
        return err_wrap(r->err, "%s[%zu]%s%s", r->what, r->index, dot, member);
    return err_wrap(r->err, "%s%s%s", r->what, dot, member);
}

static enum err_code read_name(struct dest_read *r, enum dest_kind kind, struct slice value,
                               struct dest *d)
{
    struct quote quote;

    if (json_type_of(value) != JSON_T_STRING)
        return err_set(r->err, E_INVALID, "must be the name of a %s, not %s", kind_names[kind],
                       quote_json(&quote, value));
    d->kind = kind;
    d->name = arena_copy(r->arena, json_text(value, r->arena));
    return dest_name_check(kind_names[kind], d->name, r->err);
}

static enum err_code read_params(struct dest_read *r, struct slice value, struct dest *d)
{
    struct quote quote;

    if (json_type_of(value) != JSON_T_OBJECT)
        return err_set(r->err, E_INVALID, "must be an object, not %s", quote_json(&quote, value));
    d->params = json_compact(value, r->arena);
    return E_OK;
}

static enum err_code read_count(struct dest_read *r, struct slice value, struct dest *d)
{
    struct quote quote;

    if (json_type_of(value) != JSON_T_INT || json_int(value) < 1 ||
        json_int(value) > SIGNAL_COUNT_MAX)
        return err_set(r->err, E_INVALID, "must be a whole number from 1 to %" PRId64 ", not %s",
                       SIGNAL_COUNT_MAX, quote_json(&quote, value));
    d->count = json_int(value);
    return E_OK;
}

static enum err_code unknown_member(struct dest_read *r, struct slice name)
{
    static const char *const words[] = {"queue", "topic", "join", "signal", "params", "count"};

    (void)unknown_key(json_text(name, r->arena), words, ARRAY_LEN(words), NULL, r->err);
    return blame(r, NULL, name.data);
}

/* The member that says where it leads; *ret_kind is untouched when there is none or are several. */
static bool find_kind(struct slice object, enum dest_kind *ret_kind, struct slice *ret_name)
{
    size_t found = 0;

    for (unsigned kind = DEST_QUEUE; kind <= DEST_SIGNAL; kind++)
        if (json_find(object, kind_names[kind], ret_name)) {
            *ret_kind = (enum dest_kind)kind;
            found++;
        }
    return found == 1 && json_find(object, kind_names[*ret_kind], ret_name);
}

static enum err_code read_member(struct dest_read *r, struct slice name, struct slice value,
                                 struct dest *d)
{
    bool carries = d->kind == DEST_QUEUE || d->kind == DEST_TOPIC;

    if (json_key_is(name, kind_names[d->kind]))
        return E_OK;
    if (json_key_is(name, "params")) {
        if (!carries)
            (void)err_set(r->err, E_INVALID, "is for queues and topics, not for a %s",
                          kind_names[d->kind]);
        else if (read_params(r, value, d) == E_OK)
            return E_OK;
        return blame(r, "params", value.data);
    }
    if (json_key_is(name, "count")) {
        if (d->kind != DEST_SIGNAL)
            (void)err_set(r->err, E_INVALID, "is for signals, not for a %s", kind_names[d->kind]);
        else if (read_count(r, value, d) == E_OK)
            return E_OK;
        return blame(r, "count", value.data);
    }
    return unknown_member(r, name);
}

static enum err_code read_unclear(struct dest_read *r, struct slice object)
{
    struct slice name;
    struct slice value;

    for (struct json_iter it = json_members(object); json_next_member(&it, &name, &value);) {
        bool known = json_key_is(name, "params") || json_key_is(name, "count");

        for (unsigned kind = DEST_QUEUE; kind <= DEST_SIGNAL; kind++)
            known |= json_key_is(name, kind_names[kind]);
        if (!known)
            return unknown_member(r, name);
    }
    (void)err_set(r->err, E_INVALID, "must have one of queue, topic, join and signal");
    return blame(r, NULL, object.data);
}

static enum err_code read_object(struct dest_read *r, struct slice object, struct dest *d)
{
    enum dest_kind kind = DEST_QUEUE;
    struct slice name;
    struct slice value;

    if (!find_kind(object, &kind, &value))
        return read_unclear(r, object);
    if (read_name(r, kind, value, d) != E_OK)
        return blame(r, kind_names[kind], value.data);
    for (struct json_iter it = json_members(object); json_next_member(&it, &name, &value);)
        if (read_member(r, name, value, d) != E_OK)
            return r->err->code;
    return E_OK;
}

static enum err_code read_dest(struct dest_read *r, struct slice value, struct dest *d)
{
    struct quote quote;

    d->count = 1;
    if (json_type_of(value) == JSON_T_OBJECT)
        return read_object(r, value, d);
    if (json_type_of(value) == JSON_T_STRING) {
        if (read_name(r, DEST_QUEUE, value, d) == E_OK)
            return E_OK;
    } else {
        (void)err_set(r->err, E_INVALID,
                      "must be the name of a queue, or {queue: …}, {topic: …}, {join: …} or "
                      "{signal: …}, not %s",
                      quote_json(&quote, value));
    }
    return blame(r, NULL, value.data);
}

/* One of a list. */
static enum err_code read_item(struct dest_read *r, struct slice item, struct dest *d)
{
    if (read_dest(r, item, d) == E_OK)
        return E_OK;
    if (r->faults == NULL || !r->faults->take(r->faults->ctx, r->fault_at))
        return r->err->code;
    d->name = (struct slice){0};
    return E_OK;
}

static enum err_code read_list(struct dest_read *r, struct slice json, struct dest_list *list)
{
    struct slice item;

    if (json_type_of(json) != JSON_T_ARRAY) {
        list->items = arena_array(r->arena, 1, sizeof(*list->items));
        list->count = 1;
        return read_dest(r, json, list->items);
    }
    list->count = json_count_items(json);
    r->fault_at = json.data;
    if (list->count > DEST_MAX)
        return err_set(r->err, E_INVALID, "%s: must have at most %d destinations, not %zu", r->what,
                       DEST_MAX, list->count);
    list->items = arena_array(r->arena, list->count + 1, sizeof(*list->items));
    r->listed = true;
    for (struct json_iter it = json_items(json); json_next_item(&it, &item); r->index++)
        if (read_item(r, item, &list->items[r->index]) != E_OK)
            return r->err->code;
    return E_OK;
}

static enum err_code parse_list(struct slice json, struct dest_read *r, struct dest_list *ret_list,
                                const char **fault_at)
{
    struct dest_list list = {0};

    if (read_list(r, json, &list) != E_OK) {
        if (fault_at != NULL)
            *fault_at = r->fault_at;
        return r->err->code;
    }
    *ret_list = list;
    return E_OK;
}

enum err_code dest_list_parse(struct slice json, const char *what, struct arena *arena,
                              struct dest_list *ret_list, const char **fault_at, struct err *err)
{
    struct dest_read r = {.what = what, .arena = arena, .err = err};

    return parse_list(json, &r, ret_list, fault_at);
}

enum err_code dest_list_parse_each(struct slice json, const struct dest_faults *faults,
                                   struct arena *arena, struct dest_list *ret_list,
                                   const char **fault_at, struct err *err)
{
    struct dest_read r = {.what = faults->what, .arena = arena, .faults = faults, .err = err};

    return parse_list(json, &r, ret_list, fault_at);
}

bool dest_list_is_sound(const struct dest_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].name.size == 0)
            return false;
    return list->count > 0;
}

/* ---- writing ---- */

static void add_dest(const struct dest *d, struct buf *out)
{
    buf_add_char(out, '{');
    json_put_string(out, kind_names[d->kind], d->name);
    if (d->params.size > 0)
        json_put_raw(out, "params", d->params);
    if (d->kind == DEST_SIGNAL && d->count != 1)
        json_put_int(out, "count", d->count);
    buf_add_char(out, '}');
}

void dest_list_json(const struct dest_list *list, struct buf *out)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        add_dest(&list->items[i], out);
    }
    buf_add_char(out, ']');
}

enum err_code dest_list_canonical(struct slice json, const char *what, struct arena *arena,
                                  struct slice *ret_json, struct err *err)
{
    CLEANUP(buf) struct buf out = BUF_INIT(json.size * 6 + DEST_MAX * 32); /* every byte escaped */
    struct dest_list list;

    if (dest_list_parse(json, what, arena, &list, NULL, err) != E_OK)
        return err->code;
    *ret_json = (struct slice){0};
    if (list.count == 0)
        return E_OK;
    dest_list_json(&list, &out);
    ASSERT(!out.overflowed);
    *ret_json = arena_copy(arena, buf_slice(&out));
    return E_OK;
}
