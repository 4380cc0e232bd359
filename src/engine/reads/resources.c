/*
 * Resources, as people see them.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/gate/gate.h"
#include "core/gate/lane_def.h"
#include "core/gate/needs.h"
#include "core/gate/window.h"
#include "core/object/quote.h"
#include "engine/gates/gate.h"
#include "engine/reads/internal.h"
#include "engine/reads/job_json.h"
#include "store/gates/gates.h"
#include "store/meta.h"

enum { HOLDERS_SHOWN = 100 };

/* ---- one resource ---- */

struct shown {
    struct resource resource;
    struct window window;
    struct gate_state state;
};

static void shown_deinit(struct shown *s)
{
    resource_close(&s->resource);
    window_deinit(&s->window);
}

static enum err_code show_open(struct shown *s, const struct stored_gate *row, int64_t now_at,
                               struct err *err)
{
    struct err ignored = ERR_INIT;

    *s = (struct shown){.window = WINDOW_INIT};
    if (resource_open(&s->resource, row->definition, err) != E_OK)
        return err->code;
    if (row->starts.size > 0 && window_decode(row->starts, &s->window, &ignored) != E_OK)
        s->window = WINDOW_INIT;
    window_settle(&s->window, &s->resource.rules.rates, now_at);
    s->state = (struct gate_state){.in_use = row->in_use,
                                   .window = &s->window,
                                   .shut = {row->shut_until_at, row->why},
                                   .probe = {row->probe_until_at, row->probe_why}};
    return E_OK;
}

/* Why a start of weight 1 would be refused at that time. */
static void add_why(struct buf *b, const struct shown *s, struct slice name, int64_t at)
{
    struct gate_verdict v = gate_judge(&s->resource.rules, &s->state, at, 1);
    CLEANUP(buf) struct buf why = BUF_INIT(4096);

    if (v.by == GATE_OK)
        return;
    gate_reason(&s->resource.rules, &s->state, &v, name, at, 1, &why);
    jtext_put_string(b, "why", buf_slice(&why));
}

static void add_resource(struct buf *b, const struct stored_gate *row, int64_t at)
{
    struct err err = ERR_INIT;
    struct shown s;

    jtext_put_string(b, "name", row->name);
    jtext_put_raw(b, "definition", row->definition);
    if (show_open(&s, row, at, &err) != E_OK) {
        jtext_put_bool(b, "open", false);
        jtext_put_string(b, "why", slice_of(err.msg));
        return;
    }
    struct gate_opening opening = gate_open_at(&s.resource.rules, &s.state, at);

    if (s.resource.rules.slots > 0)
        jtext_put_int(b, "slots", s.resource.rules.slots);
    jtext_put_int(b, "in_use", row->in_use);
    if (s.resource.rules.rates.count > 0) {
        jtext_add_key(b, "rate");
        rates_json(&s.resource.rules.rates, b);
    }
    jtext_put_bool(b, "open", opening.open);
    if (opening.until_at != TIME_NEVER)
        jtext_put_time(b, "until", opening.until_at);
    add_why(b, &s, row->name, at);
    shown_deinit(&s);
}

/* ---- why a job waits ---- */

static void say_verdict(struct gate_reason *ret, const char *code, const struct buf *text,
                        const struct gate_verdict *v)
{
    bool later = v->until_at != TIME_NEVER && v->until_at > ret->until_at;

    if (ret->code != NULL && !later)
        return;
    ret->code = code;
    snprintf(ret->text, sizeof(ret->text), "%.*s", (int)text->size, text->data);
    ret->until_at = v->until_at == TIME_NEVER ? 0 : v->until_at;
}

static enum err_code judge_need(struct query_view *v, const struct need *need,
                                struct gate_reason *ret, struct err *err)
{
    CLEANUP(buf) struct buf text = BUF_INIT(4096);
    struct stored_gate row;
    struct err unusable = ERR_INIT;
    struct shown s;

    if (need_is_of_host(need->name))
        return E_OK;
    if (store_resource_find(v->store, need->name, &v->arena, &row, err) != E_OK)
        return err->code;
    if (row.id == 0 || show_open(&s, &row, v->now_at, &unusable) != E_OK)
        return E_OK;
    struct gate_verdict verdict = gate_judge(&s.resource.rules, &s.state, v->now_at, need->weight);

    if (verdict.by != GATE_OK) {
        gate_reason(&s.resource.rules, &s.state, &verdict, need->name, v->now_at, need->weight,
                    &text);
        say_verdict(ret, "resource", &text, &verdict);
    }
    shown_deinit(&s);
    return E_OK;
}

static enum err_code judge_lane(struct query_view *v, const struct queue_def *def, int64_t lane,
                                struct gate_reason *ret, struct err *err)
{
    CLEANUP(window) struct window window = WINDOW_INIT;
    CLEANUP(buf) struct buf text = BUF_INIT(4096);
    CLEANUP(buf) struct buf name = BUF_INIT(4096);
    struct gate_rules rules = lane_rules(&def->lane);
    struct err ignored = ERR_INIT;
    struct stored_gate row;

    if (store_gate_find(v->store, lane, &v->arena, &row, err) != E_OK)
        return err->code;
    if (row.starts.size > 0 && window_decode(row.starts, &window, &ignored) != E_OK)
        window = WINDOW_INIT;
    window_settle(&window, &rules.rates, v->now_at);
    struct gate_state state = {.in_use = row.in_use,
                               .window = &window,
                               .shut = {row.shut_until_at, row.why}};
    struct gate_verdict verdict = gate_judge(&rules, &state, v->now_at, 1);

    if (verdict.by == GATE_OK)
        return E_OK;
    buf_addf(&name, "lane %.*s", (int)row.name.size, row.name.data == NULL ? "" : row.name.data);
    gate_reason(&rules, &state, &verdict, buf_slice(&name), v->now_at, 1, &text);
    say_verdict(ret, "lane", &text, &verdict);
    return E_OK;
}

enum err_code query_gate_reason(struct query_view *v, const struct stored_queue *q,
                                const struct job *j, struct gate_reason *ret, struct err *err)
{
    struct stored_gate line = {.id = 0};
    struct err ignored = ERR_INIT;
    struct queue_def def;
    struct needs needs;
    struct slice value;

    *ret = (struct gate_reason){.code = NULL};
    if (j->lane == 0 && !jtext_find(q->definition, "needs", &value))
        return E_OK;
    if (queue_def_parse_stored(q->definition, &v->arena, &def, &ignored) != E_OK)
        return E_OK;
    if (j->lane != 0 && store_gate_find(v->store, j->lane, &v->arena, &line, err) != E_OK)
        return err->code;
    needs = def.needs;
    if (line.kind == GATE_SAME_NEEDS &&
        needs_parse(line.needs, &v->arena, &needs, &ignored) != E_OK)
        return E_OK;
    for (size_t i = 0; i < needs.count; i++)
        if (needs.items[i].weight > 0 && judge_need(v, &needs.items[i], ret, err) != E_OK)
            return err->code;
    int64_t lane = line.kind == GATE_LANE ? line.id : line.lane;

    return lane == 0 ? E_OK : judge_lane(v, &def, lane, ret, err);
}

/* ---- lists ---- */

struct resource_page {
    struct query_view *view;
    struct buf *out;
    size_t left;
    bool more;
    struct slice last;
};

static void list_resource(void *ctx, const struct stored_gate *row)
{
    struct resource_page *p = ctx;

    if (p->left == 0) {
        p->more = true;
        return;
    }
    p->left--;
    p->last = arena_copy(&p->view->arena, row->name);
    jtext_add_comma(p->out);
    buf_add_char(p->out, '{');
    add_resource(p->out, row, p->view->now_at);
    buf_add_char(p->out, '}');
}

enum err_code query_resources(struct query_view *v, struct query *q, struct err *err)
{
    struct resource_page page = {.view = v, .out = &q->reply, .left = (size_t)q->limit};

    buf_add_str(&q->reply, "{\"resources\":[");
    if (store_resources_list(v->store, q->cursor, page.left + 1, list_resource, &page, err) != E_OK)
        return err->code;
    buf_add_str(&q->reply, "],\"cursor\":");
    if (page.more)
        jtext_add_string(&q->reply, page.last);
    else
        buf_add_str(&q->reply, "null");
    buf_add_char(&q->reply, '}');
    return E_OK;
}

/* Ready jobs of the queues that need it. */
static enum err_code count_waiting(struct query_view *v, struct slice name, int64_t *ret_n,
                                   struct err *err)
{
    *ret_n = 0;
    for (size_t i = 0; i < v->queues.count; i++) {
        struct slice needs;
        struct slice weight;
        int64_t n = 0;
        char key[GATE_NAME_MAX + 1];

        snprintf(key, sizeof(key), "%.*s", (int)name.size, name.data);
        if (!jtext_find(v->queues.items[i].definition, "needs", &needs) ||
            !jtext_find(needs, key, &weight))
            continue;
        if (store_counts_ready(v->store, v->queues.items[i].id, &n, err) != E_OK)
            return err->code;
        *ret_n += n;
    }
    return E_OK;
}

static void add_holder(void *ctx, const struct gate_use *use)
{
    struct buf *b = ctx;

    jtext_add_comma(b);
    buf_add_char(b, '{');
    jtext_add_id(b, "job", use->job);
    jtext_put_int(b, "weight", use->weight);
    jtext_put_time(b, "since", use->started_at);
    buf_add_char(b, '}');
}

enum err_code query_resource(struct query_view *v, struct query *q, struct err *err)
{
    struct stored_gate row;
    struct quote quote;
    int64_t waiting = 0;

    if (store_resource_find(v->store, q->name, &v->arena, &row, err) != E_OK)
        return err->code;
    if (row.id == 0)
        return err_set(err, E_NOT_FOUND, "there is no resource %s", quote_text(&quote, q->name));
    buf_add_char(&q->reply, '{');
    add_resource(&q->reply, &row, q->at != 0 ? q->at : v->now_at);
    if (count_waiting(v, q->name, &waiting, err) != E_OK)
        return err->code;
    jtext_put_int(&q->reply, "waiting", waiting);
    buf_add_str(&q->reply, ",\"holders\":[");
    if (store_uses_of_gate(v->store, row.id, HOLDERS_SHOWN, add_holder, &q->reply, err) != E_OK)
        return err->code;
    buf_add_str(&q->reply, "]}");
    return E_OK;
}
