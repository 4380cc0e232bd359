/* SPDX-License-Identifier: MIT */
#include "cli/live/rates.h"

#include "base/clock.h"
#include "cli/view/queue_view.h"
#include "cli/view/reply_json.h"

#define SPACING_US (US_PER_S / 2)
#define WINDOW_US (6 * US_PER_S)

void rates_deinit(struct rates *r)
{
    for (unsigned i = 0; i < RATE_SAMPLES; i++)
        json_decref(r->samples[i].ended);
    *r = (struct rates){.next = 0};
}

static json_int_t count_ended(const json_t *queue)
{
    return queue_count(queue, "done") + queue_count(queue, "failed") +
           queue_count(queue, "cancelled") + queue_count(queue, "relayed");
}

/* The oldest one in the window. */
static const struct rate_sample *find_base(const struct rates *r, int64_t now_at)
{
    const struct rate_sample *base = NULL;

    for (unsigned i = 0; i < RATE_SAMPLES; i++) {
        const struct rate_sample *s = &r->samples[i];

        if (s->ended == NULL || now_at - s->at > WINDOW_US || now_at - s->at < SPACING_US)
            continue;
        if (base == NULL || s->at < base->at)
            base = s;
    }
    return base;
}

static double rate_of(const struct rate_sample *base, const json_t *queue, int64_t now_at)
{
    const char *name = reply_text(queue, "name");

    if (base == NULL || json_object_get(base->ended, name) == NULL)
        return 0;
    json_int_t n = count_ended(queue) - reply_int(base->ended, name);

    return n <= 0 ? 0 : (double)n * (double)US_PER_S / (double)(now_at - base->at);
}

void rates_update(struct rates *r, json_t *queues, int64_t now_at)
{
    const struct rate_sample *base = find_base(r, now_at);
    json_t *queue = NULL;

    for (size_t i = 0; (queue = json_array_get(queues, i)) != NULL; i++)
        json_object_set_new(queue, QUEUE_RATE, json_real(rate_of(base, queue, now_at)));
    const struct rate_sample *last = &r->samples[(r->next + RATE_SAMPLES - 1) % RATE_SAMPLES];
    struct rate_sample *s = &r->samples[r->next];

    if (last->ended != NULL && now_at - last->at < SPACING_US)
        return;
    json_decref(s->ended);
    *s = (struct rate_sample){.at = now_at, .ended = json_object()};
    for (size_t i = 0; (queue = json_array_get(queues, i)) != NULL; i++)
        json_object_set_new(s->ended, reply_text(queue, "name"), json_integer(count_ended(queue)));
    r->next = (r->next + 1) % RATE_SAMPLES;
}

bool rates_moving(const json_t *queues)
{
    json_t *queue = NULL;

    for (size_t i = 0; (queue = json_array_get(queues, i)) != NULL; i++) {
        if (json_real_value(json_object_get(queue, QUEUE_RATE)) > 0)
            return true;
    }
    return false;
}
