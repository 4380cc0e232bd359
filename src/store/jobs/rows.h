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

/* A JSON text of a job, copied into the arena; empty when there is none.  Refuses the row unless it is one, and an
 * object; only a "result" may be anything. */
struct slice take_json(const struct db_row *row, int column, const char *what, struct arena *arena);

/* Texts are copied into the arena.  A row that cannot be is refused (db_row_refuse), and the job is one in no state,
 * JOB_NONE, that has its id alone. */
void job_from_row(const struct db_row *row, struct arena *arena, struct job *ret_job);
