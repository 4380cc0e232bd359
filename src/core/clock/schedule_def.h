/*
 * What a schedule is: when it fires, what it makes, and what happens to firings that overlap or
 * were missed.
 *
 * Kept in the store as canonical JSON, members in the order of the table.  Only the form of the
 * zone's name is checked here.  Pure; slices live in the arena.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "core/route/dest.h"
#include "core/time/cron.h"

struct object_faults;

enum { CRON_TEXT_MAX = 1000 };

enum schedule_overlap { OVERLAP_SKIP, OVERLAP_QUEUE, OVERLAP_ALL, OVERLAP_REPLACE };

struct schedule_def {
    struct slice description;
    struct slice cron_text; /* empty: `every` */
    struct cron cron;
    int64_t every_us;   /* 0: `cron` */
    struct slice zone;  /* empty: UTC */
    struct dest target; /* DEST_QUEUE or DEST_TOPIC, with params */
    int64_t jitter_us;
    unsigned overlap;
    int64_t catch_up_us; /* 0: missed firings are only recorded */
    bool catch_up_all;   /* all of them fire, not the latest */
};

extern const struct object schedule_object;

/* Reads a checked JSON object, from outside or from the store.  E_INVALID: "cron: …".  With
 * `faults`, which may be NULL, mistakes in members go there. */
MUST_CHECK enum err_code schedule_def_parse(struct slice json, struct arena *arena,
                                            struct schedule_def *ret_def,
                                            struct object_faults *faults, const char **fault_at,
                                            struct err *err);
MUST_CHECK enum err_code schedule_def_canonical(struct slice json, struct buf *out,
                                                struct err *err);
