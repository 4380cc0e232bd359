/*
 * Groups, as people see them; and what their ended members have brought.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "engine/reads/groups.h"
#include "engine/reads/internal.h"
#include "engine/reads/job_json.h"
#include "store/jobs/jobs.h"

enum { RESULTS_ROWS = 500 };

#define RESULTS_BYTES ((size_t)4 << 20) /* a page of results ends early */

/* ---- groups of a view ---- */

enum err_code view_group(struct query_view *v, int64_t id, const struct stored_group **ret,
                         struct err *err)
{
    struct stored_group *g = map_find(&v->groups, id);

    *ret = g;
    if (g != NULL)
        return E_OK;
    g = arena_zalloc(&v->arena, sizeof(*g));
    if (store_group_load(v->store, id, &v->arena, g, err) != E_OK)
        return err->code;
    map_put(&v->groups, id, g);
    *ret = g;
    return E_OK;
}

enum err_code view_group_flags(struct query_view *v, int64_t id, unsigned *ret_flags,
                               const struct stored_group **ret_by, struct err *err)
{
    const struct stored_group *g = NULL;

    *ret_flags = 0;
    for (int up = 0; id > GROUP_ROOT && up <= GROUP_DEPTH_MAX; up++) {
        if (view_group(v, id, &g, err) != E_OK)
            return err->code;
        if (*ret_flags == 0 && group_is_held(g->flags))
            *ret_by = g;
        *ret_flags |= g->flags & (GROUP_IS_PAUSED | GROUP_IS_CANCELLED | GROUP_IS_STOPPED);
        id = g->parent;
    }
    return E_OK;
}

enum err_code view_add_group(struct query_view *v, struct buf *b, int64_t id, struct err *err)
{
    const struct stored_group *g = NULL;

    if (id == 0)
        return E_OK;
    if (view_group(v, id, &g, err) != E_OK)
        return err->code;
    jtext_add_key(b, "group");
    buf_add_char(b, '{');
    jtext_add_id(b, "id", id);
    jtext_put_string(b, "kind", g->kind);
    jtext_put_string(b, "name", g->name);
    buf_add_char(b, '}');
    return E_OK;
}

/* ---- one and all ---- */

static void add_counts(struct buf *b, const struct group_counts *c)
{
    jtext_add_key(b, "counts");
    buf_add_char(b, '{');
    jtext_put_int(b, "made", c->made);
    jtext_put_int(b, "waiting", c->waiting);
    jtext_put_int(b, "running", c->running);
    jtext_put_int(b, "done", c->done);
    jtext_put_int(b, "failed", c->failed);
    jtext_put_int(b, "cancelled", c->cancelled);
    jtext_put_int(b, "dropped", c->dropped);
    jtext_put_int(b, "groups", c->groups);
    buf_add_char(b, '}');
}

static void add_ref(struct buf *b, const char *name, int64_t id)
{
    if (id == GROUP_ROOT)
        jtext_put_string(b, name, SLICE("root"));
    else if (id != 0)
        jtext_add_id(b, name, id);
    else
        jtext_put_raw(b, name, SLICE("null"));
}

static enum err_code add_group(struct query_view *v, struct buf *b, const struct stored_group *g,
                               bool whole, struct err *err)
{
    const struct stored_group *by = NULL;
    unsigned held = 0;

    if (view_group_flags(v, g->id, &held, &by, err) != E_OK)
        return err->code;
    jtext_add_comma(b);
    buf_add_char(b, '{');
    add_ref(b, "id", g->id);
    jtext_put_string(b, "kind", g->kind);
    jtext_put_string(b, "name", g->name);
    add_ref(b, "parent", g->parent);
    jtext_put_string(b, "state", slice_of(group_state_name(g->state)));
    jtext_put_bool(b, "sealed", (g->flags & GROUP_IS_SEALED) != 0);
    jtext_put_bool(b, "paused", g->state == GROUP_OPEN && (held & GROUP_IS_PAUSED) != 0);
    if (g->state == GROUP_OPEN && group_cancels(held))
        jtext_put_bool(b, "cancelling", true);
    if (g->id != GROUP_ROOT)
        add_counts(b, &g->counts);
    if (whole || g->data.size <= LISTED_VALUE_MAX)
        jtext_put_raw(b, "data", g->data.size > 0 ? g->data : SLICE("{}"));
    jtext_put_int(b, "version", g->version);
    if (g->finally.size > 0)
        jtext_put_raw(b, "finally", g->finally);
    add_ref(b, "finaliser", g->finaliser);
    if (g->id != GROUP_ROOT)
        jtext_put_time(b, "created_at", id_time(g->id));
    jtext_put_time(b, "ended_at", g->ended_at);
    buf_add_char(b, '}');
    return E_OK;
}

static enum err_code no_group(int64_t id, struct err *err)
{
    char text[ID_TEXT_SIZE];

    return err_set(err, E_NOT_FOUND, "there is no group %s (any more)", id_format(id, text));
}

enum err_code query_group(struct query_view *v, struct query *q, struct err *err)
{
    const struct stored_group *g = NULL;

    if (view_group(v, q->id, &g, err) != E_OK)
        return err->code;
    return g->id == 0 ? no_group(q->id, err) : add_group(v, &q->reply, g, true, err);
}

struct group_page {
    struct query_view *view;
    VEC(struct stored_group *) items;
};

static void take_group(void *ctx, const struct stored_group *group)
{
    struct group_page *p = ctx;
    struct arena *arena = &p->view->arena;
    struct stored_group *copy = arena_zalloc(arena, sizeof(*copy));

    *copy = *group;
    copy->kind = arena_copy(arena, group->kind);
    copy->name = arena_copy(arena, group->name);
    copy->data = arena_copy(arena, group->data);
    copy->finally = arena_copy(arena, group->finally);
    VEC_PUSH(&p->items, copy);
}

static enum err_code add_page(struct query_view *v, struct query *q, const struct group_page *p,
                              struct err *err)
{
    size_t shown = p->items.count > (size_t)q->limit ? (size_t)q->limit : p->items.count;

    buf_add_str(&q->reply, "{\"groups\":[");
    for (size_t i = 0; i < shown; i++)
        if (add_group(v, &q->reply, p->items.items[i], false, err) != E_OK)
            return err->code;
    buf_add_str(&q->reply, "]");
    if (shown < p->items.count)
        jtext_add_id(&q->reply, "cursor", p->items.items[shown - 1]->id);
    else
        jtext_put_raw(&q->reply, "cursor", SLICE("null"));
    buf_add_char(&q->reply, '}');
    return E_OK;
}

enum err_code query_groups(struct query_view *v, struct query *q, struct err *err)
{
    struct group_page page = {.view = v, .items = VEC_INIT};
    struct groups_wanted filter = q->groups;

    filter.limit = q->limit + 1;
    filter.below = INT64_MAX;
    if (q->cursor.size > 0 && !id_parse(q->cursor, &filter.below))
        return err_set(err, E_INVALID, "cursor: is not one of a list of groups");
    enum err_code code = store_groups_list(v->store, &filter, take_group, &page, err);

    if (code == E_OK)
        code = add_page(v, q, &page, err);
    VEC_DEINIT(&page.items);
    return code;
}

/* ---- results ---- */

static enum err_code add_result(struct query_view *v, struct query *q, int64_t id, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT; /* jobs may be large: one at a time */
    struct buf *b = &q->reply;
    bool found = false;
    struct job j;

    if (store_job_load(v->store, id, LOAD_PAYLOAD, &arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found)
        return E_OK;
    buf_add_char(b, '{');
    jtext_add_id(b, "id", id);
    jtext_put_string(b, "queue", view_queue_name(v, j.queue));
    jtext_put_string(b, "state", slice_of(job_state_name(j.state)));
    jtext_put_raw(b, "params", j.params.size > 0 ? j.params : SLICE("{}"));
    jtext_put_raw(b, "result", j.result.size > 0 ? j.result : SLICE("null"));
    jtext_put_string(b, "text", j.text);
    buf_add_str(b, "}\n");
    q->last_id = id;
    return E_OK;
}

enum err_code query_group_results(struct query_view *v, struct query *q, struct err *err)
{
    const struct stored_group *g = NULL;
    int64_t ids[RESULTS_ROWS];
    size_t n = 0;

    if (view_group(v, q->id, &g, err) != E_OK)
        return err->code;
    if (g->id == 0)
        return no_group(q->id, err);
    if (store_group_results(v->store, q->id, q->last_id, RESULTS_ROWS, ids, &n, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < n && q->reply.size < RESULTS_BYTES; i++)
        if (add_result(v, q, ids[i], err) != E_OK)
            return err->code;
    q->ended = n == 0;
    return E_OK;
}
