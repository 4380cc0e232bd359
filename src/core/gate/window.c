/* SPDX-License-Identifier: MIT */
#include "core/gate/window.h"

#include <stdlib.h>

#include "base/compiler.h"

enum { VERSION = 1, VARINT_MAX = 9 /* bytes: 63 bits */ };

void window_deinit(struct window *w)
{
    free(w->starts);
    *w = WINDOW_INIT;
}

static int64_t through_before(const struct window *w, size_t i)
{
    return i == 0 ? w->before : w->starts[i - 1].through;
}

static int64_t total(const struct window *w)
{
    return through_before(w, w->count);
}

/* The first start after that instant. */
static size_t first_after(const struct window *w, int64_t at)
{
    size_t low = 0;
    size_t high = w->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (w->starts[middle].at <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t window_sum(const struct window *w, int64_t after)
{
    return total(w) - through_before(w, first_after(w, after));
}

static void forget(struct window *w, size_t n)
{
    if (n == 0)
        return;
    w->before = w->starts[n - 1].through;
    w->count -= n;
    memmove(w->starts, w->starts + n, w->count * sizeof(w->starts[0]));
}

void window_settle(struct window *w, const struct rates *rates, int64_t now)
{
    size_t future = first_after(w, now);

    if (future < w->count) { /* they become one start of now */
        struct window_start last = {.at = now, .through = total(w)};

        if (future > 0 && w->starts[future - 1].at == now)
            future--;
        w->starts[future] = last;
        w->count = future + 1;
    }
    forget(w, rates->count == 0 ? w->count : first_after(w, now - rates_longest_us(rates)));
}

/* The instant at which the sum of what is still in the window is low enough. */
static int64_t next_by(const struct window *w, const struct rate *rate, int64_t now, int64_t weight)
{
    int64_t must_pass = total(w) + weight - rate->starts; /* `through` of the start to wait for */
    size_t low = 0;
    size_t high = w->count;

    if (weight > rate->starts)
        return TIME_NEVER;
    if (must_pass <= w->before)
        return now;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (w->starts[middle].through < must_pass)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t free_at = w->starts[low].at + rate->length_us;

    return free_at > now ? free_at : now;
}

struct window_verdict window_next(const struct window *w, const struct rates *rates, int64_t now,
                                  int64_t weight)
{
    struct window_verdict v = {.at = now};

    for (size_t i = 0; i < rates->count; i++) {
        int64_t at = next_by(w, &rates->items[i], now, weight);

        if (at > v.at)
            v = (struct window_verdict){.at = at, .by = &rates->items[i]};
    }
    return v;
}

/* ---- changes ---- */

static void insert(struct window *w, size_t i, int64_t at)
{
    if (w->count == w->capacity) {
        w->capacity = w->capacity == 0 ? 4 : w->capacity * 2;
        w->starts = mem_realloc(w->starts, w->capacity * sizeof(w->starts[0]));
    }
    memmove(w->starts + i + 1, w->starts + i, (w->count - i) * sizeof(w->starts[0]));
    w->starts[i] = (struct window_start){.at = at, .through = through_before(w, i)};
    w->count++;
}

static void change_weight(struct window *w, size_t i, int64_t by)
{
    int64_t weight = w->starts[i].through - through_before(w, i);

    if (by < -weight)
        by = -weight;
    if (by > WINDOW_WEIGHT_MAX - weight)
        by = WINDOW_WEIGHT_MAX - weight;
    for (size_t k = i; k < w->count; k++)
        w->starts[k].through += by;
    if (weight + by > 0)
        return;
    w->count--;
    memmove(w->starts + i, w->starts + i + 1, (w->count - i) * sizeof(w->starts[0]));
}

void window_add(struct window *w, int64_t at, int64_t weight)
{
    struct window_start *last = w->count == 0 ? NULL : &w->starts[w->count - 1];

    ASSERT(weight > 0);
    if (last == NULL || (last->at < at && w->count < WINDOW_STARTS_MAX))
        insert(w, w->count, at);
    else if (last->at < at)
        last->at = at; /* no room: what is moved later is forgotten later */
    change_weight(w, w->count - 1, weight);
}

void window_adjust(struct window *w, int64_t at, int64_t by)
{
    size_t after = first_after(w, at);
    bool known = after > 0 && w->starts[after - 1].at == at;

    if (known) {
        change_weight(w, after - 1, by);
    } else if (by > 0 && after == w->count) {
        window_add(w, at, by);
    } else if (by > 0) {
        if (w->count < WINDOW_STARTS_MAX)
            insert(w, after, at);
        change_weight(w, after, by); /* without room it joins the next later start */
    }
}

/* ---- bytes ---- */

static void add_varint(struct buf *out, int64_t value)
{
    for (; value > 0x7F; value >>= 7)
        buf_add_char(out, (char)(0x80 | (value & 0x7F)));
    buf_add_char(out, (char)value);
}

void window_encode(const struct window *w, struct buf *out)
{
    int64_t last_at = 0;

    if (w->count == 0)
        return;
    buf_add_char(out, VERSION);
    for (size_t i = 0; i < w->count; i++) {
        add_varint(out, w->starts[i].at - last_at);
        add_varint(out, w->starts[i].through - through_before(w, i));
        last_at = w->starts[i].at;
    }
}

static bool read_varint(struct slice *rest, int64_t *ret_value)
{
    int64_t value = 0;

    for (size_t i = 0; i < rest->size && i < VARINT_MAX; i++) {
        unsigned char byte = (unsigned char)rest->data[i];

        value |= (int64_t)(byte & 0x7F) << (7 * i);
        if (byte > 0x7F)
            continue;
        *rest = slice_make(rest->data + i + 1, rest->size - i - 1);
        *ret_value = value;
        return byte > 0 || i == 0;
    }
    return false;
}

static bool read_starts(struct slice rest, struct window *w)
{
    int64_t at = 0;

    while (rest.size > 0) {
        int64_t since;
        int64_t weight;

        if (!read_varint(&rest, &since) || !read_varint(&rest, &weight))
            return false;
        if ((since == 0 && w->count > 0) || weight < 1 || weight > WINDOW_WEIGHT_MAX ||
            __builtin_add_overflow(at, since, &at) || at > TIME_NEVER - RATE_LENGTH_MAX_US ||
            w->count == WINDOW_STARTS_MAX)
            return false;
        window_add(w, at, weight);
    }
    return w->count > 0;
}

enum err_code window_decode(struct slice bytes, struct window *ret_window, struct err *err)
{
    CLEANUP(window) struct window w = WINDOW_INIT;

    if (bytes.size > 0 &&
        (bytes.data[0] != VERSION || !read_starts(slice_make(bytes.data + 1, bytes.size - 1), &w)))
        return err_set(err, E_INVALID, "the remembered starts of a gate are not readable");
    *ret_window = w;
    w = WINDOW_INIT;
    return E_OK;
}
