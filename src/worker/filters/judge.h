/*
 * A judge: a resident program of a filter.
 *
 * Loop's thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/filter/filter_def.h"
#include "worker/process/cgroup.h"
#include "worker/process/tree.h"
#include "worker/run/line_reader.h"

#include <uv.h>

struct judged_job;
struct served_queue;
struct worker;

struct judge {
    struct worker *worker;
    struct judge *next;
    char *queue;
    char *json;   /* the queue's definition at its start */
    size_t place; /* of the filter in the queue's list */
    struct judged_job *job;
    int64_t timeout_us, idle_us;
    int64_t until_at; /* steady: with a job, the end of its patience; else idle since */
    struct slot *slot;
    struct channel *channel;
    struct line_reader lines;
    struct tree_job process;
    struct cgroup_job cgroup;
    struct arena arena;
    char mark[64];
    uv_poll_t input;
    int input_fd;
    struct buf line;
    size_t written;
    bool in_loop; /* `input` is known to the loop */
    bool ended;   /* the program */
    bool dying;   /* it gets no more jobs and is being killed */
};

/* Starts the program of that filter.  On failure nothing is left. */
MUST_CHECK enum err_code judge_start(struct worker *w, struct served_queue *q, size_t place,
                                     struct judge **ret_judge, struct err *err);

/* Gives it the job, as a line of JSON. */
void judge_ask(struct judge *j, struct judged_job *job);

/* Looks at its patience and its end; true: it is gone and freed.  *at: when to look again. */
bool judge_pass(struct judge *j, int64_t now, int64_t *at);

/* Kills it; judge_pass frees it once it is gone. */
void judge_kill(struct judge *j);

/* At the end of the worker: frees it without waiting. */
void judge_free(struct judge *j);
