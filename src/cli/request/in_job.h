/*
 * Words of a program inside a job: a line on descriptor 3, and the reply on descriptor 4.
 *
 * Several processes may say words at once: a lock on the job's file keeps lines whole and gives
 * each process the reply to its own line.
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
 * Says one line, given without its newline, and waits for the reply if the word has one; *answer
 * gets the text after `ok`.
 *
 * E_INVALID: the line is malformed; nothing was sent.  E_CONFLICT: the worker replied `fail`.
 * E_UNAVAILABLE: the worker does not listen any more.
 */
MUST_CHECK enum err_code in_job_say(struct in_job *j, struct slice line, struct buf *answer,
                                    struct err *err);
