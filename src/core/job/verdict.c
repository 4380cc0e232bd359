/* SPDX-License-Identifier: MIT */
#include "core/job/verdict.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"

/* Beginnings of texts that only repeat the cause. */
#define ONLY_EXIT "exit status "
#define ONLY_SIGNAL "ended by signal "

static void say(struct verdict *v, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void say(struct verdict *v, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(v->text, sizeof(v->text), fmt, args);
    va_end(args);
    v->has_text = true;
}

/* The text of the end word; without one the status text stays. */
static void say_end_text(struct verdict *v, const struct verdict_facts *f)
{
    if (f->end_text.size > 0)
        say(v, "%.*s", (int)f->end_text.size, f->end_text.data);
}

static void fail(struct verdict *v, enum job_cause cause)
{
    v->outcome = JOB_OUT_FAILED;
    v->cause = cause;
}

/* ---- without an end word ---- */

static void judge_signal(struct verdict *v, const struct verdict_facts *f)
{
    int signal = -f->exit;
    const char *name = sigabbrev_np(signal);

    fail(v, JOB_CAUSE_SIGNAL);
    if (signal == SIGKILL && !f->killed_by_us)
        say(v, "killed, perhaps out of memory");
    else if (signal == SIGXCPU)
        say(v, "used more processor time than it may (limits.cpu)");
    else if (name != NULL)
        say(v, ONLY_SIGNAL "%d (%s)", signal, name);
    else
        say(v, ONLY_SIGNAL "%d", signal);
}

static void judge_exit(struct verdict *v, const struct verdict_facts *f)
{
    if (f->resident) {
        fail(v, f->exited && f->exit != 0 ? JOB_CAUSE_EXIT : JOB_CAUSE_PROTOCOL);
        say(v, "the resident program ended (exit status %d) before it answered", f->exit);
    } else if (f->exit != 0) {
        fail(v, JOB_CAUSE_EXIT);
        if (!f->has_status)
            say(v, ONLY_EXIT "%d", f->exit);
    } else if (f->strict) {
        fail(v, JOB_CAUSE_PROTOCOL);
        say(v, "exited with 0, but without an end word (the queue is strict)");
    } else {
        v->outcome = JOB_OUT_DONE;
    }
}

static void judge_plain(struct verdict *v, const struct verdict_facts *f)
{
    if (f->out_of_memory) {
        fail(v, JOB_CAUSE_MEMORY);
        say(v, "killed: out of memory");
        if (f->memory > 0)
            say(v, "killed: it used more than %" PRId64 " KiB of memory (limits.memory)",
                f->memory >> 10);
    } else if (f->exited && f->exit < 0) {
        judge_signal(v, f);
    } else {
        judge_exit(v, f);
    }
}

/* ---- with an end word ---- */

static bool succeeded(const struct verdict_facts *f)
{
    return f->end == WORD_DONE && (f->exited ? f->exit == 0 : f->resident);
}

static void judge_failed_word(struct verdict *v, const struct verdict_facts *f)
{
    if (f->why == VERDICT_TIMEOUT)
        fail(v, JOB_CAUSE_TIMEOUT);
    else if (f->exited && f->exit != 0)
        judge_plain(v, f);
    else
        fail(v, JOB_CAUSE_EXIT);
    v->final = true;
    say(v, "failed without saying why");
    say_end_text(v, f);
}

static void judge_end_word(struct verdict *v, const struct verdict_facts *f)
{
    if (f->end == WORD_RESEND) {
        v->outcome = JOB_OUT_LATER;
        v->delayed = true;
        v->delay_us = f->end_delay_us;
        say_end_text(v, f);
    } else if (f->end == WORD_BUSY) {
        v->outcome = JOB_OUT_RETURNED;
        say_end_text(v, f);
    } else if (f->end == WORD_FAIL) {
        judge_failed_word(v, f);
    } else if (succeeded(f)) {
        v->outcome = JOB_OUT_DONE;
        say_end_text(v, f);
    } else {
        judge_plain(v, f);
        if (v->cause == JOB_CAUSE_EXIT)
            say(v, "said done, but exited with %d", f->exit);
    }
}

/* ---- we ended it ---- */

static void hand_back(struct verdict *v)
{
    v->outcome = JOB_OUT_RETURNED;
    v->exited = false;
    v->exit = 0;
}

static void judge_ended(struct verdict *v, const struct verdict_facts *f)
{
    char length[DURATION_TEXT_SIZE];

    switch (f->why) {
    case VERDICT_TIMEOUT:
        fail(v, JOB_CAUSE_TIMEOUT);
        say(v, "took longer than %s", duration_format(f->timeout_us, length));
        break;
    case VERDICT_CANCEL:
        v->outcome = JOB_OUT_CANCELLED;
        v->cause = JOB_CAUSE_CANCELLED;
        break;
    case VERDICT_HANDBACK: hand_back(v); break;
    case VERDICT_UNSTARTED:
        hand_back(v);
        say(v, "%.*s", (int)f->reason.size, f->reason.data);
        break;
    case VERDICT_NO_START:
        fail(v, JOB_CAUSE_START);
        say(v, "%.*s", (int)f->reason.size, f->reason.data);
        break;
    case VERDICT_ITSELF:
    case VERDICT_EMITS: ASSERT(!"it ended by itself");
    }
}

static void judge_any(struct verdict *v, const struct verdict_facts *f)
{
    bool never_ran = f->why == VERDICT_UNSTARTED || f->why == VERDICT_NO_START;
    bool by_itself = f->why == VERDICT_ITSELF || f->why == VERDICT_EMITS;
    bool has_word = f->end == WORD_FAIL || f->end == WORD_RESEND || f->end == WORD_BUSY ||
                    succeeded(f);

    if (never_ran || (!by_itself && !has_word))
        judge_ended(v, f);
    else if (f->end != WORD_NONE)
        judge_end_word(v, f);
    else
        judge_plain(v, f);
}

void verdict_judge(const struct verdict_facts *facts, struct verdict *ret_verdict)
{
    struct verdict *v = ret_verdict;

    *v = (struct verdict){.exited = facts->exited, .exit = facts->exit};
    judge_any(v, facts);
    if (facts->why == VERDICT_EMITS && v->outcome == JOB_OUT_DONE) {
        fail(v, JOB_CAUSE_PROTOCOL);
        say(v, "a job, step or signal of the attempt was refused: %.*s", (int)facts->reason.size,
            facts->reason.data);
    }
}

void verdict_add_finish(const struct verdict *v, struct buf *b)
{
    char length[DURATION_TEXT_SIZE];

    jtext_put_string(b, "state", slice_of(job_outcome_name(v->outcome)));
    if (v->exited)
        jtext_put_int(b, "exit", v->exit);
    if (v->cause != JOB_CAUSE_NONE)
        jtext_put_string(b, "cause", slice_of(job_cause_name(v->cause)));
    if (v->has_text)
        jtext_put_string(b, "text", slice_of(v->text));
    if (v->final)
        jtext_put_bool(b, "final", true);
    if (v->delayed)
        jtext_put_string(b, "delay", slice_of(duration_format(v->delay_us, length)));
}

/* ---- for people ---- */

bool verdict_says_only_cause(struct slice text)
{
    return text.size == 0 || slice_begins(text, SLICE(ONLY_EXIT)) ||
           slice_begins(text, SLICE(ONLY_SIGNAL));
}

void verdict_add_cause(struct buf *b, const char *cause, const int *exit)
{
    bool is_cause = exit != NULL && strcmp(cause, *exit < 0 ? "signal" : "exit") == 0;
    const char *name = exit != NULL && *exit < 0 ? sigabbrev_np(-*exit) : NULL;

    if (strcmp(cause, "exit") == 0 && (exit == NULL || *exit == 0))
        return; /* it said `err` */
    if (!is_cause)
        buf_add_str(b, cause);
    if (exit == NULL || *exit == 0)
        return;
    if (!is_cause && *cause != '\0')
        buf_add_str(b, ", ");
    buf_addf(b, *exit < 0 ? "signal %d" : "exit %d", abs(*exit));
    if (name != NULL)
        buf_addf(b, " (%s)", name); /* signal 9 (KILL) */
}
