/*
 * Input of a connection that is not used yet.
 *
 * Bytes are read into the thread's scratch and mostly used at once; what is left when the
 * connection waits is copied to the heap, at most READ_BLOCK.  An idle connection keeps none.
 *
 * `readable` follows the edges of epoll: true until a read has found the socket empty.  A read
 * that did not fill its room has; so in the steady state a request costs one read.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/slice.h"
#include "server/http/transport.h"

struct input {
    struct slice rest; /* not used yet; in the scratch or in `kept` */
    struct buf kept;
    bool readable;  /* there may be something to read */
    bool is_ending; /* the other end sends nothing more: the end of it has to be read */
};

enum input_result { INPUT_SOME, INPUT_NOTHING, INPUT_END };

void input_init(struct input *in);
void input_deinit(struct input *in);

/* Reads more, behind what is there: at most `max` bytes, which the scratch can hold.
 * INPUT_END: there will be no more, or the connection is broken. */
enum input_result input_fill(struct input *in, struct channel *ch, char *scratch, size_t max);

/* The first `size` bytes have been used. */
void input_take(struct input *in, size_t size);

/* Before the scratch is used for another connection. */
void input_keep(struct input *in);
