/*
 * Topics and offers: the subscriptions of this worker, and what the server's queues are subscribed to.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/json/json.h"
#include "core/object/quote.h"
#include "core/route/dest.h"
#include "worker/talk/offers.h"

/* ---- subscriptions of this worker ---- */

struct subscription *offers_subscription(const struct offers *o, struct slice queue)
{
    for (size_t i = 0; i < o->n_subscriptions; i++)
        if (o->subscriptions[i].queue != NULL && slice_is(queue, o->subscriptions[i].queue))
            return &o->subscriptions[i];
    return NULL;
}

void offers_subscribed(struct offers *o, size_t subscription, struct slice queue)
{
    struct subscription *s = &o->subscriptions[subscription];

    free(s->queue);
    s->queue = mem_strndup(queue.data, queue.size);
    s->missing = false;
}

void offers_found(struct offers *o, struct slice queue)
{
    for (size_t i = 0; i < o->n_subscriptions; i++)
        if (o->subscriptions[i].queue != NULL && slice_is(queue, o->subscriptions[i].queue))
            o->subscriptions[i].missing = false;
}

bool offers_lack_one(const struct offers *o)
{
    for (size_t i = 0; i < o->n_subscriptions; i++)
        if (o->subscriptions[i].missing)
            return true;
    return false;
}

/* ---- what all queues are subscribed to ---- */

static void add_topic(struct offers *o, struct slice text, struct arena *arena)
{
    if (json_type_of(text) != JSON_T_STRING)
        return;
    text = json_text(text, arena);
    VEC_PUSH(&o->topics, mem_strndup(text.data, text.size));
}

void offers_note_topics(struct offers *o, struct slice definition, struct arena *arena)
{
    struct slice value;
    struct slice item;

    if (json_find(definition, "subscribe", &value) && json_type_of(value) == JSON_T_ARRAY)
        for (struct json_iter it = json_items(value); json_next_item(&it, &item);)
            add_topic(o, item, arena);
    else if (json_find(definition, "subscribe", &value))
        add_topic(o, value, arena);
    if (json_find(definition, "subscriber", &value) && json_type_of(value) == JSON_T_OBJECT &&
        json_find(value, "topic", &item))
        add_topic(o, item, arena);
}

enum err_code offers_check_topic(const struct offers *o, struct slice topic, struct err *err)
{
    struct quote quote;

    for (size_t i = 0; i < o->names.count; i++)
        if (slice_is(topic, o->names.items[i]))
            return E_OK;
    for (size_t i = 0; i < o->topics.count; i++)
        if (topic_matches(slice_of(o->topics.items[i]), topic))
            return E_OK;
    return err_set(err, E_INVALID, "nobody is subscribed to topic %s", quote_text(&quote, topic));
}
