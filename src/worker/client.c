/* SPDX-License-Identifier: MIT */
#include "worker/client.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/un.h>
#include <unistd.h>

#include <curl/curl.h>

#include "worker/client_url.h"

#define CONNECT_TIMEOUT_S 10L
#define TOKEN_MAX 4096
#define SOCKET_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

struct client {
    CURL *curl;
    struct client_url url;
    char *token;
    int socket_dir; /* of a socket whose path is too long for an address, or -1 */
    char *socket;   /* the path that fits */
    char problem[CURL_ERROR_SIZE];
};

/* One call under way. */
struct call {
    struct client *client;
    const struct client_request *request;
    struct client_reply *reply;
    bool enough; /* on_data wants no more */
};

void client_reply_deinit(struct client_reply *r)
{
    buf_deinit(&r->text);
    json_decref(r->json);
    r->json = NULL;
}

const char *client_server(const struct client *c)
{
    return c->url.text;
}

bool client_is_local(const struct client *c)
{
    return c->url.socket != NULL;
}

static enum err_code take_token(struct client *c, const char *token, struct err *err)
{
    if (token == NULL)
        token = getenv("WAYBILL_TOKEN"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */
    if (token == NULL || *token == '\0')
        return E_OK;
    if (strlen(token) > TOKEN_MAX)
        return err_set(err, E_INVALID, "the token is longer than %d bytes", TOKEN_MAX);
    for (const char *p = token; *p != '\0'; p++) {
        if (!isgraph((unsigned char)*p))
            return err_set(err, E_INVALID,
                           "the token (WAYBILL_TOKEN) has a blank, a line end or another character "
                           "that a header cannot carry");
    }
    c->token = mem_strdup(token);
    return E_OK;
}

/* A path that does not fit a socket address is reached through its directory's descriptor. */
static enum err_code shorten_socket(struct client *c, struct err *err)
{
    CLEANUP(mem) char *for_dir = mem_strdup(c->url.socket);
    CLEANUP(mem) char *for_name = mem_strdup(c->url.socket);
    CLEANUP(buf) struct buf path = BUF_INIT(SOCKET_PATH_MAX);

    c->socket_dir = open(dirname(for_dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (c->socket_dir < 0)
        return err_errno(err, E_UNAVAILABLE, "no server at %s", c->url.text);
    buf_addf(&path, "/proc/self/fd/%d/%s", c->socket_dir, basename(for_name));
    if (path.overflowed)
        return err_set(err, E_INVALID, "the socket's file name in %s is too long", c->url.text);
    c->socket = buf_take(&path);
    return E_OK;
}

static enum err_code take_socket(struct client *c, struct err *err)
{
    if (c->url.socket == NULL)
        return E_OK;
    if (strlen(c->url.socket) > SOCKET_PATH_MAX)
        return shorten_socket(c, err);
    c->socket = mem_strdup(c->url.socket);
    return E_OK;
}

enum err_code client_open(const struct client_config *config, struct client **ret_client,
                          struct err *err)
{
    CLEANUP(client) struct client *c = mem_zalloc(sizeof(*c));

    c->socket_dir = -1;
    if (client_url_choose(config->url, config->data_dir, &c->url, err) != E_OK ||
        take_token(c, config->token, err) != E_OK || take_socket(c, err) != E_OK)
        return err->code;
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(err, E_INTERNAL, "libcurl cannot be started");
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
    client_url_deinit(&c->url);
    free(c->token);
    free(c->socket);
    if (c->socket_dir >= 0)
        close(c->socket_dir);
    free(c);
}

static bool is_success(long status)
{
    return status >= 200 && status < 300;
}

static size_t on_body(char *data, size_t one, size_t size, void *ctx)
{
    struct call *call = ctx;
    long status = 0;

    (void)one;
    curl_easy_getinfo(call->client->curl, CURLINFO_RESPONSE_CODE, &status);
    if (call->request->on_data == NULL || !is_success(status)) {
        buf_add(&call->reply->text, data, size);
        return call->reply->text.overflowed ? 0 : size;
    }
    call->enough = !call->request->on_data(call->request->ctx, slice_make(data, size));
    return call->enough ? 0 : size;
}

static struct curl_slist *make_headers(const struct client *c, const struct client_request *r)
{
    CLEANUP(buf) struct buf line = BUF_INIT(TOKEN_MAX + 64);
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"); /* no wait for 100 Continue */

    buf_add_str(&line, "Content-Type:");
    if (r->body.data != NULL)
        buf_addf(&line, " %s", r->type != NULL ? r->type : "application/json");
    list = curl_slist_append(list, buf_text(&line));
    if (c->token != NULL) {
        buf_clear(&line);
        buf_addf(&line, "Authorization: Bearer %s", c->token);
        list = curl_slist_append(list, buf_text(&line));
    }
    ASSERT(list != NULL);
    return list;
}

static void set_method(CURL *curl, const struct client_request *r)
{
    const char *method = r->method != NULL ? r->method : "GET";

    if (r->body.data != NULL || strcmp(method, "GET") != 0) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, r->body.data != NULL ? r->body.data : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.size);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
}

static void set_patience(CURL *curl, int patience_s)
{
    if (patience_s == 0)
        patience_s = CLIENT_PATIENCE_S;
    if (patience_s > 0) {
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)patience_s);
    }
}

static void set_server(struct client *c, const char *path)
{
    CLEANUP(buf) struct buf url = BUF_INIT(1U << 20);

    buf_add_str(&url, c->url.base);
    buf_add_str(&url, path);
    ASSERT(!url.overflowed); /* an argument list is not longer than that */
    curl_easy_setopt(c->curl, CURLOPT_URL, buf_text(&url));
    curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    if (c->socket != NULL)
        curl_easy_setopt(c->curl, CURLOPT_UNIX_SOCKET_PATH, c->socket);
    if (c->url.nearby)
        curl_easy_setopt(c->curl, CURLOPT_NOPROXY, "*");
}

static CURLcode perform(struct call *call)
{
    struct client *c = call->client;
    struct curl_slist *headers = make_headers(c, call->request);

    curl_easy_reset(c->curl); /* the connection stays */
    set_server(c, call->request->path);
    set_method(c->curl, call->request);
    set_patience(c->curl, call->request->patience_s);
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_RANGE, call->request->range);
    curl_easy_setopt(c->curl, CURLOPT_USERAGENT, "waybill/" WAYBILL_VERSION);
    curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->curl, CURLOPT_TCP_NODELAY, 1L);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, call);
    curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->problem);
    c->problem[0] = '\0';
    CURLcode code = curl_easy_perform(c->curl);

    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    return code;
}

static enum err_code no_server(const struct client *c, struct err *err)
{
    long cause = 0;

    curl_easy_getinfo(c->curl, CURLINFO_OS_ERRNO, &cause);
    if (cause == EACCES)
        return err_set(err, E_FORBIDDEN,
                       "the socket %s is not yours to use: it is its owner's, and root's",
                       c->url.text);
    return err_set(err, E_UNAVAILABLE,
                   "no server at %s: start one with 'waybill serve', or name another in "
                   "WAYBILL_URL",
                   c->url.text);
}

static enum err_code transport_error(const struct call *call, CURLcode code, struct err *err)
{
    const struct client *c = call->client;
    const char *problem = c->problem[0] != '\0' ? c->problem : curl_easy_strerror(code);

    switch ((int)code) {
    case CURLE_COULDNT_CONNECT: return no_server(c, err);
    case CURLE_COULDNT_RESOLVE_HOST:
        return err_set(err, E_UNAVAILABLE, "no server at %s: its name is unknown; see WAYBILL_URL",
                       c->url.text);
    case CURLE_OPERATION_TIMEDOUT:
        return err_set(err, E_UNAVAILABLE, "%s does not answer: %s", c->url.text, problem);
    case CURLE_WRITE_ERROR:
        return err_set(err, E_TOO_LARGE, "the answer of %s is larger than %zu MiB", c->url.text,
                       CLIENT_REPLY_MAX >> 20);
    default:
        return err_set(err, E_UNAVAILABLE, "the connection to %s broke: %s", c->url.text, problem);
    }
}

static bool is_json(CURL *curl)
{
    char *type = NULL;

    return curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type) == CURLE_OK && type != NULL &&
           strncasecmp(type, "application/json", strlen("application/json")) == 0;
}

static enum err_code parse_reply(struct call *call, struct err *err)
{
    struct client_reply *r = call->reply;
    json_error_t why;

    if (!is_json(call->client->curl) || r->text.size == 0)
        return E_OK;
    r->json = json_loadb(r->text.data, r->text.size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
                         &why);
    if (r->json == NULL && is_success(r->status))
        return err_set(err, E_INTERNAL, "the answer of %s is broken JSON: %s",
                       call->client->url.text, why.text);
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

/* The error code of a status that came without one of ours, from a proxy perhaps. */
static enum err_code code_of_status(int status)
{
    for (int code = E_OK + 1; code < ERR_CODE_COUNT; code++) {
        if (err_http_status((enum err_code)code) == status)
            return (enum err_code)code;
    }
    return status >= 500 ? E_UNAVAILABLE : E_BAD_REQUEST;
}

static enum err_code server_error(const struct call *call, struct err *err)
{
    const json_t *error = json_object_get(call->reply->json, "error");
    const char *name = json_string_value(json_object_get(error, "code"));
    const char *message = json_string_value(json_object_get(error, "message"));
    const json_t *index = json_object_get(json_object_get(error, "detail"), "index");

    if (name == NULL || message == NULL)
        return err_set(err, code_of_status(call->reply->status),
                       "%s answers %d without saying why: is it a waybill server?",
                       call->client->url.text, call->reply->status);
    enum err_code code = err_from_name(name);

    if (code == E_INTERNAL) /* or a name that only a newer server knows */
        code = code_of_status(call->reply->status);
    err_set(err, code, "%s", message);
    if (json_is_integer(index))
        err->item = (unsigned)json_integer_value(index) + 1;
    return err->code;
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
        return transport_error(&call, code, err);
    if (parse_reply(&call, err) != E_OK)
        return err->code;
    return is_success(status) ? E_OK : server_error(&call, err);
}
