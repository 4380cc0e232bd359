/*
 * What an update contains: finishes, heartbeats with status, pieces of logs, and the jobs that an
 * earlier worker lost.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "worker/internal.h"
#include "worker/talk/internal.h"

#define BODY_ENOUGH ((size_t)4 << 20) /* above: no more logs in this request */
#define PIECE_MAX ((size_t)512 << 10) /* of one log in one request */
#define UPDATE_EVERY_US (200 * US_PER_MS)

enum { FINISHES_MAX = 1000 }; /* in one request */

/* The next item of a list, begun: `{"id":…,"lease":…` */
static void begin_item(struct buf *b, const struct task *t)
{
    jtext_add_comma(b);
    buf_add_str(b, "{\"id\":\"");
    buf_add_slice(b, t->id);
    buf_add_str(b, "\",\"lease\":\"");
    buf_add_slice(b, t->lease);
    buf_add_char(b, '"');
}

/* Returns where the piece ends; -1: nothing was added. */
static int64_t add_log(struct buf *b, struct task *t, size_t max)
{
    if (output_pending(t->output) == 0)
        return -1;
    jtext_add_key(b, "log");
    return output_add_piece(t->output, b, max);
}

static void add_finish(struct talk_request *r, struct buf *b, struct task *t)
{
    begin_item(b, t);
    verdict_add_finish(&t->verdict, b);
    if (t->refused == 0)
        program_report_add_finish(t->report, b);
    if (t->refused <= 1)
        (void)add_log(b, t, PIECE_MAX);
    buf_add_char(b, '}');
    t->finish_sent = true;
    VEC_PUSH(&r->finishes, t);
}

static bool has_new_status(const struct task *t)
{
    return !t->stop_told || (t->stopped == 0 && program_report_status_changed(t->report));
}

/* One status at a time: a later one could arrive first, on another connection. */
static bool may_send_status(const struct task *t)
{
    return has_new_status(t) && !t->status_sent;
}

/* After its last status, and when the rest of its log fits into the finish. */
bool talk_may_finish(const struct task *t)
{
    if (t->state != TASK_ENDED || t->finish_sent)
        return false;
    return t->refused > 0 ||
           (!has_new_status(t) && !t->status_sent && output_pending(t->output) <= PIECE_MAX);
}

static void add_lost_jobs(struct talk_request *r, struct buf *b)
{
    const struct worker *w = r->worker;

    for (; r->lost_jobs < w->lost_jobs.count; r->lost_jobs++) {
        const struct lost_job *g = &w->lost_jobs.items[r->lost_jobs];

        jtext_add_comma(b);
        buf_addf(b, "{\"id\":\"%s\",\"lease\":\"%s\",\"state\":\"lost\"}", g->id, g->lease);
    }
}

void talk_add_finishes(struct talk_request *r, struct buf *b)
{
    struct worker *w = r->worker;
    size_t first = b->size;

    if (r->all && w->lost_jobs.count > 0) {
        buf_add_str(b, ",\"finish\":[");
        add_lost_jobs(r, b);
    }
    for (struct task *t = w->tasks; t != NULL && r->finishes.count < FINISHES_MAX; t = t->next) {
        if (!talk_may_finish(t) || (t->alone && r->finishes.count > 0))
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

/* A log that is too long for the finish is sent ahead of it, without pauses. */
int64_t talk_update_at(const struct task *t)
{
    if (t->finish_sent || t->lost ||
        !(may_send_status(t) || (!t->log_sent && output_pending(t->output) > 0)))
        return TIME_NEVER;
    return t->state == TASK_ENDED ? 0 : t->told_at + UPDATE_EVERY_US;
}

static void add_touch(struct talk_request *r, struct buf *b, struct task *t, int64_t now)
{
    struct talk_touch touch = {.task = t, .log_end = -1};

    begin_item(b, t);
    touch.status = may_send_status(t);
    if (touch.status) {
        /* The status of a stopped program says so, whatever the program said before. */
        if (t->stopped != 0)
            buf_addf(b, ",\"text\":\"stopped by signal %d\"", t->stopped);
        else if (program_report_has_status(t->report))
            program_report_add_status(t->report, b);
        else
            buf_add_str(b, ",\"text\":\"\"");
        t->stop_told = true;
    }
    if (!t->log_sent && b->size < BODY_ENOUGH)
        touch.log_end = add_log(b, t, PIECE_MAX);
    buf_add_char(b, '}');
    t->log_sent = t->log_sent || touch.log_end >= 0;
    t->status_sent = t->status_sent || touch.status;
    t->told_at = now;
    VEC_PUSH(&r->touches, touch);
}

void talk_add_touches(struct talk_request *r, struct buf *b, int64_t now)
{
    struct worker *w = r->worker;
    bool beat = now >= w->talk.heartbeat_at || r->all;
    size_t first = b->size;

    for (struct task *t = w->tasks; t != NULL; t = t->next) {
        if (t->finish_sent || t->lost || (!beat && talk_update_at(t) > now))
            continue;
        if (b->size == first)
            buf_add_str(b, ",\"touch\":[");
        add_touch(r, b, t, now);
    }
    if (b->size > first)
        buf_add_char(b, ']');
    if (beat)
        w->talk.heartbeat_at = now + w->config.lease_us / 3;
}
