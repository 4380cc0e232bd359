/*
 * Links: what the end of a job or of one of its steps means to others.
 *
 * Whatever ends within a batch is noted (links_note); once all else of the batch is written, links_settle follows
 * each end: chains first (chain.c), then those who wait for it (after.c).  What that ends in turn is followed in the
 * same way, as long as it belongs into one commit; waits that are left then are durable releases, worked off in the
 * next batches.  So every effect is decided by the commit that caused it, and happens once.
 *
 * Within the batch's transaction, on the engine's thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/job/job.h"
#include "core/route/bill.h"
#include "core/route/fanout.h"
#include "engine/jobs/submit.h"
#include "store/links/fanout.h"
#include "store/links/links.h"

struct engine;
struct queue;

/* Something has ended: a job without a route, a step of a route, or a route as a whole.  The last step of a route is
 * noted as a step and then, with step 0, as a whole: its queue's and its own destinations belong to the first, those
 * of the job to the second. */
struct link_end {
    int64_t job;
    int64_t queue; /* in which it ended */
    enum job_state
        state;  /* DONE FAILED CANCELLED; of a step DONE or FAILED; JOB_NONE: the job was removed */
    int step;   /* its number; 0: the job itself */
    bool whole; /* the job has ended, not only a step of it */
    bool routed;  /* it has steps: its end as a whole is not one in its queue */
    bool awaited; /* others may wait for it */
    bool billed;  /* it has destinations of its own */
};

/* Nothing is noted of what means nothing to others. */
void links_note(struct engine *e, const struct link_end *end);

/* Follows what has ended so far: before anything that may remove an ended job or run it again. */
MUST_CHECK enum err_code links_follow(struct engine *e, struct err *err);

/* Follows what has ended, and what is left of earlier batches.  Before the claims of the batch. */
MUST_CHECK enum err_code links_settle(struct engine *e, struct err *err);

/* Finds out what is left, when the engine opens an embedded store. */
MUST_CHECK enum err_code links_load(struct engine *e, struct err *err);

/* Whether the next batch has something to go on with. */
bool links_are_due(const struct engine *e);
void links_clear(struct engine *e); /* the batch is over */

/* When it may: TIME_NEVER, when there is nothing. */
int64_t links_due_at(const struct engine *e);

/* ---- after (after.c) ---- */

/* A condition that does not hold yet. */
struct planned_wait {
    struct stored_wait row;
    struct slice signal; /* its name: the row's target is found or made together with the job */
};

/* What the conditions of a job come to when it is made. */
struct after_plan {
    struct planned_wait *waits; /* those on jobs first; any: the job is held */
    size_t n_waits;
    bool never;   /* one can no longer hold, as `why` says: the job is cancelled */
    int64_t lost; /* the job that has decided that */
    const char *why;
    struct slice json; /* for the bill */
};

/* Judges the conditions of an array's items before any is made: `plans` have their ids already, and those for whom
 * others of the array wait become `awaited`.  A refusal (unknown id or ref, a cycle, no such step) goes into the
 * plan.  *ret has n entries, zeros where an item has none; what they hold is the batch's. */
MUST_CHECK enum err_code after_judge(struct engine *e, const struct submit_item *items, size_t n,
                                     struct plan *plans, struct after_plan **ret, struct err *err);

/* The job is made: its waits are written. */
MUST_CHECK enum err_code after_make(struct engine *e, const struct after_plan *plan,
                                    struct err *err);

/* Whether a condition can no longer hold, which job has decided that, and why. */
struct after_never {
    bool is;
    int64_t by;
    char why[300];
};

/* An emitted job is released, or one that was cancelled is run again: conditions in its bill are judged now.
 * *ret_held: it has to wait; ret_never->is: it is to be cancelled at once, or stays so. */
MUST_CHECK enum err_code after_release(struct engine *e, const struct job *j, bool *ret_held,
                                       struct after_never *ret_never, struct err *err);

/* Cancels a job one of whose conditions can no longer hold, because of the job `by`. */
MUST_CHECK enum err_code after_cancel(struct engine *e, const struct job *j, int64_t by,
                                      struct slice why, struct err *err);

/* The job is run again: what it had cancelled is brought back, by this batch or the next ones (revive.c). */
MUST_CHECK enum err_code revive_begin(struct engine *e, int64_t target, struct err *err);

/* Counts what that brings back, also by way of each other; a bounded number of them. */
struct revived;
MUST_CHECK enum err_code revive_count(struct engine *e, int64_t target, struct revived *ret_revived,
                                      struct err *err);

/* The job does not wait any more: it is cancelled or removed. */
MUST_CHECK enum err_code after_forget(struct engine *e, const struct job *j, struct err *err);

/* An end is told to those who wait for it.  Up to *room waits are looked at; what is left becomes a release. */
MUST_CHECK enum err_code after_ended(struct engine *e, const struct link_end *end, size_t *room,
                                     struct err *err);

/* Whether those who wait for the end of the job are still being told, or it still leads somewhere: until then it must not
 * begin anew. */
MUST_CHECK enum err_code after_is_telling(struct engine *e, int64_t job, bool *ret_telling,
                                          struct err *err);

/* Goes on with the next release; *ret_over: there is none that this batch has not looked at. */
MUST_CHECK enum err_code after_work(struct engine *e, size_t *room, bool *ret_over,
                                    struct err *err);

/* ---- signals (signal.c) ---- */

MUST_CHECK enum err_code signal_run(struct engine *e, struct op *op, struct err *err);
MUST_CHECK enum err_code signal_raise(struct engine *e, struct slice name, int64_t count,
                                      int64_t *ret_level, struct err *err);

/* ---- where ends lead (follow.c) ---- */

/* The destinations of its queue, its step and the job itself: as many as belong into this commit; the others are durable,
 * and followed by those that come. */
MUST_CHECK enum err_code chain_ended(struct engine *e, const struct link_end *end, struct err *err);

/* Goes on with an end that earlier commits have left; *ret_over: there is none. */
MUST_CHECK enum err_code follow_work(struct engine *e, bool *ret_over, struct err *err);

/* Whether an end of the job still leads somewhere: until then it must neither begin anew nor be removed. */
MUST_CHECK enum err_code follow_is_left(struct engine *e, int64_t job, bool *ret_left,
                                        struct err *err);

/* ---- chains, joins and topics (chain.c, join.c, topic.c) ---- */

/* What a destination is given: params, result and cause. */
struct chain_source {
    struct slice params; /* JSON object */
    struct slice labels;
    int64_t job;        /* the cause; 0: none */
    int64_t queue;      /* in which that ended: its log tells what leads nowhere; 0: none */
    int depth;          /* of what is made */
    struct slice topic; /* that was published to, or empty */
    int priority;
};

MUST_CHECK enum err_code chain_follow_one(struct engine *e, const struct dest *dest,
                                          const struct chain_source *source, struct err *err);

/* From *place on, as many as belong into this commit. */
MUST_CHECK enum err_code chain_follow(struct engine *e, const struct dest_list *dests,
                                      const struct chain_source *source, size_t *place,
                                      struct err *err);

/* Makes the job of the plan in its queue, in whatever state that is; one that cannot be run fails at once, with the
 * reason. */
MUST_CHECK enum err_code chain_make(struct engine *e, const struct chain_source *source,
                                    struct plan *p, struct err *err);

/* Those that cannot be run are written, as failed ones: now their ends count. */
void chain_note_unfit(struct engine *e);

/* A destination is not there, or cannot be reached: told in the log of the queue, or else in the server's, one line a
 * second. */
MUST_CHECK enum err_code chain_astray(struct engine *e, const struct chain_source *source,
                                      const char *why, struct err *err);

/* Writes how often joins have fired in this batch, in the order of their numbers. */
MUST_CHECK enum err_code joins_write(struct engine *e, struct err *err);

/* Goes on with the destinations of a join that has fired; up to spread->place they have been followed. */
MUST_CHECK enum err_code join_go_on(struct engine *e, struct stored_spread *spread,
                                    struct err *err);

MUST_CHECK enum err_code join_run(struct engine *e, struct op *op, struct err *err);

MUST_CHECK enum err_code join_arrive(struct engine *e, struct slice name,
                                     const struct chain_source *source, struct err *err);

/* How many queues are subscribed. */
size_t topic_count(const struct engine *e, struct slice topic);

/* A job in each subscribed queue, of which there are *ret_n. */
MUST_CHECK enum err_code topic_publish(struct engine *e, struct slice topic,
                                       const struct chain_source *source, size_t *ret_n,
                                       struct err *err);
MUST_CHECK enum err_code publish_run(struct engine *e, struct op *op, struct err *err);

/* What is emitted, where some of it may be published: first an item for each that was there, in their order, then
 * those for whoever else is subscribed. */
struct topic_list {
    const struct submit_item *items;
    size_t n;
    const size_t
        *from; /* which of those that were there each comes from; NULL: they are the same */
};

/* What becomes of them: so many jobs, which by themselves carry so much (params and bodies are stored once). */
struct fanout topic_cost(const struct engine *e, const struct submit_item *items, size_t n);

/* Whether that is more than one request may emit; then `refused` says so. */
bool topic_is_too_much(const struct fanout *cost, struct err *refused);

/* False: one of them is refused, *ret_bad says which. */
bool topic_expand(struct engine *e, const struct submit_item *items, size_t n,
                  struct topic_list *ret_list, size_t *ret_bad, struct err *refused);
size_t topic_place(const struct topic_list *list, size_t i);

/* ---- publications (spread.c) ---- */

/* Makes the jobs of a publication whose targets have their ids: as many as belong into this commit; the others are
 * durable, and made by those that follow.  *ret_lost: another server has published under the same key at this moment;
 * nothing is made. */
MUST_CHECK enum err_code spread_make(struct engine *e, struct stored_spread *spread, bool *ret_lost,
                                     struct err *err);

/* Goes on with one that earlier commits have left; *ret_over: there is none. */
MUST_CHECK enum err_code spread_work(struct engine *e, bool *ret_over, struct err *err);

/* That which was published under the key and is not worked off; ret->id 0: there is none. */
MUST_CHECK enum err_code spread_of_key(struct engine *e, struct slice key,
                                       struct stored_spread *ret, struct err *err);

/* Jobs that are still to be made in the queue. */
MUST_CHECK enum err_code spread_count(struct engine *e, const struct queue *q, int64_t *ret_n,
                                      struct err *err);

/* Each queue's job of a publication has a key of its own; in the batch's arena. */
struct slice topic_key(struct engine *e, struct slice key, const struct queue *q);

/* Something is put off under that id, to be worked off by the next batches. */
void fanout_note(struct engine *e, int64_t id);

/* Another server holds something of one: they are gone on with a little later. */
void fanout_rest(struct engine *e);

/* Whether the commit has made what it may. */
bool fanout_is_over(struct engine *e);

/* The batch is on disk: how long it took counts for what the next ones work off. */
void fanout_learn(struct engine *e);

/* Whether there may be any, those that are passed over included: on an embedded store memory knows. */
bool fanouts_may_be(const struct engine *e);

/* Whether what has that id, or is not there (0), is nothing for this batch. */
bool fanout_is_late(const struct engine *e, int64_t id);

/* Makes or renews a worker's own queue of a topic. */
MUST_CHECK enum err_code subscribe_run(struct engine *e, struct op *op, struct err *err);

/* The definition of a topic's queue has changed: so have those of its subscribers. */
MUST_CHECK enum err_code subscribers_follow(struct engine *e, const struct queue *q,
                                            struct err *err);

/* Queues of workers that have been away for too long; when the time has come. */
MUST_CHECK enum err_code subscribers_expire(struct engine *e, struct err *err);

/* Queues were read or made: there may be some to be looked after. */
void subscribers_watch(struct engine *e);

/* Whether the worker has a queue of its own. */
bool subscribers_include(const struct engine *e, struct slice worker);
