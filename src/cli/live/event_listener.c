/* SPDX-License-Identifier: MIT */
#include "cli/live/event_listener.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <sys/eventfd.h>

#include "base/clock.h"

#define PAUSE_US US_PER_S

struct listener {
    struct client *client;
    int fd;
};

static void tell(const struct listener *l)
{
    const uint64_t one = 1;

    (void)!write(l->fd, &one, sizeof(one));
}

static bool on_data(void *ctx, struct slice data)
{
    if (data.size > 0 && data.data[0] != ':') /* not a mere sign of life */
        tell(ctx);
    return true;
}

static NORETURN void *listen_for_ever(void *arg)
{
    struct listener *l = arg;

    for (;;) {
        CLEANUP(client_reply) struct client_reply reply = CLIENT_REPLY_INIT;
        struct client_request r = {.path = "/v1/events", .on_data = on_data, .ctx = l};
        struct err err = ERR_INIT;

        enum err_code code = client_call(l->client, &r, &reply, &err);

        (void)code; /* unreachable server, or too many events: refresh in both cases */
        tell(l);
        usleep(PAUSE_US);
    }
}

static enum err_code start_thread(struct listener *l, struct err *err)
{
    pthread_t thread;
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    errno = pthread_create(&thread, NULL, listen_for_ever, l);
    int cause = errno;

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = cause;
    if (cause != 0)
        return err_errno(err, E_UNAVAILABLE, "start a thread");
    pthread_detach(thread);
    return E_OK;
}

enum err_code event_listener_start(const struct client_config *config, int *ret_fd, struct err *err)
{
    struct listener *l = mem_zalloc(sizeof(*l));

    l->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (l->fd < 0)
        (void)err_errno(err, E_UNAVAILABLE, "make an eventfd");
    if (l->fd < 0 || client_open(config, &l->client, err) != E_OK || start_thread(l, err) != E_OK) {
        client_close(l->client);
        if (l->fd >= 0)
            close(l->fd);
        free(l);
        return err->code;
    }
    *ret_fd = l->fd;
    return E_OK;
}

void event_listener_clear(int fd)
{
    uint64_t n = 0;

    (void)!read(fd, &n, sizeof(n));
}
