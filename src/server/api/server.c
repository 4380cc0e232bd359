/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/process/server_state.h"
#include "server/request/metrics.h"
#include "server/request/reply.h"
#include "server/request/request.h"

/* ---- health ---- */

static enum err_code health_show(struct request *r, struct err *err)
{
    (void)err;
    buf_add_str(&r->reply, "ok\n");
    r->type = TYPE_TEXT;
    request_answer(r, 200);
    return E_OK;
}

static enum err_code ready_show(struct request *r, struct err *err)
{
    const struct server *s = r->server;

    if (s->is_stopping || s->http.stopping)
        return err_set(err, E_UNAVAILABLE, "the server is stopping");
    if (!s->is_ready)
        return err_set(err, E_UNAVAILABLE, "the server is starting");
    struct err moved = ERR_INIT;
    char damage[DAMAGE_TEXT_SIZE];

    (void)(store_in_place(s->store, &moved) != E_OK);
    if (damage_find(&r->server->damage, damage))
        return err_set(err, E_UNAVAILABLE,
                       "the store is damaged: %.150s: see the log; 'waybill check --store --full'",
                       damage);
    if (store_is_away(s->store))
        return err_set(err, E_UNAVAILABLE, "no connection to the database %s", s->store_url);
    if (atomic_load(&s->engine.stats->last_error_at) != 0)
        return err_set(err, E_UNAVAILABLE, "the last commit failed: see the log");
    return health_show(r, err);
}

/* ---- what needs the store's facts ---- */

#define PEERS_MAX ((size_t)1 << 20)

struct facts {
    struct store_facts facts;
    struct buf peers; /* JSON objects with commas between them: the servers of a shared store */
    struct buf signals, joins, schedules; /* the first of them, as they are listed */
    const char *self;                     /* our name among them */
    struct err err;
};

/* A server that is gone and whose claims were taken over is not listed. */
static void add_peer(void *ctx, const struct store_peer *p)
{
    struct facts *f = ctx;
    struct buf *out = &f->peers;

    if (p->alive_until_at == 0)
        return;
    if (out->size > 0)
        buf_add_char(out, ',');
    buf_addf(out, "{\"node\":%" PRIu32 ",\"name\":", p->node);
    jtext_add_string(out, p->name);
    jtext_put_string(out, "host", p->host);
    buf_addf(out, ",\"pid\":%" PRId64 ",\"version\":", p->pid);
    jtext_add_string(out, p->version);
    jtext_put_string(out, "url", p->url);
    jtext_put_time(out, "joined_at", p->joined_at);
    jtext_put_time(out, "alive_until_at", p->alive_until_at);
    jtext_put_bool(out, "self", slice_is(p->name, f->self));
    buf_add_char(out, '}');
}

static void read_facts(struct reading *reading, struct store *store)
{
    struct facts *f = reading->query.owner;

    if (store_facts(store, &f->facts, &f->err) != E_OK)
        f->facts = (struct store_facts){.bytes = 0};
}

static void read_facts_and_peers(struct reading *reading, struct store *store)
{
    struct facts *f = reading->query.owner;

    read_facts(reading, store);
    if (f->err.code == E_OK && store_is_shared(store) &&
        store_servers_list(store, add_peer, f, &f->err) != E_OK)
        buf_clear(&f->peers);
}

/* The first LIST_LIMIT_MAX of them: more would make too many metrics. */
static void read_list(struct store *store, enum query_kind kind, struct buf *ret_list,
                      struct err *err)
{
    struct query q;

    query_init(&q, kind);
    q.limit = LIST_LIMIT_MAX;
    query_run(store, &q);
    if (q.err.code != E_OK)
        *err = q.err;
    else
        buf_add_slice(ret_list, buf_slice(&q.reply));
    query_deinit(&q);
}

static void read_facts_and_counts(struct reading *reading, struct store *store)
{
    struct facts *f = reading->query.owner;

    read_facts(reading, store);
    query_run(store, &reading->query);
    if (f->err.code == E_OK && reading->query.err.code == E_OK)
        read_list(store, QUERY_SIGNALS, &f->signals, &f->err);
    if (f->err.code == E_OK && reading->query.err.code == E_OK)
        read_list(store, QUERY_JOINS, &f->joins, &f->err);
    if (f->err.code == E_OK && reading->query.err.code == E_OK)
        read_list(store, QUERY_SCHEDULES, &f->schedules, &f->err);
}

static void free_facts(struct request *r)
{
    struct facts *f = r->state;

    buf_deinit(&f->peers);
    buf_deinit(&f->signals);
    buf_deinit(&f->joins);
    buf_deinit(&f->schedules);
    free(f);
}

/* Of the data directory; the disk of a shared store's database is unknown. */
static int64_t disk_free(const struct server *s)
{
    struct statvfs vfs;

    return fstatvfs(s->data_fd, &vfs) < 0 ? 0 : (int64_t)vfs.f_bavail * (int64_t)vfs.f_frsize;
}

static void read_with_facts(struct request *r,
                            void (*read)(struct reading *reading, struct store *store),
                            request_fn *then)
{
    struct facts *f = mem_zalloc(sizeof(*f));

    f->peers = BUF_INIT(PEERS_MAX);
    f->signals = BUF_INIT(OP_REPLY_MAX);
    f->joins = BUF_INIT(OP_REPLY_MAX);
    f->schedules = BUF_INIT(OP_REPLY_MAX);
    f->self = r->server->member.name;
    request_query(r, QUERY_COUNTS)->owner = f;
    r->state = f;
    r->cleanup = free_facts;
    request_read(r, read, then);
}

/* ---- GET /v1/server ---- */

static const char *state_name(const struct server *s)
{
    if (s->is_stopping)
        return "stopping";
    return s->is_ready ? "ready" : "starting";
}

static void write_embedded(struct buf *out, const struct store_facts *f)
{
    buf_add_str(out, ",\"store\":{\"kind\":\"embedded\",\"path\":");
    jtext_add_string(out, slice_of(f->path));
    buf_addf(out,
             ",\"version\":%d,\"bytes\":%" PRId64 ",\"wal_bytes\":%" PRId64
             ",\"free_bytes\":%" PRId64 "},\"disk_free\":%" PRId64,
             f->version, f->bytes, f->wal_bytes, f->free_bytes, f->disk_free);
}

/* While the database is unavailable, shows only what is known without it. */
static void write_shared(struct buf *out, const struct server *s, const struct facts *f)
{
    bool up = f->err.code == E_OK;

    buf_add_str(out, ",\"store\":{\"kind\":\"postgresql\",\"url\":");
    jtext_add_string(out, slice_of(s->store_url));
    jtext_put_bool(out, "up", up);
    if (up)
        buf_addf(out, ",\"version\":%d,\"bytes\":%" PRId64, f->facts.version, f->facts.bytes);
    buf_addf(out, "},\"disk_free\":%" PRId64, f->facts.disk_free);
    if (up)
        buf_addf(out, ",\"servers\":[%s]", buf_text(&f->peers));
}

static void write_server(struct buf *out, const struct server *s, const struct facts *f)
{
    buf_addf(out,
             "{\"version\":\"%s\",\"pid\":%ld,\"state\":\"%s\",\"started_at\":", WAYBILL_VERSION,
             (long)getpid(), state_name(s));
    jtext_add_time(out, s->started_at);
    buf_addf(out,
             ",\"uptime\":%" PRId64 ",\"url\":", (s->http.now_at - s->started_mono_at) / US_PER_S);
    jtext_add_string(out, slice_of(s->url));
    buf_add_str(out, ",\"listen\":");
    jtext_add_string(out, slice_of(s->listen));
    buf_add_str(out, ",\"socket\":");
    jtext_add_string(out, slice_of(s->socket));
    buf_addf(out, ",\"connections\":%u,\"waiting\":%llu", http_connections(&s->http),
             (unsigned long long)atomic_load(&s->engine.stats->waiting));
    buf_add_str(out, ",\"worker\":");
    worker_child_write(&s->worker, out);
    if (s->store_url == NULL)
        write_embedded(out, &f->facts);
    else
        write_shared(out, s, f);
    buf_add_char(out, '}');
}

/* The engine's figures are gone when the server closes.  An unavailable database must not hide
 * them: then they are shown without those of the store. */
static void judge_facts(struct request *r, struct facts *f, const struct err *err)
{
    if (r->server->store_url != NULL)
        f->facts.disk_free = disk_free(r->server);
    if (err->code != E_UNAVAILABLE || r->server->store_url == NULL)
        r->err = *err;
    if (r->err.code == E_OK && r->server->http.no_changes)
        (void)err_set(&r->err, E_UNAVAILABLE, "the server is stopping");
}

static void answer_server(struct request *r)
{
    struct facts *f = r->state;

    judge_facts(r, f, &f->err);
    if (r->err.code == E_OK)
        write_server(&r->reply, r->server, f);
    request_answer(r, r->err.code == E_OK ? 200 : 0);
}

static enum err_code server_show(struct request *r, struct err *err)
{
    (void)err;
    read_with_facts(r, read_facts_and_peers, answer_server);
    return E_OK;
}

/* ---- GET /metrics ---- */

static void answer_metrics(struct request *r)
{
    struct facts *f = r->state;
    const struct query *q = &r->reading.query;

    const struct err *err = f->err.code != E_OK ? &f->err : &q->err;

    judge_facts(r, f, err);
    if (r->err.code == E_OK) {
        struct metrics_of_store store = {.facts = &f->facts,
                                         .counts = buf_slice(&q->reply),
                                         .signals = buf_slice(&f->signals),
                                         .joins = buf_slice(&f->joins),
                                         .schedules = buf_slice(&f->schedules)};

        metrics_write(&r->reply, r->server, err->code == E_OK ? &store : NULL);
    }
    r->type = TYPE_METRICS;
    request_answer(r, r->err.code == E_OK ? 200 : 0);
}

static enum err_code metrics_show(struct request *r, struct err *err)
{
    (void)err;
    read_with_facts(r, read_facts_and_counts, answer_metrics);
    return E_OK;
}

/* ---- GET /v1/openapi.json ---- */

static enum err_code openapi_show(struct request *r, struct err *err)
{
    (void)err;
    openapi_write(&r->reply, slice_of(r->server->url));
    request_answer(r, 200);
    return E_OK;
}

/* ---- routes ---- */

static const struct route server_rows[] = {
    {
        ROUTE_VIEW("/v1/counts", QUERY_COUNTS),
        .gives = "Counts",
        .help = "Counts of jobs by queue and state.",
    },
    {
        ROUTE("GET", "/v1/server", RIGHT_USER),
        .handle = server_show,
        .gives = "Server",
        .help = "Shows version, uptime, addresses and store.",
    },
    {
        ROUTE("GET", "/v1/events", RIGHT_USER),
        .handle = events_subscribe,
        .type = TYPE_EVENTS,
        .params = {{"queue", "string", "Only this queue."}},
        .errors = {E_TOO_MANY},
        .help = "Streams events of jobs and queues as server-sent events.",
    },
    {
        ROUTE("GET", "/v1/openapi.json", RIGHT_USER),
        .handle = openapi_show,
        .gives = "Anything",
        .help = "This description.",
    },
    {
        ROUTE("GET", "/metrics", RIGHT_USER),
        .handle = metrics_show,
        .type = TYPE_METRICS,
        .help = "Metrics in the text format of Prometheus.",
    },
    {
        ROUTE("GET", "/healthz", RIGHT_OPEN),
        .handle = health_show,
        .type = TYPE_TEXT,
        .help = "The process is running.",
    },
    {
        ROUTE("GET", "/readyz", RIGHT_OPEN),
        .handle = ready_show,
        .type = TYPE_TEXT,
        .help =
            "The server can take requests; 503 while it starts or stops, or after a failed commit.",
    },
};

const struct route_table server_routes = ROUTE_TABLE(server_rows);
