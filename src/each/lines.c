/* SPDX-License-Identifier: MIT */
#include "each/lines.h"

#include <inttypes.h>
#include <stdlib.h>

#define PIECE ((size_t)256 << 10)

void each_lines_init(struct each_lines *l, char end)
{
    *l = (struct each_lines){.end = end, .data = mem_alloc(PIECE), .capacity = PIECE};
}

void each_lines_deinit(struct each_lines *l)
{
    free(l->data);
    *l = (struct each_lines){.data = NULL};
}

char *each_lines_room(struct each_lines *l, size_t *ret_size)
{
    size_t left = l->filled - l->from;

    memmove(l->data, l->data + l->from, left);
    l->seen -= l->from;
    l->from = 0;
    l->filled = left;
    if (l->capacity - left < PIECE / 2) {
        l->capacity = left + PIECE;
        l->data = mem_realloc(l->data, l->capacity);
    }
    *ret_size = l->capacity - left;
    return l->data + left;
}

void each_lines_added(struct each_lines *l, size_t size)
{
    ASSERT(size <= l->capacity - l->filled);
    l->filled += size;
}

void each_lines_end(struct each_lines *l)
{
    l->ended = true;
}

enum err_code each_lines_next(struct each_lines *l, struct slice *ret_line, bool *ret_found,
                              struct err *err)
{
    const char *end = NULL;

    if (l->filled > l->seen)
        end = memchr(l->data + l->seen, l->end, l->filled - l->seen);
    size_t line_end = end != NULL ? (size_t)(end - l->data) : l->filled;
    struct slice line = slice_make(l->data + l->from, line_end - l->from);

    l->seen = line_end;
    if (end == NULL && (!l->ended || line.size == 0) && line.size <= EACH_LINE_MAX) {
        *ret_found = false;
        return E_OK;
    }
    int64_t number = l->count + 1;

    if (line.size > EACH_LINE_MAX)
        return err_set(err, E_INVALID, "line %" PRId64 " is longer than %zu bytes", number,
                       EACH_LINE_MAX);
    if (l->end != '\0' && line.size > 0 && memchr(line.data, '\0', line.size) != NULL)
        return err_set(err, E_INVALID,
                       "line %" PRId64 " has a NUL byte, which no argument can have: for input "
                       "with NULs between the items give --null",
                       number);
    l->from = l->seen = line_end + (end != NULL ? 1 : 0);
    l->count++;
    *ret_line = line;
    *ret_found = true;
    return E_OK;
}
