/* SPDX-License-Identifier: MIT */
#include "own/bar.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "cli/view/screen.h"
#include "own/rate_meter.h"

#define BAR_COLUMNS_MAX 30
#define BAR_COLUMNS_MIN 5
#define TEXT_SIZE 200

static void add_rate(struct buf *out, double rate)
{
    if (rate >= 10)
        count_add(out, (int64_t)(rate + 0.5));
    else
        buf_addf(out, "%.1f", rate);
    buf_add_str(out, "/s");
}

static void add_rest(struct buf *out, const struct progress *p)
{
    int64_t left = p->total - p->done - p->failed;
    char text[SHORT_TEXT_SIZE];

    if (p->failed > 0) {
        buf_add_str(out, "  ");
        count_add(out, p->failed);
        buf_add_str(out, " failed");
    }
    buf_add_str(out, "  ");
    count_add(out, p->running);
    buf_add_str(out, " running  ");
    add_rate(out, p->rate);
    if (p->total > 0 && left > 0 && p->rate > 0 && (double)left / p->rate < 10000.0 * 86400)
        buf_addf(out, "  %s left",
                 age_format((int64_t)ceil((double)left / p->rate) * US_PER_S, text));
}

static int share(const struct progress *p, int of)
{
    int64_t ended = p->done + p->failed;

    if (p->total <= 0)
        return 0;
    return ended >= p->total ? of : (int)((double)ended / (double)p->total * of);
}

void progress_add(struct buf *out, const struct progress *p, int width)
{
    CLEANUP(buf) struct buf counts = BUF_INIT(TEXT_SIZE);
    CLEANUP(buf) struct buf rest = BUF_INIT(TEXT_SIZE);
    CLEANUP(buf) struct buf line = BUF_INIT(TEXT_SIZE * 3);

    count_add(&counts, p->done + p->failed);
    if (p->total > 0) {
        buf_add_str(&counts, p->is_estimated ? "/~" : "/");
        count_add(&counts, p->total);
    }
    add_rest(&rest, p);
    buf_add_str(&line, buf_text(&counts));
    /* "  45% [====>    ]", as wide as there is room; nothing when there is too little. */
    int columns = (width - (int)(counts.size + rest.size)) - (int)(sizeof("  100% []") - 1);

    if (columns > BAR_COLUMNS_MAX)
        columns = BAR_COLUMNS_MAX;
    if (p->total > 0 && columns >= BAR_COLUMNS_MIN) {
        int filled = share(p, columns);

        buf_addf(&line, "  %3d%% [", share(p, 100));
        for (int i = 0; i < columns; i++)
            buf_add_char(&line, i < filled ? '=' : (i == filled ? '>' : ' '));
        buf_add_char(&line, ']');
    }
    buf_add_str(&line, buf_text(&rest));
    buf_add(out, buf_text(&line),
            width > 0 && line.size > (size_t)width ? (size_t)width : line.size);
}

void run_result_add(struct buf *out, const struct run_result *r)
{
    double seconds = (double)r->took_us / (double)US_PER_S;
    int64_t now = r->done + r->failed - r->before;

    count_add(out, r->done);
    buf_add_str(out, " done, ");
    count_add(out, r->failed);
    buf_add_str(out, " failed");
    if (r->left > 0) {
        buf_add_str(out, ", ");
        count_add(out, r->left);
        buf_add_str(out, " left");
    }
    if (r->before > 0) {
        buf_add_str(out, "; ");
        count_add(out, now);
        buf_add_str(out, " of them now,");
    }
    buf_addf(out, " in %.*f s", seconds < 100 ? 1 : 0, seconds);
    if (now > 0 && seconds > 0) {
        buf_add_str(out, " (");
        add_rate(out, (double)now / seconds);
        buf_add_char(out, ')');
    }
    buf_add_char(out, '\n');
}
