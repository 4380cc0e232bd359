/*
 * bench-postgres: the job lives of waybill-load done by plain SQL on the same PostgreSQL, as fast
 * as a loop written by hand for nothing else goes.  Prints the same line of JSON.
 *
 * Each connection is a thread and does round after round: submit a batch, claim as many, finish
 * them. Each of the three is one prepared statement over a set and a transaction of its own,
 * durable as the cluster's synchronous_commit says (anything but `on` is refused).  Arguments and
 * results are binary.
 *
 * What it keeps: a job's row with its queue, priority, params, times, token and worker, and its
 * end; claims in order of priority and age, finishes fenced by the token. What it leaves out, and a
 * queue cannot: HTTP and JSON, kept counts, keys, retention, leases that expire and the claims to
 * find them by, waking those who wait, what several servers must know of each other, jobs that
 * fail, retries, ids given out by the server, repeated requests, and jobs of one batch that do not
 * all have the same fate.
 */
/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "postgres_call.h"
#include "postgres_shapes.h"
#include "report.h"

#define CLIENTS_MAX 64

static const char usage[] =
    "usage: bench-postgres URL [options]\n"
    "\n"
    "  -c N   connections (8)           -b N  jobs a batch (100)\n"
    "  -t D   length of the run (3s)    -w D  warming up before it, not counted (500ms)\n"
    "  -s S   shape of the tables: apart, moved, stays, tables (the fastest)\n"
    "\n"
    "The tables jobs, ready, running, payload and ended of the current schema are made anew.\n";

struct ideal {
    const char *url;
    const struct postgres_shape *shape;
    unsigned connections;
    unsigned batch;
    int64_t warm_us;
    int64_t run_us;
    int64_t count_from_at; /* of the monotonic clock */
    int64_t until_at;
    _Atomic int64_t ids;
    _Atomic int64_t tokens;
};

struct client {
    pthread_t thread;
    unsigned index;
    struct ideal *ideal;
    PGconn *pg;
    struct buf ids; /* binary arrays */
    struct buf params;
    struct load_report report;
    struct err err;
};

static bool is_counted(const struct ideal *ideal)
{
    int64_t now_at = clock_mono_us();

    return now_at >= ideal->count_from_at && now_at <= ideal->until_at;
}

static enum err_code execute(struct client *c, const char *name, const struct postgres_args *args,
                             PGresult **ret_result, struct err *err)
{
    int64_t began_at = clock_mono_us();
    enum err_code code = postgres_execute(c->pg, name, args, ret_result, err);

    if (code == E_OK && is_counted(c->ideal))
        load_histogram_add(&c->report.latency, clock_mono_us() - began_at);
    return code;
}

/* Runs a statement that must hit so many jobs. */
static enum err_code execute_all(struct client *c, const char *name,
                                 const struct postgres_args *args, unsigned jobs, struct err *err)
{
    PGresult *r = NULL;
    enum err_code code = execute(c, name, args, &r, err);

    if (code != E_OK)
        return code;
    unsigned long hit = strtoul(PQcmdTuples(r), NULL, 10);

    PQclear(r);
    if (hit != jobs)
        return err_set(err, E_CONFLICT, "%s hit %lu jobs of %u", name, hit, jobs);
    return E_OK;
}

/* ---- a life ---- */

static void fill_params(struct buf *to, unsigned count)
{
    postgres_array_begin(to, POSTGRES_TEXT, count);
    for (unsigned i = 0; i < count; i++)
        postgres_array_add(to, load_payload.data, load_payload.size);
}

static void fill_fresh_ids(struct client *c)
{
    unsigned count = c->ideal->batch;
    int64_t first = atomic_fetch_add(&c->ideal->ids, count);

    postgres_array_begin(&c->ids, POSTGRES_INT8, count);
    for (unsigned i = 0; i < count; i++) {
        int64_t wire = (int64_t)htobe64((uint64_t)(first + i));

        postgres_array_add(&c->ids, &wire, sizeof(wire));
    }
}

static enum err_code submit(struct client *c, struct err *err)
{
    struct postgres_args a = {0};

    fill_fresh_ids(c);
    postgres_args_add_array(&a, &c->ids);
    postgres_args_add_array(&a, &c->params);
    return execute_all(c, "submit", &a, c->ideal->batch, err);
}

/* Leaves the ids claimed in c->ids.  What others took meanwhile is missed and waits for the next
 * one: after some rounds there is enough for all of them. */
static enum err_code claim(struct client *c, int64_t token, unsigned *ret_jobs, struct err *err)
{
    struct postgres_args a = {0};
    PGresult *r = NULL;

    postgres_args_add_number(&a, c->ideal->batch);
    postgres_args_add_number(&a, token);
    postgres_args_add_number(&a, clock_wall_us());
    postgres_args_add_number(&a, c->index + 1);
    enum err_code code = execute(c, "claim", &a, &r, err);

    if (code != E_OK)
        return code;
    unsigned got = (unsigned)PQntuples(r);

    postgres_array_begin(&c->ids, POSTGRES_INT8, got);
    for (unsigned i = 0; i < got; i++) {
        ASSERT((size_t)PQgetlength(r, (int)i, 1) == load_payload.size);
        postgres_array_add(&c->ids, PQgetvalue(r, (int)i, 0), sizeof(int64_t));
    }
    PQclear(r);
    *ret_jobs = got;
    return E_OK;
}

static enum err_code finish(struct client *c, int64_t token, unsigned jobs, struct err *err)
{
    struct postgres_args a = {0};

    postgres_args_add_array(&a, &c->ids);
    postgres_args_add_number(&a, token);
    postgres_args_add_number(&a, clock_wall_us());
    return execute_all(c, "finish", &a, jobs, err);
}

/* As with waybill-load, a request is what is timed and an end is what counts. */
static enum err_code live(struct client *c, struct err *err)
{
    int64_t token = atomic_fetch_add(&c->ideal->tokens, 1);
    unsigned jobs = 0;
    enum err_code code = submit(c, err);

    if (code == E_OK)
        code = claim(c, token, &jobs, err);
    if (code == E_OK && jobs > 0)
        code = finish(c, token, jobs, err);
    if (code != E_OK)
        return code;
    c->report.submitted += c->ideal->batch;
    c->report.finished += jobs;
    if (is_counted(c->ideal))
        c->report.jobs += jobs;
    return E_OK;
}

static void *client_run(void *arg)
{
    struct client *c = arg;
    enum err_code code = E_OK;

    while (code == E_OK && clock_mono_us() < c->ideal->until_at)
        code = live(c, &c->err);
    return NULL;
}

/* ---- the run ---- */

static enum err_code client_open(struct client *c, struct err *err)
{
    const struct postgres_shape *shape = c->ideal->shape;
    enum err_code code = postgres_connect(c->ideal->url, &c->pg, err);

    c->ids = BUF_INIT(LOAD_BUFFER_MAX);
    c->params = BUF_INIT(LOAD_BUFFER_MAX);
    fill_params(&c->params, c->ideal->batch);
    if (code == E_OK)
        code = postgres_prepare(c->pg, "submit", shape->submit, err);
    if (code == E_OK)
        code = postgres_prepare(c->pg, "claim", shape->claim, err);
    if (code == E_OK)
        code = postgres_prepare(c->pg, "finish", shape->finish, err);
    return code;
}

static void client_close(struct client *c)
{
    PQfinish(c->pg);
    buf_deinit(&c->ids);
    buf_deinit(&c->params);
}

static enum err_code make_tables(const struct ideal *ideal, struct err *err)
{
    PGconn *pg = NULL;
    enum err_code code = postgres_connect(ideal->url, &pg, err);

    if (code != E_OK)
        return code;
    code = postgres_script(pg, ideal->shape->schema, err);
    PQfinish(pg);
    return code;
}

static void add_report(struct load_report *to, const struct load_report *from)
{
    to->jobs += from->jobs;
    to->submitted += from->submitted;
    to->finished += from->finished;
    to->latency.total += from->latency.total;
    for (size_t i = 0; i < LOAD_BUCKETS; i++)
        to->latency.counts[i] += from->latency.counts[i];
    if (from->latency.max_us > to->latency.max_us)
        to->latency.max_us = from->latency.max_us;
}

static int64_t cpu_us(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * US_PER_S + u.ru_utime.tv_usec +
           u.ru_stime.tv_usec;
}

static enum err_code work(struct ideal *ideal, struct client *clients, struct load_report *report,
                          struct err *err)
{
    unsigned running = 0;
    int64_t now_at = clock_mono_us();
    enum err_code code = E_OK;

    ideal->count_from_at = now_at + ideal->warm_us;
    ideal->until_at = ideal->count_from_at + ideal->run_us;
    for (; code == E_OK && running < ideal->connections; running++)
        if (pthread_create(&clients[running].thread, NULL, client_run, &clients[running]) != 0)
            return err_set(err, E_INTERNAL, "no thread for connection %u", running);
    for (unsigned i = 0; i < running; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        add_report(report, &clients[i].report);
        if (code == E_OK && clients[i].err.code != E_OK) {
            *err = clients[i].err;
            code = err->code;
        }
    }
    report->elapsed_us = ideal->run_us;
    return code;
}

static enum err_code run(struct ideal *ideal, struct err *err)
{
    CLEANUP(mem) struct client *clients = mem_zalloc(ideal->connections * sizeof(*clients));
    CLEANUP(mem) struct load_report *report = mem_zalloc(sizeof(*report));
    enum err_code code = make_tables(ideal, err);
    int64_t cpu_before_us = cpu_us();

    for (unsigned i = 0; code == E_OK && i < ideal->connections; i++) {
        clients[i].ideal = ideal;
        clients[i].index = i;
        code = client_open(&clients[i], err);
    }
    if (code == E_OK)
        code = work(ideal, clients, report, err);
    for (unsigned i = 0; i < ideal->connections; i++)
        client_close(&clients[i]);
    if (code != E_OK)
        return code;
    report->cpu_us = cpu_us() - cpu_before_us;
    report_print(report);
    return E_OK;
}

/* ---- the command line ---- */

static enum err_code parse_count(const char *text, unsigned max, unsigned *ret_count,
                                 struct err *err)
{
    char *end = NULL;
    unsigned long v = strtoul(text, &end, 10);

    if (end == text || *end != '\0' || v < 1 || v > max)
        return err_set(err, E_INVALID, "%s is not a number from 1 to %u", text, max);
    *ret_count = (unsigned)v;
    return E_OK;
}

static enum err_code find_shape(const char *name, const struct postgres_shape **ret_shape,
                                struct err *err)
{
    for (size_t i = 0; i < postgres_shape_count; i++)
        if (strcmp(postgres_shapes[i].name, name) == 0) {
            *ret_shape = &postgres_shapes[i];
            return E_OK;
        }
    return err_set(err, E_INVALID, "shape %s: apart, moved, stays or tables", name);
}

static enum err_code take_option(struct ideal *ideal, int option, const char *value,
                                 struct err *err)
{
    switch (option) {
    case 'c': return parse_count(value, CLIENTS_MAX, &ideal->connections, err);
    case 'b': return parse_count(value, LOAD_BATCH_MAX, &ideal->batch, err);
    case 't': return duration_parse(slice_of(value), &ideal->run_us, err);
    case 'w': return duration_parse(slice_of(value), &ideal->warm_us, err);
    case 's': return find_shape(value, &ideal->shape, err);
    default: return err_set(err, E_INVALID, "unknown option, or one without its value");
    }
}

static int fail(const struct err *err)
{
    fprintf(stderr, "bench-postgres: %s\n", err->msg);
    return err->code == E_INVALID ? 2 : 1;
}

int main(int argc, char **argv)
{
    struct ideal ideal = {.connections = 8,
                          .batch = 100,
                          .shape = &postgres_shapes[0],
                          .warm_us = 500 * US_PER_MS,
                          .run_us = 3 * US_PER_S,
                          .ids = 1,
                          .tokens = 1};
    struct err err = ERR_INIT;
    int option = 0;

    while ((option = getopt(argc, argv, "c:b:t:w:s:h")) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (take_option(&ideal, option, optarg, &err) != E_OK)
            return fail(&err);
    }
    if (argc - optind != 1) {
        fputs(usage, stderr);
        return 2;
    }
    ideal.url = argv[optind];
    return run(&ideal, &err) == E_OK ? 0 : fail(&err);
}
