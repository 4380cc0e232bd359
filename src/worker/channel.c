/* SPDX-License-Identifier: MIT */
#include "worker/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { READ_SIZE = 64 << 10, READS_A_TURN = 4 };

/* One side that is read. */
struct side {
    uv_poll_t poll;
    struct channel *channel;
    channel_data_fn *on_data;
    int fd; /* -1: closed */
    bool ended;
    bool paused;
};

struct channel {
    struct side out, words;
    int replies;
    struct channel_ends ends;
    void *ctx;
    int handles; /* of the loop */
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
    close_fd(&c->ends.words);
    close_fd(&c->ends.replies);
}

/* ---- reading ---- */

/* Reads a little; true when there may be more. */
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
            return true; /* mostly that was all: the next look costs less than asking again */
    }
    return true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct side *s = poll->data;

    (void)status;
    (void)events;
    read_some(s, READS_A_TURN);
    if (s->ended || s->paused)
        uv_poll_stop(&s->poll);
}

static void watch(uv_loop_t *loop, struct channel *c, struct side *s)
{
    s->channel = c;
    s->poll.data = s;
    ASSERT(uv_poll_init(loop, &s->poll, s->fd) == 0);
    c->handles++;
}

/* ---- life ---- */

/* Our end does not block, the program's does. */
static bool make_pipe(int *ours, int *theirs, int ours_is)
{
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return false;
    *ours = fds[ours_is];
    *theirs = fds[1 - ours_is];
    return fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

enum err_code channel_open(uv_loop_t *loop, const struct channel_config *config,
                           struct channel **ret_channel, struct err *err)
{
    struct channel *c = mem_zalloc(sizeof(*c));

    *c = (struct channel){.out = {.fd = -1, .on_data = config->on_output},
                          .words = {.fd = -1, .on_data = config->on_words},
                          .replies = -1,
                          .ends = {-1, -1, -1},
                          .ctx = config->ctx};
    if (!make_pipe(&c->out.fd, &c->ends.out, 0) || !make_pipe(&c->words.fd, &c->ends.words, 0) ||
        !make_pipe(&c->replies, &c->ends.replies, 1)) {
        err_errno(err, E_UNAVAILABLE, "cannot make a pipe");
        close_ends(c);
        close_fd(&c->out.fd);
        close_fd(&c->words.fd);
        close_fd(&c->replies);
        free(c);
        return err->code;
    }
    watch(loop, c, &c->out);
    watch(loop, c, &c->words);
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
    uv_poll_start(&c->out.poll, UV_READABLE, on_readable);
    uv_poll_start(&c->words.poll, UV_READABLE, on_readable);
}

/* A pipe holds no more than that, unless somebody goes on writing. */
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
        uv_poll_start(&c->words.poll, UV_READABLE, on_readable);
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

static void on_closed(uv_handle_t *handle)
{
    struct side *s = handle->data;
    struct channel *c = s->channel;

    close_fd(&s->fd);
    if (--c->handles == 0)
        free(c);
}

void channel_close(struct channel *c)
{
    if (c == NULL)
        return;
    close_ends(c);
    close_fd(&c->replies);
    c->out.ended = c->words.ended = true;
    uv_close((uv_handle_t *)&c->out.poll, on_closed);
    uv_close((uv_handle_t *)&c->words.poll, on_closed);
}
