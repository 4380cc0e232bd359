/*
 * Those who read a log while it is written: who is to be told that there may be more.
 * HTTP thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LOG_FOLLOW_ALL INT64_C(0)

struct log_stream;

struct log_follow {
    struct log_stream *first;
    size_t count;
};

/* Something was added to the log of this job, or it has ended.  LOG_FOLLOW_ALL: of any job. */
void log_follow_heard(struct log_follow *f, int64_t job);

/* Ends all streams: the server stops. */
void log_follow_stop(struct log_follow *f);
