/* SPDX-License-Identifier: MIT */
#include "server/parse_exchange.h"

#include "base/clock.h"
#include "base/id.h"
#include "base/json.h"
#include "core/queue_def.h"
#include "core/quote.h"
#include "server/fields.h"
#include "server/limits.h"

bool lease_parse(struct slice text, int64_t *ret_token)
{
    return id_parse(text, ret_token);
}

static enum err_code read_lease(struct field_reader *r, struct slice value, int64_t *ret_token)
{
    if (json_type_of(value) != JSON_T_STRING || !lease_parse(json_text(value, r->arena), ret_token))
        return field_refuse(r, "the lease that came with the job", value);
    return E_OK;
}

/* ---- finish ---- */

static enum err_code finish_id(struct field_reader *r, struct slice value)
{
    return field_id(r, value, &((struct finish_item *)r->to)->id);
}

static enum err_code finish_lease(struct field_reader *r, struct slice value)
{
    return read_lease(r, value, &((struct finish_item *)r->to)->token);
}

static enum err_code finish_state(struct field_reader *r, struct slice value)
{
    struct finish_item *item = r->to;

    if (json_type_of(value) == JSON_T_STRING)
        item->outcome = job_outcome_parse(json_text(value, r->arena));
    if (item->outcome == JOB_OUT_NONE || item->outcome == JOB_OUT_LOST)
        return field_refuse(r, "one of done failed later returned cancelled", value);
    return E_OK;
}

static enum err_code finish_exit(struct field_reader *r, struct slice value)
{
    struct finish_item *item = r->to;
    int64_t status;

    if (field_int(r, value, -255, 255, &status) != E_OK)
        return r->err->code;
    item->exited = true;
    item->exit = (int)status;
    return E_OK;
}

static enum err_code finish_cause(struct field_reader *r, struct slice value)
{
    struct finish_item *item = r->to;

    if (json_type_of(value) == JSON_T_STRING)
        item->cause = job_cause_parse(json_text(value, r->arena));
    if (item->cause == JOB_CAUSE_NONE)
        return field_refuse(r,
                            "one of exit signal timeout memory lost start protocol cancelled "
                            "dependency",
                            value);
    return E_OK;
}

static enum err_code finish_text(struct field_reader *r, struct slice value)
{
    struct finish_item *item = r->to;

    item->has_text = true;
    return field_text(r, value, 0, TEXT_BYTES_MAX, &item->text);
}

static enum err_code finish_set(struct field_reader *r, struct slice value)
{
    return field_object(r, value, &((struct finish_item *)r->to)->set);
}

static enum err_code finish_result(struct field_reader *r, struct slice value)
{
    ((struct finish_item *)r->to)->result = value;
    return E_OK;
}

static enum err_code finish_delay(struct field_reader *r, struct slice value)
{
    struct finish_item *item = r->to;

    item->delayed = true;
    return field_length(r, value, 0, INT64_MAX, &item->delay_us);
}

static enum err_code finish_final(struct field_reader *r, struct slice value)
{
    return field_bool(r, value, &((struct finish_item *)r->to)->final);
}

static const struct field finish_fields[] = {
    {FIELD("id"), .read = finish_id},
    {FIELD("lease"), .read = finish_lease},
    {FIELD("state"), .read = finish_state},
    {FIELD("exit"), .read = finish_exit, .null = true},
    {FIELD("text"), .read = finish_text, .null = true},
    {FIELD("result"), .read = finish_result},
    {FIELD("cause"), .read = finish_cause, .null = true},
    {FIELD("set"), .read = finish_set, .null = true},
    {FIELD("delay"), .read = finish_delay, .null = true},
    {FIELD("final"), .read = finish_final, .null = true},
    {FIELD("emit")},
};

static enum err_code check_finish(const void *to, struct err *err)
{
    const struct finish_item *item = to;

    if (item->id == 0 || item->token == 0)
        return err_set(err, E_INVALID, "a finish needs 'id' and 'lease'");
    if (item->outcome == JOB_OUT_NONE)
        return err_set(err, E_INVALID,
                       "a finish needs a 'state': done failed later returned cancelled");
    if (item->outcome == JOB_OUT_LATER && !item->delayed)
        return err_set(err, E_INVALID, "the state 'later' needs a 'delay'");
    return E_OK;
}

/* ---- touch ---- */

static enum err_code touch_id(struct field_reader *r, struct slice value)
{
    return field_id(r, value, &((struct touch_item *)r->to)->id);
}

static enum err_code touch_lease(struct field_reader *r, struct slice value)
{
    return read_lease(r, value, &((struct touch_item *)r->to)->token);
}

static enum err_code touch_text(struct field_reader *r, struct slice value)
{
    struct touch_item *item = r->to;

    item->has_text = true;
    return field_text(r, value, 0, TEXT_BYTES_MAX, &item->text);
}

static enum err_code touch_done(struct field_reader *r, struct slice value)
{
    struct touch_item *item = r->to;

    item->has_done = true;
    return field_int(r, value, 0, INT64_MAX, &item->done);
}

static enum err_code touch_total(struct field_reader *r, struct slice value)
{
    struct touch_item *item = r->to;

    item->has_done = true;
    return field_int(r, value, 0, INT64_MAX, &item->total);
}

static const struct field touch_fields[] = {
    {FIELD("id"), .read = touch_id},
    {FIELD("lease"), .read = touch_lease},
    {FIELD("text"), .read = touch_text, .null = true},
    {FIELD("done"), .read = touch_done, .null = true},
    {FIELD("total"), .read = touch_total, .null = true},
};

static enum err_code check_touch(const void *to, struct err *err)
{
    const struct touch_item *item = to;

    if (item->id == 0 || item->token == 0)
        return err_set(err, E_INVALID, "a touch needs 'id' and 'lease'");
    return E_OK;
}

/* ---- arrays of them ---- */

struct item_kind {
    const char *what;
    size_t size;
    const struct field *fields;
    size_t n_fields;
    enum err_code (*check)(const void *item, struct err *err);
};

static const struct item_kind finish_kind = {.what = "a finish",
                                             .size = sizeof(struct finish_item),
                                             .fields = finish_fields,
                                             .n_fields = ARRAY_LEN(finish_fields),
                                             .check = check_finish};
static const struct item_kind touch_kind = {.what = "a touch",
                                            .size = sizeof(struct touch_item),
                                            .fields = touch_fields,
                                            .n_fields = ARRAY_LEN(touch_fields),
                                            .check = check_touch};

static size_t count_items(struct slice array)
{
    struct slice value;
    size_t count = 0;

    for (struct json_iter it = json_items(array); json_next_item(&it, &value);)
        count++;
    return count;
}

static enum err_code read_item(struct field_reader *r, const struct item_kind *kind,
                               struct slice object, void *item)
{
    struct field_reader reader = {.fields = kind->fields,
                                  .n_fields = kind->n_fields,
                                  .what = kind->what,
                                  .arena = r->arena,
                                  .err = r->err,
                                  .to = item};

    if (fields_read(&reader, object) != E_OK)
        return r->err->code;
    return kind->check(item, r->err);
}

static enum err_code read_items(struct field_reader *r, struct slice value,
                                const struct item_kind *kind, void **ret_items, size_t *ret_count)
{
    struct slice object;
    size_t index = 0;

    if (json_type_of(value) != JSON_T_ARRAY)
        return field_refuse(r, "an array", value);
    size_t count = count_items(value);

    if (count > OP_ITEMS_MAX)
        return err_set(r->err, E_TOO_LARGE, "%s: has %zu items, at most %d are allowed", r->name,
                       count, OP_ITEMS_MAX);
    char *items = arena_array(r->arena, count + 1, kind->size);

    for (struct json_iter it = json_items(value); json_next_item(&it, &object); index++)
        if (read_item(r, kind, object, items + index * kind->size) != E_OK) {
            (void)err_wrap(r->err, "%s[%zu]", r->name, index);
            r->err->item = (unsigned)index + 1;
            return r->err->code;
        }
    *ret_items = items;
    *ret_count = count;
    return E_OK;
}

static enum err_code exchange_finish(struct field_reader *r, struct slice value)
{
    struct exchange *x = r->to;
    void *items;

    if (read_items(r, value, &finish_kind, &items, &x->n_finish) != E_OK)
        return r->err->code;
    x->finish = items;
    return E_OK;
}

static enum err_code exchange_touch(struct field_reader *r, struct slice value)
{
    struct exchange *x = r->to;
    void *items;

    if (read_items(r, value, &touch_kind, &items, &x->n_touch) != E_OK)
        return r->err->code;
    x->touch = items;
    return E_OK;
}

/* ---- claim ---- */

static enum err_code worker_name(struct field_reader *r, struct slice value)
{
    return field_text(r, value, 1, WORKER_NAME_MAX, &((struct worker_info *)r->to)->name);
}

static enum err_code worker_host(struct field_reader *r, struct slice value)
{
    return field_text(r, value, 0, WORKER_NAME_MAX, &((struct worker_info *)r->to)->host);
}

static enum err_code worker_version(struct field_reader *r, struct slice value)
{
    return field_text(r, value, 0, WORKER_NAME_MAX, &((struct worker_info *)r->to)->version);
}

static enum err_code worker_pid(struct field_reader *r, struct slice value)
{
    return field_int(r, value, 0, INT32_MAX, &((struct worker_info *)r->to)->pid);
}

static const struct field worker_fields[] = {
    {FIELD("name"), .read = worker_name},
    {FIELD("host"), .read = worker_host, .null = true},
    {FIELD("pid"), .read = worker_pid, .null = true},
    {FIELD("version"), .read = worker_version, .null = true},
};

static enum err_code claim_worker(struct field_reader *r, struct slice value)
{
    struct exchange *x = r->to;
    struct field_reader reader = {.fields = worker_fields,
                                  .n_fields = ARRAY_LEN(worker_fields),
                                  .what = "worker",
                                  .arena = r->arena,
                                  .err = r->err,
                                  .to = &x->worker};

    if (json_type_of(value) == JSON_T_STRING)
        return field_text(r, value, 1, WORKER_NAME_MAX, &x->worker.name);
    if (json_type_of(value) != JSON_T_OBJECT)
        return field_refuse(r, "a name or an object", value);
    if (fields_read(&reader, value) != E_OK)
        return r->err->code;
    if (x->worker.name.size == 0)
        return err_set(r->err, E_INVALID, "worker: needs a 'name'");
    return E_OK;
}

static size_t count_members(struct slice object)
{
    struct slice key;
    struct slice value;
    size_t count = 0;

    for (struct json_iter it = json_members(object); json_next_member(&it, &key, &value);)
        count++;
    return count;
}

static enum err_code claim_queues(struct field_reader *r, struct slice value)
{
    struct exchange *x = r->to;
    struct slice key;
    struct slice max;

    if (json_type_of(value) != JSON_T_OBJECT)
        return field_refuse(r, "an object such as {\"fetch\": 4}", value);
    size_t count = count_members(value);

    if (count > OP_CLAIM_QUEUES_MAX)
        return err_set(r->err, E_TOO_LARGE, "queues: has %zu, at most %d are allowed", count,
                       OP_CLAIM_QUEUES_MAX);
    struct claim_queue *queues = arena_array(r->arena, count + 1, sizeof(*queues));

    for (struct json_iter it = json_members(value); json_next_member(&it, &key, &max);) {
        struct claim_queue *queue = &queues[x->n_queues++];
        struct quote quote;

        queue->name = json_text(key, r->arena);
        if (json_type_of(max) != JSON_T_INT || json_int(max) < 0)
            return err_set(r->err, E_INVALID, "queues: %s must be a number of jobs, 0 or more",
                           quote_json(&quote, key));
        queue->max = json_int(max) < OP_CLAIM_MAX ? (int)json_int(max) : OP_CLAIM_MAX;
    }
    x->queues = queues;
    return E_OK;
}

static enum err_code claim_max(struct field_reader *r, struct slice value)
{
    int64_t max;

    if (field_int(r, value, 0, OP_CLAIM_MAX, &max) != E_OK)
        return r->err->code;
    ((struct exchange *)r->to)->max = (int)max;
    return E_OK;
}

static enum err_code claim_wait(struct field_reader *r, struct slice value)
{
    return field_length(r, value, 0, WAIT_MAX_US, &((struct exchange *)r->to)->wait_us);
}

static enum err_code claim_lease(struct field_reader *r, struct slice value)
{
    return field_length(r, value, LEASE_MIN_US, LEASE_MAX_US,
                        &((struct exchange *)r->to)->lease_us);
}

static enum err_code claim_all(struct field_reader *r, struct slice value)
{
    return field_bool(r, value, &((struct exchange *)r->to)->all);
}

/* ---- requests ---- */

static const struct field finish_request[] = {{FIELD("finish"), .read = exchange_finish}};
static const struct field touch_request[] = {{FIELD("touch"), .read = exchange_touch}};
static const struct field claim_request[] = {
    {FIELD("queues"), .read = claim_queues},
    {FIELD("worker"), .read = claim_worker, .null = true},
    {FIELD("max"), .read = claim_max, .null = true},
    {FIELD("wait"), .read = claim_wait, .null = true},
    {FIELD("finish"), .read = exchange_finish, .null = true},
    {FIELD("touch"), .read = exchange_touch, .null = true},
    {FIELD("lease"), .read = claim_lease, .null = true},
    {FIELD("all"), .read = claim_all, .null = true},
};

static const struct {
    const struct field *fields;
    size_t n_fields;
    const char *what;
    unsigned parts;
} requests[] = {
    [EXCHANGE_CLAIM] = {claim_request, ARRAY_LEN(claim_request), "a claim",
                        EXCHANGE_RESULTS | EXCHANGE_TOUCHED | EXCHANGE_JOBS},
    [EXCHANGE_FINISH] = {finish_request, ARRAY_LEN(finish_request), "the body", EXCHANGE_RESULTS},
    [EXCHANGE_TOUCH] = {touch_request, ARRAY_LEN(touch_request), "the body", EXCHANGE_TOUCHED},
};

/* Without `max` as many as all queues together may give. */
static void set_max(struct exchange *x)
{
    int sum = 0;

    for (size_t i = 0; i < x->n_queues && sum < OP_CLAIM_MAX; i++)
        sum += x->queues[i].max;
    if (x->max < 0)
        x->max = sum < OP_CLAIM_MAX ? sum : OP_CLAIM_MAX;
}

static enum err_code check_claim(struct exchange *x, struct err *err)
{
    if (x->queues == NULL)
        return err_set(err, E_INVALID,
                       "a claim needs 'queues', such as {\"queues\": {\"fetch\": 4}}");
    if (x->all && x->worker.name.size == 0)
        return err_set(err, E_INVALID, "all: needs the name of the worker");
    set_max(x);
    return E_OK;
}

static enum err_code check_whole(enum exchange_kind kind, struct exchange *x, struct err *err)
{
    switch (kind) {
    case EXCHANGE_CLAIM: return check_claim(x, err);
    case EXCHANGE_FINISH:
        return x->finish != NULL ? E_OK : err_set(err, E_INVALID, "the body needs 'finish'");
    case EXCHANGE_TOUCH:
        return x->touch != NULL ? E_OK : err_set(err, E_INVALID, "the body needs 'touch'");
    }
    return E_OK;
}

enum err_code parse_exchange(struct slice text, enum exchange_kind kind, struct arena *arena,
                             struct exchange *ret_exchange, struct err *err)
{
    struct exchange x = {.parts = requests[kind].parts, .max = -1, .lease_us = LEASE_DEFAULT_US};
    struct field_reader reader = {.fields = requests[kind].fields,
                                  .n_fields = requests[kind].n_fields,
                                  .what = requests[kind].what,
                                  .arena = arena,
                                  .err = err,
                                  .to = &x};
    struct slice value;

    if (json_check(text, &value, err) != E_OK || fields_read(&reader, value) != E_OK ||
        check_whole(kind, &x, err) != E_OK)
        return err->code;
    *ret_exchange = x;
    return E_OK;
}
