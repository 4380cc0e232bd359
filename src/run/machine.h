/*
 * The machine of a definition file: its directory, its server, and the instructions given to it.
 *
 * A machine lives in DATA/run/HASH (own/run_dir.h) and is known by the real path of FILE.  Its
 * store stays when all work has ended: data of groups and keys of filters outlive a run.  `began`
 * records counts and the newest id when the run began: a run reports what came after.  A run begins
 * when a command finds the one before finished, and is finished when nothing is left.
 *
 * Each instruction (KEY=VALUE) is a group of kind `run`, opened once in a run.  Its jobs are
 * submitted in one request, all or none, into a group that is sealed only afterwards: an unsealed
 * group without members is one whose jobs are still missing.  So the same command finishes what a
 * killed one had begun, and repeats nothing.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/definition/definition.h"
#include "core/definition/instruction.h"
#include "own/run_dir.h"
#include "own/server.h"
#include "worker/client/client.h"

#define MACHINE_KIND "run" /* of its directory, and of the groups of its instructions */

#define MACHINE_ID_SIZE 16

struct machine {
    const char *file; /* as it was given */
    char *path;       /* its real path */
    struct definitions definitions;
    struct definition_faults faults;
    struct run_dir dir;
    struct own_server server;
    struct client *client;

    json_t *base;    /* when the run began: {"newest":ID,"counts":{QUEUE:{STATE:N}}} */
    bool is_resumed; /* the instruction had been given before */
};

void machine_init(struct machine *m, const char *file);
void machine_close(struct machine *m);

/* Reads FILE.  Mistakes are in m->faults. */
MUST_CHECK enum err_code machine_read(struct machine *m, struct err *err);

/* Takes the directory; m->dir.own.holder is another process that has worked on it all that time. */
MUST_CHECK enum err_code machine_open(struct machine *m, const char *data_dir, int64_t patience_us,
                                      struct err *err);

/* Forgets everything: all instructions, all data. */
MUST_CHECK enum err_code machine_forget(struct machine *m, struct err *err);

/* Starts the server and reads when the run began.  No jobs run without slots. */
MUST_CHECK enum err_code machine_start(struct machine *m, const struct own_server_config *config,
                                       struct err *err);

/* Connects to the server of the process that works on the machine. */
MUST_CHECK enum err_code machine_join(struct machine *m, struct err *err);

/* Puts the definitions of FILE into the store, without its schedules. */
MUST_CHECK enum err_code machine_define(struct machine *m, struct err *err);

/* Gives the instruction, unless this run has had it. */
MUST_CHECK enum err_code machine_instruct(struct machine *m, struct instruction *in,
                                          struct err *err);

/* Runs the failed jobs of the run again.  *ret_n is how many. */
MUST_CHECK enum err_code machine_retry(struct machine *m, int64_t *ret_n, struct err *err);

/* {QUEUE:{STATE:N,…,"dropped":N}}, the caller's to release. */
MUST_CHECK enum err_code machine_counts(const struct machine *m, json_t **ret_counts,
                                        struct err *err);

/* Whether a job or group was made in this run.  Ids grow, whatever the clock does. */
bool machine_is_of_run(const struct machine *m, const char *id);

/* The same as a filter of jobs: `since`. */
const char *machine_since(const struct machine *m, char text[static TIME_TEXT_SIZE]);

/* One call; `reply` is emptied first. */
MUST_CHECK enum err_code machine_call(const struct machine *m, const char *method, const char *path,
                                      struct slice body, struct client_reply *reply,
                                      struct err *err);
MUST_CHECK enum err_code machine_get(const struct machine *m, const char *path,
                                     struct client_reply *reply, struct err *err);
