/* SPDX-License-Identifier: MIT */
#include "run/show/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text/utf8.h"
#include "cli/view/output.h"
#include "cli/view/reply_json.h"
#include "cli/view/screen.h"
#include "own/bar.h"

#define WIDTH_STANDARD 79
#define DRAW_US (100 * US_PER_MS)
#define FIRST_LINE_US (2 * US_PER_S)
#define LINES_US (10 * US_PER_S)
#define LINES_MAX_US (10 * US_PER_MIN)
#define TEXT_MAX ((size_t)64 << 10)
#define TREE_LINES 8
#define TREE_DEPTH 8
#define TREE_BAR 12
#define NAME_BYTES 36
#define WAIT_LINES 4
#define WAITS_IN_LINE 2

void progress_begin(struct progress_view *v)
{
    *v = (struct progress_view){.is_terminal = isatty(STDERR_FILENO) == 1,
                                .next_line_at = clock_mono_us() + FIRST_LINE_US};
}

bool progress_shows_waits(const struct progress_view *v)
{
    int64_t now_at = clock_mono_us();

    return v->is_terminal ? now_at - v->drawn_at >= DRAW_US : now_at >= v->next_line_at;
}

/* ---- lines ---- */

void wait_line_add(struct buf *out, const struct look_wait *w, int64_t now_at)
{
    char text[SHORT_TEXT_SIZE];

    buf_add_str(out, " ");
    count_add(out, w->n);
    buf_addf(out, " %s %s", w->n == 1 ? "job of" : "jobs of", w->text);
    if (w->until_at > now_at)
        buf_addf(out, " (%s)", age_format(w->until_at - now_at, text));
}

static void add_group(struct buf *out, const json_t *group, int depth)
{
    const json_t *counts = json_object_get(group, "counts");
    int64_t made = reply_int(counts, "made");
    int64_t ended = reply_int(counts, "done") + reply_int(counts, "failed") +
                    reply_int(counts, "cancelled");

    buf_addf(out, "%*s", 2 + 2 * depth, "");
    struct slice name = slice_of(reply_text(group, "name"));
    struct slice shown = utf8_cut(name, NAME_BYTES);

    clean_text(out, slice_of(reply_text(group, "kind")));
    buf_add_char(out, ' ');
    clean_text(out, shown);
    buf_add_str(out, shown.size < name.size ? "…  " : "  ");
    bar_add(out, ended, made, TREE_BAR);
    buf_addf(out, " %" PRId64 "/%" PRId64, ended, made);
    if (reply_int(counts, "running") > 0)
        buf_addf(out, ", %" PRId64 " running", reply_int(counts, "running"));
    if (reply_int(counts, "failed") > 0)
        buf_addf(out, ", %" PRId64 " failed", reply_int(counts, "failed"));
    if (reply_int(counts, "dropped") > 0)
        buf_addf(out, ", %" PRId64 " dropped", reply_int(counts, "dropped"));
    if (reply_is_true(group, "paused"))
        buf_add_str(out, ", paused");
    if (strcmp(reply_text(group, "state"), "finishing") == 0)
        buf_add_str(out, ", finishing");
    buf_add_char(out, '\n');
}

/* A group of the list whose parent is `parent` and whose place is above `after`; or NULL. */
static const json_t *next_child(const json_t *groups, const char *parent, size_t *place)
{
    for (; *place < json_array_size(groups); (*place)++) {
        const json_t *group = json_array_get(groups, *place);

        if (strcmp(reply_text(group, "parent"), parent) == 0) {
            (*place)++;
            return group;
        }
    }
    return NULL;
}

void group_tree_add(struct buf *out, const json_t *groups, int most)
{
    struct {
        const char *id;
        size_t place;
    } path[TREE_DEPTH + 1] = {{"root", 0}};
    int depth = 0;
    int shown = 0;

    while (depth >= 0 && shown < most) {
        const json_t *group = next_child(groups, path[depth].id, &path[depth].place);

        if (group == NULL) {
            depth--;
            continue;
        }
        add_group(out, group, depth);
        shown++;
        if (depth < TREE_DEPTH) {
            depth++;
            path[depth].id = reply_text(group, "id");
            path[depth].place = 0;
        }
    }
    int left = (int)json_array_size(groups) - shown;

    if (left > 0 && shown == most)
        buf_addf(out, "  and %d more open groups\n", left);
}

/* ---- a terminal ---- */

/* Each line of the text, cut to the screen, over what was drawn before. */
static void draw(struct progress_view *v, struct slice text)
{
    CLEANUP(buf) struct buf out = BUF_INIT(TEXT_MAX * 2);
    struct winsize size = {.ws_col = 0};
    int lines = 0;

    (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    size_t width = size.ws_col > 1 ? size.ws_col - 1U : WIDTH_STANDARD;
    int height = size.ws_row > 2 ? size.ws_row - 1 : 24;

    buf_add_char(&out, '\r');
    for (int i = 1; i < v->lines; i++)
        buf_add_str(&out, "\033[A");
    while (text.size > 0 && lines < height) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t bytes = end != NULL ? (size_t)(end - text.data) : text.size;
        struct slice line = slice_make(text.data, bytes);

        while (text_columns(line) > width)
            line = utf8_cut(line, line.size - 1);
        buf_add_str(&out, lines > 0 ? "\n" : "");
        buf_add_slice(&out, line);
        buf_add_str(&out, "\033[K");
        lines++;
        bytes += end != NULL;
        text = slice_make(text.data + bytes, text.size - bytes);
    }
    for (int i = lines; i < v->lines; i++)
        buf_add_str(&out, i > 0 ? "\n\033[K" : "\033[K");
    for (int i = lines; i < v->lines && i > 0; i++)
        buf_add_str(&out, "\033[A");
    output_status(buf_slice(&out));
    v->lines = lines;
}

void progress_end(struct progress_view *v)
{
    if (!v->is_terminal || v->lines == 0)
        return;
    draw(v, SLICE(""));
    v->lines = 0;
}

static struct progress progress_of(const struct progress_view *v, const struct look *l)
{
    int64_t ended = l->done + l->failed + l->cancelled;

    return (struct progress){.done = l->done + l->cancelled,
                             .failed = l->failed,
                             .running = l->running,
                             .total = ended + look_left(l),
                             .rate = rate_now(&v->meter)};
}

static void draw_all(struct progress_view *v, const struct look *l)
{
    CLEANUP(buf) struct buf text = BUF_INIT(TEXT_MAX);
    struct progress p = progress_of(v, l);
    struct winsize size = {.ws_col = 0};
    int64_t wall_at = clock_wall_us();

    (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    progress_add(&text, &p, size.ws_col > 1 ? size.ws_col - 1 : WIDTH_STANDARD);
    buf_add_char(&text, '\n');
    group_tree_add(&text, json_object_get(l->groups.json, "groups"), TREE_LINES);
    size_t shown = 0;

    for (size_t i = 0; i < l->waits.count && shown < WAIT_LINES; i++) {
        if (l->waits.items[i].goes_by_itself)
            continue;
        buf_add_char(&text, ' ');
        wait_line_add(&text, &l->waits.items[i], wall_at);
        buf_add_char(&text, '\n');
        shown++;
    }
    draw(v, buf_slice(&text));
}

/* ---- elsewhere ---- */

static void print_line(const struct look *l)
{
    CLEANUP(buf) struct buf line = BUF_INIT(TEXT_MAX);

    buf_add_str(&line, "waybill: ");
    count_add(&line, l->done);
    buf_add_str(&line, " done, ");
    count_add(&line, l->failed);
    buf_add_str(&line, " failed, ");
    count_add(&line, l->running);
    buf_add_str(&line, " running, ");
    count_add(&line, l->waiting);
    buf_add_str(&line, " waiting");
    for (size_t i = 0, shown = 0; i < l->waits.count && shown < WAITS_IN_LINE; i++) {
        if (l->waits.items[i].goes_by_itself)
            continue;
        buf_add_char(&line, ';');
        wait_line_add(&line, &l->waits.items[i], clock_wall_us());
        shown++;
    }
    fprintf(stderr, "%s\n", buf_text(&line));
}

void progress_show(struct progress_view *v, const struct look *l)
{
    int64_t now_at = clock_mono_us();
    bool is_waiting = look_judge(l) == LOOK_WAITS;

    rate_note(&v->meter, now_at, l->done + l->failed + l->cancelled);
    if (v->is_terminal) {
        if (now_at - v->drawn_at >= DRAW_US) {
            draw_all(v, l);
            v->drawn_at = now_at;
        }
        return;
    }
    if (now_at < v->next_line_at && (!is_waiting || v->was_waiting))
        return;
    int64_t moved = l->done + l->failed + l->cancelled;

    /* A run that waits for hours says so less and less often. */
    v->line_us = moved != v->said_moved || v->line_us == 0 ? LINES_US : v->line_us * 2;
    if (v->line_us > LINES_MAX_US)
        v->line_us = LINES_MAX_US;
    v->said_moved = moved;
    v->was_waiting = is_waiting;
    v->next_line_at = now_at + v->line_us;
    print_line(l);
}
