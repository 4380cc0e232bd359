/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cmd/cmd.h"
#include "cli/request/bench_server.h"
#include "cli/view/reply_json.h"
#include "load/http.h"

#define WARM_US (500 * US_PER_MS)
#define CONNECTIONS 50
#define BATCH 100
#define SECONDS 5
#define SYNCS 50

/* The measurements in order, each in a separate queue. */
struct part {
    const char *name;
    const char *title;
    enum load_kind kind;
    bool batches; /* --batch jobs a request, on an eighth of the connections */
};

static const struct part parts[] = {
    {.name = "submit", .title = "submits, one a request", .kind = LOAD_SUBMIT},
    {.name = "lives", .title = "job lives, one a request", .kind = LOAD_LIVES},
    {.name = "batches", .title = "job lives, in batches", .kind = LOAD_LIVES, .batches = true},
    {.name = "latency", .title = "submit to claimed", .kind = LOAD_LATENCY},
};

struct bench {
    struct cli *cli;
    struct load_address address;
    char queue[64]; /* of the current part */
};

static struct load_plan plan_of(const struct bench *b, const struct part *p)
{
    const struct args *a = &b->cli->args;
    unsigned connections = (unsigned)args_int(a, "connections", CONNECTIONS);

    if (p->batches)
        connections = connections < 8 ? 1 : connections / 8;
    if (p->kind == LOAD_LATENCY)
        connections = 2;
    return (struct load_plan){
        .addresses = {b->address},
        .servers = 1,
        .queue = b->queue,
        .kind = p->kind,
        .connections = connections,
        .batch = p->batches ? (unsigned)args_int(a, "batch", BATCH) : 1,
        .warm_us = WARM_US,
        .run_us = args_int(a, "seconds", SECONDS) * US_PER_S,
    };
}

static double ms(int64_t us)
{
    return (double)us / 1000;
}

static void print_report(const struct bench *b, const struct part *p, const struct load_plan *plan,
                         const struct load_report *r)
{
    double rate = r->elapsed_us > 0 ? (double)r->jobs * 1e6 / (double)r->elapsed_us : 0;
    int64_t p50 = load_histogram_at(&r->latency, 0.5);
    int64_t p99 = load_histogram_at(&r->latency, 0.99);

    if (b->cli->json) {
        printf("{\"part\":\"%s\",\"jobs\":%" PRIu64 ",\"seconds\":%.3f,\"rate\":%.0f,"
               "\"connections\":%u,\"batch\":%u,\"p50_ms\":%.3f,\"p99_ms\":%.3f}\n",
               p->name, r->jobs, (double)r->elapsed_us / 1e6, rate, plan->connections, plan->batch,
               ms(p50), ms(p99));
    } else {
        printf("%-26s", p->title);
        if (p->kind == LOAD_LATENCY)
            printf("%10s  ", "");
        else
            printf("%8.0f/s  ", rate);
        printf("p50 %8.3f ms  p99 %8.3f ms  %u connection%s", ms(p50), ms(p99), plan->connections,
               plan->connections == 1 ? "" : "s");
        if (plan->batch > 1)
            printf(", %u a request", plan->batch);
        putchar('\n');
    }
    fflush(stdout);
}

static enum err_code ask(struct bench *b, const char *method, const char *path, const char *body,
                         struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    const struct client_request r = {.method = method, .path = path, .body = slice_of(body)};

    return cli_call(b->cli, &r, &reply, err);
}

static enum err_code delete_jobs(struct bench *b, struct err *err)
{
    CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
    char body[256];
    char path[64];

    snprintf(body, sizeof(body), "{\"action\":\"delete\",\"filter\":{\"queue\":\"%s\"}}", b->queue);
    const struct client_request r = {
        .method = "POST",
        .path = "/v1/bulk",
        .body = slice_of(body),
    };

    /* The job in hand when time was up goes back: a running one could not be deleted. */
    if (ask(b, "POST", "/v1/claim", "{\"worker\":\"load-0\",\"queues\":{},\"max\":0,\"all\":true}",
            err) != E_OK ||
        cli_call(b->cli, &r, &reply, err) != E_OK)
        return err->code;
    snprintf(path, sizeof(path), "/v1/bulk/%.20s?wait=30s", reply_text(reply.json, "id"));
    while (strcmp(reply_text(reply.json, "state"), "done") != 0) {
        client_reply_deinit(&reply);
        reply = CLIENT_REPLY_INIT;
        if (cli_get(b->cli, path, &reply, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

static enum err_code measure_part(struct bench *b, const struct part *p, struct err *err)
{
    CLEANUP(mem) struct load_report *report = mem_zalloc(sizeof(*report));
    struct err second = ERR_INIT;
    char path[128];

    snprintf(b->queue, sizeof(b->queue), "bench-%d-%s", (int)getpid(), p->name);
    snprintf(path, sizeof(path), "/v1/queues/%s", b->queue);
    if (ask(b, "PUT", path, "{\"description\":\"of waybill bench\"}", err) != E_OK)
        return err->code;
    struct load_plan plan = plan_of(b, p);
    enum err_code code = load_run(&load_http, &plan, report, err);

    if (code == E_OK)
        print_report(b, p, &plan, report);
    struct err *to = code == E_OK ? err : &second; /* the first error counts */

    if (delete_jobs(b, to) == E_OK)
        (void)ask(b, "DELETE", path, NULL, to);
    return err->code;
}

static int measure(struct bench *b, const char *url)
{
    struct err err = ERR_INIT;
    const char *host = strncmp(url, "http://", 7) == 0 ? url + 7 : url;

    if (load_address_parse(host, &b->address, &err) != E_OK)
        return cli_usage(b->cli, "%s", err.msg);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (measure_part(b, &parts[i], &err) != E_OK)
            return cli_fail(b->cli, &err);
    }
    return CLI_OK;
}

static int compare_us(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The time of a small synchronous write: every acknowledgement pays it, or a share of it. */
static enum err_code measure_sync(const char *dir, int64_t *ret_median_us, struct err *err)
{
    char page[4096] = {0};
    int64_t took[SYNCS];
    int fd = open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

    if (fd < 0)
        return err_errno(err, E_INVALID, "write in %s", dir);
    for (int i = 0; i < SYNCS; i++) {
        int64_t from_at = clock_mono_us();

        if (write(fd, page, sizeof(page)) != sizeof(page) || fdatasync(fd) < 0) {
            err_errno(err, E_FULL, "write in %s", dir);
            close(fd);
            return err->code;
        }
        took[i] = clock_mono_us() - from_at;
    }
    close(fd);
    qsort(took, SYNCS, sizeof(took[0]), compare_us);
    *ret_median_us = took[SYNCS / 2];
    return E_OK;
}

static int measure_own(void *ctx, const char *url, const char *unix_url)
{
    struct bench *b = ctx;
    struct err err = ERR_INIT;

    if (client_open(&(struct client_config){.url = unix_url}, &b->cli->client, &err) != E_OK)
        return cli_fail(b->cli, &err);
    return measure(b, url);
}

int cmd_bench(struct cli *cli)
{
    struct bench b = {.cli = cli};
    const char *url = args_text(&cli->args, "url");
    const char *dir = args_text(&cli->args, "dir");
    struct err err = ERR_INIT;
    int64_t sync_us = 0;
    int status = CLI_OK;

    if (url != NULL && dir != NULL)
        return cli_usage(cli, "--dir is for the temporary server and cannot be used with --url");
    if (url != NULL)
        return measure(&b, url);
    if (dir == NULL)
        dir = ".";
    if (bench_check_disk(dir, &err) != E_OK || measure_sync(dir, &sync_us, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    printf(cli->json ? "{\"part\":\"sync\",\"p50_ms\":%.3f}\n"
                     : "4 KiB to stable storage               p50 %8.3f ms\n",
           ms(sync_us));
    fflush(stdout);
    if (bench_with_server(dir, measure_own, &b, &status, &err) != E_OK)
        return cli_usage(cli, "%s", err.msg);
    return status;
}
