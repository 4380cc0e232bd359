/* SPDX-License-Identifier: MIT */
#include "worker/client/client.h"

#include "worker/client/target.h"

struct client {
    CURL *curl;
    struct client_target target;
    char problem[CURL_ERROR_SIZE];
};

/* One call under way. */
struct call {
    struct client *client;
    const struct client_request *request;
    struct client_reply *reply;
    bool enough; /* on_data has asked to stop */
};

void client_reply_deinit(struct client_reply *r)
{
    buf_deinit(&r->text);
    json_decref(r->json);
    r->json = NULL;
}

const char *client_server(const struct client *c)
{
    return c->target.url.text;
}

bool client_is_local(const struct client *c)
{
    return c->target.url.socket != NULL;
}

enum err_code client_open(const struct client_config *config, struct client **ret_client,
                          struct err *err)
{
    CLEANUP(client) struct client *c = mem_zalloc(sizeof(*c));

    c->target.socket_dir = -1;
    if (client_target_open(config, &c->target, err) != E_OK)
        return err->code;
    c->curl = curl_easy_init();
    if (c->curl == NULL)
        return err_set(err, E_INTERNAL, "libcurl cannot be started");
    *ret_client = STEAL(c);
    return E_OK;
}

void client_close(struct client *c)
{
    if (c == NULL)
        return;
    curl_easy_cleanup(c->curl);
    client_target_close(&c->target);
    free(c);
}

static size_t on_body(char *data, size_t one, size_t size, void *ctx)
{
    struct call *call = ctx;
    long status = 0;

    (void)one;
    curl_easy_getinfo(call->client->curl, CURLINFO_RESPONSE_CODE, &status);
    if (call->request->on_data == NULL || !client_is_success(status)) {
        buf_add(&call->reply->text, data, size);
        return call->reply->text.overflowed ? 0 : size;
    }
    call->enough = !call->request->on_data(call->request->ctx, slice_make(data, size));
    return call->enough ? 0 : size;
}

static CURLcode perform(struct call *call)
{
    struct client *c = call->client;
    const struct client_request *r = call->request;
    const char *type = r->type != NULL ? r->type : "application/json";
    struct curl_slist *headers = client_target_headers(&c->target,
                                                       r->body.data != NULL ? type : NULL);

    curl_easy_reset(c->curl); /* keeps the connection */
    client_target_set_url(&c->target, c->curl, r->path);
    client_set_method(c->curl, r->method, r->body);
    client_set_patience(c->curl, r->patience_s);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_RANGE, r->range);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->problem);
    c->problem[0] = '\0';
    CURLcode code = curl_easy_perform(c->curl);

    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    return code;
}

static enum err_code parse_reply(struct call *call, struct err *err)
{
    struct client_reply *r = call->reply;
    json_error_t why;
    char *type = NULL;

    if (curl_easy_getinfo(call->client->curl, CURLINFO_CONTENT_TYPE, &type) != CURLE_OK ||
        type == NULL || strncasecmp(type, "application/json", strlen("application/json")) != 0 ||
        r->text.size == 0)
        return E_OK;
    r->json = json_loadb(r->text.data, r->text.size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                         &why);
    if (r->json == NULL && client_is_success(r->status))
        return err_set(err, E_INTERNAL, "the answer of %s is broken JSON: %s",
                       call->client->target.url.text, why.text);
    return E_OK;
}

/* Content-Range: bytes 100-199/300 */
static int64_t range_first(CURL *curl)
{
    struct curl_header *h = NULL;
    long long first = 0;

    if (curl_easy_header(curl, "Content-Range", 0, CURLH_HEADER, -1, &h) != CURLHE_OK ||
        sscanf(h->value, "bytes %lld-", &first) != 1 || first < 0)
        return 0;
    return first;
}

enum err_code client_call(struct client *c, const struct client_request *request,
                          struct client_reply *reply, struct err *err)
{
    struct call call = {.client = c, .request = request, .reply = reply};
    CURLcode code = perform(&call);
    long status = 0;

    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
    reply->status = (int)status;
    reply->range_first = range_first(c->curl);
    if (call.enough)
        return E_OK;
    if (code != CURLE_OK)
        return client_transport_error(&c->target, c->curl, code, c->problem, err);
    if (parse_reply(&call, err) != E_OK)
        return err->code;
    return client_is_success(status)
               ? E_OK
               : client_server_error(&c->target, reply->status, buf_slice(&reply->text), err);
}
