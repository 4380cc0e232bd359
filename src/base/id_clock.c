/* SPDX-License-Identifier: MIT */
#include "base/id_clock.h"

#include "base/id.h"

#define WRITTEN_AT INT64_C(1793491200000000) /* 2026-11-01 */
#define NEW_LEAP_US (20 * ID_LEAP_US)

void id_clock_init(struct id_clock *c, int64_t seen_at, int64_t steady_at)
{
    *c = (struct id_clock){.seen_at = seen_at, .steady_at = steady_at};
}

int64_t id_clock_read(struct id_clock *c, int64_t wall_at, int64_t steady_at)
{
    int64_t counted_at = c->seen_at + (steady_at - c->steady_at);
    int64_t at = wall_at - counted_at > ID_LEAP_US ? counted_at : wall_at;

    id_clock_init(c, at > counted_at ? at : counted_at, steady_at);
    return at;
}

enum err_code id_clock_check(int64_t wall_at, struct err *err)
{
    char text[TIME_TEXT_SIZE];

    if (wall_at >= ID_FIRST_AT && wall_at < ID_LAST_AT)
        return E_OK;
    return err_set(
        err, E_UNAVAILABLE,
        "the clock says %s, ids can be made from 2024 until September 2093: set the clock",
        time_format(wall_at, text));
}

enum id_start id_start_judge(int64_t mark, int64_t wall_at)
{
    if (id_time(mark) < ID_FIRST_AT + US_PER_DAY)
        return wall_at - WRITTEN_AT > NEW_LEAP_US ? ID_START_AHEAD : ID_START_ON;
    int64_t ahead_us = wall_at - id_time(mark);

    return ahead_us > ID_LEAP_US    ? ID_START_AHEAD
           : ahead_us < -ID_LEAP_US ? ID_START_BACK
                                    : ID_START_ON;
}
