/*
 * A job out of a row of job_load or of a list.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "core/job/job.h"
#include "store/db/db.h"

static inline struct slice copy_text(struct slice s, struct arena *arena)
{
    return s.data == NULL ? s : arena_copy(arena, s);
}

/* The queue that a living job is stored in: its lane, if it has one. */
static inline int64_t job_place(const struct job *j)
{
    return j->lane != 0 ? j->lane : j->queue;
}

/* Its group and lane as bits of the column `awaited`, which is set apart from them. */
static inline int64_t job_ties(const struct job *j)
{
    return (j->group != 0 ? JOB_TIE_GROUP : 0) | (j->lane != 0 ? JOB_TIE_LANE : 0);
}

/* The column behind those of job_from_row. */
enum { JOB_ROW_END = 24 };

/* Texts are copied into the arena.  Of a bad row (db_row_refuse) the job has its id and no state
 * (JOB_NONE), or all but the value that cannot be read. */
void job_from_row(const struct db_row *row, struct arena *arena, struct job *ret_job);
