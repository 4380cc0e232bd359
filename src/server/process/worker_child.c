/* SPDX-License-Identifier: MIT */
#include "server/process/worker_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/jtext/jtext.h"
#include "base/os/log.h"
#include "server/process/server_state.h"
#include "server/process/worker_exec.h"

#define PAUSE_FIRST_US (US_PER_S / 2)
#define PAUSE_MAX_US (30 * US_PER_S)
#define LIVED_US US_PER_MIN
#define SWEEP_US (5 * US_PER_MS) /* between looks at what a dead one left */
#define SWEEP_MAX_US (5 * US_PER_S)

void worker_child_init(struct worker_child *w, struct server *server)
{
    *w = (struct worker_child){.server = server, .exit.fd = -1, .lifeline = -1};
    w->birthright.umask = umask(0077);
    umask(w->birthright.umask);
    if (getrlimit(RLIMIT_NOFILE, &w->birthright.files) < 0)
        w->birthright.files = (struct rlimit){.rlim_cur = 1024, .rlim_max = 1024};
}

/* ---- starting ---- */

static void child_exited(struct watch *watch, uint32_t events);

/* From here on the child runs: if it cannot be watched, it is killed. */
static enum err_code watch_child(struct worker_child *w, pid_t pid, struct err *err)
{
    int fd = pidfd_open(pid, 0);

    w->exit = (struct watch){.fd = fd, .ready = child_exited};
    if (fd >= 0 && http_watch(&w->server->http, &w->exit, err) == E_OK)
        return E_OK;
    if (fd < 0)
        (void)err_errno(err, E_INTERNAL, "watch the worker");
    else
        close(fd);
    w->exit.fd = -1;
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    return err->code;
}

/* A worker that hangs is killed; then all goes as after any other death. */
static void check_heartbeat(struct timer *t)
{
    struct worker_child *w = (struct worker_child *)((char *)t -
                                                     offsetof(struct worker_child, beat));
    char silence[DURATION_TEXT_SIZE];

    if (heartbeat_look(&w->heartbeat, clock_mono_us())) {
        timer_set(&w->server->http.timers, &w->beat, w->heartbeat.look_at);
        return;
    }
    log_error("worker %s: pid %ld hangs (no answer for %s): killing it", w->name, (long)w->pid,
              duration_format(w->heartbeat.limit_us, silence));
    w->hung = true;
    (void)kill(w->pid, SIGKILL);
}

static enum err_code start(struct worker_child *w, struct err *err)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_errno(err, E_UNAVAILABLE, "make a lifeline to the worker");
    pid_t pid = worker_exec(w, ends[0]);

    if (pid < 0)
        (void)err_errno(err, E_UNAVAILABLE, "start the worker's process");
    close(ends[0]);
    if (pid < 0 || watch_child(w, pid, err) != E_OK) {
        close(ends[1]);
        return err->code;
    }
    w->pid = pid;
    w->lifeline = ends[1];
    w->started_at = clock_mono_us();
    w->state = WORKER_CHILD_RUNNING;
    w->hung = false;
    heartbeat_begin(&w->heartbeat, w->lifeline, w->server->config->worker_silence_us,
                    w->started_at);
    check_heartbeat(&w->beat);
    log_info("worker %s: started, pid %ld, %d slot%s", w->name, (long)pid, w->server->config->slots,
             w->server->config->slots == 1 ? "" : "s");
    return E_OK;
}

/* ---- starting again ---- */

/* Kills what a dead worker left; the next start waits until nothing is left, or for a long
 * pause. */
static bool sweep(struct worker_child *w)
{
    int64_t now = clock_mono_us();
    unsigned left = orphans_end(&w->orphans, &w->ended);
    int64_t next_at = left > 0 ? now + SWEEP_US : w->start_at;

    if (left == 0 && w->ended > 0)
        log_warn("worker %s: ended %u process%s that it left", w->name, w->ended,
                 w->ended == 1 ? "" : "es");
    if (left == 0)
        w->ended = 0;
    if (left > 0 && now > w->start_at + SWEEP_MAX_US)
        log_error("worker %s: %u processes that it left do not end", w->name, left);
    else if (left > 0 || now < w->start_at) {
        timer_set(&w->server->http.timers, &w->again, next_at);
        return false;
    }
    w->ended = 0;
    return true;
}

/* Sets the next start and formats the pause. */
static const char *pause_before_next(struct worker_child *w, char text[static DURATION_TEXT_SIZE])
{
    int64_t pause_us = w->pause_us == 0 ? PAUSE_FIRST_US : w->pause_us;

    w->state = WORKER_CHILD_PAUSING;
    w->pause_us = pause_us * 2 > PAUSE_MAX_US ? PAUSE_MAX_US : pause_us * 2;
    w->start_at = clock_mono_us() + pause_us;
    sweep(w);
    return duration_format(pause_us, text);
}

static void start_or_pause(struct worker_child *w)
{
    char pause[DURATION_TEXT_SIZE];
    struct err err = ERR_INIT;

    if (start(w, &err) != E_OK)
        log_error("worker %s: %s; next try in %s", w->name, err.msg, pause_before_next(w, pause));
}

static void pause_is_over(struct timer *t)
{
    struct worker_child *w = (struct worker_child *)((char *)t -
                                                     offsetof(struct worker_child, again));

    if (!sweep(w))
        return;
    w->restarts++;
    start_or_pause(w);
}

static const char *end_text(const siginfo_t *info, char *text, size_t size)
{
    if (info->si_code == CLD_EXITED)
        snprintf(text, size, "ended with exit status %d", info->si_status);
    else
        snprintf(text, size, "was killed by signal %d (%s)", info->si_status,
                 sigdescr_np(info->si_status));
    return text;
}

void worker_child_cut(struct worker_child *w)
{
    timer_clear(&w->beat);
    if (w->lifeline >= 0)
        close(w->lifeline);
    w->lifeline = -1;
}

static void forget_child(struct worker_child *w)
{
    http_unwatch(&w->server->http, &w->exit);
    close(w->exit.fd);
    w->exit.fd = -1;
    worker_child_cut(w);
    w->pid = 0;
}

/* At the end of the server, without an event loop. */
static void end_rest(struct worker_child *w)
{
    int64_t until_at = clock_mono_us() + US_PER_S;

    while (orphans_end(&w->orphans, &w->ended) > 0 && clock_mono_us() < until_at)
        usleep(SWEEP_US);
    if (w->ended > 0)
        log_warn("worker %s: ended %u process%s that it left", w->name, w->ended,
                 w->ended == 1 ? "" : "es");
    w->ended = 0;
}

static void child_exited(struct watch *watch, uint32_t events)
{
    struct worker_child *w = (struct worker_child *)((char *)watch -
                                                     offsetof(struct worker_child, exit));
    siginfo_t info = {.si_pid = 0};
    char how[80];
    char pause[DURATION_TEXT_SIZE];
    pid_t pid = w->pid;

    (void)events;
    if (pid == 0 || waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
        return;
    forget_child(w);
    end_text(&info, how, sizeof(how));
    if (w->state == WORKER_CHILD_STOPPING) {
        w->state = WORKER_CHILD_STOPPED;
        log_info("worker %s: pid %ld %s", w->name, (long)pid, how);
        end_rest(w);
        return;
    }
    if ((w->hung ? w->heartbeat.heard_at : clock_mono_us()) - w->started_at >= LIVED_US)
        w->pause_us = 0;
    pause_before_next(w, pause);
    log_error("worker %s: pid %ld %s; restarting in %s", w->name, (long)pid, how, pause);
}

/* ---- from outside ---- */

void worker_child_begin(struct worker_child *w)
{
    if (w->server->config->slots == 0)
        return;
    w->name = worker_exec_name(w->server);
    w->again.fire = pause_is_over;
    w->beat.fire = check_heartbeat;
    orphans_adopt(&w->orphans);
    start_or_pause(w);
}

void worker_child_stop(struct worker_child *w)
{
    timer_clear(&w->again);
    if (w->pid == 0) {
        w->state = w->state == WORKER_CHILD_NONE ? WORKER_CHILD_NONE : WORKER_CHILD_STOPPED;
        return;
    }
    w->state = WORKER_CHILD_STOPPING;
    timer_clear(&w->beat);
    (void)kill(w->pid, SIGTERM);
}

void worker_child_deinit(struct worker_child *w)
{
    timer_clear(&w->again);
    if (w->pid == 0)
        return;
    log_warn("worker %s: pid %ld does not end: killing it", w->name, (long)w->pid);
    (void)kill(w->pid, SIGKILL);
    (void)waitpid(w->pid, NULL, 0);
    forget_child(w);
    end_rest(w);
}

static const char *const state_names[] = {
    [WORKER_CHILD_NONE] = "none",       [WORKER_CHILD_RUNNING] = "running",
    [WORKER_CHILD_PAUSING] = "pausing", [WORKER_CHILD_STOPPING] = "stopping",
    [WORKER_CHILD_STOPPED] = "stopped",
};

void worker_child_write(const struct worker_child *w, struct buf *out)
{
    if (w->state == WORKER_CHILD_NONE) {
        buf_add_str(out, "null");
        return;
    }
    buf_add_str(out, "{\"name\":");
    jtext_add_string(out, slice_of(w->name));
    buf_addf(out, ",\"state\":\"%s\",\"pid\":", state_names[w->state]);
    if (w->pid > 0)
        buf_addf(out, "%ld", (long)w->pid);
    else
        buf_add_str(out, "null");
    buf_addf(out, ",\"restarts\":%u,\"slots\":%d}", w->restarts, w->server->config->slots);
}
