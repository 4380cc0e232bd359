/* SPDX-License-Identifier: MIT */
#include "worker/filters/desk.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "base/text/utf8.h"
#include "worker/filters/judge.h"
#include "worker/internal.h"

#define WAIT_TEXT "50s"
#define PAUSE_FIRST_US (200 * US_PER_MS)
#define PAUSE_CAP_US (5 * US_PER_S)
#define VERDICTS_MAX ((size_t)24 << 20)

enum { JOBS_MAX = 16, TEXT_MAX = 300, ASK_PATIENCE_S = 110 };

void filter_desk_init(struct worker *w)
{
    w->filters = (struct filter_desk){.verdicts = BUF_INIT(VERDICTS_MAX)};
}

/* ---- jobs ---- */

static void job_free(struct judged_job *job)
{
    buf_deinit(&job->patch);
    free(job->queue);
    free(job->id);
    free(job->json);
    free(job);
}

static void forget(struct worker *w, struct judged_job *job)
{
    struct judged_job **at = &w->filters.jobs;

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    w->filters.n_jobs--;
    job_free(job);
}

static void take_job(struct worker *w, struct slice json)
{
    struct judged_job *job = mem_zalloc(sizeof(*job));
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct judged_job **at = &w->filters.jobs;
    struct slice id = SLICE("\"\"");
    struct slice queue = SLICE("\"\"");

    (void)jtext_find(json, "id", &id);
    (void)jtext_find(json, "queue", &queue);
    job->id = mem_strdup(arena_strdup(&arena, jtext_text(id, &arena)));
    job->queue = mem_strdup(arena_strdup(&arena, jtext_text(queue, &arena)));
    job->json = mem_strndup(json.data, json.size);
    job->patch = BUF_INIT(JOB_BYTES_MAX);
    while (*at != NULL)
        at = &(*at)->next;
    *at = job;
    w->filters.n_jobs++;
}

/* ---- verdicts ---- */

static void tell(struct worker *w, struct judged_job *job, const char *verdict, struct slice text)
{
    struct buf *b = &w->filters.verdicts;

    if (b->size > 0)
        buf_add_char(b, ',');
    buf_add_str(b, "{\"id\":");
    jtext_add_string(b, slice_of(job->id));
    buf_addf(b, ",\"verdict\":\"%s\"", verdict);
    if (job->patch.size > 0 && strcmp(verdict, "keep") == 0) {
        buf_add_str(b, ",\"params\":");
        buf_add_slice(b, buf_slice(&job->patch));
    }
    if (text.size > 0) {
        buf_add_str(b, ",\"text\":");
        jtext_add_string(b, utf8_valid(text) ? utf8_cut(text, TEXT_MAX)
                                             : SLICE("(its reason is not UTF-8)"));
    }
    buf_add_char(b, '}');
    forget(w, job);
    worker_wake_at(w, 0);
}

/* The next filter gets the params as this one has changed them. */
static void merge(struct judged_job *job, struct slice patch)
{
    json_t *whole = json_loads(job->json, 0, NULL);
    json_t *all = job->patch.size > 0 ? json_loadb(job->patch.data, job->patch.size, 0, NULL)
                                      : json_object();
    json_t *more = json_loadb(patch.data, patch.size, 0, NULL);
    CLEANUP(mem) char *text = NULL;

    json_object_update(all, more);
    json_object_update(json_object_get(whole, "params"), more);
    buf_clear(&job->patch);
    text = json_dumps(all, JSON_COMPACT);
    buf_add_str(&job->patch, text == NULL ? "{}" : text);
    free(job->json);
    job->json = json_dumps(whole, JSON_COMPACT);
    json_decref(whole);
    json_decref(all);
    json_decref(more);
}

void filter_desk_judged(struct worker *w, struct judge *j, enum judge_says says, struct slice text)
{
    struct judged_job *job = j->job;

    j->job = NULL;
    job->at = NULL;
    switch (says) {
    case JUDGE_KEEP:
        if (text.size > 0)
            merge(job, text);
        job->place++;
        worker_wake_at(w, 0);
        return;
    case JUDGE_DROP: tell(w, job, "drop", text); return;
    case JUDGE_FAILED: tell(w, job, "failed", text); return;
    }
}

/* ---- judging ---- */

static struct judge *judge_of(struct worker *w, const struct served_queue *q, size_t place)
{
    for (struct judge *j = w->filters.judges; j != NULL; j = j->next)
        if (!j->dying && j->place == place && strcmp(j->queue, q->name) == 0) {
            if (strcmp(j->json, q->json) == 0)
                return j;
            if (j->job == NULL)
                judge_kill(j); /* the queue was defined anew */
        }
    return NULL;
}

/* Brings the job to its next filter, if that is free; it may be over with that. */
static void judge_next(struct worker *w, struct judged_job *job)
{
    struct served_queue *q = served_queues_find(&w->served, slice_of(job->queue));
    struct err err = ERR_INIT;

    if (q == NULL) {
        tell(w, job, "failed", SLICE("its worker does not serve the queue any more"));
        return;
    }
    const struct filters *all = &q->def.filters;

    while (job->place < all->count && all->items[job->place].kind != FILTER_COMMAND)
        job->place++;
    if (job->place >= all->count) {
        tell(w, job, "keep", slice_make(NULL, 0));
        return;
    }
    struct judge *j = judge_of(w, q, job->place);

    if (j == NULL) {
        if (judge_start(w, q, job->place, &j, &err) != E_OK) {
            tell(w, job, "failed", slice_of(err.msg));
            return;
        }
        j->next = w->filters.judges;
        w->filters.judges = j;
    }
    if (j->job == NULL)
        judge_ask(j, job);
}

static int64_t look_at_judges(struct worker *w, int64_t now)
{
    int64_t at = TIME_NEVER;

    for (struct judge **j = &w->filters.judges; *j != NULL;) {
        struct judge *next = (*j)->next;
        int64_t look = TIME_NEVER;

        if (judge_pass(*j, now, &look)) {
            *j = next;
            continue;
        }
        at = look < at ? look : at;
        j = &(*j)->next;
    }
    return at;
}

/* ---- requests ---- */

static void pause_desk(struct worker *w)
{
    struct filter_desk *d = &w->filters;

    d->pause_us = d->pause_us == 0 ? PAUSE_FIRST_US : d->pause_us * 2;
    if (d->pause_us > PAUSE_CAP_US)
        d->pause_us = PAUSE_CAP_US;
    d->resume_at = worker_now(w) + d->pause_us;
    worker_wake_at(w, d->resume_at);
}

static void on_asked(void *ctx, const struct async_reply *reply)
{
    struct worker *w = ctx;
    struct err err = ERR_INIT;
    struct slice value;
    struct slice jobs;
    struct slice job;

    w->filters.ask = NULL;
    worker_wake_at(w, 0);
    if (reply->err.code != E_OK || jtext_check(reply->text, &value, &err) != E_OK ||
        jtext_type_of(value) != JTEXT_OBJECT || !jtext_find(value, "jobs", &jobs)) {
        pause_desk(w);
        return;
    }
    w->filters.pause_us = 0;
    for (struct jtext_iter it = jtext_items(jobs); jtext_next_item(&it, &job);)
        take_job(w, job);
}

/* A verdict that is lost is not sent again: the job is given to somebody again. */
static void on_told(void *ctx, const struct async_reply *reply)
{
    struct worker *w = ctx;

    w->filters.tell = NULL;
    worker_wake_at(w, 0);
    if (reply->err.code == E_OK)
        return;
    log_warn("verdicts of filters were not taken: %s", reply->err.msg);
    pause_desk(w);
}

/* The served queues that have a command filter; false: there are none. */
static bool add_queues(const struct worker *w, struct buf *b)
{
    bool any = false;

    buf_add_str(b, "\"queues\":[");
    for (size_t i = 0; i < w->served.items.count; i++) {
        const struct served_queue *q = w->served.items.items[i];

        if (q->gone || !filters_run_program(&q->def.filters))
            continue;
        jtext_add_comma(b);
        jtext_add_string(b, slice_of(q->name));
        any = true;
    }
    buf_add_char(b, ']');
    return any;
}

static void send_ask(struct worker *w)
{
    CLEANUP(buf) struct buf body = BUF_INIT(1 << 20);

    buf_add_char(&body, '{');
    if (!add_queues(w, &body))
        return;
    buf_addf(&body, ",\"max\":%zu,\"wait\":\"" WAIT_TEXT "\"}", JOBS_MAX - w->filters.n_jobs);
    w->filters.ask = async_client_send(w->client, &(struct async_call){.method = "POST",
                                                                       .path = "/v1/filter",
                                                                       .body = buf_slice(&body),
                                                                       .patience_s = ASK_PATIENCE_S,
                                                                       .done = on_asked,
                                                                       .ctx = w});
}

static void send_verdicts(struct worker *w)
{
    CLEANUP(buf) struct buf body = BUF_INIT(VERDICTS_MAX + 100);

    buf_add_str(&body, "{\"verdicts\":[");
    buf_add_slice(&body, buf_slice(&w->filters.verdicts));
    buf_add_str(&body, "]}");
    buf_clear(&w->filters.verdicts);
    w->filters.tell = async_client_send(w->client, &(struct async_call){.method = "POST",
                                                                        .path = "/v1/filter",
                                                                        .body = buf_slice(&body),
                                                                        .done = on_told,
                                                                        .ctx = w});
}

/* ---- once a pass ---- */

int64_t filter_desk_pass(struct worker *w, int64_t now)
{
    struct filter_desk *d = &w->filters;
    struct judged_job *next;

    for (struct judged_job *job = d->jobs; job != NULL; job = next) {
        next = job->next;
        if (job->at == NULL)
            judge_next(w, job);
    }
    int64_t at = look_at_judges(w, now);

    if (d->resume_at > now)
        return d->resume_at < at ? d->resume_at : at;
    if (d->verdicts.size > 0 && d->tell == NULL)
        send_verdicts(w);
    if (d->ask == NULL && d->n_jobs < JOBS_MAX && w->served.known && w->state == WORKER_UP)
        send_ask(w);
    return at;
}

bool filter_desk_end(struct worker *w)
{
    struct filter_desk *d = &w->filters;

    if (d->ask != NULL)
        async_client_cancel(STEAL(d->ask));
    while (d->jobs != NULL) {
        if (d->jobs->at != NULL)
            d->jobs->at->job = NULL;
        forget(w, d->jobs);
    }
    for (struct judge *j = d->judges; j != NULL; j = j->next)
        judge_kill(j);
    return d->judges == NULL;
}

void filter_desk_deinit(struct worker *w)
{
    struct filter_desk *d = &w->filters;

    if (d->ask != NULL)
        async_client_cancel(STEAL(d->ask));
    if (d->tell != NULL)
        async_client_cancel(STEAL(d->tell));
    while (d->jobs != NULL) {
        if (d->jobs->at != NULL)
            d->jobs->at->job = NULL;
        forget(w, d->jobs);
    }
    while (d->judges != NULL) {
        struct judge *j = d->judges;

        d->judges = j->next;
        judge_free(j);
    }
    buf_deinit(&d->verdicts);
}
