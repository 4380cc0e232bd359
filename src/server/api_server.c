/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include <microhttpd.h>

#include "base/clock.h"
#include "base/json.h"
#include "server/api.h"
#include "server/metrics.h"
#include "server/parts.h"
#include "server/reply.h"
#include "server/request.h"

/* ---- health ---- */

enum err_code health_show(struct request *r, struct err *err)
{
    (void)err;
    buf_add_str(&r->reply, "ok\n");
    r->type = TYPE_TEXT;
    request_answer(r, MHD_HTTP_OK);
    return E_OK;
}

enum err_code ready_show(struct request *r, struct err *err)
{
    const struct server *s = r->server;

    if (s->is_stopping || s->http.stopping)
        return err_set(err, E_UNAVAILABLE, "the server is stopping");
    if (!s->is_ready)
        return err_set(err, E_UNAVAILABLE, "the server is starting");
    if (s->is_damaged)
        return err_set(err, E_UNAVAILABLE,
                       "the check of the store has found damage: see the log, run 'waybill check'");
    if (atomic_load(&s->engine.stats->last_error_at) != 0)
        return err_set(err, E_UNAVAILABLE, "the last commit failed: see the log");
    return health_show(r, err);
}

/* ---- what needs the store's facts ---- */

struct facts {
    struct store_facts facts;
    struct err err;
};

static void read_facts(struct reading *reading, struct store *store)
{
    struct facts *f = reading->query.owner;

    if (store_facts(store, &f->facts, &f->err) != E_OK)
        f->facts = (struct store_facts){.bytes = 0};
}

static void read_facts_and_counts(struct reading *reading, struct store *store)
{
    read_facts(reading, store);
    query_run(store, &reading->query);
}

static void free_facts(struct request *r)
{
    free(r->state);
}

static void read_with_facts(struct request *r,
                            void (*read)(struct reading *reading, struct store *store),
                            request_fn *then)
{
    struct facts *f = mem_zalloc(sizeof(*f));

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

static void write_store(struct buf *out, const struct store_facts *f)
{
    buf_add_str(out, ",\"store\":{\"path\":");
    json_add_string(out, slice_of(f->path));
    buf_addf(out,
             ",\"version\":%d,\"bytes\":%" PRId64 ",\"wal_bytes\":%" PRId64
             ",\"free_bytes\":%" PRId64 "},\"disk_free\":%" PRId64,
             f->version, f->bytes, f->wal_bytes, f->free_bytes, f->disk_free);
}

static void write_server(struct buf *out, const struct server *s, const struct store_facts *facts)
{
    buf_addf(out,
             "{\"version\":\"%s\",\"pid\":%ld,\"state\":\"%s\",\"started_at\":", WAYBILL_VERSION,
             (long)getpid(), state_name(s));
    json_add_time(out, s->started_at);
    buf_addf(out,
             ",\"uptime\":%" PRId64 ",\"url\":", (s->http.now_at - s->started_mono_at) / US_PER_S);
    json_add_string(out, slice_of(s->url));
    buf_add_str(out, ",\"listen\":");
    json_add_string(out, slice_of(s->listen));
    buf_add_str(out, ",\"socket\":");
    json_add_string(out, slice_of(s->socket));
    buf_addf(out, ",\"connections\":%u,\"waiting\":%llu", http_connections(&s->http),
             (unsigned long long)atomic_load(&s->engine.stats->waiting));
    buf_add_str(out, ",\"worker\":");
    worker_child_write(&s->worker, out);
    write_store(out, facts);
    buf_add_char(out, '}');
}

/* The engine's figures are gone when the server closes. */
static void judge_facts(struct request *r, const struct err *err)
{
    r->err = *err;
    if (r->err.code == E_OK && r->server->http.no_tasks)
        (void)err_set(&r->err, E_UNAVAILABLE, "the server is stopping");
}

static void answer_server(struct request *r)
{
    const struct facts *f = r->state;

    judge_facts(r, &f->err);
    if (r->err.code == E_OK)
        write_server(&r->reply, r->server, &f->facts);
    request_answer(r, r->err.code == E_OK ? MHD_HTTP_OK : 0);
}

enum err_code server_show(struct request *r, struct err *err)
{
    (void)err;
    read_with_facts(r, read_facts, answer_server);
    return E_OK;
}

/* ---- GET /metrics ---- */

static void answer_metrics(struct request *r)
{
    const struct facts *f = r->state;
    const struct query *q = &r->reading.query;

    judge_facts(r, f->err.code != E_OK ? &f->err : &q->err);
    if (r->err.code == E_OK)
        metrics_write(&r->reply, r->server, buf_slice(&q->reply), &f->facts);
    r->type = TYPE_METRICS;
    request_answer(r, r->err.code == E_OK ? MHD_HTTP_OK : 0);
}

enum err_code metrics_show(struct request *r, struct err *err)
{
    (void)err;
    read_with_facts(r, read_facts_and_counts, answer_metrics);
    return E_OK;
}

/* ---- GET /v1/openapi.json ---- */

enum err_code openapi_show(struct request *r, struct err *err)
{
    (void)err;
    openapi_write(&r->reply, slice_of(r->server->url));
    request_answer(r, MHD_HTTP_OK);
    return E_OK;
}
