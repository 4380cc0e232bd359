/* SPDX-License-Identifier: MIT */
#include "engine/clock/clock.h"

#include <stdlib.h>

#include "engine/clock/zone_read.h"
#include "engine/state.h"

void clock_deinit(struct engine *e)
{
    for (size_t i = 0; i < e->clock.zones.count; i++) {
        zone_deinit(&e->clock.zones.items[i]->zone);
        free(e->clock.zones.items[i]->name);
        free(e->clock.zones.items[i]);
    }
    VEC_DEINIT(&e->clock.zones);
}

void clock_reset(struct engine *e)
{
    e->clock.fire_at = e->clock.expire_at = 0;
    e->clock.was_set = true;
}

void clock_look_at(struct engine *e, int64_t at)
{
    if (at < e->clock.fire_at)
        e->clock.fire_at = at;
    if (at < e->clock.expire_at)
        e->clock.expire_at = at;
}

int64_t clock_next_at(const struct engine *e)
{
    return e->clock.fire_at < e->clock.expire_at ? e->clock.fire_at : e->clock.expire_at;
}

bool clock_is_behind(const struct engine *e)
{
    return e->clock.expire_at <= e->now.wall_at;
}

const struct zone *clock_zone_find(struct engine *e, struct slice name, struct err *err)
{
    static const struct zone utc = {.changes = NULL};
    struct zone zone;

    if (slice_is(name, "UTC"))
        return &utc;
    for (size_t i = 0; i < e->clock.zones.count; i++)
        if (slice_is(name, e->clock.zones.items[i]->name))
            return &e->clock.zones.items[i]->zone;
    if (zone_read(name, &zone, err) != E_OK)
        return NULL;
    struct clock_zone *kept = mem_zalloc(sizeof(*kept));

    kept->zone = zone;
    kept->name = mem_alloc(name.size + 1);
    memcpy(kept->name, name.data, name.size);
    kept->name[name.size] = '\0';
    VEC_PUSH(&e->clock.zones, kept);
    return &kept->zone;
}
