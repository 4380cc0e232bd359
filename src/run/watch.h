/*
 * Watches a machine until nothing is left, or nothing can go on, or a signal comes.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/err.h"
#include "run/machine.h"

struct look;

struct watch_options {
    bool no_wait;  /* all that is left must wait: enough */
    bool may_come; /* requests from outside may release what is stuck: --listen */
};

enum watch_end {
    WATCH_DONE,
    WATCH_WAITS,  /* with no_wait: all that is left must wait */
    WATCH_STUCK,  /* nothing that is left can go on */
    WATCH_SIGNAL, /* *ret_signal came */
};

/* INT, TERM and HUP are blocked from here on, unless they are ignored: start the server before. */
int watch_signals(void);

/* *look is the last look, with waits if something waits.  E_UNAVAILABLE: the server is gone. */
MUST_CHECK enum err_code watch_until_end(const struct machine *m, const struct watch_options *o,
                                         int signal_fd, struct look *look, enum watch_end *ret_end,
                                         int *ret_signal, struct err *err);
