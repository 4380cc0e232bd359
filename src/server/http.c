/* SPDX-License-Identifier: MIT */
#include "server/http.h"

#include <errno.h>
#include <malloc.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <microhttpd.h>

#include "base/clock.h"
#include "server/limits.h"
#include "server/message.h"
#include "server/parts.h"
#include "server/reply.h"
#include "server/request.h"

enum { EVENTS_A_PASS = 16, MANY_CONNECTIONS = 64 };

/* ---- what the daemons tell ---- */

/* Memory of many connections goes back to the system when the last of them has gone. */
static void forget_connection(struct port *port)
{
    if (--port->connections > 0)
        return;
    port->http->trim |= port->connections_peak > MANY_CONNECTIONS;
    port->connections_peak = 0;
}

static void hangup_ready(struct watch *w)
{
    struct peer *p = (struct peer *)w;

    p->port->is_ready = true;
    peer_hung_up(&p->port->http->peers, p);
}

static void watch_hangup(struct http *h, struct peer *p)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLET, .data.ptr = &p->hangup};

    p->hangup = (struct watch){.fd = p->fd, .ready = hangup_ready};
    (void)epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, p->fd, &event);
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct port *port = ctx;
    struct http *h = port->http;

    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        forget_connection(port);
        peer_free(&h->peers, *socket_context);
        return;
    }
    int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    struct peer *p = peer_new(&h->peers, port, fd, h->now_at + HEADER_US);

    p->surplus = ++port->connections > port->connections_max;
    if (port->connections > port->connections_peak)
        port->connections_peak = port->connections;
    *socket_context = p;
    watch_hangup(h, p);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **request_context,
                         enum MHD_RequestTerminationCode how)
{
    struct port *port = ctx;
    struct http *h = port->http;
    struct request *r = *request_context;

    (void)connection;
    (void)how;
    if (r == NULL)
        return;
    peer_set_deadline(&h->peers, r->peer, h->now_at + KEEP_ALIVE_US);
    if (r->peer->half_closed)
        peer_hung_up(&h->peers, r->peer);
    request_free(r);
    *request_context = NULL;
}

static struct peer *peer_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_size, void **request_context)
{
    struct port *port = ctx;
    struct request *r = *request_context;

    (void)version;
    if (r == NULL) {
        r = request_begin(port->http->server, peer_of(connection), connection, method, path);
        *request_context = r;
        return request_refuses_body(r) ? reply_send(r) : MHD_YES;
    }
    if (*upload_size > 0) {
        bool go_on = request_take_body(r, slice_make(upload, *upload_size));

        *upload_size = 0;
        return go_on ? MHD_YES : MHD_NO;
    }
    if (r->phase == REQUEST_BODY)
        request_dispatch(r);
    if (r->phase != REQUEST_WORKING)
        return reply_send(r);
    request_suspend(r);
    return MHD_YES;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A text with a NUL would be read short: what stands for one is not UTF-8, and is refused as such. */
static size_t put_nul(char *to)
{
    memcpy(to, "\xC0\x80", 2);
    return 2;
}

/* In place.  What is no escape stays as it is. */
static size_t on_unescape(void *ctx, struct MHD_Connection *connection, char *text)
{
    char *from = strchr(text, '%');
    char *to = from;

    (void)ctx;
    (void)connection;
    if (from == NULL)
        return strlen(text);
    while (*from != '\0') {
        int high = *from == '%' ? hex_value(from[1]) : -1;
        int low = high < 0 ? -1 : hex_value(from[2]);

        if (low < 0) {
            *to++ = *from++;
            continue;
        }
        if (high + low == 0)
            to += put_nul(to);
        else
            *to++ = (char)(high << 4 | low);
        from += 3;
    }
    *to = '\0';
    return (size_t)(to - text);
}

/* ---- the loop ---- */

static void port_ready(struct watch *w)
{
    ((struct port *)w)->is_ready = true;
}

static void letters_ready(struct watch *w)
{
    struct http *h = (struct http *)((char *)w - offsetof(struct http, letters));
    struct inbox_item *item = inbox_take_now(&h->inbox);

    while (item != NULL) {
        struct message *m = (struct message *)item;

        item = item->next;
        m->deliver(m);
    }
}

enum err_code http_watch(struct http *h, struct watch *w, struct err *err)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};

    if (epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, w->fd, &event) < 0)
        return err_errno(err, E_INTERNAL, "watch a descriptor");
    return E_OK;
}

void http_unwatch(struct http *h, struct watch *w)
{
    (void)epoll_ctl(h->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
}

enum err_code http_open(struct http *h, struct server *server, struct err *err)
{
    *h = (struct http){.server = server, .epoll_fd = -1, .now_at = clock_mono_us()};
    h->tasks = INBOX_LIST_INIT;
    peers_init(&h->peers);
    timers_init(&h->timers);
    h->letters = (struct watch){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                                .ready = letters_ready};
    inbox_init(&h->inbox, h->letters.fd);
    h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (h->letters.fd < 0 || h->epoll_fd < 0)
        return err_errno(err, E_UNAVAILABLE, "make the event loop");
    return http_watch(h, &h->letters, err);
}

enum err_code http_listen(struct http *h, int fd, bool local, struct err *err)
{
    ASSERT(h->n_ports < PORTS_MAX);
    struct port *port = &h->ports[h->n_ports++];
    unsigned max = local ? UNIX_CONNECTIONS_MAX : TCP_CONNECTIONS_MAX;

    *port = (struct port){.http = h,
                          .listen_fd = fd,
                          .local = local,
                          .connections_max = max,
                          .watch.ready = port_ready};
    port->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_SUPPRESS_DATE_NO_CLOCK, 0,
        NULL, NULL, on_request, port, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        max + SPARE_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_POOL,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, port, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, port, MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, NULL,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
    if (port->daemon == NULL)
        return err_errno(err, E_UNAVAILABLE, "start the HTTP daemon");
    port->watch.fd = MHD_get_daemon_info(port->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return http_watch(h, &port->watch, err);
}

/* The daemons have no deadlines of their own: 0 when one has work left, else TIME_NEVER. */
static int64_t daemons_next_at(struct http *h)
{
    MHD_UNSIGNED_LONG_LONG left_ms;

    for (size_t i = 0; i < h->n_ports; i++) {
        struct port *port = &h->ports[i];

        if (MHD_get_timeout(port->daemon, &left_ms) == MHD_YES && left_ms == 0) {
            port->is_ready = true;
            return 0;
        }
    }
    return TIME_NEVER;
}

static int timeout_ms(const struct http *h, int64_t until_at)
{
    if (until_at == TIME_NEVER)
        return -1;
    int64_t left_us = until_at - h->now_at;

    if (left_us <= 0)
        return 0;
    return left_us > US_PER_HOUR ? (int)(US_PER_HOUR / US_PER_MS)
                                 : (int)((left_us + US_PER_MS - 1) / US_PER_MS);
}

static int64_t earlier(int64_t a_at, int64_t b_at)
{
    return a_at < b_at ? a_at : b_at;
}

static void wait_for_events(struct http *h, int64_t until_at)
{
    struct epoll_event events[EVENTS_A_PASS];

    until_at = earlier(until_at, daemons_next_at(h));
    until_at = earlier(until_at, earlier(h->timers.next_at, h->peers.look_at));
    int n = epoll_wait(h->epoll_fd, events, EVENTS_A_PASS, timeout_ms(h, until_at));

    ASSERT(n >= 0 || errno == EINTR);
    h->now_at = clock_mono_us();
    for (int i = 0; i < n; i++) {
        struct watch *w = events[i].data.ptr;

        w->ready(w);
    }
}

static void run_daemons(struct http *h)
{
    for (size_t i = 0; i < h->n_ports; i++) {
        struct port *port = &h->ports[i];

        if (port->is_ready) {
            port->is_ready = false;
            MHD_run(port->daemon);
        }
    }
}

void http_pass(struct http *h, int64_t until_at)
{
    wait_for_events(h, until_at);
    timers_run(&h->timers, h->now_at);
    peers_look(&h->peers, h->now_at);
    run_daemons(h);
    bool somebody_left = peers_judge_hung(&h->peers);

    if (!h->no_tasks) {
        engine_thread_put(&h->server->engine, &h->tasks);
        if (somebody_left)
            engine_thread_look_for_gone(&h->server->engine);
    }
    if (h->trim) {
        h->trim = false;
        malloc_trim(0);
    }
}

void http_stop_listening(struct http *h)
{
    h->stopping = true;
    for (size_t i = 0; i < h->n_ports; i++) {
        struct port *port = &h->ports[i];

        if (port->listen_fd >= 0 && MHD_quiesce_daemon(port->daemon) != MHD_INVALID_SOCKET)
            close(port->listen_fd);
        port->listen_fd = -1;
    }
}

/* A daemon must not be stopped with suspended connections. */
static void abandon_requests(struct http *h)
{
    for (struct peer *p = h->peers.head.next; p != &h->peers.head; p = p->next)
        if (p->request != NULL && p->request->suspended) {
            p->request->phase = REQUEST_SENT;
            request_resume(p->request);
        }
}

void http_close(struct http *h)
{
    abandon_requests(h);
    for (size_t i = 0; i < h->n_ports; i++) {
        struct port *port = &h->ports[i];

        if (port->daemon != NULL)
            MHD_stop_daemon(port->daemon);
        else if (port->listen_fd >= 0)
            close(port->listen_fd);
    }
    h->n_ports = 0;
}

void http_deinit(struct http *h)
{
    inbox_deinit(&h->inbox);
    if (h->epoll_fd >= 0)
        close(h->epoll_fd);
    if (h->letters.fd >= 0)
        close(h->letters.fd);
}

unsigned http_connections(const struct http *h)
{
    unsigned n = 0;

    for (size_t i = 0; i < h->n_ports; i++)
        n += h->ports[i].connections;
    return n;
}
