/* SPDX-License-Identifier: MIT */
#include "worker/carriers/resident.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/id.h"
#include "base/os/log.h"
#include "worker/carriers/carrier.h"
#include "worker/carriers/environment.h"
#include "worker/carriers/resident_internal.h"
#include "worker/run/channel.h"
#include "worker/run/line_reader.h"

#define STOP_US (10 * US_PER_S) /* from closing its input to TERM, and from there to KILL */
#define LOOK_AGAIN_US (5 * US_PER_MS)

/* ---- its input ---- */

static void close_input(struct resident *r)
{
    if (r->input_fd < 0)
        return;
    uv_poll_stop(&r->input);
    close(r->input_fd);
    r->input_fd = -1;
}

static void on_writable(uv_poll_t *poll, int status, int events);

static void write_on(struct resident *r)
{
    while (r->input_fd >= 0 && r->written < r->line.size) {
        ssize_t n = write(r->input_fd, r->line.data + r->written, r->line.size - r->written);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            uv_poll_start(&r->input, UV_WRITABLE, on_writable);
            return;
        }
        if (n < 0) { /* it reads no more and would never answer */
            close_input(r);
            task_stop(r->task, r->written == 0 ? VERDICT_HANDBACK : VERDICT_ITSELF);
            return;
        }
        r->written += (size_t)n;
    }
    if (r->input_fd >= 0)
        uv_poll_stop(&r->input);
}

static void on_writable(uv_poll_t *poll, int status, int events)
{
    (void)status;
    (void)events;
    write_on(poll->data);
}

void resident_hand_over(struct resident *r, struct task *t)
{
    r->task = t;
    (void)id_parse(t->id, &r->task_id);
    t->carried = r;
    t->facts.resident = true;
    process_record_change(r->slot->record, t->id, t->lease);
    buf_clear(&r->line);
    buf_add_str(&r->line, "{\"job\":");
    buf_add_slice(&r->line, t->json);
    buf_add_str(&r->line, "}\n");
    r->written = 0;
    write_on(r);
}

/* An idle resident ends when its input is closed; a busy one finishes its job first. */
void resident_retire(struct resident *r)
{
    r->retired = true;
    if (r->task == NULL && r->input_fd >= 0) {
        close_input(r);
        r->idle_at = worker_now(r->worker);
    }
}

/* ---- what it tells ---- */

static void resident_release(struct task *t)
{
    struct resident *r = t->carried;

    r->task = NULL;
    t->carried = NULL;
    if (r->written < r->line.size)
        resident_retire(r); /* it did not read all of the job: the next line would continue it */
    process_record_change(r->slot->record, (struct slice){0}, slice_of(r->mark));
    r->idle_at = worker_now(r->worker);
}

void resident_output(void *ctx, struct slice data)
{
    struct resident *r = ctx;

    if (r->task != NULL)
        output_add(r->task->output, data, clock_wall_us());
}

static void complain(struct resident *r, const char *what)
{
    if (r->task != NULL)
        output_notice(r->task->output, slice_of(what), clock_wall_us());
    else
        log_warn("queue %s: its resident program: %s", r->queue, what);
}

/* Removes the job's id from the line; false: it is not the id of the present job. */
static bool is_of_task(struct resident *r, struct slice *line)
{
    struct err err = ERR_INIT;
    int64_t id = 0;

    if (word_take_id(line, &id, &err) != E_OK)
        complain(r, err.msg);
    else if (r->task == NULL || id != r->task_id)
        complain(r, "it named a job that it does not have");
    else
        return true;
    return false;
}

static void take_line(struct resident *r, const struct line *line, struct buf *replies,
                      struct buf *notices)
{
    struct slice text = line->text;

    if (line->skipped > 0) {
        if (r->task != NULL)
            program_report_long_line(r->task->report, line->skipped, replies, notices);
        return;
    }
    if (!is_of_task(r, &text))
        return;
    program_report_line(r->task->report, text, worker_now(r->worker), replies, notices);
}

static void take_lines(struct resident *r)
{
    CLEANUP(buf) struct buf replies = BUF_INIT(CLIENT_REPLY_MAX);
    CLEANUP(buf) struct buf notices = BUF_INIT(CLIENT_REPLY_MAX);
    struct line line;

    while (line_reader_next(&r->lines, &line)) {
        take_line(r, &line, &replies, &notices);
        if (notices.size > 0 && r->task != NULL)
            output_notice(r->task->output, buf_slice(&notices), clock_wall_us());
        buf_clear(&notices);
        /* After an end word the task is over.  What it printed before is in the pipe already. */
        if (r->task != NULL && program_report_end(r->task->report)->kind != WORD_NONE) {
            channel_drain_output(r->channel);
            struct served_queue *q = r->task->served;

            if (served_queue_mark_working(q)) {
                log_info("queue %s works again", q->name);
                r->worker->talk.send_description = true;
            }
            task_over(r->task, &(struct carrier_end){.killed = r->end.killed});
        }
    }
    channel_reply(r->channel, buf_slice(&replies));
    if (r->task != NULL && !r->ended)
        channel_pause_words(r->channel, program_report_is_full(r->task->report));
}

void resident_words(void *ctx, struct slice data)
{
    struct resident *r = ctx;

    line_reader_feed(&r->lines, data);
    take_lines(r);
}

/* ---- its end ---- */

static void on_input_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void resident_free(struct resident *r)
{
    struct worker *w = r->worker;

    if (r->prev != NULL)
        r->prev->next = r->next;
    else
        w->residents = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
    if (r->job.pid != 0)
        tree_remove(w->tree, &r->job);
    if (r->cgroup.procs_fd >= 0)
        cgroup_job_close(w->cgroup, &r->cgroup);
    if (r->slot != NULL)
        slot_release(w->slots, r->slot);
    channel_close(r->channel);
    line_reader_deinit(&r->lines);
    buf_deinit(&r->line);
    arena_deinit(&r->arena);
    free(r->queue);
    free(r->json);
    if (r->input_fd < 0 && !r->closing) {
        free(r);
        return;
    }
    close_input(r);
    uv_close((uv_handle_t *)&r->input, on_input_closed);
}

/* It died without being retired: the queue counts as broken and pauses. */
static void note_death(struct resident *r)
{
    struct worker *w = r->worker;
    struct served_queue *q = served_queues_find(&w->served, slice_of(r->queue));
    CLEANUP(buf) struct buf why = BUF_INIT(128);

    if (r->retired || q == NULL)
        return;
    if (r->end.exit < 0)
        buf_addf(&why, "its resident program was killed by signal %d", -r->end.exit);
    else
        buf_addf(&why, "its resident program ended with status %d", r->end.exit);
    if (served_queue_mark_broken(q, buf_text(&why), worker_now(w))) {
        log_warn("queue %s: %s", q->name, buf_text(&why));
        w->talk.send_description = true;
    }
}

static void clean_up(struct resident *r)
{
    cgroup_job_kill(r->worker->cgroup, &r->cgroup);
    if (tree_end(r->worker->tree, &r->job) > 0)
        return; /* the next pass looks again */
    channel_drain(r->channel);
    line_reader_end(&r->lines);
    take_lines(r);
    note_death(r);
    if (r->task != NULL)
        task_over(r->task, &r->end);
    resident_free(r);
}

void resident_process(void *owner, const struct tree_event *event)
{
    struct resident *r = owner;

    if (event->kind == TREE_STOPPED || event->kind == TREE_CONTINUED) {
        if (r->task != NULL)
            task_note_stop(r->task, event->kind == TREE_STOPPED ? event->status : 0);
        return;
    }
    r->ended = true;
    r->end.exited = true;
    r->end.exit = event->kind == TREE_EXITED ? event->status : -event->status;
    if (r->task != NULL)
        r->task->state = TASK_CLEANUP;
    clean_up(r);
}

static void stop(struct resident *r, int64_t kill_at)
{
    if (r->ended)
        return;
    r->retired = true;
    if (kill_at > worker_now(r->worker) && r->kill_at == TIME_NEVER)
        tree_signal(r->worker->tree, &r->job, SIGTERM);
    if (kill_at < r->kill_at)
        r->kill_at = kill_at;
    worker_wake_at(r->worker, r->kill_at);
}

static int64_t pass_idle(struct resident *r, int64_t now)
{
    const struct served_queue *q = served_queues_find(&r->worker->served, slice_of(r->queue));

    if (!r->retired && q != NULL && now < r->idle_at + q->def.idle_us)
        return r->idle_at + q->def.idle_us;
    if (!r->retired)
        resident_retire(r);
    if (r->input_fd >= 0)
        resident_retire(r);
    if (now >= r->idle_at + STOP_US && r->kill_at == TIME_NEVER)
        stop(r, now + STOP_US);
    return r->kill_at != TIME_NEVER ? r->kill_at : r->idle_at + STOP_US;
}

/* Once a pass, with a job or without. */
static int64_t look_at(struct resident *r, int64_t now)
{
    if (r->ended) {
        clean_up(r);
        return now + LOOK_AGAIN_US;
    }
    if (now >= r->kill_at) {
        r->end.killed = true;
        (void)tree_end(r->worker->tree, &r->job);
        return now + LOOK_AGAIN_US;
    }
    return r->task == NULL ? pass_idle(r, now) : r->kill_at;
}

static int64_t resident_pass(struct task *t, int64_t now)
{
    return look_at(t->carried, now);
}

static void resident_cancel(struct task *t, int64_t kill_at)
{
    stop(t->carried, kill_at);
}

static void resident_reply(struct task *t, struct slice lines)
{
    struct resident *r = t->carried;

    channel_reply(r->channel, lines);
    if (!r->ended)
        channel_pause_words(r->channel, program_report_is_full(t->report));
}

const struct carrier resident_carrier = {
    .start = resident_start,
    .cancel = resident_cancel,
    .pass = resident_pass,
    .reply = resident_reply,
    .release = resident_release,
};

/* ---- all of them ---- */

int64_t residents_pass(struct worker *w, int64_t now)
{
    int64_t at = TIME_NEVER;
    struct resident *next;

    for (struct resident *r = w->residents; r != NULL; r = next) {
        next = r->next;
        if (r->task != NULL)
            continue; /* its task's pass looks at it */
        int64_t look = look_at(r, now);

        at = look < at ? look : at;
    }
    return at;
}

void residents_retire(struct worker *w, const struct served_queue *q)
{
    for (struct resident *r = w->residents; r != NULL; r = r->next)
        if (strcmp(r->queue, q->name) == 0)
            resident_retire(r);
}

bool residents_end(struct worker *w)
{
    for (struct resident *r = w->residents; r != NULL; r = r->next)
        if (r->task == NULL && !r->ended) {
            resident_retire(r);
            stop(r, worker_now(w) + US_PER_S);
        }
    return w->residents == NULL;
}

void residents_abandon(struct worker *w)
{
    while (w->residents != NULL)
        resident_free(w->residents);
}
