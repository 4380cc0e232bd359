/* SPDX-License-Identifier: MIT */
#include "worker/run/program_report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json/json.h"
#include "worker/run/program_report_internal.h"

struct program_report *program_report_new(const struct program_report_config *config)
{
    struct program_report *a = mem_zalloc(sizeof(*a));

    a->config = *config;
    a->id = mem_strdup(config->id);
    a->lease = mem_strdup(config->lease);
    a->text = BUF_INIT(WORD_TEXT_MAX);
    a->spool = BUF_INIT(SIZE_MAX /
                        2); /* bounded by program_report_is_full and the length of a line */
    a->body = BUF_INIT(SIZE_MAX / 2);
    a->steps = BUF_INIT(PROGRAM_REPORT_STEPS_MAX);
    return a;
}

void program_report_free(struct program_report *a)
{
    if (a == NULL)
        return;
    for (size_t i = 0; i < a->values.count; i++) {
        free(a->values.items[i].name);
        free(a->values.items[i].json);
    }
    for (size_t i = 0; i < a->replies.count; i++)
        free(a->replies.items[i].text);
    program_report_free_emits(a);
    program_report_free_route(a);
    VEC_DEINIT(&a->values);
    VEC_DEINIT(&a->replies);
    buf_deinit(&a->text);
    free(a->end_text);
    free(a->id);
    free(a->lease);
    free(a);
}

/* ---- replies ---- */

void program_report_tidy(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7F)
            *text = ' ';
}

static char *PRINTF_LIKE(1, 0) one_line(const char *fmt, va_list args)
{
    char *text = NULL;

    ASSERT(vasprintf(&text, fmt, args) >= 0);
    program_report_tidy(text);
    return text;
}

size_t program_report_reply_later(struct program_report *a)
{
    VEC_PUSH(&a->replies, ((struct program_report_reply){.text = NULL}));
    return a->replies_first + a->replies.count - 1;
}

void program_report_reply_now(struct program_report *a, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    VEC_PUSH(&a->replies, ((struct program_report_reply){.text = one_line(fmt, args)}));
    va_end(args);
}

void program_report_reply_fill(struct program_report *a, size_t number, const char *fmt, ...)
{
    struct program_report_reply *r = &a->replies.items[number - a->replies_first];
    va_list args;

    ASSERT(r->text == NULL);
    va_start(args, fmt);
    r->text = one_line(fmt, args);
    va_end(args);
}

void program_report_flush_replies(struct program_report *a, struct buf *replies)
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

/* ---- words ---- */

static void take_text(struct program_report *a, const struct word *w)
{
    buf_clear(&a->text);
    buf_add_slice(&a->text, w->text);
    a->has_text = true;
    a->changed = true;
}

static void take_progress(struct program_report *a, const struct word *w)
{
    if (w->text.size > 0)
        take_text(a, w);
    a->changed = true;
    if (w->has_left) {
        a->has_left = true;
        a->left_us = w->left_us;
        return;
    }
    a->has_done = true;
    a->done = w->done;
    a->total = w->total;
    snprintf(a->unit, sizeof(a->unit), "%.*s", (int)w->unit.size,
             w->unit.size > 0 ? w->unit.data : "");
}

static struct program_report_value *find_value(struct program_report *a, const char *name)
{
    for (size_t i = 0; i < a->values.count; i++)
        if (strcmp(a->values.items[i].name, name) == 0)
            return &a->values.items[i];
    return NULL;
}

static struct program_report_value *add_value(struct program_report *a, char *name)
{
    VEC_PUSH(&a->values, ((struct program_report_value){.name = name}));
    return &a->values.items[a->values.count - 1];
}

static void take_set(struct program_report *a, const struct word *w)
{
    CLEANUP(mem) char *name = mem_strndup(w->name.data, w->name.size);
    struct program_report_value *known = find_value(a, name);
    size_t old = known != NULL ? strlen(known->json) : 0;
    size_t size = a->values_size - old + w->json.size + (known != NULL ? 0 : w->name.size);

    if (size > PROGRAM_REPORT_SET_MAX) {
        program_report_reply_now(
            a, "fail set: all values together have %zu bytes, at most %zu are allowed", size,
            PROGRAM_REPORT_SET_MAX);
        return;
    }
    if (known == NULL && a->values.count == PROGRAM_REPORT_SET_NAMES) {
        program_report_reply_now(a, "fail set: at most %d names are allowed",
                                 PROGRAM_REPORT_SET_NAMES);
        return;
    }
    if (known == NULL)
        known = add_value(a, STEAL(name));
    free(known->json);
    known->json = mem_strndup(w->json.data, w->json.size);
    a->values_size = size;
    program_report_reply_now(a, "ok");
}

static void take_end(struct program_report *a, const struct word *w, struct buf *notices)
{
    if (a->end.kind != WORD_NONE) {
        program_report_reply_now(a, "fail an end word was said already: the first one counts");
        buf_add_str(notices, "a second end word is ignored: the first one counts\n");
        return;
    }
    a->end = (struct word){.kind = w->kind, .delay_us = w->delay_us};
    a->end_text = mem_strndup(w->text.size > 0 ? w->text.data : "", w->text.size);
    a->end.text = slice_make(a->end_text, w->text.size);
    program_report_reply_now(a, "ok");
}

static void take_word(struct program_report *a, const struct word *w, int64_t now_at,
                      struct buf *notices)
{
    switch (w->kind) {
    case WORD_RUN: take_text(a, w); break;
    case WORD_PROGRESS: take_progress(a, w); break;
    case WORD_EMIT: program_report_take_emit(a, w); break;
    case WORD_EMIT_NOW: program_report_take_emit_now(a, w, now_at); break;
    case WORD_CURSOR: program_report_take_cursor(a, w); break;
    case WORD_SET: take_set(a, w); break;
    case WORD_STEP: program_report_take_step(a, w); break;
    case WORD_RAISE: program_report_take_raise(a, w); break;
    case WORD_DONE:
    case WORD_FAIL:
    case WORD_RESEND: take_end(a, w, notices); break;
    case WORD_NONE:
    case WORD_KIND_COUNT: break;
    }
}

/* Complaints of a program that does not listen are at least in its log. */
static void note_refusals(const struct program_report *a, size_t from, struct buf *notices)
{
    for (size_t i = from; i < a->replies.count; i++)
        if (a->replies.items[i].text != NULL &&
            strncmp(a->replies.items[i].text, "fail ", 5) == 0 && notices->size == 0)
            buf_addf(notices, "%s\n", a->replies.items[i].text + strlen("fail "));
}

void program_report_line(struct program_report *a, struct slice line, int64_t now_at,
                         struct buf *replies, struct buf *notices)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf said = BUF_INIT(4096);
    struct err err = ERR_INIT;
    size_t due = a->replies.count;
    struct slice rest;
    struct word w;

    if (word_parse(line, &arena, &w, &err) == E_OK) {
        take_word(a, &w, now_at, &said);
        note_refusals(a, due, &said);
    } else {
        const struct word_spec *spec = word_find(line, &rest);

        if (spec == NULL || spec->answered)
            program_report_reply_now(a, "fail %s", err.msg);
        program_report_tidy(err.msg);
        buf_addf(&said, "%s\n", err.msg);
    }
    buf_add_slice(notices, buf_slice(&said));
    program_report_flush_replies(a, replies);
}

void program_report_long_line(struct program_report *a, uint64_t bytes, struct buf *replies,
                              struct buf *notices)
{
    program_report_reply_now(a, "fail a line may have %zu bytes, not %" PRIu64, WORD_LINE_MAX,
                             bytes);
    buf_addf(notices, "a line of %" PRIu64 " bytes was skipped, %zu are allowed\n", bytes,
             WORD_LINE_MAX);
    program_report_flush_replies(a, replies);
}

/* ---- what was told ---- */

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
    json_put_string(b, "text", buf_slice(&a->text));
    if (a->has_done) {
        json_put_int(b, "done", a->done);
        json_put_int(b, "total", a->total);
        json_put_string(b, "unit", slice_of(a->unit));
    }
    if (a->has_left) {
        json_put_int(b, "left", (a->left_us + US_PER_S - 1) / US_PER_S);
    }
    a->changed = false;
}

static void add_values(const struct program_report *a, struct buf *b)
{
    json_add_key(b, "set");
    buf_add_char(b, '{');
    for (size_t i = 0; i < a->values.count; i++) {
        json_add_comma(b);
        json_add_string(b, slice_of(a->values.items[i].name));
        buf_add_char(b, ':');
        buf_add_str(b, a->values.items[i].json);
    }
    buf_add_char(b, '}');
}

void program_report_add_finish(const struct program_report *a, struct buf *b)
{
    if (a->values.count > 0)
        add_values(a, b);
    if (a->sizes.count > 0) {
        json_add_key(b, "emit");
        buf_add_char(b, '[');
        buf_add(b, a->spool.data, a->spool.size - 1); /* without the last comma */
        buf_add_char(b, ']');
    }
    program_report_add_route(a, b);
}
