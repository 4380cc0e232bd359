/* SPDX-License-Identifier: MIT */
#include "cli/view/screen.h"

#include <inttypes.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text/printable.h"
#include "base/text/utf8.h"

#define CELL_MAX 4096
#define GAP 2
#define NARROWEST 6       /* columns of a text that is cut */
#define LEFT_OUT SIZE_MAX /* width of a column that is not shown */

static const char *const codes[COLOUR_COUNT] = {
    [COLOUR_PLAIN] = "",        [COLOUR_BOLD] = "\033[1m",   [COLOUR_DIM] = "\033[2m",
    [COLOUR_RED] = "\033[31m",  [COLOUR_GREEN] = "\033[32m", [COLOUR_YELLOW] = "\033[33m",
    [COLOUR_BLUE] = "\033[34m",
};

static const char *environment(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets it */

    return value != NULL ? value : "";
}

void screen_init(struct screen *s)
{
    *s = (struct screen){.width = 0};
    if (!isatty(STDOUT_FILENO))
        return;
    s->colours = *environment("NO_COLOR") == '\0' && strcmp(environment("TERM"), "dumb") != 0;
    screen_measure(s);
}

void screen_measure(struct screen *s)
{
    struct winsize size = {.ws_col = 0};

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        return;
    s->width = size.ws_col;
    s->height = size.ws_row;
}

const char *screen_on(const struct screen *s, enum colour colour)
{
    return s->colours ? codes[colour] : "";
}

const char *screen_off(const struct screen *s, enum colour colour)
{
    return s->colours && colour != COLOUR_PLAIN ? "\033[0m" : "";
}

void clean_text(struct buf *b, struct slice text)
{
    const char *end = text.data + text.size;

    for (const char *at = text.data; at < end;) {
        size_t size = utf8_step(at, end);

        if (*at == '\n' || *at == '\t')
            buf_add_char(b, ' ');
        else if (printable(at, size))
            buf_add(b, at, size);
        else
            printable_escape(b, at, size);
        at += size == 0 ? 1 : size;
    }
}

void add_uncoloured(struct buf *b, struct slice text)
{
    const char *end = text.data + text.size;

    for (const char *at = text.data; at < end; at++) {
        if (*at != '\033') {
            buf_add_char(b, *at);
            continue;
        }
        while (at < end && *at != 'm')
            at++;
    }
}

void bar_add(struct buf *b, int64_t done, int64_t total, size_t columns)
{
    double part = total <= 0 || done <= 0 ? 0 : (double)done / (double)total;
    size_t full = part >= 1 ? columns : (size_t)(part * (double)columns);

    for (size_t i = 0; i < columns; i++)
        buf_add_str(b, i < full ? "━" : "╌");
}

size_t text_columns(struct slice utf8)
{
    size_t n = 0;

    for (size_t i = 0; i < utf8.size; i++)
        n += ((unsigned char)utf8.data[i] & 0xC0) != 0x80;
    return n;
}

/* How many units that is, to the nearest. */
static int64_t rounded(int64_t us, int64_t unit)
{
    return us / unit + (us % unit >= unit - unit / 2);
}

const char *age_format(int64_t us, char text[static SHORT_TEXT_SIZE])
{
    static const struct {
        int64_t us;
        int64_t below;
        char unit;
    } units[] = {
        {.us = US_PER_S, .below = 2 * US_PER_MIN, .unit = 's'},
        {.us = US_PER_MIN, .below = 2 * US_PER_HOUR, .unit = 'm'},
        {.us = US_PER_HOUR, .below = 2 * US_PER_DAY, .unit = 'h'},
        {.us = US_PER_DAY, .below = INT64_MAX, .unit = 'd'},
    };
    size_t i = 0;

    if (us < 0)
        us = 0;
    while (us >= units[i].below - units[i].us / 2) /* what would be rounded up to it */
        i++;
    snprintf(text, SHORT_TEXT_SIZE, "%" PRId64 "%c", rounded(us, units[i].us), units[i].unit);
    return text;
}

const char *took_format(int64_t us, char text[static SHORT_TEXT_SIZE])
{
    int64_t tenths = rounded(us, US_PER_S / 10);
    int64_t s = rounded(us, US_PER_S);
    int64_t m = rounded(us, US_PER_MIN);
    int64_t h = rounded(us, US_PER_HOUR);

    if (rounded(us, US_PER_MS) < 1000)
        snprintf(text, SHORT_TEXT_SIZE, "%" PRId64 " ms", rounded(us, US_PER_MS));
    else if (tenths < 1000)
        snprintf(text, SHORT_TEXT_SIZE, "%" PRId64 ".%" PRId64 " s", tenths / 10, tenths % 10);
    else if (s < 2 * 3600)
        snprintf(text, SHORT_TEXT_SIZE, "%" PRId64 "m %02" PRId64 "s", s / 60, s % 60);
    else if (m < 2 * 24 * 60)
        snprintf(text, SHORT_TEXT_SIZE, "%" PRId64 "h %02" PRId64 "m", m / 60, m % 60);
    else
        snprintf(text, SHORT_TEXT_SIZE, "%" PRId64 "d %" PRId64 "h", h / 24, h % 24);
    return text;
}

const char *bytes_format(int64_t bytes, char text[static SHORT_TEXT_SIZE])
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double n = (double)bytes;
    size_t i = 0;

    for (; n >= 1000 && i + 1 < ARRAY_LEN(units); i++)
        n /= 1000;
    snprintf(text, SHORT_TEXT_SIZE, i > 0 && n < 10 ? "%.1f %s" : "%.0f %s", n, units[i]);
    return text;
}

void table_init(struct table *t, const struct column *columns, size_t n_columns)
{
    *t = (struct table){.columns = columns, .n_columns = n_columns, .arena = ARENA_INIT};
}

void table_deinit(struct table *t)
{
    arena_deinit(&t->arena);
    VEC_DEINIT(&t->cells);
}

static void add_cell(struct table *t, enum colour colour, struct slice text)
{
    CLEANUP(buf) struct buf clean = BUF_INIT(CELL_MAX);

    clean_text(&clean, text);
    struct table_cell cell = {.text = arena_copy(&t->arena, buf_slice(&clean)), .colour = colour};

    VEC_PUSH(&t->cells, cell);
}

void table_add(struct table *t, enum colour colour, const char *text)
{
    add_cell(t, colour, slice_of(text));
}

void table_addf(struct table *t, enum colour colour, const char *fmt, ...)
{
    char text[CELL_MAX];
    va_list args;

    va_start(args, fmt);
    int size = vsnprintf(text, sizeof(text), fmt, args);

    va_end(args);
    ASSERT(size >= 0);
    add_cell(t, colour, utf8_cut(slice_of(text), sizeof(text)));
}

void table_add_count(struct table *t, enum colour colour, int64_t n)
{
    table_addf(t, n == 0 ? COLOUR_DIM : colour, "%" PRId64, n);
}

static size_t column_width(const struct table *t, size_t column)
{
    size_t width = text_columns(slice_of(t->columns[column].title));

    for (size_t i = column; i < t->cells.count; i += t->n_columns) {
        size_t n = text_columns(t->cells.items[i].text);

        width = n > width ? n : width;
    }
    return width;
}

static void print_spaces(FILE *out, size_t n)
{
    for (; n > 0; n--)
        fputc(' ', out);
}

/* The first `columns` characters, the last of them an ellipsis if there were more. */
static void print_cut(FILE *out, struct slice text, size_t columns)
{
    size_t seen = 0;
    size_t i = 0;

    if (text_columns(text) <= columns) {
        fwrite(text.data, 1, text.size, out);
        return;
    }
    for (; i < text.size; i++) {
        if (((unsigned char)text.data[i] & 0xC0) != 0x80 && ++seen == columns)
            break;
    }
    fwrite(text.data, 1, i, out);
    fputs("…", out);
}

struct row_place {
    size_t column;
    size_t width;
};

static void print_cell(const struct table *t, const struct screen *s, const struct table_cell *cell,
                       const struct row_place *at)
{
    size_t columns = text_columns(cell->text);
    size_t pad = at->width > columns ? at->width - columns : 0;
    bool last = at->column + 1 == t->n_columns;
    FILE *out = screen_out(s);

    if (last && columns == 0)
        return;
    if (at->column > 0)
        print_spaces(out, GAP);
    if (t->columns[at->column].right)
        print_spaces(out, pad);
    fputs(screen_on(s, cell->colour), out);
    print_cut(out, cell->text, at->width);
    fputs(screen_off(s, cell->colour), out);
    if (!t->columns[at->column].right && !last)
        print_spaces(out, pad);
}

static bool shrinks(const struct table *t, size_t column)
{
    return t->columns[column].shrinks || (column + 1 == t->n_columns && !t->columns[column].right);
}

/* The width of a column when texts are cut at `cap`: the last column may have twice that. */
static size_t capped(const struct table *t, const size_t *widths, size_t column, size_t cap)
{
    size_t most = column + 1 == t->n_columns ? 2 * cap : cap;

    return shrinks(t, column) && widths[column] > most ? most : widths[column];
}

/* The columns of the screen that a row takes then. */
static size_t row_width(const struct table *t, const size_t *widths, size_t cap)
{
    size_t sum = 0;

    for (size_t c = 0; c < t->n_columns; c++)
        if (widths[c] != LEFT_OUT)
            sum += capped(t, widths, c, cap) + (c > 0 ? GAP : 0);
    return sum;
}

/* Only the widest texts are cut. */
static void fit(const struct table *t, size_t *widths, size_t screen)
{
    size_t cap = screen;

    for (size_t c = 0; c < t->n_columns && row_width(t, widths, cap) > screen; c++)
        if (t->columns[c].optional)
            widths[c] = LEFT_OUT;
    while (cap > NARROWEST && row_width(t, widths, cap) > screen)
        cap--;
    for (size_t c = 0; c < t->n_columns; c++)
        if (widths[c] != LEFT_OUT)
            widths[c] = capped(t, widths, c, cap);
    size_t *last = &widths[t->n_columns - 1];

    while (*last > NARROWEST && row_width(t, widths, screen) > screen)
        --*last;
}

void table_print(const struct table *t, const struct screen *s)
{
    CLEANUP(mem) size_t *widths = mem_alloc(t->n_columns * sizeof(*widths));
    size_t rows = t->cells.count / t->n_columns;

    for (size_t c = 0; c < t->n_columns; c++)
        widths[c] = column_width(t, c);
    if (s->width > 0)
        fit(t, widths, (size_t)s->width > t->indent ? (size_t)s->width - t->indent : 0);
    for (size_t row = t->untitled ? 1 : 0; row <= rows; row++) {
        print_spaces(screen_out(s), t->indent);
        for (struct row_place at = {.column = 0}; at.column < t->n_columns; at.column++) {
            struct table_cell title = {slice_of(t->columns[at.column].title), COLOUR_BOLD};
            size_t i = (row - 1) * t->n_columns + at.column;

            at.width = widths[at.column];
            if (at.width == LEFT_OUT)
                continue;
            print_cell(t, s, row == 0 ? &title : &t->cells.items[i], &at);
        }
        fputc('\n', screen_out(s));
    }
}
