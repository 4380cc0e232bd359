/* SPDX-License-Identifier: MIT */
#include "server/parse/job_filter.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "base/text/nearest.h"
#include "core/group/choice.h"
#include "core/group/row.h"
#include "core/object/quote.h"
#include "core/queue/def.h"
#include "core/submit/job.h"
#include "server/limits.h"
#include "server/request/request.h"

/* ---- states ---- */

static enum err_code add_state(struct slice name, unsigned *states, struct err *err)
{
    const char *words[JOB_STATE_COUNT];
    struct quote quote;
    enum job_state state = job_state_parse(name);

    if (state != JOB_NONE) {
        *states |= 1U << state;
        return E_OK;
    }
    for (unsigned s = JOB_NONE + 1; s < JOB_STATE_COUNT; s++)
        words[s - 1] = job_state_name((enum job_state)s);
    const char *near = nearest_word(name, words, JOB_STATE_COUNT - 1);

    quote_text(&quote, name);
    if (near != NULL)
        return err_set(err, E_INVALID, "there is no %s, did you mean '%s'?", quote.text, near);
    return err_set(err, E_INVALID,
                   "there is no %s (staged held scheduled ready running done failed cancelled "
                   "relayed)",
                   quote.text);
}

enum err_code job_states_parse(struct slice text, unsigned *ret_states, struct err *err)
{
    unsigned states = 0;

    while (text.data != NULL) {
        const char *comma = memchr(text.data, ',', text.size);
        size_t size = comma == NULL ? text.size : (size_t)(comma - text.data);

        if (add_state(slice_make(text.data, size), &states, err) != E_OK)
            return err_wrap(err, "state");
        text = comma == NULL ? slice_make(NULL, 0) : slice_make(comma + 1, text.size - size - 1);
    }
    *ret_states = states;
    return E_OK;
}

/* ---- from the query string ---- */

#define LABEL_PREFIX "label."

static struct slice labels_from_params(struct request *r, struct arena *arena)
{
    CLEANUP(buf) struct buf labels = BUF_INIT(PARAMS_JSON_MAX);

    for (size_t i = 0; i < r->target.n_params; i++) {
        const struct param *p = &r->target.params[i];
        size_t prefix = sizeof(LABEL_PREFIX) - 1;

        if (p->name.size <= prefix || memcmp(p->name.data, LABEL_PREFIX, prefix) != 0)
            continue;
        buf_add_char(&labels, labels.size == 0 ? '{' : ',');
        jtext_add_string(&labels, slice_make(p->name.data + prefix, p->name.size - prefix));
        buf_add_char(&labels, ':');
        jtext_add_string(&labels, p->value);
    }
    if (labels.size == 0)
        return slice_make(NULL, 0);
    buf_add_char(&labels, '}');
    return arena_copy(arena, buf_slice(&labels));
}

/* An instant, or how long ago it was. */
static enum err_code since_parse(struct slice text, int64_t now_at, int64_t *ret_first_id,
                                 struct err *err)
{
    struct quote quote;
    struct err why = ERR_INIT;
    int64_t at;
    int64_t us;

    if (duration_parse(text, &us, &why) == E_OK)
        at = us < now_at ? now_at - us : 0;
    else if (time_parse(text, &at, &why) != E_OK)
        return err_set(err, E_INVALID,
                       "%s is neither a duration like 2h nor a time like "
                       "2026-12-24T22:00:00Z",
                       quote_text(&quote, text));
    *ret_first_id = id_at_time(at);
    return E_OK;
}

/* Ids that begin so. */
static enum err_code id_from_params(struct request *r, struct job_filter *filter, struct err *err)
{
    struct slice prefix = request_param(r, "id");
    struct quote quote;
    int64_t first;
    int64_t last;

    if (prefix.data == NULL)
        return E_OK;
    if (!id_prefix(prefix, &first, &last))
        return err_set(err, E_INVALID, "id: no job's id begins with %s",
                       quote_text(&quote, prefix));
    filter->first_id = first > filter->first_id ? first : filter->first_id;
    filter->last_id = last;
    return E_OK;
}

enum err_code job_filter_from_params(struct request *r, struct job_filter *filter,
                                     struct arena *arena, struct err *err)
{
    struct slice state = request_param(r, "state");
    struct slice since = request_param(r, "since");

    if (state.size > 0 && job_states_parse(state, &filter->states, err) != E_OK)
        return err->code;
    if (since.data != NULL && since_parse(since, clock_wall_us(), &filter->first_id, err) != E_OK)
        return err_wrap(err, "since");
    if (id_from_params(r, filter, err) != E_OK)
        return err->code;
    struct slice group = request_param(r, "group");

    if (group.data != NULL && group_id_parse(group, &filter->group, err) != E_OK)
        return err_wrap(err, "group");
    if (filter->group == GROUP_ROOT) /* it holds everything */
        filter->group = 0;
    filter->queue = request_param(r, "queue");
    filter->text = request_param(r, "text");
    filter->labels = labels_from_params(r, arena);
    return E_OK;
}

enum err_code limit_from_params(struct request *r, int otherwise, int *ret_limit, struct err *err)
{
    struct slice text = request_param(r, "limit");
    int64_t limit = otherwise;

    if (text.data != NULL && (!slice_number(text, &limit) || limit < 1 || limit > LIST_LIMIT_MAX))
        return err_set(err, E_INVALID, "limit: must be from 1 to %d", LIST_LIMIT_MAX);
    *ret_limit = (int)limit;
    return E_OK;
}

/* ---- from JSON ---- */

static enum err_code read_states(struct object_read *r, const struct field *f, struct slice value)
{
    struct job_filter *filter = r->to;
    struct slice name;

    (void)f;
    if (jtext_type_of(value) == JTEXT_STRING)
        return add_state(jtext_text(value, r->arena), &filter->states, r->err);
    if (jtext_type_of(value) != JTEXT_ARRAY)
        return object_must_be(r, "an array of states", value);
    for (struct jtext_iter it = jtext_items(value); jtext_next_item(&it, &name);) {
        if (jtext_type_of(name) != JTEXT_STRING)
            return object_must_be(r, "an array of states", name);
        if (add_state(jtext_text(name, r->arena), &filter->states, r->err) != E_OK)
            return r->err->code;
    }
    return E_OK;
}

/* No labels are any labels. */
static enum err_code read_labels(struct object_read *r, const struct field *f, struct slice value)
{
    struct job_filter *filter = r->to;

    if (labels_read(r, f, value) != E_OK)
        return r->err->code;
    if (jtext_count_members(value) == 0)
        filter->labels = slice_make(NULL, 0);
    return E_OK;
}

/* An age becomes an instant: r->with is the time now. */
static enum err_code check_older(struct object_read *r, const struct field *f, struct slice value)
{
    struct job_filter *filter = r->to;

    (void)f;
    (void)value;
    filter->ended_before_at = *(const int64_t *)r->with - filter->ended_before_at;
    return E_OK;
}

static enum err_code read_group(struct object_read *r, const struct field *f, struct slice value)
{
    (void)f;
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "the id of a group", value);
    return group_id_parse(jtext_text(value, r->arena), &((struct job_filter *)r->to)->group,
                          r->err);
}

static enum err_code read_since(struct object_read *r, const struct field *f, struct slice value)
{
    struct slice text = jtext_text(value, r->arena);

    (void)f;
    if (jtext_type_of(value) != JTEXT_STRING || text.size == 0)
        return object_must_be(r, "a duration like 2h or a time like 2026-12-24T22:00:00Z", value);
    return since_parse(text, *(const int64_t *)r->with, &((struct job_filter *)r->to)->first_id,
                       r->err);
}

static const struct field filter_fields[] = {
    FIELD_TEXT("queue", job_filter, queue, .null = true, .min = 1, .max = QUEUE_NAME_MAX),
    FIELD_CUSTOM("state", read_states, .null = true,
                 .schema = "{'type':['string','array'],'items':"
                           "{'$ref':'#/components/schemas/State'}}"),
    FIELD_CUSTOM("labels", read_labels, FIELD_OFFSET(struct slice, job_filter, labels),
                 .null = true, .schema = "Labels"),
    FIELD_TEXT("text", job_filter, text, .null = true, .min = 1, .max = TEXT_BYTES_MAX,
               .help = "In its params, own command, key, labels or status text."),
    FIELD_CUSTOM("group", read_group, .null = true, .schema = "Id", .help = "Members of it."),
    FIELD_LENGTH("older", job_filter, ended_before_at, .null = true, .max = INT64_MAX,
                 .check = check_older, .help = "Ended longer ago than this."),
    FIELD_CUSTOM("since", read_since, .null = true, .schema = "Text",
                 .help = "Created since then, or within this long."),
};

static enum err_code check_filter(struct object_read *r, struct slice value)
{
    const struct job_filter *filter = r->to;

    (void)value;
    if (filter->queue.size > 0 || filter->states != 0 || filter->labels.size > 0 ||
        filter->text.size > 0 || filter->ended_before_at != 0 || filter->first_id != 0 ||
        filter->group != 0)
        return E_OK;
    return err_set(
        r->err, E_INVALID,
        "say which jobs: the filter needs queue, state, labels, text, group, older or since");
}

const struct object filter_object = {
    .what = "filter", .schema = "Filter", OBJECT_FIELDS(filter_fields), .check = check_filter};
