/*
 * The reference model: every job as it must be, written from the design and not from the engine.
 *
 * Plain arrays, no store, no I/O.  The simulation feeds it what was asked and what was answered; it
 * says what must have become of it.  What only the engine can know (ids, tokens, the jitter of a
 * pause) is told by the replies or by the store, and checked against the bounds.
 *
 * model_move is the one place where a job changes its state: it counts which moves of the state
 * table were made and refuses those that are not in it.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/job/job.h"
#include "core/queue/def.h"
#include "engine/op.h"
#include "model_links.h"

enum {
    MODEL_JOBS_MAX = 512,
    MODEL_RECORD_MAX = 120,
    MODEL_DEFS = 5,
    MODEL_WORKERS = 6,   /* the last one has no name */
    MODEL_CONTESTED = 4, /* two processes, and claimers without an instance, use this one's name */
    MODEL_INSTANCES = 3, /* of it; the last is none */
    MODEL_KEYS = 24,
    MODEL_WORK_MAX = 16,
    MODEL_LABELS = 3, /* {"l":"0"} to {"l":"2"}, and none */
    MODEL_EMITTERS = 128,
    MODEL_EMITS = 8, /* requests of one attempt */
    MODEL_EMIT_JOBS = 6,
};

/* What the model needs of a definition, without what it leads to. */
struct model_def {
    const char *source;
    int max;
    int64_t first_us, cap_us;
    double factor, jitter;
    bool exits; /* 75 is later, 64 to 74 never */
    int stop_after;
    int64_t keep_done_us, keep_failed_us, keep_log;
};

struct model_queue {
    const char *name;
    bool there;
    enum queue_state state;
    int def;
    int links;  /* which of model_queue_links, 0: it leads nowhere and listens to nothing else */
    int streak; /* failures in a row */
    int64_t restarts;
};

/* An attempt that ended, or a step that had a status when the job was handed in, or that could not
 * be reached. */
struct model_attempt {
    int64_t token; /* 0: nobody's */
    enum job_outcome outcome;
    int number; /* of the step; 1: it has none */
    int nth;    /* attempt of the step */
    enum job_cause cause;
    bool exited;
    int exit;
    struct model_set set;
};

/* A cancel of a running job that its worker has to hear of as soon as it asks for work. */
enum model_note { NOTE_NONE, NOTE_UNTOLD, NOTE_TOLD };

struct model_job {
    int64_t id;
    int queue;
    enum job_state state;
    int priority;
    bool held, cancelling;
    int64_t due_at; /* exact when due_at == due_max */
    int64_t due_max;
    int64_t delay_us; /* due so long after something, at most; 0: somebody gave the instant */
    int64_t token;    /* of the last claim; 0: never claimed */
    int64_t fence;    /* of the last grant */
    int64_t lease_us, lease_at; /* steady: when it runs out */
    int worker;                 /* of the last claim; -1: none */
    int server;                 /* that granted it, or looks after it since */
    int attempt, failures, lost, laters;
    int64_t finished_at;
    int key;       /* -1: none */
    int label;     /* -1: none */
    int own_retry; /* -1: the queue's; else its own `max` */
    enum model_note note;
    int64_t done, total, expected_at;
    bool unit;
    int64_t log_size;
    int64_t cursor;   /* 0: none */
    uint64_t content; /* of the key, while it is staged */
    char params[MODEL_PARAMS];
    struct model_routing routing;
    int step;            /* number of the step it is at; 0: it has no route */
    int failed_step;     /* 0: none */
    int attempts_before; /* of earlier steps */
    bool waiting;        /* held by what it is to come after */
    bool linked;         /* held until the end of its last step has been followed */
    bool in_vain;        /* cancelled because something of that can no longer come, */
    int64_t hangs_on;    /* because of this job; 0: it is one of several */
    char assigned[MODEL_SET];
    char result[MODEL_SET];
    struct model_attempt record[MODEL_RECORD_MAX]; /* attempts that ended, returned ones too */
    int n_record;
    bool changed; /* in this step */
    bool ended;   /* in this batch, though it may be alive again */
};

struct model_key {
    int64_t job; /* 0: free */
    uint64_t content;
};

/* What an attempt has emitted. */
enum model_fate { FATE_OPEN, FATE_RELEASE, FATE_DROP };

struct model_emit {
    int64_t seq;
    bool visible, staged;
    int64_t jobs[MODEL_EMIT_JOBS];
    size_t n_jobs;
};

struct model_emitter {
    int64_t owner, token;
    int64_t seq;  /* the last one */
    int64_t upto; /* visible ones are to be released so far */
    enum model_fate fate;
    bool fresh;                           /* something of it was decided in this batch */
    struct model_emit emits[MODEL_EMITS]; /* settled ones of an ended attempt are gone */
    size_t n_emits;
};

/* Chunked work under way. */
struct model_work {
    int64_t id;
    enum job_action_kind kind;
    int queue; /* filter; -1: any */
    unsigned states;
    int label; /* filter; -1: any */
    int64_t before_at;
    int target;     /* of MOVE */
    int64_t last;   /* no job above is meant */
    int64_t cursor; /* nor up to here */
    bool ended_phase;
};

/* Who has the contested name. */
struct model_name {
    int holder;       /* the instance; MODEL_NOBODY: none */
    int64_t until_at; /* steady: it is there, unless it was heard of since */
    int64_t refused, expired, succeeded, left; /* how often */
};

enum { MODEL_NOBODY = -1 };

struct model {
    struct model_queue queues[MODEL_QUEUES];
    struct model_name name;
    struct model_job jobs[MODEL_JOBS_MAX]; /* by id, growing */
    size_t n_jobs;
    struct model_key keys[MODEL_KEYS];
    struct model_work work[MODEL_WORK_MAX];
    size_t n_work;
    struct model_emitter emitters[MODEL_EMITTERS];
    size_t n_emitters;
    bool worker_known[MODEL_WORKERS];
    int64_t definitions;        /* their number */
    bool raised;                /* in this batch */
    int64_t submitted, removed; /* jobs ever made, and gone again */
    int failures;               /* that were counted, ever */
    int64_t newest_id;          /* of jobs and tokens */
    struct model_links links;
    int64_t telling
        [MODEL_JOBS_MAX]; /* ended jobs whose end is still being told: they are not run again */
    size_t n_telling;
    int64_t reviving[MODEL_JOBS_MAX]; /* jobs that are run again with all that they had cancelled */
    size_t n_reviving;
    int64_t moves[JOB_STATE_COUNT][JOB_EVENT_COUNT];
};

extern const struct model_def model_defs[MODEL_DEFS];

/* The canonical text of a definition for that queue. */
const char *model_def_json(int queue, int def, int links);

/* Fills the canonical texts; once. */
void model_defs_init(void);

/* As a fresh store is: only the built-in queue, which is the last one. */
void model_init(struct model *m);

struct model_job *model_find(struct model *m, int64_t id);
void model_set_queue(struct model_queue *q, enum queue_state state, int def, int links);

/* The definitions have changed: their number grows, once in a commit. */
void model_raise(struct model *m);
int model_queue_named(const struct model *m, struct slice name); /* -1: none */
const struct model_def *model_def_of(const struct model *m, const struct model_job *j);

/* False when the state table forbids it, or leads elsewhere than to `to`. */
bool model_move(struct model *m, struct model_job *j, enum job_event event, enum job_state to);
void model_must_move(struct model *m, struct model_job *j, enum job_event event, enum job_state to);

/* The clock was set while the server ran: lengths stay what they are, instants do not. */
void model_set_clock(struct model *m, int64_t us);

/* A new job at the end; `due_at` above now makes it scheduled. */
struct model_job *model_add(struct model *m, int64_t id, int queue, int64_t due_at, int64_t now_at);
void model_remove(struct model *m, struct model_job *j);

/* How an attempt ended: what a worker said, or that it is lost. */
struct model_end {
    enum job_outcome outcome;
    bool exited;
    int exit;
    bool final, delayed;
    int64_t delay_us;
    int64_t now_at;
    struct model_set set;
    const char *result;             /* JSON, or NULL */
    const struct model_step *steps; /* to be added to its route */
    int n_steps;
};

/* Ends the attempt of a running job. */
void model_end_attempt(struct model *m, struct model_job *j, const struct model_end *end);

/* ---- emits (model_emit.c) ---- */

/* Of the running attempt; NULL when it has emitted nothing. */
struct model_emitter *model_emitter_of(struct model *m, int64_t owner);

/* A new request of the owner's attempt, to be filled. */
struct model_emit *model_emit(struct model *m, const struct model_job *owner);
void model_cursor(struct model *m, struct model_job *owner, int64_t cursor);
void model_end_emits(struct model *m, struct model_job *owner, bool done);

/* Jobs that are staged. */
size_t model_staged(const struct model_emitter *e);

/* Is anything of it to be released or dropped? */
bool model_is_settling(const struct model_emitter *e);

/* Releases and drops what one commit does that may settle `room` rows.  An engine that rests
 * settles only what its batch has decided. */
enum model_mood { MODEL_WORKS, MODEL_RESTS };
void model_settle(struct model *m, size_t room, int64_t now_at, enum model_mood mood);

/* The outcome of the attempt with that token, JOB_OUT_NONE when there was none (or it runs). */
enum job_outcome model_outcome(const struct model_job *j, int64_t token);

/* ---- routes (model_route.c) ---- */

/* The step the job is at has ended, by its last attempt in the record: it goes on to the next one,
 * or ends. */
void model_step_end(struct model *m, struct model_job *j, bool failed, const struct model_end *end);

const struct model_step *model_step_find(const struct model_routing *b, int number);

/* Its place in the route, from 0; behind the last when there is none such. */
int model_step_place(const struct model_routing *b, int number);

/* What comes after step `number`, or NULL; after 0: the first one. */
const struct model_step *model_step_next(const struct model_routing *b, int number, bool failed);

/* Begins with a step: its queue and its retry policy, and counters at 0. */
void model_step_begin(struct model_job *j, const struct model_step *step);

/* Whether all that a list leads to is there. */
bool model_leads(const struct model *m, int list);

/* Whether steps can be added while the job is at its step, as E_OK or E_INVALID; and doing it. */
enum err_code model_may_add(const struct model *m, const struct model_job *j,
                            const struct model_step *steps, int n);

/* The step that an ended job is run again from, or NULL.  `from` 0: where it stopped, or (anew)
 * from its first. */
const struct model_step *model_step_again(const struct model_job *j, int from, bool anew);
void model_route_again(struct model_job *j, const struct model_step *step);

/* Whether it is more than a plain job. */
bool model_is_billed(const struct model_job *j);

/* The params as a step sees them. */
void model_seen(const struct model_job *j, char *ret_params);

/* ---- what it waits for (model_after.c) ---- */

/* How things stand with a condition of a new job, on a job that is there: COND_OPEN … */
enum cond_state model_cond_judge(struct model *m, const struct model_cond *c);
bool model_cond_is_sound(struct model *m, const struct model_cond *c);

/* A step (0: the job) has ended, or the job is gone (JOB_NONE): what that means to those who
 * wait. */
void model_tell(struct model *m, const struct model_job *j, int step, enum job_state state);

/* All that it waits for of jobs has come to pass; or something of it never will. */
bool model_is_ripe(const struct model_job *j);
bool model_is_doomed(const struct model_job *j);

/* All its signals have their level. */
bool model_has_levels(const struct model *m, const struct model_job *j);
void model_let_go(struct model *m, struct model_job *j, int64_t now_at);
void model_doom(struct model *m, struct model_job *j, int64_t now_at);

/* Judges anew what a cancelled job waited for; false: something of it cannot come. */
bool model_hopes_again(struct model *m, struct model_job *j);

/* ---- where ends lead (model_chain.c) ---- */

/* Remembers an end with all that it hands on: followed when the batch is over. */
void model_note(struct model *m, const struct model_job *j, int queue, int step,
                enum job_state state);

/* Those of the batch, or those that earlier ones have left. */
enum model_which { MODEL_NEW_ENDS, MODEL_LATE_ENDS };

/* Follows what was noted, as far as the store says: signals rise, joins count, and jobs are
 * owed. */
void model_follow(struct model *m, enum model_which which, int64_t now_at);

/* A batch begins: whether earlier ones have left some is remembered. */
void model_note_late(struct model *m);

/* Whether an end of the job is still to be followed: until then it stays as it is. */
bool model_is_left(const struct model *m, int64_t job);

/* One arrives; false: the key cannot be filled.  *ret_count is 0 when it fired. */
bool model_arrive(struct model *m, int join, const struct model_source *source, int *ret_key,
                  int64_t *ret_count);
bool model_is_subscribed(const struct model *m, int queue, int topic);

/* One action on one job.  E_OK, or what it is refused with; *ret_state is the state afterwards. */
struct model_act {
    enum job_action_kind kind;
    int target;         /* MOVE: queue; -1: no such queue */
    const char *params; /* PATCH: the whole new text; NULL: as it is */
    const char *member; /* RETRY, CLONE: set in the params to `value`; NULL: none */
    int64_t value;
    int from;   /* RETRY: number of the step; 0: not said; -1: there is none such */
    bool anew;  /* RETRY: from the first one */
    bool alone; /* RETRY: without those who were cancelled with it, and without waiting again */
    int label;  /* PATCH; -1: as it is */
    bool has_priority, has_due;
    int priority;
    int64_t due_at;
    int64_t now_at;
};

enum err_code model_act(struct model *m, struct model_job *j, const struct model_act *act);

/* The params with one member set, which goes to the end. */
void model_merge(char *out, const char *base, const char *member, int64_t value);

/* One object laid over another; either may be empty. */
void model_lay(char *out, size_t size, const char *base, const char *over);

/* A waiting job goes where it belongs: held, or waiting for its time, or ready. */
void model_place(struct model *m, struct model_job *j, int64_t now_at);

/* The jobs that a claim is to get, in order: indexes into m->jobs. */
struct model_claim {
    int queues[MODEL_QUEUES];
    int left[MODEL_QUEUES];
    size_t n_queues;
    int max;
    /* Jobs without a command in a queue without one are not for it; none here has one. */
    bool commands;
};

size_t model_pick(const struct model *m, const struct model_claim *claim, size_t *picks,
                  size_t room);

/* One pass of the oldest chunked work. */
void model_work_step(struct model *m, int64_t now_at);

/* Has it ended so long ago that it may be removed? */
bool model_expired(const struct model *m, const struct model_job *j, int64_t now_at);
