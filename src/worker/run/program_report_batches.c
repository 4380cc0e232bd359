/*
 * Jobs on their way to the server: `emit!`s and cursors, sent at once, and chunks of the emitted
 * jobs when they are too many for one finish.
 */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "worker/run/program_report_internal.h"

void report_free_batches(struct program_report *a)
{
    for (size_t i = 0; i < a->entries.count; i++)
        free(a->entries.items[i].json);
    VEC_DEINIT(&a->entries);
    buf_deinit(&a->body);
}

void report_add_entry(struct program_report *a, struct slice json, bool cursor)
{
    VEC_PUSH(&a->entries, ((struct report_entry){.json = mem_strndup(json.data, json.size),
                                                 .size = json.size,
                                                 .reply = report_reply_later(a),
                                                 .cursor = cursor}));
    a->entries_size += json.size;
}

/* ---- batches ---- */

static bool chunk_is_full(size_t count, size_t bytes)
{
    return count >= PROGRAM_REPORT_BATCH_JOBS || bytes >= PROGRAM_REPORT_BATCH_BYTES;
}

static bool jobs_need_chunks(const struct program_report *a)
{
    return a->gains.job_sizes.count > PROGRAM_REPORT_BATCH_JOBS ||
           a->gains.jobs.size > PROGRAM_REPORT_BATCH_BYTES;
}

/* How many entries go into one batch: it ends with a cursor.  *ret_complete: no more can join. */
static size_t count_entries(const struct program_report *a, bool *ret_complete)
{
    size_t bytes = 0;
    size_t count = 0;

    *ret_complete = true;
    while (count < a->entries.count) {
        const struct report_entry *e = &a->entries.items[count];

        if (count > 0 && bytes + e->size > PROGRAM_REPORT_BATCH_BYTES)
            return count;
        bytes += e->size;
        count++;
        if (e->cursor || chunk_is_full(count, bytes))
            return count;
    }
    *ret_complete = false; /* a cursor may still follow */
    return count;
}

int64_t program_report_batch_at(const struct program_report *a)
{
    bool complete;

    if (a->batch != REPORT_BATCH_NONE)
        return a->again ? 0 : TIME_NEVER;
    if (a->entries.count > 0) {
        (void)count_entries(a, &complete);
        return complete || a->sent_some || a->closed ? 0 : a->hold_until_at;
    }
    return jobs_need_chunks(a) ? 0 : TIME_NEVER;
}

static void begin_body(struct program_report *a, bool visible)
{
    buf_clear(&a->body);
    buf_add_str(&a->body, "{\"id\":");
    jtext_add_string(&a->body, slice_of(a->id));
    jtext_put_string(&a->body, "lease", slice_of(a->lease));
    jtext_put_int(&a->body, "seq", a->seq + 1);
    jtext_put_bool(&a->body, "visible", visible);
}

static void make_visible_batch(struct program_report *a)
{
    bool complete;
    size_t count = count_entries(a, &complete);
    bool cursor = a->entries.items[count - 1].cursor;

    begin_body(a, true);
    if (count > cursor) {
        jtext_add_key(&a->body, "jobs");
        buf_add_char(&a->body, '[');
        for (size_t i = 0; i + cursor < count; i++) {
            jtext_add_comma(&a->body);
            buf_add_str(&a->body, a->entries.items[i].json);
        }
        buf_add_char(&a->body, ']');
    }
    if (cursor) {
        jtext_add_key(&a->body, "cursor");
        buf_add_str(&a->body, a->entries.items[count - 1].json);
    }
    buf_add_char(&a->body, '}');
    a->batch = REPORT_BATCH_VISIBLE;
    a->batch_count = count;
    a->sent_some = true;
}

/* The first chunk of the emitted jobs: their number, and their size with the commas. */
static size_t count_chunk(const struct program_report *a, size_t *ret_bytes)
{
    size_t count = 0;
    size_t bytes = 0;

    while (count < a->gains.job_sizes.count && !chunk_is_full(count, bytes)) {
        if (count > 0 && bytes + a->gains.job_sizes.items[count] > PROGRAM_REPORT_BATCH_BYTES)
            break;
        bytes += a->gains.job_sizes.items[count++];
    }
    *ret_bytes = bytes;
    return count;
}

bool program_report_next_batch(struct program_report *a, int64_t now_at, struct buf *body)
{
    if (program_report_batch_at(a) > now_at)
        return false;
    if (a->batch == REPORT_BATCH_NONE) {
        if (a->entries.count > 0) {
            make_visible_batch(a);
        } else {
            size_t bytes;

            a->batch_count = count_chunk(a, &bytes);
            begin_body(a, false);
            jtext_add_key(&a->body, "jobs");
            buf_add_char(&a->body, '[');
            buf_add(&a->body, a->gains.jobs.data, bytes - 1);
            buf_add_str(&a->body, "]}");
            a->batch = REPORT_BATCH_STAGED;
        }
    }
    a->again = false;
    buf_add_slice(body, buf_slice(&a->body));
    return true;
}

void program_report_batch_again(struct program_report *a)
{
    a->again = a->batch != REPORT_BATCH_NONE;
}

/* ---- results ---- */

static void drop_entries(struct program_report *a, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        a->entries_size -= a->entries.items[i].size;
        free(a->entries.items[i].json);
    }
    a->entries.count -= count;
    memmove(a->entries.items + first, a->entries.items + first + count,
            (a->entries.count - first) * sizeof(a->entries.items[0]));
}

static void answer_entries(struct program_report *a, struct slice ids)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct jtext_iter it = jtext_items(ids);

    for (size_t i = 0; i < a->batch_count; i++) {
        const struct report_entry *e = &a->entries.items[i];
        struct slice id;

        if (!e->cursor && jtext_next_item(&it, &id) && jtext_type_of(id) == JTEXT_STRING) {
            id = jtext_text(id, &arena);
            report_reply_fill(a, e->reply, "ok %.*s", (int)id.size, id.data);
        } else {
            report_reply_fill(a, e->reply, "ok");
        }
    }
    drop_entries(a, 0, a->batch_count);
}

void program_report_batch_done(struct program_report *a, struct slice reply, struct buf *replies)
{
    struct err err = ERR_INIT;
    struct slice value;
    struct slice ids = SLICE("[]");

    ASSERT(a->batch != REPORT_BATCH_NONE);
    if (jtext_check(reply, &value, &err) == E_OK && jtext_type_of(value) == JTEXT_OBJECT &&
        jtext_find(value, "ids", &ids) && jtext_type_of(ids) != JTEXT_ARRAY)
        ids = SLICE("[]");
    if (a->batch == REPORT_BATCH_VISIBLE)
        answer_entries(a, ids);
    else
        gains_remove_jobs(&a->gains, a->gains.job_sizes.count == 0 ? 0 : a->batch_count);
    a->seq++;
    a->batch = REPORT_BATCH_NONE;
    a->again = false;
    report_flush_replies(a, replies);
}

static void refuse_entries(struct program_report *a, const struct err *why, struct buf *notices)
{
    size_t first = 0;
    size_t count = a->batch_count;

    if (why->item > 0 && why->item <= count && !a->entries.items[why->item - 1].cursor) {
        first = why->item - 1;
        count = 1;
    }
    for (size_t i = first; i < first + count; i++)
        report_reply_fill(a, a->entries.items[i].reply, "fail %s", why->msg);
    drop_entries(a, first, count);
    if (count == 1)
        buf_addf(notices, "a job of emit! was refused: %s\n", why->msg);
    else
        buf_addf(notices, "%zu words (emit!, cursor) were refused: %s\n", count, why->msg);
}

void program_report_batch_refused(struct program_report *a, const struct err *why,
                                  struct buf *replies, struct buf *notices)
{
    struct err tidy = *why;

    ASSERT(a->batch != REPORT_BATCH_NONE);
    report_tidy(tidy.msg);
    if (a->batch == REPORT_BATCH_VISIBLE) {
        refuse_entries(a, &tidy, notices);
        report_note_forbidden(a, &tidy);
    } else if (a->gains.job_sizes.count > 0) {
        a->fault = tidy;
        gains_discard(&a->gains);
        buf_addf(notices, "a job of emit was refused: %s\n", tidy.msg);
    }
    a->batch = REPORT_BATCH_NONE;
    a->again = false;
    report_flush_replies(a, replies);
}

/* ---- the end ---- */

bool program_report_is_full(const struct program_report *a)
{
    return a->gains.jobs.size + a->entries_size > PROGRAM_REPORT_HELD_MAX;
}

/* A batch that the server may have is still sent again after its jobs were discarded: its number
 * is used up. */
bool program_report_settled(const struct program_report *a)
{
    return a->closed && a->batch == REPORT_BATCH_NONE && a->entries.count == 0 &&
           !jobs_need_chunks(a);
}
