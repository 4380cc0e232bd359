/* SPDX-License-Identifier: MIT */
#include "load/load.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

#define READ_STEP (64U << 10)
#define PAYLOAD                                                                         \
    "{\"url\":\"https://www.example.org/catalogue/2026/items/000417?lang=en&page=12\"," \
    "\"host\":\"www.example.org\",\"depth\":3,\"agent\":\"waybill-load\",\"etag\":"     \
    "\"5f3c9a1e77b04d2c8e6610f2d94b\",\"seen\":false,\"weight\":0.75}"

_Static_assert(sizeof(PAYLOAD) - 1 == 200, "every contender carries 200 bytes");

const struct slice load_payload = {PAYLOAD, sizeof(PAYLOAD) - 1};

/* 128 buckets of 1 us, then 64 for each power of two. */
static size_t bucket_of(int64_t us)
{
    if (us < 128)
        return us < 0 ? 0 : (size_t)us;
    unsigned power = 63U - (unsigned)__builtin_clzll((unsigned long long)us);
    size_t at = 128 + (power - 7) * 64U + ((size_t)(us >> (power - 6)) & 63U);

    return at < LOAD_BUCKETS ? at : LOAD_BUCKETS - 1;
}

static int64_t bucket_end(size_t at)
{
    if (at < 128)
        return (int64_t)at;
    unsigned power = (unsigned)((at - 128) / 64 + 7);
    int64_t sub = (int64_t)((at - 128) % 64);

    return (INT64_C(1) << power) + ((sub + 1) << (power - 6)) - 1;
}

void load_histogram_add(struct load_histogram *h, int64_t us)
{
    h->counts[bucket_of(us)]++;
    h->total++;
    if (us > h->max_us)
        h->max_us = us;
}

int64_t load_histogram_at(const struct load_histogram *h, double share)
{
    uint64_t rank = (uint64_t)(share * (double)h->total);
    uint64_t seen = 0;

    if (h->total == 0)
        return 0;
    if (rank >= h->total)
        return h->max_us;
    for (size_t i = 0; i < LOAD_BUCKETS; i++) {
        seen += h->counts[i];
        if (seen > rank)
            return bucket_end(i) < h->max_us ? bucket_end(i) : h->max_us;
    }
    return h->max_us;
}

static enum err_code parse_local(const char *path, struct load_address *ret_address,
                                 struct err *err)
{
    struct load_address a = {.size = sizeof(a.at.local)};

    if (strlen(path) >= sizeof(a.at.local.sun_path))
        return err_set(err, E_INVALID, "socket path %s is longer than %zu bytes", path,
                       sizeof(a.at.local.sun_path) - 1);
    a.at.local.sun_family = AF_UNIX;
    memcpy(a.at.local.sun_path, path, strlen(path) + 1);
    *ret_address = a;
    return E_OK;
}

static bool parse_inet(const char *host, in_port_t port, struct load_address *ret_address)
{
    struct load_address a = {0};
    struct sockaddr_in *v4 = (void *)&a.at;
    struct sockaddr_in6 *v6 = (void *)&a.at;

    if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        if (ntohl(v4->sin_addr.s_addr) >> 24 != 127)
            return false;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        a.size = sizeof(*v4);
    } else {
        if (inet_pton(AF_INET6, host, &v6->sin6_addr) != 1 || !IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr))
            return false;
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        a.size = sizeof(*v6);
    }
    *ret_address = a;
    return true;
}

enum err_code load_address_parse(const char *text, struct load_address *ret_address,
                                 struct err *err)
{
    char host[48];
    char *end = NULL;

    if (strncmp(text, "unix:", 5) == 0)
        return parse_local(text + 5, ret_address, err);
    bool bracket = text[0] == '[';
    const char *colon = strrchr(text, ':');
    size_t size = colon == NULL ? 0 : (size_t)(colon - text) - (bracket ? 2 : 0);
    long port = colon == NULL ? 0 : strtol(colon + 1, &end, 10);

    if (colon == NULL || size >= sizeof(host) || port < 1 || port > 65535 ||
        (*end != '\0' && *end != '/'))
        return err_set(err, E_INVALID, "address %s is not HOST:PORT or unix:PATH", text);
    memcpy(host, text + (bracket ? 1 : 0), size);
    host[size] = '\0';
    if (!parse_inet(strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, (in_port_t)port,
                    ret_address))
        return err_set(err, E_INVALID, "address %s is not on loopback: load stays on this machine",
                       text);
    return E_OK;
}

static enum err_code connect_to(const struct load_address *address, int *ret_fd, struct err *err)
{
    int on = 1;
    int fd = socket(address->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return err_errno(err, E_UNAVAILABLE, "socket");
    if (connect(fd, &address->at.any, address->size) < 0) {
        enum err_code code = err_errno(err, E_UNAVAILABLE, "connect to the server");

        close(fd);
        return code;
    }
    if (address->at.any.sa_family != AF_UNIX)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    *ret_fd = fd;
    return E_OK;
}

bool load_over(const struct load *l)
{
    return l->now_at >= l->until_at || (l->plan->max_jobs > 0 && l->begun >= l->plan->max_jobs);
}

unsigned load_take(struct load *l, unsigned jobs)
{
    if (load_over(l))
        return 0;
    if (l->plan->max_jobs > 0 && jobs > l->plan->max_jobs - l->begun)
        jobs = (unsigned)(l->plan->max_jobs - l->begun);
    l->begun += jobs;
    return jobs;
}

void load_count(struct load *l, unsigned jobs)
{
    if (l->now_at < l->count_from_at || l->now_at > l->until_at)
        return;
    l->report->jobs += jobs;
    l->last_at = l->now_at;
}

void load_time(struct load *l, int64_t since_at)
{
    if (l->now_at >= l->count_from_at && l->now_at <= l->until_at)
        load_histogram_add(&l->report->latency, l->now_at - since_at);
}

void load_idle(struct load *l, struct load_conn *c)
{
    if (c->idle)
        return;
    c->idle = true;
    l->busy--;
}

static enum err_code watch(struct load *l, struct load_conn *c, bool out, struct err *err)
{
    struct epoll_event ev = {.events = EPOLLIN | (out ? EPOLLOUT : 0), .data.ptr = c};

    if (c->watches_out == out)
        return E_OK;
    if (epoll_ctl(l->epoll_fd, EPOLL_CTL_MOD, c->fd, &ev) < 0)
        return err_errno(err, E_INTERNAL, "epoll_ctl");
    c->watches_out = out;
    return E_OK;
}

/* Sends what c->out holds, as far as the socket takes it. */
static enum err_code flush(struct load *l, struct load_conn *c, struct err *err)
{
    if (c->out.overflowed)
        return err_set(err, E_TOO_LARGE, "request is larger than %u bytes", LOAD_BUFFER_MAX);
    while (c->out_at < c->out.size) {
        ssize_t n = send(c->fd, c->out.data + c->out_at, c->out.size - c->out_at, MSG_NOSIGNAL);

        if (n < 0 && errno == EAGAIN)
            return watch(l, c, true, err);
        if (n < 0 && errno != EINTR)
            return err_errno(err, E_UNAVAILABLE, "send to the server");
        if (n > 0)
            c->out_at += (size_t)n;
    }
    buf_clear(&c->out);
    c->out_at = 0;
    return watch(l, c, false, err);
}

static enum err_code understand(struct load *l, struct load_conn *c, struct err *err)
{
    while (c->in_at < c->in.size && !l->stopped) {
        struct load_events events = {0};
        size_t used = 0;
        enum err_code code = l->protocol->input(
            c, slice_make(c->in.data + c->in_at, c->in.size - c->in_at), &used, &events, err);

        if (code != E_OK)
            return code;
        if (used == 0)
            break;
        c->in_at += used;
        load_workload_next(l, c, &events);
    }
    if (c->in_at > 0 && c->in_at < c->in.size)
        memmove(c->in.data, c->in.data + c->in_at, c->in.size - c->in_at);
    c->in.size -= c->in_at;
    c->in_at = 0;
    return E_OK;
}

static enum err_code receive(struct load *l, struct load_conn *c, struct err *err)
{
    char *room = buf_reserve(&c->in, READ_STEP);

    if (room == NULL)
        return err_set(err, E_TOO_LARGE, "answer is larger than %u bytes", LOAD_BUFFER_MAX);
    ssize_t n = recv(c->fd, room, READ_STEP, 0);

    if (n == 0)
        return err_set(err, E_UNAVAILABLE, "the server closed connection %u", c->index);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR ? E_OK : err_errno(err, E_UNAVAILABLE, "receive");
    c->in.size += (size_t)n;
    c->in.data[c->in.size] = '\0';
    return understand(l, c, err);
}

static enum err_code serve_event(struct load *l, const struct epoll_event *ev, struct err *err)
{
    struct load_conn *c = ev->data.ptr;

    l->now_at = clock_mono_us();
    if (ev->events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        enum err_code code = receive(l, c, err);

        if (code != E_OK)
            return code;
    }
    return flush(l, c, err);
}

static enum err_code ring_alarm(struct load *l, struct err *err)
{
    l->alarm_at = TIME_NEVER;
    load_workload_alarm(l);
    for (unsigned i = 0; i < l->plan->connections; i++) {
        enum err_code code = flush(l, &l->conns[i], err);

        if (code != E_OK)
            return code;
    }
    return E_OK;
}

static enum err_code step(struct load *l, struct err *err)
{
    struct epoll_event events[64];
    int64_t us = LOAD_PATIENCE_US;

    if (l->alarm_at != TIME_NEVER)
        us = l->alarm_at > l->now_at ? l->alarm_at - l->now_at : 0;
    int n = epoll_wait(l->epoll_fd, events, ARRAY_LEN(events), (int)((us + 999) / 1000));

    if (n < 0 && errno != EINTR)
        return err_errno(err, E_INTERNAL, "epoll_wait");
    if (n == 0 && l->alarm_at == TIME_NEVER)
        return err_set(err, E_TOO_SLOW, "no answer within %lld s, %u connections wait",
                       (long long)(LOAD_PATIENCE_US / US_PER_S), l->busy);
    for (int i = 0; i < n && !l->stopped; i++) {
        enum err_code code = serve_event(l, &events[i], err);

        if (code != E_OK)
            return code;
    }
    l->now_at = clock_mono_us();
    return l->now_at >= l->alarm_at ? ring_alarm(l, err) : E_OK;
}

static enum err_code open_conn(struct load *l, struct load_conn *c, struct err *err)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};
    enum err_code code = l->protocol->open(c, err);

    if (code == E_OK && c->fd < 0)
        code = connect_to(load_address_of(c), &c->fd, err);
    if (code != E_OK)
        return code;
    if (fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK) < 0 ||
        epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, c->fd, &ev) < 0)
        return err_errno(err, E_INTERNAL, "watch connection %u", c->index);
    return E_OK;
}

static enum err_code open_all(struct load *l, struct err *err)
{
    for (unsigned i = 0; i < l->plan->connections; i++) {
        struct load_conn *c = &l->conns[i];

        *c = (struct load_conn){.fd = -1,
                                .index = i,
                                .plan = l->plan,
                                .in = BUF_INIT(LOAD_BUFFER_MAX),
                                .out = BUF_INIT(LOAD_BUFFER_MAX)};
    }
    for (unsigned i = 0; i < l->plan->connections; i++) {
        enum err_code code = open_conn(l, &l->conns[i], err);

        if (code != E_OK)
            return err_wrap(err, "connection %u", i);
    }
    return E_OK;
}

static enum err_code work(struct load *l, struct err *err)
{
    enum err_code code = E_OK;

    l->now_at = clock_mono_us();
    l->count_from_at = l->now_at + l->plan->warm_us;
    l->until_at = l->count_from_at + l->plan->run_us;
    l->last_at = l->count_from_at;
    l->busy = l->plan->connections;
    for (unsigned i = 0; i < l->plan->connections && code == E_OK; i++) {
        load_workload_start(l, &l->conns[i]);
        code = flush(l, &l->conns[i], err);
    }
    while (code == E_OK && l->busy > 0 && !l->stopped)
        code = step(l, err);
    return code;
}

static int64_t cpu_us(void)
{
    struct rusage u;

    ASSERT(getrusage(RUSAGE_SELF, &u) == 0);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * US_PER_S + u.ru_utime.tv_usec +
           u.ru_stime.tv_usec;
}

static enum err_code check_plan(const struct load_plan *p, struct err *err)
{
    if (p->connections < 1 || p->connections > LOAD_CONNECTIONS_MAX)
        return err_set(err, E_INVALID, "connections: 1 to %d", LOAD_CONNECTIONS_MAX);
    if (p->servers < 1 || p->servers > LOAD_SERVERS_MAX)
        return err_set(err, E_INVALID, "servers: 1 to %d", LOAD_SERVERS_MAX);
    if (p->batch < 1 || p->batch > LOAD_BATCH_MAX)
        return err_set(err, E_INVALID, "batch: 1 to %d", LOAD_BATCH_MAX);
    if (p->kind == LOAD_LATENCY && p->connections != 2)
        return err_set(err, E_INVALID, "latency needs 2 connections, a claimer and a submitter");
    return E_OK;
}

enum err_code load_run(const struct load_protocol *protocol, const struct load_plan *plan,
                       struct load_report *ret_report, struct err *err)
{
    CLEANUP(mem) struct load_report *report = mem_zalloc(sizeof(*report));
    struct load l = {.protocol = protocol, .plan = plan, .report = report, .alarm_at = TIME_NEVER};
    enum err_code code = check_plan(plan, err);

    if (code != E_OK)
        return code;
    l.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (l.epoll_fd < 0)
        return err_errno(err, E_INTERNAL, "epoll_create1");
    l.conns = mem_zalloc(plan->connections * sizeof(*l.conns));
    int64_t cpu_before = cpu_us();

    code = open_all(&l, err);
    if (code == E_OK)
        code = work(&l, err);
    for (unsigned i = 0; i < l.plan->connections; i++) {
        struct load_conn *c = &l.conns[i];

        l.protocol->close(c);
        if (c->fd >= 0)
            close(c->fd);
        buf_deinit(&c->in);
        buf_deinit(&c->out);
    }
    free(l.conns);
    close(l.epoll_fd);
    if (code != E_OK)
        return code;
    report->cpu_us = cpu_us() - cpu_before;
    report->elapsed_us = (l.now_at >= l.until_at ? l.until_at : l.last_at) - l.count_from_at;
    *ret_report = *report;
    return E_OK;
}
