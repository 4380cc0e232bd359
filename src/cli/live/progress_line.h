/*
 * How far a job is, kept in the last line of the terminal while its log goes by above it.  Where
 * standard error is no terminal, why the job waits is said in lines of their own, each once.
 *
 * A thread asks the server once a second, over a connection of its own, and draws on standard
 * error; it meets the caller's output in one mutex.  The line is lifted before something is printed
 * and lowered after. Every function takes NULL: there is no line then.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/slice.h"
#include "cli/cli.h"

struct progress_line;

/* NULL when JSON is wanted. */
struct progress_line *progress_line_new(const struct cli *cli, struct slice id);
void progress_line_free(struct progress_line *p);

void progress_line_lift(struct progress_line *p);
void progress_line_lower(struct progress_line *p, struct slice printed);

/* Decides which news about a polled job deserve a line. */
struct job_news {
    struct buf told; /* the last line printed; empty: none */
    /* When the attempt began that was running at the last look; empty: none was. */
    struct buf started;
    bool waited; /* for a worker, at the last look */
};

#define JOB_NEWS_MAX 4096
#define JOB_NEWS_INIT \
    ((struct job_news){.told = BUF_INIT(JOB_NEWS_MAX), .started = BUF_INIT(JOB_NEWS_MAX)})
void job_news_deinit(struct job_news *n);

/* Adds why the job waits, when that is news; and that it runs, when something was said before.  It
 * runs when the same attempt was there at the look before: a worker that tries to start the program
 * of a broken queue has the job for a moment.  That a worker is about to take it is no news. */
void job_news_add(struct job_news *n, const json_t *job, int64_t now_at, struct buf *out);

/* The line's text: why the job waits, or how far it is; at most `width` columns.  Empty: nothing to
 * say. */
void progress_line_text(const json_t *job, int64_t now_at, size_t width, struct buf *out);
