/*
 * The steps and signals of an report, which go with the finish alone; and whether a job, a step and a topic lead
 * somewhere.
 */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "core/route/bill.h"
#include "core/route/dest.h"
#include "worker/run/program_report_internal.h"

void program_report_free_route(struct program_report *a)
{
    program_report_drop_route(a);
    VEC_DEINIT(&a->signals);
    buf_deinit(&a->steps);
}

void program_report_drop_route(struct program_report *a)
{
    for (size_t i = 0; i < a->signals.count; i++)
        free(a->signals.items[i].name);
    VEC_CLEAR(&a->signals);
    buf_clear(&a->steps);
    a->n_steps = 0;
}

/* ---- where jobs and steps lead ---- */

/* The server would refuse it, too. */
static enum err_code forbid_command(struct err *err)
{
    return err_set(err, E_FORBIDDEN,
                   "command: jobs of this queue may not emit commands: emit into a queue that has "
                   "the command, or define this one with may_emit: {command: true}");
}

/* A queue must be there now: later there is nobody to tell. */
static enum err_code check_steps(struct program_report *a, struct slice list, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct route_step *steps;
    size_t n;

    if (route_steps_parse(list, 0, &arena, &steps, &n, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n && !a->config.may_command; i++)
        if (steps[i].command.size > 0) {
            (void)forbid_command(err);
            return err_wrap(err, "steps[%zu]", i);
        }
    for (size_t i = 0; i < n; i++)
        if (a->config.knows_queue(a->config.ctx, steps[i].queue, err) != E_OK)
            return err_wrap(err, "steps[%zu]", i);
    return E_OK;
}

static enum err_code check_topic(struct program_report *a, struct slice topic, struct err *err)
{
    if (dest_name_check("topic", topic, err) != E_OK)
        return err->code;
    return a->config.knows_topic(a->config.ctx, topic, err);
}

enum err_code program_report_check_job(struct program_report *a, struct slice job, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice value;
    struct slice steps;
    bool has_steps = json_find(job, "steps", &steps);

    if (!a->config.may_command && json_find(job, "command", &value) &&
        json_type_of(value) != JSON_T_NULL)
        return forbid_command(err);
    if (json_find(job, "queue", &value)) {
        if (has_steps)
            return err_set(err, E_INVALID,
                           "a job with steps goes to the queues that they name, "
                           "it has no 'queue'");
        if (json_type_of(value) != JSON_T_STRING)
            return err_set(err, E_INVALID, "'queue' must be the name of one");
        return a->config.knows_queue(a->config.ctx, json_text(value, &arena), err);
    }
    if (has_steps)
        return check_steps(a, steps, err);
    if (!json_find(job, "topic", &value) || json_type_of(value) != JSON_T_STRING)
        return err_set(err, E_INVALID,
                       "a job needs a 'queue', the name of one, or a 'topic', or 'steps'");
    return check_topic(a, json_text(value, &arena), err);
}

/* ---- steps ---- */

static enum err_code check_step(struct program_report *a, struct slice step, struct err *err)
{
    if (a->config.route == PROGRAM_REPORT_NO_ROUTE)
        return err_set(err, E_CONFLICT, "this job has no route: it was made without steps");
    if (a->config.route == PROGRAM_REPORT_ROUTE_FINAL)
        return err_set(err, E_CONFLICT, "the route has come to its final steps");
    if (a->n_steps == ROUTE_STEPS_MAX)
        return err_set(err, E_TOO_LARGE, "a route has at most %d steps", ROUTE_STEPS_MAX);
    if (a->steps.size + step.size + 1 > PROGRAM_REPORT_STEPS_MAX)
        return err_set(err, E_TOO_LARGE, "all steps together have more than %zu bytes",
                       PROGRAM_REPORT_STEPS_MAX);
    return check_steps(a, step, err);
}

void program_report_take_step(struct program_report *a, const struct word *w)
{
    struct err err = ERR_INIT;

    if (check_step(a, w->json, &err) != E_OK) {
        program_report_reply_now(a, "fail step: %s", err.msg);
        program_report_note_forbidden(a, &err);
        return;
    }
    if (a->n_steps++ > 0)
        buf_add_char(&a->steps, ',');
    buf_add_slice(&a->steps, w->json);
    a->said_before = "step";
    program_report_reply_now(a, "ok");
}

/* ---- signals ---- */

static struct program_report_signal *find_signal(struct program_report *a, struct slice name)
{
    for (size_t i = 0; i < a->signals.count; i++)
        if (slice_is(name, a->signals.items[i].name))
            return &a->signals.items[i];
    return NULL;
}

static struct program_report_signal *add_signal(struct program_report *a, struct slice name)
{
    VEC_PUSH(&a->signals,
             ((struct program_report_signal){.name = mem_strndup(name.data, name.size)}));
    return &a->signals.items[a->signals.count - 1];
}

/* Raised twice is raised by the sum. */
void program_report_take_raise(struct program_report *a, const struct word *w)
{
    struct program_report_signal *signal = find_signal(a, w->name);

    if (signal == NULL && a->signals.count == PROGRAM_REPORT_SIGNALS_MAX) {
        program_report_reply_now(a, "fail raise: at most %d signals are allowed",
                                 PROGRAM_REPORT_SIGNALS_MAX);
        return;
    }
    if (signal != NULL && w->count > SIGNAL_COUNT_MAX - signal->count) {
        program_report_reply_now(a, "fail raise: by more than %" PRId64 " in all",
                                 SIGNAL_COUNT_MAX);
        return;
    }
    if (signal == NULL)
        signal = add_signal(a, w->name);
    signal->count += w->count;
    a->said_before = "raise";
    program_report_reply_now(a, "ok");
}

/* ---- the finish ---- */

static void add_signals(const struct program_report *a, struct buf *b)
{
    json_add_key(b, "raise");
    buf_add_char(b, '{');
    for (size_t i = 0; i < a->signals.count; i++) {
        json_add_comma(b);
        json_add_string(b, slice_of(a->signals.items[i].name));
        buf_addf(b, ":%" PRId64, a->signals.items[i].count);
    }
    buf_add_char(b, '}');
}

void program_report_add_route(const struct program_report *a, struct buf *b)
{
    if (a->n_steps > 0) {
        json_add_key(b, "steps");
        buf_add_char(b, '[');
        buf_add_slice(b, buf_slice(&a->steps));
        buf_add_char(b, ']');
    }
    if (a->signals.count > 0)
        add_signals(a, b);
}
