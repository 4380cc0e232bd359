/*
 * A job out of a row of job_load or of a list.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "core/job.h"
#include "store/db.h"

/* Texts are copied into the arena. */
void job_from_row(const struct db_row *row, struct arena *arena, struct job *ret_job);
