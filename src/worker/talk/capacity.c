/*
 * How many jobs a request asks for, of which queues, and how the worker describes itself.
 */
/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "base/jtext/jtext.h"
#include "worker/internal.h"
#include "worker/talk/internal.h"

enum { JOBS_MAX = 1000, QUEUES_MAX = 1000 }; /* in one request: every server accepts as many */

int talk_free_slots(const struct worker *w)
{
    return w->config.slots - w->running - w->waiting - w->talk.reserved;
}

/* Jobs worth claiming beyond those that can run at once. */
static int ahead(const struct worker *w)
{
    int most = 0;

    for (size_t i = 0; i < w->served.items.count && w->rate_us == 0; i++) {
        int n = served_queue_ahead(w->served.items.items[i], w->config.slots);

        most = n > most ? n : most;
    }
    return most;
}

bool talk_has_enough(const struct worker *w)
{
    return talk_free_slots(w) <= 0 && w->waiting + w->talk.reserved > ahead(w) / 2;
}

/* While an "all" request is under way no jobs are claimed: it does not list jobs granted to a
 * request that overtakes it, so the server would take them back. */
static bool tells_all(const struct worker *w)
{
    const struct talk_request *r = w->talk.requests;

    while (r != NULL && !r->all)
        r = r->next;
    return r != NULL;
}

static int capacity_in_all(const struct worker *w)
{
    if (w->state != WORKER_UP || !w->served.known || tells_all(w) || talk_has_enough(w))
        return 0;
    if (w->rate_us > 0) {
        /* Starts that the rate allows now, without those already claimed. */
        int64_t late_us = worker_now(w) - w->rate_at;
        int slots = talk_free_slots(w);

        if (late_us < 0)
            return 0;
        if (late_us > WORKER_RATE_LATE_US)
            late_us = WORKER_RATE_LATE_US;
        int due = 1 + (int)(late_us / w->rate_us) - w->talk.reserved;

        due = due < slots ? due : slots;
        return due > 0 ? due : 0;
    }
    int room = talk_free_slots(w) + ahead(w);

    return room > 0 ? room : 0;
}

/* A queue with long programs gets free slots only; it claims nothing ahead. */
static int capacity_of(const struct worker *w, const struct served_queue *q)
{
    int room = served_queue_capacity(q, w->config.slots, worker_now(w));
    int most = talk_free_slots(w) + served_queue_ahead(q, w->config.slots);

    return most < 0 ? 0 : room < most ? room : most;
}

int talk_capacity(const struct worker *w)
{
    int all = capacity_in_all(w);
    int sum = 0;

    for (size_t i = 0; i < w->served.items.count && sum < all; i++)
        sum += capacity_of(w, w->served.items.items[i]);
    return sum < all ? sum : all;
}

bool talk_takes_turns(const struct worker *w)
{
    return w->served.items.count > QUEUES_MAX;
}

void talk_add_capacity(struct talk_request *r, struct buf *b, int room)
{
    struct worker *w = r->worker;

    size_t count = w->served.items.count;
    size_t turn = talk_takes_turns(w) ? w->talk.turn : 0;

    room = room < JOBS_MAX ? room : JOBS_MAX;
    buf_add_str(b, "\"queues\":{");
    for (size_t i = 0; i < count && room > 0 && r->reserved.count < QUEUES_MAX; i++) {
        struct served_queue *q = w->served.items.items[(turn + i) % count];
        int n = capacity_of(w, q);

        w->talk.turn = (turn + i + 1) % count;
        if (n == 0)
            continue;
        n = n < room ? n : room;
        jtext_add_comma(b);
        jtext_add_string(b, slice_of(q->name));
        buf_add_char(b, ':');
        buf_add_int(b, n);
        VEC_PUSH(&r->reserved, ((struct talk_reservation){q, n}));
        q->reserved += n;
    }
    buf_addf(b, "},\"max\":%d,\"commands\":true", room);
    r->max = room;
}

/* ---- who asks ---- */

static void add_served(const struct worker *w, struct buf *b)
{
    size_t left = QUEUES_MAX;

    buf_add_str(b, ",\"queues\":{");
    for (size_t i = 0; i < w->served.items.count && left > 0; i++) {
        const struct served_queue *q = w->served.items.items[i];

        if (q->gone)
            continue;
        left--;
        jtext_add_comma(b);
        jtext_add_string(b, slice_of(q->name));
        buf_addf(b, ":%d",
                 q->def.slots == QUEUE_SLOTS_ALL || q->def.slots > w->config.slots ? w->config.slots
                                                                                   : q->def.slots);
    }
    buf_add_str(b, "},\"broken\":{");
    left = QUEUES_MAX;
    for (size_t i = 0; i < w->served.items.count && left > 0; i++) {
        const struct served_queue *q = w->served.items.items[i];

        if (q->gone || q->broken == NULL)
            continue;
        left--;
        jtext_add_comma(b);
        jtext_add_string(b, slice_of(q->name));
        buf_add_char(b, ':');
        jtext_add_string(b, slice_of(q->broken));
    }
    buf_add_char(b, '}');
}

void talk_add_worker(struct worker *w, struct buf *b)
{
    buf_add_str(b, "\"worker\":{\"name\":");
    jtext_add_string(b, slice_of(w->name));
    buf_addf(b, ",\"pid\":%d", (int)getpid());
    /* Host, boot and the instances before this one are sent until the server has accepted the
     * worker. */
    buf_addf(b, ",\"instance\":\"%s\"", w->instance.own);
    if (!w->talk.connected_once || w->talk.disconnected || w->talk.send_description) {
        jtext_put_string(b, "host", slice_of(w->host));
        if (slots_boot(w->slots)[0] != '\0')
            jtext_put_string(b, "boot", slice_of(slots_boot(w->slots)));
        buf_add_str(b, ",\"previous\":[");
        for (size_t i = 0; i < w->instance.n_previous; i++)
            buf_addf(b, "%s\"%s\"", i == 0 ? "" : ",", w->instance.previous[i]);
        buf_add_char(b, ']');
    }
    if (w->talk.leaving)
        buf_add_str(b, ",\"leaves\":true");
    if (w->talk.send_description && w->served.known) {
        buf_addf(b, ",\"version\":\"" WAYBILL_VERSION "\",\"slots\":%d", w->config.slots);
        add_served(w, b);
        w->talk.send_description = false;
    }
    buf_add_str(b, "},");
}
