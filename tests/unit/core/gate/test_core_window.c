/*
 * Rates and sliding windows, against a slow reference that sums up every window.
 */
/* SPDX-License-Identifier: MIT */
#include "core/gate/window.h"

#include "base/rng.h"
#include "testing.h"

enum { MOMENTS = 120 };

static struct rates rates_of(const char *const *texts)
{
    struct rates rates = {.count = 0};
    struct err err = ERR_INIT;

    for (; *texts != NULL; texts++)
        if (rate_parse(slice_of(*texts), &rates.items[rates.count++], &err) != E_OK)
            fail_msg("%s: %s", *texts, err.msg);
    return rates;
}

#define RATES(...) rates_of((const char *const[]){__VA_ARGS__, NULL})

/* ---- rates ---- */

static void a_rate_is_read_and_written(void **state)
{
    static const struct {
        const char *text, *again;
        int64_t starts, length_us;
    } good[] = {
        {"100/1h", "100/1h", 100, US_PER_HOUR},
        {"1/500ms", "1/500ms", 1, 500 * US_PER_MS},
        {"5/2s", "5/2s", 5, 2 * US_PER_S},
        {"10000/366d", "10000/366d", 10000, 366 * US_PER_DAY},
        {"1/1ms", "1/1ms", 1, US_PER_MS},
        {"7/60", "7/1m", 7, US_PER_MIN},
        {"1/0.5s", "1/500ms", 1, 500 * US_PER_MS},
    };
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        char text[RATE_TEXT_SIZE];
        struct rate rate;

        assert_int_equal(rate_parse(slice_of(good[i].text), &rate, &err), E_OK);
        assert_int_equal(rate.starts, good[i].starts);
        assert_int_equal(rate.length_us, good[i].length_us);
        assert_string_equal(rate_format(&rate, text), good[i].again);
    }
}

static void what_is_no_rate_is_refused_with_the_form_of_one(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "'' is not a rate like 100/1h: starts, a slash, a length"},
        {"100", "'100' is not a rate like 100/1h: starts, a slash, a length"},
        {"/1h", "'/1h' is not a rate like 100/1h: starts, a slash, a length"},
        {"-1/1h", "'-1/1h' is not a rate like 100/1h: starts, a slash, a length"},
        {"0/1h", "the rate '0/1h' must allow 1 to 10000 starts"},
        {"10001/1h", "the rate '10001/1h' must allow 1 to 10000 starts"},
        {"1/0", "the length of the rate '1/0' must be from 1ms to 366d"},
        {"1/367d", "the length of the rate '1/367d' must be from 1ms to 366d"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = ERR_INIT;
        struct rate rate;

        assert_int_equal(rate_parse(slice_of(bad[i].text), &rate, &err), E_INVALID);
        assert_string_equal(err.msg, bad[i].message);
    }
    struct err err = ERR_INIT;
    struct rate rate;

    assert_int_equal(rate_parse(SLICE("5/2 parsecs"), &rate, &err), E_INVALID);
    assert_non_null(strstr(err.msg, "the rate '5/2 parsecs': "));
}

/* ---- windows ---- */

struct start {
    int64_t at, weight;
};

struct past {
    struct start starts[MOMENTS];
    size_t count;
};

/* Whether some window (t - length, t] has more than the rate allows: all that end at a start. */
static bool passes(const struct past *p, const struct rates *rates)
{
    for (size_t r = 0; r < rates->count; r++)
        for (size_t i = 0; i < p->count; i++) {
            int64_t sum = 0;

            for (size_t k = 0; k < p->count; k++)
                if (p->starts[k].at > p->starts[i].at - rates->items[r].length_us &&
                    p->starts[k].at <= p->starts[i].at)
                    sum += p->starts[k].weight;
            if (sum > rates->items[r].starts)
                return false;
        }
    return true;
}

static bool allowed(struct past *p, const struct rates *rates, struct start start)
{
    p->starts[p->count++] = start;
    bool ok = passes(p, rates);

    p->count--;
    return ok;
}

/* Through bytes and back, as a restart does it. */
static void restart(struct window *w)
{
    CLEANUP(buf) struct buf bytes = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;

    window_encode(w, &bytes);
    window_deinit(w);
    assert_int_equal(window_decode(buf_slice(&bytes), w, &err), E_OK);
}

static int64_t min_weight(const struct rates *rates)
{
    int64_t least = RATE_STARTS_MAX;

    for (size_t i = 0; i < rates->count; i++)
        if (rates->items[i].starts < least)
            least = rates->items[i].starts;
    return least;
}

/* Each answer is right: allowed now, or not before the instant, and allowed then. */
static void run_seed(uint64_t seed)
{
    struct past past = {.count = 0};
    CLEANUP(window) struct window w = WINDOW_INIT;
    struct rates rates = {.count = 0};
    struct rng rng;
    int64_t now = 1000;

    rng_init(&rng, seed);
    rates.count = 1 + rng_below(&rng, 3);
    for (size_t i = 0; i < rates.count; i++)
        rates.items[i] = (struct rate){.starts = 1 + (int64_t)rng_below(&rng, 8),
                                       .length_us = 1 + (int64_t)rng_below(&rng, 60)};
    while (past.count < MOMENTS - 1 && now < 4000) {
        int64_t weight = 1 + (int64_t)rng_below(&rng, (uint64_t)min_weight(&rates));

        window_settle(&w, &rates, now);
        struct window_verdict v = window_next(&w, &rates, now, weight);

        for (int64_t t = now; t < v.at; t++)
            assert_false(allowed(&past, &rates, (struct start){t, weight}));
        assert_true(allowed(&past, &rates, (struct start){v.at, weight}));
        assert_int_equal(v.by == NULL, v.at == now);
        now = rng_below(&rng, 2) == 0 ? v.at : now + (int64_t)rng_below(&rng, 20);
        if (now >= v.at) {
            window_settle(&w, &rates, now);
            window_add(&w, now, weight);
            past.starts[past.count++] = (struct start){now, weight};
        }
        if (rng_below(&rng, 10) == 0)
            restart(&w);
    }
    assert_true(passes(&past, &rates));
}

static void no_window_ever_has_more_starts_than_its_rate(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++)
        run_seed(seed);
}

static void the_start_at_the_end_of_a_window_belongs_to_the_next(void **state)
{
    struct rates rates = RATES("2/1s");
    CLEANUP(window) struct window w = WINDOW_INIT;

    (void)state;
    window_add(&w, 1000, 1);
    window_add(&w, 2000, 1);
    struct window_verdict v = window_next(&w, &rates, 3000, 1);

    assert_int_equal(v.at, 1000 + US_PER_S);
    assert_ptr_equal(v.by, &rates.items[0]);
    assert_int_equal(window_next(&w, &rates, 1000 + US_PER_S, 1).at, 1000 + US_PER_S);
    assert_null(window_next(&w, &rates, 1000 + US_PER_S, 1).by);
    assert_int_equal(window_next(&w, &rates, 3000, 2).at, 2000 + US_PER_S);
}

static void a_weight_above_the_rate_is_never_allowed(void **state)
{
    struct rates rates = RATES("5/1s", "3/1m");
    CLEANUP(window) struct window w = WINDOW_INIT;
    struct window_verdict v = window_next(&w, &rates, 1000, 4);

    (void)state;
    assert_int_equal(v.at, TIME_NEVER);
    assert_ptr_equal(v.by, &rates.items[1]);
}

static void only_what_the_longest_window_covers_is_remembered(void **state)
{
    struct rates rates = RATES("1/1ms", "3/10ms");
    CLEANUP(window) struct window w = WINDOW_INIT;

    (void)state;
    for (int64_t now = 1000; now < 1000 * US_PER_MS; now += US_PER_MS) {
        window_settle(&w, &rates, now);
        if (window_next(&w, &rates, now, 1).by == NULL)
            window_add(&w, now, 1);
        assert_true(w.count <= 3);
    }
    window_settle(&w, &(struct rates){.count = 0}, 1000 * US_PER_MS);
    assert_int_equal(w.count, 0);
}

static void what_a_job_really_used_is_booked_on_its_start(void **state)
{
    struct rates rates = RATES("10/1s");
    CLEANUP(window) struct window w = WINDOW_INIT;

    (void)state;
    window_add(&w, 1000, 4);
    window_add(&w, 2000, 4);
    assert_int_equal(window_next(&w, &rates, 3000, 4).at, 1000 + US_PER_S);
    window_adjust(&w, 1000, -3);
    assert_int_equal(window_next(&w, &rates, 3000, 4).at, 3000);
    window_adjust(&w, 2000, 20); /* above the rate */
    assert_int_equal(window_next(&w, &rates, 3000, 1).at, 2000 + US_PER_S);
    assert_int_equal(window_sum(&w, 0), 25);
    window_adjust(&w, 2000, -1000); /* never below nothing */
    assert_int_equal(window_sum(&w, 0), 1);
    assert_int_equal(w.count, 1);
    window_adjust(&w, 1500, -1); /* no such start */
    assert_int_equal(window_sum(&w, 0), 1);
    window_adjust(&w, 500, 9); /* a start that was forgotten */
    assert_int_equal(window_next(&w, &rates, 3000, 1).at, 500 + US_PER_S);
    restart(&w);
    assert_int_equal(window_sum(&w, 500), 1);
    assert_int_equal(window_sum(&w, 499), 10);
}

static void a_clock_set_back_blocks_for_one_window_only(void **state)
{
    struct rates rates = RATES("2/1s");
    CLEANUP(window) struct window w = WINDOW_INIT;
    int64_t today = 100 * US_PER_DAY;

    (void)state;
    window_add(&w, today, 1);
    window_add(&w, today + 1000, 1);
    int64_t yesterday = today - US_PER_DAY;

    window_settle(&w, &rates, yesterday);
    assert_int_equal(window_next(&w, &rates, yesterday, 1).at, yesterday + US_PER_S);
    window_settle(&w, &rates, yesterday + US_PER_S);
    assert_int_equal(window_next(&w, &rates, yesterday + US_PER_S, 2).at, yesterday + US_PER_S);
}

static void a_window_never_has_more_entries_than_a_rate_has_starts(void **state)
{
    struct rates rates = RATES("10000/1h");
    CLEANUP(window) struct window w = WINDOW_INIT;
    CLEANUP(buf) struct buf bytes = BUF_INIT(1 << 20);

    (void)state;
    for (int64_t i = 0; i < WINDOW_STARTS_MAX + 10; i++)
        window_add(&w, 1000 + 10 * i, 1);
    window_adjust(&w, 1005, 1);
    assert_int_equal(w.count, WINDOW_STARTS_MAX);
    assert_int_equal(window_sum(&w, 0), WINDOW_STARTS_MAX + 11);
    /* what had no room is counted later than it was, never earlier */
    assert_int_equal(w.starts[w.count - 1].at, 1000 + 10 * (WINDOW_STARTS_MAX + 9));
    assert_int_equal(window_next(&w, &rates, 200000, 1).at, 1000 + 10 * 10 + US_PER_HOUR);
    window_encode(&w, &bytes);
    assert_true(bytes.size < 30000);
    restart(&w);
    assert_int_equal(w.count, WINDOW_STARTS_MAX);
}

static void bytes_that_are_no_window_are_refused(void **state)
{
    static const struct slice bad[] = {
        SLICE("\0"),
        SLICE("\1"),
        SLICE("\2\1\1"),
        SLICE("\1\1"),
        SLICE("\1\1\0"),
        SLICE("\1\1\1\0\1"),
        SLICE("\1\x80\0\1"),
        SLICE("\1\x81"),
        SLICE("\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1"),
        SLICE("\1\xff\xff\xff\xff\xff\xff\xff\xff\x7f\1"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct window w = WINDOW_INIT;
        struct err err = ERR_INIT;

        if (window_decode(bad[i], &w, &err) != E_INVALID)
            fail_msg("bytes %zu are accepted", i);
        assert_null(w.starts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_is_read_and_written),
        cmocka_unit_test(what_is_no_rate_is_refused_with_the_form_of_one),
        cmocka_unit_test(no_window_ever_has_more_starts_than_its_rate),
        cmocka_unit_test(the_start_at_the_end_of_a_window_belongs_to_the_next),
        cmocka_unit_test(a_weight_above_the_rate_is_never_allowed),
        cmocka_unit_test(only_what_the_longest_window_covers_is_remembered),
        cmocka_unit_test(what_a_job_really_used_is_booked_on_its_start),
        cmocka_unit_test(a_clock_set_back_blocks_for_one_window_only),
        cmocka_unit_test(a_window_never_has_more_entries_than_a_rate_has_starts),
        cmocka_unit_test(bytes_that_are_no_window_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
