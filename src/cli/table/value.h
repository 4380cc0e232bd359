/*
 * Values on the command line: are they what the table says they are?
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "cli/table/command.h"

/* E_INVALID with the cause. */
MUST_CHECK enum err_code value_check(const struct value_spec *spec, const char *text,
                                     struct err *err);

/* RFC 3339; or by the local clock `YYYY-MM-DD HH:MM[:SS]`, `YYYY-MM-DD`, and `HH:MM[:SS]` for the
 * next time the clock shows that. */
MUST_CHECK enum err_code value_time(const char *text, int64_t now_at, int64_t *ret_at,
                                    struct err *err);

/* The same, or how long ago it was: `2h`.  `HH:MM` is the last time the clock showed that. */
MUST_CHECK enum err_code value_since(const char *text, int64_t now_at, int64_t *ret_at,
                                     struct err *err);

struct value_pair {
    struct slice key;
    struct slice value;
    bool is_json;
};

/* Splits K=V, and K:=JSON where the type allows it.  An empty key: it has no such form. */
struct value_pair value_pair_of(const struct value_spec *spec, const char *text);

/* The id in `ID` or in a job's URL; empty when there is none. */
struct slice value_job(const char *text);
