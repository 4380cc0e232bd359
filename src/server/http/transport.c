/* SPDX-License-Identifier: MIT */
#include "server/http/transport.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static ssize_t plain_recv(struct channel *ch, void *to, size_t size)
{
    ssize_t n;

    do
        n = recv(ch->fd, to, size, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Most replies are one part: send is cheaper than sendmsg. */
static ssize_t plain_send(struct channel *ch, const struct iovec *parts, size_t n_parts)
{
    /* msg_iov is not const, but what it points to is only read. */
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = n_parts};
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    ssize_t n;

    do
        n = n_parts == 1 ? send(ch->fd, parts[0].iov_base, parts[0].iov_len, flags)
                         : sendmsg(ch->fd, &message, flags);
    while (n < 0 && errno == EINTR);
    return n;
}

static size_t plain_queued(const struct channel *ch)
{
    int queued = 0;

    return ioctl(ch->fd, SIOCOUTQ, &queued) < 0 || queued < 0 ? 0 : (size_t)queued;
}

static void plain_finish(struct channel *ch)
{
    (void)shutdown(ch->fd, SHUT_WR);
}

static void plain_close(struct channel *ch)
{
    close(ch->fd);
}

const struct transport transport_plain = {
    .recv = plain_recv,
    .send = plain_send,
    .queued = plain_queued,
    .finish = plain_finish,
    .close = plain_close,
};
