/* SPDX-License-Identifier: MIT */
#include "engine/gates/lines.h"

#include <stdlib.h>

#include "engine/state.h"

/* ---- the heap of an access ---- */

bool line_comes_before(const struct line *a, const struct line *b)
{
    if (a->head.priority != b->head.priority)
        return a->head.priority > b->head.priority;
    if (a->served != b->served && a->lane != NULL && b->lane != NULL)
        return a->served < b->served;
    return a->head.id < b->head.id;
}

static void set_place(struct access *a, size_t i, struct line *l)
{
    a->lines.items[i] = l;
    l->at = i + 1;
}

static void move_up(struct access *a, size_t i, struct line *l)
{
    while (i > 0 && line_comes_before(l, a->lines.items[(i - 1) / 2])) {
        set_place(a, i, a->lines.items[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    set_place(a, i, l);
}

static void move_down(struct access *a, size_t i, struct line *l)
{
    for (size_t child; (child = 2 * i + 1) < a->lines.count; i = child) {
        if (child + 1 < a->lines.count &&
            line_comes_before(a->lines.items[child + 1], a->lines.items[child]))
            child++;
        if (!line_comes_before(a->lines.items[child], l))
            break;
        set_place(a, i, a->lines.items[child]);
    }
    set_place(a, i, l);
}

void line_fix(struct line *l)
{
    struct access *a = l->access;

    if (l->at == 0)
        return;
    move_up(a, l->at - 1, l);
    move_down(a, l->at - 1, l);
}

void line_insert(struct line *l)
{
    struct access *a = l->access;

    if (l->at != 0 || l->parked_until_at != 0 || l->deferred)
        return;
    VEC_PUSH(&a->lines, l);
    move_up(a, a->lines.count - 1, l);
}

void line_remove(struct line *l)
{
    struct access *a = l->access;
    size_t i = l->at - 1;

    if (l->at == 0)
        return;
    struct line *last = a->lines.items[--a->lines.count];

    l->at = 0;
    if (last == l)
        return;
    set_place(a, i, last);
    line_fix(last);
}

struct line *line_set_head(struct line *l, struct ready_ref head)
{
    if (l->head.id != head.id || l->head.priority != head.priority) {
        l->head = head;
        line_fix(l);
    }
    return l->access->lines.count == 0 ? NULL : l->access->lines.items[0];
}

/* ---- resting ---- */

static bool is_plain(const struct line *l)
{
    return l->id == 0;
}

void line_rest(struct gating *g, struct line *l)
{
    line_remove(l);
    if (!is_plain(l) && l->ready->complete && l->ready->count == 0)
        return; /* who adds a job brings it back */
    l->deferred = true;
    VEC_PUSH(&g->deferred, l);
}

void lines_resume(struct gating *g)
{
    for (size_t i = 0; i < g->deferred.count; i++) {
        g->deferred.items[i]->deferred = false;
        line_insert(g->deferred.items[i]);
    }
    VEC_CLEAR(&g->deferred);
}

enum err_code line_fill(struct engine *e, struct queue *q, struct line *l, bool held,
                        struct err *err)
{
    return is_plain(l) ? shared_fill_ready(e, q, held, err) : E_OK;
}

/* ---- lanes ---- */

enum err_code line_judge(struct engine *e, struct gating *g, struct line *l, bool *ret_open,
                         struct err *err)
{
    (void)e;
    (void)g;
    (void)l;
    (void)err;
    *ret_open = true;
    return E_OK;
}

int64_t lines_unpark(struct engine *e, struct gating *g)
{
    (void)e;
    (void)g;
    return TIME_NEVER;
}

void lines_free(struct engine *e, struct gating *g)
{
    (void)e;
    map_deinit(&g->lines);
}
