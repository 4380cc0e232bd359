/* SPDX-License-Identifier: MIT */
#include "run/watch.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/show/progress.h"

#define PAUSE_FIRST_US (20 * US_PER_MS)
#define PAUSE_MAX_US (250 * US_PER_MS)
#define PAUSE_WAITING_US US_PER_S

/* Counts may stand still for a moment while a commit follows the next or a worker starts. */
#define SETTLED_US (50 * US_PER_MS)
#define WAITING_US (300 * US_PER_MS)
#define STUCK_US (5 * US_PER_S)

/* While others run, the reasons of those that wait are only shown. */
#define WAITS_SHOWN_US US_PER_S

struct watch {
    const struct machine *m;
    const struct watch_options *o;
    struct progress_view view;
    struct look *look;
    int64_t pause_us;
    int64_t same_since_at; /* the counts have not changed since */
    int64_t waits_at;      /* when it was asked why jobs wait */
};

int watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        struct sigaction action;

        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&set, numbers[i]);
    }
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static bool is_same(const struct look *a, const struct look *b)
{
    return a->done == b->done && a->failed == b->failed && a->cancelled == b->cancelled &&
           a->dropped == b->dropped && a->waiting == b->waiting && a->running == b->running &&
           a->open_groups == b->open_groups;
}

/* A fresh look in place of the old one; with waits when nothing moves, or when they are shown. */
static enum err_code look_again(struct watch *w, int64_t now_at, struct err *err)
{
    struct look fresh = LOOK_INIT;

    if (look_take(&fresh, w->m, err) != E_OK) {
        look_deinit(&fresh);
        return err->code;
    }
    if (!is_same(&fresh, w->look)) {
        w->same_since_at = now_at;
        w->pause_us = PAUSE_FIRST_US;
    }
    bool is_still = fresh.running == 0 && now_at - w->same_since_at >= WAITING_US;
    bool is_shown = progress_shows_waits(&w->view) && now_at - w->waits_at >= WAITS_SHOWN_US;
    enum err_code code = E_OK;

    if (fresh.waiting > 0 && (is_still || is_shown)) {
        code = look_add_waits(&fresh, w->m, err);
        w->waits_at = now_at;
    } else if (fresh.waiting > 0) {
        look_move_waits(&fresh, w->look);
    }
    look_deinit(w->look);
    *w->look = fresh;
    return code;
}

static bool has_ended(struct watch *w, int64_t now_at, enum watch_end *ret_end)
{
    int64_t same_us = now_at - w->same_since_at;

    switch (look_judge(w->look)) {
    case LOOK_MOVES: return false;
    case LOOK_DONE: *ret_end = WATCH_DONE; return same_us >= SETTLED_US;
    case LOOK_WAITS: *ret_end = WATCH_WAITS; return w->o->no_wait && same_us >= WAITING_US;
    case LOOK_IS_STUCK: *ret_end = WATCH_STUCK; return !w->o->may_come && same_us >= STUCK_US;
    }
    return false;
}

/* How long until the next look. */
static int pause_ms(struct watch *w, int64_t now_at)
{
    int64_t most_us = look_judge(w->look) == LOOK_WAITS ? PAUSE_WAITING_US : PAUSE_MAX_US;
    int64_t next_at = look_next_at(w->look);
    int64_t wall_at = clock_wall_us();

    (void)now_at;
    w->pause_us += w->pause_us / 2;
    if (w->pause_us > most_us)
        w->pause_us = most_us;
    if (next_at > wall_at && next_at - wall_at < w->pause_us)
        w->pause_us = next_at - wall_at;
    return (int)(w->pause_us / US_PER_MS) + 1;
}

/* True when a signal came. */
static bool rest(struct watch *w, int signal_fd, int timeout_ms, int *ret_signal)
{
    struct pollfd fds[] = {{.fd = signal_fd, .events = POLLIN},
                           {.fd = w->m->server.out_fd, .events = POLLIN}};
    struct signalfd_siginfo info;

    if (poll(fds, ARRAY_LEN(fds), timeout_ms) <= 0 || (fds[0].revents & POLLIN) == 0 ||
        read(signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return false;
    *ret_signal = (int)info.ssi_signo;
    return true;
}

/* Its standard output ends with it; it says nothing more after it is ready. */
static bool server_is_gone(const struct machine *m)
{
    struct pollfd p = {.fd = m->server.out_fd, .events = POLLIN};

    return m->server.out_fd >= 0 && poll(&p, 1, 0) > 0 && (p.revents & POLLHUP) != 0;
}

static enum err_code watch(struct watch *w, int signal_fd, enum watch_end *ret_end, int *ret_signal,
                           struct err *err)
{
    for (;;) {
        int64_t now_at = clock_mono_us();

        if (look_again(w, now_at, err) != E_OK)
            break;
        if (has_ended(w, now_at, ret_end))
            return E_OK;
        progress_show(&w->view, w->look);
        if (rest(w, signal_fd, pause_ms(w, now_at), ret_signal)) {
            *ret_end = WATCH_SIGNAL;
            return E_OK;
        }
        if (server_is_gone(w->m))
            return err_set(err, E_UNAVAILABLE, "the server of the run has ended");
    }
    return server_is_gone(w->m) ? err_set(err, E_UNAVAILABLE, "the server of the run has ended")
                                : err->code;
}

enum err_code watch_until_end(const struct machine *m, const struct watch_options *o, int signal_fd,
                              struct look *look, enum watch_end *ret_end, int *ret_signal,
                              struct err *err)
{
    struct watch w = {
        .m = m, .o = o, .look = look, .pause_us = PAUSE_FIRST_US, .same_since_at = clock_mono_us()};

    progress_begin(&w.view);
    enum err_code code = watch(&w, signal_fd, ret_end, ret_signal, err);

    progress_end(&w.view);
    if (code == E_OK && *ret_end == WATCH_SIGNAL && look->waiting > 0 && look->waits.count == 0) {
        struct err ignored = ERR_INIT;

        (void)!look_add_waits(look, m, &ignored);
    }
    return code;
}
