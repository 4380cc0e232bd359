/*
 * The desk: jobs of the server that wait for a filter's verdict, judged by programs of this worker.
 *
 * Loop's thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct async_request;
struct judge;
struct worker;

enum { FILTER_SLOTS = 32 }; /* programs of filters at once */

/* A job that is being judged. */
struct judged_job {
    struct judged_job *next;
    char *queue;
    char *id;
    char *json;       /* as it came; params as earlier filters have changed them */
    struct buf patch; /* JSON object to merge, or empty */
    size_t place;     /* of the filter that is next, in the queue's list */
    struct judge *at; /* which judges it now; NULL: it waits */
};

struct filter_desk {
    struct async_request *ask, *tell;
    struct judged_job *jobs;
    size_t n_jobs;
    struct buf verdicts; /* JSON, not yet sent; separated by commas */
    struct judge *judges;
    uint64_t judges_made;
    int64_t resume_at, pause_us; /* after a failed request */
};

void filter_desk_init(struct worker *w);
void filter_desk_deinit(struct worker *w);

/* Once a pass: asks, judges, tells.  Returns when it wants to be called again. */
int64_t filter_desk_pass(struct worker *w, int64_t now);

/* Ends all programs; true: none is left. */
bool filter_desk_end(struct worker *w);

/* ---- for judge.c ---- */

/* The program has judged the job it had: `keep` with a patch or without, `drop`, or it failed. */
enum judge_says { JUDGE_KEEP, JUDGE_DROP, JUDGE_FAILED };
void filter_desk_judged(struct worker *w, struct judge *j, enum judge_says says, struct slice text);
