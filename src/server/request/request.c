/* SPDX-License-Identifier: MIT */
#include "server/request/request.h"

#include <stdlib.h>
#include <strings.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/text/utf8.h"
#include "core/object/object.h"
#include "core/object/quote.h"
#include "server/http/connection.h"
#include "server/http/content_type.h"
#include "server/http/head.h"
#include "server/limits.h"
#include "server/process/server_state.h"

enum {
    STATUS_EXPECTATION_FAILED = 417,
    SHORT_REPLY = 100, /* bytes: enough for an id */
};

#define REPLY_FIELDS_MAX 512

/* ---- the head ---- */

static enum err_code parse_head(struct request *r, size_t size, struct slice *ret_method,
                                struct err *err)
{
    struct http_head head;

    r->closes = true;
    if (http_head_parse(slice_make(r->text, size), &head, &r->status, err) != E_OK)
        return err->code;
    r->closes = false;
    r->headers = head.headers;
    r->is_1_0 = head.is_1_0;
    r->is_head = slice_is(head.method, "HEAD");
    r->keeps_alive = http_head_keeps_alive(&head);
    *ret_method = head.method;
    return target_parse(r->text + (head.target.data - r->text), head.target.size, &r->target, err);
}

static enum err_code check_expect(struct request *r, struct err *err)
{
    struct slice expect = r->headers.expect;

    if (expect.data == NULL || r->is_1_0)
        return E_OK;
    if (expect.size != 12 || strncasecmp(expect.data, "100-continue", 12) != 0) {
        r->status = STATUS_EXPECTATION_FAILED;
        return err_set(err, E_BAD_REQUEST, "Expect can only be 100-continue");
    }
    r->awaits_continue = headers_announce_body(&r->headers);
    return E_OK;
}

static enum err_code find_route(struct request *r, struct slice method, struct err *err)
{
    struct route_match match;
    struct buf allow = BUF_INIT(sizeof(r->note) - 1);

    if (!utf8_valid(r->target.path))
        return err_set(err, E_BAD_REQUEST, "the path is not UTF-8");
    enum err_code code = routes_match(method, r->target.path, &match, &allow, err);

    if (code == E_METHOD)
        memcpy(r->note, allow.data, allow.size + 1);
    buf_deinit(&allow);
    if (code != E_OK)
        return code;
    r->route = match.route;
    memcpy(r->args, match.args, sizeof(r->args));
    return E_OK;
}

static enum err_code check_state(const struct request *r, struct err *err)
{
    if (r->connection->is_surplus)
        return err_set(err, E_TOO_MANY,
                       "this server has as many connections as it takes (%u): close some, or send "
                       "more in one request",
                       r->connection->port->connections_max);
    if (r->server->http.stopping && r->route->right != RIGHT_OPEN)
        return err_set(err, E_UNAVAILABLE, "the server is stopping");
    return E_OK;
}

static enum err_code check_body(struct request *r, struct err *err)
{
    const struct route *route = r->route;
    bool json = route->body == BODY_JSON || route->body == BODY_OPTIONAL ||
                route->body == BODY_JOBS;

    r->body_max = route->body == BODY_NONE ? SKIP_MAX : route->max_body;
    if (!headers_announce_body(&r->headers))
        return E_OK;
    enum content_type type = content_type_parse(r->headers.content_type);

    if (route->body == BODY_JOBS && type == CONTENT_LINES) {
        r->lines = true;
        r->body_max = BODY_LINES_MAX;
    } else if (json && type != CONTENT_JSON) {
        struct quote quote;

        return err_set(err, E_UNSUPPORTED, "the body must be %s, not %s",
                       route->body == BODY_JOBS ? "application/json or application/x-ndjson"
                                                : "application/json",
                       quote_text(&quote, r->headers.content_type));
    }
    return request_check_length(r, err);
}

static enum err_code check_rights(struct request *r, struct err *err)
{
    struct http *h = &r->server->http;
    struct auth_request *auth = &r->headers.auth;

    auth->local = r->connection->port->local;
    /* Some triggers are open to some addresses, without a token. */
    const struct triggers *triggers = &r->server->triggers;

    auth->opened = r->route->starts && triggers->items.count > 0 && !r->connection->port->local &&
                   triggers_open(triggers, request_param(r, TRIGGER_PARAM),
                                 &r->connection->from.any);
    enum err_code code = auth_judge(&r->server->auth, auth, r->route->right, &r->right, err);

    if (!auth->local && auth_token_seen(&r->server->auth, auth) == TOKEN_WRONG)
        r->delay_us = auth_guard_failed(&h->guard, &r->connection->from.any, h->now_at);
    return code;
}

static enum err_code judge(struct request *r, size_t head_size, struct err *err)
{
    struct slice method = {NULL, 0};

    if (parse_head(r, head_size, &method, err) != E_OK || check_expect(r, err) != E_OK ||
        find_route(r, method, err) != E_OK || check_state(r, err) != E_OK ||
        check_rights(r, err) != E_OK)
        return err->code;
    return check_body(r, err);
}

static struct request *request_new(struct server *server, struct connection *connection,
                                   size_t head_size)
{
    struct request *r = mem_zalloc(sizeof(*r) + head_size);

    r->server = server;
    r->connection = connection;
    r->begun_at = server->http.now_at;
    r->reply = BUF_INIT(OP_REPLY_MAX);
    r->fields = BUF_INIT(REPLY_FIELDS_MAX);
    server->http.requests++;
    return r;
}

struct request *request_begin(struct server *server, struct connection *connection,
                              struct slice head)
{
    struct request *r = request_new(server, connection, head.size);

    memcpy(r->text, head.data, head.size);
    (void)judge(r, head.size, &r->err);
    r->body = BUF_INIT(r->body_max);
    return r;
}

struct request *request_refused(struct server *server, struct connection *connection, int status,
                                const struct err *err)
{
    struct request *r = request_new(server, connection, 0);

    r->err = *err;
    r->status = status;
    r->closes = true;
    return r;
}

static void release_cargo(struct request *r)
{
    if (r->cargo == CARGO_CHANGE)
        op_deinit(&r->change.op);
    else if (r->cargo == CARGO_READING)
        query_deinit(&r->reading.query);
    r->cargo = CARGO_NONE;
}

void request_free(struct request *r)
{
    struct http *h = &r->server->http;

    ASSERT(!request_is_away(r));
    if (r->cleanup != NULL)
        r->cleanup(r);
    release_cargo(r);
    request_drop_body(r);
    h->trim |= r->reply.capacity > BODY_TRIM;
    buf_deinit(&r->reply);
    buf_deinit(&r->fields);
    target_deinit(&r->target);
    h->requests--;
    free(r);
}

/* ---- the body ---- */

enum err_code request_json(struct request *r, struct slice *ret_value, struct err *err)
{
    if (r->body.size == 0 && r->route->body == BODY_OPTIONAL) {
        *ret_value = SLICE("{}");
        return E_OK;
    }
    if (r->body.size == 0)
        return err_set(err, E_BAD_REQUEST, "the body is empty: JSON is expected");
    return jtext_check(buf_slice(&r->body), ret_value, err);
}

enum err_code request_object(struct request *r, struct slice *ret_object, struct err *err)
{
    struct slice value = {NULL, 0};
    struct quote quote;

    if (request_json(r, &value, err) != E_OK)
        return err->code;
    if (jtext_type_of(value) != JTEXT_OBJECT)
        return err_set(err, E_INVALID, "the body must be an object, not %s",
                       quote_json(&quote, value));
    *ret_object = value;
    return E_OK;
}

enum err_code request_body(struct request *r, const struct object *table, void *to,
                           struct arena *arena, struct err *err)
{
    struct object_read read = {.to = to, .arena = arena, .err = err};
    struct slice value = {NULL, 0};

    if (request_json(r, &value, err) != E_OK)
        return err->code;
    return object_read(&read, table, value);
}

/* ---- work ---- */

void request_dispatch(struct request *r)
{
    struct err *err = &r->err;

    if (err->code == E_OK && request_check_params(r, err) == E_OK)
        (void)r->route->handle(r, err);
    if (err->code != E_OK)
        r->phase = REQUEST_ANSWERED;
    ASSERT(r->phase != REQUEST_BODY);
}

void request_answer(struct request *r, int status)
{
    r->status = status;
    r->phase = REQUEST_ANSWERED;
}

void request_answer_op(struct request *r)
{
    struct op *op = &r->change.op;

    r->err = op->err;
    if (op->kind == OP_DEFINE && op->err.code == E_INVALID) {
        r->all_errs = op->define.refusals;
        r->n_errs = op->define.n_refusals;
    }
    buf_deinit(&r->reply);
    r->reply = op->reply;
    op->reply = BUF_INIT(OP_REPLY_MAX);
    request_answer(r, r->err.code == E_OK ? op->status : 0);
}

void request_answer_query(struct request *r)
{
    struct query *q = &r->reading.query;

    r->err = q->err;
    buf_deinit(&r->reply);
    r->reply = q->reply;
    q->reply = BUF_INIT(OP_REPLY_MAX);
    request_answer(r, r->err.code == E_OK ? 200 : 0);
}

static void come_home(struct request *r, request_fn *usual)
{
    request_fn *then = r->then != NULL ? r->then : usual;
    bool was_streaming = r->phase == REQUEST_STREAMING;

    r->is_away = false;
    /* A stream that is over needs no more data. */
    if (!was_streaming || !r->connection->is_over)
        then(r);
    bool has_begun = r->phase == REQUEST_STREAMING && !was_streaming;

    if (r->phase == REQUEST_ANSWERED || has_begun || r->connection->hung_up ||
        r->connection->is_over)
        request_wake(r);
}

static void deliver_change(struct delivery *d)
{
    come_home((struct request *)((char *)d - offsetof(struct request, change.delivery)),
              request_answer_op);
}

static void deliver_reading(struct delivery *d)
{
    struct request *r = (struct request *)((char *)d - offsetof(struct request, reading.delivery));

    readers_got_back(&r->server->readers, &r->reading);
    come_home(r, request_answer_query);
}

static void fail_reading(struct delivery *d, const struct err *err)
{
    ((struct reading *)d)->query.err = *err;
}

static bool is_alive(struct op *op)
{
    struct request *r = (struct request *)((char *)op - offsetof(struct request, change.op));

    return connection_is_alive(r->connection);
}

struct op *request_op(struct request *r, enum op_kind kind)
{
    release_cargo(r);
    engine_request_init(&r->change, &r->server->engine, kind, deliver_change);
    r->change.op.alive = is_alive;
    r->change.op.may_use_reserve = r->connection->port->local;
    r->cargo = CARGO_CHANGE;
    return &r->change.op;
}

static void begin_work(struct request *r, request_fn *then)
{
    r->then = then;
    r->is_away = true;
    if (r->phase != REQUEST_STREAMING)
        r->phase = REQUEST_WORKING;
}

/* New requests do not wait for a database that is unavailable; those that wait already continue
 * when it is back. */
static enum err_code check_engine(const struct server *s, struct err *err)
{
    if (s->http.no_changes)
        return err_set(err, E_UNAVAILABLE, "the server is stopping");
    if (store_is_away(s->store))
        return err_set(err, E_UNAVAILABLE,
                       "the server has no connection to its database: nothing was changed, try "
                       "again");
    return E_OK;
}

/* A request that the engine cannot take now returns with an error. */
void request_run(struct request *r, request_fn *then)
{
    struct http *h = &r->server->http;
    struct inbox_item *item = &r->change.delivery.item;

    begin_work(r, then);
    /* Allocated and freed on this thread: cheaper than memory that the engine's thread
     * allocated. */
    (void)buf_reserve(&r->change.op.reply, SHORT_REPLY);
    if (check_engine(r->server, &r->change.op.err) == E_OK)
        inbox_list_add(&h->changes, item);
    else
        inbox_put(&h->inbox, item);
}

struct query *request_query(struct request *r, enum query_kind kind)
{
    release_cargo(r);
    query_init(&r->reading.query, kind);
    r->reading.delivery.deliver = deliver_reading;
    r->reading.delivery.fail = fail_reading;
    r->reading.query.now_at = clock_wall_us();
    r->reading.query.url = r->server->url;
    r->cargo = CARGO_READING;
    return &r->reading.query;
}

static void read_query(struct reading *reading, struct store *store)
{
    query_run(store, &reading->query);
}

void request_read(struct request *r, void (*read)(struct reading *reading, struct store *store),
                  request_fn *then)
{
    struct http *h = &r->server->http;
    struct err *err = &r->reading.query.err;
    enum way_in way_in = r->connection->port->local ? WAY_UNIX : WAY_TCP;

    begin_work(r, then);
    r->reading.run = read != NULL ? read : read_query;
    r->reading.is_counted = false;
    /* A stream that has begun continues: it is too late to refuse it with a status. */
    if (h->no_readings) {
        (void)err_set(err, E_UNAVAILABLE, "the server is stopping");
    } else if (r->phase == REQUEST_STREAMING ||
               readers_check(&r->server->readers, way_in, err) == E_OK) {
        readers_put(&r->server->readers, &r->reading, way_in);
        return;
    }
    if (r->phase != REQUEST_STREAMING)
        r->then = NULL; /* the refusal is the answer: nothing was read */
    inbox_put(&h->inbox, &r->reading.delivery.item);
}

void request_wake(struct request *r)
{
    connection_wake(r->connection);
}
