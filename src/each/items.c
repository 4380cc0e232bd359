/* SPDX-License-Identifier: MIT */
#include "each/items.h"

#include <inttypes.h>

#define GATHERED_MAX ((size_t)7 << 20) /* a job has 16 MiB, and a line comes twice */

void each_items_init(struct each_items *items, char line_end, size_t per_item)
{
    *items = (struct each_items){.per_item = per_item, .gathered = BUF_INIT(GATHERED_MAX)};
    each_lines_init(&items->lines, line_end);
}

void each_items_deinit(struct each_items *items)
{
    each_lines_deinit(&items->lines);
    buf_deinit(&items->gathered);
    VEC_DEINIT(&items->slices);
    VEC_DEINIT(&items->ends);
}

static void give_gathered(struct each_items *items, struct each_item *ret_item)
{
    size_t from = 0;

    VEC_CLEAR(&items->slices);
    for (size_t i = 0; i < items->ends.count; i++) {
        size_t end = items->ends.items[i];

        VEC_PUSH(&items->slices, slice_make(buf_text(&items->gathered) + from, end - from));
        from = end;
    }
    *ret_item = (struct each_item){.lines = items->slices.items,
                                   .n_lines = items->slices.count,
                                   .number = ++items->count};
    VEC_CLEAR(&items->ends);
    items->gathered.size = 0; /* its bytes stay until the next line is added */
}

/* Several lines: they are copied, as they may come with several pieces of input. */
static enum err_code next_of_several(struct each_items *items, struct each_item *ret_item,
                                     bool *ret_found, struct err *err)
{
    struct slice line = {NULL, 0};
    bool found = true;

    while (items->ends.count < items->per_item) {
        if (each_lines_next(&items->lines, &line, &found, err) != E_OK)
            return err->code;
        if (!found)
            break;
        buf_add_slice(&items->gathered, line);
        VEC_PUSH(&items->ends, items->gathered.size);
        if (items->gathered.overflowed)
            return err_set(err, E_TOO_LARGE,
                           "lines %" PRId64 " to %" PRId64 " together have more than %zu MiB: give "
                           "a smaller -N",
                           items->lines.count + 1 - (int64_t)items->ends.count, items->lines.count,
                           GATHERED_MAX >> 20);
    }
    *ret_found = items->ends.count == items->per_item ||
                 (items->ends.count > 0 && items->lines.ended);
    if (*ret_found)
        give_gathered(items, ret_item);
    return E_OK;
}

enum err_code each_items_next(struct each_items *items, struct each_item *ret_item, bool *ret_found,
                              struct err *err)
{
    if (items->per_item > 1)
        return next_of_several(items, ret_item, ret_found, err);
    if (each_lines_next(&items->lines, &items->line, ret_found, err) != E_OK)
        return err->code;
    if (*ret_found)
        *ret_item = (struct each_item){.lines = &items->line,
                                       .n_lines = 1,
                                       .number = ++items->count};
    return E_OK;
}

bool each_items_over(const struct each_items *items)
{
    return items->lines.ended && items->lines.from == items->lines.filled && items->ends.count == 0;
}
