/*
 * A job out of a row that has all columns of `jobs` in their order.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "core/job.h"
#include "store/db.h"

/* Texts are borrowed from the row when arena is NULL, copied otherwise. */
void job_from_row(const struct db_row *row, struct arena *arena, struct job *ret_job);
