/* SPDX-License-Identifier: MIT */
#include "server/process/heartbeat.h"

#include <sys/socket.h>

enum { LOOKS_A_LIMIT = 4, ANSWERS_AT_ONCE = 64 };

void heartbeat_begin(struct heartbeat *p, int fd, int64_t limit_us, int64_t now_at)
{
    *p = (struct heartbeat){.fd = fd, .limit_us = limit_us, .look_at = now_at, .heard_at = now_at};
}

bool heartbeat_look(struct heartbeat *p, int64_t now_at)
{
    int64_t between_us = p->limit_us / LOOKS_A_LIMIT;
    bool is_late = now_at - p->look_at > between_us;
    char answers[ANSWERS_AT_ONCE];

    p->look_at = now_at + between_us;
    if (p->asked_at != 0 && recv(p->fd, answers, sizeof(answers), MSG_DONTWAIT) > 0) {
        p->heard_at = now_at;
        p->asked_at = 0;
    }
    /* An open question is not repeated: a worker that is stopped for days must not fill the
     * socket. */
    if (p->asked_at == 0 ? send(p->fd, "?", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1 : is_late)
        p->asked_at = now_at;
    return p->asked_at == 0 || now_at - p->asked_at < p->limit_us;
}
