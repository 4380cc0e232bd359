/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/object/object.h"
#include "core/route/routing.h"

enum { RECORD_MAX = 10000, RECORD_TEXT_MAX = 16 << 10, SIGNAL_MAX = 64, EXIT_MAX = 255 };

static const struct field entry_fields[] = {
    FIELD_INT("number", route_status, number, .null = true, .min = 1, .max = STEP_NUMBER_MAX,
              .help = "Number of the step."),
    FIELD_INT("status", route_status, status, FIELD_GIVEN(route_status, has_status), .null = true,
              .min = -SIGNAL_MAX, .max = EXIT_MAX,
              .help = "Exit status, or minus the signal number; a step without a status is run."),
    FIELD_TIME("started_at", route_status, started_at, .null = true, .other = "start time"),
    FIELD_TIME("ended_at", route_status, ended_at, .null = true, .other = "end time"),
    FIELD_TEXT("text", route_status, text, .null = true, .max = RECORD_TEXT_MAX),
    FIELD_OBJECT("set", route_status, set, .null = true, .help = "Params that the step has set."),
    FIELD_IGNORED("name"), /* shown in records, so accepted here */
    FIELD_IGNORED("process name"),
    FIELD_IGNORED("queue"),
    FIELD_IGNORED("queue name"),
    FIELD_IGNORED("attempt"),
    FIELD_IGNORED("state"),
    FIELD_IGNORED("cause"),
    FIELD_IGNORED("worker"),
};

static enum err_code check_entry(struct object_read *r, struct slice value)
{
    const struct route_status *e = r->to;

    (void)value;
    if (e->started_at != 0 && e->ended_at != 0 && e->started_at > e->ended_at)
        return err_set(r->err, E_INVALID, "it ended before it started");
    r->key = "number";
    if (e->number == 0)
        return err_set(r->err, E_INVALID, "is missing: the step of the entry");
    if (route_find(r->with, e->number) == NULL)
        return err_set(r->err, E_INVALID, "there is no step %d", e->number);
    return E_OK;
}

const struct object record_object = {
    .what = "an entry", .schema = "StepStatus", OBJECT_FIELDS(entry_fields), .check = check_entry};

enum err_code route_progress_parse(struct slice json, const struct routing *routing,
                                   struct arena *arena, struct route_status **ret_entries,
                                   size_t *ret_n, struct err *err)
{
    static const struct object_list how = {.what = "entries",
                                           .size = sizeof(struct route_status),
                                           .max = RECORD_MAX,
                                           .of = &record_object};
    struct object_read r = {
        .arena = arena, .err = err, .key = "progress", .copies = true, .with = routing};

    if (routing->n_steps == 0 && jtext_count_items(json) > 0)
        return err_set(err, E_INVALID, "progress: is a record of steps, but the job has none");
    if (object_read_list(&r, &how, json, ret_entries, ret_n) != E_OK)
        return object_blame(&r);
    return E_OK;
}
