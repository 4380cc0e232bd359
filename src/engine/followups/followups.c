/* SPDX-License-Identifier: MIT */
#include "engine/followups/followups.h"

#include "engine/followups/follow.h"
#include "engine/followups/pending_wakeups.h"
#include "engine/followups/revive.h"
#include "engine/followups/signal.h"
#include "engine/followups/spread.h"
#include "engine/followups/waiter.h"
#include "engine/jobs/submit.h"
#include "engine/state.h"
#include "store/links/fanout.h"
#include "store/links/links.h"
#include "store/shared.h"

/* Waits that one commit judges, in addition to one for each end of the batch; older releases get at
 * least half of it.  On a shared store each wait takes several round trips while rows are locked:
 * over a slow link one commit judges fewer. */
enum { FOLLOWUP_ROWS = 1000, FOLLOWUP_ROWS_SHARED = 200, FOLLOWUP_ROWS_MIN = 4 };

#define QUICK_US (2 * US_PER_MS) /* a round trip; slower ones reduce the rows */

static size_t rows_of(const struct engine *e)
{
    if (e->config.settle_rows > 0)
        return e->config.settle_rows;
    if (!must_ask_store(e))
        return FOLLOWUP_ROWS;
    int64_t round_us = store_round_us(e->store);
    int64_t rows = round_us <= QUICK_US ? FOLLOWUP_ROWS_SHARED
                                        : FOLLOWUP_ROWS_SHARED * QUICK_US / round_us;

    return rows < FOLLOWUP_ROWS_MIN ? FOLLOWUP_ROWS_MIN : (size_t)rows;
}

/* Whether the end has destinations in its queue's definition. */
static bool queue_leads(const struct engine *e, const struct followup_end *end)
{
    if (end->queue == 0 || (end->whole && end->routed))
        return false;
    const struct queue *q = queue_by_id(e, end->queue);

    return (end->state == JOB_DONE && q->def.on_success.count > 0) ||
           (end->state == JOB_FAILED && q->def.on_failure.count > 0);
}

void followups_add(struct engine *e, const struct followup_end *end)
{
    if (end->awaited || end->has_dests || queue_leads(e, end))
        VEC_PUSH(&e->batch.followups.ends, *end);
}

/* Follows the destinations of each end, and wakes as many of the jobs that wait for it as `room`
 * allows.  The list grows meanwhile: a new job that cannot run ends as soon as it is written. */
static enum err_code follow_ends(struct engine *e, size_t *room, struct err *err)
{
    for (size_t i = 0; i < e->batch.followups.ends.count; i++) {
        struct followup_end end = e->batch.followups.ends.items[i];

        *room -= *room > 0;
        if (!job_is_skipped(e, end.job) && follow_end(e, &end, err) != E_OK)
            return skip_damaged_job(e, end.job, err);
        if (wakeups_for_end(e, &end, room, err) != E_OK)
            return err->code;
        if (i + 1 == e->batch.followups.ends.count && submit_flush(e, err) != E_OK)
            return err->code;
    }
    VEC_CLEAR(&e->batch.followups.ends);
    return E_OK;
}

/* Signals come after ends: a destination may raise one, and a signal ends nothing. */
static enum err_code follow(struct engine *e, size_t *room, struct err *err)
{
    if (submit_flush(e, err) != E_OK || waits_flush(e, err) != E_OK ||
        follow_ends(e, room, err) != E_OK || signals_settle(e, room, err) != E_OK)
        return err->code;
    return submit_flush(e, err);
}

static bool has_news(const struct engine *e)
{
    return e->batch.followups.ends.count + e->batch.followups.new_waits.count +
               e->batch.followups.raised_signals.count + e->batch.followups.signal_waiters.count >
           0;
}

/* Rows that the batch may still use, plus one for each of its own ends. */
static size_t room_of(const struct engine *e)
{
    size_t left = rows_of(e) > e->batch.followups.rows_used
                      ? rows_of(e) - e->batch.followups.rows_used
                      : 0;

    return left + e->batch.followups.ends.count;
}

enum err_code followups_follow(struct engine *e, struct err *err)
{
    size_t all = room_of(e);
    size_t room = all;

    if (!has_news(e))
        return E_OK;
    /* One new job for each end only doubles what the batch wrote.  Ends of jobs that are created
     * here add nothing. */
    e->batch.followups.fanout.rows += e->batch.followups.ends.count;
    e->followups.fanout_rounds = store_traffic(e->store).rounds;
    enum err_code code = follow(e, &room, err);

    e->batch.followups.rows_used += all - room;
    return code;
}

void fanouts_pause(struct engine *e)
{
    e->followups.fanouts_busy = true;
    e->followups.fanouts_at = e->now.steady_at + LOCKED_PAUSE_US;
}

/* Counts the round trips since the last call, which matter on a slow link. */
bool fanout_is_used_up(struct engine *e)
{
    int64_t rounds = store_traffic(e->store).rounds;

    fanout_use_rounds(&e->batch.followups.fanout, (size_t)(rounds - e->followups.fanout_rounds));
    e->followups.fanout_rounds = rounds;
    return fanout_is_full(&e->batch.followups.fanout);
}

typedef enum err_code fanout_work_fn(struct engine *e, bool *ret_over, struct err *err);

/* What a commit may create, given the latest round-trip time. */
static struct fanout link_max(const struct engine *e)
{
    return fanout_over_link(&e->followups.fanout_max, store_round_us(e->store));
}

void fanout_learn(struct engine *e)
{
    if (!e->batch.followups.works_off)
        return;
    /* Fewer rows do not make the round trips of a slow link any shorter. */
    int64_t took_us = fanout_took_us(engine_clock(e).steady_at - e->clocks.caller.steady_at,
                                     store_traffic(e->store).rounds - e->batch.rounds_before,
                                     store_round_us(e->store));

    e->followups.fanout_pace = fanout_pace(e->followups.fanout_pace, took_us,
                                           fanout_is_full(&e->batch.followups.fanout));
}

/* Continues publications and ends of earlier batches.  The kinds take turns in being first, so that
 * neither waits for all of the other. */
static enum err_code work_off(struct engine *e, size_t *room, struct err *err)
{
    static fanout_work_fn *const kinds[] = {spread_work, follow_work};
    size_t n_over = 0;

    if (!e->followups.has_fanouts || e->now.steady_at < e->followups.fanouts_at || sweep_rests(e))
        return E_OK;
    struct fanout max = link_max(e);

    e->batch.followups.fanout = fanout_for_rest(&e->batch.followups.fanout, &max,
                                                e->followups.fanout_pace);
    e->followups.fanout_rounds = store_traffic(e->store).rounds;
    e->followups.fanout_turn = !e->followups.fanout_turn;
    e->batch.followups.works_off = true;
    e->followups.fanouts_busy = false;
    while (n_over < ARRAY_LEN(kinds) && !fanout_is_used_up(e)) {
        bool over = false;

        if (kinds[(n_over + e->followups.fanout_turn) % ARRAY_LEN(kinds)](e, &over, err) != E_OK ||
            follow(e, room, err) != E_OK)
            return err->code;
        n_over += over;
        if (over) /* a query that found nothing does not count against the other kind */
            e->followups.fanout_rounds = store_traffic(e->store).rounds;
    }
    e->followups.has_fanouts = e->batch.followups.fanouts_from != 0 || n_over < ARRAY_LEN(kinds) ||
                               e->followups.fanouts_busy;
    if (n_over < ARRAY_LEN(kinds))
        e->followups.fanouts_at = 0; /* there is more to do than the locked ones: no pause */
    return E_OK;
}

enum err_code followups_settle(struct engine *e, struct err *err)
{
    if (followups_follow(e, err) != E_OK)
        return err->code;
    bool over = !e->followups.has_wakeups || e->now.steady_at < e->followups.wakeups_at ||
                e->batch.followups.wakeups_new || sweep_rests(e);
    size_t room = room_of(e);

    if (room < rows_of(e) / 2)
        room = rows_of(e) / 2;
    while (!over && room > 0)
        if (pending_wakeups_work(e, &room, &over, err) != E_OK || follow(e, &room, err) != E_OK)
            return err->code;
    over = !e->followups.has_revivals || (sweep_rests(e) && !e->batch.followups.revivals_new);
    while (!over && room > 0)
        if (revive_work(e, &room, &over, err) != E_OK || follow(e, &room, err) != E_OK)
            return err->code;
    return work_off(e, &room, err);
}

enum err_code followups_load(struct engine *e, struct err *err)
{
    e->followups.has_revivals = true; /* the first batch checks */
    if (store_fanout_any(e->store, &e->followups.has_fanouts, err) != E_OK)
        return err->code;
    return store_release_any(e->store, &e->followups.has_wakeups, err);
}

bool followups_are_due(const struct engine *e)
{
    return e->now.steady_at >= followups_due_at(e);
}

int64_t followups_due_at(const struct engine *e)
{
    int64_t due_at = e->followups.has_wakeups || e->followups.has_revivals ? e->followups.wakeups_at
                                                                           : TIME_NEVER;

    return e->followups.has_fanouts && e->followups.fanouts_at < due_at ? e->followups.fanouts_at
                                                                        : due_at;
}

void followups_clear(struct engine *e)
{
    VEC_CLEAR(&e->batch.followups.ends);
    VEC_CLEAR(&e->batch.followups.new_waits);
    VEC_CLEAR(&e->batch.followups.raised_signals);
    VEC_CLEAR(&e->batch.followups.signal_waiters);
    VEC_CLEAR(&e->batch.followups.join_firings);
    e->batch.followups.wakeups_new = e->batch.followups.wakeups_left =
        e->batch.followups.revivals_new = false;
    e->batch.followups.wakeups_past = 0;
    e->batch.followups.rows_used = 0;
    e->batch.followups.fanout = link_max(e);
    e->batch.followups.works_off = false;
    e->batch.followups.fanouts_from = 0;
}

void followups_deinit(struct engine *e)
{
    VEC_DEINIT(&e->batch.followups.ends);
    VEC_DEINIT(&e->batch.followups.new_waits);
    VEC_DEINIT(&e->batch.followups.raised_signals);
    VEC_DEINIT(&e->batch.followups.signal_waiters);
    VEC_DEINIT(&e->batch.followups.join_firings);
}
