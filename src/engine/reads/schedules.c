/*
 * Schedules, as people see them.
 */
/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/clock/firing.h"
#include "core/clock/schedule_def.h"
#include "core/object/quote.h"
#include "engine/clock/fire.h"
#include "engine/clock/zone_read.h"
#include "engine/reads/internal.h"
#include "engine/reads/job_json.h"
#include "store/jobs/jobs.h"

/* The members of its definition are added to its own. */
static void add_schedule(struct buf *b, const struct stored_schedule *s)
{
    jtext_put_string(b, "name", s->name);
    buf_add_char(b, ',');
    buf_add(b, s->definition.data + 1, s->definition.size - 2);
    jtext_put_bool(b, "paused", s->paused);
    jtext_put_time(b, "next_at", s->next_at);
    if (s->job != 0)
        jtext_add_id(b, "job", s->job);
    else
        jtext_put_raw(b, "job", SLICE("null"));
    jtext_put_int(b, "fired", s->fired);
    jtext_put_int(b, "skipped", s->skipped);
    jtext_put_int(b, "missed", s->missed);
}

struct page {
    struct query_view *view;
    struct buf *out;
    size_t left;
    bool more;
    struct slice last;
};

static void list_schedule(void *ctx, const struct stored_schedule *s)
{
    struct page *p = ctx;

    if (p->left == 0) {
        p->more = true;
        return;
    }
    p->left--;
    p->last = arena_copy(&p->view->arena, s->name);
    jtext_add_comma(p->out);
    buf_add_char(p->out, '{');
    add_schedule(p->out, s);
    buf_add_char(p->out, '}');
}

enum err_code query_schedules(struct query_view *v, struct query *q, struct err *err)
{
    struct page p = {.view = v, .out = &q->reply, .left = (size_t)q->limit};

    buf_add_str(&q->reply, "{\"schedules\":[");
    if (store_schedules_list(v->store, q->cursor, p.left + 1, list_schedule, &p, err) != E_OK)
        return err->code;
    buf_add_str(&q->reply, "],\"cursor\":");
    if (p.more)
        jtext_add_string(&q->reply, p.last);
    else
        buf_add_str(&q->reply, "null");
    buf_add_char(&q->reply, '}');
    return E_OK;
}

/* ---- one of them ---- */

/* The next times, of a paused one those that it would have. */
static enum err_code add_next(struct query_view *v, struct query *q,
                              const struct stored_schedule *s, struct err *err)
{
    CLEANUP(zone) struct zone zone = ZONE_UTC;
    struct schedule_def def;
    int64_t at = q->from_at;

    if (at == 0)
        at = s->last_at > q->now_at ? s->last_at : q->now_at;
    if (schedule_def_parse(s->definition, &v->arena, &def, NULL, NULL, err) != E_OK ||
        zone_read(def.zone, &zone, err) != E_OK)
        return err->code;
    buf_add_str(&q->reply, ",\"next\":[");
    for (int i = 0; i < q->limit; i++) {
        at = schedule_next(&def, &zone, at);
        if (at == TIME_NEVER)
            break;
        jtext_add_comma(&q->reply);
        jtext_add_time(&q->reply, at);
    }
    buf_add_char(&q->reply, ']');
    return E_OK;
}

struct entries {
    VEC(struct stored_firing) items;
    struct arena *arena;
};

static void take_entry(void *ctx, const struct stored_firing *f)
{
    struct entries *x = ctx;
    struct stored_firing copy = *f;

    copy.why = arena_copy(x->arena, f->why);
    VEC_PUSH(&x->items, copy);
}

static enum err_code add_job(struct query_view *v, struct buf *b, int64_t id, struct err *err)
{
    bool found = false;
    struct job j;

    if (id == 0) {
        jtext_put_raw(b, "job", SLICE("null"));
        return E_OK;
    }
    jtext_add_id(b, "job", id);
    if (store_job_load(v->store, id, LOAD_ALL, &v->arena, &j, &found, err) != E_OK)
        return err->code;
    if (found)
        jtext_put_string(b, "job_state", slice_of(job_state_name(j.state)));
    return E_OK;
}

static enum err_code add_entries(struct query_view *v, struct query *q, const struct entries *x,
                                 struct err *err)
{
    struct buf *b = &q->reply;

    buf_add_str(b, ",\"firings\":[");
    for (size_t i = 0; i < x->items.count; i++) {
        const struct stored_firing *f = &x->items.items[i];

        jtext_add_comma(b);
        buf_add_char(b, '{');
        jtext_put_time(b, "nominal", f->nominal_at);
        if (f->count > 1) {
            jtext_put_time(b, "until", f->until_at);
            jtext_put_int(b, "count", f->count);
        }
        jtext_put_time(b, "at", f->at);
        if (add_job(v, b, f->job, err) != E_OK)
            return err->code;
        jtext_put_string(b, "state", slice_of(firing_state_names[f->state]));
        jtext_put_string(b, "why", f->why);
        buf_add_char(b, '}');
    }
    buf_add_char(b, ']');
    return E_OK;
}

enum err_code query_schedule(struct query_view *v, struct query *q, struct err *err)
{
    struct entries entries = {.items = VEC_INIT, .arena = &v->arena};
    struct stored_schedule s;
    struct quote quote;

    if (store_schedule_find(v->store, q->name, &v->arena, &s, err) != E_OK)
        return err->code;
    if (s.id == 0)
        return err_set(err, E_NOT_FOUND, "there is no schedule %s", quote_text(&quote, q->name));
    buf_add_char(&q->reply, '{');
    add_schedule(&q->reply, &s);
    if (add_next(v, q, &s, err) != E_OK)
        return err->code;
    enum err_code code = store_firings_list(v->store, s.id, FIRINGS_KEPT, take_entry, &entries,
                                            err);

    if (code == E_OK)
        code = add_entries(v, q, &entries, err);
    buf_add_char(&q->reply, '}');
    VEC_DEINIT(&entries.items);
    return code;
}
