/* SPDX-License-Identifier: MIT */
#include "core/group/group_def.h"

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "core/object/object.h"

#define LONGEST_US (10000 * US_PER_DAY)

static const char *const fail_words[] = {
    [GROUP_FAIL_FINISH] = "finish", [GROUP_FAIL_STOP] = "stop"};

/* ---- finally ---- */

static enum err_code read_target(struct object_read *r, const struct field *f, struct slice value)
{
    bool queue = slice_is(slice_of(f->name), "queue");
    struct dest *to = r->to;

    if (to->name.size > 0)
        return err_set(r->err, E_INVALID, "must not be given with %s: a group has one finaliser",
                       to->kind == DEST_QUEUE ? "queue" : "topic");
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, queue ? "the name of a queue" : "the name of a topic", value);
    to->kind = queue ? DEST_QUEUE : DEST_TOPIC;
    to->name = arena_copy(r->arena, jtext_text(value, r->arena));
    return dest_name_check(f->name, to->name, r->err);
}

static const struct field finally_keys[] = {
    FIELD_CUSTOM("queue", read_target, .schema = "Text", .form = "name of a queue",
                 .absent = "none", .help = "Queue of the finaliser."),
    FIELD_CUSTOM("topic", read_target, .schema = "Text", .form = "name of a topic",
                 .absent = "none", .help = "Topic to which the end of the group is published."),
    FIELD_ROW("webhook", FIELD_T_UNBUILT, .help = "webhooks are not built yet"),
    FIELD_OBJECT("params", dest, params, .schema = "Params", .absent = "none",
                 .help = "Params of the finaliser; names in braces are filled from the group's "
                         "data, and with `{group} {kind} {name} {made} {done} {failed} {cancelled} "
                         "{dropped}`."),
};

static enum err_code check_finally(struct object_read *r, struct slice value)
{
    (void)value;
    if (((const struct dest *)r->to)->name.size > 0)
        return E_OK;
    return err_set(r->err, E_INVALID, "must have one of queue and topic");
}

const struct object finally_object = {.what = "finally",
                                      .schema = "Finally",
                                      OBJECT_FIELDS(finally_keys),
                                      .check = check_finally,
                                      .hint = "{queue: summary}"};

enum err_code finally_read(struct object_read *r, struct slice value, struct dest *ret_finally)
{
    struct dest to = {.count = 1};

    if (object_read_in(r, &finally_object, value, &to) != E_OK)
        return r->err->code;
    *ret_finally = to;
    return E_OK;
}

void finally_json(const struct dest *finally, struct buf *out)
{
    buf_add_char(out, '{');
    jtext_put_string(out, finally->kind == DEST_QUEUE ? "queue" : "topic", finally->name);
    if (finally->params.size > 0)
        jtext_put_raw(out, "params", finally->params);
    buf_add_char(out, '}');
}

/* ---- kinds of groups ---- */

static enum err_code read_finally(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    return finally_read(r, value, &((struct group_def *)r->to)->finally);
}

static void write_finally(const void *from, const struct field *f, struct buf *out)
{
    (void)f;
    finally_json(&((const struct group_def *)from)->finally, out);
}

static const struct field keep_keys[] = {
    FIELD_LENGTH("done", group_def, keep_done_us, .max = LONGEST_US, .standard = "\"30d\"",
                 .help = "How long done and cancelled groups are kept."),
    FIELD_LENGTH("failed", group_def, keep_failed_us, .max = LONGEST_US, .standard = "\"90d\"",
                 .help = "How long failed groups are kept."),
};

static const struct object keep_object = {.what = "keep", OBJECT_FIELDS(keep_keys)};

static const struct field group_keys[] = {
    FIELD_TEXT("description", group_def, description, .max = 4096, .absent = "none",
               .help = "What groups of this kind are for."),
    FIELD_CUSTOM("finally", read_finally, .write = write_finally, .schema = "Finally",
                 .form = "`{queue, params}` or `{topic, params}`", .absent = "none",
                 .help = "What is made once, when all jobs and groups in it have ended."),
    FIELD_WORD("fail", group_def, fail, .words = fail_words, .min = GROUP_FAIL_FINISH,
               .max = GROUP_FAIL_STOP, .absent = "finish",
               .help = "When a member fails: `finish` the rest, or `stop` it."),
    FIELD_MEMBERS("keep", &keep_object, .help = "How long ended groups are kept."),
};

const struct object group_object = {.what = "a kind of group",
                                    .schema = "GroupDefinition",
                                    OBJECT_FIELDS(group_keys),
                                    .hint = "{finally: {queue: summary}}"};

enum err_code group_def_parse(struct slice json, struct arena *arena, struct group_def *ret_def,
                              struct object_faults *faults, const char **fault_at, struct err *err)
{
    struct group_def def = {.fail = GROUP_FAIL_FINISH};
    struct object_read r = {
        .to = &def, .arena = arena, .err = err, .copies = true, .faults = faults};

    object_defaults(&r, &group_object);
    if (object_read(&r, &group_object, json) != E_OK) {
        if (fault_at != NULL)
            *fault_at = r.fault_at == NULL ? json.data : r.fault_at;
        return err->code;
    }
    *ret_def = def;
    return E_OK;
}

enum err_code group_def_canonical(struct slice json, struct buf *out, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct group_def def;

    if (group_def_parse(json, &arena, &def, NULL, NULL, err) != E_OK)
        return err->code;
    object_write(&def, &group_object, json, out);
    if (out->overflowed)
        return err_set(err, E_TOO_LARGE, "the definition of a kind of group is too large");
    return E_OK;
}

enum err_code group_kind_check(struct slice name, struct err *err)
{
    if (dest_name_check("group kind", name, err) != E_OK)
        return err->code;
    if (slice_is(name, "root"))
        return err_set(err, E_INVALID,
                       "a kind of group cannot be called root: that is the group "
                       "that holds everything");
    return E_OK;
}
