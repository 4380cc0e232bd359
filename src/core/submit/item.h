/*
 * A submitted job, after it was read: slices point into the text of the request, or into the arena
 * of its reader.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "core/clock/expires.h"

struct after_cond;
struct group_choice;
struct route_status;
struct routing;

struct submit_item {
    struct slice queue;
    struct slice params;  /* JSON object; empty: {} */
    struct slice body;    /* data NULL: none */
    struct slice labels;  /* JSON object or empty */
    struct slice options; /* canonical JSON object of retry, timeout, command; or empty */
    struct slice key;     /* empty: none */
    uint64_t content;     /* hash over the job as it was sent: the same key with another is a
                             conflict */
    int priority;
    int64_t delay_us;       /* from the commit on */
    int64_t due_at;         /* 0: none; not together with delay_us */
    struct expires expires; /* all zero: its queue's */
    /* SUBMIT_LINES: why the line was not a job; NULL: it was. */
    const struct err *parse_err;

    /* Of jobs with a route: `queue` and `options` are those of the step it begins with. */
    const struct routing *routing;       /* without `after`; NULL: none */
    int step;                            /* number of the step; 0: no route */
    struct slice step_params;            /* of that step: JSON object or empty */
    const struct route_status *progress; /* the record submitted with it */
    size_t n_progress;
    const struct after_cond *after;
    size_t n_after;
    struct slice ref;                 /* what others of the same array call it; or empty */
    struct slice topic;               /* emits: publishes to it instead of a queue; or empty */
    const struct group_choice *group; /* NULL: that of its maker */
    bool redo; /* if the job of its key has ended, runs it again from its first step */
};
