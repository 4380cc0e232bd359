/* SPDX-License-Identifier: MIT */
#include "server/peers.h"

#include <errno.h>
#include <stdlib.h>

#include <sys/socket.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "server/limits.h"

void peers_init(struct peers *ps)
{
    ps->head = (struct peer){.next = &ps->head, .prev = &ps->head, .deadline_at = TIME_NEVER};
    ps->look_at = TIME_NEVER;
}

struct peer *peer_new(struct peers *ps, struct port *port, int fd, int64_t deadline_at)
{
    struct peer *p = mem_zalloc(sizeof(*p));

    p->port = port;
    p->fd = fd;
    p->next = &ps->head;
    p->prev = ps->head.prev;
    p->prev->next = p;
    ps->head.prev = p;
    peer_set_deadline(ps, p, deadline_at);
    return p;
}

void peer_free(struct peer *p)
{
    if (p == NULL)
        return;
    p->next->prev = p->prev;
    p->prev->next = p->next;
    free(p);
}

int64_t peer_pace(int64_t begun_at, size_t size)
{
    return begun_at + STALL_US + (int64_t)(size / RATE_MIN) * US_PER_S;
}

bool peer_is_alive(const struct peer *p)
{
    char byte;
    ssize_t n = recv(p->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void peer_cut_off(struct peer *p)
{
    (void)shutdown(p->fd, SHUT_RDWR);
}

void peers_look(struct peers *ps, int64_t now_at)
{
    int64_t earliest_at = TIME_NEVER;

    if (now_at < ps->look_at)
        return;
    for (struct peer *p = ps->head.next; p != &ps->head; p = p->next) {
        if (p->deadline_at <= now_at) {
            p->deadline_at = TIME_NEVER;
            peer_cut_off(p);
        }
        if (p->deadline_at < earliest_at)
            earliest_at = p->deadline_at;
    }
    ps->look_at = earliest_at;
}
