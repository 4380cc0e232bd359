/*
 * What the engine's files share: its state, and the steps that use cases are made of.
 *
 * A use case runs inside the batch's transaction and returns an error only when the store failed: then
 * the batch is rolled back and everything here that is marked "of the batch" is thrown away.  Expected
 * refusals go into the op.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/arena.h"
#include "base/id.h"
#include "base/id_clock.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/vec.h"
#include "core/job/attempt.h"
#include "core/job/lease.h"
#include "core/route/fanout.h"
#include "engine/batch/counts.h"
#include "engine/batch/names.h"
#include "engine/engine.h"
#include "engine/jobs/claims.h"
#include "engine/jobs/emit.h"
#include "engine/jobs/keys.h"
#include "engine/jobs/ready.h"
#include "engine/links/links.h"
#include "store/queues.h"
#include "store/shared.h"
#include "store/store.h"
#include "store/work.h"

#define DEFAULT_QUEUE "default" /* built in: it is always there */

struct queue {
    int64_t id;
    char *name;
    char *json; /* its definition */
    enum queue_state state;
    int streak; /* jobs that failed in a row, counted when the definition has stop_after */
    int64_t changed_at;
    int64_t restarts;
    int64_t noted_at;  /* steady: when an attempt was noted in its log last; 0: never */
    size_t unsaid;     /* attempts that were not, since then */
    int64_t astray_at; /* steady: when a destination that was not there was noted last; 0: never */
    int64_t
        away_at; /* steady: of a worker's own: since when it is known to be away; 0: it is not */
    struct queue_def def;
    bool is_beyond;     /* a newer waybill, on the same store, has defined it: it is let be here */
    struct arena arena; /* of def */
    struct ready ready;
    struct map outside; /* ready ones that bring no command, where the queue has none: see pick.c */

    /* Of the batch, on shared stores. */
    size_t wanted;   /* jobs that claims of the batch may ask for */
    bool made_ready; /* some of its jobs became ready */

    bool untold; /* shared stores: others are to be told that some of its jobs are ready */
};

struct queue_list {
    struct queue **items;
    size_t count, capacity;
    struct names by_name;
    struct map by_id;
};

/* Shared stores: how much later than its row says a worker may have been heard of; one that holds jobs, or any.  Servers
 * tell of those they hear with each beat, and of one that is granted jobs in the same commit. */
#define WORKER_LAG_BUSY_US (4 * US_PER_S)
#define WORKER_LAG_US (14 * US_PER_S)

/* A worker as it stands in the store. */
struct known_worker {
    struct stored_worker row;
    char *texts;            /* of row */
    int64_t heard_at;       /* shared stores: last; told with the next beat */
    bool stale;             /* shared stores: another server has written its row since */
    int64_t alive_until_at; /* by the leases' clock: its instance is taken to be there */
};

/* A running job whose cancel was asked for: its worker is told as soon as it asks for work. */
struct cancel_note {
    struct lease lease;
    int64_t worker;
};

/* Chunked work under way. */
struct bulk_work {
    struct stored_work row;
    struct arena arena; /* of row.args and the filter */
    struct job_filter filter;
    struct slice queue; /* MOVE */
    bool alone;         /* RETRY */
};

struct closing {
    int64_t job, token;
};

/* A claim whose leases were judged, and how many of its jobs go on. */
struct looked {
    int64_t token;
    size_t open;
};

/* What a batch adds to the totals. */
struct tally {
    uint64_t submitted, claimed, failed, cancelled, retried, stale, deleted, retained;
    uint64_t outcomes[JOB_OUT_COUNT];
};

/* An attempt of a queue with stop_after has ended well or failed. */
struct seen_end {
    struct queue *queue;
    int64_t failed; /* the job, or 0: it ended well */
};

/* A join has fired. */
struct join_fire {
    int64_t join;
    int64_t times;
};

struct ended_job {
    int64_t queue;
    enum job_state state;
    int64_t id;
};

enum { OUTAGE_SIZES = 16 };

struct engine {
    struct store *store;
    struct engine_config config;
    const char *url;
    struct engine_stats stats;
    struct rng rng;
    struct now now;
    uint32_t node;                /* of our ids, claims and counts */
    struct siphash_key lease_key; /* the store's: what proves a lease */

    struct id_gen ids;
    int64_t ids_mark; /* ids below may be handed out: the store knows */
    int64_t ids_end;  /* those from here on are of a clock that was wrong */
    int64_t ids_at;   /* the instant to make ids by */
    struct id_clock id_clock;

    struct queue_list queues;
    struct queue *lost_queue; /* see queue_new_lost */
    struct map left_alone;   /* jobs that the engine does nothing with by itself: see leave_alone */
    struct map left_fanouts; /* rows of publications and ends that are damaged, likewise */
    bool by_itself;          /* of the batch: it is at what nobody asked for */
    bool passes_on;          /* it has failed at a job that is passed over from now on */
    uint64_t generation;     /* grows when a queue comes or goes */
    int64_t definitions;     /* the number of the definitions, as in the store */
    bool woken;              /* something became ready: waiting claims are to be looked at */
    bool stirred;            /* some that wait are to be answered */
    bool stale;              /* what memory holds of the store is to be read again */
    bool queues_stale;       /* queues too */
    VEC(struct known_worker *) workers;
    struct names worker_names;
    struct claims claims;
    VEC(int64_t) dead_claims; /* rows to be removed with the next write */
    struct map cancels;       /* job to struct cancel_note, until its worker is told */
    VEC(struct bulk_work *) work;
    struct map emitters;            /* owner to struct emitter: of attempts that run */
    VEC(struct emitter *) settling; /* whose staged jobs are to be released or dropped */

    struct op *waiting; /* claims that wait, the oldest first */
    struct op **waiting_end;
    struct op *waits; /* ops that wait for the end of a job or of chunked work */
    int64_t wake_at;  /* steady: no waiting op's time is up earlier */
    int64_t
        resume_at; /* steady: after a failed batch, what the engine does by itself rests until then */

    int64_t late_us;  /* stored deadlines are later by so much: see leases.c */
    int64_t later_us; /* and those of the batch are told to end so much later still */

    int64_t outages[OUTAGE_SIZES]; /* of leases: the last time that the store failed, or nobody ran,
                                      for 250 ms, 500 ms … at least */
    int64_t away_us;               /* nobody ran for so long before the batch */
    int64_t step_us; /* the wall clock was set by so much, and due jobs do not know yet */

    /* Other servers write to the same store: see shared.c. */
    bool shared;
    bool sole;        /* there was no other server when the last transaction began: lists last */
    struct now given; /* what the caller's clocks said when the batch began */
    int64_t
        ahead_us; /* the database's clock is ahead of the steady one, with its sleep, by so much */
    int64_t changes;   /* of queues, as far as memory has them; -1: not known */
    int64_t beat_at;   /* steady: when to say that we live */
    int64_t tell_at;   /* steady: when to tell which queues have ready jobs */
    int64_t told_at;   /* steady: when that was told last */
    bool alone;        /* of the batch: no other server's runs beside it */
    bool is_unsettled; /* some staged jobs may have to be released or dropped */
    bool has_work;     /* some chunked work may be unfinished */
    int64_t bulk_at;   /* steady: it goes on not before */
    bool passed_over;  /* of the batch: others hold jobs that are ready; they may stay so */
    int64_t look_at;   /* steady: when who waits is to be looked at because of that */
    bool watch_again;  /* what was told of ended jobs may have been missed */

    bool revivals_new;  /* this batch has put one */
    bool has_revivals;  /* some jobs may still have to be brought back: see revive.c */
    bool has_fanouts;   /* some publications or ends may still have to be worked off: see links.h */
    bool fanouts_busy;  /* of those some were in another server's hands at the last look */
    int64_t fanouts_at; /* steady: not before */
    bool fanouts_left;  /* of those some are passed over, and stay until the next start */
    bool has_releases;  /* some waits may still have to be looked at: see links.h */
    int64_t releases_at;      /* steady: not before */
    bool fanout_turn;         /* which kind comes first: see links.c */
    struct fanout fanout_max; /* what one commit may make of a fan-out */
    unsigned fanout_pace;     /* the part of it for what is worked off: core/route/fanout.h */
    int64_t fanout_rounds;    /* round trips that have been counted */

    int64_t due_at;         /* wall: no scheduled job is due earlier */
    int64_t retain_at;      /* wall: nothing is to be removed earlier */
    int64_t subscribers_at; /* wall: when to look after queues of workers that are away */
    int64_t astray_at; /* steady: when a destination that nobody's log tells of was told last */

    /* Of the batch. */
    VEC(struct op *) batch;
    struct arena arena;
    bool in_transaction;
    bool has_written;
    int64_t settled_us; /* of step_us */
    struct buf news;    /* for the other servers */
    bool news_full;
    bool queues_changed;
    bool workers_changed;
    bool definitions_raised;
    bool removed_some;
    struct counts counts;
    VEC(struct queue *) gone_queues;
    VEC(struct live_claim *) new_claims;
    VEC(struct closing) closings;
    VEC(int64_t) touched; /* tokens of claims whose leases were extended */
    VEC(struct looked) looked_at;
    VEC(struct job) new_jobs;       /* submitted, to be written together */
    VEC(struct job) unfit_jobs;     /* of these, such as cannot be run: see chain.c */
    struct key_book keys;           /* who has the keys that it is about: see keys.h */
    VEC(struct seen_end) seen_ends; /* shared stores: for the streaks, in the order they came */
    VEC(struct ended_job) endings;  /* for retention */
    VEC(int64_t) ended; /* jobs and chunked work that ended: wakes those who wait for them */
    VEC(struct event) events;
    VEC(struct cancel_note) new_cancels;
    VEC(int64_t) told; /* jobs of whose cancel a touch tells */
    struct tally tally;

    /* Of the batch: links. */
    VEC(struct link_end) link_ends;
    VEC(struct stored_wait) new_waits; /* to be written together */
    VEC(int64_t) raised;               /* signals */
    VEC(int64_t) hopeful;              /* new jobs that wait for signals alone */
    size_t links_used;                 /* rows, by what was followed so far */
    bool releases_new;                 /* there were none before the batch */
    bool releases_left;                /* one that was looked at goes on */
    int64_t releases_past;             /* those up to this target were looked at */
    VEC(struct join_fire) fires;       /* to be written together */
    struct fanout fanout;              /* what it may still make */
    bool works_off;                    /* it goes on with what earlier ones have left */
    int64_t fanouts_from;              /* ids of what it has put off begin here; 0: nothing */
};

/* Begins the batch's transaction if it has not begun: before the first write. */
MUST_CHECK enum err_code engine_write(struct engine *e, struct err *err);

/* Takes over the batch's end: endings, counts, marks, commit. */
MUST_CHECK enum err_code engine_commit(struct engine *e, struct err *err);

int64_t engine_new_id(struct engine *e);

/* ---- clocks (clocks.c) ---- */

/* What the caller's clocks say; a clock that was set since is told of. */
void clocks_read(struct engine *e, struct now now);

/* Shared stores: what the database's clock says. */
void clocks_of_store(struct engine *e, int64_t now_at);

/* The batch's first write: lengths of time that a clock which was set would stretch. */
MUST_CHECK enum err_code clocks_settle(struct engine *e, struct err *err);

/* The clock that leases go by. */
int64_t engine_lease_at(const struct engine *e);

/* Leases could not be renewed: each gets a full period from now on. */
void clocks_outage(struct engine *e);

/* When leases of this length could not be renewed the last time. */
int64_t clocks_outage_at(const struct engine *e, int64_t lease_us);

/* ---- ids (ids.c) ---- */

/* Ids begin above `floor`, below which this server may have handed some out; `newest` is the highest mark of all
 * servers.  E_UNAVAILABLE: the clock cannot be right. */
MUST_CHECK enum err_code ids_open(struct engine *e, int64_t floor, int64_t newest, struct err *err);

/* The clock was read. */
void ids_tick(struct engine *e);

/* E_UNAVAILABLE when a batch might run out of ids. */
MUST_CHECK enum err_code ids_require_room(const struct engine *e, struct err *err);

/* What the clocks say by now; while nobody lends them to the engine, what it was given. */
struct now engine_clock(const struct engine *e);

/* ---- a store that other servers write to as well (shared.c) ----
 *
 * None of these does anything on an embedded store. */

/* Joins the other servers and reads what this one needs. */
MUST_CHECK enum err_code shared_open(struct engine *e, struct err *err);
void shared_close(struct engine *e);

/* What the caller's clock says, as the database would. */
struct now shared_now(const struct engine *e, struct now now);

/* Whether the batch looks at the store: then its transaction begins before anything else. */
bool shared_must_begin(struct engine *e, struct op **ops, size_t n);
MUST_CHECK enum err_code shared_begin(struct engine *e, struct op **ops, size_t n, struct err *err);

/* A transaction that has begun, for whoever writes late. */
MUST_CHECK enum err_code shared_begin_late(struct engine *e, struct err *err);

/* Between the batch's last write and its commit. */
MUST_CHECK enum err_code shared_sign(struct engine *e, int64_t ids_mark, struct err *err);

/* The batch is over, one way or the other. */
void shared_clear(struct engine *e);

/* Says that we live, and looks after what others have left.  A failure is told and tried again. */
void shared_beat(struct engine *e);

/* Looks again at what others held a moment ago. */
void shared_look_again(struct engine *e);
int64_t shared_next_at(const struct engine *e);

/* A batch has failed: perhaps because the others have taken this server for dead. */
void shared_mend(struct engine *e);

/* Holds a job that is about to be judged by what store_job_load and its kin tell. */
MUST_CHECK enum err_code shared_hold_job(struct engine *e, int64_t id, struct err *err);

/* Those who wait for the job are to be told, wherever it ends; *ret_over: it has ended, or is not there. */
MUST_CHECK enum err_code shared_watch(struct engine *e, int64_t id, bool *ret_over,
                                      struct err *err);

/* News may have been missed: those who wait are judged again. */
MUST_CHECK enum err_code shared_watch_again(struct engine *e, struct err *err);

/* A batch has failed, or what follows one. */
void tell_trouble(struct engine *e, const struct err *err);

/* ---- news between servers (news.c); none on an embedded store ---- */

/* Tells the others with the commit. */
void news_tell_ended(struct engine *e, int64_t id);
void news_tell_cancel(struct engine *e, const struct cancel_note *note);
void news_tell_worker(struct engine *e, int64_t number);

/* What another server tells. */
void news_hear(struct engine *e, const struct news *news);

/* The batch's last but one write: what it has to tell. */
MUST_CHECK enum err_code news_write(struct engine *e, struct err *err);

/* After a commit, or when the time has come: what others may be waiting for. */
void news_settled(struct engine *e);

/* ---- queues (queue.c) ---- */

struct queue *queue_find(const struct engine *e, struct slice name);
struct queue *queue_by_id(const struct engine *e, int64_t id);

/* Stands in for the queue of a job that names one which is not there: the store is damaged.  It takes and starts nothing. */
struct queue *queue_new_lost(void);
MUST_CHECK enum err_code queues_load(struct engine *e, struct err *err);
void queue_free(struct queue *q);

/* A new one, in the store and in memory; its definition is canonical JSON. */
MUST_CHECK enum err_code queue_add(struct engine *e, struct slice name, struct slice definition,
                                   struct err *err);

/* In memory only. */
void queue_define(struct queue *q, struct slice json);
void queue_unlist(struct engine *e, struct queue *q);
void queues_free(struct engine *e);
void queues_reset_ready(struct engine *e);

/* The built-in queue, if the store is new. */
MUST_CHECK enum err_code queue_add_default(struct engine *e, struct err *err);

/* E_INVALID with the nearest name. */
enum err_code queue_unknown(const struct engine *e, struct slice name, enum err_code code,
                            struct err *err);

/* Whether jobs of it may be started. */
static inline bool queue_starts(const struct queue *q)
{
    return queue_state_starts(q->state) && !q->is_beyond;
}

/* Whether the queue takes a job with these params and options (JSON objects or empty): it is open, takes
 * its own command if there is one, and the params fill what the command names. */
enum err_code queue_takes(const struct queue *q, struct slice params, struct slice options,
                          struct err *refused);
/* The last of these alone. */
enum err_code queue_fills(const struct queue *q, struct slice params, struct slice options,
                          struct err *refused);

/* ---- changes of queues (change.c) ---- */

/* A new one, told to all. */
MUST_CHECK enum err_code queue_make(struct engine *e, struct slice name, struct slice definition,
                                    struct err *err);
MUST_CHECK enum err_code queue_redefine(struct engine *e, struct queue *q, struct slice definition,
                                        struct err *err);
MUST_CHECK enum err_code queue_set_state(struct engine *e, struct queue *q, enum queue_state state,
                                         const char *why, struct err *err);

/* Jobs in it, ended ones included; it must have none to be removed. */
MUST_CHECK enum err_code queue_count_jobs(struct engine *e, const struct queue *q, int64_t *ret_n,
                                          struct err *err);
MUST_CHECK enum err_code queue_remove(struct engine *e, struct queue *q, struct err *err);

/* An attempt of one of its jobs ended well (0), or that job has failed for the first time: stop_after counts. */
MUST_CHECK enum err_code queue_count_streak(struct engine *e, struct queue *q, int64_t failed,
                                            struct err *err);

/* Shared stores: writes the streaks of the batch, in the order of the queues; before anything is claimed, as a queue
 * may stop by it. */
MUST_CHECK enum err_code queue_write_streaks(struct engine *e, struct err *err);
MUST_CHECK enum err_code queue_op_run(struct engine *e, struct op *op, struct err *err);

/* ---- what happened to queues (queue_log.c) ---- */

MUST_CHECK enum err_code queue_note(struct engine *e, const struct queue *q, const char *what,
                                    struct slice text, struct err *err);

/* It is about to be defined so. */
MUST_CHECK enum err_code queue_note_changed(struct engine *e, const struct queue *q,
                                            struct slice definition, struct err *err);

/* An attempt failed or was lost: one line a second. */
MUST_CHECK enum err_code queue_note_attempt(struct engine *e, struct queue *q, const struct job *j,
                                            const char *what, struct err *err);

/* A worker says other queues to be broken than it said before. */
MUST_CHECK enum err_code queue_note_broken(struct engine *e, struct slice was,
                                           const struct stored_worker *w, struct err *err);

/* ---- effects (effects.c) ---- */

/* A job was made, or moved: counts, ready lists, retention and events follow.  From JOB_NONE when it is
 * new. */
void note_move(struct engine *e, const struct job *j, enum job_state from, struct queue *from_queue,
               const char *what);

/* The job has ended, or is gone: those who wait for it are told after the commit. */
void note_over(struct engine *e, const struct job *j);

/* The job is gone, not only ended. */
void note_removed(struct engine *e, const struct job *j);

/* Something happened to a job: those who listen are told after the commit. */
void note_event(struct engine *e, const struct job *j, const struct queue *q, const char *what);

/* After the commit: claims, cancels, totals, events. */
void apply_effects(struct engine *e);

/* Throws away what the batch has gathered. */
void clear_batch(struct engine *e);

/* ---- answers (answer.c) ---- */

void answer(struct op *op);
void answer_all(struct engine *e, struct op **ops, size_t n);

/* ---- use cases ---- */

/* Writes what the submits and emits of the batch have made so far. */
MUST_CHECK enum err_code submit_flush(struct engine *e, struct err *err);

/* Ends in one go whatever the batch's finishes end plainly; finish_run does the rest. */
MUST_CHECK enum err_code finish_plain(struct engine *e, struct op **ops, size_t n, struct err *err);
MUST_CHECK enum err_code submit_run(struct engine *e, struct op *op, struct err *err);
MUST_CHECK enum err_code finish_run(struct engine *e, struct op *op, struct err *err);
MUST_CHECK enum err_code touch_run(struct engine *e, struct op *op, struct err *err);
MUST_CHECK enum err_code act_run(struct engine *e, struct op *op, struct err *err);
MUST_CHECK enum err_code bulk_run(struct engine *e, struct op *op, struct err *err);
MUST_CHECK enum err_code log_run(struct engine *e, struct op *op, struct err *err);

/* Logs that come with finishes and touches.  One that cannot be taken as it is harms nothing else. */
MUST_CHECK enum err_code exchange_logs(struct engine *e, struct op **ops, size_t n,
                                       struct err *err);

/* What an attempt has brought besides its end; slices are empty where it brought nothing. */
struct attempt_gain {
    struct slice set;    /* JSON object */
    struct slice result; /* JSON */
    struct slice steps;  /* JSON array: to be added to its route */
    struct slice limits; /* of the commands that those steps bring: JSON object */
};

/* Ends the attempt of a running job as judged; the job is as store_job_brief gave it. */
MUST_CHECK enum err_code attempt_end_run(struct engine *e, const struct job *was,
                                         const struct attempt_end *end,
                                         const struct attempt_gain *gain, struct err *err);

/* Where a waiting job belongs when nothing else speaks against it.  Of a damaged store: JOB_NONE. */
void job_settle(struct engine *e, struct job *j);

/* Ends a waiting job that will never run, with the reason: CANCEL, or FAIL of a held one.  `was` is as the store has
 * it. */
MUST_CHECK enum err_code job_end_unrun(struct engine *e, const struct job *was,
                                       enum job_event event, enum job_cause cause, struct slice why,
                                       struct err *err);

/* How many jobs come back with one that is run again, as far as they were counted. */
struct revived {
    size_t jobs;
    bool more;
};

struct act_result {
    struct err refused; /* E_OK: done */
    int64_t id;         /* the job it was about, the new one for CLONE */
    enum job_state state;
    bool cancelling;
    bool removed;
    bool changed; /* false: it was as asked already */
    struct revived revived;
};

/* Whether a loaded job can be run again, as the act says. */
MUST_CHECK enum err_code act_judge_retry(struct engine *e, const struct act *act,
                                         const struct job *j, struct err *refused, struct err *err);

/* Carries out one action on a loaded job; a refusal is a result. */
MUST_CHECK enum err_code act_apply(struct engine *e, const struct act *act, const struct job *j,
                                   struct act_result *ret, struct err *err);

/* Returns what the worker does not know of: it has said what it holds. */
MUST_CHECK enum err_code claim_return_unknown(struct engine *e, struct op *op, struct err *err);

/* Makes sure that the queue's first ready job is in its list, if there is any. */
MUST_CHECK enum err_code queue_fill_ready(struct engine *e, struct queue *q, bool held,
                                          struct err *err);

/* The jobs that the claim gets, at most as many as it asks for; taken out of the lists.  (pick.c) */
MUST_CHECK enum err_code pick(struct engine *e, const struct op *op, int64_t *ids, size_t *ret_n,
                              struct err *err);

/* False: what the exchange asks for cannot be, the op is refused and nothing of it happens. */
bool exchange_is_sound(struct engine *e, struct op *op);

/* Grants what can be granted, first to the ops that wait, then to new ones, in the order they came. */
MUST_CHECK enum err_code claims_grant(struct engine *e, struct op **ops, size_t n, struct err *err);

/* Nothing of it happened. */
void claims_ungrant(struct engine *e);

/* ---- cancels of running jobs (cancels.c) ---- */

/* Adds the cancels that the op's worker has not been told of; true when there are any. */
bool cancels_tell(struct engine *e, struct op *op);

/* Whether a claim of that worker waits here, and so can be told. */
bool cancels_can_tell(const struct engine *e, int64_t worker);

/* After the commit: what the batch has asked for, told, or made needless. */
void cancels_apply(struct engine *e);
void cancels_free(struct engine *e);

/* After the commit: the jobs that were granted, as the claimer gets them. */
void claim_write(struct engine *e, struct op *op);

/* Writes the end of an exchange's reply. */
void exchange_close(struct engine *e, struct op *op);

/* ---- how long leases last (leases.c) ---- */

#define LEASE_LATE_MAX_US LEASE_MIN_US /* stored deadlines are later by at most that */

/* The store's key for leases; one is made for a store that has none. */
MUST_CHECK enum err_code leases_load(struct engine *e, struct err *err);

/* The deadline of a lease that is granted or extended by the batch, as it is stored. */
int64_t lease_until_at(const struct engine *e, int64_t lease_us);

/* When a lease of the claim ends that is stored as ending at `stored_at`. */
int64_t lease_ends_at(const struct live_claim *claim, int64_t stored_at);

/* After the commit: the batch has taken its time, which belongs to nobody's lease. */
void leases_told(struct engine *e);

/* The claimer works by definitions that are not the current ones any more. */
bool claim_is_outdated(const struct engine *e, const struct exchange *x);

/* ---- workers (worker.c) ---- */

MUST_CHECK enum err_code workers_load(struct engine *e, struct err *err);
void workers_free(struct engine *e);

/* The worker's number in the store, 0 when it is not known. */
int64_t worker_number(const struct engine *e, struct slice name);

/* The worker of that name, or NULL. */
struct known_worker *worker_find(const struct engine *e, struct slice name);

/* Reads its row again. */
MUST_CHECK enum err_code worker_refresh(struct engine *e, struct known_worker *w, struct err *err);

MUST_CHECK enum err_code workers_forget_old(struct engine *e, struct err *err);

/* Those of whom the next beat tells; *ret_n of them, in the batch's arena. */
struct seen_worker *workers_unsaid(struct engine *e, size_t *ret_n);

/* The beat has told of some of them. */
void workers_are_said(struct engine *e, const struct seen_worker *seen, size_t n);

/* It is granted jobs: other servers must know in time that it is there. */
MUST_CHECK enum err_code worker_say(struct engine *e, struct slice name, struct err *err);

/* Another server has written the row of a worker. */
void worker_changed(struct engine *e, int64_t number);

/* Whether there is something to note of a claiming worker. */
bool worker_is_news(struct engine *e, const struct exchange *x);

/* It was heard of, by other words than a claim.  Does not renew the presence of an instance. */
MUST_CHECK enum err_code worker_heard(struct engine *e, struct slice name, struct err *err);

/* Notes that a claiming worker is there.  The op is refused when another server has let in another instance of its
 * name meanwhile. */
MUST_CHECK enum err_code worker_seen(struct engine *e, struct op *op, struct err *err);

/* ---- who may claim under a name (instance.c) ---- */

/* Refuses the claims of those who may not. */
MUST_CHECK enum err_code instances_admit(struct engine *e, struct op **ops, size_t n,
                                         struct err *err);

/* The worker of a claim was heard of. */
void instance_heard(struct engine *e, const struct exchange *x);

/* What is known of it from its row. */
void instance_found(const struct engine *e, struct known_worker *w);

/* Whether what it says that it holds is all that was granted to its name. */
bool instance_says_all(const struct engine *e, const struct exchange *x);

/* ---- what the engine does by itself ---- */

/* A job has ended: when retention is to look at its queue. */
void retain_note(struct engine *e, const struct queue *q, const struct job *j);

/* Notes the batch's endings for retention. */
MUST_CHECK enum err_code endings_write(struct engine *e, struct err *err);

/* Steady; TIME_NEVER: there is no piece of work. */
int64_t bulk_due_at(const struct engine *e);
bool bulk_is_due(const struct engine *e);

/* A job that the store is damaged at would stop the sweep, or whoever follows ends, for good: from now on it is passed
 * over, until the engine is opened again.  Returns the error, with which the batch fails this once. */
enum err_code leave_alone(struct engine *e, int64_t job, const struct err *err);
bool is_left_alone(const struct engine *e, int64_t job);

/* Likewise a publication, or an end that leads on, by the id of its row; `what` it is goes into the log. */
enum err_code fanout_leave_alone(struct engine *e, const char *what, int64_t id,
                                 const struct err *err);
bool fanout_is_left_alone(const struct engine *e, int64_t id);

bool sweep_is_due(const struct engine *e);
MUST_CHECK enum err_code sweep_run(struct engine *e, struct err *err);
int64_t sweep_next_steady_at(const struct engine *e);
int64_t sweep_next_wall_at(const struct engine *e);

MUST_CHECK enum err_code bulk_load(struct engine *e, struct err *err);

/* An action over a filter: one durable row, to be worked off. */
MUST_CHECK enum err_code bulk_begin(struct engine *e, const struct bulk *bulk, int64_t *ret_id,
                                    struct err *err);
void bulk_free(struct engine *e);
MUST_CHECK enum err_code bulk_step(struct engine *e, struct err *err);
