/* SPDX-License-Identifier: MIT */
#include "engine/followups/pending_wakeups.h"

#include "engine/batch/transaction.h"
#include "engine/followups/after.h"
#include "engine/followups/follow.h"
#include "engine/followups/signal.h"
#include "engine/followups/waiter.h"
#include "engine/state.h"
#include "store/jobs/jobs.h"
#include "store/links/links.h"

/* A job may have three conditions (one for each `on`) on each step of another and on the job. */
enum { WAITS_ON_ONE_MAX = 3 * (ROUTE_STEPS_MAX + 1) };

enum err_code pending_wakeup_put(struct engine *e, const struct stored_release *r, struct err *err)
{
    e->batch.followups.wakeups_new = e->batch.followups.wakeups_new || !e->followups.has_wakeups;
    e->followups.has_wakeups = true;
    return engine_write(e, err) != E_OK ? err->code : store_release_put(e->store, r, err);
}

enum err_code end_is_pending(struct engine *e, int64_t job, bool *ret_telling, struct err *err)
{
    struct stored_release r = {.target = 0};

    /* On an embedded store memory knows whether there are releases. */
    if ((must_ask_store(e) || e->followups.has_wakeups) &&
        store_release_find(e->store, job, &r, err) != E_OK)
        return err->code;
    *ret_telling = r.target != 0;
    return *ret_telling ? E_OK : follow_is_left(e, job, ret_telling, err);
}

/* ---- judging ---- */

/* The end of a target, by which its waits are judged. */
struct told_end {
    struct engine *e;
    struct stored_release *release;
    struct step_ends steps;
    bool has_steps; /* loaded */
};

static enum err_code state_for(struct told_end *t, const struct stored_wait *w, int *ret_state,
                               struct err *err)
{
    *ret_state = t->release->state == WAKEUP_STEPS ? STEP_OPEN : t->release->state;
    if (w->step == 0 || t->release->state == WAKEUP_GONE)
        return E_OK;
    if (!t->has_steps && step_ends_load(t->e, w->target, &t->steps, err) != E_OK)
        return err->code;
    t->has_steps = true;
    *ret_state = step_ends_state(&t->steps, w->step);
    return E_OK;
}

static enum err_code tell_one(struct told_end *t, const struct stored_wait *w, bool *ret_busy,
                              struct err *err)
{
    const char *why = NULL;
    int state;

    if (state_for(t, w, &state, err) != E_OK)
        return err->code;
    enum after_verdict verdict = step_verdict(w->on, state);

    if (verdict == AFTER_NEVER)
        why = w->kind == AFTER_GROUP ? after_why_group(t->e, w->target, state)
                                     : after_why(t->e, w->target, w->step, state);
    return waiter_judge(t->e, w, verdict, why, ret_busy, err);
}

/* Judges the waits of jobs that no other server has locked; the release continues at the first
 * locked one. */
static enum err_code tell_page(struct told_end *t, const struct wait_page *page, bool *ret_left,
                               struct err *err)
{
    const bool *held_by_others;

    if (waiters_lock(t->e, page, &held_by_others, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < page->count; i++) {
        const struct stored_wait *w = &page->items[i];
        bool busy = held_by_others[i];

        if (job_is_skipped(t->e, w->waiter))
            continue;
        if (!busy && tell_one(t, w, &busy, err) != E_OK)
            return skip_damaged_job(t->e, w->waiter, err);
        if (busy && !*ret_left) {
            *ret_left = true;
            t->release->cursor = w->waiter - 1;
            pending_wakeups_pause(t->e);
        }
    }
    return E_OK;
}

/* Judges waits from the cursor on; *ret_left: some are left. */
static enum err_code tell(struct engine *e, struct stored_release *r, size_t *room, bool *ret_left,
                          struct err *err)
{
    CLEANUP(wait_page) struct wait_page page = VEC_INIT;
    struct told_end told = {.e = e, .release = r};
    size_t limit = *room + (r->state == WAKEUP_STEPS ? WAITS_ON_ONE_MAX : 0);

    *ret_left = *room == 0;
    if (*ret_left)
        return E_OK;
    if (store_waits_on(e->store, r->target, r->cursor, limit, wait_page_take, &page, err) != E_OK)
        return err->code;
    enum err_code code = tell_page(&told, &page, ret_left, err);

    step_ends_deinit(&told.steps);
    *room -= page.count < *room ? page.count : *room;
    if (!*ret_left && page.count == limit) { /* the last job may have more waits */
        int64_t last = page.items[page.count - 1].waiter;

        *ret_left = true;
        r->cursor = job_is_skipped(e, last) ? last : last - 1;
    }
    return code;
}

/* ---- ends ---- */

static enum err_code tell_step(struct engine *e, const struct followup_end *end, size_t *room,
                               struct err *err)
{
    CLEANUP(wait_page) struct wait_page page = VEC_INIT;
    const bool *held_by_others;

    if (store_waits_on_step(e->store, end->job, end->step, *room + 1, wait_page_take, &page, err) !=
        E_OK)
        return err->code;
    bool left = page.count > *room;

    page.count -= left;
    *room -= page.count;
    if (waiters_lock(e, &page, &held_by_others, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < page.count; i++) {
        const struct stored_wait *w = &page.items[i];
        enum after_verdict verdict = step_verdict(w->on, (int)end->state);
        const char *why = verdict == AFTER_NEVER
                              ? after_why(e, end->job, end->step, (int)end->state)
                              : NULL;
        bool busy = held_by_others[i];

        if (job_is_skipped(e, w->waiter))
            continue;
        if (!busy && waiter_judge(e, w, verdict, why, &busy, err) != E_OK)
            return skip_damaged_job(e, w->waiter, err);
        left = left || busy;
    }
    const struct stored_release rest = {.target = end->job, .state = WAKEUP_STEPS};

    return left ? pending_wakeup_put(e, &rest, err) : E_OK;
}

enum err_code wakeups_for_end(struct engine *e, const struct followup_end *end, size_t *room,
                              struct err *err)
{
    struct stored_release r = {.target = end->job, .state = (int)end->state};
    bool left = false;

    if (!end->awaited)
        return E_OK;
    if (!end->whole)
        return tell_step(e, end, room, err);
    if (tell(e, &r, room, &left, err) != E_OK)
        return err->code;
    return left ? pending_wakeup_put(e, &r, err) : E_OK;
}

/* ---- releases ---- */

void pending_wakeups_pause(struct engine *e)
{
    e->followups.wakeups_at = e->now.steady_at + LOCKED_PAUSE_US;
}

enum err_code pending_wakeups_work(struct engine *e, size_t *room, bool *ret_over, struct err *err)
{
    struct stored_release r = {.target = 0};
    bool left = false;

    if (store_release_next(e->store, e->batch.followups.wakeups_past, &r, err) != E_OK)
        return err->code;
    *ret_over = r.target == 0;
    if (*ret_over)
        e->followups.has_wakeups = e->batch.followups.wakeups_left;
    if (*ret_over || *room == 0)
        return E_OK;
    e->batch.followups.wakeups_past = r.target;
    if (engine_write(e, err) != E_OK)
        return err->code;
    if ((r.state == WAKEUP_SIGNAL ? signal_wake_waiters(e, &r, room, &left, err)
                                  : tell(e, &r, room, &left, err)) != E_OK)
        return err->code;
    *room -= *room > 0; /* the release itself */
    e->batch.followups.wakeups_left = e->batch.followups.wakeups_left || left;
    return left ? pending_wakeup_put(e, &r, err) : store_release_remove(e->store, r.target, err);
}
