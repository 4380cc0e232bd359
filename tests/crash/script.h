/*
 * A fixed script of engine operations of every kind, one batch each.
 *
 * Run twice from the start it does the same: the clock is the script's own, pauses have no jitter.
 * Steps find their jobs by what earlier steps were answered, so that a step may be repeated, as a
 * client does after an error.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "engine/op.h"

struct engine;
struct store;

enum { SCRIPT_JOBS = 40, SCRIPT_LEASES = 40 };

struct script {
    const char *vfs;
    struct store *store;
    struct engine *engine;
    struct now now;

    int64_t jobs[SCRIPT_JOBS]; /* by name, see script.c */
    size_t n_jobs;
    struct script_lease {
        int64_t id, token;
    } leases[SCRIPT_LEASES];
    size_t n_leases;
};

size_t script_count(void);
const char *script_name(size_t step);

/* Opens store and engine on a disk, which may be empty. */
MUST_CHECK enum err_code script_open(struct script *s, const char *vfs, struct err *err);

/* Stops in order, or throws everything away: then the disk must have been killed or cut before. */
enum script_end { SCRIPT_STOP, SCRIPT_DROP };
void script_close(struct script *s, enum script_end how);

/* Runs a step.  E_OK when it was answered as it should be; else the error it was answered with.
 * The clock goes on with the first try of a step only. */
enum script_try { SCRIPT_FIRST, SCRIPT_AGAIN };
enum err_code script_step(struct script *s, size_t number, enum script_try which, struct err *err);

/* Submits, claims and finishes a job in a queue of its own: does the engine work? */
enum err_code script_canary(struct script *s, struct err *err);

#define SCRIPT_DIR "/data"
#define SCRIPT_FILE SCRIPT_DIR "/waybill.db"
