/* SPDX-License-Identifier: MIT */
#include "core/program/word.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/json/json.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "core/object/quote.h"
#include "core/route/bill.h"
#include "core/route/dest.h"

enum { WORDS_MAX = 32 };

const struct word_spec words[] = {
    {.name = "run",
     .kind = WORD_RUN,
     .syntax = "run TEXT",
     .meaning = "Sets the status text: what the program is doing now."},
    {.name = "progress",
     .kind = WORD_PROGRESS,
     .syntax = "progress N[/M][UNIT] [TEXT]` · `progress left TIME [TEXT]",
     .meaning = "Sets the progress: N of M, or the time left. `progress 40%` means 40 of 100."},
    {.name = "emit",
     .kind = WORD_EMIT,
     .answered = true,
     .syntax = "emit JSON",
     .meaning =
         "Creates a job, an object as for `POST /v1/jobs`, in the commit that ends this attempt "
         "as done. If the attempt ends in any other way, the job is discarded. Reply: `ok` if the "
         "job is well-formed and its queue is known."},
    {.name = "emit!",
     .kind = WORD_EMIT_NOW,
     .answered = true,
     .syntax = "emit! JSON",
     .meaning = "Creates a job immediately. Reply: `ok ID` when it is committed."},
    {.name = "cursor",
     .kind = WORD_CURSOR,
     .answered = true,
     .syntax = "cursor JSON",
     .meaning =
         "Saves a position to resume from, together with the jobs of the `emit!` lines before it; "
         "the next attempt receives it. Reply: `ok` when it is committed."},
    {.name = "set",
     .kind = WORD_SET,
     .answered = true,
     .syntax = "set NAME JSON",
     .meaning = "Stores a value for later steps. All values together are the job's result."},
    {.name = "step",
     .kind = WORD_STEP,
     .answered = true,
     .syntax = "step JSON",
     .meaning =
         "Adds a step to the job's route, before its `final` steps, in the commit that ends "
         "this attempt as done. Reply: `ok` if the step is well-formed and its queue is known."},
    {.name = "raise",
     .kind = WORD_RAISE,
     .answered = true,
     .syntax = "raise NAME [N]",
     .meaning = "Raises a signal by N (default 1), in the commit that ends this attempt as done."},
    {.name = "done",
     .kind = WORD_DONE,
     .answered = true,
     .ends = true,
     .syntax = "done [TEXT]",
     .meaning = "Ends the attempt as done. If the exit status is not 0, it has failed anyway."},
    {.name = "err",
     .kind = WORD_FAIL,
     .answered = true,
     .ends = true,
     .syntax = "err TEXT",
     .meaning = "Ends the job as failed, without retries."},
    {.name = "fail",
     .kind = WORD_FAIL,
     .answered = true,
     .ends = true,
     .syntax = "fail TEXT",
     .meaning = "Same as `err`."},
    {.name = "resend",
     .kind = WORD_RESEND,
     .answered = true,
     .ends = true,
     .syntax = "resend SECONDS[-WHY]",
     .meaning =
         "Ends the attempt; the job is tried again after this time. This does not count as a "
         "failure, but the 16th time fails the job."},
};

const size_t n_words = ARRAY_LEN(words);

/* ---- pieces of a line ---- */

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static struct slice trim(struct slice s)
{
    while (s.size > 0 && is_space(s.data[0]))
        s = slice_make(s.data + 1, s.size - 1);
    while (s.size > 0 && is_space(s.data[s.size - 1]))
        s.size--;
    return s;
}

/* Up to the next space; *rest is what follows, trimmed. */
static struct slice take_word(struct slice *rest)
{
    struct slice s = trim(*rest);
    size_t size = 0;

    while (size < s.size && !is_space(s.data[size]))
        size++;
    *rest = trim(slice_make(s.data + size, s.size - size));
    return slice_make(s.data, size);
}

struct slice word_text(struct slice bytes, size_t max, struct arena *arena)
{
    const char *end = slice_end(bytes);
    bool clean = memchr(bytes.size > 0 ? bytes.data : "x", '\0', bytes.size) == NULL;

    if (clean && utf8_valid(bytes))
        return utf8_cut(bytes, max);
    char *text = arena_alloc(arena, bytes.size + 1);
    size_t size = 0;

    for (const char *at = bytes.data; at < end;) {
        size_t step = *at == '\0' ? 0 : utf8_step(at, end);

        if (step == 0) {
            text[size++] = '?';
            at++;
            continue;
        }
        memcpy(text + size, at, step);
        size += step;
        at += step;
    }
    text[size] = '\0';
    return utf8_cut(slice_make(text, size), max);
}

/* ---- reading ---- */

struct reading {
    struct slice rest;
    struct arena *arena;
    struct word *word;
    struct err *err;
};

static enum err_code read_text(struct reading *r)
{
    r->word->text = word_text(r->rest, WORD_TEXT_MAX, r->arena);
    return E_OK;
}

/* Digits, perhaps with a fraction, which is cut off. */
static bool take_number(struct slice *s, int64_t *ret_number)
{
    size_t at = 0;
    int64_t n = 0;

    for (; at < s->size && s->data[at] >= '0' && s->data[at] <= '9'; at++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, s->data[at] - '0', &n))
            return false;
    if (at == 0)
        return false;
    if (at + 1 < s->size && s->data[at] == '.' && s->data[at + 1] >= '0' && s->data[at + 1] <= '9')
        for (at++; at < s->size && s->data[at] >= '0' && s->data[at] <= '9'; at++)
            continue;
    *s = slice_make(s->data + at, s->size - at);
    *ret_number = n;
    return true;
}

static enum err_code read_left(struct reading *r)
{
    struct slice length = take_word(&r->rest);

    if (length.size == 0)
        return err_set(r->err, E_INVALID, "left: needs a length of time, such as 90s");
    if (duration_parse(length, &r->word->left_us, r->err) != E_OK)
        return err_wrap(r->err, "left");
    r->word->has_left = true;
    return read_text(r);
}

static enum err_code not_a_count(struct reading *r, struct slice given)
{
    struct quote quote;

    return err_set(r->err, E_INVALID,
                   "needs N, N/M or 'left TIME', such as 40/100, 12MB or left 90s, not %s",
                   given.size > 0 ? quote_text(&quote, given) : "nothing");
}

static enum err_code read_progress(struct reading *r)
{
    struct slice given = take_word(&r->rest);
    struct slice at = given;
    struct word *w = r->word;

    if (slice_is(given, "left"))
        return read_left(r);
    if (!take_number(&at, &w->done))
        return not_a_count(r, given);
    if (at.size > 0 && at.data[0] == '/') {
        at = slice_make(at.data + 1, at.size - 1);
        if (!take_number(&at, &w->total))
            return not_a_count(r, given);
    }
    w->unit = word_text(at, WORD_UNIT_MAX, r->arena);
    if (w->total == 0 && slice_is(w->unit, "%"))
        w->total = 100;
    w->has_done = true;
    return read_text(r);
}

static enum err_code read_json(struct reading *r)
{
    if (r->rest.size == 0)
        return err_set(r->err, E_INVALID, "needs a JSON value");
    return json_check(r->rest, &r->word->json, r->err) == E_OK ? E_OK : E_INVALID;
}

static enum err_code read_job(struct reading *r)
{
    struct quote quote;

    if (read_json(r) != E_OK)
        return E_INVALID;
    if (json_type_of(r->word->json) != JSON_T_OBJECT)
        return err_set(r->err, E_INVALID, "needs a job, a JSON object, not %s",
                       quote_json(&quote, r->word->json));
    return E_OK;
}

static enum err_code read_cursor(struct reading *r)
{
    if (read_json(r) != E_OK)
        return E_INVALID;
    if (r->word->json.size > WORD_CURSOR_MAX)
        return err_set(r->err, E_INVALID, "has %zu bytes, at most %zu are allowed",
                       r->word->json.size, WORD_CURSOR_MAX);
    return E_OK;
}

/* A JSON string at the beginning: its size with the quotes, 0 when it has no end. */
static size_t string_size(struct slice s)
{
    for (size_t i = 1; i < s.size; i++) {
        if (s.data[i] == '\\')
            i++;
        else if (s.data[i] == '"')
            return i + 1;
    }
    return 0;
}

/* A name: as it stands, or as a JSON string. */
static enum err_code take_name(struct reading *r, struct slice *ret_name)
{
    struct slice name = r->rest;

    if (name.size > 0 && name.data[0] == '"') {
        struct slice value;

        name.size = string_size(name);
        if (name.size == 0)
            return err_set(r->err, E_INVALID, "the name has no '\"' at its end");
        if (json_check(name, &value, r->err) != E_OK)
            return err_wrap(r->err, "the name");
        r->rest = trim(slice_make(slice_end(name), (size_t)(slice_end(r->rest) - slice_end(name))));
        name = json_text(value, r->arena);
    } else {
        name = take_word(&r->rest);
    }
    if (name.size == 0 || name.size > WORD_NAME_MAX || !utf8_valid(name))
        return err_set(r->err, E_INVALID, "needs a name of 1 to %zu bytes of UTF-8", WORD_NAME_MAX);
    *ret_name = name;
    return E_OK;
}

static enum err_code read_set(struct reading *r)
{
    if (take_name(r, &r->word->name) != E_OK)
        return E_INVALID;
    return read_json(r);
}

static enum err_code read_step(struct reading *r)
{
    struct route_step *steps;
    struct quote quote;
    size_t n;

    if (read_json(r) != E_OK)
        return E_INVALID;
    if (json_type_of(r->word->json) != JSON_T_OBJECT)
        return err_set(r->err, E_INVALID, "needs a step, a JSON object, not %s",
                       quote_json(&quote, r->word->json));
    return route_steps_parse(r->word->json, 0, r->arena, &steps, &n, r->err);
}

static enum err_code not_a_level(struct reading *r, struct slice given)
{
    struct quote quote;

    return err_set(r->err, E_INVALID,
                   "the number after the name must be a whole one from 1 to %" PRId64 ", not %s",
                   SIGNAL_COUNT_MAX, quote_text(&quote, given));
}

static enum err_code read_raise(struct reading *r)
{
    struct word *w = r->word;

    w->count = 1;
    if (take_name(r, &w->name) != E_OK || dest_name_check("signal", w->name, r->err) != E_OK)
        return E_INVALID;
    struct slice given = r->rest;
    struct slice at = given;

    if (given.size == 0)
        return E_OK;
    if (memchr(given.data, '.', given.size) != NULL || !take_number(&at, &w->count) ||
        at.size > 0 || w->count < 1 || w->count > SIGNAL_COUNT_MAX)
        return not_a_level(r, given);
    return E_OK;
}

static enum err_code read_resend(struct reading *r)
{
    const char *dash = r->rest.size > 0 ? memchr(r->rest.data, '-', r->rest.size) : NULL;
    size_t size = dash != NULL ? (size_t)(dash - r->rest.data) : r->rest.size;
    struct slice seconds = trim(slice_make(r->rest.data, size));
    struct slice why = dash != NULL ? slice_make(dash + 1, r->rest.size - size - 1) : SLICE("");
    struct err unread = ERR_INIT;
    struct quote quote;

    if (seconds.size == 0 || duration_parse(seconds, &r->word->delay_us, &unread) != E_OK)
        return err_set(r->err, E_INVALID,
                       "needs a number of seconds, and perhaps a reason: 300-busy, not %s",
                       r->rest.size > 0 ? quote_text(&quote, r->rest) : "nothing");
    r->word->text = word_text(trim(why), WORD_TEXT_MAX, r->arena);
    return E_OK;
}

static enum err_code (*const readers[WORD_KIND_COUNT])(struct reading *r) = {
    [WORD_RUN] = read_text,     [WORD_PROGRESS] = read_progress, [WORD_EMIT] = read_job,
    [WORD_EMIT_NOW] = read_job, [WORD_CURSOR] = read_cursor,     [WORD_SET] = read_set,
    [WORD_STEP] = read_step,    [WORD_RAISE] = read_raise,       [WORD_DONE] = read_text,
    [WORD_FAIL] = read_text,    [WORD_RESEND] = read_resend,
};

/* ---- lines ---- */

const struct word_spec *word_find(struct slice line, struct slice *ret_rest)
{
    struct slice rest = line;
    struct slice name = take_word(&rest);

    for (size_t i = 0; i < n_words; i++)
        if (slice_is(name, words[i].name)) {
            *ret_rest = rest;
            return &words[i];
        }
    return NULL;
}

/* Words of the design that come with what they need. */
static const char *const to_come[] = {"group", "attach", "relayed", "relay", "dup"};

static enum err_code unknown(struct slice line, struct err *err)
{
    struct slice name = take_word(&line);
    const char *names[WORDS_MAX];
    struct quote quote;

    for (size_t i = 0; i < ARRAY_LEN(to_come); i++)
        if (slice_is(name, to_come[i]))
            return err_set(err, E_INVALID, "unknown word '%s': this version does not have it",
                           to_come[i]);
    for (size_t i = 0; i < n_words && i < WORDS_MAX; i++)
        names[i] = words[i].name;
    const char *near = nearest_word(name, names, n_words);

    if (near != NULL)
        return err_set(err, E_INVALID, "unknown word %s, did you mean '%s'?",
                       quote_text(&quote, name), near);
    return err_set(err, E_INVALID, "unknown word %s", quote_text(&quote, name));
}

enum err_code word_parse(struct slice line, struct arena *arena, struct word *ret_word,
                         struct err *err)
{
    struct word word = {.kind = WORD_NONE};
    struct reading r = {.arena = arena, .word = &word, .err = err};

    if (trim(line).size == 0) {
        *ret_word = word;
        return E_OK;
    }
    const struct word_spec *spec = word_find(line, &r.rest);

    if (spec == NULL)
        return unknown(line, err);
    word.kind = spec->kind;
    if (readers[spec->kind](&r) != E_OK) {
        err->code = E_INVALID;
        return err_wrap(err, "%s", spec->name);
    }
    *ret_word = word;
    return E_OK;
}

enum err_code word_take_id(struct slice *line, int64_t *ret_id, struct err *err)
{
    struct slice rest = *line;
    struct slice id = take_word(&rest);
    struct quote quote;

    if (!id_parse(id, ret_id))
        return err_set(err, E_INVALID, "a line must begin with the id of its job, not with %s",
                       quote_text(&quote, id));
    *line = rest;
    return E_OK;
}
