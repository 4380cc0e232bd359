/* SPDX-License-Identifier: MIT */
#include "base/os/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/os/file.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"

enum { LINE_BYTES = 2048 };

static const struct {
    const char *name;
    int syslog_priority; /* what systemd wants between < and > */
} levels[] = {
    [LOG_LEVEL_ERROR] = {"error", 3},
    [LOG_LEVEL_WARN] = {"warn", 4},
    [LOG_LEVEL_INFO] = {"info", 6},
    [LOG_LEVEL_DEBUG] = {"debug", 7},
};

static _Atomic enum log_level finest = LOG_LEVEL_INFO;
static bool to_journal;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void log_set_level(enum log_level level)
{
    atomic_store(&finest, level);
}

/* JOURNAL_STREAM is inherited, standard error may have been turned elsewhere since: it names the
 * device and inode of the journal's socket. */
static void find_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char text[64];
    struct stat st;

    if (stream == NULL || fstat(STDERR_FILENO, &st) != 0)
        return;
    snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    to_journal = strcmp(stream, text) == 0;
}

/* One event, one line, whatever is in the names that it quotes. */
static void keep_to_one_line(char *text)
{
    const char *end = text + strlen(text);

    while (text < end) {
        size_t size = utf8_step(text, end);
        bool plain = printable(text, size);

        size += size == 0;
        if (!plain)
            memset(text, '?', size);
        text += size;
    }
}

PRINTF_LIKE(2, 0)
static void log_line(enum log_level level, const char *fmt, va_list ap)
{
    char line[LINE_BYTES];
    char now[TIME_TEXT_SIZE];
    int n;

    if (level > atomic_load_explicit(&finest, memory_order_relaxed))
        return;
    pthread_once(&once, find_journal);
    if (to_journal)
        n = snprintf(line, sizeof(line), "<%d>", levels[level].syslog_priority);
    else
        n = snprintf(line, sizeof(line), "%s %s: ", time_format(clock_wall_us(), now),
                     levels[level].name);
    size_t head = (size_t)n;

    vsnprintf(line + head, sizeof(line) - head - 1, fmt, ap);
    keep_to_one_line(line + head);
    size_t size = strlen(line);

    line[size] = '\n';
    if (!file_write_all(STDERR_FILENO, slice_make(line, size + 1)))
        return; /* there is nowhere left to say so */
}

#define DEFINE_LOG(function, level)     \
    void function(const char *fmt, ...) \
    {                                   \
        va_list ap;                     \
                                        \
        va_start(ap, fmt);              \
        log_line(level, fmt, ap);       \
        va_end(ap);                     \
    }

DEFINE_LOG(log_error, LOG_LEVEL_ERROR)
DEFINE_LOG(log_warn, LOG_LEVEL_WARN)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
DEFINE_LOG(log_debug, LOG_LEVEL_DEBUG)
