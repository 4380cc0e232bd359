/*
 * What live views are made of: bars, progress lines, rates, the worker's page.
 */
/* SPDX-License-Identifier: MIT */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "cli/live/progress_line.h"
#include "cli/live/rates.h"
#include "cli/table/noun.h"
#include "cli/view/job_view.h"
#include "cli/view/queue_view.h"
#include "cli/view/screen.h"

static void json_cleanup(json_t **json)
{
    json_decref(*json);
}

static json_t *read_json(const char *text)
{
    json_t *json = json_loads(text, 0, NULL);

    assert_non_null(json);
    return json;
}

static void a_bar_is_as_full_as_the_work_is_done(void **state)
{
    static const struct {
        int64_t done, total;
        const char *want;
    } cases[] = {
        {0, 4, "╌╌╌╌"}, {1, 4, "━╌╌╌"},      {2, 4, "━━╌╌"},
        {4, 4, "━━━━"}, {9, 4, "━━━━"},      {-1, 4, "╌╌╌╌"},
        {1, 0, "╌╌╌╌"}, {999, 1000, "━━━╌"}, {INT64_MAX - 1, INT64_MAX, "━━━━"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf bar = BUF_INIT(100);

        bar_add(&bar, cases[i].done, cases[i].total, 4);
        assert_string_equal(buf_text(&bar), cases[i].want);
    }
}

static void a_percentage_is_whole_and_100_only_at_the_end(void **state)
{
    static const struct {
        const char *job;
        int want;
    } cases[] = {
        {"{\"done\":1,\"total\":3}", 33},
        {"{\"done\":999,\"total\":1000}", 99},
        {"{\"done\":5,\"total\":5}", 100},
        {"{\"done\":7,\"total\":5}", 100},
        {"{\"total\":5}", 0},
        {"{\"done\":5}", -1},
        {"{\"done\":5,\"total\":0}", -1},
        {"{\"done\":-1,\"total\":5}", 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(json) json_t *job = read_json(cases[i].job);

        assert_int_equal(job_percent(job), cases[i].want);
    }
}

static void a_line_says_how_far_a_job_is_or_why_it_waits(void **state)
{
    static const struct {
        const char *job;
        size_t width;
        const char *want;
    } cases[] = {
        {"{\"state\":\"running\",\"done\":40,\"total\":80,\"unit\":\"MB\",\"text\":\"a.iso\"}", 80,
         "━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌  50%  40/80MB a.iso"},
        {"{\"state\":\"running\",\"done\":1,\"total\":2,\"expected_at\":\"1970-01-01T00:01:30Z\"}",
         80, "━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌  50%  1/2, 90s left"},
        {"{\"state\":\"running\",\"done\":7,\"unit\":\" files\"}", 80, "7 files"},
        {"{\"state\":\"running\",\"text\":\"hello\"}", 80, "hello"},
        {"{\"state\":\"running\",\"text\":\"hello\"}", 3, "hel"},
        {"{\"state\":\"running\",\"text\":\"a\\nb\\u001b[2J\"}", 80, "a b\\x1b[2J"},
        {"{\"state\":\"running\"}", 80, ""},
        {"{\"state\":\"ready\",\"reason\":{\"text\":\"no live worker for q\"}}", 80,
         "ready: no live worker for q"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(buf) struct buf line = BUF_INIT(400);
        CLEANUP(json) json_t *job = read_json(cases[i].job);

        progress_line_text(job, 0, cases[i].width, &line);
        assert_string_equal(buf_text(&line), cases[i].want);
    }
}

static const char *news_of(struct job_news *n, const char *text, struct buf *out)
{
    CLEANUP(json) json_t *job = read_json(text);

    buf_clear(out);
    job_news_add(n, job, 0, out);
    return buf_text(out);
}

#define BROKEN                                                \
    "{\"id\":\"J\",\"state\":\"ready\",\"reason\":{\"code\":" \
    "\"broken\",\"text\":\"queue q is broken on box: no file x\"}}"
#define RUNNING(started) "{\"id\":\"J\",\"state\":\"running\",\"started_at\":\"" started "\"}"

static void a_job_that_a_broken_queue_only_tries_does_not_run(void **state)
{
    CLEANUP(buf) struct buf out = BUF_INIT(1000);
    struct job_news n = JOB_NEWS_INIT;

    (void)state;
    assert_string_equal(news_of(&n, RUNNING("1"), &out), ""); /* nothing was said before */
    assert_string_equal(news_of(&n, BROKEN, &out),
                        "job J is ready: queue q is broken on box: no file x");
    assert_string_equal(news_of(&n, BROKEN, &out), "");
    assert_string_equal(news_of(&n, RUNNING("2"), &out), "");
    assert_string_equal(news_of(&n, BROKEN, &out), "");
    assert_string_equal(news_of(&n, RUNNING("3"), &out), "");
    assert_string_equal(news_of(&n, RUNNING("4"), &out), "");
    assert_string_equal(news_of(&n, RUNNING("4"), &out), "job J runs now");
    assert_string_equal(news_of(&n, RUNNING("4"), &out), "");
    assert_string_equal(news_of(&n, BROKEN, &out),
                        "job J is ready: queue q is broken on box: no file x");
    job_news_deinit(&n);
}

static double rate_after(struct rates *r, int64_t done, int64_t failed, int64_t at)
{
    CLEANUP(json)
    json_t *queues = json_pack("[{s:s,s:{s:I,s:I}}]", "name", "q", "counts", "done",
                               (json_int_t)done, "failed", (json_int_t)failed);

    rates_update(r, queues, at);
    double rate = json_real_value(json_object_get(json_array_get(queues, 0), QUEUE_RATE));

    assert_int_equal(rates_moving(queues), rate > 0);
    return rate;
}

static void assert_rate(double got, double want)
{
    if (got < want - 0.01 || got > want + 0.01)
        fail_msg("%f instead of %f", got, want);
}

static void a_rate_is_over_the_last_seconds(void **state)
{
    struct rates r = {.next = 0};
    const int64_t at = 1000 * US_PER_S;

    (void)state;
    assert_rate(rate_after(&r, 100, 0, at), 0);
    assert_rate(rate_after(&r, 110, 0, at + US_PER_S / 10), 0); /* too soon to tell */
    assert_rate(rate_after(&r, 108, 2, at + US_PER_S), 10);
    assert_rate(rate_after(&r, 120, 0, at + 2 * US_PER_S), 10);
    assert_rate(rate_after(&r, 50, 0, at + 3 * US_PER_S), 0); /* some were deleted */
    assert_rate(rate_after(&r, 50, 0, at + 60 * US_PER_S), 0);
    rates_deinit(&r);
}

static char *page_of(const char *worker_text, const char *jobs_text)
{
    CLEANUP(json) json_t *worker = read_json(worker_text);
    CLEANUP(json) json_t *jobs = read_json(jobs_text);
    char *text = NULL;
    size_t size = 0;
    struct screen s = {.out = open_memstream(&text, &size)};

    assert_non_null(s.out);
    json_object_set(worker, WORKER_JOBS, jobs);
    noun_print_page(NOUN_WORKER, worker, 60 * US_PER_S, &s);
    assert_int_equal(fclose(s.out), 0);
    return text;
}

static void a_workers_page_has_its_queues_its_jobs_and_what_is_broken(void **state)
{
    CLEANUP(mem)
    char *text = page_of(
        "{\"name\":\"w\",\"host\":\"box\",\"pid\":7,\"version\":\"1\",\"slots\":4,"
        "\"running\":1,\"seen_at\":\"1970-01-01T00:00:50Z\","
        "\"queues\":{\"a\":4,\"b\":2},\"broken\":{\"b\":\"no such file\"}}",
        "[{\"id\":\"J1\",\"queue\":\"a\",\"state\":\"running\",\"worker\":\"w\","
        "\"text\":\"hello\"},"
        "{\"id\":\"J3\",\"queue\":\"a\",\"state\":\"running\",\"worker\":\"w\"},"
        "{\"id\":\"J2\",\"queue\":\"a\",\"state\":\"running\",\"worker\":\"other\"}]");

    (void)state;
    assert_string_equal(text, "worker w\n"
                              "  host      box\n"
                              "  pid       7\n"
                              "  version   1\n"
                              "  seen      1970-01-01T00:00:50Z  10s ago\n"
                              "  slots     4, 1 in use\n"
                              "  queues    a  slots 4\n"
                              "            b  slots 2\n"
                              "  broken    b: no such file\n"
                              "  running   J1  a  hello\n"
                              "            J3  a\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bar_is_as_full_as_the_work_is_done),
        cmocka_unit_test(a_percentage_is_whole_and_100_only_at_the_end),
        cmocka_unit_test(a_line_says_how_far_a_job_is_or_why_it_waits),
        cmocka_unit_test(a_job_that_a_broken_queue_only_tries_does_not_run),
        cmocka_unit_test(a_rate_is_over_the_last_seconds),
        cmocka_unit_test(a_workers_page_has_its_queues_its_jobs_and_what_is_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
