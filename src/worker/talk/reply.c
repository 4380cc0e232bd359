/* SPDX-License-Identifier: MIT */
#include "worker/talk/internal.h"

#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "worker/internal.h"

/* ---- ends ---- */

static struct err error_of(struct slice result)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    struct slice error;
    struct slice name;
    struct slice message;

    if (!jtext_find(result, "error", &error) || jtext_type_of(error) != JTEXT_OBJECT ||
        !jtext_find(error, "code", &name) || !jtext_find(error, "message", &message))
        return err;
    message = jtext_text(message, &arena);
    err_set(&err, err_from_name(arena_strdup(&arena, jtext_text(name, &arena))), "%.*s",
            (int)message.size, message.data);
    return err;
}

/* False: the job will be tried again. */
static bool job_ended(struct slice result)
{
    struct slice state;

    if (!jtext_find(result, "state", &state))
        return true;
    return slice_is(state, "\"done\"") || slice_is(state, "\"failed\"") ||
           slice_is(state, "\"cancelled\"");
}

static void take_result(struct task *t, struct slice result)
{
    struct err err = error_of(result);

    t->finish_sent = false;
    if (err.code == E_OK) {
        worker_task_done(t, job_ended(result));
    } else if (err.code == E_STALE_LEASE || err.code == E_NOT_FOUND || err.code == E_CONFLICT) {
        log_warn("job %.*s: its result was not accepted: %s", (int)t->id.size, t->id.data, err.msg);
        t->lost = true;
        worker_task_done(t, false);
    } else {
        task_refused(t, &err);
    }
}

static enum err_code take_results(struct talk_request *r, struct slice reply, struct err *err)
{
    struct slice results;
    struct slice result;
    size_t i = 0;

    if (r->finishes.count + r->lost_jobs == 0)
        return E_OK;
    if (!jtext_find(reply, "results", &results) || jtext_type_of(results) != JTEXT_ARRAY ||
        jtext_count_items(results) != r->finishes.count + r->lost_jobs)
        return err_set(err, E_INTERNAL,
                       "the server's reply does not have a result for each finish");
    for (struct jtext_iter it = jtext_items(results); jtext_next_item(&it, &result); i++)
        if (i >= r->lost_jobs)
            take_result(r->finishes.items[i - r->lost_jobs], result);
    VEC_CLEAR(&r->finishes);
    if (r->lost_jobs > 0)
        worker_forget_lost_jobs(r->worker);
    return E_OK;
}

/* ---- what is held ---- */

static struct task *task_named(struct worker *w, struct slice item)
{
    struct slice id;
    struct slice lease;

    if (!jtext_find(item, "id", &id) || !jtext_find(item, "lease", &lease) || id.size < 2 ||
        lease.size < 2)
        return NULL;
    id = slice_make(id.data + 1, id.size - 2);
    lease = slice_make(lease.data + 1, lease.size - 2);
    for (struct task *t = w->tasks; t != NULL; t = t->next)
        if (slice_equal(t->id, id) && slice_equal(t->lease, lease))
            return t;
    return NULL;
}

/* Log pieces that the server accepted whole; `logs` has the size of the others. */
static void take_touches(struct talk_request *r, struct slice reply)
{
    struct slice logs;
    struct slice item;
    struct slice size;

    for (size_t i = 0; i < r->touches.count; i++) {
        struct talk_touch *touch = &r->touches.items[i];

        if (touch->task == NULL)
            continue;
        if (touch->status)
            touch->task->status_sent = false;
        if (touch->log_end < 0)
            continue;
        touch->task->log_sent = false;
        output_ack(touch->task->output, touch->log_end);
    }
    if (!jtext_find(reply, "logs", &logs) || jtext_type_of(logs) != JTEXT_ARRAY)
        return;
    for (struct jtext_iter it = jtext_items(logs); jtext_next_item(&it, &item);) {
        struct task *t = task_named(r->worker, item);

        if (t != NULL && jtext_find(item, "size", &size) && jtext_type_of(size) == JTEXT_INT)
            output_ack(t->output, jtext_int(size));
    }
}

static void take_lost(struct worker *w, struct slice reply)
{
    struct slice list;
    struct slice item;

    if (jtext_find(reply, "lost", &list) && jtext_type_of(list) == JTEXT_ARRAY)
        for (struct jtext_iter it = jtext_items(list); jtext_next_item(&it, &item);) {
            struct task *t = task_named(w, item);

            if (t != NULL)
                task_lost_lease(t);
        }
    if (jtext_find(reply, "cancel", &list) && jtext_type_of(list) == JTEXT_ARRAY)
        for (struct jtext_iter it = jtext_items(list); jtext_next_item(&it, &item);) {
            struct task *t = task_named(w, item);

            if (t != NULL)
                task_stop(t, VERDICT_CANCEL);
        }
}

enum err_code talk_read_reply(struct talk_request *r, struct slice text, struct err *err)
{
    struct slice reply;

    if (jtext_check(text, &reply, err) != E_OK)
        return err_wrap(err, "the server's reply to a claim");
    if (jtext_type_of(reply) != JTEXT_OBJECT)
        return err_set(err, E_INTERNAL, "the server's reply to a claim is not an object");
    take_touches(r, reply);
    if (take_results(r, reply, err) != E_OK)
        return err->code;
    take_lost(r->worker, reply);
    /* Another number than ours: the queues must be read again. */
    struct slice number;

    if (jtext_find(reply, "definitions", &number) && jtext_type_of(number) == JTEXT_INT &&
        jtext_int(number) != r->worker->served.definitions)
        r->worker->served.known = false;
    struct slice jobs;
    struct slice job;

    if (jtext_find(reply, "jobs", &jobs) && jtext_type_of(jobs) == JTEXT_ARRAY) {
        for (struct jtext_iter it = jtext_items(jobs); jtext_next_item(&it, &job);)
            worker_take_job(r->worker, job);
    }
    return E_OK;
}
