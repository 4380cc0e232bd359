/* SPDX-License-Identifier: MIT */
#include "cli/live/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/os/file.h"
#include "cli/view/output.h"

#define REST_MS 20 /* in which the rest of a key comes */
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
    char typed[32]; /* read, not yet returned */
    size_t n_typed;
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

/* ---- keys ---- */

/* What terminals send for them after an escape. */
static const struct {
    const char *code;
    int key;
} sequences[] = {
    {"[A", KEY_UP},       {"[B", KEY_DOWN},       {"[C", KEY_RIGHT}, {"[D", KEY_LEFT},
    {"OA", KEY_UP},       {"OB", KEY_DOWN},       {"OC", KEY_RIGHT}, {"OD", KEY_LEFT},
    {"[H", KEY_HOME},     {"[F", KEY_END},        {"OH", KEY_HOME},  {"OF", KEY_END},
    {"[1~", KEY_HOME},    {"[4~", KEY_END},       {"[7~", KEY_HOME}, {"[8~", KEY_END},
    {"[5~", KEY_PAGE_UP}, {"[6~", KEY_PAGE_DOWN},
};

static void read_typed(void)
{
    ssize_t n = read(STDIN_FILENO, screen.typed + screen.n_typed,
                     sizeof(screen.typed) - screen.n_typed);

    if (n <= 0)
        end_by_signal(SIGHUP); /* the terminal is gone */
    screen.n_typed += (size_t)n;
}

/* It starts with an incomplete escape sequence. */
static bool is_cut(void)
{
    size_t at = 2;

    if (screen.typed[0] != '\033' || screen.n_typed == 1)
        return screen.typed[0] == '\033';
    if (screen.typed[1] != '[' && screen.typed[1] != 'O')
        return false;
    while (at < screen.n_typed && (screen.typed[at] < '@' || screen.typed[at] > '~'))
        at++;
    return at == screen.n_typed;
}

/* The first key of what was typed.  The rest of a sequence comes at once: an escape alone is the
 * key of that name. */
static int take_key(void)
{
    struct pollfd more = {.fd = STDIN_FILENO, .events = POLLIN};

    while (is_cut() && screen.n_typed < sizeof(screen.typed) && poll(&more, 1, REST_MS) > 0)
        read_typed();
    const char *rest = screen.typed + 1;
    size_t left = screen.n_typed - 1;
    int key = (unsigned char)screen.typed[0];
    size_t used = 1;

    if (key == '\033' && (left == 0 || (*rest != '[' && *rest != 'O'))) {
        key = KEY_ESCAPE;
    } else if (key == '\033') {
        key = KEY_UNKNOWN;
        for (used = 2;
             used < screen.n_typed && (screen.typed[used] < '@' || screen.typed[used] > '~');)
            used++;
        used = used < screen.n_typed ? used + 1 : screen.n_typed;
        for (size_t i = 0; i < ARRAY_LEN(sequences); i++) {
            size_t size = strlen(sequences[i].code);

            if (size == used - 1 && memcmp(rest, sequences[i].code, size) == 0)
                key = sequences[i].key;
        }
    }
    screen.n_typed -= used;
    memmove(screen.typed, screen.typed + used, screen.n_typed);
    return key;
}

enum terminal_event terminal_wait(int other_fd, int64_t timeout_us, int *ret_key)
{
    if (screen.n_typed > 0) {
        *ret_key = take_key();
        return TERMINAL_KEY;
    }
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
            read_typed();
            *ret_key = take_key();
            return TERMINAL_KEY;
        }
        if (n > 0 && fds[1].revents != 0)
            return TERMINAL_HEARD;
    }
}

void terminal_draw(struct slice text, int height)
{
    CLEANUP(buf) struct buf out = BUF_INIT(SCREEN_MAX);
    CLEANUP(buf) struct buf clean = BUF_INIT(SCREEN_MAX);
    struct safe safe = {.kind = SAFE_TEXT};

    safe_add(&safe, text, &clean);
    safe_end(&safe, &clean);
    const char *end = clean.data + clean.size;
    const char *at = clean.data;

    buf_add_str(&out, "\033[H");
    for (int line = 0; line < height && at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));

        if (stop == NULL)
            stop = end;
        buf_add_str(&out, line > 0 ? "\r\n" : "");
        buf_add_str(&out, "\033[K"); /* before: behind a full line it would take its last column */
        buf_add(&out, at, (size_t)(stop - at));
        at = stop + 1;
    }
    buf_add_str(&out, "\033[J");
    (void)!file_write_all(STDOUT_FILENO, buf_slice(&out));
}
