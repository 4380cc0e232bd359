/*
 * waybill-load: puts one kind of load on one server for a while and prints what came of it as one
 * line of JSON.  bench/run starts it for each contender in turn.
 */
/* SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <inttypes.h>

#include "base/clock.h"
#include "beanstalk.h"
#include "load/http.h"
#include "report.h"
#ifdef HAVE_RABBITMQ
#include "rabbit.h"
#endif

static const char usage[] =
    "usage: waybill-load SERVER[,SERVER…] WORKLOAD [options]\n"
    "\n"
    "SERVER    http://127.0.0.1:PORT | unix:PATH | beanstalk://127.0.0.1:PORT\n"
    "          | beanstalk-unix:PATH | amqp://127.0.0.1:PORT\n"
    "WORKLOAD  submit   submits alone, a batch a request\n"
    "          lives    submit, claim, finish; the depth of the queue stays what it was\n"
    "          latency  submit to claimed, with a waiting claimer\n"
    "          renew    delete and declare the queue (amqp)\n"
    "          depth    how many wait in the queue (amqp)\n"
    "\n"
    "  -q NAME   queue (bench)           -c N  connections (8)\n"
    "  -g GROUP  that the jobs join (Waybill)\n"
    "  -b N      jobs a batch (1)        -n N  at most so many jobs (no limit)\n"
    "  -t D      length of the run (3s)  -w D  warming up before it, not counted (500ms)\n";

struct contender {
    const char *scheme;
    const struct load_protocol *protocol;
    bool local; /* what follows the scheme is the path of a socket */
};

static const struct contender contenders[] = {
    {.scheme = "http://", .protocol = &load_http},
    {.scheme = "unix:", .protocol = &load_http, .local = true},
    {.scheme = "beanstalk://", .protocol = &beanstalk},
    {.scheme = "beanstalk-unix:", .protocol = &beanstalk, .local = true},
#ifdef HAVE_RABBITMQ
    {.scheme = "amqp://", .protocol = &rabbit},
#endif
};

static const char *const workloads[] = {
    [LOAD_SUBMIT] = "submit",
    [LOAD_LIVES] = "lives",
    [LOAD_LATENCY] = "latency",
};

static enum err_code add_server(const struct contender *who, const char *place,
                                struct load_plan *plan, struct err *err)
{
    CLEANUP(buf) struct buf address = BUF_INIT(4096);

    if (plan->servers == LOAD_SERVERS_MAX)
        return err_set(err, E_INVALID, "more than %d servers", LOAD_SERVERS_MAX);
    buf_addf(&address, "%s%s", who->local ? "unix:" : "", place);
    return load_address_parse(buf_text(&address), &plan->addresses[plan->servers++], err);
}

static enum err_code find_contender(const char *server, struct load_plan *plan,
                                    const struct contender **ret_contender, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(contenders); i++) {
        const struct contender *c = &contenders[i];

        if (strncmp(server, c->scheme, strlen(c->scheme)) != 0)
            continue;
        *ret_contender = c;
        return add_server(c, server + strlen(c->scheme), plan, err);
    }
    return err_set(err, E_INVALID, "server %s: none of the schemes this build knows%s", server,
                   strncmp(server, "amqp:", 5) == 0 ? " (librabbitmq-dev was not there)" : "");
}

/* Servers with a comma between them, all of one kind: the connections are spread over them. */
static enum err_code find_contenders(const char *servers, struct load_plan *plan,
                                     const struct contender **ret_contender, struct err *err)
{
    CLEANUP(mem) char *list = mem_strdup(servers);
    const struct contender *first = NULL;
    char *rest = list;
    char *one = NULL;

    while ((one = strsep(&rest, ",")) != NULL) {
        const struct contender *who = NULL;
        enum err_code code = find_contender(one, plan, &who, err);

        if (code != E_OK)
            return code;
        if (first != NULL && who->protocol != first->protocol)
            return err_set(err, E_INVALID, "server %s is of another kind than the first", one);
        first = who;
    }
    *ret_contender = first;
    return E_OK;
}

static enum err_code parse_number(const char *text, uint64_t max, uint64_t *ret_value,
                                  struct err *err)
{
    char *end = NULL;
    unsigned long long v = strtoull(text, &end, 10);

    if (end == text || *end != '\0' || text[0] == '-' || v > max)
        return err_set(err, E_INVALID, "%s is not a number up to %" PRIu64, text, max);
    *ret_value = v;
    return E_OK;
}

static enum err_code take_option(struct load_plan *plan, int option, const char *value,
                                 struct err *err)
{
    uint64_t n = 0;
    enum err_code code = E_OK;

    switch (option) {
    case 'q': plan->queue = value; return E_OK;
    case 'g': plan->group = value; return E_OK;
    case 't': return duration_parse(slice_of(value), &plan->run_us, err);
    case 'w': return duration_parse(slice_of(value), &plan->warm_us, err);
    case 'n': return parse_number(value, UINT32_MAX, &plan->max_jobs, err);
    case 'c':
        code = parse_number(value, LOAD_CONNECTIONS_MAX, &n, err);
        plan->connections = (unsigned)n;
        return code;
    case 'b':
        code = parse_number(value, LOAD_BATCH_MAX, &n, err);
        plan->batch = (unsigned)n;
        return code;
    default: return err_set(err, E_INVALID, "unknown option, or one without its value");
    }
}

static enum err_code tend_queue(const struct load_plan *plan, const char *what, struct err *err)
{
#ifdef HAVE_RABBITMQ
    uint64_t depth = 0;
    enum err_code code = E_OK;

    if (strcmp(what, "renew") == 0)
        return rabbit_renew(&plan->addresses[0], plan->queue, err);
    code = rabbit_depth(&plan->addresses[0], plan->queue, &depth, err);
    if (code == E_OK)
        printf("{\"depth\":%" PRIu64 "}\n", depth);
    return code;
#else
    (void)plan;
    return err_set(err, E_UNSUPPORTED, "%s: this build has no RabbitMQ part", what);
#endif
}

static enum err_code run(const struct contender *who, struct load_plan *plan, const char *what,
                         struct err *err)
{
    if (strcmp(what, "renew") == 0 || strcmp(what, "depth") == 0)
        return tend_queue(plan, what, err);
    for (size_t i = 0; i < ARRAY_LEN(workloads); i++) {
        CLEANUP(mem) struct load_report *report = mem_zalloc(sizeof(*report));

        if (strcmp(what, workloads[i]) != 0)
            continue;
        plan->kind = (enum load_kind)i;
        if (plan->kind == LOAD_LATENCY)
            plan->connections = 2;
        enum err_code code = load_run(who->protocol, plan, report, err);

        if (code == E_OK)
            report_print(report);
        return code;
    }
    return err_set(err, E_INVALID, "workload %s: submit, lives, latency, renew or depth", what);
}

static int fail(const struct err *err)
{
    fprintf(stderr, "waybill-load: %s\n", err->msg);
    return err->code == E_INVALID ? 2 : 1;
}

int main(int argc, char **argv)
{
    struct load_plan plan = {.queue = "bench",
                             .connections = 8,
                             .batch = 1,
                             .warm_us = 500 * US_PER_MS,
                             .run_us = 3 * US_PER_S};
    const struct contender *who = NULL;
    struct err err = ERR_INIT;
    int option = 0;

    while ((option = getopt(argc, argv, "q:g:c:b:n:t:w:h")) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (take_option(&plan, option, optarg, &err) != E_OK)
            return fail(&err);
    }
    if (argc - optind != 2) {
        fputs(usage, stderr);
        return 2;
    }
    if (find_contenders(argv[optind], &plan, &who, &err) != E_OK ||
        run(who, &plan, argv[optind + 1], &err) != E_OK)
        return fail(&err);
    return 0;
}
