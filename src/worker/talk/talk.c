/*
 * Requests: when they are sent, which are under way, and what follows when a reply is lost.
 */
/* SPDX-License-Identifier: MIT */
#include "worker/talk/talk.h"

#include "base/os/fault.h"
#include "base/os/log.h"
#include "worker/client/async_client.h"
#include "worker/internal.h"
#include "worker/talk/internal.h"

#define WAIT_TEXT "50s"
#define WAIT_A_TURN_TEXT "1s" /* when queues are named in turns */
#define BODY_MAX ((size_t)32 << 20)
#define GATHER_US (5 * US_PER_MS) /* finishes are collected for this long while jobs wait */
#define WAKE_AGAIN_US (20 * US_PER_MS)
#define WAKE_LAST_US (1 * US_PER_S)
#define SILENCE_US (10 * US_PER_S) /* of a server that has never replied */
#define PAUSE_FIRST_US (100 * US_PER_MS)
#define PAUSE_CAP_US (5 * US_PER_S)
#define PAUSE_NEAR_CAP_US (500 * US_PER_MS) /* after 503 */

enum {
    SHORT_PATIENCE_S = 60,
    WAITING_PATIENCE_S = 110,
};

void talk_init(struct worker *w)
{
    w->talk = (struct talk){.send_all_held = true,
                            .send_description = true,
                            .body = BUF_INIT(BODY_MAX),
                            .heartbeat_at = TIME_NEVER,
                            .wake_again_at = TIME_NEVER};
}

/* ---- requests under way ---- */

static void delist(struct talk_request *r)
{
    struct talk *t = &r->worker->talk;

    if (r->prev != NULL)
        r->prev->next = r->next;
    else
        t->requests = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
    t->reserved -= r->max;
    for (size_t i = 0; i < r->reserved.count; i++) {
        struct talk_reservation *room = &r->reserved.items[i];

        room->served->reserved -= room->count;
        served_queues_release(&r->worker->served, room->served);
    }
    if (r->kind == TALK_WAIT) {
        t->waiting = t->woken = false;
        t->wake_again_at = TIME_NEVER;
        t->wake_pause_us = 0;
    }
    if (r->wakes && t->woken) {
        t->wake_pause_us = t->wake_pause_us == 0 ? WAKE_AGAIN_US : t->wake_pause_us * 2;
        t->wake_again_at = worker_now(r->worker) + t->wake_pause_us;
    }
    if (r->kind == TALK_LISTEN)
        t->listening = false;
}

static void request_free(struct talk_request *r)
{
    VEC_DEINIT(&r->finishes);
    VEC_DEINIT(&r->touches);
    VEC_DEINIT(&r->reserved);
    free(r);
}

static struct talk_request *waiting_request(const struct worker *w)
{
    struct talk_request *r = w->talk.requests;

    while (r != NULL && r->kind != TALK_WAIT)
        r = r->next;
    return r;
}

static void request_cancel(struct talk_request *r)
{
    async_client_cancel(r->call);
    delist(r);
    request_free(r);
}

void talk_deinit(struct worker *w)
{
    while (w->talk.requests != NULL)
        request_cancel(w->talk.requests);
    if (w->talk.queues_request != NULL)
        async_client_cancel(w->talk.queues_request);
    if (w->talk.subscribe_request != NULL)
        async_client_cancel(w->talk.subscribe_request);
    buf_deinit(&w->talk.body);
}

void talk_forget(struct task *t)
{
    for (struct talk_request *r = t->worker->talk.requests; r != NULL; r = r->next)
        for (size_t i = 0; i < r->touches.count; i++)
            if (r->touches.items[i].task == t)
                r->touches.items[i].task = NULL;
}

/* ---- the server is away ---- */

void talk_pause(struct worker *w, const struct async_reply *reply, const struct err *why)
{
    struct talk *t = &w->talk;
    int64_t cap_us = reply->status == 503 ? PAUSE_NEAR_CAP_US : PAUSE_CAP_US;

    t->pause_us = t->pause_us == 0 ? PAUSE_FIRST_US : t->pause_us * 2;
    if (t->pause_us > cap_us)
        t->pause_us = cap_us;
    t->resume_at = worker_now(w) + t->pause_us;
    if (!t->is_refused && why->code == E_CONFLICT)
        log_error("%s; asking again until it is free", why->msg);
    else if (!t->disconnected && (why->code == E_UNAUTHORIZED || reply->status == 403))
        log_error("%s refuses this worker: %s (its token goes into WAYBILL_TOKEN or a file: "
                  "--token-file)",
                  async_client_server(w->client), why->msg);
    else if (!t->disconnected)
        log_warn("%s; %zu running jobs continue", why->msg, w->n_tasks);
    t->is_refused = why->code == E_CONFLICT;
    t->disconnected = true;
    t->send_description = true; /* another server may reply next, with other queues */
    w->served.known = false;
    t->subscribed = 0;
    if (t->subscribe_request != NULL)
        async_client_cancel(STEAL(t->subscribe_request));
}

static void resume_talk(struct worker *w)
{
    struct talk *t = &w->talk;

    if (t->is_refused)
        log_info("the name %s is accepted now", w->name);
    else if (!t->connected_once && w->config.announces)
        log_info("connected to %s as worker %s", async_client_server(w->client), w->name);
    else if (t->disconnected)
        log_info("the server is back");
    t->is_refused = false;
    t->connected_once = true;
    t->disconnected = false;
    t->pause_us = 0;
    t->resume_at = 0;
}

static void touch_lost(struct talk_touch *touch)
{
    struct task *t = touch->task;

    if (touch->log_end >= 0)
        t->log_sent = false;
    if (!touch->status)
        return;
    t->status_sent = false;
    t->stop_told = t->stopped == 0 && t->stop_told;
    program_report_status_again(t->report);
}

/* The reply was lost; the request may have taken effect. */
static void request_lost(struct talk_request *r)
{
    struct worker *w = r->worker;

    for (size_t i = 0; i < r->finishes.count; i++)
        r->finishes.items[i]->finish_sent = false;
    for (size_t i = 0; i < r->touches.count; i++)
        if (r->touches.items[i].task != NULL)
            touch_lost(&r->touches.items[i]);
    if (r->kind != TALK_LISTEN)
        w->talk.send_all_held = true;
}

/* The server refuses the whole request.  To find the finish at fault, they are sent one by one. */
static void request_refused(struct talk_request *r, const struct err *why)
{
    request_lost(r);
    if (r->finishes.count == 1 && r->finishes.items[0]->alone) {
        task_refused(r->finishes.items[0], why); /* may free the task */
        return;
    }
    for (size_t i = 0; i < r->finishes.count; i++)
        r->finishes.items[i]->alone = true;
}

/* A refusal by the server itself, not by a proxy.  E_FORBIDDEN for the whole connection is
 * waited out; for one item (a step with a command) it is final. */
static bool is_refusal(const struct async_reply *reply)
{
    bool ours = reply->text.size > 0 && reply->text.data[0] == '{';
    enum err_code code = reply->err.code;

    if (code == E_TOO_LARGE)
        return reply->status != 0;
    return ours && (code == E_INVALID || code == E_BAD_REQUEST ||
                    (code == E_FORBIDDEN && reply->err.item > 0));
}

static void on_reply(void *ctx, const struct async_reply *reply)
{
    struct talk_request *r = ctx;
    struct worker *w = r->worker;
    struct err err = reply->err;

    (void)fault_hit("talk.reply");
    delist(r);
    if (err.code == E_OK && talk_read_reply(r, reply->text, &err) == E_OK) {
        resume_talk(w);
    } else if (is_refusal(reply)) {
        log_error("the server refuses a request of this worker: %s", err.msg);
        request_refused(r, &err);
        talk_pause(w, reply, &err);
    } else {
        request_lost(r);
        talk_pause(w, reply, &err);
    }
    request_free(r);
}

static void send_request(struct talk_request *r)
{
    struct talk *t = &r->worker->talk;

    t->reserved += r->max;
    r->next = t->requests;
    if (r->next != NULL)
        r->next->prev = r;
    t->requests = r;
    r->call = async_client_send(r->worker->client,
                                &(struct async_call){
                                    .method = "POST",
                                    .path = "/v1/claim",
                                    .body = buf_slice(&t->body),
                                    .patience_s = r->kind == TALK_UPDATE ? SHORT_PATIENCE_S
                                                                         : WAITING_PATIENCE_S,
                                    .done = on_reply,
                                    .ctx = r,
                                });
}

/* ---- the three kinds ---- */

static bool is_under_way(const struct worker *w, enum talk_kind kind)
{
    for (const struct talk_request *r = w->talk.requests; r != NULL; r = r->next)
        if (r->kind == kind)
            return true;
    return false;
}

/* Requests that may still be granted jobs. */
static bool updates_under_way(const struct worker *w)
{
    return is_under_way(w, TALK_UPDATE) || is_under_way(w, TALK_WAIT);
}

static struct talk_request *begin(struct worker *w, enum talk_kind kind)
{
    struct talk_request *r = mem_zalloc(sizeof(*r));
    struct buf *b = &w->talk.body;

    r->worker = w;
    r->kind = kind;
    buf_clear(b);
    buf_add_char(b, '{');
    talk_add_worker(w, b);
    return r;
}

static void end(struct talk_request *r)
{
    struct worker *w = r->worker;
    char lease[DURATION_TEXT_SIZE];
    struct buf *b = &w->talk.body;

    if (w->served.known)
        buf_addf(b, ",\"definitions\":%lld", (long long)w->served.definitions);
    buf_addf(b, ",\"lease\":\"%s\"}", duration_format(w->config.lease_us, lease));
    ASSERT(!b->overflowed);
    send_request(r);
}

static void send_short(struct worker *w, int room)
{
    struct talk_request *r = begin(w, TALK_UPDATE);
    struct buf *b = &w->talk.body;

    r->all = w->talk.send_all_held && !updates_under_way(w);
    talk_add_capacity(r, b, room);
    talk_add_finishes(r, b);
    talk_add_touches(r, b, worker_now(w));
    if (r->all)
        buf_add_str(b, ",\"all\":true");
    w->talk.send_all_held = w->talk.send_all_held && !r->all;
    if (w->talk.waiting && !w->talk.woken) {
        buf_add_str(b, ",\"wake\":true");
        w->talk.woken = r->wakes = true;
    }
    end(r);
}

static void send_waiting(struct worker *w, int room)
{
    struct talk_request *r = begin(w, TALK_WAIT);

    talk_add_capacity(r, &w->talk.body, room);
    buf_addf(&w->talk.body, ",\"wait\":\"%s\"", talk_takes_turns(w) ? WAIT_A_TURN_TEXT : WAIT_TEXT);
    w->talk.waiting = true;
    end(r);
}

static void send_listen(struct worker *w)
{
    struct talk_request *r = begin(w, TALK_LISTEN);

    buf_add_str(&w->talk.body, "\"queues\":{},\"max\":0,\"wait\":\"" WAIT_TEXT "\"");
    w->talk.listening = true;
    end(r);
}

bool talk_leave(struct worker *w)
{
    if (w->talk.leaving || w->talk.disconnected || !w->talk.connected_once)
        return true;
    w->talk.leaving = true;
    struct talk_request *r = begin(w, TALK_UPDATE);

    buf_add_str(&w->talk.body, "\"queues\":{},\"max\":0");
    end(r);
    return false;
}

/* ---- definitions ---- */

static void on_queues_changed(void *ctx, const struct served_queue_change *change)
{
    struct worker *w = ctx;

    worker_queue_changed(w, change);
}

static void on_queues(void *ctx, const struct async_reply *reply)
{
    struct worker *w = ctx;
    struct err err = reply->err;

    w->talk.queues_request = NULL;
    if (err.code != E_OK ||
        served_queues_update(&w->served, reply->text, on_queues_changed, w, &err) != E_OK) {
        talk_pause(w, reply, &err);
        return;
    }
    w->talk.send_description = true; /* its reply also tells that the server is back */
    talk_check_subscriptions(w);
}

static void ask_queues(struct worker *w)
{
    if (w->talk.queues_request != NULL)
        return;
    w->talk.queues_request = async_client_send(w->client,
                                               &(struct async_call){.path = "/v1/queues",
                                                                    .patience_s = SHORT_PATIENCE_S,
                                                                    .done = on_queues,
                                                                    .ctx = w});
}

/* ---- once a pass of the loop ---- */

/* The waiting request has reserved all capacity and does not name a queue that has capacity by
 * now: a broken one whose next trial is due. */
static bool waits_too_narrowly(const struct worker *w)
{
    const struct talk_request *wait = w->talk.woken ? NULL : waiting_request(w);

    if (wait == NULL || w->state != WORKER_UP || !w->served.known || talk_takes_turns(w) ||
        talk_free_slots(w) + wait->max <= 0)
        return false;
    for (size_t i = 0; i < w->served.items.count; i++) {
        const struct served_queue *q = w->served.items.items[i];

        if (q->reserved == 0 && served_queue_capacity(q, w->config.slots, worker_now(w)) > 0)
            return true;
    }
    return false;
}

/* When something should be sent; perhaps in the past. */
static int64_t next_update_at(const struct worker *w)
{
    int64_t at = w->n_tasks > 0 ? w->talk.heartbeat_at : TIME_NEVER;

    if (w->talk.send_all_held || (w->talk.send_description && w->served.known))
        return 0;
    bool enough = talk_has_enough(w) && w->waiting > 0; /* reservations are not jobs yet */

    for (const struct task *t = w->tasks; t != NULL; t = t->next) {
        int64_t news = !talk_may_finish(t) ? talk_update_at(t)
                       : enough            ? t->ended_at + GATHER_US
                                           : 0;

        at = news < at ? news : at;
    }
    return at;
}

bool talk_is_quiet(const struct worker *w)
{
    return w->n_tasks == 0 && (!updates_under_way(w) || w->talk.disconnected);
}

/* Requests may overtake each other: a wake-up that arrives before the waiting request has no
 * effect and is repeated.  A waiting request that does not return after many is on a dead
 * connection. */
static void look_at_wake(struct worker *w, int64_t now)
{
    struct talk *t = &w->talk;

    if (t->wake_again_at > now) {
        worker_wake_at(w, t->wake_again_at);
        return;
    }
    t->woken = false;
    t->wake_again_at = TIME_NEVER;
    if (t->wake_pause_us < WAKE_LAST_US)
        return;
    t->send_all_held = true;
    request_cancel(waiting_request(w));
}

/* An "all" request can be sent when nothing under way may bring more jobs.  So the waiting
 * request is made to return; cancelling it would lose a job granted meanwhile.  Finishes and
 * heartbeats are sent along. */
static void call_back(struct worker *w, int64_t now)
{
    look_at_wake(w, now);
    if (w->talk.waiting && !w->talk.woken && !is_under_way(w, TALK_UPDATE))
        send_short(w, 0);
}

/* A server that accepts connections and never replies is only logged: it may be slow. */
static void look_for_answer(struct worker *w, int64_t now)
{
    struct talk *t = &w->talk;

    if (t->connected_once || t->disconnected || t->silent_at == TIME_NEVER)
        return;
    if (t->silent_at == 0)
        t->silent_at = now + SILENCE_US;
    if (t->silent_at > now) {
        worker_wake_at(w, t->silent_at);
        return;
    }
    log_warn("%s has not answered for %d s; waiting for it", async_client_server(w->client),
             (int)(SILENCE_US / US_PER_S));
    t->silent_at = TIME_NEVER;
}

void talk_send(struct worker *w)
{
    struct talk *t = &w->talk;
    int64_t now = worker_now(w);

    look_for_answer(w, now);
    if (t->resume_at > now) {
        worker_wake_at(w, t->resume_at);
        return;
    }
    if (w->state < WORKER_ENDING && !talk_subscribe(w) && !w->served.known)
        ask_queues(w);
    if (t->send_all_held && updates_under_way(w)) {
        call_back(w, now);
        return;
    }
    if (w->n_tasks > 0 && t->heartbeat_at == TIME_NEVER)
        t->heartbeat_at = now + w->config.lease_us / 3;
    look_at_wake(w, now);
    int64_t at = next_update_at(w);
    int room = talk_capacity(w);

    if (at <= now || (room > 0 && t->waiting && !t->woken))
        send_short(w, room);
    else if (room > 0 && !t->waiting)
        send_waiting(w, room);
    else if ((t->waiting && !t->woken && w->state != WORKER_UP) || waits_too_narrowly(w))
        send_short(w, 0);
    if (!t->listening && w->served.known && w->state < WORKER_STOPPED)
        send_listen(w);
    at = next_update_at(w);
    if (at > now)
        worker_wake_at(w, at);
    worker_wake_at(w, served_queues_next_trial(&w->served, now));
    if (w->rate_us > 0 && w->rate_at > now)
        worker_wake_at(w, w->rate_at);
}
