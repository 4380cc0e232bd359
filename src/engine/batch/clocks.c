/*
 * What the engine makes of clocks that are set, and of times in which it could not run.
 *
 * Delays and the pauses of retries are lengths: what is due by one moves with the wall clock
 * (clocks_settle).  On a shared store, where every server sees the step, none waits longer than its
 * length from then on.  Instants that people gave stay as they are.
 *
 * Leases go by a clock of their own, engine_lease_at: the steady one, and on a shared store the
 * database's, which all servers can compare with.  That one may be set: all leases get a full
 * period then, as after a pause.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/batch/clocks.h"

#include "base/os/log.h"
#include "engine/batch/transaction.h"
#include "engine/state.h"

#define STEP_US US_PER_S                 /* less is not noticed */
#define STEP_OF_STORE_US (10 * US_PER_S) /* more, as a reply of the database may take a while */
#define STEP_TOLD_US US_PER_MIN
#define OUTAGE_LEAST_US (250 * US_PER_MS)

int64_t engine_lease_at(const struct engine *e)
{
    return shared_sets_clock(e) ? e->now.wall_at : e->now.steady_at;
}

/* An outage counts for leases of up to four times its length: longer ones could be renewed before
 * or after it.  Otherwise a disk that is slow at times would keep all leases for ever. */
static void note_outage(struct engine *e, int64_t us)
{
    int64_t size_us = OUTAGE_LEAST_US;

    for (int i = 0; i < OUTAGE_SIZES && size_us <= us; i++, size_us *= 2)
        e->clocks.outages[i] = engine_lease_at(e);
}

void clocks_outage(struct engine *e)
{
    note_outage(e, TIME_NEVER);
}

int64_t clocks_outage_at(const struct engine *e, int64_t lease_us)
{
    int64_t size_us = OUTAGE_LEAST_US;
    int i = 0;

    for (; i + 1 < OUTAGE_SIZES && size_us * 4 < lease_us; i++)
        size_us *= 2;
    return e->clocks.outages[i];
}

static void tell_step(const struct engine *e, int64_t step_us)
{
    char length[DURATION_TEXT_SIZE];
    int64_t size_us = step_us < 0 ? -step_us : step_us;
    int64_t unit_us = size_us < 2 * US_PER_DAY ? US_PER_MIN : US_PER_DAY;

    if (size_us >= STEP_TOLD_US)
        log_warn("%s was set %s by %s", shared_sets_clock(e) ? "the database's clock" : "the clock",
                 step_us < 0 ? "back" : "forward",
                 duration_format((size_us + unit_us / 2) / unit_us * unit_us, length));
}

static void stepped(struct engine *e, int64_t step_us)
{
    tell_step(e, step_us);
    e->clocks.step_us += step_us;
    e->sweep.due_at = e->sweep.retain_at = e->sweep.subscribers_at = 0;
    gates_forget(e);
    clock_reset(e);
    if (!shared_sets_clock(e))
        return;
    /* The leases' own clock was set: times that were noted by it are void. */
    clocks_outage(e);
    for (size_t i = 0; i < e->claims.heap.count; i++)
        e->claims.heap.items[i]->check_at = engine_lease_at(e); /* all alike: it stays a heap */
}

enum err_code clocks_settle(struct engine *e, struct err *err)
{
    if (e->clocks.step_us == 0)
        return E_OK;
    e->batch.settled_step_us = e->clocks.step_us;
    if (engine_write(e, err) != E_OK)
        return err->code;
    if (e->gates.in_force && store_gates_bound(e->store, e->now.wall_at, err) != E_OK)
        return err->code;
    return shared_move_due(e, e->clocks.step_us, err);
}

void clocks_read(struct engine *e, struct now now)
{
    int64_t step_us = clock_step_us(e->clocks.caller, now);

    e->clocks.caller = now;
    e->now = shared_now(e, now);
    if (!shared_sets_clock(e) && (step_us > STEP_US || step_us < -STEP_US))
        stepped(e, step_us);
    note_outage(e, e->clocks.away_us);
    e->clocks.away_us = 0;
    ids_tick(e);
}

void clocks_of_store(struct engine *e, int64_t now_at)
{
    if (!e->config.clock_of_store)
        return;
    int64_t step_us = now_at - e->now.wall_at;
    bool is_step = e->shared.store_ahead_us != 0 &&
                   (step_us > STEP_OF_STORE_US || step_us < -STEP_OF_STORE_US);

    e->shared.store_ahead_us = now_at - e->clocks.caller.steady_at - e->clocks.caller.asleep_us;
    e->now.wall_at = now_at;
    if (is_step)
        stepped(e, step_us);
    ids_tick(e);
}

struct now engine_clock(const struct engine *e)
{
    return e->config.clock != NULL ? e->config.clock() : e->clocks.caller;
}

void engine_was_away(struct engine *e, int64_t us)
{
    e->clocks.away_us = us;
}

bool engine_has_leases(const struct engine *e)
{
    return e->claims.heap.count > 0;
}
