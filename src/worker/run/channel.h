/*
 * The pipes between a program and the worker: what it prints, what it says, what it is answered.
 *
 * Reading never blocks and is fair: a program that prints without end gets its turn like the others.  A
 * side that the program has closed is not looked at any more.  One thread, the loop's.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include <uv.h>

#include "base/err.h"
#include "base/slice.h"

struct channel;
struct channels;

/* All channels of a loop: one handle of it watches them, so that a program costs the loop nothing. */
MUST_CHECK enum err_code channels_open(uv_loop_t *loop, struct channels **ret_channels,
                                       struct err *err);

/* NULL is fine; all of them are closed.  Memory goes when the loop has run on. */
void channels_close(struct channels *all);

typedef void channel_data_fn(void *ctx, struct slice data);

struct channel_config {
    channel_data_fn *on_output; /* of descriptors 1 and 2 */
    channel_data_fn *on_errors; /* of descriptor 2, if it is not NULL */
    channel_data_fn *on_words;  /* of descriptor 3 */
    void *ctx;
};

/* The program's ends of the pipes: for spawn. */
struct channel_ends {
    int out, words, replies;
    int errors; /* -1: they go where `out` goes */
};

MUST_CHECK enum err_code channel_open(struct channels *all, const struct channel_config *config,
                                      struct channel **ret_channel, struct err *err);

struct channel_ends channel_ends(const struct channel *c);

/* The program runs: its ends are closed here, reading begins. */
void channel_begin(struct channel *c);

/* Reads what is still in the pipes; nobody is left who could write. */
void channel_drain(struct channel *c);

/* Reads what has been printed so far. */
void channel_drain_output(struct channel *c);

/* Words are not read, or read again: the report is full. */
void channel_pause_words(struct channel *c, bool paused);

/* Whole lines for descriptor 4.  A line that does not fit into the pipe is dropped. */
void channel_reply(struct channel *c, struct slice lines);

/* NULL is fine.  May be called from inside a callback of another channel, not of its own. */
void channel_close(struct channel *c);
