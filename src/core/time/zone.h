/*
 * Time zones: the local time of an instant, and the instant of a local time.
 *
 * Local times are microseconds since 1970-01-01T00:00 on the clocks of the zone; US_PER_DAY divides
 * them into dates.  Where clocks are moved forward a local time does not exist: it stands for the
 * instant after the gap.  Where they are moved back it comes twice: it stands for the first.  So a
 * later local time never stands for an earlier instant.
 *
 * Pure; core/time/tzif.h makes a zone out of bytes.  A zone is only read once it is made, by any
 * thread.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* From this second on (UTC) clocks are ahead of UTC by offset_s. */
struct zone_change {
    int64_t at_s;
    int32_t offset_s;
};

enum zone_day_kind {
    ZONE_DAY_OF_YEAR,  /* 0 to 365, leap days are counted */
    ZONE_DAY_NO_LEAP,  /* 1 to 365, 29 February is never counted */
    ZONE_DAY_OF_MONTH, /* the week-th weekday of a month; week 5 is the last */
};

/* A day of each year, and the second of that day (-167 h to 167 h) at which clocks change. */
struct zone_day {
    enum zone_day_kind kind;
    int day;
    int month, week, weekday;
    int32_t time_s;
};

/* What holds after the last change of the table, for ever. */
struct zone_rule {
    int32_t standard_s, summer_s;
    bool has_summer;
    struct zone_day begins, ends; /* of summer time, in the time before the change */
};

struct zone {
    struct zone_change *changes; /* by time, no two at once */
    size_t n_changes;
    int32_t first_s; /* the offset before the first change */
    bool has_rule;
    struct zone_rule rule;
};

#define ZONE_UTC ((struct zone){.changes = NULL})

void zone_deinit(struct zone *z);
CLEANUP_BY_DEINIT(zone)

/* How far clocks are ahead of UTC at that instant. */
int64_t zone_offset_us(const struct zone *z, int64_t at);

/* The first change after the instant, of which some change nothing; TIME_NEVER if there is none up
 * to the end of 9999. */
int64_t zone_next_change(const struct zone *z, int64_t at);

/* The local time of an instant. */
int64_t zone_local(const struct zone *z, int64_t at);

/* The instant of a local time, as said above. */
int64_t zone_instant(const struct zone *z, int64_t local);
