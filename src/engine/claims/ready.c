/* SPDX-License-Identifier: MIT */
#include "engine/claims/ready.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "core/job/job.h"
#include "store/jobs/ready.h"

void ready_init(struct ready *r)
{
    *r = (struct ready){.refs = NULL};
}

void ready_deinit(struct ready *r)
{
    free(r->refs);
    ready_init(r);
}

void ready_reset(struct ready *r)
{
    r->head = r->count = 0;
    r->complete = false;
}

bool ready_comes_before(struct ready_ref a, struct ready_ref b)
{
    return a.priority != b.priority ? a.priority > b.priority : a.id < b.id;
}

/* The place of the first job that does not come before `ref`. */
static size_t place_of(const struct ready *r, struct ready_ref ref)
{
    size_t low = r->head;
    size_t high = r->head + r->count;

    if (r->count > 0 && ready_comes_before(r->refs[high - 1], ref))
        return high; /* the common case: a new job comes last */
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (ready_comes_before(r->refs[middle], ref))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Makes room for one more at the end: moves the list to the front, or grows it. */
static void make_room(struct ready *r)
{
    if (r->head + r->count < r->capacity)
        return;
    if (r->head > r->count) {
        memmove(r->refs, r->refs + r->head, r->count * sizeof(r->refs[0]));
        r->head = 0;
        return;
    }
    r->capacity = r->capacity == 0 ? 64 : r->capacity * 2;
    r->refs = mem_realloc(r->refs, r->capacity * sizeof(r->refs[0]));
}

static void insert(struct ready *r, struct ready_ref ref)
{
    size_t head = r->head;
    size_t place = place_of(r, ref);

    if (place < r->head + r->count && r->refs[place].id == ref.id)
        return;
    make_room(r);
    place = place - head + r->head;
    memmove(&r->refs[place + 1], &r->refs[place],
            (r->head + r->count - place) * sizeof(r->refs[0]));
    r->refs[place] = ref;
    r->count++;
    size_t most = r->most != 0 ? r->most : READY_MAX;

    if (r->count > most) {
        r->count = most;
        r->complete = false;
    }
}

void ready_add(struct ready *r, struct ready_ref ref)
{
    if (!r->complete && (r->count == 0 || ready_comes_before(r->refs[r->head + r->count - 1], ref)))
        return; /* after the prefix: ready_fill will find it in the store */
    insert(r, ref);
}

void ready_put_back(struct ready *r, struct ready_ref ref)
{
    insert(r, ref);
}

void ready_remove(struct ready *r, struct ready_ref ref)
{
    size_t place = place_of(r, ref);
    size_t end = r->head + r->count;

    if (place == end || r->refs[place].id != ref.id)
        return;
    memmove(&r->refs[place], &r->refs[place + 1], (end - place - 1) * sizeof(r->refs[0]));
    r->count--;
}

/* Makes room for a fill; returns how many jobs it may read. */
static size_t make_place(struct ready *r)
{
    size_t limit = r->most != 0 ? r->most : READY_FILL;

    r->head = 0;
    if (r->capacity < limit) {
        r->capacity = limit;
        r->refs = mem_realloc(r->refs, r->capacity * sizeof(r->refs[0]));
    }
    return limit;
}

enum err_code ready_fill_held(struct ready *r, struct store *s, int64_t queue, size_t most,
                              struct err *err)
{
    size_t n = 0;

    if (r->count > 0 || r->complete)
        return E_OK;
    size_t limit = make_place(r);

    limit = most == 0 ? 1 : most < limit ? most : limit;
    if (store_ready_lock(s, queue, r->refs, limit, &n, err) != E_OK)
        return err->code;
    r->count = n;
    r->complete = n < limit;
    return E_OK;
}

enum err_code ready_fill(struct ready *r, struct store *s, int64_t queue, struct err *err)
{
    const struct ready_ref from_first = {.priority = JOB_PRIORITY_MAX + 1, .id = 0};
    size_t n = 0;

    if (r->count > 0 || r->complete)
        return E_OK;
    size_t limit = make_place(r);

    if (store_ready_scan(s, queue, from_first, r->refs, limit, &n, err) != E_OK)
        return err->code;
    r->count = n;
    r->complete = n < limit;
    return E_OK;
}

const struct ready_ref *ready_at(const struct ready *r, size_t i)
{
    return i < r->count ? &r->refs[r->head + i] : NULL;
}

const struct ready_ref *ready_first(const struct ready *r)
{
    return r->count == 0 ? NULL : &r->refs[r->head];
}

void ready_take(struct ready *r)
{
    ASSERT(r->count > 0);
    r->head++;
    if (--r->count == 0)
        r->head = 0;
}
