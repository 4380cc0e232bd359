/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <inttypes.h>

#include "base/clock.h"

void report_print(const struct load_report *report)
{
    double seconds = (double)report->elapsed_us / (double)US_PER_S;
    const struct load_histogram *h = &report->latency;

    printf("{\"jobs\":%" PRIu64 ",\"seconds\":%.6f,\"rate\":%.1f,\"submitted\":%" PRIu64
           ",\"finished\":%" PRIu64 ",\"cpu_s\":%.3f,",
           report->jobs, seconds, seconds > 0 ? (double)report->jobs / seconds : 0.0,
           report->submitted, report->finished, (double)report->cpu_us / (double)US_PER_S);
    printf("\"p50_us\":%" PRId64 ",\"p90_us\":%" PRId64 ",\"p99_us\":%" PRId64
           ",\"p999_us\":%" PRId64 ",\"max_us\":%" PRId64 "}\n",
           load_histogram_at(h, 0.5), load_histogram_at(h, 0.9), load_histogram_at(h, 0.99),
           load_histogram_at(h, 0.999), h->max_us);
}
