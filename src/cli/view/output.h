/*
 * The way out: everything that the command line prints for people passes here, on its way from
 * stdio to the descriptor.
 *
 * Text from outside (names, params, errors, logs) may hold what a terminal obeys: colours, cursor
 * moves, titles, links, answers that it types by itself.  What verbs print through `stdout` and
 * `stderr` leaves with such characters made visible; only the few codes that the command line
 * itself uses stay.  So a verb that forgets to clean a value does no harm.  (That a value stays on
 * its line is for clean_text, in screen.h.)
 *
 * A job's log is byte-exact in a file or pipe.  On a terminal it keeps its colours and loses the
 * rest: see safe_add.  JSON (--json) is written as it is there, too; on a terminal the characters
 * that it would obey become \uXXXX, which is the same JSON.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/slice.h"

enum safe_kind {
    SAFE_TEXT,   /* our text: our colours stay, whatever else is a control is shown */
    SAFE_STATUS, /* the same for lines that are drawn again and again: CR, "erase line" and
                    "up" stay */
    SAFE_LOG,    /* a log: colours stay, other sequences and bells are dropped, CR begins a line */
    SAFE_JSON,   /* JSON: what is not printable becomes \uXXXX */
    SAFE_EXACT,  /* as it is */
};

#define SAFE_HELD_MAX 64

/* A text that comes in pieces. */
struct safe {
    enum safe_kind kind;
    bool in_string; /* SAFE_LOG: inside a title, a link or the like, which is dropped */
    bool coloured;  /* SAFE_LOG: a colour was set and not reset */
    size_t n_held;  /* the beginning of a character or sequence whose end has not come */
    char held[SAFE_HELD_MAX];
};

/* Appends the piece as a terminal may see it. */
void safe_add(struct safe *s, struct slice piece, struct buf *out);

/* The text has ended: appends what was held back, and the end of colours.  It may begin anew. */
void safe_end(struct safe *s, struct buf *out);

/* A stream of stdio whose bytes pass through safe_add. */
struct output {
    struct safe safe;
    int fd;
    bool terminal;
    FILE *stream;
};

enum outputs_for { OUTPUTS_TEXT, OUTPUTS_JSON };

struct outputs {
    struct output out;
    struct output err;
    struct safe log;  /* the log that is being printed */
    FILE *before_out; /* stdout and stderr, to be put back */
    FILE *before_err;
};

/* From here on stdout and stderr are safe; stdout for text or for JSON.  Flush stdout before
 * outputs_close, which puts the old ones back: that is where a write error is seen. */
void outputs_open(struct outputs *o, enum outputs_for what);
void outputs_close(struct outputs *o);

/* Draws on standard error: lines of progress, which may go up, begin with CR and erase what stood
 * there.
 * The only way for those: in `stderr` they are made visible like all other controls. */
void output_status(struct slice text);

/* Prints a piece of a log; SAFE_LOG on a terminal, as it is elsewhere.  Errors are stdout's. */
void output_log(struct outputs *o, struct slice data);
void output_log_end(struct outputs *o);
