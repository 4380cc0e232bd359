/* SPDX-License-Identifier: MIT */
#include "core/job/last_line.h"

#include <stdbool.h>
#include <string.h>

#include "base/text/utf8.h"

#define ESCAPE '\033'
#define BELL '\a'

/* Returns the end of the control sequence whose escape is at `at`. */
static const char *skip_sequence(const char *at, const char *end)
{
    if (++at == end)
        return end;
    if (*at == ']') { /* a title or a link: up to BEL or ESC \ */
        while (at < end && *at != BELL && *at != ESCAPE)
            at++;
        if (at < end && *at == ESCAPE)
            at++;
        return at < end ? at + 1 : end;
    }
    if (*at != '[')
        return at + 1;
    for (at++; at < end && (*at < '@' || *at > '~');)
        at++;
    return at < end ? at + 1 : end;
}

/* Adds a line as a terminal shows it. */
static void add_seen(struct buf *out, struct slice line)
{
    const char *end = slice_end(line);

    for (const char *at = line.data; at < end;) {
        size_t size = utf8_step(at, end);

        if (*at == ESCAPE) {
            at = skip_sequence(at, end);
            continue;
        }
        if (*at == '\r' && at + 1 < end)
            buf_clear(out);
        else if (*at == '\t')
            buf_add_char(out, ' ');
        else if (size == 0)
            buf_add_char(out, '?');
        else if ((unsigned char)*at >= ' ' && *at != '\177')
            buf_add(out, at, size);
        at += size == 0 ? 1 : size;
    }
}

static bool shows_something(const struct buf *seen)
{
    return strspn(buf_text(seen), " ") < seen->size;
}

void last_line_add(struct buf *out, struct slice tail)
{
    CLEANUP(buf) struct buf seen = BUF_INIT(LAST_LINE_TAIL);
    size_t end = tail.size;

    while (end > 0 && !shows_something(&seen)) {
        const char *before = memrchr(tail.data, '\n', end);
        size_t start = before == NULL ? 0 : (size_t)(before - tail.data) + 1;

        buf_clear(&seen);
        add_seen(&seen, slice_make(tail.data + start, end - start));
        end = start == 0 ? 0 : start - 1;
    }
    if (!shows_something(&seen))
        return;
    size_t blank = strspn(buf_text(&seen), " ");
    struct slice line = slice_make(seen.data + blank, seen.size - blank);

    while (line.data[line.size - 1] == ' ')
        line.size--;
    buf_add_slice(out, utf8_cut(line, LAST_LINE_MAX));
}
