/*
 * A store that other servers write to as well.
 *
 * Memory may be out of date then: a batch begins its transaction before it looks at anything, and
 * locks what it judges.  On an embedded store none of these functions does anything, unless its
 * comment says so: use cases call them without asking which store it is.
 * Engine thread only.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

struct engine;
struct queue;

/* How long to wait before trying again what another server has locked. */
#define LOCKED_PAUSE_US (20 * US_PER_MS)

struct shared {
    bool is_on;       /* other servers may write to the store */
    bool only_server; /* no other server when the last transaction began: ready lists stay valid */
    int64_t store_ahead_us; /* the database's clock minus our steady one, its sleep included */
    /* The store's count of changed queues, as memory has it; -1: not known. */
    int64_t queue_changes;
    int64_t beat_at;    /* steady: when to report that this server is alive */
    int64_t recheck_at; /* steady: when to look at waiting claims again, after saw_locked_ready */
    bool news_missed;   /* news about ended jobs may have been missed */

    /* Of the batch. */
    bool exclusive;        /* no other server's batch runs beside it */
    bool saw_held_gate;    /* other servers judge gates that its claims need */
    bool saw_locked_ready; /* other servers lock ready jobs, which may stay ready */

    /* News to other servers (news.c). */
    struct buf news; /* of the batch */
    bool news_full;
    int64_t ready_news_at;      /* steady: when to report which queues have ready jobs */
    int64_t ready_news_sent_at; /* steady: when that was reported last */
};

/* Joins the other servers and reads what this one needs. */
MUST_CHECK enum err_code shared_open(struct engine *e, struct err *err);
void shared_close(struct engine *e);

/* ---- the batch ---- */

/* Begins the transaction if the batch must look at the store. */
MUST_CHECK enum err_code shared_begin(struct engine *e, struct err *err);

/* Begins it for a batch that writes after all; embedded too. */
MUST_CHECK enum err_code shared_begin_write(struct engine *e, struct err *err);

/* Between the batch's last write and its commit: writes its news, that this server is alive, and
 * that ids up to `ids_mark` may have been handed out.  Embedded: the mark, if it is a new one. */
MUST_CHECK enum err_code shared_sign(struct engine *e, int64_t ids_mark, struct err *err);

/* The batch is over, whether it was committed or not. */
void shared_clear(struct engine *e);

/* ---- memory and the store ---- */

/* Whether memory may lack what other servers have done, so that the store must be asked.  Embedded:
 * never. */
bool must_ask_store(const struct engine *e);

/* Whether other servers judge by what this one writes.  Embedded: never. */
bool must_tell_store(const struct engine *e);

/* Whether no other server's batch runs beside this one.  Embedded: always. */
bool shared_is_alone(const struct engine *e);

/* Makes sure that the queue's list of ready jobs has its first one, if there is any.  On a
 * shared store those that are listed are locked for the batch; `held` false: they are not, because
 * many of them will be passed over. */
MUST_CHECK enum err_code shared_fill_ready(struct engine *e, struct queue *q, bool held,
                                           struct err *err);

/* The number that orders a line of a log among those of all servers.  Embedded: 0, the store
 * counts. */
int64_t shared_line_number(struct engine *e);

/* ---- time ---- */

/* Whether the database's clock is the time.  Embedded: never. */
bool shared_sets_clock(const struct engine *e);

/* The caller's time as the database would tell it.  Embedded: `now`. */
struct now shared_now(const struct engine *e, struct now now);

/* The clock was set by `step_us`: moves what is due after a delay.  Every server sees the step: on
 * a shared store nothing waits longer than its delay from now on.  Embedded: moves it by the
 * step. */
MUST_CHECK enum err_code shared_move_due(struct engine *e, int64_t step_us, struct err *err);

/* ---- other servers ---- */

/* Reports that this server is alive, and adopts what dead ones left.  A failure is reported and
 * tried again. */
void shared_beat(struct engine *e);

/* Looks again at ready jobs that others had locked. */
void shared_recheck(struct engine *e);

/* When one of these is due next; TIME_NEVER: never. */
int64_t shared_next_at(const struct engine *e);

/* A batch has failed, perhaps because the others took this server for dead: joins again. */
void shared_rejoin(struct engine *e);

/* ---- single jobs ---- */

/* Locks a job before it is loaded to be judged. */
MUST_CHECK enum err_code lock_job(struct engine *e, int64_t id, struct err *err);

/* Has the server that ends this job send news of it; *ret_over: it has ended, or is missing. */
MUST_CHECK enum err_code shared_watch(struct engine *e, int64_t id, bool *ret_over,
                                      struct err *err);

/* News may have been missed: looks again at the jobs whose end ops wait for. */
MUST_CHECK enum err_code shared_check_watched(struct engine *e, struct err *err);
