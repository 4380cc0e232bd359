/* SPDX-License-Identifier: MIT */
#include "cli/view/route_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/slice.h"
#include "cli/view/job_view.h"
#include "cli/view/reply_json.h"
#include "core/job/state.h"

enum { SHOWN_MAX = 20 };

/* ---- destinations and conditions ---- */

static void add_count(struct buf *out, const json_t *of)
{
    int64_t count = reply_int(of, "count");

    if (count > 1)
        buf_addf(out, ":%" PRId64, count);
}

static void add_dest(struct buf *out, const json_t *dest)
{
    static const char *const kinds[] = {"topic", "join", "signal"};
    CLEANUP(mem) char *params = reply_json(dest, "params");

    if (json_is_string(dest))
        buf_add_str(out, json_string_value(dest));
    buf_add_str(out, reply_text(dest, "queue"));
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (*reply_text(dest, kinds[i]) != '\0')
            buf_addf(out, "%s:%s", kinds[i], reply_text(dest, kinds[i]));
    add_count(out, dest);
    if (params != NULL)
        buf_addf(out, " %s", params);
}

void dests_add(struct buf *out, const json_t *dests)
{
    for (size_t i = 0; i < json_array_size(dests); i++) {
        if (i > 0)
            buf_add_str(out, ", ");
        add_dest(out, json_array_get(dests, i));
    }
}

void view_dests(const struct view_field *f, const struct view_source *from, struct view_text *out)
{
    dests_add(&out->text, json_object_get(from->item, f->member));
}

static void add_condition(struct buf *out, const json_t *condition)
{
    const char *on = reply_text(condition, "on");
    CLEANUP(mem) char *step = reply_json(condition, "step");

    if (*reply_text(condition, "signal") != '\0') {
        buf_addf(out, "signal:%s", reply_text(condition, "signal"));
        add_count(out, condition);
        if (reply_is_true(condition, "take"))
            buf_add_str(out, " (takes it)");
        return;
    }
    buf_add_str(out, json_is_string(condition) ? json_string_value(condition)
                                               : reply_text(condition, "job"));
    if (step != NULL)
        buf_addf(out, "/%s", step);
    if (*on != '\0' && strcmp(on, "success") != 0)
        buf_addf(out, ":%s", on);
}

void conditions_add(struct buf *out, const json_t *conditions)
{
    size_t count = json_array_size(conditions);

    for (size_t i = 0; i < count && i < SHOWN_MAX; i++) {
        if (i > 0)
            buf_add_str(out, ", ");
        add_condition(out, json_array_get(conditions, i));
    }
    if (count > SHOWN_MAX)
        buf_addf(out, " and %zu more", count - SHOWN_MAX);
}

/* ---- steps ---- */

static const struct column columns[] = {
    {.title = "STEP", .right = true},
    {.title = "NAME"},
    {.title = "QUEUE"},
    {.title = "STATE"},
    {.title = "ATTEMPTS", .right = true},
    {.title = "ON ERROR"},
    {.title = "TEXT"},
};

/* Its last entry in the record, or NULL. */
static const json_t *last_entry(const json_t *job, int64_t number)
{
    const json_t *record = json_object_get(job, "progress");

    for (size_t i = json_array_size(record); i-- > 0;)
        if (reply_int(json_array_get(record, i), "number") == number)
            return json_array_get(record, i);
    return NULL;
}

/* The place of the step that a living job is at; behind all of them when it has ended.  Numbers
 * tell nothing: added steps have higher ones than the final steps behind them. */
static size_t place_of_job(const json_t *job)
{
    const json_t *steps = json_object_get(job, "steps");
    size_t place = 0;

    if (job_state_ended(job_state_parse(slice_of(reply_text(job, "state")))))
        return json_array_size(steps);
    while (place < json_array_size(steps) &&
           reply_int(json_array_get(steps, place), "number") != reply_int(job, "step"))
        place++;
    return place;
}

/* The state of a step.  Steps after the current one run again, even if they are recorded. */
static const char *state_of(const json_t *job, size_t place, const json_t *entry)
{
    size_t at = place_of_job(job);
    /* An entry that came with the job was made by no worker of ours: its step is not run again. */
    bool handed_in = entry != NULL && *reply_text(entry, "worker") == '\0';

    if (place == at)
        return reply_text(job, "state");
    if (place > at && !handed_in)
        return "to come";
    return entry != NULL ? reply_text(entry, "state") : "not run";
}

static const char *on_error(const json_t *step)
{
    if (reply_is_true(step, "final"))
        return "final";
    return strcmp(reply_text(step, "on_error"), "continue") == 0 ? "continue" : "";
}

static void add_step(struct table *t, const json_t *job, size_t place)
{
    const json_t *step = json_array_get(json_object_get(job, "steps"), place);
    int64_t number = reply_int(step, "number");
    const json_t *entry = last_entry(job, number);
    const char *state = state_of(job, place, entry);
    bool shown = entry != NULL && strcmp(state, "to come") != 0;

    table_addf(t, COLOUR_PLAIN, "%" PRId64, number);
    table_add(t, COLOUR_PLAIN, reply_text(step, "name"));
    table_add(t, COLOUR_PLAIN, reply_text(step, "queue"));
    table_add(t, shown || place == place_of_job(job) ? state_colour(state) : COLOUR_DIM, state);
    if (shown && reply_int(entry, "attempt") > 0)
        table_addf(t, COLOUR_PLAIN, "%" PRId64, reply_int(entry, "attempt"));
    else
        table_add(t, COLOUR_PLAIN, "");
    table_add(t, COLOUR_DIM, on_error(step));
    table_add(t, COLOUR_PLAIN, shown ? reply_text(entry, "text") : "");
}

void steps_print(const json_t *job, const struct screen *s)
{
    CLEANUP(table) struct table t;
    const json_t *steps = json_object_get(job, "steps");

    table_init(&t, columns, ARRAY_LEN(columns));
    t.indent = 2;
    for (size_t i = 0; i < json_array_size(steps); i++)
        add_step(&t, job, i);
    if (t.cells.count == 0)
        return;
    fputs("\n  steps\n", screen_out(s));
    table_print(&t, s);
}
