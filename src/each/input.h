/*
 * The input of a run: reads it and submits jobs to the run's server, one for each line or group of
 * lines.
 *
 * A job has its number as its key, so submitting a known job again does nothing, and
 * other content for a known number is refused.  Chunks are sent one at a time, so the store always
 * has a prefix of the input.  Input is read only while there is room.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/buf.h"
#include "base/err.h"
#include "each/items.h"
#include "each/line/command.h"
#include "worker/client/async_client.h"

#define EACH_QUEUE "each"
#define EACH_CHUNK_LINES 1000
#define EACH_CHUNK_BYTES ((size_t)1 << 20) /* a chunk that has more is full */
#define EACH_CHUNK_MAX ((size_t)48 << 20)

struct each_input_hooks {
    void *ctx;
    int64_t (*room)(void *ctx);                 /* number of jobs that may be submitted now */
    void (*on_line)(void *ctx, int64_t number); /* that job goes out with the next chunk */

    /* The server has these jobs; `reply` is its answer, with "ids". */
    void (*on_chunk)(void *ctx, int64_t first, int64_t count, struct slice reply);
    void (*on_end)(void *ctx); /* the whole input is submitted */
    void (*on_fail)(void *ctx, const struct err *err);
};

struct each_input {
    uv_loop_t *loop;
    struct async_client *client;
    const struct each_command *command;
    struct each_input_hooks hooks;

    int in;
    int poll_fd; /* watches `in` for the loop; -1 for a file, which is always ready */
    uv_poll_t poll;
    uv_timer_t pause; /* before a chunk is sent again */
    struct each_items items;
    int64_t bytes; /* read so far */

    struct buf chunk;
    int64_t first; /* number in the chunk */
    int64_t count; /* of its jobs */
    int64_t sent;  /* jobs in chunks that went out */
    struct async_request *under_way;
    int64_t away_since; /* since when the server is unreachable; 0: reachable */
    bool polling;
    bool stopped;
    bool ended;
    struct err bad; /* why the line after the chunk cannot be taken */
};

MUST_CHECK enum err_code each_input_init(struct each_input *f, uv_loop_t *loop,
                                         struct async_client *client,
                                         const struct each_input_hooks *hooks, struct err *err);

/* A chunk: a JSON array of jobs, without its end until it is sent. */
struct each_chunk {
    const struct each_command *command;
    struct slice jobs;
    int64_t first; /* number of its first job */
};

/* Adds the job of these lines to the array.  On failure (E_INVALID: too few columns) nothing was
 * added. */
MUST_CHECK enum err_code each_chunk_add(struct buf *chunk, const struct each_command *c,
                                        const struct each_item *item, struct err *err);

/* Makes the server's error, whose text is `reply`, name the line that it refused. */
enum err_code each_chunk_refused(const struct each_chunk *chunk, struct slice reply,
                                 struct err *err);

/* The error: an unfinished run has more lines than its input. */
enum err_code each_input_is_short(int64_t count, int64_t known, struct err *err);

/* Reads and sends as far as there is room: to be called whenever there is more of it. */
void each_input_go(struct each_input *f);

/* Stops reading and sending.  Hooks are not called afterwards. */
void each_input_stop(struct each_input *f);

/* Closes its handles; the struct stays until the loop has run on. */
void each_input_close(struct each_input *f);
void each_input_deinit(struct each_input *f);
