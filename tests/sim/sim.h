/*
 * The simulation: the engine on a disk in memory or on PostgreSQL, under a fake clock, among seeded
 * clients and workers.
 *
 * One seed is one life of a server: steps of a few requests at a time, interrupted by crashes,
 * power cuts, disk faults, restarts, clock jumps, lost replies and workers that come too late.
 * After every step the store is read and compared with the model; what must hold always (design,
 * section 9) is checked.  The same seed gives the same life, byte by byte (on PostgreSQL: request
 * by request).
 *
 * With two servers one of them works at a time; before the other takes over, both hear what there
 * is to hear.
 *
 * On PostgreSQL a crash comes before a batch, or between its commit and the answers; connections
 * are lost in commits.  There is one clock, the database's, which the simulation sets.
 *
 *   sim.c      seeds, coverage                 clients.c, workers.c   make requests
 *   steps.c    one step of a life              judge*.c               check the answers
 *   drain.c    its end
 *   world.c    engine, store, disk, clock      model*.c               how jobs must be
 *   check.c    compares the store with the model
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/vec.h"
#include "core/job/lease.h"
#include "engine/engine.h"
#include "engine/op.h"
#include "model.h"
#include "pg_schema.h"
#include "store/jobs/emits.h"
#include "store/shared.h"
#include "store/work.h"

enum {
    SIM_ITEMS = 6, /* of one request */
    SIM_PREVIOUS = 3,
    SIM_REQS = 4,    /* of one batch */
    SIM_HELD = 40,   /* leases one worker believes in */
    SIM_WAITING = 5, /* the engine's waiting_max */
    SIM_SERVERS = 2, /* at most */
};

#define SIM_DUE_PAUSE_US (20 * US_PER_MS) /* on shared stores due jobs may come so much later */

struct sim;

/* A lease, as a worker knows it. */
struct held {
    int64_t id, token, fence;
};

/* Of every store in the simulation. */
extern const struct siphash_key sim_lease_key;

/* A request: the op, and what the model has to know about it. */
struct req {
    struct op op;
    struct sim *sim;
    bool answered;
    bool unknown;    /* the process died before it could answer */
    bool gone;       /* its client has left: it must not be granted anything */
    bool waits;      /* the model says that it waits */
    bool sent_back;  /* its worker let a lease run out: it gets nothing and asks anew */
    bool listed;     /* among those who wait, or did until now */
    bool reply_lost; /* the client did not get it, and asks again some day */
    int64_t deadline_at;

    struct model_sub {
        int queue; /* -1: no such queue */
        int key, label, own_retry, priority;
        uint64_t content;
        int64_t delay_us, due_at;
        char params[MODEL_PARAMS];
        struct model_routing routing;
        int step; /* number of the one it begins with; 0: no route */
        struct model_attempt progress[MODEL_STEPS];
        int n_progress;
        bool redo;
    } subs[SIM_ITEMS];
    struct submit_item items[SIM_ITEMS]; /* of a submit, an emit, or one of the finishes */
    int64_t cursor;                      /* of an emit; 0: none */
    int64_t owner;                       /* whose emit it is; 0: nobody's */

    struct finish_item finish[SIM_ITEMS];
    struct gained {
        struct model_set set;
        char result[24]; /* JSON; empty: none */
        struct model_step steps[2];
        int n_steps;
        int signal;     /* that it raises, -1: none */
        int64_t raised; /* by so much */
    } gains[SIM_ITEMS]; /* of the finishes */
    struct touch_item touch[SIM_HELD];
    struct claim_queue queues[MODEL_QUEUES];
    struct model_claim claim;
    bool bad_queue; /* the claim names one that is not there */
    int worker;
    int instance;  /* of the contested name */
    bool succeeds; /* it names the holder of that name among `previous` */
    struct slice previous[SIM_PREVIOUS];
    bool strips_none; /* it says all that it holds, under a name that was an instance's until now */

    /* What the reply must say, as far as it is decided. */
    struct wanted {
        enum err_code code;
        enum err_code finish[SIM_ITEMS];
        enum { WANT_FRESH, WANT_AGAIN, WANT_EITHER } again[SIM_ITEMS];
        bool lost[SIM_HELD];
        struct held cancels[2 * SIM_HELD];
        size_t n_cancels;
        bool hurry; /* an item did not go well, or it is outdated: the reply does not wait */
        struct log_end {
            struct held lease;
            int64_t size;
        } logs[SIM_ITEMS + SIM_HELD]; /* that could not be taken */
        size_t n_logs;
        int64_t token;
        struct grant {
            int64_t id;
            int64_t fence;
            int attempt;
            int64_t cursor;
            int step;
            char params[MODEL_PARAMS];
        } grants[MODEL_JOBS_MAX / 8];
        size_t n_grants;
    } want;

    struct model_act action;
    char params[MODEL_PARAMS];
    struct model_work work;
    struct definition_put puts[2];
    int put_queue[2], put_def[2], put_links[2];
    struct definition_put joins[MODEL_JOINS];
    int put_join[MODEL_JOINS], put_count[MODEL_JOINS];
    int link;  /* the signal, the join, the topic */
    int queue; /* of a queue op or a log */
    char log[64];
    struct log_append logs[SIM_ITEMS]; /* with finishes and touches */
    size_t n_logs;
};

struct event_seen {
    int64_t id;
    enum job_state state;
};

/* A server: the process, and who waits there. */
struct sim_server {
    struct store_member member;
    struct store *store; /* NULL: it is down */
    struct engine *engine;
    int64_t opened_at;      /* steady */
    int64_t names_until_at; /* steady, shared stores: no name changes hands here earlier */
    int64_t opened_wall_at;
    uint64_t rollbacks;   /* of this engine, as last seen */
    int64_t resume_at;    /* steady: after failed batches the engine rests until then */
    int64_t rested_until; /* the same of the process before this one */
    int eager;            /* runs after which it wanted to run at once, for nothing */

    uint64_t read_commits;     /* as many and one when the store was read; 0: it was not yet */
    VEC(struct req *) waiting; /* claims, the oldest first */
    VEC(struct req *) waits;   /* for the end of a job */
    VEC(char *) news;          /* of other servers, not heard yet */
};

struct sim {
    uint64_t seed;
    int step;
    bool verbose;
    struct rng rng;
    struct now now;

    bool shared; /* on PostgreSQL, else on the disk */
    struct powercut *disk;
    struct pg_schema place;
    struct store_listener *listener; /* with several servers */
    struct sim_server servers[SIM_SERVERS];
    int n_servers;
    bool synced;           /* all news have come */
    struct sim_server *at; /* the one that works now */
    bool dead;             /* the process was killed in this step */
    int64_t kill_in;       /* so many disk operations from now; 0: not, or before the batch */
    bool kill_by_power;
    bool just_opened;
    bool faulty; /* the disk may fail in this step */
    int64_t commits;
    int64_t synced_later, died_unsynced; /* batches whose sync was put off, and deaths in it */
    bool crashing; /* the process dies in this step: what leaves no trace is not asked */

    struct model model;
    VEC(struct event_seen) before; /* the states of all jobs before the step */
    bool one_by_one;               /* the store shows what later requests have done, too */
    bool judging_crash;            /* whether the batch is there is not known yet */
    bool no_evidence;              /* the store shows nothing of an unanswered request */
    struct held held[MODEL_WORKERS][SIM_HELD];
    size_t n_held[MODEL_WORKERS];
    int64_t serial;              /* makes params unique */
    struct req *batch[SIM_REQS]; /* what is asked in this step */
    size_t n_batch;
    VEC(struct event_seen) events;

    /* What the store holds, read after each step in which there was a commit. */
    bool unchanged; /* the last look was not needed */
    struct arena arena;
    VEC(struct job) rows;          /* by id */
    VEC(struct stored_work) works; /* under way; their texts are not kept */
    VEC(struct stored_emitter) emitters;
    struct stored {
        int64_t number; /* 0: not there */
        enum queue_state state;
        int def, links;
        int streak;
        int64_t restarts;
    } queues[MODEL_QUEUES];
    struct stored_links {
        int64_t signals[MODEL_SIGNALS];
        struct model_join joins[MODEL_JOINS];
        bool left;     /* some releases are still to be worked off */
        bool was_left; /* the same before */
        struct stored_target {
            int64_t queue, id;
            char params[MODEL_PARAMS];
        } targets[MODEL_PROMISED]; /* of publications that are still to be worked off */
        size_t n_targets;
        struct model_left follows[MODEL_NOTES]; /* ends that are still to be followed */
        size_t n_follows;
    } links;
    int64_t definitions;
};

/* Says what is wrong, with the seed and how to see it again, and ends the process. */
NORETURN void sim_fail(const struct sim *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void sim_say(const struct sim *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

static inline uint64_t chance(struct sim *s, uint64_t of)
{
    return rng_below(&s->rng, of);
}

/* The number of the server that works now. */
static inline int sim_at(const struct sim *s)
{
    return (int)(s->at - s->servers);
}

/* ---- steps.c ---- */

void sim_step(struct sim *s);

/* One request, or none, with all that is checked after it. */
void sim_run(struct sim *s, struct req *r);
struct req *client_set_state(struct sim *s, int queue, enum queue_state state);

enum sim_parting { SIM_STAYS, SIM_LEAVES };

/* With two servers: the other one works from now on, whether this one stays or leaves. */
void sim_change_places(struct sim *s, enum sim_parting parting);

/* ---- drain.c ---- */

void sim_drain(struct sim *s);

/* ---- world.c ---- */

void world_init(struct sim *s);

/* So many rows of staged jobs are settled in one commit: few, so that it takes several. */
uint32_t world_settle_rows(const struct sim *s);
void world_deinit(struct sim *s);
void world_open(struct sim *s);

/* Ends the process: in order, by a kill, or by a power cut. */
enum world_end { WORLD_STOP, WORLD_KILL, WORLD_POWER };
void world_end(struct sim *s, enum world_end how);

/* Whoever waited has lost the connection. */
void world_drop_waiting(struct sim *s);

/* After a restart: leases get a full period, nobody remembers whom cancels were told. */
void world_renew(struct sim *s);

/* With two servers: the other one works from now on.  It is started when it was down, and otherwise
 * has to hear what was told since it worked last. */
void world_change_places(struct sim *s);

/* Remembers how the model is, then runs the engine. */
void world_run(struct sim *s, struct req **reqs, size_t n);
void world_advance(struct sim *s, int64_t us);

/* Somebody sets the wall clock; a shared store has none that could be set. */
void world_set_clock(struct sim *s, int64_t us);

/* The process will die in the next batch, or after it; the store fails in it, until it is
 * healed. */
void world_plan_death(struct sim *s);
void world_plan_fault(struct sim *s);
void world_heal(struct sim *s);

/* Folds the log of the database in, which SQLite does by itself now and then. */
void world_checkpoint(struct sim *s);

/* Reads jobs, queues and chunked work as they are in the store. */
void world_read(struct sim *s);
const struct job *world_row(const struct sim *s, int64_t id);
const struct job *world_row_with(const struct sim *s, const char *params);
void world_read_links(struct sim *s);

/* ---- clients.c, workers.c ---- */

struct req *client_request(struct sim *s);
struct req *client_resume(struct sim *s); /* a job again, with what it had cancelled; or NULL */
struct req *client_nothing(struct sim *s, enum op_kind kind);
struct req *client_claim_all(struct sim *s, int worker); /* for the end: every queue, no waiting */
struct req *client_finish_done(struct sim *s, int worker);
void req_free(struct req *r);

struct req *worker_claim(struct sim *s);
struct req *worker_finish(struct sim *s);
struct req *worker_touch(struct sim *s);
struct req *worker_log(struct sim *s);
struct req *worker_emit(struct sim *s);

/* ---- names.c ---- */

void name_init(struct sim *s);

/* Some worker; of the contested name one request in a batch. */
int name_worker(struct sim *s);

/* Which of those who want the name it is, and what it says about itself. */
void name_fill(struct sim *s, struct req *r);

/* E_CONFLICT when the name is another's. */
enum err_code name_judge(struct sim *s, const struct req *r);

/* The request is sound: it is heard of, and has the name, or leaves it. */
void name_take(struct sim *s, struct req *r);

/* Whoever has it could not be heard: it is there for a full period. */
void name_renew(struct sim *s);

/* A text that lives as long as the request. */
struct slice client_text(struct req *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Makes up r->subs[i] and r->items[i]. */
void client_fill_sub(struct sim *s, struct req *r, size_t i);

/* Gives it a route, conditions, and ends that lead somewhere; of an array of n, jobs may name each
 * other. */
void client_fill_routing(struct sim *s, struct req *r, size_t i, size_t n);
struct req *client_link(struct sim *s); /* a signal, an arrival, something published */
void client_fill_gain(struct sim *s, struct req *r, size_t i);

/* What they are made from. */
struct req *req_new(struct sim *s, enum op_kind kind);
bool is_target(const struct sim *s, const struct model_job *j);
struct model_job *any_job(struct sim *s); /* or NULL */
int any_queue(struct sim *s);
struct slice queue_name(int queue);
int64_t some_delay(struct sim *s);

/* A worker learns of leases it was granted. */
void worker_holds(struct sim *s, int worker, struct held lease);

/* ---- judge.c, judge_ops.c, judge_claim.c, judge_answer.c ---- */

/* The batch ran: the model follows, the answers are checked, what is answered is freed. */
void judge_run(struct sim *s, struct req **reqs, size_t n);

/* The process died in the batch: whole or not at all, as the store shows. */
void judge_crash(struct sim *s, struct req **reqs, size_t n);

/* While the server or its store was away nobody could renew a lease: each gets a full period. */
void judge_pause(struct sim *s);

/* One request each, in the phase in which a batch runs it. */
void judge_define(struct sim *s, struct req *r);
void judge_queue(struct sim *s, struct req *r);
void judge_emit(struct sim *s, struct req *r);
void judge_exchange(struct sim *s, struct req *r);
void judge_finish(struct sim *s, struct req *r);
void judge_touch(struct sim *s, struct req *r);
void judge_log(struct sim *s, struct req *r);
void judge_act(struct sim *s, struct req *r);
void judge_bulk(struct sim *s, struct req *r);
void judge_submit(struct sim *s, struct req *r);

/* How jobs come; by the way: which ids they have is told by nobody. */
enum judge_new { JUDGE_ON_ITS_OWN, JUDGE_STAGED, JUDGE_BY_THE_WAY };

void judge_signal(struct sim *s, struct req *r);
void judge_join(struct sim *s, struct req *r);
void judge_publish(struct sim *s, struct req *r);

/* E_INVALID when a queue or a destination of its routing is missing, or a condition is unsound. */
enum err_code judge_routing(const struct sim *s, const struct model_sub *sub);
enum err_code judge_conds(struct sim *s, const struct req *r, size_t i, const int64_t *ids);
void judge_add_routing(struct sim *s, const struct req *r, size_t i, struct model_job *j,
                       const int64_t *ids, enum judge_new how);

/* Ends are followed, those who wait are let go, as the store shows: within a batch as far as it has
 * come, and when it has done all else. */
void judge_follow(struct sim *s);
void judge_links(struct sim *s);

/* Ends that may still be told to others. */
void judge_telling(struct sim *s);
void judge_note_id(struct sim *s, int64_t id);

void judge_waiting_claims(struct sim *s);
void judge_claim(struct sim *s, struct req *r);

/* The reply must tell the worker to stop that job. */
void want_cancel(struct req *r, const struct model_job *j);
bool names_gone_queue(const struct sim *s, const struct req *r);

/* It works by definitions that are not the current ones. */
bool is_outdated(const struct sim *s, const struct req *r);

/* Who is answered now, and with what. */
void judge_answers(struct sim *s, struct req **reqs, size_t n);

/* The id of a job that was made: from the reply if there is one, else from the store. */
bool judge_id_of_new(struct sim *s, const struct req *r, int64_t replied, const char *params,
                     int64_t *ret_id);

/* What becomes of n items from the first on, as their ids tell; true: all were known. */
bool judge_take_items(struct sim *s, struct req *r, const int64_t *replied, size_t first, size_t n,
                      enum judge_new how, int64_t *ret_ids);
void judge_add_new(struct sim *s, const struct model_sub *sub, int64_t id, enum judge_new how);

/* The place of the first of n items that is refused, and why; n when none is.  What they wait for
 * is judged when all else is sound, or together with whether two of them clash. */
enum judge_order { JUDGE_CONDS_LAST, JUDGE_WITH_CLASHES };
size_t judge_first_refused(struct sim *s, const struct req *r, size_t n, enum err_code *ret_code,
                           enum judge_order order);

/* What a finish emits: is it refused?  And when the finish is not. */
enum err_code judge_finish_emits(struct sim *s, struct req *r, const struct finish_item *f);
void judge_make_finish_emits(struct sim *s, struct req *r, const struct finish_item *f);

/* The lease in an {"id","lease"} of the reply; it must be a proven one. */
struct held reply_lease(const struct sim *s, struct slice object);
bool same_lease(struct held a, struct held b);

/* The id that the reply gives under that name. */
int64_t reply_id(const struct sim *s, struct slice object, const char *name);
void expect_code(const struct sim *s, const struct req *r, enum err_code code);
void expect_json(const struct sim *s, const struct req *r);
void expect_text(const struct sim *s, struct slice object, const char *name, const char *want);

/* Has the request an answer that can be looked at? */
static inline bool is_known(const struct req *r)
{
    return r->answered && !r->unknown;
}

/* ---- check.c ---- */

enum check { CHECK_CHEAP, CHECK_ALL };
void check_store(struct sim *s, enum check how);

/* Of what ties jobs together, and of what one of them carries of it. */
const char *check_links(const struct sim *s);
void check_routing(struct sim *s, const struct model_job *j);
void check_links_over(struct sim *s);

/* Does the store hold what the model says?  The difference as text, or NULL. */
const char *check_difference(struct sim *s);
void check_next(struct sim *s);
void check_empty(struct sim *s);
