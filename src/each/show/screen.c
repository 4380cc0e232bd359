/* SPDX-License-Identifier: MIT */
#include "each/show/screen.h"

#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/view/output.h"

#define WIDTH_STANDARD 79

void each_screen_init(struct each_screen *s)
{
    *s = (struct each_screen){.has_bar = isatty(STDERR_FILENO) == 1};
    s->shares = s->has_bar && isatty(STDOUT_FILENO) == 1;
}

void each_screen_erase(struct each_screen *s)
{
    if (s->shown)
        output_status(SLICE("\r\033[K"));
    s->shown = false;
}

void each_screen_end(struct each_screen *s, char last)
{
    each_screen_erase(s);
    if (s->shares && last != '\n')
        fputc('\n', stderr);
}

void each_screen_draw(struct each_screen *s, struct progress *p, char *last)
{
    CLEANUP(buf) struct buf line = BUF_INIT(1000);
    struct winsize size = {.ws_col = 0};

    if (!s->has_bar)
        return;
    rate_note(&s->meter, clock_mono_us(), p->done + p->failed);
    p->rate = rate_now(&s->meter);
    (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    if (s->shares && !s->shown && *last != '\n') {
        buf_add_char(&line, '\n');
        *last = '\n';
    }
    buf_add_char(&line, '\r');
    progress_add(&line, p, size.ws_col > 1 ? size.ws_col - 1 : WIDTH_STANDARD);
    buf_add_str(&line, "\033[K");
    output_status(buf_slice(&line));
    s->shown = true;
}

void each_screen_say(struct each_screen *s, const char *fmt, ...)
{
    va_list args;

    each_screen_erase(s);
    fputs("waybill: ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}
