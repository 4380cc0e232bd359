/*
 * Lines that have ended, as JSON for programs: one document a line.
 *
 * {"line","input","id","state","exit","cause","text","output" or "output_base64",
 * "errors" or "errors_base64"}, as far as there is any.
 * Output that had to wait for its turn for too long is left out: it is in the job's log.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"
#include "worker/worker.h"

#define EACH_JSON_MAX ((size_t)128 << 20)

void each_json_add_end(struct buf *out, int64_t line, const struct worker_end *end);

/* The same of a job as the server shows it (one JSON object), with an output or, where its data is
 * NULL, without. */
void each_json_add_job(struct buf *out, int64_t line, struct slice job, struct slice output);
