/* SPDX-License-Identifier: MIT */
#include "cli/view/view_field.h"

#include <inttypes.h>
#include <string.h>

#include "base/vec.h"
#include "cli/view/reply_json.h"

#define TEXT_SIZE_MAX ((size_t)64 << 10)

/* ---- ways to write a member ---- */

void view_string(const struct view_field *f, const struct view_source *from, struct view_text *out)
{
    buf_add_str(&out->text, reply_text(from->item, f->member));
}

void view_int(const struct view_field *f, const struct view_source *from, struct view_text *out)
{
    buf_addf(&out->text, "%" PRId64, reply_int(from->item, f->member));
}

void view_count(const struct view_field *f, const struct view_source *from, struct view_text *out)
{
    view_int(f, from, out);
    if (reply_int(from->item, f->member) == 0)
        out->colour = COLOUR_DIM;
}

void view_nonzero(const struct view_field *f, const struct view_source *from, struct view_text *out)
{
    if (reply_int(from->item, f->member) != 0)
        view_int(f, from, out);
}

void view_age(const struct view_field *f, const struct view_source *from, struct view_text *out)
{
    int64_t at = reply_time(from->item, f->member);
    char age[SHORT_TEXT_SIZE];

    if (at > 0)
        buf_add_str(&out->text, age_format(from->now_at - at, age));
}

void view_ago(const struct view_field *f, const struct view_source *from, struct view_text *out)
{
    view_age(f, from, out);
    if (out->text.size > 0)
        buf_add_str(&out->text, " ago");
}

static void add_names(const json_t *names, const char *separator, struct buf *out)
{
    const json_t *name = NULL;

    for (size_t i = 0; (name = json_array_get(names, i)) != NULL; i++)
        buf_addf(out, "%s%s", i > 0 ? separator : "",
                 json_is_string(name) ? json_string_value(name) : reply_text(name, "name"));
}

void view_names(const struct view_field *f, const struct view_source *from, struct view_text *out)
{
    add_names(json_object_get(from->item, f->member), ", ", &out->text);
}

void view_words(const struct view_field *f, const struct view_source *from, struct view_text *out)
{
    add_names(json_object_get(from->item, f->member), " ", &out->text);
}

void view_lines(const struct view_field *f, const struct view_source *from, struct view_text *out)
{
    add_names(json_object_get(from->item, f->member), "\n", &out->text);
}

static void write_field(const struct view_field *f, const struct view_source *from,
                        struct view_text *out)
{
    buf_clear(&out->text);
    out->colour = f->colour;
    (f->write != NULL ? f->write : view_string)(f, from, out);
}

/* ---- tables ---- */

static bool is_shown(const struct view_field *f, const json_t *items)
{
    const json_t *item = NULL;

    if (f->used == NULL)
        return true;
    for (size_t i = 0; (item = json_array_get(items, i)) != NULL; i++)
        if (f->used(f, item))
            return true;
    return false;
}

void view_table_print(const struct view_table *ft, const struct screen *s)
{
    VEC(const struct view_field *) shown = VEC_INIT;
    VEC(struct column) columns = VEC_INIT;
    struct view_text cell = {.text = BUF_INIT(TEXT_SIZE_MAX)};
    struct view_source from = {.parent = ft->parent, .now_at = ft->now_at};
    struct table t;

    for (const struct view_field *f = ft->columns; f->title != NULL; f++) {
        if (!is_shown(f, ft->items))
            continue;
        VEC_PUSH(&shown, f);
        VEC_PUSH(&columns, ((struct column){.title = f->title, .right = f->right}));
    }
    table_init(&t, columns.items, columns.count);
    t.indent = ft->indent;
    for (size_t i = 0; (from.item = json_array_get(ft->items, i)) != NULL; i++) {
        for (size_t c = 0; c < shown.count; c++) {
            write_field(shown.items[c], &from, &cell);
            table_add(&t, cell.colour, buf_text(&cell.text));
        }
    }
    if (t.cells.count > 0)
        table_print(&t, s);
    table_deinit(&t);
    buf_deinit(&cell.text);
    VEC_DEINIT(&shown);
    VEC_DEINIT(&columns);
}

/* ---- pages ---- */

static void print_text(const struct screen *s, enum colour colour, struct slice text)
{
    CLEANUP(buf) struct buf clean = BUF_INIT(TEXT_SIZE_MAX);

    clean_text(&clean, text);
    fprintf(screen_out(s), "%s%s%s", screen_on(s, colour), buf_text(&clean), screen_off(s, colour));
}

void view_line_print(const struct view_field *fields, const struct view_source *from,
                     const struct screen *s)
{
    struct view_text value = {.text = BUF_INIT(TEXT_SIZE_MAX)};

    for (const struct view_field *f = fields; f->title != NULL; f++) {
        write_field(f, from, &value);
        if (value.text.size == 0)
            continue;
        fputs("  ", screen_out(s));
        print_text(s, value.colour, buf_slice(&value.text));
    }
    buf_deinit(&value.text);
}

static int label_width(const struct view_field *fields)
{
    size_t width = 0;

    for (const struct view_field *f = fields; f->title != NULL; f++)
        width = strlen(f->title) > width ? strlen(f->title) : width;
    return width > 0 ? (int)width + 2 : 0;
}

void view_page_print(const struct view_field *fields, const struct view_source *from,
                     const struct screen *s)
{
    struct view_text value = {.text = BUF_INIT(TEXT_SIZE_MAX)};
    int width = label_width(fields);

    for (const struct view_field *f = fields; f->title != NULL; f++) {
        const char *label = f->title;
        struct slice rest;

        write_field(f, from, &value);
        for (rest = buf_slice(&value.text); rest.size > 0;) {
            struct slice line = slice_make(rest.data, 0);

            while (line.size < rest.size && rest.data[line.size] != '\n')
                line.size++;
            fprintf(screen_out(s), "  %s%-*s%s", screen_on(s, COLOUR_DIM), width, label,
                    screen_off(s, COLOUR_DIM));
            print_text(s, value.colour, line);
            fputc('\n', screen_out(s));
            size_t used = line.size < rest.size ? line.size + 1 : line.size;

            rest = slice_make(rest.data + used, rest.size - used);
            label = "";
        }
    }
    buf_deinit(&value.text);
}
