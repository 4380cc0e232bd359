/* SPDX-License-Identifier: MIT */
#include "worker/run/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { READ_SIZE = 64 << 10, READS_A_TURN = 4, EVENTS_MAX = 64 };

/* All pipes are in one epoll set, which the loop watches as one descriptor: a libuv handle for
 * each pipe would cost a dozen system calls per program. */
struct channels {
    uv_poll_t poll;
    int epoll_fd;
    struct epoll_event events[EVENTS_MAX]; /* being handled */
    int n_events;
};

/* A pipe that is read. */
struct side {
    struct channel *channel;
    channel_data_fn *on_data;
    int fd; /* -1: closed */
    bool watched;
    bool ended;
    bool paused;
};

struct channel {
    struct channels *all;
    struct side out, errors, words;
    int replies;
    struct channel_ends ends;
    void *ctx;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_ends(struct channel *c)
{
    close_fd(&c->ends.out);
    close_fd(&c->ends.errors);
    close_fd(&c->ends.words);
    close_fd(&c->ends.replies);
}

/* ---- reading ---- */

/* Reads a few times; true when there may be more. */
static bool read_some(struct side *s, int turns)
{
    static char data[READ_SIZE]; /* one thread */

    for (; turns > 0 && s->fd >= 0 && !s->ended && !s->paused; turns--) {
        ssize_t n = read(s->fd, data, sizeof(data));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n <= 0) {
            s->ended = true;
            return false;
        }
        s->on_data(s->channel->ctx, slice_make(data, (size_t)n));
        if ((size_t)n < sizeof(data))
            return true; /* probably all: another event costs less than another read */
    }
    return true;
}

static void watch(struct side *s)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = s};

    if (s->watched || s->fd < 0)
        return;
    ASSERT(epoll_ctl(s->channel->all->epoll_fd, EPOLL_CTL_ADD, s->fd, &event) == 0);
    s->watched = true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct channels *all = poll->data;

    (void)status;
    (void)events;
    all->n_events = epoll_wait(all->epoll_fd, all->events, EVENTS_MAX, 0);
    for (int i = 0; i < all->n_events; i++) {
        struct side *s = all->events[i].data.ptr;

        if (s == NULL)
            continue; /* closed by an earlier event */
        all->events[i].data.ptr = NULL;
        read_some(s, READS_A_TURN);
        if (s->ended || s->paused) {
            if (s->watched)
                epoll_ctl(s->channel->all->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
            s->watched = false;
        }
    }
    all->n_events = 0;
}

/* ---- all of them ---- */

enum err_code channels_open(uv_loop_t *loop, struct channels **ret_channels, struct err *err)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd < 0)
        return err_errno(err, E_UNAVAILABLE, "cannot watch pipes");
    struct channels *all = mem_zalloc(sizeof(*all));

    all->epoll_fd = fd;
    ASSERT(uv_poll_init(loop, &all->poll, fd) == 0);
    all->poll.data = all;
    uv_poll_start(&all->poll, UV_READABLE, on_readable);
    *ret_channels = all;
    return E_OK;
}

static void on_closed(uv_handle_t *handle)
{
    struct channels *all = handle->data;

    close_fd(&all->epoll_fd);
    free(all);
}

void channels_close(struct channels *all)
{
    if (all != NULL)
        uv_close((uv_handle_t *)&all->poll, on_closed);
}

/* ---- life ---- */

/* Our end is non-blocking, the program's is not. */
static bool make_pipe(int *ours, int *theirs, int ours_is)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return false;
    *ours = fds[ours_is];
    *theirs = fds[1 - ours_is];
    return fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

enum err_code channel_open(struct channels *all, const struct channel_config *config,
                           struct channel **ret_channel, struct err *err)
{
    struct channel *c = mem_zalloc(sizeof(*c));

    *c = (struct channel){.all = all,
                          .out = {.fd = -1, .on_data = config->on_output},
                          .errors = {.fd = -1, .on_data = config->on_errors},
                          .words = {.fd = -1, .on_data = config->on_words},
                          .replies = -1,
                          .ends = {-1, -1, -1, -1},
                          .ctx = config->ctx};
    if (!make_pipe(&c->out.fd, &c->ends.out, 0) || !make_pipe(&c->words.fd, &c->ends.words, 0) ||
        !make_pipe(&c->replies, &c->ends.replies, 1) ||
        (config->on_errors != NULL && !make_pipe(&c->errors.fd, &c->ends.errors, 0))) {
        err_errno(err, E_UNAVAILABLE, "cannot make a pipe");
        close_ends(c);
        close_fd(&c->out.fd);
        close_fd(&c->errors.fd);
        close_fd(&c->words.fd);
        close_fd(&c->replies);
        free(c);
        return err->code;
    }
    c->out.channel = c->errors.channel = c->words.channel = c;
    *ret_channel = c;
    return E_OK;
}

struct channel_ends channel_ends(const struct channel *c)
{
    return c->ends;
}

void channel_begin(struct channel *c)
{
    close_ends(c);
    watch(&c->out);
    watch(&c->errors);
    watch(&c->words);
}

/* A full pipe needs fewer reads; more means that somebody goes on writing. */
enum { DRAIN_READS = 64 };

static void drain(struct side *s)
{
    s->paused = false;
    for (int i = 0; i < DRAIN_READS && read_some(s, 1) && !s->ended; i++)
        ;
}

void channel_drain(struct channel *c)
{
    drain(&c->words);
    drain(&c->out);
    drain(&c->errors);
}

void channel_drain_output(struct channel *c)
{
    drain(&c->out);
}

void channel_pause_words(struct channel *c, bool paused)
{
    if (c->words.paused == paused || c->words.ended)
        return;
    c->words.paused = paused;
    if (!paused)
        watch(&c->words);
}

void channel_reply(struct channel *c, struct slice lines)
{
    while (lines.size > 0 && c->replies >= 0) {
        const char *end = memchr(lines.data, '\n', lines.size);
        size_t size = end == NULL ? lines.size : (size_t)(end - lines.data) + 1;

        if (size <= PIPE_BUF && write(c->replies, lines.data, size) < 0 && errno == EPIPE)
            close_fd(&c->replies);
        lines = slice_make(lines.data + size, lines.size - size);
    }
}

static void side_close(struct side *s)
{
    /* Drops the pipe's events from those being handled. */
    struct channels *all = s->channel->all;

    for (int i = 0; i < all->n_events; i++)
        if (all->events[i].data.ptr == s)
            all->events[i].data.ptr = NULL;
    close_fd(&s->fd); /* this also removes it from the epoll set */
}

void channel_close(struct channel *c)
{
    if (c == NULL)
        return;
    close_ends(c);
    close_fd(&c->replies);
    side_close(&c->out);
    side_close(&c->errors);
    side_close(&c->words);
    free(c);
}
