/*
 * sim [--postgres [--servers 2]] [--seeds N] [--first SEED] [--steps N] [--jobs N] [--verbose]
 *
 * Runs so many lives (WAYBILL_SEEDS, else 700; on the PostgreSQL that WAYBILL_TEST_STORE names
 * WAYBILL_POSTGRES_SEEDS, else 8), several at a time.  The first thing that is wrong ends the run
 * with the seed and the step; `--first SEED --seeds 1` shows the same again.  A long run must have
 * made every move of the state table that can be made.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/log.h"
#include "sim.h"

enum { STEPS = 300, SEEDS = 700, POSTGRES_SEEDS = 8, COVERAGE_SEEDS = 200, SKIPPED = 77 };

struct options {
    uint64_t first, seeds;
    int steps;
    int jobs;
    bool verbose;
    bool shared;
    int servers;
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
    fprintf(stderr, "\nsim: see it again with: sim %s--first %llu --seeds 1 --verbose\n",
            s->n_servers > 1 ? "--postgres --servers 2 "
            : s->shared      ? "--postgres "
                             : "",
            (unsigned long long)s->seed);
    _exit(1);
}

/* ---- seeds ---- */

struct shared {
    int64_t moves[JOB_STATE_COUNT][JOB_EVENT_COUNT];
    int64_t seeds, steps, submitted;
    int64_t released, doomed, revived, fired, made, kept, followed; /* by what ties jobs together */
    int64_t refused, expired, succeeded, left;                      /* under the contested name */
    int64_t synced_later, died_unsynced;                            /* on the disk in memory */
};

static void run_seed(uint64_t seed, const struct options *o, struct shared *total)
{
    struct sim *s = mem_zalloc(sizeof(*s));

    s->seed = seed;
    s->verbose = o->verbose;
    s->shared = o->shared;
    s->n_servers = o->servers;
    rng_init(&s->rng, seed);
    rng_init(&s->rng, rng_next(&s->rng)); /* neighbours are strangers to each other */
    model_init(&s->model);
    name_init(s);
    world_init(s);
    for (; s->step < o->steps; s->step++)
        sim_step(s);
    sim_drain(s);
    for (int a = 0; a < JOB_STATE_COUNT; a++)
        for (int b = 0; b < JOB_EVENT_COUNT; b++)
            __atomic_fetch_add(&total->moves[a][b], s->model.moves[a][b], __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->seeds, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->steps, s->step, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->submitted, s->model.submitted, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->released, s->model.links.released, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->doomed, s->model.links.doomed, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->kept, s->model.links.kept, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->followed, s->model.links.followed, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->revived, s->model.links.revived, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->fired, s->model.links.fired, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->made, s->model.links.made, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->refused, s->model.name.refused, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->expired, s->model.name.expired, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->succeeded, s->model.name.succeeded, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->left, s->model.name.left, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->synced_later, s->synced_later, __ATOMIC_RELAXED);
    __atomic_fetch_add(&total->died_unsynced, s->died_unsynced, __ATOMIC_RELAXED);
    world_deinit(s);
    free(s);
}

static void run_share(const struct options *o, int share, struct shared *total)
{
    for (uint64_t i = (uint64_t)share; i < o->seeds; i += (uint64_t)o->jobs)
        run_seed(o->first + i, o, total);
}

/* Relaying is not built yet.  A staged job belongs to its owner, who releases or removes it.  Jobs
 * that cannot be run fail in tests/unit/engine/test_engine_chain.c. */
static bool is_reachable(enum job_state state, enum job_event event)
{
    if (state == JOB_STAGED)
        return event == JOB_EV_WAKE || event == JOB_EV_DEFER || event == JOB_EV_HOLD;
    if (state == JOB_HELD && event == JOB_EV_FAIL)
        return false;
    return state != JOB_RELAYED && event != JOB_EV_RELAY &&
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

static int check_links_coverage(const struct shared *total)
{
    bool all = total->made > 0 && total->released > 0 && total->doomed > 0 && total->revived > 0 &&
               total->fired > 0 && total->kept > 0 && total->followed > 0;

    if (!all)
        fprintf(stderr,
                "sim: no job was made by the end of another, let go, cancelled in vain or brought "
                "back, no publication or end was worked off later, or no join fired\n");
    return all ? 0 : 1;
}

static int check_names_coverage(const struct shared *total)
{
    bool all = total->refused > 0 && total->expired > 0 && total->succeeded > 0 && total->left > 0;

    if (!all)
        fprintf(stderr, "sim: no worker was refused a name, took it over, came after another, or "
                        "said goodbye\n");
    return all ? 0 : 1;
}

static int check_sync_coverage(const struct shared *total)
{
    bool all = total->synced_later > 0 && total->died_unsynced > 0;

    if (!all)
        fprintf(stderr, "sim: no commit was synced later, or no process died before the sync\n");
    return all ? 0 : 1;
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
    fprintf(
        stderr,
        "usage: sim [--postgres [--servers 2]] [--seeds N] [--first SEED] [--steps N] [--jobs N] "
        "[--verbose]\n");
    return 2;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    o->shared = argc > 1 && strcmp(argv[1], "--postgres") == 0;
    const char *seeds = getenv(o->shared ? "WAYBILL_POSTGRES_SEEDS" : "WAYBILL_SEEDS");
    uint64_t steps = STEPS, jobs = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN), servers = 1;

    o->seeds = o->shared ? POSTGRES_SEEDS : SEEDS;
    if (seeds != NULL && !read_number(seeds, &o->seeds))
        return false;
    for (int i = o->shared ? 2 : 1; i < argc; i++) {
        uint64_t *into = strcmp(argv[i], "--seeds") == 0     ? &o->seeds
                         : strcmp(argv[i], "--first") == 0   ? &o->first
                         : strcmp(argv[i], "--steps") == 0   ? &steps
                         : strcmp(argv[i], "--jobs") == 0    ? &jobs
                         : strcmp(argv[i], "--servers") == 0 ? &servers
                                                             : NULL;

        if (strcmp(argv[i], "--verbose") == 0)
            o->verbose = true;
        else if (into == NULL || ++i == argc || !read_number(argv[i], into))
            return false;
    }
    o->steps = (int)steps;
    o->jobs = (int)(jobs < 1 ? 1 : jobs > o->seeds ? o->seeds : jobs);
    o->servers = (int)servers;
    return o->seeds > 0 && steps < 1000000 && servers >= 1 &&
           servers <= (o->shared ? SIM_SERVERS : 1);
}

int main(int argc, char **argv)
{
    struct options o = {.first = 1};

    if (!read_options(argc, argv, &o))
        return usage();
    if (o.shared && !pg_is_wanted()) {
        printf("sim: WAYBILL_TEST_STORE names no PostgreSQL\n");
        return SKIPPED;
    }
    struct shared *total = mmap(NULL, sizeof(*total), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (total == MAP_FAILED)
        return 2;
    log_set_level(LOG_LEVEL_ERROR); /* what is done on purpose is told by the product, too */
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
    printf(
        "%lld seeds, %lld steps, %lld jobs: %lld made by others (%lld later), %lld ends followed "
        "later, %lld let go, %lld in vain, %lld brought back, %lld joins fired; a name refused "
        "%lld, expired %lld, succeeded %lld, left %lld times; %lld syncs put off, %lld died "
        "before one\n",
        (long long)total->seeds, (long long)total->steps, (long long)total->submitted,
        (long long)total->made, (long long)total->kept, (long long)total->followed,
        (long long)total->released, (long long)total->doomed, (long long)total->revived,
        (long long)total->fired, (long long)total->refused, (long long)total->expired,
        (long long)total->succeeded, (long long)total->left, (long long)total->synced_later,
        (long long)total->died_unsynced);
    if (o.seeds < COVERAGE_SEEDS)
        return 0;
    return check_coverage(total) + check_links_coverage(total) + check_names_coverage(total) +
               (o.shared ? 0 : check_sync_coverage(total)) >
           0;
}
