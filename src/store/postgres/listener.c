/*
 * News: a connection that only listens, on the channel of the schema.
 */
/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "store/postgres/errors.h"
#include "store/postgres/postgres.h"

enum { LISTEN_MAX = 200 };

struct db_listener {
    struct pg_link link;
};

enum err_code pg_listener_open(const struct db_config *config, struct db_listener **ret_listener,
                               struct err *err)
{
    struct db_listener *l = mem_zalloc(sizeof(*l));

    (void)err;
    pg_link_init(&l->link, config->url, &(struct pg_session){.read_only = false});
    *ret_listener = l;
    return E_OK;
}

void pg_listener_close(struct db_listener *l)
{
    if (l == NULL)
        return;
    pg_link_deinit(&l->link);
    free(l);
}

static bool exec_ok(PGconn *conn, const char *text, ExecStatusType wanted, struct buf *answer)
{
    PGresult *result = PQexec(conn, text);
    bool ok = PQresultStatus(result) == wanted;

    if (ok && answer != NULL)
        buf_add_str(answer, PQgetvalue(result, 0, 0));
    PQclear(result);
    return ok;
}

/* The statement is put together by the server: it knows the schema, and how names are quoted. */
static bool start_listening(struct db_listener *l)
{
    CLEANUP(buf) struct buf listen = BUF_INIT(LISTEN_MAX);

    if (exec_ok(l->link.conn, "SELECT 'LISTEN ' || quote_ident('waybill.' || current_schema())",
                PGRES_TUPLES_OK, &listen) &&
        exec_ok(l->link.conn, buf_text(&listen), PGRES_COMMAND_OK, NULL))
        return true;
    pg_link_drop(&l->link, PQerrorMessage(l->link.conn));
    return false;
}

/* True: it is time to look. */
static bool wait_for(int fd, int stop_fd, int timeout_ms)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};

    return poll(fds, ARRAY_LEN(fds), timeout_ms) > 0 && fds[0].revents != 0;
}

void pg_listener_wait(struct db_listener *l, const struct db_wait *wait)
{
    if (l->link.conn == NULL && pg_link_pause_us(&l->link) == 0) {
        struct err err = ERR_INIT;

        if (pg_link_up(&l->link, &err) == E_OK && start_listening(l))
            wait->on_news(wait->ctx, NULL); /* news may have been missed meanwhile */
        if (l->link.conn != NULL)
            return;
    }
    if (l->link.conn == NULL) {
        int64_t pause_ms = (pg_link_pause_us(&l->link) + US_PER_MS - 1) / US_PER_MS;
        bool is_short = wait->timeout_ms >= 0 && wait->timeout_ms < pause_ms;

        (void)wait_for(-1, wait->stop_fd, is_short ? wait->timeout_ms : (int)pause_ms);
        return;
    }
    if (!wait_for(PQsocket(l->link.conn), wait->stop_fd, wait->timeout_ms))
        return;
    if (!PQconsumeInput(l->link.conn)) {
        pg_link_drop(&l->link, PQerrorMessage(l->link.conn));
        return;
    }
    for (PGnotify *n; (n = PQnotifies(l->link.conn)) != NULL; PQfreemem(n))
        wait->on_news(wait->ctx, n->extra);
}
