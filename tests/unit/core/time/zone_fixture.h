/*
 * Zones of the system for tests, and instants written as people do.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/os/zone_file.h"
#include "core/time/tzif.h"
#include "testing.h"

/* Meson counts 77 as skipped. */
static inline void skip_without_zones(void)
{
    if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK) == 0)
        return;
    printf("SKIP: there are no time zones in /usr/share/zoneinfo; install tzdata\n");
    exit(77);
}

static inline struct zone zone_named(const char *name)
{
    CLEANUP(buf) struct buf bytes = BUF_INIT(ZONE_FILE_MAX);
    struct zone z = ZONE_UTC;
    struct err err = ERR_INIT;

    if (zone_file_read("/usr/share/zoneinfo", slice_of(name), &bytes, &err) != E_OK ||
        tzif_parse(buf_slice(&bytes), &z, &err) != E_OK)
        fail_msg("%s: %s", name, err.msg);
    return z;
}

static inline int64_t at(const char *text)
{
    int64_t value = 0;
    struct err err = ERR_INIT;

    if (time_parse(slice_of(text), &value, &err) != E_OK)
        fail_msg("%s", err.msg);
    return value;
}

#define assert_instant(got, want)                                           \
    do {                                                                    \
        char got_[TIME_TEXT_SIZE];                                          \
        if ((got) != at(want))                                              \
            fail_msg("%s instead of %s", time_format((got), got_), (want)); \
    } while (0)
