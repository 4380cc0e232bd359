/*
 * How a server stops.
 *
 * The local worker is told first, and everybody is served as before until it has handed
 * in what it runs; then no new connections; running requests are finished; waiting claims and
 * waits are answered by the engine as it closes; streams end; the store is checkpointed.  All of
 * it together may not take longer than stop_seconds(): an alarm ends the process then, and so does
 * a second signal.  What was promised is on disk by then in any case.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/signalfd.h>

#include "base/clock.h"
#include "base/os/log.h"
#include "server/limits.h"
#include "server/process/life.h"
#include "server/process/notify.h"
#include "server/process/reload.h"
#include "server/request/request.h"
#include "store/shared.h"
#include "store/store.h"

/* ---- signals ---- */

static void exit_at_once(int signal_number)
{
    (void)signal_number;
    _exit(1);
}

/* The time that a stop may take. */
static unsigned stop_seconds(const struct server *s)
{
    return s->config->slots > 0 ? WORKER_GRACE_S + 2 : STOP_SECONDS_MAX;
}

/* From now on TERM and INT end the process, and so does the alarm. */
static void begin_to_stop(struct server *s)
{
    struct sigaction at_once = {.sa_handler = exit_at_once};
    sigset_t set;

    if (s->is_stopping)
        return;
    s->is_stopping = true;
    s->stop_by_at = clock_mono_us() + stop_seconds(s) * US_PER_S;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaction(SIGTERM, &at_once, NULL);
    sigaction(SIGINT, &at_once, NULL);
    sigaction(SIGALRM, &at_once, NULL);
    alarm(stop_seconds(s));
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void life_store_broke(struct delivery *d)
{
    struct sync_thread *sync = (struct sync_thread *)((char *)d -
                                                      offsetof(struct sync_thread, broken));
    struct server *s = (struct server *)((char *)sync - offsetof(struct server, sync));

    log_error("%s", sync->err.msg);
    s->sync_broke = true;
    if (!s->is_stopping)
        begin_to_stop(s);
}

static void signals_ready(struct watch *w, uint32_t events)
{
    struct life *life = (struct life *)((char *)w - offsetof(struct life, signals));
    struct signalfd_siginfo info;

    (void)events;
    while (read(w->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo != SIGHUP) {
            begin_to_stop(life->server);
            store_stop_waiting(life->store);
        } else if (!life->server->is_stopping) {
            definitions_reload(life->server);
        }
    }
}

enum err_code life_open_signals(struct life *life, struct err *err)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigaction(SIGPIPE, &ignore, NULL);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    life->signals.ready = signals_ready;
    life->signals.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (life->signals.fd < 0)
        return err_errno(err, E_INTERNAL, "listen for signals");
    return E_OK;
}

/* ---- stopping ---- */

/* Claims and waits are answered when the engine closes. */
static size_t running_requests(const struct server *s)
{
    size_t waiting = (size_t)atomic_load(&s->engine.stats->waiting);

    return s->http.requests > waiting ? s->http.requests - waiting : 0;
}

static size_t all_requests(const struct server *s)
{
    return s->http.requests;
}

static size_t workers(const struct server *s)
{
    return s->worker.pid > 0;
}

/* Leaves time for the steps that follow. */
static void pass_until(struct server *s, int64_t until_at, size_t (*left)(const struct server *s))
{
    if (until_at > s->stop_by_at - STOP_SPARE_US)
        until_at = s->stop_by_at - STOP_SPARE_US;
    while (left(s) > 0 && s->http.now_at < until_at)
        http_pass(&s->http, until_at);
}

static void stop_news(struct life *life)
{
    if (life->has_news)
        news_thread_stop(&life->server->news);
    life->has_news = false;
}

void life_stop(struct life *life)
{
    struct server *s = life->server;
    struct http *h = &s->http;

    notify_send("STOPPING=1");
    /* Its last finishes come in while it stops.  One that takes too long is cut off, and killed in
     * the end. */
    int64_t grace_over_at = clock_mono_us() + WORKER_GRACE_S * US_PER_S;

    worker_child_stop(&s->worker);
    pass_until(s, grace_over_at + WORKER_HAND_BACK_US, workers);
    worker_child_cut(&s->worker);
    pass_until(s, grace_over_at + 2 * WORKER_HAND_BACK_US, workers);
    worker_child_deinit(&s->worker);
    http_stop_listening(h);
    events_stop(&s->events);
    log_follow_stop(&s->follow);
    /* Clients that wait for a chore get an error; the chore continues. */
    struct chore *c = s->chores.running;
    struct request *r = c == NULL ? NULL : c->request;

    if (r != NULL) {
        c->request = NULL;
        (void)err_set(&r->err, E_UNAVAILABLE, "the server is stopping");
        request_answer(r, 0);
        request_wake(r);
    }
    pass_until(s, clock_mono_us() + STOP_US / 2, running_requests);
    h->no_changes = true;
    stop_news(life);
    engine_thread_stop(&s->engine);
    pass_until(s, clock_mono_us() + STOP_US / 2, all_requests);
}

void life_close(struct life *life)
{
    struct server *s = life->server;

    stop_news(life);
    if (life->has_engine_thread) {
        engine_thread_stop(&s->engine);
        engine_thread_join(&s->engine);
    } else if (life->engine != NULL) {
        engine_close(life->engine);
    }
    s->http.no_readings = true;
    if (life->has_readers)
        readers_stop(&s->readers);
    if (life->has_sync)
        sync_thread_stop(&s->sync);
    store_close(life->store); /* the last to close folds the log in and removes it */
    if (life->has_http) {
        http_pass(&s->http, 0);
        http_close(&s->http);
    }
    listeners_close(&life->listeners);
    if (life->made_socket)
        (void)unlinkat(life->dir.fd, SERVER_SOCKET_NAME, 0);
    own_dir_close(&life->dir);
    if (life->signals.fd >= 0)
        close(life->signals.fd);
    definitions_deinit(&life->definitions);
    settings_deinit(&life->settings);
    if (s->chores.running != NULL)
        return; /* it ends with the process: its memory must stay until then */
    if (life->has_http)
        http_deinit(&s->http);
    triggers_deinit(&s->triggers);
    arena_deinit(&s->arena);
    free(s);
}
