/*
 * Subscriptions: each topic gets a queue at the server for this worker's name.
 *
 * They are sent one after the other, at the start and after every loss of the connection, because
 * another server may answer then.  A topic that the server refuses is skipped until then.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "worker/client/url.h"
#include "worker/internal.h"
#include "worker/talk/internal.h"

#define AGAIN_US (5 * US_PER_S)

enum { PATH_SIZE_MAX = 1024, BODY_SIZE_MAX = 2048, PATIENCE_S = 60 };

/* The name that the server gave the queue. */
static enum err_code read_queue(struct slice text, struct arena *arena, struct slice *ret_queue,
                                struct err *err)
{
    struct slice reply;
    struct slice queue;

    if (jtext_check(text, &reply, err) != E_OK)
        return err_wrap(err, "the server's reply to a subscription");
    if (jtext_type_of(reply) != JTEXT_OBJECT || !jtext_find(reply, "queue", &queue) ||
        jtext_type_of(queue) != JTEXT_STRING)
        return err_set(err, E_INTERNAL, "the server's reply to a subscription names no queue");
    *ret_queue = jtext_text(queue, arena);
    return E_OK;
}

/* Errors that a repetition would not change. */
static bool is_refusal(enum err_code code)
{
    return code == E_INVALID || code == E_BAD_REQUEST || code == E_FORBIDDEN ||
           code == E_NOT_FOUND || code == E_CONFLICT || code == E_TOO_LARGE;
}

static void on_subscribed(void *ctx, const struct async_reply *reply)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct worker *w = ctx;
    const char *topic = w->config.topics[w->talk.subscribed];
    struct err err = reply->err;
    struct slice queue;

    w->talk.subscribe_request = NULL;
    if (err.code == E_OK && read_queue(reply->text, &arena, &queue, &err) == E_OK) {
        log_info("topic %s: subscribed, by queue %.*s", topic, (int)queue.size, queue.data);
        served_queues_subscribed(&w->served, w->talk.subscribed, queue);
        w->served.known = false;
    } else if (is_refusal(err.code)) {
        log_error("topic %s: the server refuses the subscription: %s", topic, err.msg);
    } else {
        talk_pause(w, reply, &err);
        return;
    }
    w->talk.subscribed++;
}

static void send_subscription(struct worker *w)
{
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_SIZE_MAX);
    CLEANUP(buf) struct buf body = BUF_INIT(BODY_SIZE_MAX);
    char lifetime[DURATION_TEXT_SIZE];

    buf_add_str(&path, "/v1/topics/");
    client_add_escaped(&path, slice_of(w->config.topics[w->talk.subscribed]));
    buf_add_str(&path, "/subscribe");
    buf_add_str(&body, "{\"worker\":");
    jtext_add_string(&body, slice_of(w->name));
    jtext_put_string(&body, "lifetime", slice_of(duration_format(w->config.lifetime_us, lifetime)));
    buf_add_char(&body, '}');
    ASSERT(!path.overflowed && !body.overflowed);
    w->talk.subscribe_request = async_client_send(w->client,
                                                  &(struct async_call){.method = "POST",
                                                                       .path = buf_text(&path),
                                                                       .body = buf_slice(&body),
                                                                       .patience_s = PATIENCE_S,
                                                                       .done = on_subscribed,
                                                                       .ctx = w});
}

bool talk_subscribe(struct worker *w)
{
    struct talk *t = &w->talk;

    if (t->subscribed == w->config.n_topics)
        return false;
    if (t->subscribe_at > worker_now(w)) {
        worker_wake_at(w, t->subscribe_at);
        return false;
    }
    if (t->subscribe_request == NULL)
        send_subscription(w);
    return true;
}

void talk_check_subscriptions(struct worker *w)
{
    if (!served_queues_lack_subscription(&w->served))
        return;
    w->talk.subscribed = 0;
    w->talk.subscribe_at = worker_now(w) + AGAIN_US;
}
