/* SPDX-License-Identifier: MIT */
#include "core/clock/schedule_def.h"

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/object/object.h"
#include "core/time/zone_field.h"

#define YEAR_US (366 * US_PER_DAY)

static const char *const overlap_words[] = {[OVERLAP_SKIP] = "skip",
                                            [OVERLAP_QUEUE] = "queue",
                                            [OVERLAP_ALL] = "all",
                                            [OVERLAP_REPLACE] = "replace"};

static enum err_code check_cron(struct object_read *r, const struct field *f, struct slice value)
{
    struct schedule_def *def = r->to;

    (void)f;
    (void)value;
    return cron_parse(def->cron_text, &def->cron, r->err);
}

/* Both keys name the target; the second of them is refused. */
static enum err_code read_target(struct object_read *r, const struct field *f, struct slice value)
{
    struct schedule_def *def = r->to;

    if (def->target.name.size > 0)
        return err_set(r->err, E_INVALID, "must not be given with %s: a schedule has one target",
                       def->target.kind == DEST_QUEUE ? "queue" : "topic");
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r,
                              slice_is(slice_of(f->name), "queue") ? "the name of a queue"
                                                                   : "the name of a topic",
                              value);
    def->target.kind = slice_is(slice_of(f->name), "queue") ? DEST_QUEUE : DEST_TOPIC;
    def->target.name = arena_copy(r->arena, jtext_text(value, r->arena));
    return dest_name_check(f->name, def->target.name, r->err);
}

static void write_target(const void *from, const struct field *f, struct buf *out)
{
    (void)f;
    jtext_add_string(out, ((const struct schedule_def *)from)->target.name);
}

static const struct field schedule_keys[] = {
    FIELD_TEXT("description", schedule_def, description, .max = 4096, .absent = "none",
               .help = "What the schedule is for."),
    FIELD_TEXT("cron", schedule_def, cron_text, .min = 1, .max = CRON_TEXT_MAX, .check = check_cron,
               .absent = "none",
               .help = "When it fires: minute, hour, day of month, month and day of week, or "
                       "`@daily` and the like."),
    FIELD_LENGTH("every", schedule_def, every_us, .min = US_PER_S, .max = YEAR_US, .absent = "none",
                 .help = "Time from one firing to the next, instead of `cron`."),
    FIELD_TEXT("zone", schedule_def, zone, .min = 1, .max = ZONE_NAME_MAX,
               .check = zone_field_check, .absent = "UTC",
               .help = "Time zone of `cron` and of `{day}`, like `Europe/Berlin`."),
    FIELD_CUSTOM("queue", read_target, .write = write_target, .schema = "Text",
                 .form = "name of a queue", .absent = "none",
                 .help = "Queue in which each firing creates a job."),
    FIELD_CUSTOM("topic", read_target, .write = write_target, .schema = "Text",
                 .form = "name of a topic", .absent = "none",
                 .help = "Topic to which each firing publishes."),
    FIELD_ROW("workflow", FIELD_T_UNBUILT, .help = "workflows are not built yet"),
    FIELD_OBJECT("params", schedule_def, target.params, .schema = "Params", .empty = true,
                 .absent = "none",
                 .help = "Params of the job; `{now}` and `{day}` are those of the nominal time."),
    FIELD_LENGTH("jitter", schedule_def, jitter_us, .max = US_PER_DAY, .absent = "0",
                 .help = "Each firing is late by up to this, always by the same for one nominal "
                         "time."),
    FIELD_WORD("overlap", schedule_def, overlap, .words = overlap_words, .min = OVERLAP_SKIP,
               .max = OVERLAP_REPLACE, .absent = "skip",
               .help = "While the previous job lives: `skip` the firing, `queue` it behind, start "
                       "`all`, or `replace` the previous."),
    FIELD_LENGTH("catch_up", schedule_def, catch_up_us, .max = YEAR_US, .absent = "0",
                 .help = "The latest firing that was missed within this time is made up for."),
    FIELD_BOOL("catch_up_all", schedule_def, catch_up_all, .absent = "false",
               .help = "All firings that were missed within `catch_up` are made up for."),
};

static enum err_code check_schedule(struct object_read *r, struct slice value)
{
    const struct schedule_def *def = r->to;

    (void)value;
    if ((def->cron_text.size > 0) == (def->every_us > 0))
        return err_set(r->err, E_INVALID, "must have one of cron and every");
    if (def->target.name.size == 0)
        return err_set(r->err, E_INVALID, "must have one of queue and topic");
    if (def->every_us > 0 && def->jitter_us >= def->every_us) {
        r->key = "jitter";
        return err_set(r->err, E_INVALID, "must be shorter than every");
    }
    if (def->catch_up_all && def->catch_up_us == 0) {
        r->key = "catch_up_all";
        return err_set(r->err, E_INVALID,
                       "needs catch_up, the time within which they are made up "
                       "for");
    }
    return E_OK;
}

const struct object schedule_object = {.what = "a schedule",
                                       .schema = "ScheduleDefinition",
                                       OBJECT_FIELDS(schedule_keys),
                                       .check = check_schedule,
                                       .hint = "{cron: \"0 2 * * *\", queue: report}"};

enum err_code schedule_def_parse(struct slice json, struct arena *arena,
                                 struct schedule_def *ret_def, struct object_faults *faults,
                                 const char **fault_at, struct err *err)
{
    struct schedule_def def = {.every_us = 0};
    struct object_read r = {
        .to = &def, .arena = arena, .err = err, .copies = true, .faults = faults};

    if (object_read(&r, &schedule_object, json) != E_OK) {
        if (fault_at != NULL)
            *fault_at = r.fault_at == NULL ? json.data : r.fault_at;
        return err->code;
    }
    *ret_def = def;
    return E_OK;
}

enum err_code schedule_def_canonical(struct slice json, struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct schedule_def def;

    if (schedule_def_parse(json, &arena, &def, NULL, NULL, err) != E_OK)
        return err->code;
    object_write(&def, &schedule_object, json, out);
    if (out->overflowed)
        return err_set(err, E_TOO_LARGE, "a schedule's definition is too large");
    return E_OK;
}
