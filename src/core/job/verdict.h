/*
 * The verdict on an attempt: what its worker tells the server when a program has ended.
 *
 * The first end word wins, and the exit status may spoil it: `done` with another status than 0 is a
 * failure.  `err` is final.  `resend` is neither success nor failure, however the program went on.  With
 * no end word exit 0 is success, unless the queue is strict.  A program that said `done` and exited with 0
 * is done even when we were ending it: its work is there.  What an exit status means for retries
 * (`retry.exits`) is the server's to judge.
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

/* Why the worker ended the program, if it did. */
enum verdict_why {
    VERDICT_ITSELF,    /* it ended by itself */
    VERDICT_TIMEOUT,   /* after its time-out */
    VERDICT_CANCEL,    /* the server said so */
    VERDICT_HANDBACK,  /* the worker stops, or its queue is restarted: the attempt counts nothing */
    VERDICT_UNSTARTED, /* its queue's program cannot be started here: the job stays, uncounted */
    VERDICT_NO_START,  /* its own command cannot be started, or its templates cannot be filled */
    VERDICT_EMITS,     /* jobs that it has emitted were refused by the server afterwards */
};

struct verdict_facts {
    enum verdict_why why;
    struct slice reason; /* UNSTARTED, NO_START, EMITS: what went wrong */
    bool exited;         /* there is an exit status */
    int exit;            /* or -N for signal N */
    bool killed_by_us;   /* we sent SIGKILL */
    bool out_of_memory;  /* its cgroup says that it was killed for its memory */
    bool strict;
    bool
        resident; /* it answers with words and goes on: without an exit, its end word alone counts */
    enum word_kind end; /* the first end word; WORD_NONE: there was none */
    struct slice end_text;
    int64_t end_delay_us;
    int64_t timeout_us;
    int64_t memory; /* the limit in bytes; 0: none */
    bool
        has_status; /* it has told a status text, which stays where we have nothing better to say */
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

/* Whether a job's text says only what its cause does: what a verdict says of a program that has said nothing. */
bool verdict_says_only_cause(struct slice text);

/* How an attempt ended, for people: `exit 1`, `signal 9 (KILL)`, `timeout, signal 15 (TERM)`.  `exit` is NULL when there
 * is no exit status. */
void verdict_add_cause(struct buf *b, const char *cause, const int *exit);

/* Adds its members to the object of a finish: "state", and those of "exit", "cause", "text", "final"
 * and "delay" that it has. */
void verdict_add_finish(const struct verdict *v, struct buf *b);
