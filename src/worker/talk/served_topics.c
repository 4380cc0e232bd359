/*
 * Topics: the subscriptions of this worker, and the topics that all queues are subscribed to.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "core/route/dest.h"
#include "worker/talk/served_queues.h"

/* ---- subscriptions of this worker ---- */

struct subscription *served_queues_subscription(const struct served_queues *all, struct slice queue)
{
    for (size_t i = 0; i < all->n_subscriptions; i++)
        if (all->subscriptions[i].queue != NULL && slice_is(queue, all->subscriptions[i].queue))
            return &all->subscriptions[i];
    return NULL;
}

void served_queues_subscribed(struct served_queues *all, size_t subscription, struct slice queue)
{
    struct subscription *s = &all->subscriptions[subscription];

    free(s->queue);
    s->queue = mem_strndup(queue.data, queue.size);
    s->missing = false;
}

void served_queues_found(struct served_queues *all, struct slice queue)
{
    for (size_t i = 0; i < all->n_subscriptions; i++)
        if (all->subscriptions[i].queue != NULL && slice_is(queue, all->subscriptions[i].queue))
            all->subscriptions[i].missing = false;
}

bool served_queues_lack_subscription(const struct served_queues *all)
{
    for (size_t i = 0; i < all->n_subscriptions; i++)
        if (all->subscriptions[i].missing)
            return true;
    return false;
}

/* ---- what all queues are subscribed to ---- */

static void add_topic(struct served_queues *all, struct slice text, struct arena *arena)
{
    if (jtext_type_of(text) != JTEXT_STRING)
        return;
    text = jtext_text(text, arena);
    VEC_PUSH(&all->topics, mem_strndup(text.data, text.size));
}

void served_queues_note_topics(struct served_queues *all, struct slice definition,
                               struct arena *arena)
{
    struct slice value;
    struct slice item;

    if (jtext_find(definition, "subscribe", &value) && jtext_type_of(value) == JTEXT_ARRAY)
        for (struct jtext_iter it = jtext_items(value); jtext_next_item(&it, &item);)
            add_topic(all, item, arena);
    else if (jtext_find(definition, "subscribe", &value))
        add_topic(all, value, arena);
    if (jtext_find(definition, "subscriber", &value) && jtext_type_of(value) == JTEXT_OBJECT &&
        jtext_find(value, "topic", &item))
        add_topic(all, item, arena);
}

enum err_code served_queues_check_topic(const struct served_queues *all, struct slice topic,
                                        struct err *err)
{
    struct quote quote;

    for (size_t i = 0; i < all->names.count; i++)
        if (slice_is(topic, all->names.items[i]))
            return E_OK;
    for (size_t i = 0; i < all->topics.count; i++)
        if (topic_matches(slice_of(all->topics.items[i]), topic))
            return E_OK;
    return err_set(err, E_INVALID, "nobody is subscribed to topic %s", quote_text(&quote, topic));
}
