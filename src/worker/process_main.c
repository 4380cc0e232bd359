/*
 * A worker with its own loop: the process `waybill worker`.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>

#include <sys/socket.h>

#include "base/os/log.h"
#include "worker/worker.h"

struct life {
    uv_loop_t loop;
    uv_signal_t term, interrupt;
    uv_poll_t parent;
    bool has_parent;
    int asked; /* number of requests to end */
    struct worker *worker;
};

static void close_handle(uv_handle_t *handle, void *ctx)
{
    (void)ctx;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void on_stopped(void *ctx)
{
    struct life *l = ctx;

    worker_free(STEAL(l->worker));
    close_handle((uv_handle_t *)&l->term, NULL);
    close_handle((uv_handle_t *)&l->interrupt, NULL);
    if (l->has_parent)
        close_handle((uv_handle_t *)&l->parent, NULL);
}

static void on_end_signal(uv_signal_t *handle, int number)
{
    struct life *l = handle->data;

    (void)number;
    if (l->worker == NULL)
        return;
    if (l->asked++ == 0)
        worker_stop(l->worker);
    else
        worker_end_now(l->worker);
}

/* The parent checks that we are alive by bytes that are sent back.  False: it is gone. */
static bool answer_parent(int fd)
{
    char questions[64];
    ssize_t n = recv(fd, questions, sizeof(questions), MSG_DONTWAIT);

    if (n < 0 && errno == ENOTSOCK) /* a pipe: only its end means something */
        return false;
    if (n > 0)
        (void)send(fd, questions, (size_t)n, MSG_DONTWAIT | MSG_NOSIGNAL);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* The parent has sent bytes, or has closed its side. */
static void on_parent(uv_poll_t *poll, int status, int events)
{
    struct life *l = poll->data;
    int fd = -1;

    (void)events;
    if (status == 0 && uv_fileno((uv_handle_t *)poll, &fd) == 0 && answer_parent(fd))
        return;
    uv_poll_stop(poll);
    if (l->worker == NULL)
        return;
    log_warn("the server that started this worker is gone: ending");
    worker_abandon(l->worker);
}

enum err_code worker_run(const struct worker_config *config, int parent_fd, struct err *err)
{
    struct worker_config c = *config;
    struct life l = {.has_parent = false};

    c.hooks.ctx = &l;
    c.hooks.on_stopped = on_stopped;
    ASSERT(uv_loop_init(&l.loop) == 0);
    if (worker_new(&l.loop, &c, &l.worker, err) == E_OK) {
        uv_signal_init(&l.loop, &l.term);
        uv_signal_init(&l.loop, &l.interrupt);
        l.term.data = l.interrupt.data = l.parent.data = &l;
        uv_signal_start(&l.term, on_end_signal, SIGTERM);
        uv_signal_start(&l.interrupt, on_end_signal, SIGINT);
        if (parent_fd >= 0) {
            l.has_parent = uv_poll_init(&l.loop, &l.parent, parent_fd) == 0;
            if (l.has_parent)
                uv_poll_start(&l.parent, UV_READABLE | UV_DISCONNECT, on_parent);
        }
        uv_run(&l.loop, UV_RUN_DEFAULT);
    }
    uv_run(&l.loop, UV_RUN_NOWAIT);
    uv_loop_close(&l.loop);
    return err->code;
}
