/* SPDX-License-Identifier: MIT */
#include "server/http/http.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "server/limits.h"
#include "server/process/server_state.h"
#include "server/request/request.h"
#include "server/threads/delivery.h"

enum { EVENTS_A_PASS = 64 };

static void deliveries_ready(struct watch *w, uint32_t events)
{
    struct http *h = (struct http *)((char *)w - offsetof(struct http, deliveries));
    struct inbox_item *item = inbox_take_now(&h->inbox);

    (void)events;
    while (item != NULL) {
        struct delivery *d = (struct delivery *)item;

        item = item->next;
        d->deliver(d);
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
    h->stall_us = server->config->client_stall_us;
    h->changes = INBOX_LIST_INIT;
    h->scratch = mem_alloc(BODY_BLOCK);
    h->block = BUF_INIT(STREAM_BLOCK_MAX);
    connections_init(&h->connections);
    timers_init(&h->timers);
    h->deliveries = (struct watch){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                                   .ready = deliveries_ready};
    inbox_init(&h->inbox, h->deliveries.fd);
    h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (h->deliveries.fd < 0 || h->epoll_fd < 0)
        return err_errno(err, E_UNAVAILABLE, "make the event loop");
    return http_watch(h, &h->deliveries, err);
}

enum err_code http_listen(struct http *h, int fd, bool local, struct err *err)
{
    ASSERT(h->n_ports < PORTS_MAX);
    return port_open(&h->ports[h->n_ports++], h, fd, local, err);
}

/* ---- the loop ---- */

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

static int64_t next_at(const struct http *h, int64_t until_at)
{
    if (h->connections.ready != NULL)
        return h->now_at;
    return earlier(until_at, earlier(h->timers.next_at, h->connections.look_at));
}

void http_pass(struct http *h, int64_t until_at)
{
    struct epoll_event events[EVENTS_A_PASS];
    int n = epoll_wait(h->epoll_fd, events, EVENTS_A_PASS, timeout_ms(h, next_at(h, until_at)));

    ASSERT(n >= 0 || errno == EINTR);
    h->now_at = clock_mono_us();
    for (int i = 0; i < n; i++) {
        struct watch *w = events[i].data.ptr;

        w->ready(w, events[i].events);
    }
    timers_run(&h->timers, h->now_at);
    connections_look(&h->connections, h->now_at);
    connections_work(&h->connections);
    if (!h->no_changes) {
        engine_thread_put(&h->server->engine, &h->changes);
        if (h->somebody_left)
            engine_thread_look_for_gone(&h->server->engine);
        h->somebody_left = false;
    }
    if (h->trim) {
        h->trim = false;
        malloc_trim(0);
    }
}

void http_stop_listening(struct http *h)
{
    h->stopping = true;
    for (size_t i = 0; i < h->n_ports; i++)
        port_close(&h->ports[i]);
}

void http_close(struct http *h)
{
    struct connection *head = &h->connections.head;

    http_stop_listening(h);
    while (head->next != head)
        connection_abandon(head->next);
    h->n_ports = 0;
}

void http_deinit(struct http *h)
{
    inbox_deinit(&h->inbox);
    buf_deinit(&h->block);
    free(h->scratch);
    if (h->epoll_fd >= 0)
        close(h->epoll_fd);
    if (h->deliveries.fd >= 0)
        close(h->deliveries.fd);
}

unsigned http_connections(const struct http *h)
{
    unsigned n = 0;

    for (size_t i = 0; i < h->n_ports; i++)
        n += h->ports[i].connections;
    return n;
}
