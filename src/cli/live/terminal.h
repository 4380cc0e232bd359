/*
 * The terminal as a live screen: alternate screen, single keys, signals.
 *
 * However the process ends while the screen is open (but for kill -9), the terminal is as it was
 * before: INT, TERM, HUP and QUIT restore it and end the process, TSTP restores it for the time of
 * the stop. There is one screen in a process.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

enum terminal_event {
    TERMINAL_TIMEOUT,
    TERMINAL_HEARD,  /* the other descriptor is readable */
    TERMINAL_RESIZE, /* or continued after a stop: draw again */
    TERMINAL_KEY,
};

/* Standard output must be a terminal; keys come from standard input if that is one, too. */
MUST_CHECK enum err_code terminal_open(struct err *err);
void terminal_close(void);

/* Keys that are no characters. */
enum {
    KEY_ESCAPE = 256,
    KEY_UP,
    KEY_DOWN,
    KEY_RIGHT,
    KEY_LEFT,
    KEY_HOME,
    KEY_END,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_UNKNOWN,
};

/* Waits at most this long (< 0: for ever) for an event; a key, or a byte of a character, is in
 * *ret_key. */
enum terminal_event terminal_wait(int other_fd, int64_t timeout_us, int *ret_key);

/* Replaces the screen by the first `height` lines of the text. */
void terminal_draw(struct slice text, int height);
