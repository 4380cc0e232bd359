/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/id.h"
#include "base/json/json.h"
#include "base/text/nearest.h"
#include "core/job/state.h"
#include "core/object/quote.h"
#include "core/object/unknown_key.h"
#include "core/route/bill.h"

enum { REF_MAX = 200 };

static const char *const on_names[] = {
    [AFTER_SUCCESS] = "success", [AFTER_FAILURE] = "failure", [AFTER_END] = "end"};

/* ---- reading ---- */

struct after_read {
    struct after_cond *cond;
    const char *key; /* the member that is read */
    struct arena *arena;
    struct err *err;
};

static enum err_code must_be(const struct after_read *r, const char *what, struct slice value)
{
    struct quote quote;

    return err_set(r->err, E_INVALID, "must be %s, not %s", what, quote_json(&quote, value));
}

static enum err_code read_job(struct after_read *r, struct slice value)
{
    struct quote quote;

    if (json_type_of(value) != JSON_T_STRING)
        return must_be(r, "the id of a job, or the 'ref' of one of the same array", value);
    struct slice text = json_text(value, r->arena);

    if (text.size == 0 || text.size > REF_MAX)
        return err_set(r->err, E_INVALID, "%s is neither the id of a job nor a 'ref'",
                       quote_text(&quote, text));
    r->cond->kind = AFTER_JOB;
    if (!id_parse(text, &r->cond->job) || r->cond->job == 0) {
        r->cond->job = 0;
        r->cond->ref = arena_copy(r->arena, text);
    }
    return E_OK;
}

static enum err_code read_signal(struct after_read *r, struct slice value)
{
    if (json_type_of(value) != JSON_T_STRING)
        return must_be(r, "the name of a signal", value);
    r->cond->kind = AFTER_SIGNAL;
    r->cond->signal = arena_copy(r->arena, json_text(value, r->arena));
    return dest_name_check("signal", r->cond->signal, r->err);
}

static enum err_code read_on(struct after_read *r, struct slice value)
{
    const char *const *words = on_names + AFTER_SUCCESS;
    struct quote quote;

    if (json_type_of(value) != JSON_T_STRING)
        return must_be(r, "success, failure or end", value);
    for (unsigned on = AFTER_SUCCESS; on <= AFTER_END; on++)
        if (json_key_is(value, on_names[on])) {
            r->cond->on = (enum after_on)on;
            return E_OK;
        }
    const char *near = nearest_word(json_text(value, r->arena), words, AFTER_END);

    if (near == NULL)
        return must_be(r, "success, failure or end", value);
    return err_set(r->err, E_INVALID, "%s is unknown, did you mean '%s'?",
                   quote_json(&quote, value), near);
}

static enum err_code read_step(struct after_read *r, struct slice value)
{
    static const char what[] = "the number or the name of a step";

    if (json_type_of(value) == JSON_T_INT) {
        if (json_int(value) < 1 || json_int(value) > STEP_NUMBER_MAX)
            return must_be(r, what, value);
        r->cond->step = arena_copy(r->arena, value);
        return E_OK;
    }
    if (json_type_of(value) != JSON_T_STRING)
        return must_be(r, what, value);
    struct slice text = json_text(value, r->arena);

    if (text.size == 0 || text.size > STEP_NAME_MAX)
        return must_be(r, what, value);
    r->cond->step = arena_copy(r->arena, text);
    return E_OK;
}

static enum err_code read_count(struct after_read *r, struct slice value)
{
    struct quote quote;

    if (json_type_of(value) != JSON_T_INT || json_int(value) < 1 ||
        json_int(value) > SIGNAL_COUNT_MAX)
        return err_set(r->err, E_INVALID, "must be a whole number from 1 to %" PRId64 ", not %s",
                       SIGNAL_COUNT_MAX, quote_json(&quote, value));
    r->cond->count = json_int(value);
    return E_OK;
}

static enum err_code read_take(struct after_read *r, struct slice value)
{
    enum json_type type = json_type_of(value);

    if (type != JSON_T_TRUE && type != JSON_T_FALSE)
        return must_be(r, "true or false", value);
    r->cond->take = type == JSON_T_TRUE;
    return E_OK;
}

static enum err_code read_group(struct after_read *r, struct slice value)
{
    (void)value;
    return err_set(r->err, E_INVALID, "waiting for a group is not built yet");
}

static const struct after_key {
    const char *name;
    enum after_kind of; /* whose conditions have it */
    enum err_code (*read)(struct after_read *r, struct slice value);
} keys[] = {
    {"job", AFTER_JOB, read_job},
    {"step", AFTER_JOB, read_step},
    {"on", AFTER_JOB, read_on},
    {"signal", AFTER_SIGNAL, read_signal},
    {"count", AFTER_SIGNAL, read_count},
    {"take", AFTER_SIGNAL, read_take},
    {"group", (enum after_kind)0, read_group},
};

static enum err_code unknown_member(struct after_read *r, struct slice name)
{
    const char *words[ARRAY_LEN(keys)];

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        words[i] = keys[i].name;
    return unknown_key(json_text(name, r->arena), words, ARRAY_LEN(words),
                       "job step on signal count take", r->err);
}

/* Sets r->key when a member is to blame. */
static enum err_code read_member(struct after_read *r, enum after_kind kind, struct slice name,
                                 struct slice value)
{
    const struct after_key *key = NULL;

    for (size_t i = 0; i < ARRAY_LEN(keys) && key == NULL; i++)
        if (json_key_is(name, keys[i].name))
            key = &keys[i];
    if (key == NULL)
        return unknown_member(r, name);
    r->key = key->name;
    if (key->of != 0 && key->of != kind)
        return err_set(r->err, E_INVALID, "is for %s",
                       kind == AFTER_JOB ? "signals, not for jobs" : "jobs, not for signals");
    if (json_type_of(value) != JSON_T_NULL || key->read == read_job || key->read == read_signal)
        return key->read(r, value);
    return E_OK;
}

static enum err_code read_object(struct after_read *r, struct slice object)
{
    struct slice name;
    struct slice value;
    bool of_job = json_find(object, "job", &value);
    bool of_signal = json_find(object, "signal", &value);

    for (struct json_iter it = json_members(object); json_next_member(&it, &name, &value);) {
        if (of_job && of_signal)
            break;
        if (read_member(r, of_signal ? AFTER_SIGNAL : AFTER_JOB, name, value) != E_OK)
            return r->err->code;
    }
    r->key = NULL;
    if (of_job == of_signal)
        return err_set(r->err, E_INVALID, "must have one of job and signal");
    return E_OK;
}

static enum err_code read_cond(struct after_read *r, struct slice value)
{
    *r->cond = (struct after_cond){.kind = AFTER_JOB, .on = AFTER_SUCCESS, .count = 1};
    r->key = NULL;
    if (json_type_of(value) == JSON_T_STRING)
        return read_job(r, value);
    if (json_type_of(value) == JSON_T_OBJECT)
        return read_object(r, value);
    return must_be(r, "the id of a job, or {job: …} or {signal: …}", value);
}

static enum err_code blame(const struct after_read *r, bool listed, size_t index)
{
    const char *dot = r->key == NULL ? "" : ".";
    const char *key = r->key == NULL ? "" : r->key;

    if (listed)
        return err_wrap(r->err, "after[%zu]%s%s", index, dot, key);
    return err_wrap(r->err, "after%s%s", dot, key);
}

enum err_code after_parse(struct slice json, struct arena *arena, struct after_cond **ret_conds,
                          size_t *ret_n, struct err *err)
{
    bool listed = json_type_of(json) == JSON_T_ARRAY;
    size_t n = listed ? json_count_items(json) : 1;
    size_t i = 0;
    struct slice item;

    if (n > AFTER_MAX)
        return err_set(err, E_INVALID, "after: has %zu conditions, at most %d are allowed", n,
                       AFTER_MAX);
    struct after_cond *conds = arena_array(arena, n + 1, sizeof(*conds));
    struct after_read r = {.cond = conds, .arena = arena, .err = err};

    if (!listed && read_cond(&r, json) != E_OK)
        return blame(&r, false, 0);
    if (listed)
        for (struct json_iter it = json_items(json); json_next_item(&it, &item); i++) {
            r.cond = &conds[i];
            if (read_cond(&r, item) != E_OK)
                return blame(&r, true, i);
        }
    *ret_conds = conds;
    *ret_n = n;
    return E_OK;
}

/* ---- writing ---- */

void after_cond_json(const struct after_cond *cond, int64_t job, int step_number, struct buf *out)
{
    char id[ID_TEXT_SIZE];

    buf_add_char(out, '{');
    switch (cond->kind) {
    case AFTER_JOB:
        json_put_string(out, "job", slice_of(id_format(job, id)));
        if (step_number > 0)
            json_put_int(out, "step", step_number);
        json_put_string(out, "on", slice_of(on_names[cond->on]));
        break;
    case AFTER_SIGNAL:
        json_put_string(out, "signal", cond->signal);
        json_put_int(out, "count", cond->count);
        if (cond->take)
            json_put_bool(out, "take", true);
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
