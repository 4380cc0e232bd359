/* SPDX-License-Identifier: MIT */
#include "cli/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"

#define SCREEN_MAX ((size_t)1 << 20)

/* Another page, no cursor, no wrapping; and back. */
static const char enter_codes[] = "\033[?1049h\033[?25l\033[?7l\033[H\033[2J";
static const char leave_codes[] = "\033[?7h\033[?25h\033[?1049l";

/* What the signal handlers must know. */
static struct {
    volatile sig_atomic_t is_open;
    volatile sig_atomic_t redraw;
    bool has_keys;
    struct termios before;
} screen;

/* Everything in enter and leave may be called from a signal handler. */
static void enter(void)
{
    struct termios raw = screen.before;

    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (screen.has_keys)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    (void)!write(STDOUT_FILENO, enter_codes, sizeof(enter_codes) - 1);
    screen.is_open = 1;
}

static void leave(void)
{
    if (!screen.is_open)
        return;
    screen.is_open = 0;
    (void)!write(STDOUT_FILENO, leave_codes, sizeof(leave_codes) - 1);
    if (screen.has_keys)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &screen.before);
}

static void end_by_signal(int number)
{
    leave();
    _exit(number == SIGINT ? 0 : 128 + number);
}

static void stop_by_signal(int number)
{
    int cause = errno;

    (void)number;
    leave();
    (void)raise(SIGSTOP);
    enter();
    screen.redraw = 1;
    errno = cause;
}

static void resized(int number)
{
    (void)number;
    screen.redraw = 1;
}

static const struct {
    int number;
    void (*handle)(int number);
} handlers[] = {
    {SIGINT, end_by_signal},  {SIGTERM, end_by_signal},  {SIGHUP, end_by_signal},
    {SIGQUIT, end_by_signal}, {SIGTSTP, stop_by_signal}, {SIGWINCH, resized},
};

enum err_code terminal_open(struct err *err)
{
    screen.has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &screen.before) == 0;
    for (size_t i = 0; i < ARRAY_LEN(handlers); i++) {
        struct sigaction action = {.sa_handler = handlers[i].handle};

        sigfillset(&action.sa_mask);
        if (sigaction(handlers[i].number, &action, NULL) < 0)
            return err_errno(err, E_INTERNAL, "take signal %d", handlers[i].number);
    }
    fflush(stdout);
    enter();
    return E_OK;
}

void terminal_close(void)
{
    leave();
}

static int left_ms(int64_t until_at)
{
    int64_t left_us = until_at - clock_mono_us();

    if (until_at == TIME_NEVER)
        return -1;
    return left_us <= 0 ? 0 : (int)((left_us + US_PER_MS - 1) / US_PER_MS);
}

enum terminal_event terminal_wait(int other_fd, int64_t timeout_us, char *ret_key)
{
    int64_t until_at = timeout_us < 0 ? TIME_NEVER : clock_mono_us() + timeout_us;

    for (;;) {
        struct pollfd fds[] = {
            {.fd = screen.has_keys ? STDIN_FILENO : -1, .events = POLLIN},
            {.fd = other_fd, .events = POLLIN},
        };
        int n = poll(fds, ARRAY_LEN(fds), left_ms(until_at));

        if (screen.redraw) {
            screen.redraw = 0;
            return TERMINAL_RESIZE;
        }
        if (n == 0)
            return TERMINAL_TIMEOUT;
        if (n > 0 && fds[0].revents != 0) {
            if (read(STDIN_FILENO, ret_key, 1) == 1)
                return TERMINAL_KEY;
            end_by_signal(SIGHUP); /* the terminal is gone */
        }
        if (n > 0 && fds[1].revents != 0)
            return TERMINAL_HEARD;
    }
}

void terminal_draw(struct slice text, int height)
{
    CLEANUP(buf) struct buf out = BUF_INIT(SCREEN_MAX);
    const char *end = slice_end(text);
    const char *at = text.data;

    buf_add_str(&out, "\033[H");
    for (int line = 0; line < height && at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        if (stop == NULL)
            stop = end;
        buf_add_str(&out, line > 0 ? "\r\n" : "");
        buf_add(&out, at, (size_t)(stop - at));
        buf_add_str(&out, "\033[K");
        at = stop + 1;
    }
    buf_add_str(&out, "\033[J");
    for (size_t sent = 0; sent < out.size;) {
        ssize_t n = write(STDOUT_FILENO, out.data + sent, out.size - sent);

        if (n < 0 && errno != EINTR)
            return;
        sent += n > 0 ? (size_t)n : 0;
    }
}
