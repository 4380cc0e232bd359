/*
 * When a run ends early because lines have failed: --halt now|soon[,fail=N|N%], as GNU parallel has it.
 *
 * A share is of the lines that were read so far, and judged when that is all of them, or a thousand.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum each_halt_when {
    EACH_HALT_NEVER,
    EACH_HALT_SOON, /* what runs comes to its end */
    EACH_HALT_NOW,  /* what runs is ended, and run again when the run goes on */
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
    int64_t failed; /* since this sitting began */
    int64_t lines;  /* read so far */
    bool all_read;
};

bool each_halt_is_due(const struct each_halt *h, const struct each_halt_facts *facts);
