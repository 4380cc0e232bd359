/*
 * Fields of the server's JSON objects for people: columns of a table, lines of a page.
 *
 * A list of fields is data: what is shown, under which title, and how it is written.  It ends with
 * a field that has no title.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"
#include "cli/view/screen.h"

/* Where a field is read from. */
struct view_source {
    const json_t *item;
    const json_t *parent; /* the object whose list holds the item; or NULL */
    int64_t now_at;
};

/* The text of a field; line feeds separate the lines of a page. */
struct view_text {
    struct buf text;
    enum colour colour; /* the field's, unless the writer changes it */
};

struct view_field;
typedef void view_field_fn(const struct view_field *f, const struct view_source *from,
                           struct view_text *out);

struct view_field {
    const char *title; /* of the column, or the label of the line */
    const char *member;
    view_field_fn *write; /* NULL: view_string */
    enum colour colour;
    bool right; /* align the column right */
    /* The column is shown if an item uses it; NULL: always. */
    bool (*used)(const struct view_field *f, const json_t *item);
};

/* Ways to write a member. */
view_field_fn view_string;
view_field_fn view_int;
view_field_fn view_count;   /* a number; 0 is dim */
view_field_fn view_nonzero; /* a number; 0 is empty */
view_field_fn view_age;     /* an instant: 5m */
view_field_fn view_ago;     /* an instant: 5m ago */
view_field_fn view_names;   /* an array of texts or of objects with a name: a, b */
view_field_fn view_words;   /* the same: a b */
view_field_fn view_lines;   /* the same, a line each */

/* The items of an array of `parent` (or NULL) as a table, indented by `indent` columns. */
struct view_table {
    const struct view_field *columns;
    const json_t *items;
    const json_t *parent;
    size_t indent;
    int64_t now_at;
};
void view_table_print(const struct view_table *ft, const struct screen *s);

/* The fields that are not empty, separated by two spaces. */
void view_line_print(const struct view_field *fields, const struct view_source *from,
                     const struct screen *s);

/* The fields that are not empty, one per line after its label. */
void view_page_print(const struct view_field *fields, const struct view_source *from,
                     const struct screen *s);
