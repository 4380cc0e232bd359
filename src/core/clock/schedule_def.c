/* SPDX-License-Identifier: MIT */
#include "core/clock/schedule_def.h"

#include "base/jtext/jtext.h"
#include "core/clock/schedule_params.h"
#include "core/object/object.h"
#include "core/queue/def.h"
#include "core/route/dest.h"
#include "core/time/zone.h"
#include "core/time/zone_field.h"

#define EVERY_MAX_US (10000 * US_PER_DAY)

enum { CRON_TEXT_MAX = 1000, DESCRIPTION_MAX = 4096 };

const char *const schedule_overlap_names[OVERLAP_COUNT] = {
    [OVERLAP_SKIP] = "skip",
    [OVERLAP_QUEUE] = "queue",
    [OVERLAP_ALL] = "all",
    [OVERLAP_REPLACE] = "replace",
};

/* ---- reading ---- */

static enum err_code check_cron(struct object_read *r, const struct field *f, struct slice value)
{
    struct schedule_def *def = r->to;

    (void)f;
    (void)value;
    return cron_parse(def->cron_text, &def->cron, r->err);
}

static enum err_code check_queue(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    (void)value;
    return queue_name_check(((struct schedule_def *)r->to)->queue, r->err);
}

static enum err_code check_topic(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    (void)value;
    return dest_name_check("topic", ((struct schedule_def *)r->to)->topic, r->err);
}

static enum err_code check_params(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    (void)value;
    return schedule_params_check(((struct schedule_def *)r->to)->params, r->err);
}

static const struct field schedule_fields[] = {
    FIELD_TEXT("description", schedule_def, description, .max = DESCRIPTION_MAX, .absent = "none",
               .help = "What it is for."),
    FIELD_TEXT("cron", schedule_def, cron_text, .min = 1, .max = CRON_TEXT_MAX, .check = check_cron,
               .form = "five fields, or a word like `@daily`", .absent = "none",
               .help = "When it fires: minute, hour, day of month, month, day of week."),
    FIELD_LENGTH("every", schedule_def, every_us, .min = SCHEDULE_EVERY_MIN_US, .max = EVERY_MAX_US,
                 .absent = "none",
                 .help = "Instead of `cron`: fires at the multiples of this length since 1970, in "
                         "UTC."),
    FIELD_TEXT("zone", schedule_def, zone, .max = ZONE_NAME_MAX, .check = zone_field_check,
               .form = "name of a time zone", .standard = "\"UTC\"",
               .help = "Time zone of `cron` and of `{day}`."),
    FIELD_TEXT("queue", schedule_def, queue, .check = check_queue, .min = 1, .max = QUEUE_NAME_MAX,
               .absent = "none", .help = "Where the job is made."),
    FIELD_TEXT("topic", schedule_def, topic, .check = check_topic, .min = 1, .max = TOPIC_NAME_MAX,
               .absent = "none",
               .help = "Instead of `queue`: publishes to it, a job for each subscriber."),
    FIELD_ROW("workflow", FIELD_T_UNBUILT, .help = "workflows are not built yet"),
    FIELD_OBJECT("params", schedule_def, params, .check = check_params, .schema = "Params",
                 .absent = "none",
                 .help = "Params of the job; `{day}`, `{now}` and `{schedule}` in their texts are "
                         "filled in."),
    FIELD_LENGTH("jitter", schedule_def, jitter_us, .max = SCHEDULE_JITTER_MAX_US,
                 .standard = "\"0s\"",
                 .help = "Each firing is put off by a time below this, which follows from the "
                         "schedule and the nominal time."),
    FIELD_WORD("overlap", schedule_def, overlap, FIELD_GIVEN(schedule_def, has_overlap),
               .words = schedule_overlap_names, .max = OVERLAP_COUNT - 1, .absent = "`skip`",
               .help = "While the job of the last firing lives: `skip` makes none, `queue` makes "
                       "one that waits for its end, `all` makes one beside it, `replace` cancels "
                       "it."),
    FIELD_LENGTH("catch_up", schedule_def, catch_up_us, .max = SCHEDULE_CATCH_UP_MAX_US,
                 .standard = "\"0s\"", .help = "How late a missed firing may be made up for."),
    FIELD_BOOL("catch_up_all", schedule_def, catch_up_all, .standard = "false",
               .help = "Makes up for each missed firing, not only for the latest."),
};

static enum err_code blame(struct object_read *r, const char *key, const char *text)
{
    r->key = key;
    return err_set(r->err, E_INVALID, "%s", text);
}

static enum err_code check_schedule(struct object_read *r, struct slice value)
{
    struct schedule_def *def = r->to;

    (void)value;
    if (def->cron_text.size > 0 && def->every_us > 0)
        return err_set(r->err, E_INVALID, "cron and every exclude each other");
    if (def->cron_text.size == 0 && def->every_us == 0)
        return err_set(r->err, E_INVALID, "a schedule needs 'cron' or 'every'");
    if (def->queue.size > 0 && def->topic.size > 0)
        return err_set(r->err, E_INVALID, "queue and topic exclude each other");
    if (def->queue.size + def->topic.size == 0)
        return err_set(r->err, E_INVALID, "a schedule needs a 'queue' or a 'topic'");
    if (def->every_us > 0 && def->jitter_us > def->every_us)
        return blame(r, "jitter", "must not be longer than 'every'");
    if (def->catch_up_all && def->catch_up_us == 0)
        return blame(r, "catch_up_all", "needs 'catch_up', which says how late a firing may be");
    if (def->topic.size == 0)
        return E_OK;
    if (def->has_overlap && def->overlap != OVERLAP_ALL)
        return blame(r, "overlap",
                     "a publication makes any number of jobs: only 'all' is possible");
    def->overlap = OVERLAP_ALL;
    return E_OK;
}

const struct object schedule_object = {.what = "a schedule",
                                       .schema = "ScheduleDefinition",
                                       OBJECT_FIELDS(schedule_fields),
                                       .check = check_schedule,
                                       .hint = "{cron: \"0 2 * * *\", queue: report}"};

enum err_code schedule_def_parse(struct slice json, struct arena *arena,
                                 struct schedule_def *ret_def, struct object_faults *faults,
                                 const char **fault_at, struct err *err)
{
    struct schedule_def def = {0};
    struct object_read r = {
        .to = &def, .arena = arena, .err = err, .copies = true, .faults = faults};

    object_defaults(&r, &schedule_object);
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

bool schedule_same_times(const struct schedule_def *a, const struct schedule_def *b)
{
    return slice_equal(a->cron_text, b->cron_text) && a->every_us == b->every_us &&
           slice_equal(a->zone, b->zone) && a->jitter_us == b->jitter_us;
}

/* ---- nominal times ---- */

int64_t schedule_next(const struct schedule_def *def, const struct zone *z, int64_t after)
{
    int64_t next;

    if (after < 0)
        after = 0;
    if (def->every_us == 0)
        return cron_next(&def->cron, z, after);
    return __builtin_add_overflow(after - after % def->every_us, def->every_us, &next) ? TIME_NEVER
                                                                                       : next;
}

int64_t schedule_latest(const struct schedule_def *def, const struct zone *z, int64_t after,
                        int64_t until)
{
    int64_t low = after; /* one comes after it */
    int64_t high = until;

    if (after >= until || schedule_next(def, z, after) > until)
        return 0;
    /* Whether one comes after x and not after `until` only changes once, from yes to no. */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;

        if (schedule_next(def, z, middle) <= until)
            low = middle;
        else
            high = middle;
    }
    return high;
}

int64_t schedule_count(const struct schedule_def *def, const struct zone *z, int64_t after,
                       int64_t until)
{
    int64_t n = 0;

    if (after < 0)
        after = 0;
    if (until <= after)
        return 0;
    if (def->every_us > 0)
        return until / def->every_us - after / def->every_us;
    for (int64_t at = cron_next(&def->cron, z, after); at <= until && n < SCHEDULE_COUNT_MAX;
         at = cron_next(&def->cron, z, at))
        n++;
    return n;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

int64_t schedule_jitter(const struct schedule_def *def, struct slice name, int64_t nominal_at)
{
    if (def->jitter_us == 0)
        return 0;
    return (int64_t)(mix(slice_hash(name) ^ mix((uint64_t)nominal_at)) % (uint64_t)def->jitter_us);
}
