/*
 * Ids: where they begin at start, and the clock they are made by (base/id_clock.h).
 *
 * A clock that is far ahead of the store's mark is refused without --trust-clock.  If the mark is
 * far ahead of the clock, new ids stay above the mark, with a warning; with --trust-clock they
 * begin at the clock again, above all that exist up to a year from now.  Ids of the wrong clock
 * stay and sort as the newest; if new ids ever come near them, the engine makes no more.
 */
/* SPDX-License-Identifier: MIT */
#include "engine/batch/ids.h"

#include "base/id_clock.h"
#include "base/os/log.h"
#include "engine/state.h"
#include "store/meta.h"

#define IDS_AHEAD_US (2 * US_PER_S)

int64_t engine_new_id(struct engine *e)
{
    return id_gen_next(&e->ids.gen, e->ids.at);
}

void ids_tick(struct engine *e)
{
    e->ids.at = id_clock_read(&e->ids.clock, e->now.wall_at, e->clocks.caller.steady_at);
}

enum err_code ids_require_room(struct engine *e, struct err *err)
{
    if (id_gen_has_room(&e->ids.gen) && id_time(e->ids.gen.last) + US_PER_DAY < id_time(e->ids.end))
        return E_OK;
    return err_set(err, E_UNAVAILABLE,
                   "no ids are left: a wrong clock made the newest; remove the jobs of "
                   "that time and restart the server");
}

static enum err_code refuse_leap(int64_t mark, int64_t wall_at, struct err *err)
{
    char clock[TIME_TEXT_SIZE];
    char last[TIME_TEXT_SIZE];

    if (id_time(mark) < ID_FIRST_AT + US_PER_DAY)
        return err_set(err, E_UNAVAILABLE,
                       "the clock says %s: set it, or start with --trust-clock if it is right",
                       time_format(wall_at, clock));
    return err_set(err, E_UNAVAILABLE,
                   "the clock says %s, but the store's newest ids are of %.10s: set the clock, or "
                   "start with --trust-clock if it is right",
                   time_format(wall_at, clock), time_format(id_time(mark), last));
}

/* A wrong clock has left the mark far ahead: ids begin at today's clock again. */
static enum err_code come_back(struct engine *e, int64_t *floor, struct err *err)
{
    int64_t clock = id_at_time(e->now.wall_at);
    int64_t below = 0;

    if (store_ids_around(e->store, id_at_time(e->now.wall_at + ID_LEAP_US), &below, &e->ids.end,
                         err) != E_OK)
        return err->code;
    *floor = below > clock ? below : clock;
    return E_OK;
}

static enum err_code meet_later_ids(struct engine *e, int64_t *floor, struct err *err)
{
    char clock[TIME_TEXT_SIZE];
    char last[TIME_TEXT_SIZE];

    log_warn("the store has ids of %.10s, the clock says %.10s: new ids are made %s",
             time_format(id_time(*floor), last), time_format(e->now.wall_at, clock),
             e->config.trust_clock
                 ? "by the clock, which is trusted"
                 : "above those; if the clock is right, restart with --trust-clock");
    return e->config.trust_clock ? come_back(e, floor, err) : E_OK;
}

enum err_code ids_open(struct engine *e, int64_t floor, int64_t newest, struct err *err)
{
    if (id_clock_check(e->now.wall_at, err) != E_OK)
        return err->code;
    if (!e->config.trust_clock && id_start_judge(newest, e->now.wall_at) == ID_START_AHEAD)
        return refuse_leap(newest, e->now.wall_at, err);
    e->ids.end = INT64_MAX;
    if (id_start_judge(floor, e->now.wall_at) == ID_START_BACK &&
        meet_later_ids(e, &floor, err) != E_OK)
        return err->code;
    if (floor == 0)
        floor = id_at_time(e->now.wall_at); /* the first mark tells when the store was made */
    e->ids.mark = floor;
    id_gen_init(&e->ids.gen, e->node, floor);
    id_clock_init(&e->ids.clock, e->now.wall_at, e->clocks.caller.steady_at);
    e->ids.at = e->now.wall_at;
    return E_OK;
}

/* Ids are promised in stretches of time: one write covers all of the next two seconds. */
enum err_code ids_write_mark(struct engine *e, int64_t *ret_mark, struct err *err)
{
    bool covered = e->ids.gen.last < e->ids.mark;

    *ret_mark = covered ? e->ids.mark : id_at_time(id_time(e->ids.gen.last) + IDS_AHEAD_US);
    return shared_sign(e, *ret_mark, err);
}
