/* SPDX-License-Identifier: MIT */
#include "core/program/word.h"

#include "base/id.h"
#include "base/text/nearest.h"
#include "core/object/quote.h"
#include "core/program/word_read.h"

/* ---- the table ---- */

const struct word_spec words[] = {
    {.name = "run",
     .kind = WORD_RUN,
     .read = word_read_text,
     .verb = "progress",
     .syntax = "run TEXT",
     .meaning = "Sets the status text: what the program is doing now."},
    {.name = "progress",
     .kind = WORD_PROGRESS,
     .read = word_read_progress,
     .verb = "progress",
     .syntax = "progress N[/M][UNIT] [TEXT]` · `progress left TIME [TEXT]",
     .meaning = "Sets the progress: N of M, or the time left. `progress 40%` means 40 of 100."},
    {.name = "emit",
     .kind = WORD_EMIT,
     .read = word_read_job,
     .reply = WORD_REPLY_AT_ONCE,
     .at_end = WORD_AT_END_IF_DONE,
     .verb = "emit",
     .syntax = "emit JSON",
     .meaning =
         "Creates a job, an object as for `POST /v1/jobs`, in the commit that ends this attempt "
         "as done. If the attempt ends in any other way, the job is discarded. Reply: `ok` if the "
         "job is well-formed and its queue is known."},
    {.name = "emit!",
     .kind = WORD_EMIT_NOW,
     .read = word_read_job,
     .reply = WORD_REPLY_COMMITTED,
     .verb = "emit",
     .syntax = "emit! JSON",
     .meaning = "Creates a job immediately. Reply: `ok ID` when it is committed."},
    {.name = "cursor",
     .kind = WORD_CURSOR,
     .read = word_read_cursor,
     .reply = WORD_REPLY_COMMITTED,
     .syntax = "cursor JSON",
     .meaning =
         "Saves a position to resume from, together with the jobs of the `emit!` lines before it; "
         "the next attempt receives it. Reply: `ok` when it is committed."},
    {.name = "set",
     .kind = WORD_SET,
     .read = word_read_set,
     .reply = WORD_REPLY_AT_ONCE,
     .at_end = WORD_AT_END_ALWAYS,
     .verb = "set",
     .syntax = "set NAME JSON",
     .meaning = "Stores a value for later steps. All values together are the job's result."},
    {.name = "step",
     .kind = WORD_STEP,
     .read = word_read_step,
     .reply = WORD_REPLY_AT_ONCE,
     .at_end = WORD_AT_END_IF_DONE,
     .verb = "step",
     .syntax = "step JSON",
     .meaning =
         "Adds a step to the job's route, before its `final` steps, in the commit that ends "
         "this attempt as done. Reply: `ok` if the step is well-formed and its queue is known."},
    {.name = "raise",
     .kind = WORD_RAISE,
     .read = word_read_raise,
     .reply = WORD_REPLY_AT_ONCE,
     .at_end = WORD_AT_END_IF_DONE,
     .verb = "raise",
     .syntax = "raise NAME [N]",
     .meaning = "Raises a signal by N (default 1), in the commit that ends this attempt as done."},
    {.name = "use",
     .kind = WORD_USE,
     .read = word_read_use,
     .reply = WORD_REPLY_AT_ONCE,
     .at_end = WORD_AT_END_ALWAYS,
     .verb = "use",
     .syntax = "use NAME N",
     .meaning = "Books N for this start in the rates of a resource, instead of the job's weight: "
                "what it really used. The last line for a resource counts."},
    {.name = "group",
     .kind = WORD_GROUP,
     .read = word_read_job,
     .reply = WORD_REPLY_AT_ONCE,
     .at_end = WORD_AT_END_IF_DONE,
     .syntax = "group JSON",
     .meaning =
         "Merges an object into the data of the job's group (`null` removes a member), in the "
         "commit that ends this attempt as done."},
    {.name = "done",
     .kind = WORD_DONE,
     .read = word_read_text,
     .reply = WORD_REPLY_AT_ONCE,
     .at_end = WORD_AT_END_DECIDES,
     .verb = "done",
     .syntax = "done [TEXT]",
     .meaning = "Ends the attempt as done. If the exit status is not 0, it has failed anyway."},
    {.name = "err",
     .other_name = "fail",
     .kind = WORD_FAIL,
     .read = word_read_text,
     .reply = WORD_REPLY_AT_ONCE,
     .at_end = WORD_AT_END_DECIDES,
     .verb = "fail",
     .syntax = "err TEXT` · `fail TEXT",
     .meaning = "Ends the job as failed, without retries."},
    {.name = "resend",
     .kind = WORD_RESEND,
     .read = word_read_resend,
     .reply = WORD_REPLY_AT_ONCE,
     .at_end = WORD_AT_END_DECIDES,
     .verb = "resend",
     .syntax = "resend SECONDS[-WHY]",
     .meaning =
         "Ends the attempt; the job is tried again after this time. This does not count as a "
         "failure, but the 16th time fails the job."},
    {.name = "busy",
     .kind = WORD_BUSY,
     .read = word_read_busy,
     .reply = WORD_REPLY_AT_ONCE,
     .at_end = WORD_AT_END_DECIDES,
     .verb = "busy",
     .syntax = "busy NAME SECONDS [WHY]",
     .meaning = "Ends the attempt, uncounted, and shuts a resource for everybody: no job that "
                "needs it starts for this time. `lane` is the lane of the job."},
};

const size_t n_words = ARRAY_LEN(words);

_Static_assert(ARRAY_LEN(words) == WORD_KIND_COUNT - 1, "each kind but WORD_NONE has one row");

const struct word_spec *word_spec_of(enum word_kind kind)
{
    ASSERT(kind > WORD_NONE && words[kind - 1].kind == kind);
    return &words[kind - 1];
}

/* ---- lines ---- */

const struct word_spec *word_find(struct slice line, struct slice *ret_rest)
{
    struct slice rest = line;
    struct slice name = word_take(&rest);

    for (size_t i = 0; i < n_words; i++)
        if (slice_is(name, words[i].name) ||
            (words[i].other_name != NULL && slice_is(name, words[i].other_name))) {
            *ret_rest = rest;
            return &words[i];
        }
    return NULL;
}

/* Words of later versions: known, so that the error can say so. */
static const char *const to_come[] = {"attach", "relayed", "relay", "dup"};

static enum err_code unknown(struct slice line, struct err *err)
{
    struct slice name = word_take(&line);
    const char *names[2 * WORD_KIND_COUNT];
    size_t n = 0;
    struct quote quote;

    for (size_t i = 0; i < ARRAY_LEN(to_come); i++)
        if (slice_is(name, to_come[i]))
            return err_set(err, E_INVALID, "unknown word '%s': this version does not have it",
                           to_come[i]);
    for (size_t i = 0; i < n_words; i++) {
        names[n++] = words[i].name;
        if (words[i].other_name != NULL)
            names[n++] = words[i].other_name;
    }
    const char *near = nearest_word(name, names, n);

    if (near != NULL)
        return err_set(err, E_INVALID, "unknown word %s, did you mean '%s'?",
                       quote_text(&quote, name), near);
    return err_set(err, E_INVALID, "unknown word %s", quote_text(&quote, name));
}

enum err_code word_parse(struct slice line, struct arena *arena, struct word *ret_word,
                         struct err *err)
{
    struct word word = {.kind = WORD_NONE};
    struct word_reading r = {.arena = arena, .word = &word, .err = err};

    if (word_trim(line).size == 0) {
        *ret_word = word;
        return E_OK;
    }
    const struct word_spec *spec = word_find(line, &r.rest);

    if (spec == NULL)
        return unknown(line, err);
    word.kind = spec->kind;
    if (spec->read(&r) != E_OK) {
        err->code = E_INVALID;
        return err_wrap(err, "%s", spec->name);
    }
    *ret_word = word;
    return E_OK;
}

enum err_code word_take_id(struct slice *line, int64_t *ret_id, struct err *err)
{
    struct slice rest = *line;
    struct slice id = word_take(&rest);
    struct quote quote;

    if (!id_parse(id, ret_id))
        return err_set(err, E_INVALID, "a line must begin with the id of its job, not with %s",
                       quote_text(&quote, id));
    *line = rest;
    return E_OK;
}
