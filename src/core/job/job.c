/* SPDX-License-Identifier: MIT */
#include "core/job/job.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/compiler.h"

const char *const job_outcome_names[JOB_OUT_COUNT] = {
    [JOB_OUT_NONE] = "none",   [JOB_OUT_DONE] = "done",         [JOB_OUT_FAILED] = "failed",
    [JOB_OUT_LATER] = "later", [JOB_OUT_RETURNED] = "returned", [JOB_OUT_CANCELLED] = "cancelled",
    [JOB_OUT_LOST] = "lost",
};

const char *const job_cause_names[JOB_CAUSE_COUNT] = {
    [JOB_CAUSE_NONE] = "none",           [JOB_CAUSE_EXIT] = "exit",
    [JOB_CAUSE_SIGNAL] = "signal",       [JOB_CAUSE_TIMEOUT] = "timeout",
    [JOB_CAUSE_MEMORY] = "memory",       [JOB_CAUSE_LOST] = "lost",
    [JOB_CAUSE_START] = "start",         [JOB_CAUSE_PROTOCOL] = "protocol",
    [JOB_CAUSE_CANCELLED] = "cancelled", [JOB_CAUSE_DEPENDENCY] = "dependency",
    [JOB_CAUSE_EXPIRED] = "expired",     [JOB_CAUSE_DROPPED] = "dropped",
};

const char *job_outcome_name(enum job_outcome o)
{
    ASSERT(o < JOB_OUT_COUNT);
    return job_outcome_names[o];
}

const char *job_cause_name(enum job_cause c)
{
    ASSERT(c < JOB_CAUSE_COUNT);
    return job_cause_names[c];
}

int64_t job_fence(const struct job *j)
{
    return (int64_t)j->attempt + j->returned;
}

struct progress_entry job_last_entry(const struct job *j)
{
    return (struct progress_entry){
        .seq = j->attempt,
        .number = j->step > 0 ? j->step : 1,
        .attempt = j->attempt - j->attempts_before,
        .token = j->token,
        .outcome = j->outcome,
        .cause = j->cause,
        .exited = j->exited,
        .exit = j->exit,
        .queue = j->queue,
        .worker = j->worker,
        .started_at = j->started_at,
        .ended_at = j->finished_at,
        .text = j->text,
    };
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x100000001B3u;
}

const char *job_version(const struct job *j, char text[static JOB_VERSION_SIZE])
{
    uint64_t hash = mix(slice_hash(j->params), slice_hash(j->labels));

    hash = mix(hash, (uint64_t)j->due_at);
    hash = mix(hash, (uint64_t)(j->priority - JOB_PRIORITY_MIN));
    snprintf(text, JOB_VERSION_SIZE, "%016" PRIx64, hash);
    return text;
}
