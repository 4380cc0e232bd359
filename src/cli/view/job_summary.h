/*
 * A short description of a job: its command, its params or its key.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <jansson.h>

#include "base/buf.h"

enum { JOB_SUMMARY_MAX = 300 }; /* bytes; a list shows no more */

/* `make -C /srv`, `url=https://… depth=3`, the size and start of a large value, or the key; at
 * most JOB_SUMMARY_MAX bytes. */
void job_summary(const json_t *job, struct buf *out);
