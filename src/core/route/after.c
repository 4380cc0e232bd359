/* SPDX-License-Identifier: MIT */
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "core/job/state.h"
#include "core/object/object.h"
#include "core/object/quote.h"
#include "core/route/routing.h"

enum { REF_MAX = 200 };

static const char *const on_names[] = {
    [AFTER_SUCCESS] = "success", [AFTER_FAILURE] = "failure", [AFTER_END] = "end"};

/* ---- reading ---- */

static enum err_code read_job(struct object_read *r, const struct field *f, struct slice value)
{
    struct after_cond *cond = r->to;
    struct quote quote;

    (void)f;
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "the id of a job, or the 'ref' of one of the same array", value);
    struct slice text = jtext_text(value, r->arena);

    if (text.size == 0 || text.size > REF_MAX)
        return err_set(r->err, E_INVALID, "%s is neither the id of a job nor a 'ref'",
                       quote_text(&quote, text));
    cond->kind = AFTER_JOB;
    if (!id_parse(text, &cond->job) || cond->job == 0) {
        cond->job = 0;
        cond->ref = arena_copy(r->arena, text);
    }
    return E_OK;
}

static enum err_code read_signal(struct object_read *r, const struct field *f, struct slice value)
{
    struct after_cond *cond = r->to;

    (void)f;
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "the name of a signal", value);
    cond->kind = AFTER_SIGNAL;
    cond->signal = arena_copy(r->arena, jtext_text(value, r->arena));
    return dest_name_check("signal", cond->signal, r->err);
}

static enum err_code read_group(struct object_read *r, const struct field *f, struct slice value)
{
    struct after_cond *cond = r->to;

    (void)f;
    if (jtext_type_of(value) != JTEXT_STRING ||
        !id_parse(jtext_text(value, r->arena), &cond->group) || cond->group == 0)
        return object_must_be(r, "the id of a group", value);
    cond->kind = AFTER_GROUP;
    return E_OK;
}

static enum err_code read_step(struct object_read *r, const struct field *f, struct slice value)
{
    bool number = jtext_type_of(value) == JTEXT_INT && jtext_int(value) >= 1 &&
                  jtext_int(value) <= STEP_NUMBER_MAX;
    struct slice text = number ? value : jtext_text(value, r->arena); /* empty: no text */

    (void)f;
    if (text.size == 0 || text.size > STEP_NAME_MAX)
        return object_must_be(r, "the number or the name of a step", value);
    ((struct after_cond *)r->to)->step = arena_copy(r->arena, text);
    return E_OK;
}

static const struct field cond_fields[] = {
    FIELD_CUSTOM("job", read_job, .schema = "Text",
                 .help = "Id of the job, or `ref` of a job in the same array."),
    FIELD_CUSTOM("step", read_step, .null = true, .schema = "{'type':['integer','string']}",
                 .help = "For a job: number or name of the step to wait for."),
    FIELD_WORD("on", after_cond, on, .null = true, .words = on_names, .min = AFTER_SUCCESS,
               .max = AFTER_END,
               .help = "For a job or a group: how it must end (default success)."),
    FIELD_CUSTOM("signal", read_signal, .schema = "Text", .help = "Its name."),
    FIELD_INT64("count", after_cond, count, .null = true, .min = 1, .max = SIGNAL_COUNT_MAX,
                .help = "For a signal: the level it must have (default 1)."),
    FIELD_BOOL("take", after_cond, take, .null = true,
               .help = "For a signal: the release lowers it by `count`."),
    FIELD_CUSTOM("group", read_group, .schema = "Id",
                 .help = "Id of a group, which ends with its finaliser."),
};

/* Which fields belong to which kind of condition. */
static const struct {
    const char *name;
    unsigned kinds; /* bits 1 << enum after_kind */
} fields_of[] = {
    {"step", 1 << AFTER_JOB},
    {"on", 1 << AFTER_JOB | 1 << AFTER_GROUP},
    {"count", 1 << AFTER_SIGNAL},
    {"take", 1 << AFTER_SIGNAL},
};

static enum err_code check_cond(struct object_read *r, struct slice value)
{
    static const char *const nouns[] = {
        [AFTER_JOB] = "jobs", [AFTER_SIGNAL] = "signals", [AFTER_GROUP] = "groups"};
    const struct after_cond *cond = r->to;
    struct slice ignored;
    bool job = jtext_find(value, "job", &ignored);
    bool signal = jtext_find(value, "signal", &ignored);
    bool group = jtext_find(value, "group", &ignored);

    if (job + signal + group != 1)
        return err_set(r->err, E_INVALID, "must have one of job, signal and group");
    for (size_t i = 0; i < ARRAY_LEN(fields_of); i++)
        if ((fields_of[i].kinds & 1u << cond->kind) == 0 &&
            jtext_find(value, fields_of[i].name, &ignored)) {
            r->key = fields_of[i].name;
            return err_set(r->err, E_INVALID, "is for %s, not for %s",
                           (fields_of[i].kinds & 1u << AFTER_JOB) != 0 ? "jobs" : "signals",
                           nouns[cond->kind]);
        }
    return E_OK;
}

const struct object after_object = {.what = "a condition",
                                    .schema = "ConditionObject",
                                    OBJECT_FIELDS(cond_fields),
                                    .check = check_cond};

static enum err_code read_cond(struct object_read *r, void *to, struct slice value)
{
    void *outer = r->to;
    enum err_code code;

    *(struct after_cond *)to = (struct after_cond){.kind = AFTER_JOB,
                                                   .on = AFTER_SUCCESS,
                                                   .count = 1};
    r->to = to;
    if (jtext_type_of(value) == JTEXT_STRING)
        code = read_job(r, &cond_fields[0], value);
    else if (jtext_type_of(value) == JTEXT_OBJECT)
        code = object_read(r, &after_object, value);
    else
        code = object_must_be(r, "the id of a job, or {job: …}, {signal: …} or {group: …}", value);
    r->to = outer;
    return code;
}

enum err_code after_parse(struct slice json, struct arena *arena, struct after_cond **ret_conds,
                          size_t *ret_n, struct err *err)
{
    static const struct object_list how = {.what = "conditions",
                                           .size = sizeof(struct after_cond),
                                           .max = AFTER_MAX,
                                           .alone = true,
                                           .read = read_cond};
    struct object_read r = {.arena = arena, .err = err, .key = "after", .copies = true};

    if (object_read_list(&r, &how, json, ret_conds, ret_n) != E_OK)
        return object_blame(&r);
    return E_OK;
}

/* ---- writing ---- */

void after_cond_json(const struct after_cond *cond, int64_t job, int step_number, struct buf *out)
{
    char id[ID_TEXT_SIZE];

    buf_add_char(out, '{');
    switch (cond->kind) {
    case AFTER_JOB:
        jtext_put_string(out, "job", slice_of(id_format(job, id)));
        if (step_number > 0)
            jtext_put_int(out, "step", step_number);
        jtext_put_string(out, "on", slice_of(on_names[cond->on]));
        break;
    case AFTER_SIGNAL:
        jtext_put_string(out, "signal", cond->signal);
        jtext_put_int(out, "count", cond->count);
        if (cond->take)
            jtext_put_bool(out, "take", true);
        break;
    case AFTER_GROUP:
        jtext_put_string(out, "group", slice_of(id_format(cond->group, id)));
        jtext_put_string(out, "on", slice_of(on_names[cond->on]));
        break;
    }
    buf_add_char(out, '}');
}

/* ---- judging ---- */

enum after_verdict after_judge_end(enum after_on on, int state)
{
    if (state == JOB_NONE)
        return AFTER_NEVER;
    if (!job_state_ended((enum job_state)state))
        return AFTER_OPEN;
    switch (on) {
    case AFTER_SUCCESS: return state == JOB_DONE ? AFTER_HOLDS : AFTER_NEVER;
    case AFTER_FAILURE: return state == JOB_FAILED ? AFTER_HOLDS : AFTER_NEVER;
    case AFTER_END: return AFTER_HOLDS;
    }
    ASSERT(!"every condition is judged");
    return AFTER_NEVER;
}
