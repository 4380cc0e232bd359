/* SPDX-License-Identifier: MIT */
#include "own/rate_meter.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"

void count_add(struct buf *out, int64_t n)
{
    char digits[24];
    int size = snprintf(digits, sizeof(digits), "%" PRId64, n);

    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0 && digits[i - 1] != '-')
            buf_add_char(out, ',');
        buf_add_char(out, digits[i]);
    }
}

void rate_note(struct rate_meter *m, int64_t at, int64_t ended)
{
    unsigned newest = (m->next + RATE_METER_SAMPLES - 1) % RATE_METER_SAMPLES;

    m->last = (struct rate_meter_sample){at, ended};
    if (m->count == 0)
        m->first = m->last;
    if (m->count > 0 && at - m->samples[newest].at < US_PER_S)
        return;
    m->samples[m->next] = m->last;
    m->next = (m->next + 1) % RATE_METER_SAMPLES;
    if (m->count < RATE_METER_SAMPLES)
        m->count++;
}

static double rate_since(const struct rate_meter *m, const struct rate_meter_sample *from)
{
    int64_t us = m->last.at - from->at;

    return us <= 0 ? 0 : (double)(m->last.ended - from->ended) / (double)us * (double)US_PER_S;
}

double rate_now(const struct rate_meter *m)
{
    if (m->count == 0)
        return 0;
    double lately = rate_since(m, &m->samples[m->count < RATE_METER_SAMPLES ? 0 : m->next]);

    return lately > 0 ? lately : rate_since(m, &m->first);
}
