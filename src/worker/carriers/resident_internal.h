/*
 * One resident program: what resident.c and resident_start.c share.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "worker/carriers/carrier.h"
#include "worker/internal.h"
#include "worker/run/channel.h"
#include "worker/run/line_reader.h"

#define JOB_LINE_MAX ((size_t)16 << 20)
#define MARK_SIZE 64

struct resident {
    struct worker *worker;
    struct resident *prev, *next; /* in w->residents */
    char *queue;
    char *json;        /* the queue's definition at its start */
    struct task *task; /* its present one, or NULL */
    int64_t task_id;
    struct slot *slot;
    struct channel *channel;
    struct line_reader lines;
    struct tree_job job;
    struct cgroup_job cgroup;
    struct arena arena;
    char mark[MARK_SIZE];

    uv_poll_t input; /* active while a line does not fit into the pipe */
    int input_fd;
    struct buf line; /* the job being written */
    size_t written;

    bool ended;      /* the program itself; what it started may be left */
    bool retired;    /* gets no more jobs */
    bool closing;    /* `input` is known to the loop: it must be closed before this is freed */
    int64_t idle_at; /* steady: idle since */
    int64_t kill_at;
    struct carrier_end end;
};

/* The start function of the carrier. */
MUST_CHECK enum err_code resident_start(struct task *t, enum carrier_blame *ret_blame,
                                        struct err *err);

/* Gives it the job, which it holds from now on. */
void resident_hand_over(struct resident *r, struct task *t);

/* Gives it no more jobs.  Its input is closed when it has no job, which tells it to exit. */
void resident_retire(struct resident *r);
void resident_free(struct resident *r);

void resident_process(void *owner, const struct tree_event *event);

/* Data of its pipes. */
void resident_output(void *ctx, struct slice data);
void resident_words(void *ctx, struct slice data);
