/* SPDX-License-Identifier: MIT */
#include "worker/run/task.h"

#include <signal.h>
#include <string.h>

#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "base/text/base64.h"
#include "core/definition/kinds.h"
#include "worker/internal.h"
#include "worker/talk/internal.h"

#define TERM_US (10 * US_PER_S)       /* from TERM to KILL */
#define TERM_ENDING_US (1 * US_PER_S) /* the same while the worker ends */
#define REFUSED_MAX 2
#define EMIT_AGAIN_US (500 * US_PER_MS)

/* ---- what the server says ---- */

static struct slice text_member(struct slice job, const char *name, struct arena *arena)
{
    struct slice value;

    if (!jtext_find(job, name, &value) || jtext_type_of(value) != JTEXT_STRING)
        return (struct slice){0};
    return jtext_text(value, arena);
}

static struct slice raw_member(struct slice job, const char *name)
{
    struct slice value;

    return jtext_find(job, name, &value) ? value : (struct slice){0};
}

static int64_t int_member(struct slice job, const char *name)
{
    struct slice value = raw_member(job, name);

    return value.size > 0 && jtext_type_of(value) == JTEXT_INT ? jtext_int(value) : 0;
}

static int64_t timeout_member(struct slice job, struct arena *arena)
{
    struct slice value = raw_member(job, "timeout");
    struct err err = ERR_INIT;
    int64_t us = 0;

    if (value.size == 0)
        return 0;
    enum err_code code = jtext_type_of(value) == JTEXT_STRING
                             ? duration_parse(jtext_text(value, arena), &us, &err)
                             : duration_from_seconds(jtext_number(value), &us, &err);

    return code == E_OK ? us : 0;
}

static void read_group(struct task *t)
{
    struct slice group = raw_member(t->json, "group");

    t->closes = text_member(t->json, "closes", &t->arena);
    if (group.size > 0 && jtext_type_of(group) == JTEXT_OBJECT)
        t->group = text_member(group, "id", &t->arena);
}

static void take_members(struct task *t)
{
    struct arena *a = &t->arena;
    struct slice encoded = text_member(t->json, "body_base64", a);

    t->id = text_member(t->json, "id", a);
    t->lease = text_member(t->json, "lease", a);
    t->queue = text_member(t->json, "queue", a);
    t->key = text_member(t->json, "key", a);
    t->url = text_member(t->json, "url", a);
    t->params = raw_member(t->json, "params");
    t->command = raw_member(t->json, "command");
    t->limits = raw_member(t->json, "limits");
    if (t->command.size > 0) {
        t->workdir = text_member(t->json, "workdir", a);
        t->env = raw_member(t->json, "env");
    }
    t->cursor = raw_member(t->json, "cursor");
    read_group(t);
    t->attempt = (int)int_member(t->json, "attempt");
    t->lost_before = int_member(t->json, "lost");
    t->timeout_us = timeout_member(t->json, a);
    /* A job without a route counts as its only step. */
    struct slice step = raw_member(t->json, "step");
    struct slice final;

    t->step = 1;
    t->route = EMIT_NO_ROUTE;
    if (step.size != 0 && jtext_type_of(step) == JTEXT_OBJECT) {
        t->step = (int)int_member(step, "number");
        t->route = jtext_find(step, "final", &final) && jtext_type_of(final) == JTEXT_TRUE
                       ? EMIT_ROUTE_FINAL
                       : EMIT_ROUTE;
    }
    t->body = text_member(t->json, "body", a);
    if (encoded.data != NULL && !base64_decode(encoded, a, &t->body))
        log_warn("job %.*s: its body is not base64", (int)t->id.size, t->id.data);
}

/* ---- life ---- */

static enum err_code knows_queue(void *ctx, struct slice name, struct err *err)
{
    const struct worker *w = ctx;

    for (size_t i = 0; i < w->served.names.count; i++)
        if (slice_is(name, w->served.names.items[i]))
            return E_OK;
    return definition_name_unknown(DEFINITION_QUEUE, name,
                                   (const char *const *)w->served.names.items,
                                   w->served.names.count, E_INVALID, err);
}

static enum err_code knows_topic(void *ctx, struct slice name, struct err *err)
{
    const struct worker *w = ctx;

    return served_queues_check_topic(&w->served, name, err);
}

/* Every attempt may add as much, so that the last one can always show why it failed.  On a route
 * attempts are counted per step, and the log before may come from other queues. */
static int64_t log_cap(const struct task *t, int64_t base)
{
    int64_t keep = t->served != NULL ? t->served->def.keep_log : 0;
    int64_t left = t->route != EMIT_NO_ROUTE ? keep : keep * t->attempt - base;

    return left < keep ? left : keep;
}

struct task *task_new(struct worker *w, struct slice json)
{
    struct task *t = mem_zalloc(sizeof(*t));

    t->worker = w;
    t->stop_told = true;
    t->timeout_at = TIME_NEVER;
    t->json = arena_copy(&t->arena, json);
    take_members(t);
    t->served = served_queues_find(&w->served, t->queue);
    if (t->id.size == 0 || t->lease.size == 0) {
        log_error("the server gave a job without id or lease: %.*s", (int)json.size, json.data);
        arena_deinit(&t->arena);
        free(t);
        return NULL;
    }
    t->report = program_report_new(&(struct program_report_config){
        .id = arena_strdup(&t->arena, t->id),
        .lease = arena_strdup(&t->arena, t->lease),
        .rules = {.route = t->route,
                  .may_command = t->served != NULL && t->served->def.may_emit_command,
                  .knows_queue = knows_queue,
                  .knows_topic = knows_topic,
                  .ctx = w},
    });
    int64_t base = int_member(t->json, "log_size"); /* of earlier attempts */

    t->output = output_new(&(struct output_config){
        .cap = log_cap(t, base),
        .base = base,
        .keep_text = w->config.hooks.on_end != NULL,
    });
    t->next = w->tasks;
    if (t->next != NULL)
        t->next->prev = t;
    w->tasks = t;
    w->n_tasks++;
    return t;
}

void task_free(struct task *t)
{
    struct worker *w = t->worker;

    ASSERT(t->carrier == NULL);
    if (t->prev != NULL)
        t->prev->next = t->next;
    else
        w->tasks = t->next;
    if (t->next != NULL)
        t->next->prev = t->prev;
    w->n_tasks--;
    talk_forget(t);
    if (t->emit_request != NULL)
        async_client_cancel(t->emit_request);
    program_report_free(t->report);
    output_free(t->output);
    output_free(t->errors);
    run_plan_deinit(&t->plan);
    arena_deinit(&t->arena);
    free(t);
}

/* ---- ending ---- */

void task_stop(struct task *t, enum verdict_why why)
{
    bool ending = t->worker->state >= WORKER_ENDING;

    if (t->state > TASK_RUNNING)
        return;
    if (t->facts.why == VERDICT_ITSELF)
        t->facts.why = why;
    if (t->state == TASK_WAITING && t->served != NULL) {
        worker_unqueue(t);
        task_settle(t);
        return;
    }
    if (t->carrier != NULL)
        t->carrier->cancel(t, worker_now(t->worker) + (ending ? TERM_ENDING_US : TERM_US));
}

void task_note_stop(struct task *t, int signal)
{
    CLEANUP(buf) struct buf text = BUF_INIT(128);

    if (signal != 0)
        buf_addf(&text, "stopped by signal %d (SIG%s)", signal, sigabbrev_np(signal));
    else
        buf_add_str(&text, "continued");
    output_notice(t->output, buf_slice(&text), clock_wall_us());
    t->stopped = signal;
    t->stop_told = false;
}

void task_lost_lease(struct task *t)
{
    if (t->lost || t->state == TASK_ENDED)
        return; /* the reply to its finish decides, also if that must be sent again */
    log_warn("job %.*s belongs to another worker now: it is cancelled here", (int)t->id.size,
             t->id.data);
    t->lost = true;
    if (t->carrier != NULL) {
        t->carrier->cancel(t, worker_now(t->worker));
        return;
    }
    if (t->state == TASK_WAITING)
        worker_unqueue(t);
    worker_task_done(t, false);
}

static void judge(struct task *t)
{
    const struct word *end = program_report_end(t->report);
    const struct err *fault = program_report_fault(t->report);

    t->facts.end = end->kind;
    t->facts.end_text = end->text;
    t->facts.end_delay_us = end->delay_us;
    t->facts.has_status = program_report_has_text(t->report);
    if (fault != NULL) {
        t->facts.why = VERDICT_EMITS;
        t->facts.reason = slice_of(fault->msg);
    }
    verdict_judge(&t->facts, &t->verdict);
}

void task_over(struct task *t, const struct carrier_end *end)
{
    t->facts.exited = end->exited;
    t->facts.exit = end->exit;
    t->facts.resident = t->facts.resident || !end->exited; /* the end word alone decides */
    t->facts.killed_by_us = end->killed;
    t->facts.out_of_memory = end->out_of_memory;
    /* Before the carrier forgets the process: if this worker is killed now, the next one finds one
     * of the two records and tells the server that the attempt is lost. */
    if (t->facts.why == VERDICT_ITSELF && !t->lost)
        t->end_record = slots_note_end(t->worker->slots, t->id, t->lease);
    t->carrier->release(t);
    t->carrier = NULL;
    worker_slot_freed(t);
    task_settle(t);
}

int64_t task_check_timeout(struct task *t, int64_t now)
{
    if (now >= t->timeout_at) {
        t->timeout_at = TIME_NEVER;
        task_stop(t, VERDICT_TIMEOUT);
    }
    return t->timeout_at;
}

void task_settle(struct task *t)
{
    if (t->stopped != 0 && t->facts.exited && t->facts.exit >= 0)
        task_note_stop(t, 0); /* a stopped program cannot exit, so it was continued unnoticed */
    t->stop_told = t->stop_told && t->stopped == 0;
    t->stopped = 0;
    output_end(t->output, clock_wall_us());
    if (t->errors != NULL) {
        output_end(t->errors, clock_wall_us());
        output_add_errors(t->output, output_text(t->errors), clock_wall_us());
    }
    program_report_close(t->report);
    if (t->lost) {
        worker_task_done(t, false);
        return;
    }
    judge(t);
    if (t->verdict.outcome != JOB_OUT_DONE)
        program_report_discard_gains(t->report);
    if (t->verdict.outcome == JOB_OUT_FAILED && t->worker->config.hooks.on_failure != NULL)
        t->worker->config.hooks.on_failure(t->worker->config.hooks.ctx);
    t->state = TASK_SETTLING;
    task_send_emits(t);
}

void task_not_started(struct task *t, const char *reason)
{
    t->facts.why = VERDICT_UNSTARTED;
    t->facts.reason = arena_copy(&t->arena, slice_of(reason));
    task_settle(t);
}

void task_refused(struct task *t, const struct err *why)
{
    struct verdict_facts facts = {.why = VERDICT_EMITS,
                                  .exited = t->facts.exited,
                                  .exit = t->facts.exit};

    if (t->refused == REFUSED_MAX) {
        log_error("job %.*s: the server refuses its result: %s", (int)t->id.size, t->id.data,
                  why->msg);
        t->lost = true;
        worker_task_done(t, false);
        return;
    }
    t->refused++;
    facts.reason = arena_copy(&t->arena, slice_of(why->msg));
    verdict_judge(&facts, &t->verdict);
}

/* ---- emits ---- */

/* E_CONFLICT: the key of a job is known with another content. */
static bool is_final_refusal(enum err_code code)
{
    return code == E_INVALID || code == E_BAD_REQUEST || code == E_TOO_LARGE ||
           code == E_QUEUE_DOWN || code == E_FORBIDDEN || code == E_CONFLICT;
}

static void on_emitted(void *ctx, const struct async_reply *reply)
{
    CLEANUP(buf) struct buf replies = BUF_INIT(CLIENT_REPLY_MAX);
    CLEANUP(buf) struct buf notices = BUF_INIT(CLIENT_REPLY_MAX);
    struct task *t = ctx;

    t->emit_request = NULL;
    if (reply->err.code == E_OK) {
        program_report_batch_done(t->report, reply->text, &replies);
    } else if (is_final_refusal(reply->err.code)) {
        program_report_batch_refused(t->report, &reply->err, &replies, &notices);
    } else {
        program_report_batch_again(t->report);
        t->emit_at = worker_now(t->worker) + EMIT_AGAIN_US;
    }
    if (t->carrier != NULL && t->carrier->reply != NULL)
        t->carrier->reply(t, buf_slice(&replies));
    if (notices.size > 0)
        output_notice(t->output, buf_slice(&notices), clock_wall_us());
    if (reply->err.code == E_STALE_LEASE || reply->err.code == E_NOT_FOUND) {
        task_lost_lease(t);
        return;
    }
    task_send_emits(t);
}

void task_send_emits(struct task *t)
{
    int64_t now = worker_now(t->worker);
    int64_t at = program_report_batch_at(t->report);

    if (t->emit_request != NULL || t->lost)
        return;
    at = at < t->emit_at ? t->emit_at : at;
    if (program_report_batch_at(t->report) != TIME_NEVER && at <= now) {
        CLEANUP(buf) struct buf body = BUF_INIT(CLIENT_REPLY_MAX);

        if (program_report_next_batch(t->report, worker_now(t->worker), &body)) {
            t->emit_request = async_client_send(t->worker->client,
                                                &(struct async_call){.method = "POST",
                                                                     .path = "/v1/emit",
                                                                     .body = buf_slice(&body),
                                                                     .done = on_emitted,
                                                                     .ctx = t});
        }
    } else if (program_report_batch_at(t->report) != TIME_NEVER) {
        worker_wake_at(t->worker, at);
    }
    if (t->state != TASK_SETTLING || t->emit_request != NULL || !program_report_settled(t->report))
        return;
    judge(t); /* a job that it emitted may have been refused meanwhile */
    t->state = TASK_ENDED;
    t->ended_at = now;
}
