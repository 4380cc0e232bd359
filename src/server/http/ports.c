/* SPDX-License-Identifier: MIT */
#include "server/http/ports.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/os/log.h"
#include "server/http/connection.h"
#include "server/http/http.h"
#include "server/limits.h"

enum { ACCEPTS_A_TURN = 32, MANY_CONNECTIONS = 64, CONNECTIONS_MIN = 8 };

#define AGAIN_US (US_PER_S / 5)
#define TELL_US (10 * US_PER_S)

/* Each kind of socket gets half of the descriptors that the server does not need itself. */
static unsigned connections_max(bool local)
{
    unsigned max = local ? UNIX_CONNECTIONS_MAX : TCP_CONNECTIONS_MAX;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return max;
    rlim_t others = OWN_DESCRIPTORS + 2 * SPARE_CONNECTIONS;
    rlim_t share = limit.rlim_cur > others ? (limit.rlim_cur - others) / 2 : 0;

    if (share >= max)
        return max;
    return share > CONNECTIONS_MIN ? (unsigned)share : CONNECTIONS_MIN;
}

/* ---- pausing ---- */

static void set_paused(struct port *port, bool is_paused)
{
    struct epoll_event event = {.events = is_paused ? 0 : EPOLLIN, .data.ptr = &port->watch};

    if (port->is_paused == is_paused || port->watch.fd < 0)
        return;
    port->is_paused = is_paused;
    (void)epoll_ctl(port->http->epoll_fd, EPOLL_CTL_MOD, port->watch.fd, &event);
}

/* Sockets of one kind share their maximum. */
static unsigned count_kind(const struct port *port)
{
    const struct http *h = port->http;
    unsigned n = 0;

    for (size_t i = 0; i < h->n_ports; i++)
        n += h->ports[i].local == port->local ? h->ports[i].connections : 0;
    return n;
}

static bool is_full(const struct port *port)
{
    return count_kind(port) >= port->connections_max + SPARE_CONNECTIONS;
}

static void try_again(struct timer *t)
{
    struct port *port = (struct port *)((char *)t - offsetof(struct port, again));

    set_paused(port, is_full(port));
}

/* Nothing is lost: new clients wait in the backlog until a connection closes or the timer
 * retries. */
static void pause_for_a_while(struct port *port, int error)
{
    struct http *h = port->http;

    set_paused(port, true);
    timer_set(&h->timers, &port->again, h->now_at + AGAIN_US);
    if (h->accept_told_at != 0 && h->now_at - h->accept_told_at < TELL_US)
        return;
    h->accept_told_at = h->now_at;
    log_error("no new connections for now: %s (%u connections; 'ulimit -n' or LimitNOFILE= is the "
              "limit of descriptors)",
              strerror(error), http_connections(h));
}

/* ---- the reserve ---- */

static void fill_reserve(struct port *port)
{
    for (int i = 0; i < PORT_RESERVE && port->local && port->watch.fd >= 0; i++)
        if (port->reserve[i] < 0)
            port->reserve[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* True when a descriptor is available now. */
static bool give_up_reserve(struct port *port, int error)
{
    for (int i = 0; i < PORT_RESERVE && (error == EMFILE || error == ENFILE); i++)
        if (port->reserve[i] >= 0) {
            close(port->reserve[i]);
            port->reserve[i] = -1;
            return true;
        }
    return false;
}

/* ---- accepting ---- */

/* Errors of one client that left, or of the network: the next accept may succeed. */
static bool concerns_one(int error)
{
    return error == EINTR || error == ECONNABORTED || error == EPROTO || error == ENETDOWN ||
           error == EHOSTUNREACH || error == ENETUNREACH || error == EPERM;
}

static void on_accept(struct watch *w, uint32_t events)
{
    struct port *port = (struct port *)w;

    (void)events;
    for (unsigned i = 0; i < ACCEPTS_A_TURN && !is_full(port); i++) {
        union address from = {.any.sa_family = AF_UNSPEC};
        socklen_t size = sizeof(from);
        int fd = accept4(port->watch.fd, port->local ? NULL : &from.any, port->local ? NULL : &size,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (fd >= 0) {
            int on = 1;

            if (!port->local)
                (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
            struct connection *c = connection_new(port, fd, &from);

            port->connections++;
            c->is_surplus = count_kind(port) > port->connections_max;
            if (port->connections > port->connections_peak)
                port->connections_peak = port->connections;
        } else if (errno == EAGAIN) {
            return;
        } else if (!concerns_one(errno) && !give_up_reserve(port, errno)) {
            pause_for_a_while(port, errno);
            return;
        }
    }
    if (is_full(port))
        set_paused(port, true);
}

/* Memory of many connections goes back to the system when the last of them has gone. */
void port_lost_connection(struct port *port)
{
    if (--port->connections == 0) {
        port->http->trim |= port->connections_peak > MANY_CONNECTIONS;
        port->connections_peak = 0;
    }
    fill_reserve(port);
    for (size_t i = 0; i < port->http->n_ports; i++) {
        struct port *other = &port->http->ports[i];

        if (other->is_paused && !timer_is_set(&other->again))
            set_paused(other, is_full(other));
    }
}

/* ---- its life ---- */

enum err_code port_open(struct port *port, struct http *http, int fd, bool local, struct err *err)
{
    *port = (struct port){.watch = {.fd = fd, .ready = on_accept},
                          .again.fire = try_again,
                          .http = http,
                          .local = local,
                          .connections_max = connections_max(local)};
    memset(port->reserve, -1, sizeof(port->reserve));
    fill_reserve(port);
    if (port->connections_max < (local ? UNIX_CONNECTIONS_MAX : TCP_CONNECTIONS_MAX))
        log_warn("at most %u connections over %s: the limit of open files (ulimit -n, "
                 "LimitNOFILE=) allows no more",
                 port->connections_max, local ? "the Unix socket" : "TCP");
    return http_watch(http, &port->watch, err);
}

void port_close(struct port *port)
{
    timer_clear(&port->again);
    while (give_up_reserve(port, EMFILE))
        ;
    if (port->watch.fd < 0)
        return;
    http_unwatch(port->http, &port->watch);
    close(port->watch.fd);
    port->watch.fd = -1;
}
