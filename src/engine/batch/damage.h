/*
 * Damaged rows: skipped by the engine's own work until the next start.
 *
 * A row that cannot be read would otherwise stop the sweep, or the followups, for good.
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/map.h"

struct engine;

struct skipped {
    struct map jobs;    /* jobs */
    struct map fanouts; /* rows of `spreads` and `follows` */
};

void skipped_deinit(struct skipped *s);

/* Skips the job from now on if `err` says that its row is damaged.  Returns the error, with which
 * the batch fails this once. */
enum err_code skip_damaged_job(struct engine *e, int64_t job, const struct err *err);
bool job_is_skipped(const struct engine *e, int64_t job);

/* The same for the row of a publication, or of the followups of a job; `what` is for the log. */
enum err_code skip_damaged_fanout(struct engine *e, const char *what, int64_t id,
                                  const struct err *err);
bool fanout_is_skipped(const struct engine *e, int64_t id);
