/*
 * Waiting for a job's end, and what its end means as an exit status.
 *
 * A server that goes away meanwhile is waited for, for --patience (a minute): jobs outlive its
 * restart.  One that answers that it cannot now is waited for as long as it does.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include <jansson.h>

#include "base/err.h"
#include "base/slice.h"
#include "cli/cli.h"

struct log_printer;

bool job_has_ended(const json_t *job);

/* As its program exited: 128+N for signal N; 1 when it failed otherwise, or never ran. */
int job_exit_status(const json_t *job);

/* Waits until the job has ended, or until that instant of the monotonic clock (TIME_NEVER: for
 * ever); the reply has the job as it is then. */
MUST_CHECK enum err_code job_wait(struct cli *cli, struct slice id, int64_t until_at,
                                  struct client_reply *reply, struct err *err);

/* The same of a job that was just added, which therefore is there: without asking for it first. */
MUST_CHECK enum err_code job_wait_added(struct cli *cli, struct slice id,
                                        struct client_reply *reply, struct err *err);

/* Fails at once when there is no such job, or no server. */
MUST_CHECK enum err_code job_find(struct cli *cli, struct slice id, struct err *err);

/* Prints the log from where the printer is as it grows, with the progress below it on a terminal,
 * until the job has ended; says why it failed; returns the exit status of the command: that of the
 * job.  The job is known to be there. */
int job_follow(struct cli *cli, struct slice id, struct log_printer *log);

/* Says on standard error why a job has failed or was cancelled; nothing about others, or with
 * --json. */
void job_say_end(const struct cli *cli, const json_t *job);

/*
 * In between, a signal that ends us says that the job goes on, or stays in the queue when it was
 * last noted as waiting and has printed nothing since.
 */
void job_watch_begin(struct slice id);
void job_watch_note(const json_t *job);
void job_watch_heard(void); /* output of the job has come */
void job_watch_end(void);
