/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/text/utf8.h"
#include "core/job/job.h"
#include "core/object/object.h"
#include "core/object/quote.h"
#include "core/route/dest.h"
#include "core/submit/content_hash.h"
#include "core/submit/job.h"
#include "server/api/api.h"
#include "server/limits.h"
#include "server/request/request.h"
#include "server/request/triggers.h"

/* ---- POST /v1/topics/NAME ---- */

static const struct field publish_fields[] = {
    FIELD_OBJECT("params", publish, params, .null = true, .schema = "Params"),
    FIELD_CUSTOM("body", body_read, FIELD_OFFSET(struct slice, publish, body), .null = true,
                 .schema = "Text"),
    FIELD_CUSTOM("body_base64", body_read, FIELD_OFFSET(struct slice, publish, body), .null = true,
                 .schema = "Text", .help = "The body, when it is not text."),
    FIELD_CUSTOM("labels", labels_read, FIELD_OFFSET(struct slice, publish, labels), .null = true,
                 .schema = "Labels"),
    FIELD_INT("priority", publish, priority, .null = true, .min = JOB_PRIORITY_MIN,
              .max = JOB_PRIORITY_MAX),
    FIELD_TEXT("key", publish, key, .null = true, .min = 1, .max = KEY_BYTES_MAX,
               .help = "The same key with the same content is answered with the same ids."),
};
static const struct object publish_object = {.what = "the body",
                                             .schema = "Publish",
                                             OBJECT_FIELDS(publish_fields)};

/* The same key as for a job: in the body, or as a header. */
static enum err_code take_key(const struct request *r, struct publish *p, struct err *err)
{
    struct slice key = r->headers.idempotency_key;

    if (key.data == NULL)
        return E_OK;
    if (key.size == 0 || key.size > KEY_BYTES_MAX || !utf8_valid(key))
        return err_set(err, E_INVALID, "Idempotency-Key: must be 1 to %d bytes of UTF-8",
                       KEY_BYTES_MAX);
    if (p->key.size > 0 && !slice_equal(p->key, key))
        return err_set(err, E_INVALID, "the 'key' in the body differs from the Idempotency-Key");
    p->key = key;
    return E_OK;
}

static enum err_code topic_publish_to(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_PUBLISH);
    struct object_read read = {.to = &op->publish, .arena = &op->arena, .err = err};
    struct slice object;

    op->publish = (struct publish){.topic = r->args[0]};
    if (dest_name_check("topic", r->args[0], err) != E_OK ||
        request_object(r, &object, err) != E_OK ||
        object_read(&read, &publish_object, object) != E_OK ||
        take_key(r, &op->publish, err) != E_OK)
        return err->code;
    op->publish.content = content_hash(object);
    request_run(r, NULL);
    return E_OK;
}

/* ---- POST /v1/topics/NAME/subscribe ---- */

static const struct field subscribe_fields[] = {
    FIELD_TEXT("worker", subscribe, worker, .required = true, .min = 1, .max = WORKER_NAME_MAX,
               .help = "its name"),
    FIELD_LENGTH("lifetime", subscribe, lifetime_us, .null = true, .min = LIFETIME_MIN_US,
                 .max = LIFETIME_MAX_US, .help = "How long the worker may be absent."),
};
static const struct object subscribe_object = {
    .what = "the body", .schema = "Subscribe", OBJECT_FIELDS(subscribe_fields), .needs = true};

static enum err_code topic_subscribe(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_SUBSCRIBE);

    op->subscribe = (struct subscribe){.topic = r->args[0], .lifetime_us = LIFETIME_US};
    if (dest_name_check("topic", r->args[0], err) != E_OK ||
        request_body(r, &subscribe_object, &op->subscribe, &op->arena, err) != E_OK)
        return err->code;
    request_run(r, NULL);
    return E_OK;
}

/* ---- GET /job_start ---- */

struct start_params {
    struct buf json;
    struct slice *names; /* those that have been seen */
    size_t n_names;
    struct err *err;
};

/* Every value is a string.  They were checked to be UTF-8. */
static enum err_code add_start_param(struct start_params *p, struct slice name, struct slice value)
{
    struct quote quote;

    for (size_t i = 0; i < p->n_names; i++)
        if (slice_equal(p->names[i], name))
            return err_set(p->err, E_INVALID, "duplicate parameter %s", quote_text(&quote, name));
    if (p->n_names == START_PARAMS_MAX)
        return err_set(p->err, E_INVALID, "more than %d parameters", START_PARAMS_MAX);
    p->names[p->n_names++] = name;
    if (slice_is(name, TRIGGER_PARAM))
        return E_OK;
    jtext_add_comma(&p->json);
    jtext_add_string(&p->json, name);
    buf_add_char(&p->json, ':');
    jtext_add_string(&p->json, value);
    return E_OK;
}

static enum err_code job_start(struct request *r, struct err *err)
{
    struct op *op = request_op(r, OP_PUBLISH);
    struct slice name = request_param(r, TRIGGER_PARAM);

    op->publish = (struct publish){.topic = name};
    struct slice names[START_PARAMS_MAX];
    struct start_params p = {.json = BUF_INIT(PARAMS_JSON_MAX), .names = names, .err = err};
    enum err_code code = E_OK;

    buf_add_char(&p.json, '{');
    for (size_t i = 0; i < r->target.n_params && code == E_OK; i++)
        code = add_start_param(&p, r->target.params[i].name, r->target.params[i].value);
    buf_add_char(&p.json, '}');
    if (code == E_OK)
        op->publish.params = arena_copy(&op->arena, buf_slice(&p.json));
    buf_deinit(&p.json);
    if (code != E_OK)
        return err->code;
    if (name.size == 0)
        return err_set(err, E_INVALID,
                       "say what to start: /job_start?" TRIGGER_PARAM "=NAME&PARAM=VALUE");
    if (dest_name_check("topic", name, err) != E_OK)
        return err_wrap(err, TRIGGER_PARAM);
    request_run(r, NULL);
    return E_OK;
}

/* ---- routes ---- */

static const struct route topics_rows[] = {
    {
        ROUTE("GET", "/job_start", RIGHT_USER),
        .handle = job_start,
        .starts = true,
        .status = 202,
        .gives = "Published",
        .params = {{"job_name", "string", "The topic to publish to."},
                   {"*", "string", "Any other: a param of the jobs."}},
        .errors = {E_NOT_FOUND, E_CONFLICT, E_QUEUE_DOWN, E_FULL},
        .help = "Publishes to a topic: a job in every subscribed queue.",
    },
    {
        ROUTE_VIEW("/v1/topics", QUERY_TOPICS),
        .gives = "Topics",
        .help = "Lists the topics with the queues that are subscribed to them.",
    },
    {
        ROUTE_VIEW("/v1/topics/{name}", QUERY_TOPIC),
        .gives = "Topic",
        .errors = {E_NOT_FOUND},
        .help = "Shows who would get what is published to a topic.",
    },
    {
        ROUTE("POST", "/v1/topics/{name}", RIGHT_USER),
        .handle = topic_publish_to,
        .body = BODY_OPTIONAL,
        .max_body = JOB_BYTES_MAX,
        .status = 202,
        .reads = &publish_object,
        .gives = "Published",
        .errors = {E_NOT_FOUND, E_CONFLICT, E_QUEUE_DOWN, E_FULL},
        .help = "Publishes to a topic: a job in every subscribed queue.",
    },
    {
        ROUTE("POST", "/v1/topics/{name}/subscribe", RIGHT_USER),
        .handle = topic_subscribe,
        .body = BODY_JSON,
        .max_body = BODY_SMALL_MAX,
        .reads = &subscribe_object,
        .gives = "Subscribed",
        .errors = {E_CONFLICT, E_FULL},
        .help =
            "Gives a worker a durable queue of its own of a topic, or renews it.  201 when new.",
    },
};

const struct route_table topics_routes = ROUTE_TABLE(topics_rows);
