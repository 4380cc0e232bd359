/* SPDX-License-Identifier: MIT */
#include "server/streams/events.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/process/server_state.h"
#include "server/request/reply.h"
#include "server/request/request.h"

/* ---- on the engine's thread ---- */

/* A copy of an event for the HTTP thread. */
struct event_delivery {
    struct delivery delivery;
    struct events *events;
    struct event event; /* its texts are copied below */
    char texts[];
};

static bool is_wanted(const struct events *ev, const struct event *event)
{
    if (atomic_load_explicit(&ev->subscribers, memory_order_relaxed) > 0)
        return true;
    return atomic_load_explicit(&ev->followers, memory_order_relaxed) > 0 &&
           event->kind == EVENT_JOB && job_state_ended(event->state);
}

static void deliver_event(struct delivery *d);

static struct slice copy_text(char **to, struct slice text)
{
    char *at = *to;

    if (text.size > 0)
        memcpy(at, text.data, text.size);
    *to += text.size;
    return slice_make(at, text.size);
}

void events_happened(void *ctx, const struct event *event)
{
    struct events *ev = ctx;

    if (!is_wanted(ev, event))
        return;
    if (atomic_load(&ev->pending) >= EVENTS_PENDING_MAX) {
        atomic_store(&ev->lost, true);
        return;
    }
    struct event_delivery *m = mem_alloc(sizeof(*m) + event->queue.size + event->group_kind.size +
                                         event->name.size);
    char *to = m->texts;

    m->delivery.deliver = deliver_event;
    m->events = ev;
    m->event = *event;
    m->event.queue = copy_text(&to, event->queue);
    m->event.group_kind = copy_text(&to, event->group_kind);
    m->event.name = copy_text(&to, event->name);
    atomic_fetch_add(&ev->pending, 1);
    engine_thread_send(&ev->server->engine, &m->delivery);
}

/* ---- on the HTTP thread ---- */

struct subscriber {
    struct subscriber *next, *prev;
    struct request *request;
    struct slice queue; /* lives in the request; data NULL: all */
    struct buf text;    /* from `taken` on not yet sent */
    size_t taken;
    bool over;
};

static void wake(struct subscriber *s)
{
    request_wake(s->request);
}

static void end(struct subscriber *s, const char *why)
{
    if (s->over)
        return;
    s->text.limit += SUBSCRIBER_BYTES;
    buf_addf(&s->text, ": %s\n\n", why);
    s->over = true;
    wake(s);
}

static void give(struct subscriber *s, struct slice text)
{
    if (s->over)
        return;
    if (s->text.size - s->taken + text.size > SUBSCRIBER_BYTES) {
        end(s, "too slow: events were lost");
        return;
    }
    if (s->taken != 0) {
        s->text.size -= s->taken;
        memmove(s->text.data, s->text.data + s->taken, s->text.size + 1);
        s->taken = 0;
    }
    buf_add_slice(&s->text, text);
    wake(s);
}

static void format_job(const struct event *e, struct buf *out)
{
    char id[ID_TEXT_SIZE];

    buf_addf(out, "event: job\ndata: {\"id\":\"%s\",\"queue\":", id_format(e->id, id));
    jtext_add_string(out, e->queue);
    buf_addf(out, ",\"state\":\"%s\",\"what\":\"%s\",\"at\":", job_state_name(e->state), e->what);
    jtext_add_time(out, e->at);
    buf_add_str(out, "}\n\n");
}

static void format_queue(const struct event *e, struct buf *out)
{
    buf_add_str(out, "event: queue\ndata: {\"queue\":");
    jtext_add_string(out, e->queue);
    buf_addf(out, ",\"state\":\"%s\",\"what\":\"%s\",\"at\":",
             e->queue_state == 0 ? "deleted" : queue_state_name(e->queue_state), e->what);
    jtext_add_time(out, e->at);
    buf_add_str(out, "}\n\n");
}

static void format_group(const struct event *e, struct buf *out)
{
    char id[ID_TEXT_SIZE];

    buf_addf(out, "event: group\ndata: {\"id\":\"%s\",\"kind\":", id_format(e->id, id));
    jtext_add_string(out, e->group_kind);
    jtext_put_string(out, "name", e->name);
    buf_addf(out, ",\"state\":\"%s\",\"what\":\"%s\",\"at\":", group_state_name(e->group_state),
             e->what);
    jtext_add_time(out, e->at);
    buf_add_str(out, "}\n\n");
}

static void format_schedule(const struct event *e, struct buf *out)
{
    char id[ID_TEXT_SIZE];

    buf_add_str(out, "event: schedule\ndata: {\"schedule\":");
    jtext_add_string(out, e->queue);
    buf_addf(out, ",\"what\":\"%s\"", e->what);
    if (e->nominal_at != 0)
        jtext_put_time(out, "nominal", e->nominal_at);
    if (e->id != 0)
        jtext_put_string(out, "job", slice_of(id_format(e->id, id)));
    jtext_put_time(out, "at", e->at);
    buf_add_str(out, "}\n\n");
}

static void format_event(const struct event *e, struct buf *out)
{
    switch (e->kind) {
    case EVENT_JOB: format_job(e, out); break;
    case EVENT_QUEUE: format_queue(e, out); break;
    case EVENT_SCHEDULE: format_schedule(e, out); break;
    case EVENT_GROUP: format_group(e, out); break;
    }
}

static void deliver_event(struct delivery *d)
{
    struct event_delivery *em = (struct event_delivery *)d;
    struct events *ev = em->events;

    atomic_fetch_sub(&ev->pending, 1);
    CLEANUP(buf) struct buf text = BUF_INIT(4096);

    for (struct subscriber *s = ev->first; s != NULL; s = s->next) {
        if (s->queue.data != NULL &&
            (em->event.kind == EVENT_SCHEDULE || !slice_equal(s->queue, em->event.queue)))
            continue;
        if (text.size == 0)
            format_event(&em->event, &text);
        give(s, buf_slice(&text));
    }
    if (em->event.kind == EVENT_JOB && job_state_ended(em->event.state))
        log_follow_heard(&ev->server->follow, em->event.id);
    if (atomic_exchange(&ev->lost, false)) {
        for (struct subscriber *s = ev->first; s != NULL; s = s->next)
            end(s, "too much at once: events were lost");
        log_follow_heard(&ev->server->follow, LOG_FOLLOW_ALL);
    }
    free(em);
}

/* Sends a comment line now and then: keeps the connection open and detects subscribers that
 * left. */
static void beat(struct timer *t)
{
    struct events *ev = (struct events *)((char *)t - offsetof(struct events, heartbeat));
    struct http *h = &ev->server->http;

    for (struct subscriber *s = ev->first; s != NULL; s = s->next)
        give(s, SLICE(":\n\n"));
    if (ev->first != NULL)
        timer_set(&h->timers, t, h->now_at + HEARTBEAT_US);
}

void events_init(struct events *ev, struct server *server)
{
    *ev = (struct events){.server = server, .heartbeat.fire = beat};
}

void events_stop(struct events *ev)
{
    for (struct subscriber *s = ev->first; s != NULL; s = s->next)
        end(s, "the server is stopping");
}

/* ---- GET /v1/events ---- */

static ssize_t read_text(struct request *r, char *to, size_t max)
{
    struct subscriber *s = r->state;
    size_t left = s->text.size - s->taken;

    if (left == 0)
        return s->over ? STREAM_END : STREAM_WAIT;
    size_t n = left < max ? left : max;

    memcpy(to, s->text.data + s->taken, n);
    s->taken += n;
    return (ssize_t)n;
}

static void unsubscribe(struct request *r)
{
    struct events *ev = &r->server->events;
    struct subscriber *s = r->state;

    if (s->next != NULL)
        s->next->prev = s->prev;
    if (s->prev != NULL)
        s->prev->next = s->next;
    else
        ev->first = s->next;
    atomic_fetch_sub(&ev->subscribers, 1);
    buf_deinit(&s->text);
    free(s);
}

static void subscribe(struct request *r)
{
    struct events *ev = &r->server->events;
    struct http *h = &r->server->http;
    struct subscriber *s = mem_zalloc(sizeof(*s));

    s->request = r;
    s->queue = request_param(r, "queue");
    s->text = BUF_INIT(SUBSCRIBER_BYTES);
    buf_add_str(&s->text, "retry: 1000\n\n");
    s->next = ev->first;
    if (ev->first != NULL)
        ev->first->prev = s;
    ev->first = s;
    atomic_fetch_add(&ev->subscribers, 1);
    if (!timer_is_set(&ev->heartbeat))
        timer_set(&h->timers, &ev->heartbeat, h->now_at + HEARTBEAT_US);
    r->state = s;
    r->cleanup = unsubscribe;
    reply_stream(r, STREAM_ENDLESS, TYPE_EVENTS, read_text);
    r->status = 200;
}

/* A mistyped queue would never send an event. */
static void queue_is_looked_up(struct request *r)
{
    if (r->reading.query.err.code != E_OK)
        request_answer_query(r);
    else
        subscribe(r);
}

enum err_code events_subscribe(struct request *r, struct err *err)
{
    struct slice queue = request_param(r, "queue");

    if (atomic_load(&r->server->events.subscribers) >= SUBSCRIBERS_MAX)
        return err_set(err, E_TOO_MANY, "at most %d can listen to events", SUBSCRIBERS_MAX);
    if (queue.data == NULL) {
        subscribe(r);
        return E_OK;
    }
    request_query(r, QUERY_QUEUE)->name = queue;
    request_read(r, NULL, queue_is_looked_up);
    return E_OK;
}
