/* SPDX-License-Identifier: MIT */
#include "worker/talk.h"

#include <unistd.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/log.h"
#include "base/vec.h"
#include "worker/link.h"
#include "worker/talk_reply.h"
#include "worker/worker_internal.h"

#define WAIT_TEXT "50s"
#define WAIT_A_TURN_TEXT "1s" /* when not all queues fit into one request */
#define BODY_MAX ((size_t)32 << 20)
#define BODY_ENOUGH ((size_t)4 << 20) /* no more logs in this request */
#define PIECE_MAX ((size_t)512 << 10) /* of a log in one request */
#define TELL_EVERY_US (200 * US_PER_MS)
#define GATHER_US (5 * US_PER_MS) /* ends are gathered so long while there is work at hand */
#define WAKE_AGAIN_US (20 * US_PER_MS)
#define WAKE_LAST_US (1 * US_PER_S)
#define PAUSE_FIRST_US (100 * US_PER_MS)
#define PAUSE_CAP_US (5 * US_PER_S)

enum {
    FINISHES_MAX = 1000, /* in one request; so many the server takes at least */
    JOBS_MAX = 1000,
    QUEUES_MAX = 1000,
    SHORT_PATIENCE_S = 60,
    WAITING_PATIENCE_S = 110,
};

void talk_init(struct worker *w)
{
    w->talk = (struct talk){.say_all = true,
                            .describe = true,
                            .body = BUF_INIT(BODY_MAX),
                            .beat_at = TIME_NEVER,
                            .wake_again_at = TIME_NEVER};
}

/* ---- requests under way ---- */

static void reserve(struct talk_request *r, struct offer *f, int n)
{
    VEC_PUSH(&r->reserved, ((struct talk_room){f, n}));
    f->reserved += n;
}

static void enlist(struct worker *w, struct talk_request *r)
{
    r->next = w->talk.requests;
    if (r->next != NULL)
        r->next->prev = r;
    w->talk.requests = r;
}

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
        struct talk_room *room = &r->reserved.items[i];

        room->offer->reserved -= room->count;
        offers_put_back(&r->worker->offers, room->offer);
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
    link_cancel(r->call);
    delist(r);
    request_free(r);
}

void talk_deinit(struct worker *w)
{
    while (w->talk.requests != NULL)
        request_cancel(w->talk.requests);
    if (w->talk.queues_request != NULL)
        link_cancel(w->talk.queues_request);
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

static void pause_talk(struct worker *w, const struct err *why)
{
    struct talk *t = &w->talk;

    t->pause_us = t->pause_us == 0 ? PAUSE_FIRST_US : t->pause_us * 2;
    if (t->pause_us > PAUSE_CAP_US)
        t->pause_us = PAUSE_CAP_US;
    t->resume_at = worker_now(w) + t->pause_us;
    if (!t->away)
        log_warn("%s; %zu jobs in hand go on", why->msg, w->n_tasks);
    t->away = true;
    t->describe = true; /* another one may be there then, with other queues */
    w->offers.known = false;
}

static void resume_talk(struct worker *w)
{
    struct talk *t = &w->talk;

    if (t->away)
        log_info("the server is there again");
    t->away = false;
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
    account_status_again(t->account);
}

/* The reply was lost: it may have taken effect. */
static void request_lost(struct talk_request *r)
{
    struct worker *w = r->worker;

    for (size_t i = 0; i < r->finishes.count; i++)
        r->finishes.items[i]->finish_sent = false;
    for (size_t i = 0; i < r->touches.count; i++)
        if (r->touches.items[i].task != NULL)
            touch_lost(&r->touches.items[i]);
    if (r->kind != TALK_LISTEN)
        w->talk.say_all = true;
}

/* The server takes none of it.  What is to blame is found by sending the ends one by one. */
static void request_refused(struct talk_request *r, const struct err *why)
{
    request_lost(r);
    if (r->finishes.count == 1 && r->finishes.items[0]->alone) {
        task_refused(r->finishes.items[0], why); /* which may be its end */
        return;
    }
    for (size_t i = 0; i < r->finishes.count; i++)
        r->finishes.items[i]->alone = true;
}

/* The server's own word, not that of somebody on the way. */
static bool is_refusal(const struct link_reply *reply)
{
    bool ours = reply->text.size > 0 && reply->text.data[0] == '{';

    return (ours && (reply->err.code == E_INVALID || reply->err.code == E_BAD_REQUEST)) ||
           (reply->status != 0 && reply->err.code == E_TOO_LARGE);
}

static void on_reply(void *ctx, const struct link_reply *reply)
{
    struct talk_request *r = ctx;
    struct worker *w = r->worker;
    struct err err = reply->err;

    delist(r);
    if (err.code == E_OK && talk_read_reply(r, reply->text, &err) == E_OK) {
        resume_talk(w);
    } else if (is_refusal(reply)) {
        log_error("the server refuses what this worker tells it: %s", err.msg);
        request_refused(r, &err);
        pause_talk(w, &err);
    } else {
        request_lost(r);
        pause_talk(w, &err);
    }
    request_free(r);
}

static void send_request(struct talk_request *r)
{
    struct talk *t = &r->worker->talk;

    t->reserved += r->max;
    enlist(r->worker, r);
    r->call = link_send(r->worker->link,
                        &(struct link_call){
                            .method = "POST",
                            .path = "/v1/claim",
                            .body = buf_slice(&t->body),
                            .patience_s = r->kind == TALK_TELL ? SHORT_PATIENCE_S
                                                               : WAITING_PATIENCE_S,
                            .done = on_reply,
                            .ctx = r,
                        });
}

/* ---- what is told ---- */

/* `{"id":…,"lease":…` of the next one in a list. */
static void begin_item(struct buf *b, const struct task *t)
{
    json_add_comma(b);
    buf_add_str(b, "{\"id\":\"");
    buf_add_slice(b, t->id);
    buf_add_str(b, "\",\"lease\":\"");
    buf_add_slice(b, t->lease);
    buf_add_char(b, '"');
}

/* Where the piece ends; -1: nothing was added. */
static int64_t add_log(struct buf *b, struct task *t, size_t max)
{
    if (output_pending(t->output) == 0)
        return -1;
    json_add_key(b, "log");
    return output_add_piece(t->output, b, max);
}

static void add_finish(struct talk_request *r, struct buf *b, struct task *t)
{

    begin_item(b, t);
    verdict_add_finish(&t->verdict, b);
    if (t->refused == 0)
        account_add_finish(t->account, b);
    if (t->refused <= 1)
        (void)add_log(b, t, PIECE_MAX);
    buf_add_char(b, '}');
    t->finish_sent = true;
    VEC_PUSH(&r->finishes, t);
}

static bool has_status_news(const struct task *t)
{
    return !t->stop_told || (t->stopped == 0 && account_status_changed(t->account));
}

/* One at a time: a later one on another connection could come first. */
static bool may_tell_status(const struct task *t)
{
    return has_status_news(t) && !t->status_sent;
}

/* Its last status has been told, and the rest of its log fits into the finish. */
static bool may_finish(const struct task *t)
{
    if (t->state != TASK_ENDED || t->finish_sent)
        return false;
    return t->refused > 0 ||
           (!has_status_news(t) && !t->status_sent && output_pending(t->output) <= PIECE_MAX);
}

static void add_ghosts(struct talk_request *r, struct buf *b)
{
    const struct worker *w = r->worker;

    for (; r->ghosts < w->ghosts.count; r->ghosts++) {
        const struct ghost *g = &w->ghosts.items[r->ghosts];

        json_add_comma(b);
        buf_addf(b, "{\"id\":\"%s\",\"lease\":\"%s\",\"state\":\"lost\"}", g->id, g->lease);
    }
}

static void add_finishes(struct talk_request *r, struct buf *b)
{
    struct worker *w = r->worker;
    size_t first = b->size;

    if (r->all && w->ghosts.count > 0) {
        buf_add_str(b, ",\"finish\":[");
        add_ghosts(r, b);
    }
    for (struct task *t = w->tasks; t != NULL && r->finishes.count < FINISHES_MAX; t = t->next) {
        if (!may_finish(t) || (t->alone && r->finishes.count > 0))
            continue;
        if (b->size == first)
            buf_add_str(b, ",\"finish\":[");
        add_finish(r, b, t);
        if (t->alone || b->size > BODY_ENOUGH)
            break;
    }
    if (b->size > first)
        buf_add_char(b, ']');
}

/* A stopped program says nothing: its status does. */
static void add_status(struct task *t, struct buf *b)
{
    if (t->stopped != 0)
        buf_addf(b, ",\"text\":\"stopped by signal %d\"", t->stopped);
    else if (account_has_status(t->account))
        account_add_status(t->account, b);
    else
        buf_add_str(b, ",\"text\":\"\"");
    t->stop_told = true;
}

static bool has_news(const struct task *t)
{
    return may_tell_status(t) || (!t->log_sent && output_pending(t->output) > 0);
}

/* A log too long for the finish goes ahead of it, without rest. */
static int64_t news_at(const struct task *t)
{
    if (t->finish_sent || t->lost || !has_news(t))
        return TIME_NEVER;
    return t->state == TASK_ENDED ? 0 : t->told_at + TELL_EVERY_US;
}

static void add_touch(struct talk_request *r, struct buf *b, struct task *t, int64_t now)
{
    struct talk_touch touch = {.task = t, .log_end = -1};

    begin_item(b, t);
    touch.status = may_tell_status(t);
    if (touch.status)
        add_status(t, b);
    if (!t->log_sent && b->size < BODY_ENOUGH)
        touch.log_end = add_log(b, t, PIECE_MAX);
    buf_add_char(b, '}');
    t->log_sent = t->log_sent || touch.log_end >= 0;
    t->status_sent = t->status_sent || touch.status;
    t->told_at = now;
    VEC_PUSH(&r->touches, touch);
}

static void add_touches(struct talk_request *r, struct buf *b, int64_t now)
{
    struct worker *w = r->worker;
    bool beat = now >= w->talk.beat_at || r->all;
    size_t first = b->size;

    for (struct task *t = w->tasks; t != NULL; t = t->next) {
        if (t->finish_sent || t->lost || (!beat && news_at(t) > now))
            continue;
        if (b->size == first)
            buf_add_str(b, ",\"touch\":[");
        add_touch(r, b, t, now);
    }
    if (b->size > first)
        buf_add_char(b, ']');
    if (beat)
        w->talk.beat_at = now + w->config.lease_us / 3;
}

/* ---- what is asked for ---- */

/* Slots for which there is neither a job nor one on its way; below 0, so many more jobs than slots. */
static int free_slots(const struct worker *w)
{
    return w->config.slots - w->running - w->waiting - w->talk.reserved;
}

/* Jobs worth having at hand beyond those that run. */
static int ahead(const struct worker *w)
{
    int most = 0;

    for (size_t i = 0; i < w->offers.items.count && w->rate_us == 0; i++) {
        int n = offer_ahead(w->offers.items.items[i], w->config.slots);

        most = n > most ? n : most;
    }
    return most;
}

/* While half of what is worth having is at hand, nothing more is asked for, and ends are told in batches. */
static bool has_enough(const struct worker *w)
{
    return free_slots(w) <= 0 && w->waiting + w->talk.reserved > ahead(w) / 2;
}

/* Starts that the rate allows now, besides those on their way. */
static int room_by_rate(const struct worker *w)
{
    int64_t late_us = worker_now(w) - w->rate_at;
    int slots = free_slots(w);

    if (late_us < 0)
        return 0;
    if (late_us > WORKER_RATE_LATE_US)
        late_us = WORKER_RATE_LATE_US;
    int due = 1 + (int)(late_us / w->rate_us) - w->talk.reserved;

    due = due < slots ? due : slots;
    return due > 0 ? due : 0;
}

/* What was granted to a request that overtakes it would be taken back by it. */
static bool tells_all(const struct worker *w)
{
    const struct talk_request *r = w->talk.requests;

    while (r != NULL && !r->all)
        r = r->next;
    return r != NULL;
}

static int room_in_all(const struct worker *w)
{
    if (w->state != WORKER_UP || !w->offers.known || tells_all(w) || has_enough(w))
        return 0;
    if (w->rate_us > 0)
        return room_by_rate(w);
    int room = free_slots(w) + ahead(w);

    return room > 0 ? room : 0;
}

/* A queue whose programs take long gets slots that are free, and no others. */
static int room_of(const struct worker *w, const struct offer *f)
{
    int room = offer_room(f, w->config.slots, worker_now(w));
    int most = free_slots(w) + offer_ahead(f, w->config.slots);

    return most < 0 ? 0 : room < most ? room : most;
}

static int room_now(const struct worker *w)
{
    int all = room_in_all(w);
    int sum = 0;

    for (size_t i = 0; i < w->offers.items.count && sum < all; i++)
        sum += room_of(w, w->offers.items.items[i]);
    return sum < all ? sum : all;
}

/* There are more queues than a request may name. */
static bool has_turns(const struct worker *w)
{
    return w->offers.items.count > QUEUES_MAX;
}

static void add_room(struct talk_request *r, struct buf *b, int room)
{
    struct worker *w = r->worker;

    size_t count = w->offers.items.count;
    size_t turn = has_turns(w) ? w->talk.turn : 0;

    room = room < JOBS_MAX ? room : JOBS_MAX;
    buf_add_str(b, "\"queues\":{");
    for (size_t i = 0; i < count && room > 0 && r->reserved.count < QUEUES_MAX; i++) {
        struct offer *f = w->offers.items.items[(turn + i) % count];
        int n = room_of(w, f);

        w->talk.turn = (turn + i + 1) % count;
        if (n == 0)
            continue;
        n = n < room ? n : room;
        json_add_comma(b);
        json_add_string(b, slice_of(f->name));
        buf_add_char(b, ':');
        buf_add_int(b, n);
        reserve(r, f, n);
    }
    buf_addf(b, "},\"max\":%d,\"commands\":true", room);
    r->max = room;
}

static void add_served(const struct worker *w, struct buf *b)
{
    size_t left = QUEUES_MAX;

    buf_add_str(b, ",\"queues\":{");
    for (size_t i = 0; i < w->offers.items.count && left > 0; i++) {
        const struct offer *f = w->offers.items.items[i];

        if (f->gone)
            continue;
        left--;
        json_add_comma(b);
        json_add_string(b, slice_of(f->name));
        buf_addf(b, ":%d",
                 f->def.slots == QUEUE_SLOTS_ALL || f->def.slots > w->config.slots ? w->config.slots
                                                                                   : f->def.slots);
    }
    buf_add_str(b, "},\"broken\":{");
    left = QUEUES_MAX;
    for (size_t i = 0; i < w->offers.items.count && left > 0; i++) {
        const struct offer *f = w->offers.items.items[i];

        if (f->gone || f->broken == NULL)
            continue;
        left--;
        json_add_comma(b);
        json_add_string(b, slice_of(f->name));
        buf_add_char(b, ':');
        json_add_string(b, slice_of(f->broken));
    }
    buf_add_char(b, '}');
}

static void add_worker(struct worker *w, struct buf *b)
{
    buf_add_str(b, "\"worker\":{\"name\":");
    json_add_string(b, slice_of(w->name));
    buf_addf(b, ",\"pid\":%d", (int)getpid());
    if (w->talk.describe && w->offers.known) {
        buf_add_str(b, ",\"host\":");
        json_add_string(b, slice_of(w->host));
        buf_addf(b, ",\"version\":\"" WAYBILL_VERSION "\",\"slots\":%d", w->config.slots);
        add_served(w, b);
        w->talk.describe = false;
    }
    buf_add_str(b, "},");
}

/* ---- the three kinds ---- */

static bool is_under_way(const struct worker *w, enum talk_kind kind)
{
    for (const struct talk_request *r = w->talk.requests; r != NULL; r = r->next)
        if (r->kind == kind)
            return true;
    return false;
}

/* What these are granted is not known yet. */
static bool tells_under_way(const struct worker *w)
{
    return is_under_way(w, TALK_TELL) || is_under_way(w, TALK_WAIT);
}

static struct talk_request *begin(struct worker *w, enum talk_kind kind)
{
    struct talk_request *r = mem_zalloc(sizeof(*r));
    struct buf *b = &w->talk.body;

    r->worker = w;
    r->kind = kind;
    buf_clear(b);
    buf_add_char(b, '{');
    add_worker(w, b);
    return r;
}

static void end(struct talk_request *r)
{
    struct worker *w = r->worker;
    char lease[DURATION_TEXT_SIZE];
    struct buf *b = &w->talk.body;

    if (w->offers.known)
        buf_addf(b, ",\"definitions\":%lld", (long long)w->offers.definitions);
    buf_addf(b, ",\"lease\":\"%s\"}", duration_format(w->config.lease_us, lease));
    ASSERT(!b->overflowed);
    send_request(r);
}

static void send_short(struct worker *w, int room)
{
    struct talk_request *r = begin(w, TALK_TELL);
    struct buf *b = &w->talk.body;

    r->all = w->talk.say_all && !tells_under_way(w);
    add_room(r, b, room);
    add_finishes(r, b);
    add_touches(r, b, worker_now(w));
    if (r->all)
        buf_add_str(b, ",\"all\":true");
    w->talk.say_all = w->talk.say_all && !r->all;
    if (w->talk.waiting && !w->talk.woken) {
        buf_add_str(b, ",\"wake\":true");
        w->talk.woken = r->wakes = true;
    }
    end(r);
}

static void send_waiting(struct worker *w, int room)
{
    struct talk_request *r = begin(w, TALK_WAIT);

    add_room(r, &w->talk.body, room);
    buf_addf(&w->talk.body, ",\"wait\":\"%s\"", has_turns(w) ? WAIT_A_TURN_TEXT : WAIT_TEXT);
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

/* ---- definitions ---- */

static void on_queues_changed(void *ctx, const struct offer_change *change)
{
    struct worker *w = ctx;

    worker_offer_changed(w, change);
}

static void on_queues(void *ctx, const struct link_reply *reply)
{
    struct worker *w = ctx;
    struct err err = reply->err;

    w->talk.queues_request = NULL;
    if (err.code != E_OK ||
        offers_update(&w->offers, reply->text, on_queues_changed, w, &err) != E_OK) {
        pause_talk(w, &err);
        return;
    }
    w->talk.describe = true; /* and its answer tells whether the server is there again */
}

static void ask_queues(struct worker *w)
{
    if (w->talk.queues_request != NULL)
        return;
    w->talk.queues_request = link_send(w->link, &(struct link_call){.path = "/v1/queues",
                                                                    .patience_s = SHORT_PATIENCE_S,
                                                                    .done = on_queues,
                                                                    .ctx = w});
}

/* ---- once a pass of the loop ---- */

/* The one that waits has all the room, and does not name a queue that could be taken from by now: a broken
 * one that may be tried again. */
static bool waits_too_narrowly(const struct worker *w)
{
    const struct talk_request *wait = w->talk.woken ? NULL : waiting_request(w);

    if (wait == NULL || w->state != WORKER_UP || !w->offers.known || has_turns(w) ||
        free_slots(w) + wait->max <= 0)
        return false;
    for (size_t i = 0; i < w->offers.items.count; i++) {
        const struct offer *f = w->offers.items.items[i];

        if (f->reserved == 0 && offer_room(f, w->config.slots, worker_now(w)) > 0)
            return true;
    }
    return false;
}

/* When there is something to tell: an instant that may have passed. */
static int64_t tell_at(const struct worker *w)
{
    int64_t at = w->n_tasks > 0 ? w->talk.beat_at : TIME_NEVER;

    if (w->talk.say_all || (w->talk.describe && w->offers.known))
        return 0;
    bool enough = has_enough(w);

    for (const struct task *t = w->tasks; t != NULL; t = t->next) {
        int64_t news = !may_finish(t) ? news_at(t) : enough ? t->ended_at + GATHER_US : 0;

        at = news < at ? news : at;
    }
    return at;
}

bool talk_is_quiet(const struct worker *w)
{
    return w->n_tasks == 0 && (!tells_under_way(w) || w->talk.away);
}

/* Requests may overtake each other: a call back that came before the one that waits was heard by nobody.
 * One that does not come though it was called for so long is on a dead connection. */
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
    t->say_all = true;
    request_cancel(waiting_request(w));
}

/* All that is held can be told when nothing is under way that may bring more: the one that waits is called
 * back, and is not given up, for it might be granted a job after that.  Ends and heartbeats go along. */
static void call_back(struct worker *w, int64_t now)
{
    look_at_wake(w, now);
    if (w->talk.waiting && !w->talk.woken && !is_under_way(w, TALK_TELL))
        send_short(w, 0);
}

void talk_pump(struct worker *w)
{
    struct talk *t = &w->talk;
    int64_t now = worker_now(w);

    if (t->resume_at > now) {
        worker_wake_at(w, t->resume_at);
        return;
    }
    if (!w->offers.known && w->state < WORKER_ENDING)
        ask_queues(w);
    if (t->say_all && tells_under_way(w)) {
        call_back(w, now);
        return;
    }
    if (w->n_tasks > 0 && t->beat_at == TIME_NEVER)
        t->beat_at = now + w->config.lease_us / 3;
    look_at_wake(w, now);
    int64_t at = tell_at(w);
    int room = room_now(w);

    if (at <= now || (room > 0 && t->waiting && !t->woken))
        send_short(w, room);
    else if (room > 0 && !t->waiting)
        send_waiting(w, room);
    else if ((t->waiting && !t->woken && w->state != WORKER_UP) || waits_too_narrowly(w))
        send_short(w, 0);
    if (!t->listening && w->offers.known && w->state < WORKER_STOPPED)
        send_listen(w);
    at = tell_at(w);
    if (at > now)
        worker_wake_at(w, at);
    worker_wake_at(w, offers_next_trial(&w->offers, now));
    if (w->rate_us > 0 && w->rate_at > now)
        worker_wake_at(w, w->rate_at);
}
