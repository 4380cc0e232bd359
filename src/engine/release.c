/*
 * Ends, told to those who wait for them; what is too much for one commit is a durable release, gone on with by the
 * next batches.
 *
 * Waits leave as they are judged: what is left of them is what is left to do.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/after.h"
#include "engine/engine_internal.h"
#include "store/store_jobs.h"

/* A job may wait for each step of another, and for that itself, in three ways. */
enum { WAITS_ON_ONE_MAX = 3 * (ROUTE_STEPS_MAX + 1) };

enum err_code release_put(struct engine *e, const struct stored_release *r, struct err *err)
{
    e->releases_new = e->releases_new || !e->has_releases;
    e->has_releases = true;
    return engine_write(e, err) != E_OK ? err->code : store_release_put(e->store, r, err);
}

enum err_code after_is_telling(struct engine *e, int64_t job, bool *ret_telling, struct err *err)
{
    struct stored_release r = {.target = 0};

    /* On an embedded store memory knows whether there are any. */
    if ((e->shared || e->has_releases) && store_release_find(e->store, job, &r, err) != E_OK)
        return err->code;
    *ret_telling = r.target != 0;
    return E_OK;
}

/* ---- judging ---- */

/* The end of a target, as its waits are judged by it. */
struct told_end {
    struct engine *e;
    struct stored_release *release;
    struct step_ends steps;
    bool has_steps; /* loaded */
};

static enum err_code state_for(struct told_end *t, const struct stored_wait *w, int *ret_state,
                               struct err *err)
{
    *ret_state = t->release->state == RELEASE_STEPS ? STEP_OPEN : t->release->state;
    if (w->step == 0 || t->release->state == RELEASE_GONE)
        return E_OK;
    if (!t->has_steps && step_ends_load(t->e, w->target, &t->steps, err) != E_OK)
        return err->code;
    t->has_steps = true;
    *ret_state = step_ends_state(&t->steps, w->step);
    return E_OK;
}

static enum err_code tell_one(struct told_end *t, const struct stored_wait *w, struct err *err)
{
    const char *why = NULL;
    int state;

    if (state_for(t, w, &state, err) != E_OK)
        return err->code;
    enum after_verdict verdict = step_verdict(w->on, state);

    if (verdict == AFTER_NEVER)
        why = after_why(t->e, w->target, w->step, state);
    return waiter_tell(t->e, w, verdict, why, err);
}

/* Goes on from the cursor; *ret_left: not all were looked at. */
static enum err_code tell(struct engine *e, struct stored_release *r, size_t *room, bool *ret_left,
                          struct err *err)
{
    CLEANUP(wait_page) struct wait_page page = VEC_INIT;
    struct told_end told = {.e = e, .release = r};
    size_t limit = *room + (r->state == RELEASE_STEPS ? WAITS_ON_ONE_MAX : 0);
    enum err_code code = E_OK;

    *ret_left = *room == 0;
    if (*ret_left)
        return E_OK;
    if (store_waits_on(e->store, r->target, r->cursor, limit, wait_page_take, &page, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < page.count && code == E_OK; i++)
        code = tell_one(&told, &page.items[i], err);
    step_ends_deinit(&told.steps);
    *ret_left = page.count == limit;
    *room -= page.count < *room ? page.count : *room;
    if (*ret_left) /* there may be more of the last one's */
        r->cursor = page.items[page.count - 1].waiter - 1;
    return code;
}

/* ---- ends ---- */

static enum err_code tell_step(struct engine *e, const struct link_end *end, size_t *room,
                               struct err *err)
{
    CLEANUP(wait_page) struct wait_page page = VEC_INIT;
    size_t n = 0;

    if (store_waits_on_step(e->store, end->job, end->step, wait_page_take, &page, err) != E_OK)
        return err->code;
    for (; n<page.count && * room> 0; n++, (*room)--) {
        const struct stored_wait *w = &page.items[n];
        enum after_verdict verdict = step_verdict(w->on, (int)end->state);
        const char *why = verdict == AFTER_NEVER
                              ? after_why(e, end->job, end->step, (int)end->state)
                              : NULL;

        if (waiter_tell(e, w, verdict, why, err) != E_OK)
            return err->code;
    }
    if (n == page.count)
        return E_OK;
    return release_put(e, &(struct stored_release){.target = end->job, .state = RELEASE_STEPS},
                       err);
}

enum err_code after_ended(struct engine *e, const struct link_end *end, size_t *room,
                          struct err *err)
{
    struct stored_release r = {.target = end->job, .state = (int)end->state};
    bool left = false;

    if (!end->awaited)
        return E_OK;
    if (links_lock(e, err) != E_OK)
        return err->code;
    if (!end->whole)
        return tell_step(e, end, room, err);
    if (tell(e, &r, room, &left, err) != E_OK)
        return err->code;
    return left ? release_put(e, &r, err) : E_OK;
}

/* ---- releases ---- */

enum err_code after_work(struct engine *e, size_t *room, struct err *err)
{
    struct stored_release r = {.target = 0};
    bool left = false;

    if (links_lock(e, err) != E_OK || store_release_next(e->store, &r, err) != E_OK)
        return err->code;
    e->has_releases = r.target != 0;
    if (r.target == 0 || *room == 0)
        return E_OK;
    if (engine_write(e, err) != E_OK)
        return err->code;
    if ((r.state == RELEASE_SIGNAL ? signal_tell(e, &r, room, &left, err)
                                   : tell(e, &r, room, &left, err)) != E_OK)
        return err->code;
    *room -= *room > 0; /* the release itself */
    return left ? release_put(e, &r, err) : store_release_remove(e->store, r.target, err);
}
