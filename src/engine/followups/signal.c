/*
 * Signals: durable counters that jobs wait for.
 *
 * A signal keeps its level until it is cleared or used up.  Waiting jobs are woken in the order of
 * their ids.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/followups/signal.h"

#include "base/jtext/jtext.h"
#include "core/route/dest.h"
#include "engine/batch/transaction.h"
#include "engine/followups/pending_wakeups.h"
#include "engine/followups/waiter.h"
#include "engine/state.h"
#include "store/links/links.h"

enum err_code signal_get(struct engine *e, struct slice name, struct stored_signal *ret,
                         struct err *err)
{
    if (engine_write(e, err) != E_OK ||
        store_signal_hold(e->store, name, &e->batch.arena, ret, err) != E_OK)
        return err->code;
    if (ret->id != 0)
        return E_OK;
    *ret = (struct stored_signal){.id = engine_new_id(e),
                                  .name = name,
                                  .changed_at = e->now.wall_at};
    return store_signal_put(e->store, ret, err);
}

enum err_code signal_raise(struct engine *e, struct slice name, int64_t count, int64_t *ret_level,
                           struct err *err)
{
    struct stored_signal signal;

    if (signal_get(e, name, &signal, err) != E_OK)
        return err->code;
    bool most = signal.count > SIGNAL_COUNT_MAX - count;

    signal.count = most ? SIGNAL_COUNT_MAX : signal.count + count;
    signal.changed_at = e->now.wall_at;
    if (store_signal_put(e->store, &signal, err) != E_OK)
        return err->code;
    VEC_PUSH(&e->batch.followups.raised_signals, signal.id);
    *ret_level = signal.count;
    return E_OK;
}

/* A cleared signal without waiting jobs is removed. */
static enum err_code clear(struct engine *e, struct slice name, struct err *err)
{
    struct stored_signal signal;
    int64_t waiters = 0;

    if (engine_write(e, err) != E_OK || waits_flush(e, err) != E_OK ||
        store_signal_hold(e->store, name, &e->batch.arena, &signal, err) != E_OK)
        return err->code;
    if (signal.id == 0)
        return E_OK;
    signal.count = 0;
    signal.changed_at = e->now.wall_at;
    if (store_waiters_count(e->store, signal.id, &waiters, err) != E_OK)
        return err->code;
    return waiters == 0 ? store_signal_remove(e->store, signal.id, err)
                        : store_signal_put(e->store, &signal, err);
}

enum err_code signal_run(struct engine *e, struct op *op, struct err *err)
{
    const struct signal_op *s = &op->signal;
    int64_t level = 0;

    if (dest_name_check("signal", s->name, &op->err) != E_OK)
        return E_OK;
    if (s->kind == SIGNAL_OP_RAISE && (s->count < 1 || s->count > SIGNAL_COUNT_MAX)) {
        err_set(&op->err, E_INVALID, "count: must be from 1 to %lld", (long long)SIGNAL_COUNT_MAX);
        return E_OK;
    }
    if ((s->kind == SIGNAL_OP_RAISE ? signal_raise(e, s->name, s->count, &level, err)
                                    : clear(e, s->name, err)) != E_OK)
        return err->code;
    buf_add_char(&op->reply, '{');
    jtext_put_string(&op->reply, "name", s->name);
    jtext_put_int(&op->reply, "count", level);
    buf_add_char(&op->reply, '}');
    return E_OK;
}

/* ---- waiting jobs ---- */

/* Locks one signal; *ret_level -1: another server has locked it. */
static enum err_code level_of(struct engine *e, int64_t id, int64_t *ret_level, struct err *err)
{
    return engine_write(e, err) != E_OK
               ? err->code
               : store_signals_hold(e->store, &id, 1, ret_level, &e->batch.arena, err);
}

/* Judges the waits of a page until the level is 0 or another server has locked a job; *ret_at: how
 * many were judged. */
static enum err_code look_at_page(struct engine *e, const struct wait_page *page, int64_t *level,
                                  size_t *ret_at, struct err *err)
{
    const bool *held_by_others;
    size_t i = 0;

    if (waiters_lock(e, page, &held_by_others, err) != E_OK)
        return err->code;
    while (i<page->count && * level> 0) {
        const struct stored_wait *w = &page->items[i];
        bool reached = w->count <= *level && !job_is_skipped(e, w->waiter);
        bool busy = reached && held_by_others[i];

        if (reached && !busy) {
            if (waiter_check(e, w->waiter, &busy, err) != E_OK)
                return skip_damaged_job(e, w->waiter, err);
            if (w->take && level_of(e, w->target, level, err) != E_OK)
                return err->code;
        }
        if (busy)
            break;
        i++;
    }
    *ret_at = i;
    return E_OK;
}

enum err_code signal_wake_waiters(struct engine *e, struct stored_release *r, size_t *room,
                                  bool *ret_left, struct err *err)
{
    CLEANUP(wait_page) struct wait_page page = VEC_INIT;
    size_t limit = *room;
    int64_t level = 0;
    int64_t least = 0;
    size_t at = 0;

    *ret_left = limit == 0;
    if (limit == 0)
        return E_OK;
    if (level_of(e, r->target, &level, err) != E_OK)
        return err->code;
    *ret_left = level < 0;
    if (level < 0)
        pending_wakeups_pause(e);
    if (level <= 0) /* every wait needs at least 1 */
        return E_OK;
    if (store_waits_least(e->store, r->target, &least, err) != E_OK)
        return err->code;
    if (least == 0 || least > level) /* no wait can be met: saves reading them at each raise */
        return E_OK;
    if (store_waits_on(e->store, r->target, r->cursor, limit, wait_page_take, &page, err) != E_OK ||
        look_at_page(e, &page, &level, &at, err) != E_OK)
        return err->code;
    *room -= page.count;
    *ret_left = level > 0 && (at < page.count || page.count == limit);
    if (at < page.count && level > 0)
        pending_wakeups_pause(e);
    if (*ret_left)
        r->cursor = at < page.count ? page.items[at].waiter - 1 : page.items[at - 1].waiter;
    return E_OK;
}

static enum err_code tell_raised(struct engine *e, int64_t signal, size_t *room, struct err *err)
{
    struct stored_release r = {.target = signal, .state = WAKEUP_SIGNAL};
    bool left = false;

    if (signal_wake_waiters(e, &r, room, &left, err) != E_OK)
        return err->code;
    return left ? pending_wakeup_put(e, &r, err) : E_OK;
}

/* Whether a release will judge jobs before this one, and then this one too. */
static enum err_code is_behind(struct engine *e, int64_t waiter, bool *ret_behind, struct err *err)
{
    CLEANUP(wait_page) struct wait_page page = VEC_INIT;

    *ret_behind = false;
    if (store_waits_of(e->store, waiter, AFTER_MAX, wait_page_take, &page, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < page.count && !*ret_behind; i++) {
        struct stored_release r = {.target = 0};

        if (store_release_find(e->store, page.items[i].target, &r, err) != E_OK)
            return err->code;
        *ret_behind = r.target != 0 && r.cursor < waiter;
    }
    return E_OK;
}

static enum err_code look_at_new(struct engine *e, struct err *err)
{
    bool any = false;

    if (e->batch.followups.signal_waiters.count > 0 &&
        (must_ask_store(e) || e->followups.has_wakeups) &&
        store_release_any(e->store, &any, err) != E_OK)
        return err->code;
    for (size_t i = 0; i < e->batch.followups.signal_waiters.count; i++) {
        bool behind = false;
        bool busy = false; /* creating the job has locked its signals */

        if (any && is_behind(e, e->batch.followups.signal_waiters.items[i], &behind, err) != E_OK)
            return err->code;
        if (!behind &&
            waiter_check(e, e->batch.followups.signal_waiters.items[i], &busy, err) != E_OK)
            return err->code;
        if (busy)
            return store_job_damaged(e->store, e->batch.followups.signal_waiters.items[i],
                                     "its signal is not locked", err);
    }
    return E_OK;
}

enum err_code signals_settle(struct engine *e, size_t *room, struct err *err)
{
    for (size_t i = 0; i < e->batch.followups.raised_signals.count; i++)
        if (tell_raised(e, e->batch.followups.raised_signals.items[i], room, err) != E_OK)
            return err->code;
    if (look_at_new(e, err) != E_OK)
        return err->code;
    VEC_CLEAR(&e->batch.followups.raised_signals);
    VEC_CLEAR(&e->batch.followups.signal_waiters);
    return E_OK;
}
