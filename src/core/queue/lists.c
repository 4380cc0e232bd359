/* SPDX-License-Identifier: MIT */
#include "core/queue/lists.h"

#include <inttypes.h>

#include "base/json/json.h"
#include "core/object/quote.h"
#include "core/queue/def.h"
#include "core/queue/values.h"

static bool take_dest(void *ctx, const char *fault_at)
{
    struct queue_read *r = ctx;

    r->fault_at = fault_at;
    return queue_read_goes_on(r);
}

enum err_code queue_dests_read(struct queue_read *r, const struct queue_key *key,
                               struct slice value)
{
    struct dest_list *list = (struct dest_list *)(void *)((char *)r->def + key->offset);

    const struct dest_faults faults = {.what = key->name, .take = take_dest, .ctx = r};

    return dest_list_parse_each(value, &faults, r->arena, list, &r->fault_at, r->err);
}

/* A `*` elsewhere would look like a pattern and match nothing.  Stores may have such subscriptions. */
static enum err_code check_pattern(struct slice topic, struct err *err)
{
    const char *star = memchr(topic.data, '*', topic.size);
    struct quote quote;

    if (star == NULL ||
        (star > topic.data && star[-1] == '.' && star + 1 == topic.data + topic.size))
        return E_OK;
    return err_set(err, E_INVALID,
                   "%s: a '*' is only for the end, after a '.': site.* is all topics that begin "
                   "with 'site.'",
                   quote_text(&quote, topic));
}

static enum err_code read_topic(struct queue_read *r, struct slice value)
{
    struct quote quote;

    if (json_type_of(value) != JSON_T_STRING)
        return err_set(r->err, E_INVALID, "must be the name of a topic or a list of them, not %s",
                       quote_json(&quote, value));
    struct slice topic = arena_copy(r->arena, json_text(value, r->arena));

    r->def->subscribe[r->def->n_subscribe++] = topic;
    if (dest_name_check("topic", topic, r->err) != E_OK)
        return r->err->code;
    return r->stored ? E_OK : check_pattern(topic, r->err);
}

enum err_code queue_topics_read(struct queue_read *r, const struct queue_key *key,
                                struct slice value)
{
    bool listed = json_type_of(value) == JSON_T_ARRAY;
    size_t count = listed ? json_count_items(value) : 1;
    struct slice item;

    if (count > (size_t)key->max)
        return err_set(r->err, E_INVALID, "must have at most %" PRId64 " topics, not %zu", key->max,
                       count);
    r->def->n_subscribe = 0;
    r->def->subscribe = arena_array(r->arena, count + 1, sizeof(*r->def->subscribe));
    if (!listed)
        return read_topic(r, value);
    for (struct json_iter it = json_items(value); json_next_item(&it, &item);)
        if (read_topic(r, item) != E_OK) {
            r->fault_at = item.data;
            if (!queue_read_part_goes_on(r, key))
                return r->err->code;
        }
    return E_OK;
}

void queue_topics_write(const struct queue_def *def, struct buf *out)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < def->n_subscribe; i++) {
        json_add_comma(out);
        json_add_string(out, def->subscribe[i]);
    }
    buf_add_char(out, ']');
}
