/*
 * The verdict on an attempt: what its worker reports when a program has ended.
 *
 * The first end word counts, but `done` with an exit status other than 0 is a failure.  `err` is
 * final.  `resend` is neither success nor failure, whatever the exit status.  Without an end word
 * exit 0 is success, unless the queue is strict.  A program that said `done` and exited with 0 is
 * done even while it was being cancelled: its work is complete.  What an exit status means for
 * retries (`retry.exits`) is decided by the server.
 *
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"
#include "core/job/job.h"
#include "core/program/word.h"

/* Why the worker ended the attempt, if it did. */
enum verdict_why {
    VERDICT_ITSELF,    /* the program ended by itself */
    VERDICT_TIMEOUT,   /* its time-out has passed */
    VERDICT_CANCEL,    /* the server asked for it */
    VERDICT_HANDBACK,  /* the worker stops, or the queue is restarted: the attempt does not count */
    VERDICT_UNSTARTED, /* the queue's program cannot be started here: the attempt does not count */
    VERDICT_NO_START,  /* the job's own command cannot be started, or a template cannot be filled */
    VERDICT_EMITS,     /* the server refused jobs that the attempt had emitted */
};

struct verdict_facts {
    enum verdict_why why;
    struct slice reason; /* for UNSTARTED, NO_START and EMITS */
    bool exited;         /* there is an exit status */
    int exit;            /* or -N for signal N */
    bool killed_by_us;   /* the worker sent SIGKILL */
    bool out_of_memory;  /* killed for passing its memory limit */
    bool strict;
    bool resident;      /* its jobs have no exit status: only the end word counts */
    enum word_kind end; /* the first end word, or WORD_NONE */
    struct slice end_text;
    int64_t end_delay_us;
    int64_t timeout_us;
    int64_t memory;  /* the limit in bytes; 0: none */
    bool has_status; /* it has set a status text, which stays unless the verdict has a text */
};

struct verdict {
    enum job_outcome outcome;
    enum job_cause cause;
    bool exited;
    int exit;
    bool final; /* no retry can help */
    bool delayed;
    int64_t delay_us;
    bool has_text;
    char text[WORD_TEXT_MAX + 200];
};

void verdict_judge(const struct verdict_facts *facts, struct verdict *ret_verdict);

/* True when a job's text only repeats its cause: the text for a program that said nothing. */
bool verdict_says_only_cause(struct slice text);

/* How an attempt ended, for people: `exit 1`, `signal 9 (KILL)`, `timeout, signal 15 (TERM)`.
 * `exit` is NULL when there is no exit status.  Nothing for a program that said `err` and exited
 * with 0: its text is the reason. */
void verdict_add_cause(struct buf *b, const char *cause, const int *exit);

/* Adds the members of a finish: "state", and "exit", "cause", "text", "final" and "delay" as far
 * as they apply. */
void verdict_add_finish(const struct verdict *v, struct buf *b);
