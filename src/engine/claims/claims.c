/* SPDX-License-Identifier: MIT */
#include "engine/claims/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

void claims_init(struct claims *c)
{
    *c = (struct claims){.by_token = MAP_INIT};
}

void claims_deinit(struct claims *c)
{
    for (size_t i = 0; i < c->heap.count; i++)
        free(c->heap.items[i]);
    VEC_DEINIT(&c->heap);
    VEC_DEINIT(&c->dead);
    map_deinit(&c->by_token);
}

struct live_claim *claim_new(int64_t token, const int64_t *jobs, size_t n)
{
    struct live_claim *claim = mem_zalloc(sizeof(*claim) + n * sizeof(claim->jobs[0]));

    claim->token = token;
    claim->open = n;
    claim->n_jobs = n;
    memcpy(claim->jobs, jobs, n * sizeof(claim->jobs[0]));
    return claim;
}

static void put_at(struct claims *c, size_t i, struct live_claim *claim)
{
    c->heap.items[i] = claim;
    claim->heap_at = i;
}

/* Moves the claim at i up or down to where it belongs. */
static void settle(struct claims *c, size_t i)
{
    struct live_claim *claim = c->heap.items[i];

    while (i > 0) {
        size_t parent = (i - 1) / 2;

        if (c->heap.items[parent]->check_at <= claim->check_at)
            break;
        put_at(c, i, c->heap.items[parent]);
        i = parent;
    }
    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= c->heap.count)
            break;
        if (child + 1 < c->heap.count &&
            c->heap.items[child + 1]->check_at < c->heap.items[child]->check_at)
            child++;
        if (c->heap.items[child]->check_at >= claim->check_at)
            break;
        put_at(c, i, c->heap.items[child]);
        i = child;
    }
    put_at(c, i, claim);
}

void claims_add(struct claims *c, struct live_claim *claim)
{
    map_put(&c->by_token, claim->token, claim);
    VEC_PUSH(&c->heap, claim);
    claim->heap_at = c->heap.count - 1;
    settle(c, claim->heap_at);
}

struct live_claim *claims_find(const struct claims *c, int64_t token)
{
    return map_find(&c->by_token, token);
}

void claims_remove(struct claims *c, struct live_claim *claim)
{
    size_t i = claim->heap_at;
    struct live_claim *last = c->heap.items[--c->heap.count];

    ASSERT(map_remove(&c->by_token, claim->token) == claim);
    if (last != claim) {
        put_at(c, i, last);
        settle(c, i);
    }
    free(claim);
}

struct live_claim *claims_first(const struct claims *c)
{
    return c->heap.count == 0 ? NULL : c->heap.items[0];
}

void claims_set_check(struct claims *c, struct live_claim *claim, int64_t check_at)
{
    claim->check_at = check_at;
    settle(c, claim->heap_at);
}
