/* SPDX-License-Identifier: MIT */
#include "each/show/out.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cli/view/output.h"

#define DATA_MAX ((size_t)512 << 20)
#define FILE_PIECE ((size_t)1 << 20)

static void on_prepare(uv_prepare_t *prepare);

/* A descriptor of ours that is readable when `fd` is writable: the loop may set its flags. */
static enum err_code watch_fd(struct each_out *o, uv_loop_t *loop, struct err *err)
{
    struct epoll_event event = {.events = EPOLLOUT};

    o->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (o->poll_fd < 0)
        return err_errno(err, E_INTERNAL, "watch the output");
    if (epoll_ctl(o->poll_fd, EPOLL_CTL_ADD, o->fd, &event) < 0) {
        close(o->poll_fd); /* a file */
        o->poll_fd = -1;
        return E_OK;
    }
    uv_poll_init(loop, &o->poll, o->poll_fd);
    o->poll.data = o;
    return E_OK;
}

enum err_code each_out_init(struct each_out *o, uv_loop_t *loop, int fd,
                            struct each_printed *printed_lines, const struct each_out_hooks *hooks,
                            struct err *err)
{
    *o = (struct each_out){.fd = fd,
                           .printed_lines = printed_lines,
                           .hooks = *hooks,
                           .data = BUF_INIT(DATA_MAX),
                           .kind = SAFE_EXACT,
                           .last = '\n'};
    if (watch_fd(o, loop, err) != E_OK)
        return err->code;
    uv_prepare_init(loop, &o->prepare);
    o->prepare.data = o;
    return E_OK;
}

void each_out_close(struct each_out *o)
{
    uv_close((uv_handle_t *)&o->prepare, NULL);
    if (o->poll_fd >= 0)
        uv_close((uv_handle_t *)&o->poll, NULL);
}

void each_out_deinit(struct each_out *o)
{
    if (o->poll_fd >= 0)
        close(o->poll_fd);
    buf_deinit(&o->data);
    VEC_DEINIT(&o->lines);
}

/* ---- writing ---- */

static bool is_out(const struct each_out *o, uint64_t end)
{
    return o->failed ? o->is_optional : end <= o->before + o->written;
}

/* Of a line with two outputs the one that is out last sets the mark. */
static void mark_lines(struct each_out *o)
{
    for (; o->lines_out < o->lines.count; o->lines_out++) {
        const struct each_out_line *l = &o->lines.items[o->lines_out];

        if (!is_out(o, l->end))
            break;
        if (is_out(l->other, l->other_end))
            each_printed_set(o->printed_lines, l->line);
    }
    if (o->written < o->data.size)
        return;
    o->before += o->written;
    o->written = 0;
    buf_clear(&o->data);
    VEC_CLEAR(&o->lines);
    o->lines_out = 0;
}

static void fail(struct each_out *o, int fault)
{
    o->failed = true;
    o->written = o->data.size;
    uv_prepare_stop(&o->prepare);
    if (o->poll_fd >= 0)
        uv_poll_stop(&o->poll);
    mark_lines(o);
    o->hooks.on_fail(o->hooks.ctx, fault);
}

/* How much can be written now without waiting; a pipe that can take anything takes PIPE_BUF. */
static size_t room(const struct each_out *o)
{
    struct pollfd p = {.fd = o->fd, .events = POLLOUT};
    size_t pending = each_out_pending(o);
    size_t most = o->poll_fd < 0 ? FILE_PIECE : PIPE_BUF;

    if (o->poll_fd >= 0 && poll(&p, 1, 0) != 1)
        return 0;
    return pending < most ? pending : most;
}

static void on_writable(uv_poll_t *poll_handle, int status, int events)
{
    struct each_out *o = poll_handle->data;

    (void)status;
    (void)events;
    uv_poll_stop(poll_handle);
    uv_prepare_start(&o->prepare, on_prepare);
}

/* Writes as much as possible; false when the descriptor is full. */
static bool write_some(struct each_out *o)
{
    size_t size = 0;

    while (each_out_pending(o) > 0 && (size = room(o)) > 0) {
        ssize_t n = write(o->fd, o->data.data + o->written, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN) {
            fail(o, errno);
            return false;
        }
        if (n <= 0)
            return false;
        o->written += (size_t)n;
        o->last = o->data.data[o->written - 1];
    }
    return each_out_pending(o) == 0;
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct each_out *o = prepare->data;

    uv_prepare_stop(prepare);
    if (o->failed)
        return;
    o->hooks.before_write(o->hooks.ctx);
    bool all = write_some(o);

    if (o->failed)
        return;
    mark_lines(o);
    if (all)
        o->hooks.on_room(o->hooks.ctx);
    else if (o->poll_fd >= 0)
        uv_poll_start(&o->poll, UV_READABLE, on_writable);
    else
        uv_prepare_start(prepare, on_prepare);
}

static void add_text(struct each_out *o, struct slice text)
{
    bool was_idle = each_out_pending(o) == 0;

    if (o->failed || text.size == 0)
        return;
    /* By itself: what an output leaves open ends with it. */
    struct safe safe = {.kind = o->kind};

    safe_add(&safe, text, &o->data);
    safe_end(&safe, &o->data);
    if (was_idle)
        uv_prepare_start(&o->prepare, on_prepare);
}

static uint64_t end_of(const struct each_out *o)
{
    return o->before + o->data.size;
}

void each_out_add(struct each_out *out, struct each_out *errors, int64_t line,
                  const struct each_output *output)
{
    if (out->failed)
        return;
    add_text(out, output->out);
    add_text(errors, output->errors);
    uint64_t end = end_of(out);
    uint64_t errors_end = output->errors.size > 0 ? end_of(errors) : 0;
    bool waits = !is_out(out, end);
    bool errors_wait = out != errors && !is_out(errors, errors_end);

    if (waits)
        VEC_PUSH(&out->lines, ((struct each_out_line){line, end, errors, errors_end}));
    if (errors_wait)
        VEC_PUSH(&errors->lines, ((struct each_out_line){line, errors_end, out, end}));
    if (!waits && !errors_wait)
        each_printed_set(out->printed_lines, line);
}
