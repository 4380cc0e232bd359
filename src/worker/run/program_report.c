/*
 * Lines of a program: read by the table of words, carried out by the table `takers`, answered in
 * their order.
 */
/* SPDX-License-Identifier: MIT */
#include "worker/run/program_report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "worker/run/program_report_internal.h"

struct program_report *program_report_new(const struct program_report_config *config)
{
    struct program_report *a = mem_zalloc(sizeof(*a));

    a->config = *config;
    a->id = mem_strdup(config->id);
    a->lease = mem_strdup(config->lease);
    a->text = BUF_INIT(WORD_TEXT_MAX);
    a->body = BUF_INIT(SIZE_MAX / 2); /* bounded by the size of a batch and of a line */
    gains_init(&a->gains);
    return a;
}

void program_report_free(struct program_report *a)
{
    if (a == NULL)
        return;
    for (size_t i = 0; i < a->replies.count; i++)
        free(a->replies.items[i].text);
    VEC_DEINIT(&a->replies);
    report_free_batches(a);
    gains_deinit(&a->gains);
    buf_deinit(&a->text);
    free(a->end_text);
    free(a->id);
    free(a->lease);
    free(a);
}

/* ---- replies ---- */

void report_tidy(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F)
            *text = ' ';
}

size_t report_reply_later(struct program_report *a)
{
    VEC_PUSH(&a->replies, ((struct report_reply){.text = NULL}));
    return a->replies_first + a->replies.count - 1;
}

void report_reply_fill(struct program_report *a, size_t number, const char *fmt, ...)
{
    struct report_reply *r = &a->replies.items[number - a->replies_first];
    va_list args;

    ASSERT(r->text == NULL);
    va_start(args, fmt);
    ASSERT(vasprintf(&r->text, fmt, args) >= 0);
    va_end(args);
    report_tidy(r->text);
}

void report_flush_replies(struct program_report *a, struct buf *replies)
{
    size_t ready = 0;

    while (ready < a->replies.count && a->replies.items[ready].text != NULL) {
        buf_add_str(replies, a->replies.items[ready].text);
        buf_add_char(replies, '\n');
        free(a->replies.items[ready].text);
        ready++;
    }
    a->replies.count -= ready;
    a->replies_first += ready;
    if (ready > 0)
        memmove(a->replies.items, a->replies.items + ready,
                a->replies.count * sizeof(a->replies.items[0]));
}

/* ---- what each word does at once ---- */

static enum err_code take_text(struct program_report *a, const struct word *w, int64_t now_at,
                               struct err *err)
{
    (void)now_at;
    (void)err;
    buf_clear(&a->text);
    buf_add_slice(&a->text, w->text);
    a->has_text = true;
    a->changed = true;
    return E_OK;
}

static enum err_code take_progress(struct program_report *a, const struct word *w, int64_t now_at,
                                   struct err *err)
{
    if (w->text.size > 0)
        (void)take_text(a, w, now_at, err);
    a->changed = true;
    if (w->has_left) {
        a->has_left = true;
        a->left_us = w->left_us;
        return E_OK;
    }
    a->has_done = true;
    a->done = w->done;
    a->total = w->total;
    snprintf(a->unit, sizeof(a->unit), "%.*s", (int)w->unit.size,
             w->unit.size > 0 ? w->unit.data : "");
    return E_OK;
}

static enum err_code take_emit(struct program_report *a, const struct word *w, int64_t now_at,
                               struct err *err)
{
    (void)now_at;
    if (a->fault.code != E_OK)
        return err_set(err, E_CONFLICT, "an earlier job was refused: %s", a->fault.msg);
    if (emit_rules_check_job(&a->config.rules, w->json, err) != E_OK)
        return err->code;
    gains_add_job(&a->gains, w->json);
    return E_OK;
}

static enum err_code take_emit_now(struct program_report *a, const struct word *w, int64_t now_at,
                                   struct err *err)
{
    if (emit_rules_check_job(&a->config.rules, w->json, err) != E_OK)
        return err->code;
    if (a->hold_until_at == 0)
        a->hold_until_at = now_at + PROGRAM_REPORT_CURSOR_US;
    report_add_entry(a, w->json, false);
    return E_OK;
}

static enum err_code take_cursor(struct program_report *a, const struct word *w, int64_t now_at,
                                 struct err *err)
{
    const char *before = a->before_cursor;

    (void)now_at;
    if (before != NULL)
        return err_set(err, E_CONFLICT,
                       "the effect of '%s' before it would be lost if this attempt fails: %s",
                       before,
                       strcmp(before, "emit") == 0 ? "use emit! with a cursor"
                                                   : "say it after the last cursor");
    report_add_entry(a, w->json, true);
    return E_OK;
}

static enum err_code take_set(struct program_report *a, const struct word *w, int64_t now_at,
                              struct err *err)
{
    (void)now_at;
    return gains_set(&a->gains, w->name, w->json, err);
}

static enum err_code take_step(struct program_report *a, const struct word *w, int64_t now_at,
                               struct err *err)
{
    (void)now_at;
    if (emit_rules_check_step(&a->config.rules, w->json, err) != E_OK)
        return err->code;
    return gains_add_step(&a->gains, w->json, err);
}

static enum err_code take_raise(struct program_report *a, const struct word *w, int64_t now_at,
                                struct err *err)
{
    (void)now_at;
    return gains_raise(&a->gains, w->name, w->count, err);
}

static enum err_code take_use(struct program_report *a, const struct word *w, int64_t now_at,
                              struct err *err)
{
    (void)now_at;
    return gains_use(&a->gains, w->name, w->count, err);
}

static enum err_code take_group(struct program_report *a, const struct word *w, int64_t now_at,
                                struct err *err)
{
    (void)now_at;
    return gains_add_patch(&a->gains, w->json, err);
}

static enum err_code take_end(struct program_report *a, const struct word *w, int64_t now_at,
                              struct err *err)
{
    (void)now_at;
    if (a->end.kind != WORD_NONE)
        return err_set(err, E_CONFLICT, "ignored: the first end word counts, and that was '%s'",
                       word_spec_of(a->end.kind)->name);
    a->end = (struct word){.kind = w->kind, .delay_us = w->delay_us};
    a->end_text = mem_strndup(w->text.size > 0 ? w->text.data : "", w->text.size);
    a->end.text = slice_make(a->end_text, w->text.size);
    return E_OK;
}

static enum err_code take_busy(struct program_report *a, const struct word *w, int64_t now_at,
                               struct err *err)
{
    if (take_end(a, w, now_at, err) != E_OK)
        return err->code;
    gains_busy(&a->gains, w->name, w->delay_us, w->text);
    return E_OK;
}

/* What a word does when its line arrives; on an error it has done nothing.  What it does at the
 * end of the attempt is in its row of `words` and in gains.c. */
typedef enum err_code take_fn(struct program_report *a, const struct word *w, int64_t now_at,
                              struct err *err);

static take_fn *const takers[WORD_KIND_COUNT] = {
    [WORD_RUN] = take_text,  [WORD_PROGRESS] = take_progress, [WORD_EMIT] = take_emit,
    [WORD_SET] = take_set,   [WORD_EMIT_NOW] = take_emit_now, [WORD_CURSOR] = take_cursor,
    [WORD_STEP] = take_step, [WORD_RAISE] = take_raise,       [WORD_DONE] = take_end,
    [WORD_FAIL] = take_end,  [WORD_RESEND] = take_end,        [WORD_USE] = take_use,
    [WORD_BUSY] = take_busy, [WORD_GROUP] = take_group,
};

void report_note_forbidden(struct program_report *a, const struct err *why)
{
    if (why->code == E_FORBIDDEN && a->fault.code == E_OK) {
        a->fault = *why;
        gains_discard(&a->gains);
    }
}

/* The refusal is in the log as well, because few programs read their replies. */
static void refuse(struct program_report *a, const struct word_spec *spec, const char *prefix,
                   struct err *why, struct buf *notices)
{
    report_tidy(why->msg);
    if (spec == NULL || spec->reply != WORD_REPLY_NONE)
        report_reply_fill(a, report_reply_later(a), "fail %s%s", prefix, why->msg);
    buf_addf(notices, "%s%s\n", prefix, why->msg);
    report_note_forbidden(a, why);
}

void program_report_line(struct program_report *a, struct slice line, int64_t now_at,
                         struct buf *replies, struct buf *notices)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    struct slice rest;
    struct word w;

    if (word_parse(line, &arena, &w, &err) != E_OK) {
        refuse(a, word_find(line, &rest), "", &err, notices); /* its text begins with the word */
    } else if (w.kind != WORD_NONE) {
        const struct word_spec *spec = word_spec_of(w.kind);
        char prefix[32];

        if (takers[w.kind](a, &w, now_at, &err) != E_OK) {
            snprintf(prefix, sizeof(prefix), "%s: ", spec->name);
            refuse(a, spec, prefix, &err, notices);
        } else {
            if (spec->reply == WORD_REPLY_AT_ONCE)
                report_reply_fill(a, report_reply_later(a), "ok");
            if (spec->at_end == WORD_AT_END_IF_DONE)
                a->before_cursor = spec->name;
        }
    }
    report_flush_replies(a, replies);
}

void program_report_long_line(struct program_report *a, uint64_t bytes, struct buf *replies,
                              struct buf *notices)
{
    report_reply_fill(a, report_reply_later(a), "fail a line may have %zu bytes, not %" PRIu64,
                      WORD_LINE_MAX, bytes);
    buf_addf(notices, "a line of %" PRIu64 " bytes was skipped, %zu are allowed\n", bytes,
             WORD_LINE_MAX);
    report_flush_replies(a, replies);
}

/* ---- status and end ---- */

const struct word *program_report_end(const struct program_report *a)
{
    return &a->end;
}

bool program_report_has_status(const struct program_report *a)
{
    return a->has_text || a->has_done || a->has_left;
}

bool program_report_has_text(const struct program_report *a)
{
    return a->has_text;
}

bool program_report_status_changed(const struct program_report *a)
{
    return a->changed;
}

void program_report_status_again(struct program_report *a)
{
    a->changed = program_report_has_status(a);
}

void program_report_add_status(struct program_report *a, struct buf *b)
{
    jtext_put_string(b, "text", buf_slice(&a->text));
    if (a->has_done) {
        jtext_put_int(b, "done", a->done);
        jtext_put_int(b, "total", a->total);
        jtext_put_string(b, "unit", slice_of(a->unit));
    }
    if (a->has_left)
        jtext_put_int(b, "left", (a->left_us + US_PER_S - 1) / US_PER_S);
    a->changed = false;
}

void program_report_add_finish(const struct program_report *a, struct buf *b)
{
    if (gains_any(&a->gains))
        gains_add_finish(&a->gains, b);
}

void program_report_discard_gains(struct program_report *a)
{
    gains_discard(&a->gains);
}

void program_report_close(struct program_report *a)
{
    a->closed = true;
}

const struct err *program_report_fault(const struct program_report *a)
{
    return a->fault.code != E_OK ? &a->fault : NULL;
}
