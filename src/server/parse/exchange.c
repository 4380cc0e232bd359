/* SPDX-License-Identifier: MIT */
#include "server/parse/exchange.h"

#include "base/jtext/jtext.h"
#include "core/object/quote.h"
#include "core/submit/routing.h"
#include "server/limits.h"
#include "server/parse/items.h"
#include "server/parse/submit.h"

static enum err_code read_finish(struct object_read *r, const struct field *f, struct slice value)
{
    struct exchange *x = r->to;

    (void)f;
    if (parse_finishes(r, value, &x->finish, &x->n_finish) != E_OK)
        return r->err->code;
    for (size_t i = 0; i < x->n_finish; i++)
        x->n_emit += x->finish[i].n_emit;
    if (x->n_emit > OP_ITEMS_MAX)
        return err_set(r->err, E_TOO_LARGE,
                       "%zu jobs are emitted, at most %d are allowed: POST /v1/emit takes them "
                       "before the finish",
                       x->n_emit, OP_ITEMS_MAX);
    return E_OK;
}

static enum err_code read_touch(struct object_read *r, const struct field *f, struct slice value)
{
    struct exchange *x = r->to;

    (void)f;
    return parse_touches(r, value, &x->touch, &x->n_touch);
}

/* ---- the worker ---- */

static enum err_code check_queues_number(struct object_read *r, struct slice object)
{
    size_t n = jtext_count_members(object);

    if (n <= OP_CLAIM_QUEUES_MAX)
        return E_OK;
    return err_set(r->err, E_TOO_LARGE, "must have at most %d queues, not %zu", OP_CLAIM_QUEUES_MAX,
                   n);
}

/* An object of slots by queue. */
static enum err_code check_slots(struct object_read *r, const struct field *f, struct slice value)
{
    struct slice key;
    struct slice slots;
    struct quote quote;

    (void)f;
    if (check_queues_number(r, value) != E_OK)
        return r->err->code;
    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &key, &slots);)
        if (jtext_type_of(slots) != JTEXT_INT || jtext_int(slots) < 0)
            return err_set(r->err, E_INVALID, "%s must be a number of slots, 0 or more",
                           quote_json(&quote, key));
    return E_OK;
}

/* An object of reasons by queue. */
static enum err_code check_broken(struct object_read *r, const struct field *f, struct slice value)
{
    struct slice key;
    struct slice reason;
    struct quote quote;

    (void)f;
    if (check_queues_number(r, value) != E_OK)
        return r->err->code;
    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &key, &reason);)
        if (jtext_type_of(reason) != JTEXT_STRING || reason.size > BROKEN_BYTES_MAX)
            return err_set(r->err, E_INVALID, "%s must have a reason of at most %d bytes",
                           quote_json(&quote, key), BROKEN_BYTES_MAX);
    if (jtext_count_members(value) == 0)
        ((struct worker_info *)r->to)->broken = slice_make(NULL, 0);
    return E_OK;
}

static enum err_code read_instance(struct object_read *r, void *to, struct slice value)
{
    struct slice text = {.size = 0};

    if (jtext_type_of(value) == JTEXT_STRING)
        text = jtext_text(value, r->arena);
    if (text.size == 0 || text.size > WORKER_INSTANCE_MAX)
        return object_must_be(r, "an instance or a list of them", value);
    *(struct slice *)to = text;
    return E_OK;
}

static enum err_code read_previous(struct object_read *r, const struct field *f, struct slice value)
{
    struct worker_info *w = r->to;
    const struct object_list how = {.what = "instances",
                                    .size = sizeof(struct slice),
                                    .max = (size_t)f->max,
                                    .alone = true,
                                    .read = read_instance};

    return object_read_list(r, &how, value, &w->previous, &w->n_previous);
}

static enum err_code check_worker(struct object_read *r, struct slice value)
{
    const struct worker_info *w = r->to;

    (void)value;
    if (w->instance.size == 0 && (w->n_previous > 0 || w->boot.size > 0 || w->leaves))
        return err_set(r->err, E_INVALID,
                       "'previous', 'boot' and 'leaves' need an 'instance' beside them");
    if (!w->described && (w->slots > 0 || w->broken.size > 0))
        return err_set(r->err, E_INVALID, "'slots' and 'broken' need 'queues' beside them");
    return E_OK;
}

#define INSTANCE "{'type':'string','minLength':1,'maxLength':64}"

static const struct field worker_fields[] = {
    FIELD_TEXT("name", worker_info, name, .required = true, .min = 1, .max = WORKER_NAME_MAX),
    FIELD_TEXT("host", worker_info, host, .null = true, .max = WORKER_NAME_MAX),
    FIELD_INT64("pid", worker_info, pid, .null = true, .max = INT32_MAX),
    FIELD_TEXT("version", worker_info, version, .null = true, .max = WORKER_NAME_MAX),
    FIELD_OBJECT("queues", worker_info, queues, FIELD_GIVEN(worker_info, described), .null = true,
                 .check = check_slots, .schema = "Slots", .help = "Slots by queue."),
    FIELD_INT64("slots", worker_info, slots, .null = true, .max = INT32_MAX,
                .help = "Slots in total."),
    FIELD_OBJECT("broken", worker_info, broken, .null = true, .check = check_broken,
                 .schema = "Reasons", .help = "Queues whose program it cannot start, and why."),
    FIELD_TEXT("instance", worker_info, instance, .null = true, .min = WORKER_INSTANCE_MIN,
               .max = WORKER_INSTANCE_MAX,
               .help = "Identifies the process among those of one name."),
    FIELD_CUSTOM("previous", read_previous, .null = true, .max = WORKER_PREVIOUS_MAX,
                 .schema = "{'oneOf':[" INSTANCE ",{'type':'array','maxItems':16,'items':" INSTANCE
                           "}]}",
                 .help = "The instances before it in its directory: one, or a list."),
    FIELD_TEXT("boot", worker_info, boot, .null = true, .min = 1, .max = WORKER_INSTANCE_MAX,
               .help = "Boot id of its machine."),
    FIELD_BOOL("leaves", worker_info, leaves, .null = true, .help = "Gives up the name."),
};

const struct object worker_object = {.what = "a worker",
                                     .schema = "Worker",
                                     OBJECT_FIELDS(worker_fields),
                                     .needs = true,
                                     .check = check_worker};

/* ---- claim ---- */

static enum err_code read_worker(struct object_read *r, const struct field *f, struct slice value)
{
    struct exchange *x = r->to;

    (void)f;
    if (jtext_type_of(value) == JTEXT_OBJECT)
        return object_read_in(r, &worker_object, value, &x->worker);
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "a name or an object", value);
    r->to = &x->worker;
    enum err_code code = field_read(r, &worker_fields[0], value);

    r->to = x;
    return code;
}

static enum err_code read_queues(struct object_read *r, const struct field *f, struct slice value)
{
    struct exchange *x = r->to;
    struct slice key;
    struct slice max;

    (void)f;
    if (jtext_type_of(value) != JTEXT_OBJECT)
        return object_must_be(r, "an object such as {\"fetch\": 4}", value);
    size_t count = jtext_count_members(value);

    if (count > OP_CLAIM_QUEUES_MAX)
        return check_queues_number(r, value);
    struct claim_queue *queues = arena_array(r->arena, count + 1, sizeof(*queues));

    for (struct jtext_iter it = jtext_members(value); jtext_next_member(&it, &key, &max);) {
        struct claim_queue *queue = &queues[x->n_queues++];
        struct quote quote;

        queue->name = jtext_text(key, r->arena);
        if (jtext_type_of(max) != JTEXT_INT || jtext_int(max) < 0)
            return err_set(r->err, E_INVALID, "%s must be a number of jobs, 0 or more",
                           quote_json(&quote, key));
        queue->max = jtext_int(max) < OP_CLAIM_MAX ? (int)jtext_int(max) : OP_CLAIM_MAX;
    }
    x->queues = queues;
    return E_OK;
}

/* ---- requests ---- */

#define FINISHES "{'type':'array','items':{'$ref':'#/components/schemas/FinishItem'}}"
#define TOUCHES "{'type':'array','items':{'$ref':'#/components/schemas/TouchItem'}}"

static const struct field finish_request[] = {
    FIELD_CUSTOM("finish", read_finish, .required = true, .schema = FINISHES),
};
static const struct field touch_request[] = {
    FIELD_CUSTOM("touch", read_touch, .required = true, .schema = TOUCHES),
};
static const struct field claim_request[] = {
    FIELD_CUSTOM("queues", read_queues, .required = true, .schema = "Slots",
                 .help = "maximum jobs by queue, such as {\"fetch\": 4}"),
    FIELD_CUSTOM("worker", read_worker, .null = true,
                 .schema = "{'oneOf':[{'type':'string'},{'$ref':'#/components/schemas/Worker'}]}"),
    FIELD_INT("max", exchange, max, .null = true, .max = OP_CLAIM_MAX,
              .help = "Maximum jobs in all."),
    FIELD_LENGTH("wait", exchange, wait_us, .null = true, .max = WAIT_MAX_US,
                 .help = "How long to wait when no job is ready."),
    FIELD_CUSTOM("finish", read_finish, .null = true, .schema = FINISHES),
    FIELD_CUSTOM("touch", read_touch, .null = true, .schema = TOUCHES),
    FIELD_LENGTH("lease", exchange, lease_us, .null = true, .min = LEASE_MIN_US,
                 .max = LEASE_MAX_US, .help = "Lease of the claimed and touched jobs."),
    FIELD_BOOL("all", exchange, all, .null = true,
               .help = "The touches list every job that the worker holds."),
    FIELD_INT64("definitions", exchange, definitions, FIELD_GIVEN(exchange, has_definitions),
                .null = true, .max = INT64_MAX,
                .help = "Number of the definitions that the worker knows."),
    FIELD_BOOL("commands", exchange, commands, .null = true,
               .help = "Only jobs that have a command: their own or their queue's."),
    FIELD_BOOL("wake", exchange, wake, .null = true,
               .help = "Answers waiting claims of the same worker."),
};

static object_check_fn check_claim;

const struct object claim_object = {.what = "a claim",
                                    .schema = "Claim",
                                    OBJECT_FIELDS(claim_request),
                                    .needs = true,
                                    .check = check_claim};
const struct object finishes_object = {
    .what = "the body", .schema = "Finish", OBJECT_FIELDS(finish_request), .needs = true};
const struct object touches_object = {
    .what = "the body", .schema = "Touch", OBJECT_FIELDS(touch_request), .needs = true};

static const struct {
    const struct object *table;
    unsigned parts;
} requests[] = {
    [EXCHANGE_CLAIM] = {&claim_object, EXCHANGE_RESULTS | EXCHANGE_TOUCHED | EXCHANGE_JOBS},
    [EXCHANGE_FINISH] = {&finishes_object, EXCHANGE_RESULTS},
    [EXCHANGE_TOUCH] = {&touches_object, EXCHANGE_TOUCHED},
};

static enum err_code check_claim(struct object_read *r, struct slice value)
{
    struct exchange *x = r->to;
    int sum = 0;

    (void)value;
    if ((x->all || x->wake) && x->worker.name.size == 0) {
        r->key = x->all ? "all" : "wake";
        return err_set(r->err, E_INVALID, "needs the name of the worker");
    }
    for (size_t i = 0; i < x->n_queues && sum < OP_CLAIM_MAX; i++)
        sum += x->queues[i].max;
    if (x->max < 0) /* not given: as many as all queues together may give */
        x->max = sum < OP_CLAIM_MAX ? sum : OP_CLAIM_MAX;
    return E_OK;
}

enum err_code parse_exchange(struct slice text, enum exchange_kind kind,
                             const struct submit_source *source, struct arena *arena,
                             struct exchange *ret_exchange, struct err *err)
{
    struct routing_sum sum = {.steps = 0};
    struct submit_source own = {
        .no_commands = source->no_commands, .leases = source->leases, .emitted = true, .sum = &sum};
    struct exchange x = {.parts = requests[kind].parts, .max = -1, .lease_us = LEASE_DEFAULT_US};
    struct object_read r = {.to = &x, .arena = arena, .err = err, .with = &own};
    struct slice value;

    if (jtext_check(text, &value, err) != E_OK ||
        object_read(&r, requests[kind].table, value) != E_OK)
        return err->code;
    *ret_exchange = x;
    return E_OK;
}
