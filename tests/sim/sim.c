/*
 * sim [--seeds N] [--first SEED] [--steps N] [--jobs N] [--verbose]
 *
 * Runs so many lives (WAYBILL_SEEDS, else 1,000), several at a time.  The first thing that is wrong ends
 * the run with the seed and the step; `--first SEED --seeds 1` shows the same again.  A long run must
 * have made every move of the state table that can be made.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "powercut_vfs.h"
#include "sim.h"

enum { STEPS = 300, SEEDS = 1000, FULL_CHECK_EVERY = 75, COVERAGE_SEEDS = 200, DRAIN_ROUNDS = 400 };

struct options {
    uint64_t first, seeds;
    int steps;
    int jobs;
    bool verbose;
};

/* ---- saying ---- */

void sim_say(const struct sim *s, const char *fmt, ...)
{
    va_list args;

    if (!s->verbose)
        return;
    printf("%4d  ", s->step);
    va_start(args, fmt);
    vprintf(fmt, args);
    va_end(args);
    printf("\n");
}

void sim_fail(const struct sim *s, const char *fmt, ...)
{
    va_list args;

    fflush(stdout);
    fprintf(stderr, "sim: seed %llu, step %d: ", (unsigned long long)s->seed, s->step);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "\nsim: see it again with: sim --first %llu --seeds 1 --verbose\n",
            (unsigned long long)s->seed);
    _exit(1);
}

static void say_request(const struct sim *s, const struct req *r)
{
    static const char *const kinds[OP_KIND_COUNT] = {"submit", "exchange", "act", "bulk",
                                                     "queue",  "log",      "wait"};
    const struct op *op = &r->op;

    if (!s->verbose)
        return;
    printf("%4d    %s", s->step, kinds[op->kind]);
    if (op->kind == OP_ACT)
        printf(" %d on %lld", (int)op->act.kind, (long long)op->act.id);
    if (op->kind == OP_EXCHANGE)
        printf(" parts %u worker %d max %d wait %llds lease %llds all %d, finish %zu touch %zu",
               op->exchange.parts, r->worker, op->exchange.max,
               (long long)(op->exchange.wait_us / US_PER_S),
               (long long)(op->exchange.lease_us / US_PER_S), op->exchange.all,
               op->exchange.n_finish, op->exchange.n_touch);
    for (size_t i = 0; op->kind == OP_EXCHANGE && i < op->exchange.n_finish; i++)
        printf(" [%lld %s %lld]", (long long)op->exchange.finish[i].id,
               job_outcome_name(op->exchange.finish[i].outcome),
               (long long)op->exchange.finish[i].token);
    for (size_t i = 0; op->kind == OP_EXCHANGE && i < op->exchange.n_touch; i++)
        printf(" (%lld %lld)", (long long)op->exchange.touch[i].id,
               (long long)op->exchange.touch[i].token);
    if (op->kind == OP_QUEUE)
        printf(" %d %.*s state %d puts %zu prune %d", (int)op->queue.kind, (int)op->queue.name.size,
               op->queue.name.data, (int)op->queue.state, op->queue.n_puts, op->queue.prune);
    if (op->kind == OP_BULK)
        printf(" %d queue %d states %x label %d before %lld", (int)op->bulk.kind, r->work.queue,
               r->work.states, r->work.label, (long long)r->work.before_at);
    if (!r->answered)
        printf(" -> waits\n");
    else if (op->err.code != E_OK)
        printf(" -> %s: %s\n", err_name(op->err.code), op->err.msg);
    else
        printf(" -> %d %s\n", op->status, buf_text(&op->reply));
}

/* ---- steps ---- */

static void pass_time(struct sim *s)
{
    uint64_t how = chance(s, 100);
    int64_t next_us = engine_next_us(s->engine, s->now);

    if (how < 12 && next_us < US_PER_HOUR)
        world_advance(s, next_us);
    else if (how < 16 && next_us < US_PER_HOUR && next_us > 0)
        world_advance(s, next_us - 1);
    else if (how < 20)
        world_advance(s, (int64_t)chance(s, 1200) * US_PER_S);
    else if (how < 22) /* somebody sets the clock */
        s->now.wall_at += ((int64_t)chance(s, 7200) - 3600) * US_PER_S;
    else
        world_advance(s, (int64_t)chance(s, (uint64_t)(3 * US_PER_S)));
}

static void run_and_check(struct sim *s, struct req *r);

static void check_after(struct sim *s)
{
    s->faulty = false;
    check_store(s, s->step % FULL_CHECK_EVERY == 0 ? CHECK_ALL : CHECK_CHEAP);
    check_next(s);
    if (s->eager > 0)
        run_and_check(s, NULL);
}

static void open_again(struct sim *s)
{
    uint64_t away = chance(s, 4);

    if (away == 0)
        s->now.wall_at += (int64_t)chance(s, 300) * US_PER_S;
    else if (away == 1)
        s->now.wall_at += ((int64_t)chance(s, 600) - 300) * US_PER_S;
    world_open(s);
}

/* A batch in which the process dies at some disk operation, or right after it. */
static void step_crash(struct sim *s, struct req **reqs, size_t n)
{
    s->kill_by_power = chance(s, 2) == 0;
    s->kill_in = 1 + (int64_t)chance(s, 10);
    struct now then = s->now;

    world_run(s, reqs, n);
    sim_say(s, "  the process %s%s", s->dead ? "died in the batch" : "dies after the batch",
            s->kill_by_power ? ", with the power" : "");
    for (size_t i = 0; i < n; i++)
        say_request(s, reqs[i]);
    bool after = !s->dead;

    if (after)
        judge_run(s, reqs, n);
    world_end(s, s->kill_by_power ? WORLD_POWER : WORLD_KILL);
    open_again(s);
    struct now opened = s->now;

    if (after) {
        world_read(s);
    } else {
        s->now = then; /* what the batch did, it did then */
        judge_crash(s, reqs, n);
        s->now = opened;
    }
    world_drop_waiting(s);
    world_renew(s);
    check_store(s, chance(s, 3) == 0 ? CHECK_ALL : CHECK_CHEAP);
}

static void step_restart(struct sim *s)
{
    sim_say(s, "  a restart in order");
    world_end(s, WORLD_STOP);
    world_drop_waiting(s);
    open_again(s);
    world_read(s);
    world_renew(s);
    check_store(s, CHECK_CHEAP);
}

static void plan_fault(struct sim *s)
{
    static const struct powercut_plan plans[] = {{POWERCUT_WRITE, 0, 0, SQLITE_IOERR_WRITE},
                                                 {POWERCUT_WRITE, 0, 0, SQLITE_FULL},
                                                 {POWERCUT_SYNC, 0, 0, SQLITE_IOERR_FSYNC},
                                                 {POWERCUT_GROW, 0, 0, SQLITE_FULL}};
    struct powercut_plan plan = plans[chance(s, 4)];
    uint64_t times = chance(s, 3);

    plan.nth = 1 + (int64_t)chance(s, 5);
    plan.times = times == 0 ? 1 : times == 1 ? 2 + (int64_t)chance(s, 4) : POWERCUT_FOR_EVER;
    powercut_fail(s->disk, &plan);
    s->faulty = true;
    sim_say(s, "  the disk fails: kind %d, nth %lld, %lld times, code %d", (int)plan.io,
            (long long)plan.nth, (long long)plan.times, plan.code);
}

static void leave_some(struct sim *s)
{
    for (size_t i = 0; i < s->waiting.count; i++)
        if (chance(s, 20) == 0)
            s->waiting.items[i]->gone = true;
}

static struct req *set_state(struct sim *s, int queue, enum queue_state state);

/*
 * A commit whose sync failed was answered with an error, but stands in the log of the database until the
 * next one overwrites it: a crash before that brings it back to life.  Nothing was promised and nothing
 * is half done then; tests/crash looks at it closely, here it is buried.
 */
static void bury(struct sim *s)
{
    bool up = s->model.queues[MODEL_QUEUES - 1].state == QUEUE_UP;

    run_and_check(s, set_state(s, MODEL_QUEUES - 1, up ? QUEUE_DRAIN : QUEUE_UP));
}

static void one_step(struct sim *s)
{
    uint64_t how = chance(s, 100);
    struct req **reqs = s->batch;

    s->n_batch = 0;
    pass_time(s);
    sim_say(s, "wall %lld steady %lld", (long long)s->now.wall_at, (long long)s->now.steady_at);
    leave_some(s);
    if (chance(s, 20) == 0)
        world_checkpoint(s);
    if (how >= 98) {
        step_restart(s);
        return;
    }
    for (size_t want = how < 10   ? 0
                       : how < 70 ? 1
                                  : 2 + chance(s, SIM_REQS - 1);
         s->n_batch < want; s->n_batch++)
        reqs[s->n_batch] = client_request(s);
    size_t n = s->n_batch;

    if (how >= 92) {
        step_crash(s, reqs, n);
        return;
    }
    if (how >= 88)
        plan_fault(s);
    uint64_t rollbacks = s->rollbacks;

    world_run(s, reqs, n);
    powercut_heal(s->disk);
    for (size_t i = 0; i < n; i++)
        say_request(s, reqs[i]);
    judge_run(s, reqs, n);
    check_after(s);
    if (s->rollbacks > rollbacks)
        bury(s);
}

/* ---- the end: all work is done, all traces expire, nothing is left ---- */

static void run_and_check(struct sim *s, struct req *r)
{
    world_run(s, &r, r == NULL ? 0 : 1);
    if (r != NULL)
        say_request(s, r);
    judge_run(s, &r, r == NULL ? 0 : 1);
    check_after(s);
}

static struct req *set_state(struct sim *s, int queue, enum queue_state state)
{
    struct req *r = client_nothing(s, OP_QUEUE);

    r->queue = queue;
    r->op.queue = (struct queue_op){.kind = QUEUE_OP_STATE,
                                    .name = slice_of(model_queue_names[queue]),
                                    .state = state};
    return r;
}

static struct req *release(struct sim *s, int64_t id)
{
    struct req *r = client_nothing(s, OP_ACT);

    r->op.act = (struct act){.kind = ACT_RELEASE, .id = id};
    r->act = (struct model_act){.kind = ACT_RELEASE, .label = -1, .now_at = s->now.wall_at};
    return r;
}

static bool any_in(const struct sim *s, enum job_state state, int64_t *ret_id)
{
    for (size_t i = 0; i < s->model.n_jobs; i++)
        if (s->model.jobs[i].state == state) {
            *ret_id = s->model.jobs[i].id;
            return true;
        }
    return false;
}

static bool all_ended(const struct sim *s)
{
    for (size_t i = 0; i < s->model.n_jobs; i++)
        if (!job_state_ended(s->model.jobs[i].state))
            return false;
    return s->model.n_work == 0;
}

static void finish_all(struct sim *s)
{
    int64_t id;

    for (int q = 0; q < MODEL_QUEUES; q++)
        run_and_check(s, set_state(s, q, QUEUE_UP));
    for (int i = 0; i < DRAIN_ROUNDS && !all_ended(s); i++) {
        s->step++;
        if (s->n_held[0] > 0)
            run_and_check(s, client_finish_done(s, 0));
        else if (any_in(s, JOB_HELD, &id))
            run_and_check(s, release(s, id));
        else if (any_in(s, JOB_READY, &id))
            run_and_check(s, client_claim_all(s, 0));
        else
            world_advance(s, 10 * US_PER_MIN); /* retries and other workers' leases */
        if (s->n_held[0] == 0)
            run_and_check(s, NULL);
    }
    if (!all_ended(s))
        sim_fail(s, "work is left that nothing can end");
}

static void drain(struct sim *s)
{
    sim_say(s, "the end begins");
    s->n_held[0] = 0;
    finish_all(s);
    world_advance(s,
                  400 * US_PER_DAY); /* more than the clock was ever set back, and all retention */
    for (int i = 0; i < 20 && s->model.n_jobs > 0; i++) {
        s->step++;
        world_advance(s, 2 * US_PER_MIN);
        run_and_check(s, NULL);
    }
    run_and_check(s, set_state(s, 0, QUEUE_PAUSE)); /* what goes with the next write goes */
    run_and_check(s, set_state(s, MODEL_QUEUES - 1, QUEUE_PAUSE));
    check_store(s, CHECK_ALL);
    check_empty(s);
    if (engine_next_us(s->engine, s->now) != TIME_NEVER)
        sim_fail(s, "an idle engine wants to be woken");
}

/* ---- seeds ---- */

struct shared {
    int64_t moves[JOB_STATE_COUNT][JOB_EVENT_COUNT];
    int64_t seeds, steps, submitted;
};

static void run_seed(uint64_t seed, const struct options *o, struct shared *total)
{
    struct sim *s = mem_zalloc(sizeof(*s));

    s->seed = seed;
    s->verbose = o->verbose;
    rng_init(&s->rng, seed);
    rng_init(&s->rng, rng_next(&s->rng)); /* neighbours are strangers to each other */
    model_init(&s->model);
    world_init(s);
    for (; s->step < o->steps; s->step++)
        one_step(s);
    drain(s);
    for (int a = 0; a < JOB_STATE_COUNT; a++)
        for (int b = 0; b < JOB_EVENT_COUNT; b++)
            __atomic_fetch_add(&total->moves[a][b], s->model.moves[a][b], __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->seeds, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->steps, s->step, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->submitted, s->model.submitted, __ATOMIC_RELAXED);
    world_deinit(s);
    free(s);
}

static void run_share(const struct options *o, int share, struct shared *total)
{
    for (uint64_t i = (uint64_t)share; i < o->seeds; i += (uint64_t)o->jobs)
        run_seed(o->first + i, o, total);
}

/* Staging and relaying are not built yet: no job is ever staged or relayed. */
static bool is_reachable(enum job_state state, enum job_event event)
{
    return state != JOB_STAGED && state != JOB_RELAYED && event != JOB_EV_RELAY &&
           job_state_next(state, event) != JOB_NONE;
}

static int check_coverage(const struct shared *total)
{
    int missing = 0;

    for (unsigned a = 0; a < JOB_STATE_COUNT; a++)
        for (unsigned b = 0; b < JOB_EVENT_COUNT; b++)
            if (is_reachable((enum job_state)a, (enum job_event)b) && total->moves[a][b] == 0) {
                fprintf(stderr, "sim: no %s job ever met '%s'\n", job_state_name((enum job_state)a),
                        job_event_name((enum job_event)b));
                missing++;
            }
    return missing;
}

static int wait_for_all(int jobs)
{
    int failed = 0;

    for (int i = 0; i < jobs; i++) {
        int status = 0;

        if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
            failed++;
    }
    return failed;
}

static bool read_number(const char *text, uint64_t *ret_value)
{
    char *end;

    errno = 0;
    *ret_value = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

static int usage(void)
{
    fprintf(stderr, "usage: sim [--seeds N] [--first SEED] [--steps N] [--jobs N] [--verbose]\n");
    return 2;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    const char *seeds = getenv("WAYBILL_SEEDS");
    uint64_t steps = STEPS, jobs = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);

    o->seeds = SEEDS;
    if (seeds != NULL && !read_number(seeds, &o->seeds))
        return false;
    for (int i = 1; i < argc; i++) {
        uint64_t *into = strcmp(argv[i], "--seeds") == 0   ? &o->seeds
                         : strcmp(argv[i], "--first") == 0 ? &o->first
                         : strcmp(argv[i], "--steps") == 0 ? &steps
                         : strcmp(argv[i], "--jobs") == 0  ? &jobs
                                                           : NULL;

        if (strcmp(argv[i], "--verbose") == 0)
            o->verbose = true;
        else if (into == NULL || ++i == argc || !read_number(argv[i], into))
            return false;
    }
    o->steps = (int)steps;
    o->jobs = (int)(jobs < 1 ? 1 : jobs > o->seeds ? o->seeds : jobs);
    return o->seeds > 0 && steps < 1000000;
}

int main(int argc, char **argv)
{
    struct options o = {.first = 1};

    if (!read_options(argc, argv, &o))
        return usage();
    struct shared *total = mmap(NULL, sizeof(*total), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (total == MAP_FAILED)
        return 2;
    model_defs_init();
    if (o.jobs == 1) {
        run_share(&o, 0, total);
    } else {
        fflush(stdout);
        for (int i = 0; i < o.jobs; i++) {
            pid_t pid = fork();

            if (pid < 0)
                return 2;
            if (pid == 0) {
                run_share(&o, i, total);
                _exit(0);
            }
        }
        if (wait_for_all(o.jobs) > 0)
            return 1;
    }
    printf("%lld seeds, %lld steps, %lld jobs\n", (long long)total->seeds, (long long)total->steps,
           (long long)total->submitted);
    if (o.seeds < COVERAGE_SEEDS)
        return 0;
    return check_coverage(total) > 0 ? 1 : 0;
}
