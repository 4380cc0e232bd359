/*
 * What a program inside a job says to its worker: a line on descriptor 3, and the answer on descriptor 4.
 *
 * Several may speak at once, each in a process of its own: a lock on the job's file keeps lines whole and
 * gives each the answer to its own line.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#define IN_JOB_ANSWER_MAX ((size_t)64 << 10)

struct in_job {
    int lock_fd;
};

/* E_INVALID outside of a job. */
MUST_CHECK enum err_code in_job_open(struct in_job *ret_job, struct err *err);
void in_job_close(struct in_job *j);

/*
 * Says one line, given without its end.  Where the word is answered, waits for that; *answer has what came
 * after `ok`, without it.
 *
 * E_INVALID: the line is malformed, nothing was sent.  E_CONFLICT: the worker says `fail`.
 * E_UNAVAILABLE: nobody listens any more.
 */
MUST_CHECK enum err_code in_job_say(struct in_job *j, struct slice line, struct buf *answer,
                                    struct err *err);
