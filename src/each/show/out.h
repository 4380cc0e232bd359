/*
 * Standard output in the loop: whole outputs, one after the other, without ever blocking the loop.
 *
 * The descriptor is shared and its flags stay unchanged: if it is no file, only as much is written
 * at once as is sure to be taken.  A line is marked as printed when the last byte of all that it
 * has printed is out, on whichever of the two outputs that comes.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/buf.h"
#include "base/slice.h"
#include "base/vec.h"
#include "cli/view/output.h"
#include "each/order.h"
#include "each/printed.h"

/* Above this nothing more should be added. */
#define EACH_OUT_FULL ((size_t)1 << 20)

struct each_out;

struct each_out_line {
    int64_t line;
    uint64_t end; /* where its output ends, counted from the start of all output */
    const struct each_out *other;
    uint64_t other_end; /* where what it has printed ends there */
};

struct each_out_hooks {
    void *ctx;
    void (*before_write)(void *ctx);
    void (*on_room)(void *ctx);            /* all of it is out */
    void (*on_fail)(void *ctx, int fault); /* once; nothing is written afterwards */
};

struct each_out {
    int fd;
    int poll_fd; /* watches fd for the loop; -1 for a file, which is always ready */
    uv_poll_t poll;
    uv_prepare_t prepare; /* writes what one turn of the loop has brought, at its end */
    struct each_out_hooks hooks;
    struct each_printed *printed_lines;
    struct buf data;
    size_t written;  /* of data */
    uint64_t before; /* bytes that were in data and are out */
    VEC(struct each_out_line) lines;
    size_t lines_out; /* of lines */
    bool failed;
    bool is_optional;    /* when it has failed, what would have gone there counts as printed */
    enum safe_kind kind; /* SAFE_EXACT unless it is a terminal (output.h) */
    char last;           /* byte written; a newline at first */
};

MUST_CHECK enum err_code each_out_init(struct each_out *o, uv_loop_t *loop, int fd,
                                       struct each_printed *printed_lines,
                                       const struct each_out_hooks *hooks, struct err *err);

/* Closes its handles; the struct stays until the loop has run on. */
void each_out_close(struct each_out *o);
void each_out_deinit(struct each_out *o);

/* Adds the output of a line.  `out` and `errors` may be the same; the errors then follow the
 * output. */
void each_out_add(struct each_out *out, struct each_out *errors, int64_t line,
                  const struct each_output *output);

static inline size_t each_out_pending(const struct each_out *o)
{
    return o->data.size - o->written;
}
