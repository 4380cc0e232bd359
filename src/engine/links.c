/* SPDX-License-Identifier: MIT */
#include "engine/links.h"

#include "engine/after.h"
#include "engine/engine_internal.h"

/* Waits that one commit looks at, besides those of what the batch itself has ended; older releases get at least half
 * as much, whatever the batch brings. */
enum { LINK_ROWS = 1000 };

static size_t rows_of(const struct engine *e)
{
    return e->config.settle_rows == 0 ? LINK_ROWS : e->config.settle_rows;
}

/* Whether an end in a queue leads anywhere. */
static bool queue_leads(const struct engine *e, const struct link_end *end)
{
    if (end->queue == 0 || (end->whole && end->routed))
        return false;
    const struct queue *q = queue_by_id(e, end->queue);

    return (end->state == JOB_DONE && q->def.on_success.count > 0) ||
           (end->state == JOB_FAILED && q->def.on_failure.count > 0);
}

void links_note(struct engine *e, const struct link_end *end)
{
    if (end->awaited || end->billed || queue_leads(e, end))
        VEC_PUSH(&e->link_ends, *end);
}

enum err_code links_lock(struct engine *e, struct err *err)
{
    if (!e->shared || e->links_locked)
        return E_OK;
    if ((!e->in_transaction && engine_write(e, err) != E_OK) ||
        store_links_lock(e->store, err) != E_OK)
        return err->code;
    e->links_locked = true;
    return E_OK;
}

/* Follows the ends from *next on, and those that come of them.  What the batch's own ops have ended is followed where
 * it leads in this very commit; of the rest, as much as there is room for. */
static enum err_code follow_ends(struct engine *e, size_t own, size_t *next, size_t *room,
                                 struct err *err)
{
    for (; *next < e->link_ends.count; (*next)++) {
        struct link_end end = e->link_ends.items[*next]; /* the list grows meanwhile */

        if (*next >= own && *room == 0) {
            if (release_later(e, &end, err) != E_OK)
                return err->code;
            continue;
        }
        *room -= *room > 0;
        if (chain_ended(e, &end, err) != E_OK || after_ended(e, &end, room, err) != E_OK)
            return err->code;
    }
    return E_OK;
}

/* Ends may raise signals, by their destinations; signals end nothing. */
static enum err_code follow(struct engine *e, size_t own, size_t *next, size_t *room,
                            struct err *err)
{
    if (follow_ends(e, own, next, room, err) != E_OK)
        return err->code;
    return signals_settle(e, room, err);
}

/* While the engine rests after a failure, only what the batch itself has decided is followed. */
static bool rests(const struct engine *e)
{
    return e->now.steady_at < e->resume_at;
}

static bool is_idle(const struct engine *e)
{
    return e->link_ends.count + e->new_waits.count + e->raised.count + e->hopeful.count == 0 &&
           (!e->has_releases || rests(e));
}

enum err_code links_settle(struct engine *e, struct err *err)
{
    bool works = e->has_releases && !rests(e);
    size_t own = e->link_ends.count;
    size_t room = rows_of(e) + own;
    size_t next = 0;

    if (is_idle(e))
        return E_OK;
    if (submit_flush(e, err) != E_OK || waits_flush(e, err) != E_OK ||
        follow(e, own, &next, &room, err) != E_OK)
        return err->code;
    if (room < rows_of(e) / 2)
        room = rows_of(e) / 2;
    while (works && room > 0 && e->has_releases)
        if (after_work(e, &room, err) != E_OK || follow(e, own, &next, &room, err) != E_OK)
            return err->code;
    return submit_flush(e, err);
}

enum err_code links_load(struct engine *e, struct err *err)
{
    struct stored_release first = {.target = 0};

    if (store_release_next(e->store, &first, err) != E_OK)
        return err->code;
    e->has_releases = first.target != 0;
    return E_OK;
}

bool links_are_due(const struct engine *e)
{
    return e->has_releases;
}

void links_clear(struct engine *e)
{
    VEC_CLEAR(&e->link_ends);
    VEC_CLEAR(&e->new_waits);
    VEC_CLEAR(&e->raised);
    VEC_CLEAR(&e->hopeful);
    e->links_locked = false;
}
