/* SPDX-License-Identifier: MIT */
#include "cli/live/top_page.h"

#include <string.h>

#include "base/compiler.h"
#include "cli/view/screen.h"

#define MARK_ON "\033[7m"
#define MARK_OFF "\033[0m"

/* The next line of the text, without its end. */
static bool next_line(struct slice *rest, struct slice *ret_line)
{
    if (rest->size == 0)
        return false;
    const char *end = memchr(rest->data, '\n', rest->size);
    size_t size = end == NULL ? rest->size : (size_t)(end - rest->data);

    *ret_line = slice_make(rest->data, size);
    *rest = slice_make(rest->data + size + (end != NULL), rest->size - size - (end != NULL));
    return true;
}

static bool job_of(struct slice line, char id[static ID_TEXT_SIZE])
{
    CLEANUP(buf) struct buf plain = BUF_INIT(line.size + 1);
    int64_t parsed;

    add_uncoloured(&plain, line);
    if (plain.size < ID_TEXT_SIZE - 1 ||
        !id_parse(slice_make(plain.data, ID_TEXT_SIZE - 1), &parsed) ||
        (plain.size >= ID_TEXT_SIZE && plain.data[ID_TEXT_SIZE - 1] != ' '))
        return false;
    memcpy(id, plain.data, ID_TEXT_SIZE - 1);
    id[ID_TEXT_SIZE - 1] = '\0';
    return true;
}

static void show_line(struct top_page *p, size_t line)
{
    if (line < p->first)
        p->first = line;
    else if (p->height > 0 && line >= p->first + p->height)
        p->first = line - p->height + 1;
}

void top_page_scroll(struct top_page *p, long lines)
{
    size_t most = p->lines > p->height ? p->lines - p->height : 0;

    if (lines < 0)
        p->first = (size_t)-lines > p->first ? 0 : p->first - (size_t)-lines;
    else
        p->first += (size_t)lines;
    p->first = p->first > most ? most : p->first;
}

void top_page_fit(struct top_page *p, struct slice text, size_t height)
{
    struct slice line;
    char id[ID_TEXT_SIZE];
    bool found = false;

    p->lines = 0;
    p->height = height;
    while (next_line(&text, &line)) {
        p->lines++;
        found |= p->chosen[0] != '\0' && job_of(line, id) && strcmp(id, p->chosen) == 0;
    }
    if (!found)
        p->chosen[0] = '\0';
    top_page_scroll(p, 0);
}

void top_page_choose(struct top_page *p, struct slice text, int step)
{
    char before[ID_TEXT_SIZE] = "";
    struct slice line;
    bool passed = p->chosen[0] == '\0';
    size_t before_at = 0;
    size_t at = 0;

    for (char id[ID_TEXT_SIZE]; next_line(&text, &line); at++) {
        if (!job_of(line, id))
            continue;
        bool is_chosen = strcmp(id, p->chosen) == 0;

        if ((step > 0 && passed) || (step < 0 && is_chosen)) {
            bool back = step < 0;

            if (!back || before[0] != '\0')
                memcpy(p->chosen, back ? before : id, sizeof(before));
            show_line(p, back && before[0] != '\0' ? before_at : at);
            return;
        }
        passed |= is_chosen;
        memcpy(before, id, sizeof(before));
        before_at = at;
    }
    if (before[0] == '\0')
        top_page_scroll(p, step);
    else if (step < 0) /* none was chosen: the last one */
        memcpy(p->chosen, before, sizeof(before));
    if (before[0] != '\0')
        show_line(p, before_at);
}

/* As much as fits into the columns, an ellipsis where more was; codes of colours take none, and all
 * of them stay. */
static void add_cut(struct buf *out, struct slice line, size_t columns)
{
    CLEANUP(buf) struct buf plain = BUF_INIT(line.size + 1);
    const char *end = slice_end(line);
    size_t used = 0;

    add_uncoloured(&plain, line);
    bool is_cut = columns > 0 && text_columns(buf_slice(&plain)) > columns;

    for (const char *at = line.data; at < end; at++) {
        bool code = *at == '\033';
        bool begins = !code && ((unsigned char)*at & 0xC0) != 0x80;

        used += begins;
        if (is_cut && begins && used == columns)
            buf_add_str(out, "…");
        if (is_cut && !code && used >= columns)
            continue;
        do
            buf_add_char(out, *at);
        while (code && *at != 'm' && ++at < end);
    }
}

void top_page_add(const struct top_page *p, struct slice text, size_t columns, struct buf *out)
{
    struct slice line;
    char id[ID_TEXT_SIZE];

    for (size_t at = 0; next_line(&text, &line) && at < p->first + p->height; at++) {
        if (at < p->first)
            continue;
        bool is_chosen = p->chosen[0] != '\0' && job_of(line, id) && strcmp(id, p->chosen) == 0;

        if (is_chosen) {
            CLEANUP(buf) struct buf plain = BUF_INIT(line.size + 1);

            add_uncoloured(&plain, line);
            buf_add_str(out, MARK_ON);
            add_cut(out, buf_slice(&plain), columns);
            buf_add_str(out, MARK_OFF);
        } else {
            add_cut(out, line, columns);
        }
        buf_add_char(out, '\n');
    }
}
