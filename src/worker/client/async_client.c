/*
 * libcurl's multi interface on a libuv loop.
 *
 * libcurl names the sockets to watch and the time to call it.  Requests that have ended are
 * collected after each call of it, so that a `done` may send, cancel or free.
 */
/* SPDX-License-Identifier: MIT */
#include "worker/client/async_client.h"

#include "base/buf.h"
#include "worker/client/target.h"

struct async_request {
    struct async_client *client; /* its owner */
    CURL *curl;
    struct curl_slist *headers; /* NULL: those of the client */
    struct buf body;
    struct buf reply;
    struct async_call call;
    struct async_request *prev, *next; /* of the requests under way */
    unsigned sent;                     /* how often libcurl has begun to send it */
    char problem[CURL_ERROR_SIZE];
};

struct async_client {
    uv_loop_t *loop;
    CURLM *multi;
    struct client_target target;
    struct curl_slist *json_headers;
    uv_timer_t timer;
    struct async_request *requests; /* under way */
    struct async_request *spare;    /* an ended request, reused by the next call */
    int handles;                    /* open libuv handles, and callers, that use this struct */
    bool closing;
};

/* A socket that libcurl watches. */
struct watched {
    uv_poll_t poll;
    struct async_client *client;
    curl_socket_t socket;
};

static void async_client_release(struct async_client *l)
{
    if (--l->handles == 0)
        free(l);
}

static void on_timer_closed(uv_handle_t *handle)
{
    async_client_release(handle->data);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct watched *w = handle->data;

    async_client_release(w->client);
    free(w);
}

/* ---- the end of a call ---- */

static void request_free(struct async_request *r)
{
    curl_easy_cleanup(r->curl);
    curl_slist_free_all(r->headers);
    buf_deinit(&r->body);
    buf_deinit(&r->reply);
    free(r);
}

static void unlist(struct async_client *l, struct async_request *r)
{
    if (r->prev != NULL)
        r->prev->next = r->next;
    else
        l->requests = r->next;
    if (r->next != NULL)
        r->next->prev = r->prev;
}

/* `done` may even free the client, so it is called when the request is in no list any more. */
static void gather_ended(struct async_client *l)
{
    CURLMsg *msg;
    int left;

    while (!l->closing && (msg = curl_multi_info_read(l->multi, &left)) != NULL) {
        struct async_request *r = NULL;
        CURLcode code = msg->data.result;

        if (msg->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&r);
        unlist(l, r);
        curl_multi_remove_handle(l->multi, r->curl);
        r->prev = r->next = NULL;
        l->handles++; /* keeps the client while `done` runs */
        struct async_reply reply = {.err = ERR_INIT};
        long status = 0;

        curl_easy_getinfo(r->curl, CURLINFO_RESPONSE_CODE, &status);
        reply.status = (int)status;
        reply.text = buf_slice(&r->reply);
        if (code != CURLE_OK)
            client_transport_error(&l->target, r->curl, code, r->problem, &reply.err);
        else if (!client_is_success(status))
            client_server_error(&l->target, reply.status, reply.text, &reply.err);
        r->call.done(r->call.ctx, &reply);
        if (!l->closing && l->spare == NULL)
            l->spare = r;
        else
            request_free(r);
        async_client_release(l);
    }
}

static void act_on(struct async_client *l, curl_socket_t socket, int what)
{
    int running;

    l->handles++;
    curl_multi_socket_action(l->multi, socket, what, &running);
    gather_ended(l);
    async_client_release(l);
}

/* ---- libcurl in the loop ---- */

static void on_time(uv_timer_t *timer)
{
    act_on(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
    struct watched *w = poll->data;
    int what = status < 0 ? CURL_CSELECT_ERR : 0;

    what |= (events & UV_READABLE) != 0 ? CURL_CSELECT_IN : 0;
    what |= (events & UV_WRITABLE) != 0 ? CURL_CSELECT_OUT : 0;
    act_on(w->client, w->socket, what);
}

static int set_timer(CURLM *multi, long ms, void *ctx)
{
    struct async_client *l = ctx;

    (void)multi;
    if (l->closing)
        return 0;
    if (ms < 0)
        uv_timer_stop(&l->timer);
    else
        uv_timer_start(&l->timer, on_time, (uint64_t)ms, 0);
    return 0;
}

static struct watched *watch(struct async_client *l, curl_socket_t socket)
{
    struct watched *w = mem_zalloc(sizeof(*w));

    w->client = l;
    w->socket = socket;
    w->poll.data = w;
    ASSERT(uv_poll_init_socket(l->loop, &w->poll, socket) == 0);
    l->handles++;
    curl_multi_assign(l->multi, socket, w);
    return w;
}

static int set_socket(CURL *curl, curl_socket_t socket, int what, void *ctx, void *socket_ctx)
{
    struct async_client *l = ctx;
    struct watched *w = socket_ctx;

    (void)curl;
    if (what == CURL_POLL_REMOVE) {
        if (w != NULL)
            uv_close((uv_handle_t *)&w->poll, on_poll_closed);
        curl_multi_assign(l->multi, socket, NULL);
        return 0;
    }
    if (w == NULL)
        w = watch(l, socket);
    int events = ((what & CURL_POLL_IN) != 0 ? UV_READABLE : 0) |
                 ((what & CURL_POLL_OUT) != 0 ? UV_WRITABLE : 0);

    uv_poll_start(&w->poll, events, on_socket);
    return 0;
}

/* ---- life ---- */

enum err_code async_client_new(uv_loop_t *loop, const struct client_config *config,
                               struct async_client **ret_client, struct err *err)
{
    struct async_client *l = mem_zalloc(sizeof(*l));

    l->loop = loop;
    if (client_target_open(config, &l->target, err) != E_OK) {
        free(l);
        return err->code;
    }
    l->multi = curl_multi_init();
    ASSERT(l->multi != NULL);
    l->json_headers = client_target_headers(&l->target, "application/json");
    uv_timer_init(loop, &l->timer);
    l->timer.data = l;
    l->handles = 1;
    curl_multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl_multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l);
    curl_multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, set_timer);
    curl_multi_setopt(l->multi, CURLMOPT_TIMERDATA, l);
    *ret_client = l;
    return E_OK;
}

void async_client_free(struct async_client *l)
{
    if (l == NULL)
        return;
    while (l->requests != NULL)
        async_client_cancel(l->requests);
    if (l->spare != NULL)
        request_free(l->spare);
    l->closing = true;
    curl_multi_cleanup(l->multi); /* closes the sockets it kept */
    curl_slist_free_all(l->json_headers);
    client_target_close(&l->target);
    uv_close((uv_handle_t *)&l->timer, on_timer_closed);
}

const char *async_client_server(const struct async_client *l)
{
    return l->target.url.text;
}

/* ---- calls ---- */

static size_t on_body(char *data, size_t one, size_t size, void *ctx)
{
    struct async_request *r = ctx;

    (void)one;
    buf_add(&r->reply, data, size);
    return r->reply.overflowed ? 0 : size;
}

static struct async_request *take_request(struct async_client *l)
{
    struct async_request *r = STEAL(l->spare);

    if (r == NULL) {
        r = mem_zalloc(sizeof(*r));
        r->curl = curl_easy_init();
        ASSERT(r->curl != NULL);
        r->body = BUF_INIT(CLIENT_REPLY_MAX);
        r->reply = BUF_INIT(CLIENT_REPLY_MAX);
    }
    curl_easy_reset(r->curl);
    curl_slist_free_all(r->headers);
    r->headers = NULL;
    buf_clear(&r->body);
    buf_clear(&r->reply);
    r->problem[0] = '\0';
    return r;
}

/* When a reused connection breaks without a reply, libcurl sends the request again by itself.
 * But the server may have carried out the first one: only the caller knows whether to repeat it. */
static int on_send(void *ctx, char *ip, char *local_ip, int port, int local_port)
{
    struct async_request *r = ctx;

    (void)ip;
    (void)local_ip;
    (void)port;
    (void)local_port;
    return r->sent++ == 0 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

static void prepare(struct async_client *l, struct async_request *r, const struct async_call *call)
{
    bool plain = call->body.data == NULL;
    struct slice body = {0};

    buf_add_slice(&r->body, call->body);
    ASSERT(!r->body.overflowed);
    if (plain || call->type != NULL)
        r->headers = client_target_headers(&l->target, plain ? NULL : call->type);
    client_target_set_url(&l->target, r->curl, call->path);
    if (!plain)
        body = buf_slice(&r->body);
    client_set_method(r->curl, call->method, body);
    /* A limit on the whole call: libcurl's watch for silence would wake the loop every second. */
    curl_easy_setopt(r->curl, CURLOPT_TIMEOUT,
                     (long)(call->patience_s == 0 ? CLIENT_PATIENCE_S : call->patience_s));
    curl_easy_setopt(r->curl, CURLOPT_HTTPHEADER,
                     r->headers != NULL ? r->headers : l->json_headers);
    r->sent = 0;
    if (!plain) {
        curl_easy_setopt(r->curl, CURLOPT_PREREQFUNCTION, on_send);
        curl_easy_setopt(r->curl, CURLOPT_PREREQDATA, r);
    }
    curl_easy_setopt(r->curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(r->curl, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(r->curl, CURLOPT_ERRORBUFFER, r->problem);
    curl_easy_setopt(r->curl, CURLOPT_PRIVATE, r);
}

struct async_request *async_client_send(struct async_client *l, const struct async_call *call)
{
    struct async_request *r = take_request(l);

    ASSERT(!l->closing);
    r->client = l;
    r->call = *call;
    prepare(l, r, call);
    r->prev = NULL;
    r->next = l->requests;
    if (l->requests != NULL)
        l->requests->prev = r;
    l->requests = r;
    ASSERT(curl_multi_add_handle(l->multi, r->curl) == CURLM_OK);
    return r;
}

void async_client_cancel(struct async_request *r)
{
    unlist(r->client, r);
    curl_multi_remove_handle(r->client->multi, r->curl);
    if (r->client->spare != NULL) {
        request_free(r);
        return;
    }
    curl_slist_free_all(r->headers);
    r->headers = NULL;
    r->client->spare = r;
}
