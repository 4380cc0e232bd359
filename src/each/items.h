/*
 * Groups the lines of the input into jobs.
 *
 * Every job but the last has the same number of lines.  Reading goes as in each/lines.h, on
 * `lines`.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "each/line/command.h"
#include "each/lines.h"

struct each_items {
    struct each_lines lines;
    size_t per_item;
    int64_t count; /* items taken: the number of the last one */

    struct slice line;   /* of an item that has one */
    struct buf gathered; /* lines of an item that has several, until it is whole */
    VEC(struct slice) slices;
    VEC(size_t) ends; /* of the lines in `gathered` */
};

void each_items_init(struct each_items *items, char line_end, size_t per_item);
void each_items_deinit(struct each_items *items);

/* The next item, valid until the next call or until more room is asked for; *ret_found says if
 * there was one. E_INVALID as each_lines_next; E_TOO_LARGE: its lines exceed the limit of a job. */
MUST_CHECK enum err_code each_items_next(struct each_items *items, struct each_item *ret_item,
                                         bool *ret_found, struct err *err);

/* The input has ended, and all of it was taken. */
bool each_items_over(const struct each_items *items);
