/* SPDX-License-Identifier: MIT */
#include "server/parse/exchange.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "core/object/quote.h"
#include "core/queue/def.h"
#include "server/limits.h"
#include "server/parse/bill.h"
#include "server/parse/fields.h"
#include "server/parse/items.h"
#include "server/parse/submit.h"

static enum err_code exchange_finish(struct field_reader *r, struct slice value)
{
    struct exchange *x = r->to;

    if (parse_finishes(r, value, &x->finish, &x->n_finish) != E_OK)
        return r->err->code;
    for (size_t i = 0; i < x->n_finish; i++)
        x->n_emit += x->finish[i].n_emit;
    if (x->n_emit > OP_ITEMS_MAX)
        return err_set(r->err, E_TOO_LARGE,
                       "finish: %zu jobs are emitted, at most %d are allowed: POST /v1/emit takes "
                       "them before the finish",
                       x->n_emit, OP_ITEMS_MAX);
    return E_OK;
}

static enum err_code exchange_touch(struct field_reader *r, struct slice value)
{
    struct exchange *x = r->to;

    return parse_touches(r, value, &x->touch, &x->n_touch);
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

/* An object of slots by queue. */
static enum err_code worker_queues(struct field_reader *r, struct slice value)
{
    struct worker_info *info = r->to;
    struct slice key;
    struct slice slots;
    struct quote quote;

    if (field_object(r, value, &info->queues) != E_OK)
        return r->err->code;
    if (json_count_members(value) > OP_CLAIM_QUEUES_MAX)
        return err_set(r->err, E_TOO_LARGE, "queues: has %zu, at most %d are allowed",
                       json_count_members(value), OP_CLAIM_QUEUES_MAX);
    for (struct json_iter it = json_members(value); json_next_member(&it, &key, &slots);)
        if (json_type_of(slots) != JSON_T_INT || json_int(slots) < 0)
            return err_set(r->err, E_INVALID, "queues: %s must be a number of slots, 0 or more",
                           quote_json(&quote, key));
    info->described = true;
    return E_OK;
}

static enum err_code worker_slots(struct field_reader *r, struct slice value)
{
    return field_int(r, value, 0, INT32_MAX, &((struct worker_info *)r->to)->slots);
}

/* An object of reasons by queue. */
static enum err_code worker_broken(struct field_reader *r, struct slice value)
{
    struct worker_info *info = r->to;
    struct slice key;
    struct slice reason;
    struct quote quote;

    if (field_object(r, value, &info->broken) != E_OK)
        return r->err->code;
    if (json_count_members(value) > OP_CLAIM_QUEUES_MAX)
        return err_set(r->err, E_TOO_LARGE, "broken: has %zu, at most %d are allowed",
                       json_count_members(value), OP_CLAIM_QUEUES_MAX);
    for (struct json_iter it = json_members(value); json_next_member(&it, &key, &reason);)
        if (json_type_of(reason) != JSON_T_STRING || reason.size > BROKEN_BYTES_MAX)
            return err_set(r->err, E_INVALID, "broken: %s must have a reason of at most %d bytes",
                           quote_json(&quote, key), BROKEN_BYTES_MAX);
    if (json_count_members(value) == 0)
        info->broken = slice_make(NULL, 0);
    return E_OK;
}

static enum err_code worker_instance(struct field_reader *r, struct slice value)
{
    return field_text(r, value, WORKER_INSTANCE_MIN, WORKER_INSTANCE_MAX,
                      &((struct worker_info *)r->to)->instance);
}

static enum err_code worker_previous(struct field_reader *r, struct slice value)
{
    return field_text(r, value, 1, WORKER_INSTANCE_MAX, &((struct worker_info *)r->to)->previous);
}

static enum err_code worker_boot(struct field_reader *r, struct slice value)
{
    return field_text(r, value, 1, WORKER_INSTANCE_MAX, &((struct worker_info *)r->to)->boot);
}

static enum err_code worker_leaves(struct field_reader *r, struct slice value)
{
    return field_bool(r, value, &((struct worker_info *)r->to)->leaves);
}

static const struct field worker_fields[] = {
    {FIELD("name"), .read = worker_name},
    {FIELD("host"), .read = worker_host, .null = true},
    {FIELD("pid"), .read = worker_pid, .null = true},
    {FIELD("version"), .read = worker_version, .null = true},
    {FIELD("queues"), .read = worker_queues, .null = true},
    {FIELD("slots"), .read = worker_slots, .null = true},
    {FIELD("broken"), .read = worker_broken, .null = true},
    {FIELD("instance"), .read = worker_instance, .null = true},
    {FIELD("previous"), .read = worker_previous, .null = true},
    {FIELD("boot"), .read = worker_boot, .null = true},
    {FIELD("leaves"), .read = worker_leaves, .null = true},
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
    if (x->worker.instance.size == 0 &&
        (x->worker.previous.size > 0 || x->worker.boot.size > 0 || x->worker.leaves))
        return err_set(r->err, E_INVALID,
                       "worker: 'previous', 'boot' and 'leaves' need an 'instance' beside them");
    if (!x->worker.described && (x->worker.slots > 0 || x->worker.broken.size > 0))
        return err_set(r->err, E_INVALID, "worker: 'slots' and 'broken' need 'queues' beside them");
    return E_OK;
}

static enum err_code claim_queues(struct field_reader *r, struct slice value)
{
    struct exchange *x = r->to;
    struct slice key;
    struct slice max;

    if (json_type_of(value) != JSON_T_OBJECT)
        return field_refuse(r, "an object such as {\"fetch\": 4}", value);
    size_t count = json_count_members(value);

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
    struct exchange *x = r->to;

    if (field_length(r, value, 0, INT64_MAX, &x->wait_us) != E_OK)
        return r->err->code;
    if (x->wait_us > WAIT_MAX_US)
        return err_set(r->err, E_INVALID, "wait: at most 60s; ask again after that");
    return E_OK;
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

static enum err_code claim_definitions(struct field_reader *r, struct slice value)
{
    struct exchange *x = r->to;

    x->has_definitions = true;
    return field_int(r, value, 0, INT64_MAX, &x->definitions);
}

static enum err_code claim_commands(struct field_reader *r, struct slice value)
{
    return field_bool(r, value, &((struct exchange *)r->to)->commands);
}

static enum err_code claim_wake(struct field_reader *r, struct slice value)
{
    return field_bool(r, value, &((struct exchange *)r->to)->wake);
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
    {FIELD("definitions"), .read = claim_definitions, .null = true},
    {FIELD("commands"), .read = claim_commands, .null = true},
    {FIELD("wake"), .read = claim_wake, .null = true},
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
    if (x->wake && x->worker.name.size == 0)
        return err_set(err, E_INVALID, "wake: needs the name of the worker");
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

enum err_code parse_exchange(struct slice text, enum exchange_kind kind,
                             const struct submit_source *source, struct arena *arena,
                             struct exchange *ret_exchange, struct err *err)
{
    struct bill_sum sum = {.steps = 0};
    struct submit_source own = {
        .right = source->right, .leases = source->leases, .emitted = true, .sum = &sum};
    struct exchange x = {.parts = requests[kind].parts, .max = -1, .lease_us = LEASE_DEFAULT_US};
    struct field_reader reader = {.fields = requests[kind].fields,
                                  .n_fields = requests[kind].n_fields,
                                  .what = requests[kind].what,
                                  .arena = arena,
                                  .err = err,
                                  .to = &x,
                                  .with = &own};
    struct slice value;

    if (json_check(text, &value, err) != E_OK || fields_read(&reader, value) != E_OK ||
        check_whole(kind, &x, err) != E_OK)
        return err->code;
    *ret_exchange = x;
    return E_OK;
}
