/*
 * What an attempt has gained: everything that goes to the server with its finish.
 *
 * Values set, jobs emitted, steps added, signals raised.  Each is the effect of one word, and the
 * table of words (core/program/word.h) says whether it is kept when the attempt is not done.  A new
 * kind (attachments, group data, resource use) is a member here and a row of the table in gains.c.
 *
 * No I/O and no clock.  Every size is bounded, but that of the jobs: their owner sends them ahead
 * in chunks and reads no more lines while too many are held.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "base/vec.h"

#define GAINS_SET_MAX ((size_t)1 << 20)     /* bytes of all names and values together */
#define GAINS_SET_NAMES 1000                /* values */
#define GAINS_STEPS_MAX ((size_t)1 << 20)   /* bytes of all steps together */
#define GAINS_SIGNALS_MAX 1000              /* names */
#define GAINS_BUSY_MAX ((size_t)64 << 10)   /* bytes of what is busy, with every byte escaped */
#define GAINS_PATCHES_MAX ((size_t)1 << 20) /* bytes of all changes of the group's data */

struct gained_value {
    char *name;
    char *json;
};

struct gained_signal {
    char *name;
    int64_t count;
};

struct gains {
    VEC(struct gained_value) values;
    size_t values_size;
    struct buf jobs; /* JSON objects, each followed by a comma */
    VEC(size_t) job_sizes;
    struct buf steps; /* JSON objects, separated by commas */
    size_t n_steps;
    VEC(struct gained_signal) signals;
    VEC(struct gained_signal) uses; /* of resources */
    struct buf busy;                /* JSON of what the attempt has found busy; or empty */
    struct buf patches;             /* of the group's data: JSON objects, separated by commas */
};

void gains_init(struct gains *g);
void gains_deinit(struct gains *g);

/* E_TOO_LARGE: above one of the limits; nothing has changed. */
MUST_CHECK enum err_code gains_set(struct gains *g, struct slice name, struct slice json,
                                   struct err *err);
MUST_CHECK enum err_code gains_add_step(struct gains *g, struct slice json, struct err *err);

/* A signal that is raised twice is raised by the sum. */
MUST_CHECK enum err_code gains_raise(struct gains *g, struct slice name, int64_t count,
                                     struct err *err);

/* What was used of a resource; the last line counts. */
MUST_CHECK enum err_code gains_use(struct gains *g, struct slice name, int64_t count,
                                   struct err *err);

/* A resource is busy for that time. */
void gains_busy(struct gains *g, struct slice name, int64_t for_us, struct slice why);

/* A merge patch for the data of the job's group. */
MUST_CHECK enum err_code gains_add_patch(struct gains *g, struct slice json, struct err *err);

void gains_add_job(struct gains *g, struct slice json);

/* Removes the first jobs: they went to the server ahead of the finish. */
void gains_remove_jobs(struct gains *g, size_t count);

bool gains_any(const struct gains *g);

/* The attempt is not done: discards what depends on that. */
void gains_discard(struct gains *g);

/* Adds the members of a finish: "set", "emit", "steps", "raise" and "group", as far as there are
 * any. */
void gains_add_finish(const struct gains *g, struct buf *b);
