/*
 * Workers as people see them, and which queues they serve.
 *
 * The jobs that a worker runs are read from its claims in the store, not from its own reports.
 */
/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "engine/reads/internal.h"
#include "engine/reads/job_json.h"
#include "store/jobs/claims.h"
#include "store/jobs/jobs.h"

/* Longest silence of a live worker: it reports at least once per wait, and that is written late. */
#define WORKER_LIVES_US (90 * US_PER_S)

enum {
    SHOWN_JOBS = 100,   /* of one worker */
    LOOKED_AT = 50000,  /* jobs of all workers together */
    SHOWN_INSTANCE = 8, /* bytes; whoever has the whole can claim as the worker */
};

/* ---- names ---- */

struct slice view_worker_name(const struct query_view *v, int64_t id)
{
    for (size_t i = 0; i < v->workers.count; i++)
        if (v->workers.items[i].id == id)
            return v->workers.items[i].name;
    return slice_make(NULL, 0);
}

bool view_worker_lives(const struct query_view *v, const struct stored_worker *w)
{
    return !worker_has_left(w) && v->now_at - w->seen_at < WORKER_LIVES_US;
}

bool view_is_served(const struct query_view *v, struct slice queue)
{
    return names_find(&v->served, queue) != NULL;
}

const struct broken_queue *view_broken(const struct query_view *v, struct slice queue)
{
    return names_find(&v->broken, queue);
}

struct slice worker_place(const struct stored_worker *w)
{
    return w->host.size > 0 ? w->host : w->name;
}

static void note_broken(struct query_view *v, const struct stored_worker *w, struct slice queue,
                        struct slice text)
{
    struct broken_queue *b = arena_zalloc(&v->arena, sizeof(*b));
    struct broken_queue *first = names_find(&v->broken, queue);

    b->worker = w;
    b->text = text;
    if (first == NULL) {
        names_add(&v->broken, queue, b);
        return;
    }
    b->next = first->next;
    first->next = b;
}

static void gather_broken(struct query_view *v, const struct stored_worker *w, struct names *broken)
{
    struct slice key;
    struct slice text;

    if (w->broken.size == 0)
        return;
    for (struct jtext_iter it = jtext_members(w->broken); jtext_next_member(&it, &key, &text);) {
        struct slice name = jtext_text(key, &v->arena);

        names_add(broken, name, v);
        note_broken(v, w, name, jtext_text(text, &v->arena));
    }
}

static void gather_served(struct query_view *v, const struct stored_worker *w)
{
    CLEANUP(names) struct names broken = NAMES_INIT;
    struct slice key;
    struct slice slots;

    if (w->queues.size == 0 || !view_worker_lives(v, w))
        return;
    gather_broken(v, w, &broken);
    for (struct jtext_iter it = jtext_members(w->queues); jtext_next_member(&it, &key, &slots);) {
        struct slice name = jtext_text(key, &v->arena);

        if (names_find(&v->served, name) == NULL && names_find(&broken, name) == NULL)
            names_add(&v->served, name, v);
    }
}

static void take_worker(void *ctx, const struct stored_worker *w)
{
    struct query_view *v = ctx;
    struct stored_worker copy = *w;

    copy.name = arena_copy(&v->arena, w->name);
    copy.host = arena_copy(&v->arena, w->host);
    copy.version = arena_copy(&v->arena, w->version);
    copy.queues = arena_copy(&v->arena, w->queues);
    copy.broken = arena_copy(&v->arena, w->broken);
    copy.instance = arena_copy(&v->arena, w->instance);
    copy.boot = arena_copy(&v->arena, w->boot);
    VEC_PUSH(&v->workers, copy);
}

enum err_code view_take_workers(struct query_view *v, struct err *err)
{
    if (store_workers_load(v->store, take_worker, v, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < v->workers.count; i++)
        gather_served(v, &v->workers.items[i]);
    return E_OK;
}

/* ---- what they run ---- */

/* A claim of a worker, whose jobs may have ended. */
struct held_claim {
    struct stored_claim claim;
    struct held_claim *next; /* of the same worker, newer */
};

struct held_claims {
    struct arena *arena;
    struct map by_worker; /* worker to its first struct held_claim */
};

static void take_claim(void *ctx, const struct stored_claim *c)
{
    struct held_claims *held = ctx;
    struct held_claim *h = arena_zalloc(held->arena, sizeof(*h));
    int64_t *jobs = arena_array(held->arena, c->n_jobs, sizeof(*jobs));

    if (c->worker == 0)
        return;
    memcpy(jobs, c->jobs, c->n_jobs * sizeof(*jobs));
    h->claim = *c;
    h->claim.jobs = jobs;
    h->next = map_find(&held->by_worker, c->worker);
    map_put(&held->by_worker, c->worker, h);
}

/* The running jobs of one worker. */
struct running {
    struct query_view *view;
    struct buf *jobs; /* JSON objects, at most SHOWN_JOBS */
    int64_t count;
};

static enum err_code look_at_job(struct running *r, int64_t id, int64_t token, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    bool found = false;
    struct job j;

    if (store_job_load(r->view->store, id, LOAD_LIVE, &arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found || j.state != JOB_RUNNING || j.token != token || r->count++ >= SHOWN_JOBS)
        return E_OK;
    jtext_add_comma(r->jobs);
    buf_add_char(r->jobs, '{');
    jtext_add_id(r->jobs, "id", id);
    jtext_put_string(r->jobs, "queue", view_queue_name(r->view, j.queue));
    jtext_put_time(r->jobs, "started_at", j.started_at);
    buf_add_char(r->jobs, '}');
    return E_OK;
}

/* ---- the list ---- */

static void add_text(struct buf *b, const char *key, struct slice text)
{
    if (text.size > 0)
        jtext_put_string(b, key, text);
}

static void add_number(struct buf *b, const char *key, int64_t n)
{
    if (n != 0)
        jtext_put_int(b, key, n);
}

static void add_worker(const struct query_view *v, struct buf *b, const struct stored_worker *w)
{
    add_text(b, "name", w->name);
    add_text(b, "host", w->host);
    add_number(b, "pid", w->pid);
    add_text(b, "version", w->version);
    jtext_put_raw(b, "queues", w->queues.size > 0 ? w->queues : SLICE("{}"));
    add_number(b, "slots", w->slots);
    jtext_put_raw(b, "broken", w->broken.size > 0 ? w->broken : SLICE("{}"));
    jtext_put_time(b, "seen_at", w->seen_at);
    if (w->instance.size > SHOWN_INSTANCE) {
        add_text(b, "instance", slice_make(w->instance.data, SHOWN_INSTANCE));
        jtext_put_time(b, "since", w->since_at);
    }
    jtext_put_bool(b, "live", view_worker_lives(v, w));
    if (worker_has_left(w))
        jtext_put_bool(b, "stopped", true);
}

/* `left`: jobs that may still be looked at. */
static enum err_code add_running(struct query_view *v, struct buf *b, const struct held_claim *held,
                                 size_t *left, struct err *err)
{
    CLEANUP(buf) struct buf jobs = BUF_INIT(OP_REPLY_MAX);
    struct running r = {.view = v, .jobs = &jobs};

    for (; held != NULL; held = held->next)
        for (size_t i = 0; i<held->claim.n_jobs && * left> 0; i++, (*left)--)
            if (look_at_job(&r, held->claim.jobs[i], held->claim.token, err) != E_OK)
                return err->code;
    jtext_put_int(b, "running", r.count);
    jtext_add_key(b, "jobs");
    buf_add_char(b, '[');
    buf_add_slice(b, buf_slice(&jobs));
    buf_add_char(b, ']');
    return E_OK;
}

static enum err_code add_workers(struct query_view *v, struct buf *b, const struct map *claims,
                                 struct err *err)
{
    size_t left = LOOKED_AT;

    for (size_t i = 0; i < v->workers.count; i++) {
        const struct stored_worker *w = &v->workers.items[i];

        jtext_add_comma(b);
        buf_add_char(b, '{');
        add_worker(v, b, w);
        if (add_running(v, b, map_find(claims, w->id), &left, err) != E_OK)
            return err->code;
        buf_add_char(b, '}');
    }
    return E_OK;
}

enum err_code query_workers(struct query_view *v, struct query *q, struct err *err)
{
    struct held_claims held = {.arena = &v->arena, .by_worker = MAP_INIT};
    enum err_code code = store_claims_load(v->store, take_claim, &held, err);

    buf_add_str(&q->reply, "{\"workers\":[");
    if (code == E_OK)
        code = add_workers(v, &q->reply, &held.by_worker, err);
    buf_add_str(&q->reply, "]}");
    map_deinit(&held.by_worker);
    return code;
}
