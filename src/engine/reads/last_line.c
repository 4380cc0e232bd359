/*
 * The last line that a failed job has printed.
 *
 * In a route it is the last line of the step that failed: final steps run after it and print, too.
 */
/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/job/last_line.h"
#include "engine/reads/internal.h"
#include "store/jobs/logs.h"
#include "store/jobs/record.h"

/* The last failed attempt of a step, and where its part of the log is. */
struct failed_attempt {
    int step;
    int64_t number;
    int64_t from, to;
    struct buf *tail;
};

static void take_entry(void *ctx, const struct progress_entry *entry)
{
    struct failed_attempt *a = ctx;

    if (entry->number == a->step && entry->outcome != JOB_OUT_DONE)
        a->number = entry->seq;
}

static void take_mark(void *ctx, const struct log_mark *mark)
{
    struct failed_attempt *a = ctx;

    if (mark->kind != LOG_MARK_ATTEMPT)
        return;
    if (mark->value <= a->number)
        a->from = mark->offset;
    else if (a->to == INT64_MAX)
        a->to = mark->offset;
}

static void take_piece(void *ctx, int64_t first, struct slice data)
{
    struct failed_attempt *a = ctx;
    int64_t skipped = a->from > first ? a->from - first : 0;
    int64_t end = a->to - first < (int64_t)data.size ? a->to - first : (int64_t)data.size;

    if (skipped < end)
        buf_add(a->tail, data.data + skipped, (size_t)(end - skipped));
}

static enum err_code read_failed(struct query_view *v, const struct job *j, struct buf *tail,
                                 struct err *err)
{
    struct failed_attempt a = {.step = j->failed_step, .to = INT64_MAX, .tail = tail};

    if (store_progress_load(v->store, j->id.v, take_entry, &a, err) != E_OK ||
        store_log_marks(v->store, j->id.v, take_mark, &a, err) != E_OK)
        return err->code;
    if (a.to == INT64_MAX && store_log_size(v->store, j->id.v, &a.to, err) != E_OK)
        return err->code;
    if (a.to - a.from > LAST_LINE_TAIL)
        a.from = a.to - LAST_LINE_TAIL;
    return store_log_read(v->store, j->id.v, a.from, a.to, take_piece, &a, err);
}

enum err_code query_add_last_line(struct buf *b, struct query_view *v, const struct job *j,
                                  struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf failed = BUF_INIT(LAST_LINE_TAIL);
    CLEANUP(buf) struct buf line = BUF_INIT(LAST_LINE_MAX);
    struct slice tail = {0};

    if (j->state != JOB_FAILED)
        return E_OK;
    if (j->failed_step != 0 && j->failed_step != j->step) {
        if (read_failed(v, j, &failed, err) != E_OK)
            return err->code;
        tail = buf_slice(&failed);
    } else if (store_log_tail(v->store, j->id.v, LAST_LINE_TAIL, &arena, &tail, err) != E_OK) {
        return err->code;
    }
    last_line_add(&line, tail);
    if (line.size > 0)
        jtext_put_string(b, "last_line", buf_slice(&line));
    return E_OK;
}
