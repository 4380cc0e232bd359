/*
 * News between the servers of one store: what one sends with its commits, and what others do about
 * it.
 *
 * News is one line: the node of the sender, then letters with their numbers.
 *   r QUEUE                    the queue has ready jobs
 *   l QUEUE LANE               the lane has ready jobs; 0: some lanes of the queue have
 *   q                          queues have changed
 *   c JOB TOKEN WORKER FENCE   cancel a running job
 *   e ID                       a job that somebody waits for has ended
 *   w WORKER                   the row of a worker has changed
 *   g GATE                     a gate has slots again, or was opened or shut
 *   x                          a server has left
 *   a                          more than fits a line: look at everything
 */
/* SPDX-License-Identifier: MIT */
#include "engine/shared/news.h"

#include <inttypes.h>
#include <stdlib.h>

#include "engine/claims/ready.h"
#include "engine/gates/gating.h"
#include "engine/state.h"
#include "store/shared.h"

#define TELL_PAUSE_US (5 * US_PER_MS)

/* ---- telling ---- */

/* Whether there is room for more.  If not, the others are told to look at everything. */
static bool add_news(struct engine *e, size_t room)
{
    if (e->shared.news.size == 0)
        buf_addf(&e->shared.news, "%u", (unsigned)e->node);
    if (e->shared.news_full)
        return false;
    e->shared.news_full = e->shared.news.size + room > STORE_NEWS_MAX - 16;
    if (e->shared.news_full)
        buf_add_str(&e->shared.news, " a");
    return !e->shared.news_full;
}

void news_add_ended(struct engine *e, int64_t id)
{
    if (e->shared.is_on && add_news(e, 48))
        buf_addf(&e->shared.news, " e %" PRId64, id);
}

void news_add_cancel(struct engine *e, const struct cancel_note *note)
{
    if (e->shared.is_on && add_news(e, 96))
        buf_addf(&e->shared.news, " c %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
                 note->lease.job, note->lease.token, note->worker, note->lease.fence);
}

void news_add_worker(struct engine *e, int64_t number)
{
    if (e->shared.is_on && add_news(e, 48))
        buf_addf(&e->shared.news, " w %" PRId64, number);
}

void news_add_lane(struct engine *e, int64_t queue, int64_t lane)
{
    if (e->shared.is_on && add_news(e, 64))
        buf_addf(&e->shared.news, " l %" PRId64 " %" PRId64, queue, lane);
}

void news_add_gate(struct engine *e, int64_t id)
{
    if (e->shared.is_on && add_news(e, 48))
        buf_addf(&e->shared.news, " g %" PRId64, id);
}

/* Notes the queues with ready jobs that were not granted: claims may wait at other servers.  One
 * that joins reads the store. */
static void note_ready(struct engine *e)
{
    if (e->shared.only_server)
        return;
    for (size_t i = 0; i < e->queues.count; i++) {
        struct queue *q = e->queues.items[i];

        q->ready_unannounced = q->ready_unannounced ||
                               (q->gating != NULL
                                    ? gating_must_tell(e, q)
                                    : q->ready.count > 0 || (q->made_ready && !q->ready.complete));
        bool lanes = q->gating != NULL && q->gating->untold.count > 0;

        if ((q->ready_unannounced || lanes) && e->shared.ready_news_at == TIME_NEVER)
            e->shared.ready_news_at = e->shared.ready_news_sent_at + TELL_PAUSE_US;
    }
}

/* That jobs are ready is sent after the commit, and not for every batch: a commit with news waits
 * for those of all other servers.  If it gets lost with this server, the others' beats find the
 * jobs. */
static void tell_ready(struct engine *e)
{
    struct err err = ERR_INIT;

    if (e->shared.ready_news_at > e->now.steady_at)
        return;
    buf_clear(&e->shared.news);
    e->shared.news_full = false;
    for (size_t i = 0; i < e->queues.count; i++) {
        struct queue *q = e->queues.items[i];

        if (q->ready_unannounced && add_news(e, 48))
            buf_addf(&e->shared.news, " r %" PRId64, q->id);
        q->ready_unannounced = false;
        gating_tell(e, q);
    }
    if (e->shared.news.size > 0 && store_tell(e->store, buf_slice(&e->shared.news), &err) != E_OK)
        report_trouble(e, &err);
    buf_clear(&e->shared.news);
    e->shared.news_full = false;
    e->shared.ready_news_sent_at = e->now.steady_at;
    e->shared.ready_news_at = TIME_NEVER;
}

void news_send_ready(struct engine *e)
{
    if (e->shared.is_on)
        tell_ready(e);
}

static enum err_code tell_changes(struct engine *e, struct err *err)
{
    int64_t changes = 0;

    if (!e->batch.queues_changed && !e->batch.groups.held_changed)
        return E_OK;
    if (store_queues_changed(e->store, &changes, err) != E_OK)
        return err->code;
    e->shared.queue_changes = changes == e->shared.queue_changes + 1 ? changes : -1;
    if (add_news(e, 16))
        buf_add_str(&e->shared.news, " q");
    return E_OK;
}

enum err_code news_write(struct engine *e, struct err *err)
{
    if (tell_changes(e, err) != E_OK)
        return err->code;
    note_ready(e);
    return e->shared.news.size == 0 ? E_OK : store_tell(e->store, buf_slice(&e->shared.news), err);
}

/* ---- hearing ---- */

/* Claims that wait here may get the jobs. */
static void hear_ready(struct engine *e, int64_t queue)
{
    struct queue *q = map_find(&e->queues.by_id, queue);

    if (q == NULL)
        return;
    ready_reset(&q->ready);
    e->waiting.grants_due = true;
}

static bool next_number(const char **at, int64_t *ret)
{
    char *end = NULL;
    long long value = strtoll(*at, &end, 10);

    if (end == *at)
        return false;
    *at = end;
    *ret = value;
    return true;
}

/* The connection was lost: anything may have happened. */
static void hear_everything(struct engine *e)
{
    e->shared.queue_changes = -1;
    e->waiting.grants_due = e->waiting.answers_due = true;
    e->shared.news_missed = true;
    e->shared.beat_at = e->now.steady_at;
    queues_reset_ready(e);
    gates_forget(e);
}

static void hear_item(struct engine *e, char letter, const char **at)
{
    struct cancel_note note;
    struct queue *q;
    struct gate *gate;
    int64_t number;

    switch (letter) {
    case 'r':
        if (next_number(at, &number))
            hear_ready(e, number);
        break;
    case 'e':
        if (next_number(at, &number))
            VEC_PUSH(&e->batch.ended, number);
        break;
    case 'c':
        if (next_number(at, &note.lease.job) && next_number(at, &note.lease.token) &&
            next_number(at, &note.worker) && next_number(at, &note.lease.fence) &&
            cancels_worker_waits(e, note.worker))
            VEC_PUSH(&e->batch.new_cancels, note);
        break;
    case 'w':
        if (next_number(at, &number))
            worker_changed(e, number);
        break;
    case 'l':
        if (next_number(at, &number) && next_number(at, &note.lease.job) &&
            (q = map_find(&e->queues.by_id, number)) != NULL)
            gating_hear(e, q, note.lease.job);
        break;
    case 'g':
        if (next_number(at, &number) && (gate = map_find(&e->gates.by_id, number)) != NULL) {
            gate->may_be_shut = true;
            gate_news(e, gate);
        }
        break;
    case 'q':
        e->shared.queue_changes = -1;
        e->waiting.grants_due = true;
        break;
    case 'a': hear_everything(e); break;
    case 'x': e->shared.beat_at = e->now.steady_at; break;
    default: break;
    }
}

static void hear(struct engine *e, const struct news *news)
{
    CLEANUP(mem)
    char *text = mem_strndup(news->text.data == NULL ? "" : news->text.data, news->text.size);
    const char *at = text;
    int64_t node = 0;

    if (news->missed) {
        hear_everything(e);
        return;
    }
    if (!next_number(&at, &node) || node == (int64_t)e->node)
        return;
    while (*at != '\0') {
        char letter = *at++;

        if (letter != ' ')
            hear_item(e, letter, &at);
    }
}

enum err_code news_run(struct engine *e, struct op *op, struct err *err)
{
    (void)err;
    hear(e, &op->news);
    return E_OK;
}
