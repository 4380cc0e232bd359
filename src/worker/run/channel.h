/*
 * The pipes between a program and the worker: output, words, replies.
 *
 * Reading never blocks and is fair: a program that prints without end gets its turn like the
 * others.  A pipe that the program has closed is not watched any more.  One thread, the loop's.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include <uv.h>

#include "base/err.h"
#include "base/slice.h"

struct channel;
struct channels;

/* All channels of a loop.  One libuv handle watches them all. */
MUST_CHECK enum err_code channels_open(uv_loop_t *loop, struct channels **ret_channels,
                                       struct err *err);

/* Accepts NULL.  All channels must be closed.  The memory is freed when the loop runs next. */
void channels_close(struct channels *all);

typedef void channel_data_fn(void *ctx, struct slice data);

struct channel_config {
    channel_data_fn *on_output; /* of descriptors 1 and 2 */
    channel_data_fn *on_errors; /* of descriptor 2; NULL: on_output gets it */
    channel_data_fn *on_words;  /* of descriptor 3 */
    void *ctx;
};

/* The program's ends of the pipes, for spawn. */
struct channel_ends {
    int out, words, replies;
    int errors; /* -1: the same as `out` */
};

MUST_CHECK enum err_code channel_open(struct channels *all, const struct channel_config *config,
                                      struct channel **ret_channel, struct err *err);

struct channel_ends channel_ends(const struct channel *c);

/* The program runs: closes its ends here and begins to read. */
void channel_begin(struct channel *c);

/* Reads what is left in the pipes; no process is left that could write. */
void channel_drain(struct channel *c);

/* Reads what has been printed so far. */
void channel_drain_output(struct channel *c);

/* Pauses or resumes reading words. */
void channel_pause_words(struct channel *c, bool paused);

/* Writes whole lines to descriptor 4.  A line that does not fit into the pipe is dropped. */
void channel_reply(struct channel *c, struct slice lines);

/* Accepts NULL.  Callable from a callback of another channel, but not of this one. */
void channel_close(struct channel *c);
