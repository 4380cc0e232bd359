/* SPDX-License-Identifier: MIT */
#include "worker/client/target.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/jtext/jtext.h"

#define CONNECT_TIMEOUT_S 10L
#define TOKEN_MAX 4096
#define SOCKET_PATH_MAX (sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1)

static enum err_code take_token(struct client_target *t, const char *token, struct err *err)
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
    t->token = mem_strdup(token);
    return E_OK;
}

/* Where jobs have commands a token is as good as a shell: it must not be readable on the
 * network. */
static enum err_code check_secrecy(const struct client_target *t, bool insecure, struct err *err)
{
    const char *says = getenv("WAYBILL_INSECURE"); /* NOLINT(concurrency-mt-unsafe): as above */

    if (t->token == NULL || t->url.secret || insecure || (says != NULL && strcmp(says, "1") == 0))
        return E_OK;
    return err_set(err, E_INVALID,
                   "the token would be sent to %s unencrypted: use https://, a tunnel to a "
                   "loopback address, or --insecure (WAYBILL_INSECURE=1) in a network you trust",
                   t->url.text);
}

static enum err_code take_socket(struct client_target *t, struct err *err)
{
    if (t->url.socket == NULL)
        return E_OK;
    if (strlen(t->url.socket) > SOCKET_PATH_MAX) {
        /* A path that is too long for a socket address is reached through a descriptor of its
         * directory. */
        CLEANUP(mem) char *for_dir = mem_strdup(t->url.socket);
        CLEANUP(mem) char *for_name = mem_strdup(t->url.socket);
        CLEANUP(buf) struct buf path = BUF_INIT(SOCKET_PATH_MAX);

        t->socket_dir = open(dirname(for_dir), O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (t->socket_dir < 0)
            return err_errno(err, E_UNAVAILABLE, "no server at %s", t->url.text);
        buf_addf(&path, "/proc/self/fd/%d/%s", t->socket_dir, basename(for_name));
        if (path.overflowed)
            return err_set(err, E_INVALID, "the socket's file name in %s is too long", t->url.text);
        t->socket = buf_take(&path);
        return E_OK;
    }
    t->socket = mem_strdup(t->url.socket);
    return E_OK;
}

enum err_code client_target_open(const struct client_config *config,
                                 struct client_target *ret_target, struct err *err)
{
    struct client_target t = {
        .socket_dir = -1,
        .option = config->option != NULL ? config->option : "--url",
        .by_data_dir = config->url == NULL && config->data_dir != NULL,
    };

    if (client_url_choose(config->url, config->data_dir, &t.url, err) != E_OK)
        return err->code;
    if (take_token(&t, config->token, err) != E_OK ||
        check_secrecy(&t, config->insecure, err) != E_OK || take_socket(&t, err) != E_OK) {
        client_target_close(&t);
        return err->code;
    }
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        client_target_close(&t);
        return err_set(err, E_INTERNAL, "libcurl cannot be started");
    }
    if (t.token != NULL)
        (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* no core dump, no /proc/PID/mem for others */
    *ret_target = t;
    return E_OK;
}

void client_target_close(struct client_target *t)
{
    client_url_deinit(&t->url);
    free(t->token);
    free(t->socket);
    if (t->socket_dir >= 0)
        close(t->socket_dir);
    *t = (struct client_target){.socket_dir = -1};
}

struct curl_slist *client_target_headers(const struct client_target *t, const char *type)
{
    CLEANUP(buf) struct buf line = BUF_INIT(TOKEN_MAX + 64);
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"); /* no wait for 100 Continue */

    buf_add_str(&line, "Content-Type:");
    if (type != NULL)
        buf_addf(&line, " %s", type);
    list = curl_slist_append(list, buf_text(&line));
    if (t->token != NULL) {
        buf_clear(&line);
        buf_addf(&line, "Authorization: Bearer %s", t->token);
        list = curl_slist_append(list, buf_text(&line));
    }
    ASSERT(list != NULL);
    return list;
}

void client_set_method(CURL *curl, const char *method, struct slice body)
{
    if (method == NULL)
        method = "GET";
    if (body.data != NULL || strcmp(method, "GET") != 0) {
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data != NULL ? body.data : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.size);
    }
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
}

void client_set_patience(CURL *curl, int patience_s)
{
    if (patience_s == 0)
        patience_s = CLIENT_PATIENCE_S;
    if (patience_s > 0) {
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)patience_s);
    } else { /* without a limit on silence, only this notices a vanished machine */
        curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
    }
}

void client_target_set_url(const struct client_target *t, CURL *curl, const char *path)
{
    CLEANUP(buf) struct buf url = BUF_INIT(1U << 20);

    buf_add_str(&url, t->url.base);
    buf_add_str(&url, path);
    ASSERT(!url.overflowed); /* longer than any argument list */
    curl_easy_setopt(curl, CURLOPT_URL, buf_text(&url));
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    if (t->socket != NULL)
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, t->socket);
    if (t->url.nearby)
        curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "waybill/" WAYBILL_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
}

static enum err_code no_server(const struct client_target *t, CURL *curl, struct err *err)
{
    long cause = 0;

    curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &cause);
    if (cause == EACCES)
        return err_set(err, E_FORBIDDEN,
                       "permission denied for the socket %s: only its owner and root may use it",
                       t->url.text);
    return err_set(err, E_UNAVAILABLE,
                   "no server at %s: start one with 'waybill serve', or name another with %s URL%s",
                   t->url.text, t->option, t->by_data_dir ? "" : " or in WAYBILL_URL");
}

/* Not reachable, or reached and silent: in the second case the request may have taken effect. */
static enum err_code no_answer(const struct client_target *t, CURL *curl, struct err *err)
{
    curl_off_t connected_us = 0;
    curl_off_t total_us = 0;

    curl_easy_getinfo(curl, CURLINFO_CONNECT_TIME_T, &connected_us);
    curl_easy_getinfo(curl, CURLINFO_TOTAL_TIME_T, &total_us);
    if (connected_us == 0)
        return err_set(err, E_UNAVAILABLE, "no server at %s: no reply from there; see WAYBILL_URL",
                       t->url.text);
    return err_set(err, E_UNAVAILABLE,
                   "%s has not answered for %lld s: it hangs or is overloaded; the request "
                   "may still take effect",
                   t->url.text, (long long)(total_us / 1000000));
}

enum err_code client_transport_error(const struct client_target *t, CURL *curl, CURLcode code,
                                     const char *problem, struct err *err)
{
    if (*problem == '\0')
        problem = curl_easy_strerror(code);
    switch ((int)code) {
    case CURLE_COULDNT_CONNECT: return no_server(t, curl, err);
    case CURLE_COULDNT_RESOLVE_HOST:
        return err_set(err, E_UNAVAILABLE,
                       "no server at %s: its host name is unknown; see WAYBILL_URL", t->url.text);
    case CURLE_OPERATION_TIMEDOUT: return no_answer(t, curl, err);
    case CURLE_ABORTED_BY_CALLBACK: /* by on_send: libcurl wanted to send it again */
        return err_set(err, E_UNAVAILABLE, "the connection to %s broke before the reply",
                       t->url.text);
    case CURLE_WRITE_ERROR:
        return err_set(err, E_TOO_LARGE, "the answer of %s is larger than %zu MiB", t->url.text,
                       CLIENT_REPLY_MAX >> 20);
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
        return err_set(err, E_UNAVAILABLE, "the connection to the server (%s) was lost",
                       t->url.text);
    default:
        return err_set(err, E_UNAVAILABLE, "the connection to %s broke: %s", t->url.text, problem);
    }
}

/* The code for a status without an error object of ours, for instance from a proxy. */
static enum err_code code_of_status(int status)
{
    for (int code = E_OK + 1; code < ERR_CODE_COUNT; code++) {
        if (err_http_status((enum err_code)code) == status)
            return (enum err_code)code;
    }
    return status >= 500 ? E_UNAVAILABLE : E_BAD_REQUEST;
}

static struct slice text_of(struct slice object, const char *name, struct arena *arena)
{
    struct slice value;

    if (!jtext_find(object, name, &value) || jtext_type_of(value) != JTEXT_STRING)
        return (struct slice){0};
    return jtext_text(value, arena);
}

static void read_detail(struct slice detail, struct err *err)
{
    struct slice value;

    if (jtext_find(detail, "index", &value) && jtext_type_of(value) == JTEXT_INT)
        err->item = (unsigned)jtext_int(value) + 1;
    err->unknown_queue = jtext_find(detail, "unknown", &value) && slice_is(value, "\"queue\"");
}

/* Reads {"error":{"code","message","detail":{"index","unknown"}}}; false: it is something else. */
static bool read_error(struct slice text, int status, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err broken = ERR_INIT;
    struct slice reply;
    struct slice error;
    struct slice value;

    if (jtext_check(text, &reply, &broken) != E_OK || jtext_type_of(reply) != JTEXT_OBJECT ||
        !jtext_find(reply, "error", &error) || jtext_type_of(error) != JTEXT_OBJECT)
        return false;
    struct slice name = text_of(error, "code", &arena);
    struct slice message = text_of(error, "message", &arena);

    if (name.data == NULL || message.data == NULL)
        return false;
    enum err_code code = err_from_name(arena_strdup(&arena, name));

    if (code == E_INTERNAL) /* or a name of a newer server */
        code = code_of_status(status);
    err_set(err, code, "%.*s", (int)message.size, message.data);
    if (jtext_find(error, "detail", &value) && jtext_type_of(value) == JTEXT_OBJECT)
        read_detail(value, err);
    return true;
}

enum err_code client_server_error(const struct client_target *t, int status, struct slice text,
                                  struct err *err)
{
    if (!read_error(text, status, err))
        err_set(err, code_of_status(status),
                "%s answers %d without saying why: is it a waybill server?", t->url.text, status);
    return err->code;
}
