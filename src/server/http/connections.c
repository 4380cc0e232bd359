/* SPDX-License-Identifier: MIT */
#include "server/http/connections.h"

#include "base/clock.h"
#include "base/os/log.h"
#include "server/limits.h"
#include "server/process/server_state.h"

void connections_init(struct connections *cs)
{
    *cs = (struct connections){.look_at = TIME_NEVER};
    cs->head.next = cs->head.prev = &cs->head;
    cs->ready_end = &cs->ready;
}

void connections_add(struct connections *cs, struct connection *c)
{
    c->next = &cs->head;
    c->prev = cs->head.prev;
    c->prev->next = c;
    cs->head.prev = c;
}

void connections_remove(struct connections *cs, struct connection *c)
{
    cs->unsent -= c->unsent;
    cs->delayed -= c->is_delayed;
    c->next->prev = c->prev;
    c->prev->next = c->next;
}

void connection_wake(struct connection *c)
{
    struct connections *cs = &c->port->http->connections;

    if (c->is_ready)
        return;
    c->is_ready = true;
    c->next_ready = NULL;
    *cs->ready_end = c;
    cs->ready_end = &c->next_ready;
}

void connections_work(struct connections *cs)
{
    struct connection *c = cs->ready;

    cs->ready = NULL;
    cs->ready_end = &cs->ready;
    while (c != NULL) {
        struct connection *next = c->next_ready;

        c->is_ready = false;
        connection_work(c);
        c = next;
    }
}

bool connection_delay(struct connections *cs, struct connection *c, int64_t until_at)
{
    if (cs->delayed >= c->port->connections_max / DELAYED_SHARE)
        return false;
    cs->delayed++;
    c->is_delayed = true;
    connection_set_deadline(cs, c, until_at);
    return true;
}

static void end(struct connection *c)
{
    c->is_over = true;
    connection_wake(c);
}

void connections_look(struct connections *cs, int64_t now_at)
{
    int64_t earliest_at = TIME_NEVER;

    if (now_at < cs->look_at)
        return;
    for (struct connection *c = cs->head.next; c != &cs->head; c = c->next) {
        if (c->deadline_at <= now_at) {
            c->deadline_at = TIME_NEVER;
            if (c->is_delayed)
                connection_wake(c);
            else if (!connection_has_time(c))
                end(c);
            cs->delayed -= c->is_delayed;
            c->is_delayed = false;
        }
        if (c->deadline_at < earliest_at)
            earliest_at = c->deadline_at;
    }
    cs->look_at = earliest_at;
}

/* ---- what is left unread ---- */

/* Closes the connections that have moved least recently. */
static void shed(struct connections *cs)
{
    while (cs->unsent > UNSENT_MAX) {
        struct connection *c = NULL;

        for (struct connection *other = cs->head.next; other != &cs->head; other = other->next)
            if (other->unsent > 0 && (c == NULL || other->pace.moved_at < c->pace.moved_at))
                c = other;
        ASSERT(c != NULL); /* somebody has left unread what is counted */
        int64_t now_at = c->port->http->now_at;

        if (now_at - cs->shed_told_at >= US_PER_S) {
            cs->shed_told_at = now_at;
            log_warn("clients leave %zu MiB of replies unread: closing the connection that was "
                     "idle for longest",
                     cs->unsent >> 20);
        }
        cs->unsent -= c->unsent;
        c->unsent = 0;
        end(c);
    }
}

void connection_count_unsent(struct connections *cs, struct connection *c, size_t size)
{
    cs->unsent += size - c->unsent;
    c->unsent = size;
    if (cs->unsent > UNSENT_MAX)
        shed(cs);
}
