/* SPDX-License-Identifier: MIT */
#include "server/peers.h"

#include <errno.h>
#include <stdlib.h>

#include <sys/socket.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "server/limits.h"
#include "server/request.h"

void peers_init(struct peers *ps)
{
    ps->head = (struct peer){.next = &ps->head, .prev = &ps->head, .deadline_at = TIME_NEVER};
    ps->look_at = TIME_NEVER;
    ps->hung = NULL;
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

static void forget_hung(struct peers *ps, const struct peer *p)
{
    for (struct peer **at = &ps->hung; *at != NULL; at = &(*at)->next_hung)
        if (*at == p) {
            *at = p->next_hung;
            return;
        }
}

void peer_free(struct peers *ps, struct peer *p)
{
    if (p == NULL)
        return;
    forget_hung(ps, p);
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

void peer_hung_up(struct peers *ps, struct peer *p)
{
    p->half_closed = true;
    forget_hung(ps, p);
    p->next_hung = ps->hung;
    ps->hung = p;
}

bool peers_judge_hung(struct peers *ps)
{
    bool waits = false;

    while (ps->hung != NULL) {
        struct peer *p = ps->hung;
        bool reading = p->request == NULL || p->request->phase == REQUEST_BODY;

        ps->hung = p->next_hung;
        if (reading && !peer_is_alive(p))
            peer_cut_off(p);
        waits |= !reading && p->request->phase == REQUEST_WORKING;
    }
    return waits;
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
