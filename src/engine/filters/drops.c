/* SPDX-License-Identifier: MIT */
#include "engine/filters/drops.h"

#include <stdlib.h>

#include "engine/batch/ids.h"
#include "engine/state.h"

void filter_count(struct engine *e, int64_t queue, unsigned what, int64_t n)
{
    struct drop_batch *b = &e->batch.filters.drops;

    for (size_t i = b->counts.count; i-- > 0;)
        if (b->counts.items[i].queue == queue && b->counts.items[i].what == what) {
            b->counts.items[i].n += n;
            return;
        }
    VEC_PUSH(&b->counts, ((struct filter_count){.queue = queue, .what = what, .n = n}));
}

void drops_note(struct engine *e, int64_t queue, const struct filter_drop *drop)
{
    filter_count(e, queue, filter_number(drop->filter), 1);
    e->batch.tally.dropped[drop->filter]++;
    VEC_PUSH(&e->batch.filters.drops.drops,
             ((struct stored_drop){.id = engine_new_id(e),
                                   .queue = queue,
                                   .filter = filter_number(drop->filter),
                                   .job = drop->job,
                                   .text = drop->text}));
}

static int by_queue(const void *a, const void *b)
{
    const struct stored_drop *x = a;
    const struct stored_drop *y = b;

    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int by_number(const void *a, const void *b)
{
    const struct filter_count *x = a;
    const struct filter_count *y = b;

    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    return (int)x->what - (int)y->what;
}

static enum err_code write_counts(struct engine *e, struct err *err)
{
    struct drop_batch *b = &e->batch.filters.drops;

    if (b->counts.count > 1)
        qsort(b->counts.items, b->counts.count, sizeof(b->counts.items[0]), by_number);
    for (size_t i = 0; i < b->counts.count; i++)
        if (store_filter_count_add(e->store, e->node, &b->counts.items[i], err) != E_OK)
            return err->code;
    return E_OK;
}

enum err_code drops_write(struct engine *e, struct err *err)
{
    struct drop_batch *b = &e->batch.filters.drops;
    const struct stored_drop *drops = b->drops.items;
    size_t n;

    if (b->drops.count > 1)
        qsort(b->drops.items, b->drops.count, sizeof(b->drops.items[0]), by_queue);
    for (size_t first = 0; first < b->drops.count; first += n) {
        for (n = 1; first + n < b->drops.count && drops[first + n].queue == drops[first].queue;)
            n++;
        if (store_drops_add(e->store, drops + first, n, err) != E_OK)
            return err->code;
    }
    return write_counts(e, err);
}
