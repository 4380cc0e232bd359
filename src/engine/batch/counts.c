/* SPDX-License-Identifier: MIT */
#include "engine/batch/counts.h"

#include <stdlib.h>

#include "store/meta.h"

void counts_deinit(struct counts *c)
{
    VEC_DEINIT(&c->changes);
}

void counts_clear(struct counts *c)
{
    VEC_CLEAR(&c->changes);
}

/* A batch changes few queues and states: a search from the newest entry on is short. */
void counts_add(struct counts *c, int64_t queue, enum job_state state, int64_t n)
{
    for (size_t i = c->changes.count; i-- > 0;) {
        struct store_count *k = &c->changes.items[i];

        if (k->queue == queue && k->state == state) {
            k->n += n;
            return;
        }
    }
    VEC_PUSH(&c->changes, ((struct store_count){.queue = queue, .state = state, .n = n}));
}

int64_t counts_of(const struct counts *c, int64_t queue)
{
    int64_t n = 0;

    for (size_t i = 0; i < c->changes.count; i++)
        if (c->changes.items[i].queue == queue)
            n += c->changes.items[i].n;
    return n;
}

void counts_forget(struct counts *c, int64_t queue)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->changes.count; i++)
        if (c->changes.items[i].queue != queue)
            c->changes.items[kept++] = c->changes.items[i];
    c->changes.count = kept;
}

static int by_key(const void *a, const void *b)
{
    const struct store_count *x = a;
    const struct store_count *y = b;

    if (x->queue != y->queue)
        return x->queue < y->queue ? -1 : 1;
    return (int)x->state - (int)y->state;
}

enum err_code counts_write(struct counts *c, struct store *s, uint32_t node, struct err *err)
{
    if (c->changes.count == 0)
        return E_OK;
    qsort(c->changes.items, c->changes.count, sizeof(c->changes.items[0]), by_key);
    return store_counts_add(s, node, c->changes.items, c->changes.count, err);
}
