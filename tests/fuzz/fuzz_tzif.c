/*
 * Files of time zones: whatever the bytes are, there is a zone or an error, and a zone converts
 * every time in bounded work.
 */
/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "core/time/tzif.h"
#include "driver.h"

#define HEAD(version, changes, types, chars)                                              \
    "TZif" version "000000000000000\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" changes "\0\0\0" types \
    "\0\0\0" chars

#define FIRST_BLOCK HEAD("2", "\0", "\1", "\4") "\0\0\0\0\0\0UTC\0"

static const struct slice seeds[] = {
    SLICE(FIRST_BLOCK HEAD(
        "2", "\2", "\2",
        "\4") "\0\0\0\0\x10\0\0\0\0\0\0\0\x20\0\0\0\1\0\0\0\x0e\x10\0\0\0\0\x1c\x20\1\0CET\0"
              "\nCET-1CEST,M3.5.0,M10.5.0/3\n"),
    SLICE(FIRST_BLOCK HEAD("3", "\0", "\1", "\4") "\xff\xff\x0e\x10\0\0UTC\0"
                                                  "\n<-02>2<-01>,M3.5.0/-1,M10.5.0/0\n"),
    SLICE(HEAD("\0", "\1", "\2", "\4") "\x40\0\0\0\1\0\0\x0e\x10\0\0\0\0\x1c\x20\1\0AAA\0"),
    SLICE(FIRST_BLOCK HEAD("2", "\0", "\1", "\4") "\0\0\0\0\0\0UTC\0\nXXX3EDT4,0/0,J365/23\n"),
};

static const struct slice words[] = {
    SLICE("\xff\xff\xff\xff"),
    SLICE("\x80\0\0\0"),
    SLICE("\0\0\0\0"),
    SLICE("TZif2"),
    SLICE("\n"),
    SLICE("/167"),
    SLICE("/-167"),
    SLICE(",M1.1.0"),
    SLICE(",J365"),
    SLICE(",0"),
    SLICE("-24"),
    SLICE("<AAA>"),
};

static void check_zone(const struct zone *z)
{
    int64_t last = 253402300800 * US_PER_S;

    for (size_t i = 1; i < z->n_changes; i++)
        if (z->changes[i].at_s <= z->changes[i - 1].at_s)
            fuzz_fail("changes %zu and %zu are not in order", i - 1, i);
    for (int64_t t = 0; t < last; t += 41237 * US_PER_DAY + 12345) {
        int64_t next = zone_next_change(z, t);
        int64_t instant = zone_instant(z, t);

        if (next <= t)
            fuzz_fail("the change after %lld is at %lld", (long long)t, (long long)next);
        if (instant < t - 27 * US_PER_HOUR || instant > t + 54 * US_PER_HOUR)
            fuzz_fail("the local time %lld is the instant %lld", (long long)t, (long long)instant);
        if (zone_local(z, instant) < t)
            fuzz_fail("the local time %lld is before its time", (long long)t);
    }
}

static void run(struct slice input)
{
    CLEANUP(zone) struct zone z = ZONE_UTC;
    struct err err = ERR_INIT;
    struct zone_rule rule;

    if (posix_tz_parse(input, &rule))
        check_zone(&(struct zone){.has_rule = true, .rule = rule});
    if (tzif_parse(input, &z, &err) == E_OK)
        check_zone(&z);
    else if (err.code != E_INVALID || z.changes != NULL)
        fuzz_fail("refused with %s", err_name(err.code));
}

const struct fuzz_target fuzz_target = {
    .run = run,
    .seeds = seeds,
    .seed_count = ARRAY_LEN(seeds),
    .words = words,
    .word_count = ARRAY_LEN(words),
};
