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
    e->has_releases = true;
    return engine_write(e, err) != E_OK ? err->code : store_release_put(e->store, r, err);
}

enum err_code release_later(struct engine *e, const struct link_end *end, struct err *err)
{
    int state = end->whole ? (int)end->state | RELEASE_CHAINS : RELEASE_STEPS;

    return release_put(e, &(struct stored_release){.target = end->job, .state = state}, err);
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
    /* One that is run again meanwhile is judged as it had ended. */
    if (!t->has_steps && t->release->state != RELEASE_STEPS)
        t->steps.job.state = (enum job_state)t->release->state;
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
    return n < page.count ? release_later(e, end, err) : E_OK;
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

static enum err_code follow_chains(struct engine *e, const struct stored_release *r,
                                   struct err *err)
{
    bool found = false;
    struct job j;

    if (store_job_outline(e->store, r->target, &e->arena, &j, &found, err) != E_OK)
        return err->code;
    if (!found)
        return E_OK;
    return chain_ended(e,
                       &(struct link_end){.job = r->target,
                                          .queue = j.queue,
                                          .state = (enum job_state)r->state,
                                          .whole = true,
                                          .routed = j.step > 0,
                                          .awaited = true,
                                          .billed = j.billed},
                       err);
}

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
    if (r.state > 0 && r.state & RELEASE_CHAINS) {
        r.state &= ~RELEASE_CHAINS;
        if (follow_chains(e, &r, err) != E_OK)
            return err->code;
    }
    if ((r.state == RELEASE_SIGNAL ? signal_tell(e, &r, room, &left, err)
                                   : tell(e, &r, room, &left, err)) != E_OK)
        return err->code;
    *room -= *room > 0; /* the release itself */
    return left ? release_put(e, &r, err) : store_release_remove(e->store, r.target, err);
}
