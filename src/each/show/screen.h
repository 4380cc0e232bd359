/*
 * The bar of a run on the terminal, which it may share with the run's output.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "own/bar.h"
#include "own/rate_meter.h"

struct each_screen {
    bool has_bar; /* standard error is a terminal */
    bool shares;  /* and so is standard output */
    bool shown;
    struct rate_meter meter;
};

void each_screen_init(struct each_screen *s);

/* Computes the rate from the progress.  `last` is the last byte printed: the bar is on a separate
 * line. */
void each_screen_draw(struct each_screen *s, struct progress *p, char *last);
void each_screen_erase(struct each_screen *s);

/* Erases the bar; the next output starts a line. */
void each_screen_end(struct each_screen *s, char last);

/* "waybill: …" on standard error, where the bar is not. */
void each_screen_say(struct each_screen *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
