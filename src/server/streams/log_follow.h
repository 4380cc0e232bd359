/*
 * Clients that follow a log: who is woken when there may be more.
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

/* Wakes those who follow this job: its log has grown, or it has ended.  LOG_FOLLOW_ALL: of any
 * job. */
void log_follow_heard(struct log_follow *f, int64_t job);

/* Ends all streams: the server stops. */
void log_follow_stop(struct log_follow *f);
