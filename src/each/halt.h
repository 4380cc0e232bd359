/*
 * When a run ends early because lines have failed: --halt now|soon[,fail=N|N%], as GNU parallel has
 * it.
 *
 * A percentage is of the lines read so far; it is checked when all, or at least 1000, are read.
 * Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum each_halt_when {
    EACH_HALT_NEVER,
    EACH_HALT_SOON, /* running programs finish */
    EACH_HALT_NOW,  /* running programs are stopped; a later run starts them again */
};

struct each_halt {
    enum each_halt_when when;
    int64_t count;   /* failures; 0: `percent` counts */
    int64_t percent; /* of the lines */
};

/* E_INVALID: it is of another form. */
MUST_CHECK enum err_code each_halt_parse(const char *text, struct each_halt *ret_halt,
                                         struct err *err);

struct each_halt_facts {
    int64_t failed; /* since this process started */
    int64_t lines;  /* read so far */
    bool all_read;
};

bool each_halt_is_due(const struct each_halt *h, const struct each_halt_facts *facts);
