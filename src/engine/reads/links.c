/*
 * Signals and joins, as people see them.
 */
/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "engine/reads/internal.h"
#include "engine/reads/job_json.h"
#include "store/links/links.h"

enum { WAITING_SHOWN = 100 };

/* ---- pages: one more than asked for is read, to see whether there is more ---- */

struct page {
    struct query_view *view;
    struct buf *out;
    size_t left; /* room on it */
    bool more;
    struct slice last; /* name of the last one on it */
};

static bool page_takes(struct page *p, struct slice name)
{
    if (p->left == 0) {
        p->more = true;
        return false;
    }
    p->left--;
    p->last = arena_copy(&p->view->arena, name);
    jtext_add_comma(p->out);
    return true;
}

static void page_end(struct page *p)
{
    buf_add_str(p->out, "],\"cursor\":");
    if (p->more)
        jtext_add_string(p->out, p->last);
    else
        buf_add_str(p->out, "null");
}

static struct page page_of(struct query_view *v, struct query *q)
{
    return (struct page){.view = v, .out = &q->reply, .left = (size_t)q->limit};
}

/* ---- signals ---- */

static void add_signal(struct buf *b, const struct stored_signal *s)
{
    jtext_put_string(b, "name", s->name);
    jtext_put_int(b, "count", s->count);
    jtext_put_time(b, "changed_at", s->changed_at);
    jtext_put_int(b, "waiters", s->waiters);
}

static void list_signal(void *ctx, const struct stored_signal *s)
{
    struct page *p = ctx;

    if (!page_takes(p, s->name))
        return;
    buf_add_char(p->out, '{');
    add_signal(p->out, s);
    buf_add_char(p->out, '}');
}

enum err_code query_signals(struct query_view *v, struct query *q, struct err *err)
{
    struct page page = page_of(v, q);

    buf_add_str(&q->reply, "{\"signals\":[");
    if (store_signals_list(v->store, q->cursor, page.left + 1, list_signal, &page, err) != E_OK)
        return err->code;
    page_end(&page);
    buf_add_char(&q->reply, '}');
    return E_OK;
}

static void add_waiting(void *ctx, const struct stored_wait *w)
{
    struct buf *b = ctx;

    jtext_add_comma(b);
    buf_add_char(b, '{');
    jtext_add_id(b, "id", w->waiter);
    jtext_put_int(b, "count", w->count);
    jtext_put_bool(b, "take", w->take);
    buf_add_char(b, '}');
}

/* A signal that was never raised, and that nothing waits for, is at 0. */
enum err_code query_signal(struct query_view *v, struct query *q, struct err *err)
{
    struct stored_signal s;

    if (store_signal_find(v->store, q->name, &v->arena, &s, err) != E_OK)
        return err->code;
    if (s.id == 0)
        s = (struct stored_signal){.name = q->name};
    else if (store_waiters_count(v->store, s.id, &s.waiters, err) != E_OK)
        return err->code;
    buf_add_char(&q->reply, '{');
    add_signal(&q->reply, &s);
    buf_add_str(&q->reply, ",\"waiting\":[");
    if (s.id != 0 &&
        store_waits_on(v->store, s.id, 0, WAITING_SHOWN, add_waiting, &q->reply, err) != E_OK)
        return err->code;
    buf_add_str(&q->reply, "]}");
    return E_OK;
}

/* ---- joins ---- */

/* The members of its definition are added to its own. */
static void add_join(struct buf *b, const struct stored_join *j, int64_t keys)
{
    jtext_put_string(b, "name", j->name);
    buf_add_char(b, ',');
    buf_add(b, j->definition.data + 1, j->definition.size - 2);
    jtext_put_int(b, "fired", j->fired);
    jtext_put_time(b, "fired_at", j->fired_at);
    jtext_put_int(b, "keys", keys);
}

struct join_list {
    VEC(struct stored_join) items;
    struct arena *arena;
};

static void take_join(void *ctx, const struct stored_join *j)
{
    struct join_list *list = ctx;
    struct stored_join copy = *j;

    copy.name = arena_copy(list->arena, j->name);
    copy.definition = arena_copy(list->arena, j->definition);
    VEC_PUSH(&list->items, copy);
}

static enum err_code add_joins(struct query_view *v, const struct join_list *list,
                               struct page *page, struct err *err)
{
    for (size_t i = 0; i < list->items.count; i++) {
        const struct stored_join *j = &list->items.items[i];
        int64_t keys = 0;

        if (!page_takes(page, j->name))
            break;
        if (store_arrivals_count(v->store, j->id, &keys, err) != E_OK)
            return err->code;
        buf_add_char(page->out, '{');
        add_join(page->out, j, keys);
        buf_add_char(page->out, '}');
    }
    return E_OK;
}

enum err_code query_joins(struct query_view *v, struct query *q, struct err *err)
{
    struct join_list list = {.items = VEC_INIT, .arena = &v->arena};
    struct page page = page_of(v, q);

    buf_add_str(&q->reply, "{\"joins\":[");
    enum err_code code = store_joins_list(v->store, q->cursor, page.left + 1, take_join, &list,
                                          err);

    if (code == E_OK)
        code = add_joins(v, &list, &page, err);
    page_end(&page);
    buf_add_char(&q->reply, '}');
    VEC_DEINIT(&list.items);
    return code;
}

static void list_arrivals(void *ctx, const struct stored_arrivals *a)
{
    struct page *p = ctx;
    char text[ID_TEXT_SIZE];

    if (!page_takes(p, a->key))
        return;
    buf_add_char(p->out, '{');
    jtext_put_string(p->out, "key", a->key);
    jtext_put_int(p->out, "count", a->count);
    jtext_put_time(p->out, "first_at", a->first_at);
    buf_add_str(p->out, ",\"jobs\":[");
    for (size_t i = 0; i < a->n_jobs; i++)
        buf_addf(p->out, "%s\"%s\"", i > 0 ? "," : "", id_format(a->jobs[i], text));
    buf_add_str(p->out, "]}");
}

enum err_code query_join(struct query_view *v, struct query *q, struct err *err)
{
    struct page page = page_of(v, q);
    struct stored_join j;
    struct quote quote;
    int64_t keys = 0;

    if (store_join_find(v->store, q->name, &v->arena, &j, err) != E_OK)
        return err->code;
    if (j.id == 0)
        return err_set(err, E_NOT_FOUND, "there is no join %s", quote_text(&quote, q->name));
    if (store_arrivals_count(v->store, j.id, &keys, err) != E_OK)
        return err->code;
    buf_add_char(&q->reply, '{');
    add_join(&q->reply, &j, keys);
    buf_add_str(&q->reply, ",\"arrivals\":[");
    if (store_arrivals_list(v->store, j.id, q->cursor, page.left + 1, list_arrivals, &page, err) !=
        E_OK)
        return err->code;
    page_end(&page);
    buf_add_char(&q->reply, '}');
    return E_OK;
}
