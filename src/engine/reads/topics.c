/*
 * Topics: one exists while a queue is subscribed to it.
 */
/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "core/route/dest.h"
#include "engine/reads/internal.h"

/* A queue and what it is subscribed to: one topic, or all that match a pattern. */
struct subscription {
    struct slice topic;
    struct slice queue;
};

struct subscriptions {
    VEC(struct subscription) exact;
    VEC(struct subscription) patterns;
};

static void subscriptions_deinit(struct subscriptions *s)
{
    VEC_DEINIT(&s->exact);
    VEC_DEINIT(&s->patterns);
}

static void add_exact(struct subscriptions *s, struct slice topic, struct slice queue)
{
    VEC_PUSH(&s->exact, ((struct subscription){.topic = topic, .queue = queue}));
}

/* A worker's own queue is subscribed to its topic alone, any other to its own name and to what its
 * definition says. */
static enum err_code take_queue(struct query_view *v, const struct stored_queue *q,
                                struct subscriptions *s, struct err *err)
{
    struct queue_def def;

    if (queue_def_parse_stored(q->definition, &v->arena, &def, err) != E_OK)
        return err_wrap(err, "queue %s", q->name.data);
    if (def.subscriber_worker.size > 0) {
        if (queue_state_takes(q->state))
            add_exact(s, def.subscriber_topic, q->name);
        return E_OK;
    }
    add_exact(s, q->name, q->name);
    for (size_t i = 0; i < def.n_subscribe; i++) {
        struct slice topic = def.subscribe[i];

        if (topic.size >= 2 && memcmp(topic.data + topic.size - 2, ".*", 2) == 0)
            VEC_PUSH(&s->patterns, ((struct subscription){.topic = topic, .queue = q->name}));
        else
            add_exact(s, topic, q->name);
    }
    return E_OK;
}

static int compare_texts(struct slice a, struct slice b)
{
    size_t size = a.size < b.size ? a.size : b.size;
    int order = size == 0 ? 0 : memcmp(a.data, b.data, size);

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare(const void *a, const void *b)
{
    const struct subscription *x = a;
    const struct subscription *y = b;
    int order = compare_texts(x->topic, y->topic);

    return order != 0 ? order : compare_texts(x->queue, y->queue);
}

static enum err_code gather(struct query_view *v, struct subscriptions *s, struct err *err)
{
    for (size_t i = 0; i < v->queues.count; i++)
        if (take_queue(v, &v->queues.items[i], s, err) != E_OK)
            return err->code;
    if (s->exact.count > 0)
        qsort(s->exact.items, s->exact.count, sizeof(*s->exact.items), compare);
    if (s->patterns.count > 0)
        qsort(s->patterns.items, s->patterns.count, sizeof(*s->patterns.items), compare);
    return E_OK;
}

/* ---- one topic: a run of exact ones, and the patterns that it matches ---- */

struct topic {
    struct slice name;
    const struct subscription *first;
    size_t count;
};

static bool is_among(const struct topic *t, struct slice queue)
{
    for (size_t i = 0; i < t->count; i++)
        if (slice_equal(t->first[i].queue, queue))
            return true;
    return false;
}

static void add_queue(struct buf *b, struct slice queue)
{
    jtext_add_comma(b);
    jtext_add_string(b, queue);
}

/* A queue with two patterns that match counts once. */
static bool is_first_match(const struct subscriptions *s, size_t i, struct slice topic)
{
    for (size_t j = 0; j < i; j++)
        if (slice_equal(s->patterns.items[j].queue, s->patterns.items[i].queue) &&
            topic_matches(s->patterns.items[j].topic, topic))
            return false;
    return true;
}

/* Returns the number of subscribed queues. */
static size_t add_topic(struct buf *b, const struct subscriptions *s, const struct topic *t)
{
    size_t n = 0;

    buf_add_char(b, '{');
    jtext_put_string(b, "name", t->name);
    buf_add_str(b, ",\"queues\":[");
    for (size_t i = 0; i < t->count; i++)
        if (i == 0 || !slice_equal(t->first[i].queue, t->first[i - 1].queue)) {
            add_queue(b, t->first[i].queue);
            n++;
        }
    for (size_t i = 0; i < s->patterns.count; i++)
        if (topic_matches(s->patterns.items[i].topic, t->name) &&
            !is_among(t, s->patterns.items[i].queue) && is_first_match(s, i, t->name)) {
            add_queue(b, s->patterns.items[i].queue);
            n++;
        }
    buf_add_str(b, "]}");
    return n;
}

/* The run of those with the same name, from `at` on. */
static struct topic run_at(const struct subscription *items, size_t count, size_t at)
{
    struct topic t = {.name = items[at].topic, .first = &items[at], .count = 1};

    while (at + t.count < count && slice_equal(items[at + t.count].topic, t.name))
        t.count++;
    return t;
}

static void add_all(struct buf *b, const struct subscriptions *s)
{
    for (size_t at = 0; at < s->exact.count;) {
        struct topic t = run_at(s->exact.items, s->exact.count, at);

        jtext_add_comma(b);
        (void)add_topic(b, s, &t);
        at += t.count;
    }
}

/* Adds patterns as they are: no list has the topics that they match. */
static void add_patterns(struct buf *b, const struct subscriptions *s)
{
    const struct subscriptions none = {.patterns = VEC_INIT};

    for (size_t at = 0; at < s->patterns.count;) {
        struct topic t = run_at(s->patterns.items, s->patterns.count, at);

        jtext_add_comma(b);
        (void)add_topic(b, &none, &t);
        at += t.count;
    }
}

enum err_code query_topics(struct query_view *v, struct query *q, struct err *err)
{
    struct subscriptions s = {.exact = VEC_INIT, .patterns = VEC_INIT};
    enum err_code code = gather(v, &s, err);

    buf_add_str(&q->reply, "{\"topics\":[");
    if (code == E_OK) {
        add_all(&q->reply, &s);
        add_patterns(&q->reply, &s);
    }
    buf_add_str(&q->reply, "]}");
    subscriptions_deinit(&s);
    return code;
}

enum err_code query_topic(struct query_view *v, struct query *q, struct err *err)
{
    struct subscriptions s = {.exact = VEC_INIT, .patterns = VEC_INIT};
    struct topic t = {.name = q->name};
    struct quote quote;
    enum err_code code = gather(v, &s, err);

    for (size_t i = 0; i < s.exact.count && t.count == 0; i++)
        if (slice_equal(s.exact.items[i].topic, q->name))
            t = run_at(s.exact.items, s.exact.count, i);
    if (code == E_OK && add_topic(&q->reply, &s, &t) == 0)
        code = err_set(err, E_NOT_FOUND, "nobody is subscribed to the topic %s",
                       quote_text(&quote, q->name));
    subscriptions_deinit(&s);
    return code;
}
