/*
 * A job from the words and options of a line (`add`, `emit`) to the JSON that the server takes.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/table/args.h"
#include "core/job/job.h"

#define JOB_TEXT_MAX (JOB_BYTES_MAX * 2) /* the ceiling of the buffer */

/* What POST /v1/jobs takes, as one object on one line; the first word is the queue, `default` when
 * there is none and a program is given.  E_INVALID,
 * E_TOO_LARGE: the line or a file named in it is wrong. */
MUST_CHECK enum err_code job_text(const struct args *a, struct buf *out, struct err *err);

/* The value of an option: a text, @FILE, or - for standard input.  E_TOO_LARGE: more than `out` may
 * hold. */
MUST_CHECK enum err_code read_given(const char *option, const char *given, struct buf *out,
                                    struct err *err);

/* Adds the member `body` that --body gives; bytes that are no text, or hold a NUL, in base64. */
MUST_CHECK enum err_code job_body_add(const struct args *a, struct buf *out, struct err *err);

/* Adds the member `workdir`; a relative path is taken from the current directory.  E_INVALID. */
MUST_CHECK enum err_code job_workdir_add(const char *dir, struct buf *out, struct err *err);

/* Adds the member `command` when the line has a program: as it was typed, or with --fill as a
 * template. */
MUST_CHECK enum err_code job_command_add(const struct args *a, struct buf *out, struct err *err);
