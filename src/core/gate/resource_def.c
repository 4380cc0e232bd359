/* SPDX-License-Identifier: MIT */
#include "core/gate/resource_def.h"

#include "base/jtext/jtext.h"
#include "core/gate/needs.h"
#include "core/object/object.h"
#include "core/program/template.h"
#include "core/queue/def.h"
#include "core/time/zone_field.h"

enum { OPEN_TEXT_MAX = 200, DESCRIPTION_MAX = 4096, DIR_MAX = 4096 };

/* ---- rates ---- */

static enum err_code read_rate(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    return rates_read(r, value, &((struct resource_def *)r->to)->rates);
}

static void write_rate(const void *from, const struct field *f, struct buf *out)
{
    (void)f;
    rates_json(&((const struct resource_def *)from)->rates, out);
}

/* ---- hours ---- */

static enum err_code read_text(struct object_read *r, void *to, struct slice value)
{
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "text (put it in quotes)", value);
    *(struct slice *)to = arena_copy(r->arena, jtext_text(value, r->arena));
    return E_OK;
}

static enum err_code read_open_item(struct object_read *r, void *to, struct slice value)
{
    if (read_text(r, to, value) != E_OK)
        return r->err->code;
    return hours_add_open(&((struct resource_def *)r->to)->hours, *(struct slice *)to, r->err);
}

static enum err_code read_closed_item(struct object_read *r, void *to, struct slice value)
{
    if (read_text(r, to, value) != E_OK)
        return r->err->code;
    return hours_add_closed(&((struct resource_def *)r->to)->hours, *(struct slice *)to, r->err);
}

static enum err_code read_open(struct object_read *r, const struct field *f, struct slice value)
{
    static const struct object_list how = {.what = "ranges like \"22:00-06:00 Mon-Fri\"",
                                           .size = sizeof(struct slice),
                                           .max = HOURS_RANGES_MAX,
                                           .alone = true,
                                           .read = read_open_item};
    struct resource_def *def = r->to;

    (void)f;
    if (object_read_list(r, &how, value, &def->open, &def->n_open) != E_OK)
        return r->err->code;
    def->has_hours = true;
    return def->n_open > 0
               ? E_OK
               : err_set(r->err, E_INVALID, "never opens: give a range, or leave the key out");
}

static enum err_code read_closed(struct object_read *r, const struct field *f, struct slice value)
{
    static const struct object_list how = {.what = "dates like \"2026-12-24\"",
                                           .size = sizeof(struct slice),
                                           .max = HOURS_CLOSED_MAX,
                                           .alone = true,
                                           .read = read_closed_item};
    struct resource_def *def = r->to;

    (void)f;
    if (object_read_list(r, &how, value, &def->closed, &def->n_closed) != E_OK)
        return r->err->code;
    def->has_hours = def->has_hours || def->n_closed > 0;
    return E_OK;
}

static void write_texts(const struct slice *texts, size_t n, struct buf *out)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        jtext_add_comma(out);
        jtext_add_string(out, texts[i]);
    }
    buf_add_char(out, ']');
}

static void write_open(const void *from, const struct field *f, struct buf *out)
{
    const struct resource_def *def = from;

    (void)f;
    write_texts(def->open, def->n_open, out);
}

static void write_closed(const void *from, const struct field *f, struct buf *out)
{
    const struct resource_def *def = from;

    (void)f;
    write_texts(def->closed, def->n_closed, out);
}

/* ---- the probe ---- */

static enum err_code read_command(struct object_read *r, const struct field *f, struct slice value)
{
    struct template_command command;

    (void)f;
    if (queue_def_value(r, "command", value, &((struct resource_def *)r->to)->probe.command) !=
            E_OK ||
        template_command_parse(value, r->arena, &command, NULL, r->err) != E_OK)
        return r->err->code;
    struct slice name = template_command_name(&command, NULL);

    if (name.size == 0)
        return E_OK;
    return err_set(r->err, E_INVALID, "{%.*s} cannot be filled in: a probe runs without a job",
                   (int)name.size, name.data);
}

static void write_command(const void *from, const struct field *f, struct buf *out)
{
    (void)f;
    buf_add_slice(out, ((const struct resource_def *)from)->probe.command);
}

static const struct field probe_keys[] = {
    FIELD_CUSTOM("command", read_command, .write = write_command, .required = true,
                 .schema = "Command", .form = "text or list of texts",
                 .help = "the program; exit status 0: open, 75: shut, and its output may say for "
                         "how many seconds"),
    FIELD_TEXT("dir", resource_def, probe.dir, .min = 1, .max = DIR_MAX,
               .absent = "the directory of the definition file",
               .help = "Base directory for a program named with a slash (`./ok.sh`)."),
    FIELD_LENGTH("every", resource_def, probe.every_us, .min = US_PER_S, .max = 366 * US_PER_DAY,
                 .standard = "\"5m\"", .help = "Time from one probe to the next."),
    FIELD_LENGTH("timeout", resource_def, probe.timeout_us, .min = US_PER_MS, .max = US_PER_DAY,
                 .standard = "\"30s\"", .help = "Time limit of a probe."),
};

static const struct object probe_object = {.what = "a probe",
                                           OBJECT_FIELDS(probe_keys),
                                           .needs = true,
                                           .hint = "{command: [./ok.sh], every: 5m}"};

static const struct field resource_keys[] = {
    FIELD_TEXT("description", resource_def, description, .max = DESCRIPTION_MAX, .absent = "none",
               .help = "What the resource is."),
    FIELD_INT64("slots", resource_def, slots, .min = 1, .max = GATE_SLOTS_MAX, .absent = "no limit",
                .help = "Maximum weight of the jobs that use it at once."),
    FIELD_CUSTOM("rate", read_rate, .write = write_rate, .schema = "Rates", .max = RATES_MAX,
                 .form = "rate like `100/1h`, or list of at most %MAX%", .absent = "no limit",
                 .help = "Maximum starts in any time of that length."),
    FIELD_CUSTOM("open", read_open, .write = write_open, .schema = "Texts", .max = HOURS_RANGES_MAX,
                 .empty = true,
                 .form = "range like `22:00-06:00 Mon-Fri`, or list of at most %MAX%",
                 .absent = "always", .help = "Opening hours."),
    FIELD_CUSTOM("closed", read_closed, .write = write_closed, .schema = "Texts",
                 .max = HOURS_CLOSED_MAX,
                 .form = "date like `2026-12-24` or `2026-12-24..2026-12-26`, or list of at most "
                         "%MAX%",
                 .absent = "none", .help = "Dates on which it does not open."),
    FIELD_TEXT("zone", resource_def, zone, .min = 1, .max = ZONE_NAME_MAX,
               .check = zone_field_check, .absent = "UTC",
               .help = "Time zone of the hours and dates, like `Europe/Berlin`."),
    FIELD_MEMBERS("probe", &probe_object,
                  .help = "A program that finds out whether the resource can be used."),
};

static enum err_code check_resource(struct object_read *r, struct slice value)
{
    struct resource_def *def = r->to;

    (void)value;
    if (!def->has_hours)
        return E_OK;
    r->key = def->n_open > 0 ? "open" : "closed";
    return hours_settle(&def->hours, def->n_open > 0 ? HOURS_OPEN_GIVEN : HOURS_OPEN_ALWAYS,
                        r->err);
}

const struct object resource_object = {.what = "a resource",
                                       .schema = "ResourceDefinition",
                                       OBJECT_FIELDS(resource_keys),
                                       .check = check_resource,
                                       .hint = "{slots: 2, rate: 100/1h}",
                                       .alone = "slots"};

enum err_code resource_def_parse(struct slice json, struct arena *arena,
                                 struct resource_def *ret_def, struct object_faults *faults,
                                 const char **fault_at, struct err *err)
{
    struct resource_def def = {.slots = 0};
    struct object_read r = {
        .to = &def, .arena = arena, .err = err, .copies = true, .faults = faults};

    object_defaults(&r, &resource_object);
    if (object_read(&r, &resource_object, json) != E_OK) {
        if (fault_at != NULL)
            *fault_at = r.fault_at == NULL ? json.data : r.fault_at;
        return err->code;
    }
    *ret_def = def;
    return E_OK;
}

enum err_code resource_def_canonical(struct slice json, struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct resource_def def;

    if (resource_def_parse(json, &arena, &def, NULL, NULL, err) != E_OK)
        return err->code;
    object_write(&def, &resource_object, json, out);
    if (out->overflowed)
        return err_set(err, E_TOO_LARGE, "a resource's definition is too large");
    return E_OK;
}

/* The definition with `dir` in its probe. */
static void add_with_dir(struct slice json, struct slice dir, struct buf *out)
{
    struct slice key;
    struct slice value;

    buf_add_char(out, '{');
    for (struct jtext_iter it = jtext_members(json); jtext_next_member(&it, &key, &value);) {
        jtext_add_comma(out);
        buf_add_slice(out, key);
        buf_add_char(out, ':');
        if (!jtext_key_is(key, "probe")) {
            buf_add_slice(out, value);
            continue;
        }
        buf_add(out, value.data, value.size - 1);
        jtext_put_string(out, "dir", dir);
        buf_add_char(out, '}');
    }
    buf_add_char(out, '}');
}

enum err_code resource_def_canonical_in(struct slice json, struct slice dir, struct buf *out,
                                        struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    CLEANUP(buf) struct buf with_dir = BUF_INIT(json.size + dir.size * 6 + 100);
    struct resource_def def = {.slots = 0};

    if (resource_def_parse(json, &arena, &def, NULL, NULL, err) != E_OK)
        return err->code;
    if (def.probe.command.size == 0 || def.probe.dir.size > 0 || dir.size == 0)
        return resource_def_canonical(json, out, err);
    add_with_dir(json, dir, &with_dir);
    return resource_def_canonical(buf_slice(&with_dir), out, err);
}

enum err_code resource_name_check(struct slice name, struct err *err)
{
    if (dest_name_check("resource", name, err) != E_OK)
        return err->code;
    if (need_is_of_host(name) || slice_is(name, "lane"))
        return err_set(err, E_INVALID, "a resource cannot be called %.*s: %s", (int)name.size,
                       name.data,
                       slice_is(name, "lane") ? "the word stands for the lane of a job"
                                              : "every worker counts its own");
    return E_OK;
}

struct gate_rules resource_rules(const struct resource_def *def, const struct zone *zone)
{
    return (struct gate_rules){.slots = def->slots,
                               .rates = def->rates,
                               .hours = def->has_hours ? &def->hours : NULL,
                               .zone = zone};
}
